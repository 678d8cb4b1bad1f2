#include "learn/policy/encoder_placer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "learn/policy/categorical.h"
#include "learn/policy/table.h"

namespace placewright {

EncoderPlacerPolicy::EncoderPlacerPolicy(UnitGraph graph, std::unique_ptr<GraphEncoder> encoder,
                                         const MakePlacer& make_placer, double uniform,
                                         std::shared_ptr<Parameters> parameters)
    : graph_(std::move(graph)),
      uniform_(uniform),
      parameters_(std::move(parameters)),
      encoder_(std::move(encoder)),
      placer_(make_placer(encoder_->width(), *parameters_)) {}

void EncoderPlacerPolicy::FreezeEncoder() {
  const at::NoGradGuard no_gradients;
  frozen_ = encoder_->Encode(graph_.structure, graph_.features);
}

PlacerInputs EncoderPlacerPolicy::Inputs() const {
  const at::Tensor h =
      frozen_.defined() ? frozen_ : encoder_->Encode(graph_.structure, graph_.features);
  return {h.unsqueeze(0), graph_.adjacency, graph_.forbidden, graph_.devices};
}

at::Tensor EncoderPlacerPolicy::Sample(int64_t count, Random& random,
                                       const Exploration& exploration) const {
  const at::NoGradGuard no_gradients;
  const at::Tensor noise =
      ExplorationNoise({1, count, graph_.forbidden.size(0), graph_.forbidden.size(1)},
                       graph_.features.options(), random, exploration, uniform_);
  return placer_->Sample(Inputs(), Shared(noise, random, exploration))[0];
}

at::Tensor EncoderPlacerPolicy::Shared(const at::Tensor& noise, Random& random,
                                       const Exploration& exploration) const {
  if (graph_.shared == nullptr || exploration.greedy) return noise;
  return graph_.shared->Share(noise, random);
}

EncoderPlacerPolicy::Scored EncoderPlacerPolicy::Score() const {
  const PlacerInputs inputs = Inputs();
  const at::Tensor none =
      at::zeros({1, 1, inputs.embeddings.size(1)}, inputs.embeddings.options().dtype(at::kLong));
  return {inputs.embeddings[0], placer_->Logits(inputs, none)[0][0]};
}

Policy::Evaluated EncoderPlacerPolicy::Evaluate(const at::Tensor& decisions) const {
  const at::Tensor logits = placer_->Logits(Inputs(), decisions.unsqueeze(0))[0];
  return EvaluateChoices(MixUniform(logits, uniform_), decisions);
}

std::vector<DeviceId> EncoderPlacerPolicy::DevicesOf(const at::Tensor& row) const {
  return DeviceIds(row);
}

at::Tensor EncoderPlacerPolicy::Varied(const at::Tensor& row, Random& random) const {
  return VaryDecision(row, 0, graph_.forbidden, random);
}

at::Tensor EncoderPlacerPolicy::DecisionsFor(std::span<const DeviceId> device_of) const {
  return DeviceRow(device_of);
}

}  // namespace placewright
