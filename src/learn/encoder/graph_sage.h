// GraphSAGE with max-pooling (Hamilton, Ying, Leskovec 2017; GDP eq. 2 and 3), the encoder of Mars's
// rival:
//
//   h_N(v) = max over u in N(v) of sigmoid(W h_u + b)
//   h_v'   = relu(W' [h_v, h_N(v)] + b')
//
// over at most so many neighbours of each node (GDP: five), drawn once for a problem where there are
// more; GDP draws them anew at each step. Or over all of them. GDP's f in eq. 3 is unpublished: an
// affine layer with ReLU. Deviation: a node with fewer neighbours than are drawn, and every node where all
// are looked at, counts itself as one, so that none is without any. Embedded, the features go through an affine layer first: GDP has
// embeddings of op types, whose number would otherwise be the width of W.
#ifndef PLACEWRIGHT_LEARN_ENCODER_GRAPH_SAGE_H_
#define PLACEWRIGHT_LEARN_ENCODER_GRAPH_SAGE_H_

#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "learn/encoder/gcn.h"

namespace placewright {

// [nodes, limit]: neighbours in either direction, drawn where there are more; a node itself where
// there are fewer.
at::Tensor SampleNeighbours(int64_t nodes, std::span<const NodeEdge> edges, int64_t limit,
                            Random random);

// [nodes + entries]: where each node's entries begin among those that follow, itself and all its
// neighbours in either direction.
at::Tensor AllNeighbours(int64_t nodes, std::span<const NodeEdge> edges);

class GraphSageEncoder : public GraphEncoder {
 public:
  struct Options {
    int layers = 4;
    int64_t width = 128;
    bool exact = false;     // over all neighbours
    bool embedded = false;  // features first become `width` numbers
  };

  GraphSageEncoder(int64_t features, const Options& options, const std::string& name,
                   Parameters& parameters);

  int64_t width() const override { return options_.width; }
  std::vector<at::Tensor> parameters() const override;
  // `structure`: of SampleNeighbours, or AllNeighbours where it is exact.
  at::Tensor Encode(const at::Tensor& structure, const at::Tensor& features) const override;

 private:
  struct Layer {
    at::Tensor pool, pool_bias;        // [in, in], [in]
    at::Tensor combine, combine_bias;  // [width, 2 in], [width]
  };

  Options options_;
  std::vector<at::Tensor> embedding_;  // where there is one: weight [width, F] and bias [width]
  std::vector<Layer> layers_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_ENCODER_GRAPH_SAGE_H_
