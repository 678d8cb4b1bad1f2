#include "learn/encoder/gcn.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

namespace placewright {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class PropagateFunction : public torch::autograd::Function<PropagateFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& adjacency,
                            const at::Tensor& x) {
    context->saved_data["adjacency"] = adjacency;
    return at::mm(adjacency, x);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor adjacency = context->saved_data["adjacency"].toTensor();
    return {at::Tensor(), at::mm(adjacency, gradients[0].contiguous())};
  }
};

}  // namespace

at::Tensor NormalizedAdjacency(int64_t nodes, std::span<const NodeEdge> edges,
                               const at::TensorOptions& options) {
  std::vector<NodeEdge> entries;
  for (const auto& [from, to] : edges) {
    entries.emplace_back(from, to);
    entries.emplace_back(to, from);
  }
  for (int64_t node = 0; node < nodes; ++node) entries.emplace_back(node, node);
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  std::vector<double> degree(static_cast<size_t>(nodes), 0);
  for (const auto& [row, column] : entries) ++degree[static_cast<size_t>(row)];
  const auto count = static_cast<int64_t>(entries.size());
  const at::Tensor indices = at::empty({2, count}, at::kLong);
  const at::Tensor values = at::empty({count}, at::kDouble);
  int64_t* const index = indices.data_ptr<int64_t>();
  double* const value = values.data_ptr<double>();
  for (int64_t i = 0; i < count; ++i) {
    const auto& [row, column] = entries[static_cast<size_t>(i)];
    index[i] = row;
    index[count + i] = column;
    value[i] =
        1 / std::sqrt(degree[static_cast<size_t>(row)] * degree[static_cast<size_t>(column)]);
  }
  return at::sparse_coo_tensor(indices, values, {nodes, nodes})
      .to(options)
      ._coalesced_(true);  // sorted, distinct
}

at::Tensor Propagate(const at::Tensor& adjacency, const at::Tensor& x) {
  if (!adjacency.is_sparse()) return at::bmm(adjacency, x);
  if (x.dim() == 2) return PropagateFunction::apply(adjacency, x);
  return PropagateFunction::apply(adjacency, x.squeeze(0)).unsqueeze(0);
}

at::Tensor NormalizeDense(const at::Tensor& adjacency) {
  const at::Tensor looped = adjacency + at::eye(adjacency.size(1), adjacency.options());
  const at::Tensor root = looped.sum(2).rsqrt();
  return looped * root.unsqueeze(1) * root.unsqueeze(2);
}

GcnEncoder::GcnEncoder(int64_t features, const Options& options, const std::string& name,
                       Parameters& parameters)
    : options_(options) {
  for (int i = 0; i < options.layers; ++i) {
    const std::string layer = name + "." + std::to_string(i);
    const int64_t in = i == 0 ? features : options.width;
    layers_.push_back({parameters.Glorot(layer + ".theta", in, options.width),
                       parameters.Constant(layer + ".slope", {1}, 0.25)});
  }
}

std::vector<at::Tensor> GcnEncoder::parameters() const {
  std::vector<at::Tensor> parameters;
  for (const Layer& layer : layers_) {
    parameters.insert(parameters.end(), {layer.theta, layer.slope});
  }
  return parameters;
}

at::Tensor GcnEncoder::Encode(const at::Tensor& structure, const at::Tensor& features) const {
  at::Tensor x = features;
  for (const Layer& layer : layers_) {
    x = at::prelu(Propagate(structure, at::mm(x, layer.theta)), layer.slope);
  }
  return x;
}

}  // namespace placewright
