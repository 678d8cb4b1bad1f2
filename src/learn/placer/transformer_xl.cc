#include "learn/placer/transformer_xl.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace placewright {

TransformerXlPlacer::TransformerXlPlacer(int64_t inputs, int64_t devices,
                                         const TransformerXlOptions& options,
                                         const std::string& name, Parameters& parameters)
    : options_(options),
      input_(name + ".input", options.width, inputs, parameters),
      output_(name + ".output", devices, options.width, parameters) {
  const int64_t all_heads = options.heads * options.head_width;
  for (int i = 0; i < options.layers; ++i) {
    const std::string layer = name + ".layer" + std::to_string(i);
    layers_.push_back({parameters.Glorot(layer + ".query", all_heads, options.width),
                       parameters.Glorot(layer + ".key", all_heads, options.width),
                       parameters.Glorot(layer + ".value", all_heads, options.width),
                       parameters.Glorot(layer + ".joined", options.width, all_heads),
                       parameters.Constant(layer + ".first_scale", {options.width}, 1),
                       parameters.Constant(layer + ".first_shift", {options.width}, 0),
                       Affine(layer + ".inner", options.inner, options.width, parameters),
                       Affine(layer + ".outer", options.width, options.inner, parameters),
                       parameters.Constant(layer + ".second_scale", {options.width}, 1),
                       parameters.Constant(layer + ".second_shift", {options.width}, 0)});
  }
}

at::Tensor TransformerXlPlacer::RunLayer(const Layer& layer, const at::Tensor& x,
                                         const at::Tensor& memory) const {
  const at::Tensor seen = memory.defined() ? at::cat({memory, x}, 1) : x;
  const auto heads = [&](const at::Tensor& of, const at::Tensor& weight) {
    return at::matmul(of, weight.t())
        .view({of.size(0), of.size(1), options_.heads, options_.head_width})
        .transpose(1, 2);  // [B, heads, length, head_width]
  };
  const at::Tensor scores =
      at::matmul(heads(x, layer.query), heads(seen, layer.key).transpose(-2, -1)) /
      std::sqrt(static_cast<double>(options_.head_width));
  const at::Tensor context = at::matmul(at::softmax(scores, -1), heads(seen, layer.value))
                                 .transpose(1, 2)
                                 .reshape({x.size(0), x.size(1), -1});
  const at::Tensor y = at::layer_norm(x + at::matmul(context, layer.joined.t()), {options_.width},
                                      layer.first_scale, layer.first_shift);
  return at::layer_norm(y + layer.outer(at::relu(layer.inner(y))), {options_.width},
                        layer.second_scale, layer.second_shift);
}

at::Tensor TransformerXlPlacer::Scores(const PlacerInputs& inputs) const {
  const int64_t units = inputs.embeddings.size(1);
  const int64_t length = options_.segment == 0 ? units : std::min(options_.segment, units);
  std::vector<at::Tensor> memory(layers_.size());
  std::vector<at::Tensor> outputs;
  for (int64_t begin = 0; begin < units; begin += length) {
    at::Tensor x = input_(inputs.embeddings.narrow(1, begin, std::min(length, units - begin)));
    for (size_t i = 0; i < layers_.size(); ++i) {
      const at::Tensor entered = x;
      x = RunLayer(layers_[i], x, memory[i]);
      memory[i] = entered.detach();
    }
    outputs.push_back(output_(x));
  }
  return at::cat(outputs, 1);
}

}  // namespace placewright
