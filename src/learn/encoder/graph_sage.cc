#include "learn/encoder/graph_sage.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace placewright {

at::Tensor SampleNeighbours(int64_t nodes, std::span<const NodeEdge> edges, int64_t limit,
                            Random random) {
  std::vector<std::vector<int64_t>> around(static_cast<size_t>(nodes));
  for (const auto& [from, to] : edges) {
    around[static_cast<size_t>(from)].push_back(to);
    around[static_cast<size_t>(to)].push_back(from);
  }
  const at::Tensor neighbours = at::empty({nodes, limit}, at::kLong);
  auto* row = neighbours.data_ptr<int64_t>();
  for (int64_t node = 0; node < nodes; ++node, row += limit) {
    std::vector<int64_t>& all = around[static_cast<size_t>(node)];
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    const auto drawn = std::min(static_cast<size_t>(limit), all.size());
    for (size_t i = 0; i < drawn && all.size() > drawn; ++i) {
      std::swap(all[i], all[i + random.Below(all.size() - i)]);
    }
    std::fill(row, row + limit, node);
    std::copy_n(all.begin(), drawn, row);
  }
  return neighbours;
}

at::Tensor AllNeighbours(int64_t nodes, std::span<const NodeEdge> edges) {
  std::vector<NodeEdge> pairs;
  for (int64_t node = 0; node < nodes; ++node) pairs.emplace_back(node, node);
  for (const auto& [from, to] : edges) {
    pairs.emplace_back(from, to);
    pairs.emplace_back(to, from);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  std::vector<int64_t> entries;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (static_cast<int64_t>(entries.size()) == pairs[i].first) {
      entries.push_back(static_cast<int64_t>(i));
    }
  }
  for (const auto& [node, neighbour] : pairs) entries.push_back(neighbour);
  return at::tensor(entries, at::kLong);
}

GraphSageEncoder::GraphSageEncoder(int64_t features, const Options& options,
                                   const std::string& name, Parameters& parameters)
    : options_(options) {
  if (options.embedded) {
    embedding_ = {parameters.Glorot(name + ".embedding", options.width, features),
                  parameters.Constant(name + ".embedding_bias", {options.width}, 0)};
  }
  for (int i = 0; i < options.layers; ++i) {
    const std::string layer = name + "." + std::to_string(i);
    const int64_t in = i == 0 && !options.embedded ? features : options.width;
    layers_.push_back({parameters.Glorot(layer + ".pool", in, in),
                       parameters.Constant(layer + ".pool_bias", {in}, 0),
                       parameters.Glorot(layer + ".combine", options.width, 2 * in),
                       parameters.Constant(layer + ".combine_bias", {options.width}, 0)});
  }
}

std::vector<at::Tensor> GraphSageEncoder::parameters() const {
  std::vector<at::Tensor> parameters = embedding_;
  for (const Layer& layer : layers_) {
    parameters.insert(parameters.end(),
                      {layer.pool, layer.pool_bias, layer.combine, layer.combine_bias});
  }
  return parameters;
}

at::Tensor GraphSageEncoder::Encode(const at::Tensor& structure, const at::Tensor& features) const {
  at::Tensor h = options_.embedded ? at::linear(features, embedding_[0], embedding_[1]) : features;
  for (const Layer& layer : layers_) {
    const at::Tensor pooled = at::sigmoid(at::linear(h, layer.pool, layer.pool_bias));
    at::Tensor around;
    if (options_.exact) {
      constexpr int64_t kMax = 2;  // embedding_bag's mode
      const int64_t nodes = h.size(0);
      around = std::get<0>(at::embedding_bag(pooled, structure.slice(0, nodes),
                                             structure.slice(0, 0, nodes), false, kMax));
    } else {
      // Neighbour by neighbour: four times as fast as the maximum over [N, neighbours, width].
      for (const at::Tensor& neighbour : structure.unbind(1)) {
        const at::Tensor of_neighbour = pooled.index_select(0, neighbour);
        around = around.defined() ? at::maximum(around, of_neighbour) : of_neighbour;
      }
    }
    h = at::relu(at::linear(at::cat({h, around}, 1), layer.combine, layer.combine_bias));
  }
  return h;
}

}  // namespace placewright
