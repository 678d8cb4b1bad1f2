// A network that turns the features of a graph's nodes, and how they are joined, into
// representations.
#ifndef PLACEWRIGHT_LEARN_ENCODER_GRAPH_ENCODER_H_
#define PLACEWRIGHT_LEARN_ENCODER_GRAPH_ENCODER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace placewright {

class GraphEncoder {
 public:
  virtual ~GraphEncoder() = default;
  virtual int64_t width() const = 0;
  // Representations [N, width] of nodes with features [N, F]. `structure` is the encoder's own form
  // of the graph: a normalised adjacency (gcn.h), or neighbours (graph_sage.h).
  virtual at::Tensor Encode(const at::Tensor& structure, const at::Tensor& features) const = 0;
  virtual std::vector<at::Tensor> parameters() const = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_ENCODER_GRAPH_ENCODER_H_
