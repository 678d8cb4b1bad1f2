#include "placeto/network/pass.h"

#include <algorithm>

#include "base/check.h"
#include "placeto/network/kernels.h"

namespace placewright {

template <class Real>
PlacetoPass<Real>::PlacetoPass(const PlacetoGraph& graph, const PlacetoLayout& layout)
    : graph_(graph), layout_(layout), width_(layout.width) {
  size_t size = 0;
  transposed_at_.resize(layout.size, 0);
  for (const PlacetoLayer* layer : layout.layers()) {
    transposed_at_[layer->weights] = size;
    size += static_cast<size_t>(layer->outputs) * static_cast<size_t>(PaddedWidth(layer->inputs));
  }
  transposed_.resize(size, 0);
}

template <class Real>
void PlacetoPass<Real>::SetValues(std::span<const Real> values) {
  PW_CHECK(values.size() == layout_.size);
  values_ = values;
  for (const PlacetoLayer* layer : layout_.layers()) {
    const Real* const from = values.data() + layer->weights;
    Real* const to = transposed_.data() + transposed_at_[layer->weights];
    const int32_t stride = PaddedWidth(layer->inputs);
    for (int32_t input = 0; input < layer->inputs; ++input) {
      for (int32_t output = 0; output < layer->outputs; ++output) {
        to[output * stride + input] = from[input * layer->columns + output];
      }
    }
  }
}

template <class Real>
void PlacetoPass<Real>::MakeRoom(Rows& rows, int32_t width, int64_t count) {
  rows.width = PaddedWidth(width);
  const size_t size = static_cast<size_t>(rows.width) * static_cast<size_t>(count);
  if (rows.numbers.size() < size) rows.numbers.resize(size, 0);
}

template <class Real>
void PlacetoPass<Real>::Reserve(int32_t states) {
  states_ = states;
  if (states <= capacity_) return;
  capacity_ = states;
  const int64_t rows = static_cast<int64_t>(graph_.size()) * states;
  for (Rows* of : {&features_, &t0_, &t1_, &t2_, &d_t2_, &d_t1_, &d_t0_}) {
    MakeRoom(*of, width_, rows);
  }
  for (Sweep* sweep : {&along_, &against_}) {
    for (Rows* of : {&sweep->sum, &sweep->g0, &sweep->g1, &sweep->f0, &sweep->f1, &sweep->d_sum,
                     &sweep->d_g0, &sweep->d_g1, &sweep->d_f0, &sweep->d_f1}) {
      MakeRoom(*of, width_, rows);
    }
  }
  MakeRoom(embeddings_, 2 * width_, rows);
  MakeRoom(d_embeddings_, 2 * width_, rows);
  for (Pool& pool : pools_) {
    for (Rows* of : {&pool.sum, &pool.g0, &pool.g1, &pool.d_sum, &pool.d_g0, &pool.d_g1}) {
      MakeRoom(*of, 2 * width_, states);
    }
  }
  for (Rows* of : {&joined_, &c1_, &v0_, &d_joined_, &d_c1_, &d_v0_}) {
    MakeRoom(*of, 8 * width_, states);
  }
  MakeRoom(c0_, 16 * width_, states);
  MakeRoom(d_c0_, 16 * width_, states);
  MakeRoom(logits_, layout_.devices, states);
  MakeRoom(d_logits_, layout_.devices, states);
  MakeRoom(value_, 1, states);
  MakeRoom(d_value_, 1, states);
}

template <class Real>
std::span<Real> PlacetoPass<Real>::Features(int32_t node, int32_t state) {
  return {features_.row(static_cast<int64_t>(node) * states_ + state), static_cast<size_t>(width_)};
}

template <class Real>
std::span<const Real> PlacetoPass<Real>::Logits(int32_t state) const {
  return {logits_.row(state), static_cast<size_t>(layout_.devices)};
}

template <class Real>
Real PlacetoPass<Real>::Value(int32_t state) const {
  return value_.row(state)[0];
}

template <class Real>
void PlacetoPass<Real>::Apply(const PlacetoLayer& layer, int64_t rows, const Real* x,
                              int32_t x_stride, bool relu, Rows& y, int64_t first) {
  Dense({rows, layer.inputs, layer.columns, x_stride, y.width}, x, values_.data() + layer.weights,
        values_.data() + layer.biases, relu, y.row(first));
}

template <class Real>
void PlacetoPass<Real>::ApplyTransposed(const PlacetoLayer& layer, int64_t rows, const Real* d_y,
                                        int32_t stride, Real* d_x, int32_t d_x_stride) {
  Dense<Real>({rows, layer.outputs, PaddedWidth(layer.inputs), stride, d_x_stride}, d_y,
              transposed_.data() + transposed_at_[layer.weights], nullptr, false, d_x);
}

template <class Real>
void PlacetoPass<Real>::AddGradient(const PlacetoLayer& layer, int64_t rows, const Real* x,
                                    int32_t x_stride, const Real* d_y, int32_t d_y_stride,
                                    Real* gradient) {
  DenseGradient({rows, layer.inputs, layer.columns, x_stride, d_y_stride}, x, d_y,
                gradient + layer.weights, gradient + layer.biases);
}

template <class Real>
void PlacetoPass<Real>::Forward(std::span<const int32_t> nodes) {
  PW_CHECK(static_cast<int32_t>(nodes.size()) == states_);
  nodes_.assign(nodes.begin(), nodes.end());
  const int64_t rows = static_cast<int64_t>(graph_.size()) * states_;
  Apply(layout_.transform[0], rows, features_.row(0), features_.width, true, t0_);
  Apply(layout_.transform[1], rows, t0_.row(0), t0_.width, true, t1_);
  Apply(layout_.transform[2], rows, t1_.row(0), t1_.width, false, t2_);
  RunSweep(layout_.forward, true, along_);
  RunSweep(layout_.backward, false, against_);
  GatherPools(nodes);
  RunPool(layout_.ancestors, 0, pools_[0]);
  RunPool(layout_.descendants, 1, pools_[1]);
  RunPool(layout_.peers, 2, pools_[2]);
  for (int32_t state = 0; state < states_; ++state) {
    const Real* const own = embeddings_.row(static_cast<int64_t>(nodes[state]) * states_ + state);
    std::copy(own, own + 2 * width_, joined_.row(state) + 6 * width_);
  }
  Apply(layout_.classifier[0], states_, joined_.row(0), joined_.width, true, c0_);
  Apply(layout_.classifier[1], states_, c0_.row(0), c0_.width, true, c1_);
  Apply(layout_.classifier[2], states_, c1_.row(0), c1_.width, false, logits_);
  if (!layout_.has_value) return;
  Apply(layout_.value[0], states_, joined_.row(0), joined_.width, true, v0_);
  Apply(layout_.value[1], states_, v0_.row(0), v0_.width, false, value_);
}

// Level by level, as within one no node waits for another.
template <class Real>
void PlacetoPass<Real>::RunSweep(const PlacetoAggregator& layers, bool along, Sweep& sweep) {
  const int32_t place = along ? 0 : width_;
  for (int32_t i = 0; i < graph_.levels(); ++i) {
    const auto [begin, end] = graph_.Level(along ? i : graph_.levels() - 1 - i);
    const int64_t first = static_cast<int64_t>(begin) * states_,
                  rows = static_cast<int64_t>(end - begin) * states_;
    Real* const sum = sweep.sum.row(first);
    std::fill(sum, sum + rows * sweep.sum.width, Real{0});
    for (int32_t node = begin; node < end; ++node) {
      Real* const to = sweep.sum.row(static_cast<int64_t>(node) * states_);
      for (const int32_t from : along ? graph_.Parents(node) : graph_.Children(node)) {
        const Real* const message = sweep.f1.row(static_cast<int64_t>(from) * states_);
        for (int64_t j = 0; j < static_cast<int64_t>(states_) * sweep.sum.width; ++j) {
          to[j] += message[j];
        }
      }
    }
    Apply(layers.g[0], rows, sum, sweep.sum.width, true, sweep.g0, first);
    Apply(layers.g[1], rows, sweep.g0.row(first), sweep.g0.width, true, sweep.g1, first);
    for (int32_t node = begin; node < end; ++node) {
      const bool alone = (along ? graph_.Parents(node) : graph_.Children(node)).empty();
      for (int64_t row = static_cast<int64_t>(node) * states_, last = row + states_; row < last;
           ++row) {
        Real* const g = sweep.g1.row(row);
        if (alone) std::fill(g, g + width_, Real{0});
        const Real* const own = t2_.row(row);
        Real* const to = embeddings_.row(row) + place;
        for (int32_t j = 0; j < width_; ++j) to[j] = own[j] + g[j];
      }
    }
    Apply(layers.f[0], rows, embeddings_.row(first) + place, embeddings_.width, true, sweep.f0,
          first);
    Apply(layers.f[1], rows, sweep.f0.row(first), sweep.f0.width, true, sweep.f1, first);
  }
}

template <class Real>
void PlacetoPass<Real>::GatherPools(std::span<const int32_t> nodes) {
  for (Pool& pool : pools_) {
    pool.rows.clear();
    pool.states.clear();
  }
  for (int32_t node = 0; node < graph_.size(); ++node) {
    for (int32_t state = 0; state < states_; ++state) {
      const PlacetoRelation relation = graph_.Relation(nodes[state], node);
      if (relation == PlacetoRelation::kSelf) continue;
      Pool& pool = pools_[relation == PlacetoRelation::kAncestor     ? 0
                          : relation == PlacetoRelation::kDescendant ? 1
                                                                     : 2];
      pool.rows.push_back(static_cast<int64_t>(node) * states_ + state);
      pool.states.push_back(state);
    }
  }
}

template <class Real>
void PlacetoPass<Real>::RunPool(const PlacetoAggregator& layers, int32_t place, Pool& pool) {
  const auto rows = static_cast<int64_t>(pool.rows.size());
  for (Rows* of : {&pool.x, &pool.f0, &pool.f1, &pool.d_x, &pool.d_f0, &pool.d_f1}) {
    MakeRoom(*of, 2 * width_, rows);
  }
  for (int64_t i = 0; i < rows; ++i) {
    const Real* const from = embeddings_.row(pool.rows[static_cast<size_t>(i)]);
    std::copy(from, from + embeddings_.width, pool.x.row(i));
  }
  Apply(layers.f[0], rows, pool.x.row(0), pool.x.width, true, pool.f0);
  Apply(layers.f[1], rows, pool.f0.row(0), pool.f0.width, true, pool.f1);
  std::fill(pool.sum.row(0), pool.sum.row(states_), Real{0});
  for (int64_t i = 0; i < rows; ++i) {
    const Real* const from = pool.f1.row(i);
    Real* const to = pool.sum.row(pool.states[static_cast<size_t>(i)]);
    for (int32_t j = 0; j < pool.sum.width; ++j) to[j] += from[j];
  }
  Apply(layers.g[0], states_, pool.sum.row(0), pool.sum.width, true, pool.g0);
  Apply(layers.g[1], states_, pool.g0.row(0), pool.g0.width, true, pool.g1);
  for (int32_t state = 0; state < states_; ++state) {
    const Real* const from = pool.g1.row(state);
    std::copy(from, from + 2 * width_, joined_.row(state) + 2 * width_ * place);
  }
}

template <class Real>
void PlacetoPass<Real>::Backward(std::span<const Real> d_logits, std::span<const Real> d_values,
                                 std::span<Real> gradient) {
  PW_CHECK(gradient.size() == layout_.size);
  PW_CHECK(d_values.empty() != layout_.has_value);
  Real* const to = gradient.data();
  const int64_t states = states_;
  for (int32_t state = 0; state < states_; ++state) {
    const Real* const from = d_logits.data() + static_cast<int64_t>(state) * layout_.devices;
    std::copy(from, from + layout_.devices, d_logits_.row(state));
  }
  AddGradient(layout_.classifier[2], states, c1_.row(0), c1_.width, d_logits_.row(0),
              d_logits_.width, to);
  ApplyTransposed(layout_.classifier[2], states, d_logits_.row(0), d_logits_.width, d_c1_.row(0),
                  d_c1_.width);
  MaskGradient(states * c1_.width, c1_.row(0), d_c1_.row(0));
  AddGradient(layout_.classifier[1], states, c0_.row(0), c0_.width, d_c1_.row(0), d_c1_.width, to);
  ApplyTransposed(layout_.classifier[1], states, d_c1_.row(0), d_c1_.width, d_c0_.row(0),
                  d_c0_.width);
  MaskGradient(states * c0_.width, c0_.row(0), d_c0_.row(0));
  AddGradient(layout_.classifier[0], states, joined_.row(0), joined_.width, d_c0_.row(0),
              d_c0_.width, to);
  ApplyTransposed(layout_.classifier[0], states, d_c0_.row(0), d_c0_.width, d_joined_.row(0),
                  d_joined_.width);
  if (layout_.has_value) {
    for (int32_t state = 0; state < states_; ++state) d_value_.row(state)[0] = d_values[state];
    AddGradient(layout_.value[1], states, v0_.row(0), v0_.width, d_value_.row(0), d_value_.width,
                to);
    ApplyTransposed(layout_.value[1], states, d_value_.row(0), d_value_.width, d_v0_.row(0),
                    d_v0_.width);
    MaskGradient(states * v0_.width, v0_.row(0), d_v0_.row(0));
    AddGradient(layout_.value[0], states, joined_.row(0), joined_.width, d_v0_.row(0), d_v0_.width,
                to);
    // d_c0_ has been used up: room for what the other layer gives.
    ApplyTransposed(layout_.value[0], states, d_v0_.row(0), d_v0_.width, d_c0_.row(0), d_c0_.width);
    for (int32_t state = 0; state < states_; ++state) {
      for (int32_t j = 0; j < 8 * width_; ++j) d_joined_.row(state)[j] += d_c0_.row(state)[j];
    }
  }
  std::fill(d_embeddings_.row(0), d_embeddings_.row(states * graph_.size()), Real{0});
  for (int32_t state = 0; state < states_; ++state) {
    const Real* const from = d_joined_.row(state) + 6 * width_;
    std::copy(from, from + 2 * width_, d_embeddings_.row(nodes_[state] * states + state));
  }
  RunPoolBackward(layout_.ancestors, 0, pools_[0], to);
  RunPoolBackward(layout_.descendants, 1, pools_[1], to);
  RunPoolBackward(layout_.peers, 2, pools_[2], to);
  std::fill(d_t2_.row(0), d_t2_.row(states * graph_.size()), Real{0});
  RunSweepBackward(layout_.forward, true, along_, to);
  RunSweepBackward(layout_.backward, false, against_, to);
  RunTransformBackward(to);
}

template <class Real>
void PlacetoPass<Real>::RunPoolBackward(const PlacetoAggregator& layers, int32_t place, Pool& pool,
                                        Real* gradient) {
  for (int32_t state = 0; state < states_; ++state) {
    const Real* const from = d_joined_.row(state) + 2 * width_ * place;
    std::copy(from, from + 2 * width_, pool.d_g1.row(state));
  }
  const int32_t width = pool.sum.width;
  MaskGradient(static_cast<int64_t>(states_) * width, pool.g1.row(0), pool.d_g1.row(0));
  AddGradient(layers.g[1], states_, pool.g0.row(0), width, pool.d_g1.row(0), width, gradient);
  ApplyTransposed(layers.g[1], states_, pool.d_g1.row(0), width, pool.d_g0.row(0), width);
  MaskGradient(static_cast<int64_t>(states_) * width, pool.g0.row(0), pool.d_g0.row(0));
  AddGradient(layers.g[0], states_, pool.sum.row(0), width, pool.d_g0.row(0), width, gradient);
  ApplyTransposed(layers.g[0], states_, pool.d_g0.row(0), width, pool.d_sum.row(0), width);
  const auto rows = static_cast<int64_t>(pool.rows.size());
  for (int64_t i = 0; i < rows; ++i) {
    const Real* const from = pool.d_sum.row(pool.states[static_cast<size_t>(i)]);
    std::copy(from, from + width, pool.d_f1.row(i));
  }
  MaskGradient(rows * width, pool.f1.row(0), pool.d_f1.row(0));
  AddGradient(layers.f[1], rows, pool.f0.row(0), width, pool.d_f1.row(0), width, gradient);
  ApplyTransposed(layers.f[1], rows, pool.d_f1.row(0), width, pool.d_f0.row(0), width);
  MaskGradient(rows * width, pool.f0.row(0), pool.d_f0.row(0));
  AddGradient(layers.f[0], rows, pool.x.row(0), width, pool.d_f0.row(0), width, gradient);
  ApplyTransposed(layers.f[0], rows, pool.d_f0.row(0), width, pool.d_x.row(0), width);
  for (int64_t i = 0; i < rows; ++i) {
    const Real* const from = pool.d_x.row(i);
    Real* const to = d_embeddings_.row(pool.rows[static_cast<size_t>(i)]);
    for (int32_t j = 0; j < width; ++j) to[j] += from[j];
  }
}

template <class Real>
void PlacetoPass<Real>::RunSweepBackward(const PlacetoAggregator& layers, bool along, Sweep& sweep,
                                         Real* gradient) {
  const int32_t place = along ? 0 : width_;
  const int32_t width = sweep.sum.width;
  for (int32_t i = graph_.levels() - 1; i >= 0; --i) {
    const auto [begin, end] = graph_.Level(along ? i : graph_.levels() - 1 - i);
    const int64_t first = static_cast<int64_t>(begin) * states_,
                  rows = static_cast<int64_t>(end - begin) * states_;
    Real* const d_f1 = sweep.d_f1.row(first);
    std::fill(d_f1, d_f1 + rows * width, Real{0});
    for (int32_t node = begin; node < end; ++node) {
      Real* const to = sweep.d_f1.row(static_cast<int64_t>(node) * states_);
      for (const int32_t reader : along ? graph_.Children(node) : graph_.Parents(node)) {
        const Real* const from = sweep.d_sum.row(static_cast<int64_t>(reader) * states_);
        for (int64_t j = 0; j < static_cast<int64_t>(states_) * width; ++j) to[j] += from[j];
      }
    }
    MaskGradient(rows * width, sweep.f1.row(first), d_f1);
    ApplyTransposed(layers.f[1], rows, d_f1, width, sweep.d_f0.row(first), width);
    MaskGradient(rows * width, sweep.f0.row(first), sweep.d_f0.row(first));
    // Into d_g1 first what comes back from f.
    ApplyTransposed(layers.f[0], rows, sweep.d_f0.row(first), width, sweep.d_g1.row(first), width);
    for (int64_t row = first; row < first + rows; ++row) {
      const Real* const from = d_embeddings_.row(row) + place;
      Real* const d_h = sweep.d_g1.row(row);
      Real* const to = d_t2_.row(row);
      const Real* const g = sweep.g1.row(row);
      for (int32_t j = 0; j < width_; ++j) {
        const Real d = d_h[j] + from[j];
        to[j] += d;
        d_h[j] = g[j] > 0 ? d : 0;
      }
    }
    ApplyTransposed(layers.g[1], rows, sweep.d_g1.row(first), width, sweep.d_g0.row(first), width);
    MaskGradient(rows * width, sweep.g0.row(first), sweep.d_g0.row(first));
    ApplyTransposed(layers.g[0], rows, sweep.d_g0.row(first), width, sweep.d_sum.row(first), width);
  }
  // Weights' gradients as one product over all levels.
  const int64_t all = static_cast<int64_t>(graph_.size()) * states_;
  AddGradient(layers.g[1], all, sweep.g0.row(0), width, sweep.d_g1.row(0), width, gradient);
  AddGradient(layers.g[0], all, sweep.sum.row(0), width, sweep.d_g0.row(0), width, gradient);
  AddGradient(layers.f[1], all, sweep.f0.row(0), width, sweep.d_f1.row(0), width, gradient);
  AddGradient(layers.f[0], all, embeddings_.row(0) + place, embeddings_.width, sweep.d_f0.row(0),
              width, gradient);
}

template <class Real>
void PlacetoPass<Real>::RunTransformBackward(Real* gradient) {
  const int64_t rows = static_cast<int64_t>(graph_.size()) * states_;
  const int32_t width = t2_.width;
  AddGradient(layout_.transform[2], rows, t1_.row(0), width, d_t2_.row(0), width, gradient);
  ApplyTransposed(layout_.transform[2], rows, d_t2_.row(0), width, d_t1_.row(0), width);
  MaskGradient(rows * width, t1_.row(0), d_t1_.row(0));
  AddGradient(layout_.transform[1], rows, t0_.row(0), width, d_t1_.row(0), width, gradient);
  ApplyTransposed(layout_.transform[1], rows, d_t1_.row(0), width, d_t0_.row(0), width);
  MaskGradient(rows * width, t0_.row(0), d_t0_.row(0));
  AddGradient(layout_.transform[0], rows, features_.row(0), width, d_t0_.row(0), width, gradient);
}

template class PlacetoPass<float>;
template class PlacetoPass<double>;

}  // namespace placewright
