#include "learn/placer/independent.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "learn/encoder/gcn.h"

namespace placewright {
namespace {

// Adam moves every parameter about as far in a step; what is alike for all units is to move farther.
constexpr double kPreferenceScale = 10;

at::Tensor PreferenceFor(int64_t devices, const std::string& name, Parameters& parameters,
                         bool centred) {
  return centred ? parameters.Constant(name + ".preference", {devices}, 0) : at::Tensor();
}

}  // namespace

at::Tensor IndependentPlacer::Decided(const PlacerInputs& inputs) const {
  const at::Tensor scores = Scores(inputs), preference = Preference(inputs);
  if (!preference.defined()) return scores;
  return scores - scores.mean(1, true) + preference * kPreferenceScale;
}

at::Tensor IndependentPlacer::Sample(const PlacerInputs& inputs, const at::Tensor& noise) const {
  const at::NoGradGuard no_gradients;
  return (Decided(inputs).unsqueeze(1) + inputs.forbidden + noise).argmax(-1);
}

at::Tensor IndependentPlacer::Logits(const PlacerInputs& inputs, const at::Tensor& devices) const {
  const at::Tensor scores = Decided(inputs) + inputs.forbidden;
  return scores.unsqueeze(1).expand({-1, devices.size(1), -1, -1});
}

Affine::Affine(const std::string& name, int64_t out, int64_t in, Parameters& parameters)
    : weight(parameters.Glorot(name, out, in)),
      bias(parameters.Constant(name + "_bias", {out}, 0)) {}

at::Tensor Affine::operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }

MlpPlacer::MlpPlacer(int64_t inputs, int64_t devices, int64_t width, const std::string& name,
                     Parameters& parameters, bool centred)
    : hidden_(name + ".hidden", width, inputs, parameters),
      output_(name + ".output", devices, width, parameters),
      preference_(PreferenceFor(devices, name, parameters, centred)) {}

at::Tensor MlpPlacer::Scores(const PlacerInputs& inputs) const {
  return output_(at::relu(hidden_(inputs.embeddings)));
}

GcnPlacer::GcnPlacer(int64_t inputs, int64_t devices, int64_t width, const std::string& name,
                     Parameters& parameters, bool centred)
    : hidden_(parameters.Glorot(name + ".hidden", inputs, width)),
      output_(parameters.Glorot(name + ".output", width, devices)),
      preference_(PreferenceFor(devices, name, parameters, centred)) {}

at::Tensor GcnPlacer::Scores(const PlacerInputs& inputs) const {
  const at::Tensor h =
      at::relu(Propagate(inputs.adjacency, at::matmul(inputs.embeddings, hidden_)));
  return Propagate(inputs.adjacency, at::matmul(h, output_));
}

}  // namespace placewright
