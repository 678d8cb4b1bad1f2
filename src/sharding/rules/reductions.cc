// Ops that reduce dimensions, or look at a whole one for each element: sums, means, softmax, norms.
#include <algorithm>
#include <utility>

#include "sharding/rules/forms.h"

namespace placewright {
namespace {

// Which dimensions a reduction takes: those stated, or all.
std::vector<bool> Reduced(RuleMaker& maker, size_t position, size_t rank) {
  const std::optional<std::vector<int64_t>> stated = maker.Integers(position, "dim");
  std::vector<bool> reduced(rank, !stated || stated->empty());
  if (rank == 0 || !stated) return reduced;
  for (const int64_t dimension : *stated) reduced[maker.Dimension(dimension, rank)] = true;
  return reduced;
}

void Reduce(RuleMaker& maker, size_t dims_at, Parts parts) {
  if (maker.input_count() < 1) return maker.Fail();
  ReduceDimensions(maker, Reduced(maker, dims_at, maker.in(0).size()), parts);
}

// sum(x), sum.dim_IntList(x, dims, keepdim)
void Sum(RuleMaker& maker) {
  Reduce(maker, 1, Parts::kSum);
  maker.rule().linear = {{0}};
}

void Extremum(RuleMaker& maker) { Reduce(maker, 1, Parts::kWhole); }
// norm.ScalarOpt_dim(x, p, dims, keepdim)
void Norm(RuleMaker& maker) { Reduce(maker, 2, Parts::kWhole); }

void Mean(RuleMaker& maker) {
  Reduce(maker, 1, Parts::kSum);
  maker.rule().linear = {{0}};
  maker.rule().form = PartForm::kMean;
}

// softmax(x, dim, ...), and its backward (grad, y, dim, ...): "...d...->...d...", d whole.
void AlongOne(RuleMaker& maker, size_t dim_at) {
  if (maker.input_count() < 1 || maker.output_count() < 1) return maker.Fail();
  const std::vector<int64_t>& shape = maker.in(0);
  const TensorAxes axes = maker.AxesOf(shape);
  if (!shape.empty()) {
    const size_t dim = maker.Dimension(maker.Integer(dim_at, "dim", -1), shape.size());
    if (maker.failed()) return;
    maker.SetParts(axes[dim][0], Parts::kWhole);
  }
  for (size_t i = 0; i < maker.input_count(); ++i) {
    if (maker.in(i) != shape) return maker.Fail();
    maker.input(i) = axes;
  }
  for (size_t i = 0; i < maker.output_count(); ++i) {
    if (maker.out(i) != shape) return maker.Fail();
    maker.output(i) = axes;
  }
}

void Softmax(RuleMaker& maker) { AlongOne(maker, 1); }
void SoftmaxBackward(RuleMaker& maker) { AlongOne(maker, 2); }
void CumulativeSum(RuleMaker& maker) {
  AlongOne(maker, 1);
  maker.rule().linear = {{0}};
}

// "[outer] [inner]" of a layer norm: statistics over the last dimensions, one for each of the others.
struct NormAxes {
  TensorAxes whole, statistics, weight;
};

NormAxes LayerNormAxes(RuleMaker& maker, const std::vector<int64_t>& shape, size_t normalized,
                       Parts outer) {
  NormAxes axes;
  if (normalized == 0 || normalized > shape.size()) {
    maker.Fail();
    return axes;
  }
  const size_t first = shape.size() - normalized;
  for (size_t i = 0; i < shape.size(); ++i) {
    const RuleAxisId axis = maker.Axis(shape[i], i < first ? outer : Parts::kWhole);
    axes.whole.push_back({axis});
    if (i < first) axes.statistics.push_back({axis});
    if (i >= first) axes.statistics.emplace_back();
    if (i >= first) axes.weight.push_back({axis});
  }
  return axes;
}

// Statistics keep their rank, with sizes 1, or only the outer dimensions.
TensorAxes StatisticsAs(const NormAxes& axes, const std::vector<int64_t>& shape) {
  TensorAxes statistics = axes.statistics;
  statistics.resize(std::min(statistics.size(), shape.size()));
  return statistics;
}

// native_layer_norm(x, normalized_shape, weight?, bias?, eps) -> (y, mean, rstd)
void LayerNorm(RuleMaker& maker) {
  const auto normalized = maker.Integers(1, "normalized_shape");
  if (maker.input_count() < 1 || maker.output_count() < 1 || !normalized) return maker.Fail();
  const NormAxes axes = LayerNormAxes(maker, maker.in(0), normalized->size(), Parts::kSplit);
  if (maker.failed()) return;
  maker.input(0) = axes.whole;
  for (size_t i = 1; i < maker.input_count(); ++i) maker.input(i) = axes.weight;
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = maker.ResultOf(i) == 0 ? axes.whole : StatisticsAs(axes, maker.out(i));
  }
}

// native_layer_norm_backward(grad, x, normalized_shape, mean, rstd, weight?, bias?, output_mask)
//   -> (grad x, grad weight, grad bias)
void LayerNormBackward(RuleMaker& maker) {
  const auto normalized = maker.Integers(2, "normalized_shape");
  if (maker.input_count() < 4 || maker.output_count() < 1 || !normalized) return maker.Fail();
  const NormAxes axes = LayerNormAxes(maker, maker.in(1), normalized->size(), Parts::kSum);
  if (maker.failed()) return;
  maker.input(0) = maker.input(1) = axes.whole;
  for (const size_t at : {size_t{3}, size_t{4}}) {
    const int32_t input = maker.InputAt(at);
    if (input < 0) return maker.Fail();
    maker.input(static_cast<size_t>(input)) =
        StatisticsAs(axes, maker.in(static_cast<size_t>(input)));
  }
  for (const size_t at : {size_t{5}, size_t{6}}) {
    const int32_t input = maker.InputAt(at);
    if (input >= 0) maker.input(static_cast<size_t>(input)) = axes.weight;
  }
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = maker.ResultOf(i) == 0 ? axes.whole : axes.weight;
  }
}

