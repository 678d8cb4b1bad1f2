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

#include "learn/encoder/graph_encoder.h"
#include "learn/nn/parameters.h"

namespace placewright {

using NodeEdge = std::pair<int64_t, int64_t>;

// D^-1/2 (A + I) D^-1/2, sparse [nodes, nodes]. Loops among `edges` are those of I.
at::Tensor NormalizedAdjacency(int64_t nodes, std::span<const NodeEdge> edges,
                               const at::TensorOptions& options);

// adjacency X, with gradients of X: a sparse adjacency [N, N], for X [N, I] or [1, N, I], or dense
// ones [B, N, N] for X [B, N, I]. They are symmetric: the gradient is the same product.
at::Tensor Propagate(const at::Tensor& adjacency, const at::Tensor& x);

// D^-1/2 (A + I) D^-1/2 of dense adjacencies A [B, N, N], symmetric with zeros on the diagonal.
at::Tensor NormalizeDense(const at::Tensor& adjacency);

// `layers` convolutions, each `width` wide (Mars: 3 of 256).
class GcnEncoder : public GraphEncoder {
 public:
  struct Options {
    int layers = 3;
    int64_t width = 256;
  };

  GcnEncoder(int64_t features, const Options& options, const std::string& name,
             Parameters& parameters);

  int64_t width() const override { return options_.width; }
  std::vector<at::Tensor> parameters() const override;
  // `structure`: of NormalizedAdjacency.
  at::Tensor Encode(const at::Tensor& structure, const at::Tensor& features) const override;

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
