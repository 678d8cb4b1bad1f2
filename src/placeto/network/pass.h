// Placeto's network (layout.h) at work on one graph: forward for one state or several at a time, and
// the gradient of what comes out with respect to its numbers, written out by hand.
#ifndef PLACEWRIGHT_PLACETO_NETWORK_PASS_H_
#define PLACEWRIGHT_PLACETO_NETWORK_PASS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "placeto/network/graph.h"
#include "placeto/network/layout.h"

namespace placewright {

// Real: float; double where gradients are checked by differences.
template <class Real>
class PlacetoPass {
 public:
  // Both outlive it.
  PlacetoPass(const PlacetoGraph& graph, const PlacetoLayout& layout);

  // The numbers of the network, which outlive the passes that use them unchanged.
  void SetValues(std::span<const Real> values);

  // How many states the next Forward has.
  void Reserve(int32_t states);
  // Where the features [d] of a node in a state belong; all are to be written before Forward.
  std::span<Real> Features(int32_t node, int32_t state);
  // By state, the node to be placed.
  void Forward(std::span<const int32_t> nodes);
  std::span<const Real> Logits(int32_t state) const;  // [devices]
  Real Value(int32_t state) const;                    // with a learned baseline

  // Adds to `gradient`, which has a place for every number, that of
  //   sum over the states of the last Forward: d_logits . logits + d_values * value
  // from d_logits [states, devices] and d_values [states], which is empty without a learned baseline.
  void Backward(std::span<const Real> d_logits, std::span<const Real> d_values,
                std::span<Real> gradient);

 private:
  // Rows of so many numbers each.
  struct Rows {
    int32_t width = 0;  // padded
    std::vector<Real> numbers;
    Real* row(int64_t i) { return numbers.data() + i * width; }
    const Real* row(int64_t i) const { return numbers.data() + i * width; }
  };
  // Of one f and g along the graph, [node * states + state].
  struct Sweep {
    Rows sum, g0, g1, f0, f1;
    Rows d_sum, d_g0, d_g1, d_f0, d_f1;
  };
  // Of one f and g over the nodes of one relation.
  struct Pool {
    std::vector<int64_t> rows;    // of the embeddings
    std::vector<int32_t> states;  // theirs
    Rows x, f0, f1, sum, g0, g1;
    Rows d_x, d_f0, d_f1, d_sum, d_g0, d_g1;
  };

  void Apply(const PlacetoLayer& layer, int64_t rows, const Real* x, int32_t x_stride, bool relu,
             Rows& y, int64_t first = 0);
  // d_x = d_y W^T.
  void ApplyTransposed(const PlacetoLayer& layer, int64_t rows, const Real* d_y, int32_t stride,
                       Real* d_x, int32_t d_x_stride);
  void AddGradient(const PlacetoLayer& layer, int64_t rows, const Real* x, int32_t x_stride,
                   const Real* d_y, int32_t d_y_stride, Real* gradient);
  void MakeRoom(Rows& rows, int32_t width, int64_t count);

  void RunSweep(const PlacetoAggregator& layers, bool along, Sweep& sweep);
  void RunSweepBackward(const PlacetoAggregator& layers, bool along, Sweep& sweep, Real* gradient);
  void RunPool(const PlacetoAggregator& layers, int32_t place, Pool& pool);
  void RunPoolBackward(const PlacetoAggregator& layers, int32_t place, Pool& pool, Real* gradient);
  void RunTransformBackward(Real* gradient);
  void GatherPools(std::span<const int32_t> nodes);

  const PlacetoGraph& graph_;
  const PlacetoLayout& layout_;
  const int32_t width_;  // d
  int32_t capacity_ = 0, states_ = 0;
  std::vector<int32_t> nodes_;
  std::span<const Real> values_;
  std::vector<Real> transposed_;       // W^T of every layer, [outputs, padded inputs]
  std::vector<size_t> transposed_at_;  // by the layer's weights

  Rows features_, t0_, t1_, t2_, d_t2_, d_t1_, d_t0_;
  Sweep along_, against_;
  Rows embeddings_, d_embeddings_;  // e(v): that of the sweep along the graph, then of the other
  Pool pools_[3];
  Rows joined_, c0_, c1_, logits_, v0_, value_;
  Rows d_joined_, d_c0_, d_c1_, d_logits_, d_v0_, d_value_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLACETO_NETWORK_PASS_H_
