// Ops that make tensors from nothing, filled, counted or drawn.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sharding/rules/forms.h"

namespace placewright {
namespace {

// zeros(size), full(size, value), ...: any part of any dimension.
void MakeFilled(RuleMaker& maker) {
  if (maker.input_count() != 0 || maker.output_count() != 1) return maker.Fail();
  maker.output(0) = maker.AxesOf(maker.out(0));
  maker.Sizes(0, "size", maker.output(0));
}

// new_zeros(x, size): of x only the dtype counts.
void MakeFilledLike(RuleMaker& maker) {
  if (!IsUnary(maker)) return;
  WholeFrom(maker, 0);
  maker.rule().unread = {0};
  maker.output(0) = maker.AxesOf(maker.out(0));
  maker.Sizes(1, "size", maker.output(0));
}

// empty_strided(size, stride), new_empty_strided(x, size, stride): where elements lie densely, strides are
// products of sizes, which follow.
void MakeStrided(RuleMaker& maker, size_t size_at) {
  if (maker.output_count() != 1 || maker.input_count() > 1) return maker.Fail();
  const std::vector<int64_t>& shape = maker.out(0);
  const auto strides = maker.Integers(size_at + 1, "stride");
  if (!strides || strides->size() != shape.size()) return maker.Fail();
  WholeFrom(maker, 0);
  if (maker.input_count() > 0) maker.rule().unread = {0};
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return (*strides)[a] < (*strides)[b]; });
  int64_t due = 1;
  bool dense = true;
  for (const size_t dim : order) {
    dense = dense && (shape[dim] == 1 || (shape[dim] > 0 && (*strides)[dim] == due));
    if (dense) due *= shape[dim];
  }
  const TensorAxes axes = maker.AxesOf(shape, dense ? Parts::kSplit : Parts::kWhole);
  maker.output(0) = axes;
  if (!dense) return;
  maker.Sizes(size_at, "size", axes);
  std::vector<RuleAxisId> inner;
  for (const size_t dim : order) {
    if (shape[dim] == 1) continue;
    maker.Size(size_at + 1, "stride", dim, inner);
    inner.push_back(axes[dim][0]);
  }
}
void EmptyStrided(RuleMaker& maker) { MakeStrided(maker, 0); }
void NewEmptyStrided(RuleMaker& maker) { MakeStrided(maker, 1); }

// randn(size), randint(low, high, size): drawn as one.
void Draw(RuleMaker& maker) {
  if (maker.input_count() != 0 || maker.output_count() != 1) return maker.Fail();
  maker.output(0) = maker.AxesOf(maker.out(0));
  maker.rule().draws_random = true;
}

// counter_draw_new(size, step, seed, draw, distribution, first, second, place): any part of any dimension.
void CountingDrawNew(RuleMaker& maker) {
  constexpr int32_t kPlace = 7;
  if (maker.input_count() != 1 || maker.output_count() != 1 ||
      maker.op().args.size() != kPlace + 1) {
    return maker.Fail();
  }
  WholeFrom(maker, 0);
  maker.output(0) = maker.AxesOf(maker.out(0));
  maker.Sizes(0, "size", maker.output(0));
  maker.rule().place_argument = kPlace;
}

// arange, one number: values follow the place, so that there are no parts.
void MakeWhole(RuleMaker& maker) {
  if (maker.output_count() != 1) return maker.Fail();
  WholeFrom(maker, 0);
  maker.output(0) = maker.AxesOf(maker.out(0), Parts::kWhole);
}

void DrawWhole(RuleMaker& maker) {
  MakeWhole(maker);
  maker.rule().draws_random = true;
}

}  // namespace

std::vector<RuleRow> CreationRules() {
  return {{"empty_strided", EmptyStrided},
          {"new_empty_strided", NewEmptyStrided},
          {"counter_draw_new", CountingDrawNew},
          {"rand randn randint", Draw},
          {"zeros ones empty full", MakeFilled},
          {"new_zeros new_ones new_empty new_full", MakeFilledLike},
          {"scalar_tensor empty_permuted arange eye linspace logspace range tril_indices "
           "triu_indices fft_fftfreq fft_rfftfreq bartlett_window blackman_window hamming_window "
           "hann_window kaiser_window",
           MakeWhole},
          {"randperm", DrawWhole}};
}

}  // namespace placewright
