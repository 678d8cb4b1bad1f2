// Graph convolutions (Kipf, Welling 2017; Mars eq. 1):
//
//   GCN(X, A) = PReLU(D^-1/2 (A + I) D^-1/2 X Theta)
//
// with D the degrees of A + I. Deviation: A is made symmetric (an edge counts in both directions,
// once however often), as the normalisation supposes; the paper's graphs are directed.
#ifndef PLACEWRIGHT_LEARN_ENCODER_GCN_H_
#define PLACEWRIGHT_LEARN_ENCODER_GCN_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "learn/nn/parameters.h"

namespace placewright {

using NodeEdge = std::pair<int64_t, int64_t>;

// D^-1/2 (A + I) D^-1/2, sparse [nodes, nodes]. Loops among `edges` are those of I.
at::Tensor NormalizedAdjacency(int64_t nodes, std::span<const NodeEdge> edges,
                               const at::TensorOptions& options);

// adjacency X, with gradients of X. `adjacency` is symmetric: the gradient is the same product.
at::Tensor Propagate(const at::Tensor& adjacency, const at::Tensor& x);

// `layers` convolutions, each `width` wide (Mars: 3 of 256).
class GcnEncoder {
 public:
  struct Options {
    int layers = 3;
    int64_t width = 256;
  };

  GcnEncoder(int64_t features, const Options& options, const std::string& name,
             Parameters& parameters);

  int64_t width() const { return options_.width; }
  std::vector<at::Tensor> parameters() const;
  // Representations [N, width] of nodes with features [N, features].
  at::Tensor Encode(const at::Tensor& adjacency, const at::Tensor& features) const;

 private:
  struct Layer {
    at::Tensor theta;  // [in, width]
    at::Tensor slope;  // [1], of PReLU's negative side
  };

  Options options_;
  std::vector<Layer> layers_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_ENCODER_GCN_H_
