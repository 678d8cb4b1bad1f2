// TAG's graph network (search/tag/network.h) in LibTorch, with gradients: what is trained. Its parameters are those of
// TagParameters, by name, so that a policy serves both.
//
// First values: matrices and the vectors of attention uniform as Glorot has them, biases and shifts 0, scales 1.
#ifndef PLACEWRIGHT_LEARN_TAG_TAG_NETWORK_H_
#define PLACEWRIGHT_LEARN_TAG_TAG_NETWORK_H_

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "learn/nn/parameters.h"
#include "search/tag/lesson.h"
#include "search/tag/network.h"

namespace placewright {

// Which of some rows belong together.
struct RowSets {
  // `set_of`: of each row, below `sets`.
  RowSets(const std::vector<int64_t>& set_of, int64_t sets, const at::Device& device);
  RowSets() = default;

  int64_t sets = 0;
  at::Tensor set_of;  // [rows]
  at::Tensor table;   // [sets, most rows of one]: their numbers, filled up by the number of rows
};

// A unit of a graph, and the slices that it may have.
struct TagChoice {
  size_t unit = 0;
  std::vector<const Slice*> slices;
};

// Lessons side by side: one graph, without an edge between two of them, so that they may be of different sizes.
struct TagBatch {
  // `lessons`: one at least, each with slices. `numbers`: type and device of what is computed.
  TagBatch(std::span<const TagLesson* const> lessons, const at::TensorOptions& numbers);
  // Choices of units of one graph, which all see it as it is: each is a lesson without a target.
  TagBatch(const TagGraph& graph, std::span<const TagChoice> choices,
           const at::TensorOptions& numbers);

  struct Edges {
    at::Tensor sources;   // [edges], rows of nodes
    RowSets targets;      // edges by the node that they lead to
    at::Tensor features;  // [edges, features]
  };
  int64_t graphs = 0, lessons = 0;
  at::Tensor unit, device;                       // [nodes, features]
  std::array<Edges, 5> edges;                    // by TagEdge
  at::Tensor graph_of_device;                    // [devices]
  at::Tensor devices_of_graph;                   // [graphs]: how many
  at::Tensor next, graph_of_lesson;              // [lessons], rows of `unit`
  RowSets slices;                                // by lesson
  at::Tensor option_of_slice, target;            // [slices]
  at::Tensor slice_of_member, device_of_member;  // of each device group in the set of a slice
};

// ln of the softmax over the rows of each set.
at::Tensor LogSoftmaxBy(const at::Tensor& rows, const RowSets& sets);

class TagAutogradNetwork {
 public:
  // Adds its parameters to `parameters`.
  TagAutogradNetwork(const TagNetworkSize& size, Parameters& parameters);

  at::Tensor Scores(const TagBatch& batch) const;  // [slices]
  // Cross-entropy of the priors against the targets: - sum over slices of target ln prior, mean over lessons.
  at::Tensor Loss(const TagBatch& batch) const;

 private:
  const at::Tensor& Of(const std::string& name) const { return parameters_.at(name); }
  at::Tensor Dense(const std::string& name, const at::Tensor& x) const;  // W x + b, of rows x
  // Of each target, the messages by their weights: [targets, inner].
  at::Tensor Attend(const std::string& name, const at::Tensor& sources, const at::Tensor& targets,
                    const TagBatch::Edges& edges, const at::Tensor& edge_numbers) const;
  at::Tensor Update(const std::string& name, const at::Tensor& nodes, const at::Tensor& mean,
                    bool last) const;
  at::Tensor Decode(const TagBatch& batch, const at::Tensor& units,
                    const at::Tensor& devices) const;

  const TagNetworkSize size_;
  std::map<std::string, at::Tensor> parameters_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_TAG_TAG_NETWORK_H_
