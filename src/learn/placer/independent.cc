#include "learn/placer/independent.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "learn/encoder/gcn.h"

namespace placewright {

at::Tensor IndependentPlacer::Sample(const PlacerInputs& inputs, const at::Tensor& noise) const {
  const at::NoGradGuard no_gradients;
  return (Scores(inputs).unsqueeze(1) + inputs.forbidden + noise).argmax(-1);
}

at::Tensor IndependentPlacer::Logits(const PlacerInputs& inputs, const at::Tensor& devices) const {
  const at::Tensor scores = Scores(inputs) + inputs.forbidden;
  return scores.unsqueeze(1).expand({-1, devices.size(1), -1, -1});
}

Affine::Affine(const std::string& name, int64_t out, int64_t in, Parameters& parameters)
    : weight(parameters.Glorot(name, out, in)),
      bias(parameters.Constant(name + "_bias", {out}, 0)) {}

at::Tensor Affine::operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }

MlpPlacer::MlpPlacer(int64_t inputs, int64_t devices, int64_t width, const std::string& name,
                     Parameters& parameters)
    : hidden_(name + ".hidden", width, inputs, parameters),
      output_(name + ".output", devices, width, parameters) {}

at::Tensor MlpPlacer::Scores(const PlacerInputs& inputs) const {
  return output_(at::relu(hidden_(inputs.embeddings)));
}

GcnPlacer::GcnPlacer(int64_t inputs, int64_t devices, int64_t width, const std::string& name,
                     Parameters& parameters)
    : hidden_(parameters.Glorot(name + ".hidden", inputs, width)),
      output_(parameters.Glorot(name + ".output", width, devices)) {}

at::Tensor GcnPlacer::Scores(const PlacerInputs& inputs) const {
  const at::Tensor h =
      at::relu(Propagate(inputs.adjacency, at::matmul(inputs.embeddings, hidden_)));
  return Propagate(inputs.adjacency, at::matmul(h, output_));
}

}  // namespace placewright
