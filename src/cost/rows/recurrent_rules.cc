// Whole recurrent layers and whole attention as one op.
#include <algorithm>

#include "cost/rows/rules.h"

namespace placewright {

// X [s, b, i], W [d, g*h, i], R [d, g*h, h] for g gates; the public figures count LSTM alone.
void OnnxRecurrent(const OpView& op, const WorkRow& row, Work& work) {
  const Tensor *x = op.input(0), *w = op.input(1), *r = op.input(2);
  if (x == nullptr || w == nullptr || r == nullptr || x->shape.size() != 3) {
    return Streaming(op, row, work);
  }
  const int64_t weights = SaturatingAdd(Elements(*w), Elements(*r));  // d * g*h * (i + h)
  const int64_t macs = SaturatingMultiply(x->shape[0], SaturatingMultiply(x->shape[1], weights));
  const bool batch_first = OpView::IntegerOr(op.Attribute("layout"), 0) == 1;
  const int64_t steps = x->shape[batch_first ? 1 : 0];
  work.flops = 2 * static_cast<double>(macs);
  // Within a step, sums of more than 512 terms are split.
  const int64_t hidden = r->shape.empty() ? 1 : r->shape.back();
  work.depth = SaturatingMultiply(std::max<int64_t>(steps, 0), std::min<int64_t>(hidden, 512));
  // The recurrent weights are read again at every step.
  const int64_t again = SaturatingMultiply(std::max<int64_t>(steps - 1, 0), TouchedBytes(*r));
  work.bytes_read = Bytes(SaturatingAdd(op.InputBytes(), again));
  work.bytes_written = Bytes(op.OutputBytes());
  if (row.flops == 4) work.macs = macs;  // four gates: LSTM
}

namespace {

// Kernels leave out the blocks above the diagonal: half of the scores. Public figures count them all the same.
bool IsCausal(const OpView& op, const WorkRow& row) {
  if (row.flops == 0) return false;
  if (const Value* named = op.Attribute("is_causal")) return OpView::BoolOr(named, false);
  return OpView::BoolOr(op.Arg(static_cast<size_t>(row.flops)), false);
}

// Of a part of the places under a causal mask, [from, to) of all, the mean place: a query sees the keys up to its own.
double SeenByPart(const OpView& op, const WorkRow& row) {
  const auto place = OpView::Integers(op.Arg(static_cast<size_t>(row.flops)));
  if (!place || place->size() != 5 || (*place)[2] < 1) return 1;
  return static_cast<double>((*place)[3] + (*place)[4]) / static_cast<double>(2 * (*place)[2]);
}

// Scores q k^T and their product with v: 2 * b*l*s*(e + ev) flops; softmax ~ 8 an element. Of them `seen` is computed.
void SetAttention(const OpView& op, size_t q_at, double times, double seen, Work& work) {
  const Tensor *q = op.input(q_at), *k = op.input(q_at + 1), *v = op.input(q_at + 2);
  work.bytes_read = Bytes(op.InputBytes());
  work.bytes_written = Bytes(op.OutputBytes());
  if (!q || !k || !v || q->shape.size() < 2 || k->shape.size() < 2 || v->shape.empty()) return;
  const int64_t width = std::max<int64_t>(q->shape.back(), 1);
  const double rows = static_cast<double>(Elements(*q) / width);
  const double keys = static_cast<double>(k->shape[k->shape.size() - 2]);
  const double depth = static_cast<double>(width) + static_cast<double>(v->shape.back());
  work.flops = times * rows * keys * (2 * depth + 8) * seen;
  const double macs = times * rows * keys * depth;
  work.macs = macs < static_cast<double>(kMaxQuantity) ? static_cast<int64_t>(macs) : kMaxQuantity;
  work.depth = SaturatingAdd(width, k->shape[k->shape.size() - 2]);
}

}  // namespace

void AttentionForward(const OpView& op, const WorkRow& row, Work& work) {
  SetAttention(op, 0, 1, IsCausal(op, row) ? 0.5 : 1, work);
}
void CausalAttentionPart(const OpView& op, const WorkRow& row, Work& work) {
  SetAttention(op, 0, 1, SeenByPart(op, row), work);
}

// Recomputes the scores and makes four products: 5 where the forward pass makes 2 (Dao et al. 2022,
// app. B).
constexpr double kBackward = 2.5;

void AttentionBackward(const OpView& op, const WorkRow& row, Work& work) {
  SetAttention(op, 1, kBackward, IsCausal(op, row) ? 0.5 : 1, work);
}
void CausalAttentionBackwardPart(const OpView& op, const WorkRow& row, Work& work) {
  SetAttention(op, 1, kBackward, SeenByPart(op, row), work);
}

// com.microsoft.Attention: x [b, s, h] times weights [h, 3h], then attention over s.
void ContribAttention(const OpView& op, const WorkRow& row, Work& work) {
  Streaming(op, row, work);
  const Tensor *x = op.input(0), *w = op.input(1);
  if (x == nullptr || w == nullptr || x->shape.size() != 3 || w->shape.size() != 2) return;
  const double rows = static_cast<double>(x->shape[0]) * static_cast<double>(x->shape[1]);
  const double projections = 2 * rows * static_cast<double>(Elements(*w));
  const double scores =
      4 * rows * static_cast<double>(x->shape[1]) * static_cast<double>(w->shape[1]) / 3;
  work.flops = projections + scores;
  work.depth = x->shape[2];
}

}  // namespace placewright
