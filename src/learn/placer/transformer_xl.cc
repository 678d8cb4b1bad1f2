#include "learn/placer/transformer_xl.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace placewright {

at::Tensor TransformerXlPlacer::Condition::operator()(const at::Tensor& x,
                                                      const at::Tensor& conditioning) const {
  if (!weight.defined()) return x;
  return x * (1 + at::matmul(conditioning, weight.t()));
}

TransformerXlPlacer::Condition TransformerXlPlacer::MakeCondition(const std::string& name,
                                                                  int64_t inputs,
                                                                  Parameters& parameters) const {
  return {parameters.Constant(name, {inputs, options_.width}, 0)};
}

TransformerXlPlacer::Layer TransformerXlPlacer::MakeLayer(const std::string& name, bool conditioned,
                                                          Parameters& parameters) const {
  const int64_t width = options_.width, all_heads = options_.heads * options_.head_width;
  const auto heads = [&](const char* of, int64_t out, int64_t in) {
    return options_.attention ? parameters.Glorot(name + of, out, in) : at::Tensor();
  };
  const auto norm = [&](const char* of, double value) {
    return parameters.Constant(name + of, {width}, value);
  };
  const at::Tensor query = heads(".query", all_heads, width), key = heads(".key", all_heads, width),
                   value = heads(".value", all_heads, width),
                   joined = heads(".joined", width, all_heads);
  const at::Tensor first_scale = norm(".first_scale", 1), first_shift = norm(".first_shift", 0);
  const Affine inner(name + ".inner", options_.inner, width, parameters);
  const Affine outer(name + ".outer", width, options_.inner, parameters);
  Layer layer{query,
              key,
              value,
              joined,
              first_scale,
              first_shift,
              inner,
              outer,
              norm(".second_scale", 1),
              norm(".second_shift", 0),
              {},
              {},
              {},
              {}};
  if (!conditioned) return layer;
  if (options_.attention) {
    layer.before_heads = MakeCondition(name + ".before_heads", width, parameters);
    layer.before_joined = MakeCondition(name + ".before_joined", all_heads, parameters);
  }
  layer.before_inner = MakeCondition(name + ".before_inner", width, parameters);
  layer.before_outer = MakeCondition(name + ".before_outer", options_.inner, parameters);
  return layer;
}

TransformerXlPlacer::TransformerXlPlacer(int64_t inputs, int64_t devices,
                                         const TransformerXlOptions& options,
                                         const std::string& name, Parameters& parameters)
    : options_(options),
      input_(name + ".input", options.width, inputs, parameters),
      output_(name + ".output", options.device_features > 0 ? options.width : devices,
              options.width, parameters) {
  for (int i = 0; i < options.layers; ++i) {
    layers_.push_back(
        MakeLayer(name + ".layer" + std::to_string(i), options.superposition, parameters));
  }
  const int64_t features = options.device_features;
  if (features > 0) {
    key_.emplace_back(name + ".key_hidden", options.width, features, parameters);
    key_.emplace_back(name + ".key", options.width, options.width, parameters);
  }
  if (options.centred) {
    preference_ = parameters.Constant(name + ".preference", {features > 0 ? features : devices}, 0);
  }
  if (!options.superposition) return;
  conditioning_.push_back(MakeLayer(name + ".conditioning", false, parameters));
  before_output_ = MakeCondition(name + ".before_output", options.width, parameters);
}

at::Tensor TransformerXlPlacer::RunLayer(const Layer& layer, const at::Tensor& x,
                                         const at::Tensor& conditioning, Memory& memory) const {
  at::Tensor y = x;
  if (options_.attention) {
    const auto heads = [&](const at::Tensor& of) {  // [B, heads, length, head_width]
      return of.view({of.size(0), of.size(1), options_.heads, options_.head_width}).transpose(1, 2);
    };
    const at::Tensor own = layer.before_heads(x, conditioning);
    const at::Tensor query = at::matmul(own, layer.query.t());
    at::Tensor key = at::matmul(own, layer.key.t()), value = at::matmul(own, layer.value.t());
    const Memory before = std::exchange(
        memory, {x.detach(), conditioning.defined() ? conditioning.detach() : conditioning,
                 key.detach(), value.detach()});
    if (before.entered.defined() && at::GradMode::is_enabled()) {
      // The weights learn from what is remembered, the units before do not.
      const at::Tensor remembered = layer.before_heads(before.entered, before.conditioning);
      key = at::cat({at::matmul(remembered, layer.key.t()), key}, 1);
      value = at::cat({at::matmul(remembered, layer.value.t()), value}, 1);
    } else if (before.entered.defined()) {
      key = at::cat({before.key, key}, 1);
      value = at::cat({before.value, value}, 1);
    }
    const at::Tensor scores = at::matmul(heads(query), heads(key).transpose(-2, -1)) /
                              std::sqrt(static_cast<double>(options_.head_width));
    const at::Tensor context = at::matmul(at::softmax(scores, -1), heads(value))
                                   .transpose(1, 2)
                                   .reshape({x.size(0), x.size(1), -1});
    y = x + at::matmul(layer.before_joined(context, conditioning), layer.joined.t());
  }
  y = at::layer_norm(y, {options_.width}, layer.first_scale, layer.first_shift);
  const at::Tensor hidden = at::relu(layer.inner(layer.before_inner(y, conditioning)));
  return at::layer_norm(y + layer.outer(layer.before_outer(hidden, conditioning)), {options_.width},
                        layer.second_scale, layer.second_shift);
}

at::Tensor TransformerXlPlacer::ScoresOf(const at::Tensor& x, const at::Tensor& devices) const {
  if (key_.empty()) return output_(x);
  const at::Tensor keys = key_[1](at::relu(key_[0](devices)));
  return at::matmul(output_(x), keys.t()) / std::sqrt(static_cast<double>(options_.width));
}

at::Tensor TransformerXlPlacer::Scores(const PlacerInputs& inputs) const {
  const int64_t units = inputs.embeddings.size(1);
  const int64_t length = options_.segment == 0 ? units : std::min(options_.segment, units);
  std::vector<Memory> memory(layers_.size());
  Memory of_conditioning;
  std::vector<at::Tensor> outputs;
  // One split, not a part of each segment: the gradient of such a part is as long as the whole.
  for (const at::Tensor& segment : inputs.embeddings.split(length, 1)) {
    at::Tensor x = input_(segment);
    at::Tensor conditioning;
    if (options_.superposition) {
      conditioning = RunLayer(conditioning_.front(), x, {}, of_conditioning);
    }
    for (size_t i = 0; i < layers_.size(); ++i) {
      x = RunLayer(layers_[i], x, conditioning, memory[i]);
    }
    outputs.push_back(ScoresOf(before_output_(x, conditioning), inputs.devices));
  }
  return at::cat(outputs, 1);
}

at::Tensor TransformerXlPlacer::Preference(const PlacerInputs& inputs) const {
  return key_.empty() || !options_.centred ? preference_ : at::matmul(inputs.devices, preference_);
}

}  // namespace placewright