// "b c ..." of a batch norm, per channel.
struct BatchNormAxes {
  TensorAxes whole, channels;
};

BatchNormAxes ChannelAxes(RuleMaker& maker, const std::vector<int64_t>& shape, Parts others) {
  BatchNormAxes axes;
  if (shape.size() < 2) {
    maker.Fail();
    return axes;
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    axes.whole.push_back({maker.Axis(shape[i], i == 1 ? Parts::kSplit : others)});
  }
  axes.channels = {axes.whole[1]};
  return axes;
}

// A tensor of one number for each channel; an empty one (the statistics of evaluation) has none.
TensorAxes PerChannel(const BatchNormAxes& axes, const std::vector<int64_t>& shape,
                      RuleMaker& maker) {
  if (shape == std::vector<int64_t>{0}) return {{maker.Axis(0, Parts::kWhole)}};
  return axes.channels;
}

// native_batch_norm(x, weight?, bias?, running_mean?, running_var?, training, momentum, eps)
//   -> (y, save_mean, save_invstd); of overload no_stats without running statistics
// In training a part of the batch has statistics of its own: the compiler synchronises them.
void BatchNorm(RuleMaker& maker) {
  if (maker.input_count() < 1 || maker.output_count() < 1) return maker.Fail();
  const bool without = maker.op().type.ends_with(".no_stats");
  const bool training = maker.Flag(without ? 3 : 5, "training", true);
  const BatchNormAxes axes =
      ChannelAxes(maker, maker.in(0), training ? Parts::kSynchronised : Parts::kSplit);
  if (maker.failed()) return;
  maker.input(0) = axes.whole;
  if (training) maker.rule().form = PartForm::kBatchNorm;
  for (size_t i = 1; i < maker.input_count(); ++i) maker.input(i) = axes.channels;
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = maker.ResultOf(i) == 0 ? axes.whole : PerChannel(axes, maker.out(i), maker);
  }
}

// native_batch_norm_backward(grad, x, weight?, running_mean?, running_var?, save_mean?, save_invstd?,
// train, eps, output_mask) -> (grad x, grad weight, grad bias)
void BatchNormBackward(RuleMaker& maker) {
  if (maker.input_count() < 2 || maker.output_count() < 1) return maker.Fail();
  const bool training = maker.Flag(7, "train", true);
  const BatchNormAxes axes =
      ChannelAxes(maker, maker.in(1), training ? Parts::kSynchronised : Parts::kSum);
  if (maker.failed()) return;
  if (training) maker.rule().form = PartForm::kBatchNormBackward;
  maker.input(0) = maker.input(1) = axes.whole;
  for (size_t i = 2; i < maker.input_count(); ++i) {
    maker.input(i) = PerChannel(axes, maker.in(i), maker);
  }
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = maker.ResultOf(i) == 0 ? axes.whole : axes.channels;
  }
}

}  // namespace

std::vector<RuleRow> ReductionRules() {
  return {{"sum", Sum},
          {"mean", Mean},
          {"amax", Extremum},
          {"amin", Extremum},
          {"max", Extremum, "dim"},
          {"min", Extremum, "dim"},
          {"argmax", Extremum},
          {"argmin", Extremum},
          {"any", Extremum},
          {"all", Extremum},
          {"logsumexp", Extremum},
          {"norm", Norm},
          {"linalg_vector_norm", Norm},
          {"_softmax", Softmax},
          {"_log_softmax", Softmax},
          {"_safe_softmax", Softmax},
          {"_softmax_backward_data", SoftmaxBackward},
          {"_log_softmax_backward_data", SoftmaxBackward},
          {"cumsum", CumulativeSum},
          {"native_layer_norm", LayerNorm},
          {"native_layer_norm_backward", LayerNormBackward},
          {"native_batch_norm", BatchNorm},
          {"_native_batch_norm_legit", BatchNorm},
          {"native_batch_norm_backward", BatchNormBackward}};
}

}  // namespace placewright
