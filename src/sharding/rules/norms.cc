// Norms: layers of which an element depends on statistics over some dimensions.
#include <algorithm>
#include <utility>

#include "sharding/rules/forms.h"
#include "sharding/statistics_call.h"

namespace placewright {
namespace {

// "[outer] [inner]" of a layer norm: statistics over the last dimensions, one for each of the others.
struct NormAxes {
  TensorAxes whole, statistics, weight;
};

// Where several ops can compute the norm in parts of them.
Parts InnerParts(const RuleMaker& maker) {
  std::vector<size_t> ranks;
  for (size_t i = 0; i < maker.input_count(); ++i) ranks.push_back(maker.in(i).size());
  return StatisticsCallOf(maker.op(), ranks) ? Parts::kSynchronised : Parts::kWhole;
}

NormAxes LayerNormAxes(RuleMaker& maker, const std::vector<int64_t>& shape, size_t normalized,
                       Parts outer) {
  NormAxes axes;
  if (normalized == 0 || normalized > shape.size()) {
    maker.Fail();
    return axes;
  }
  const size_t first = shape.size() - normalized;
  for (size_t i = 0; i < shape.size(); ++i) {
    const RuleAxisId axis = maker.Axis(shape[i], i < first ? outer : InnerParts(maker));
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

// _fused_rms_norm(x, normalized_shape, weight?, eps) -> (y, rstd)
void RmsNorm(RuleMaker& maker) { LayerNorm(maker); }

// _fused_rms_norm_backward(grad, x, normalized_shape, rstd, weight?, output_mask) -> (grad x, grad weight)
void RmsNormBackward(RuleMaker& maker) {
  const auto normalized = maker.Integers(2, "normalized_shape");
  const int32_t rstd = maker.InputAt(3), weight = maker.InputAt(4);
  if (maker.input_count() < 3 || maker.output_count() < 1 || !normalized || rstd < 0) {
    return maker.Fail();
  }
  const NormAxes axes = LayerNormAxes(maker, maker.in(1), normalized->size(), Parts::kSum);
  if (maker.failed()) return;
  maker.input(0) = maker.input(1) = axes.whole;
  const auto of_rstd = static_cast<size_t>(rstd);
  maker.input(of_rstd) = StatisticsAs(axes, maker.in(of_rstd));
  if (weight >= 0) maker.input(static_cast<size_t>(weight)) = axes.weight;
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = maker.ResultOf(i) == 0 ? axes.whole : axes.weight;
  }
}

// "n [g c] ..." of a group norm: statistics for each sample and group.
struct GroupNormAxes {
  TensorAxes whole, channels, statistics;
};

GroupNormAxes GroupAxes(RuleMaker& maker, const std::vector<int64_t>& shape, int64_t groups,
                        Parts samples) {
  GroupNormAxes axes;
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0) {
    maker.Fail();
    return axes;
  }
  const RuleAxisId sample = maker.Axis(shape[0], samples);
  const RuleAxisId group = maker.Axis(groups);
  const RuleAxisId inner = maker.Axis(shape[1] / groups, Parts::kWhole);
  axes.whole = {{sample}, {group, inner}};
  for (size_t i = 2; i < shape.size(); ++i) {
    axes.whole.push_back({maker.Axis(shape[i], Parts::kWhole)});
  }
  axes.channels = {{group, inner}};
  axes.statistics = {{sample}, {group}};
  return axes;
}

// The numbers N, C and groups among the arguments, from `first` on (H W between them stays).
void GroupNormSizes(RuleMaker& maker, size_t first, const GroupNormAxes& axes) {
  maker.Size(first, "N", 0, axes.whole[0]);
  maker.Size(first + 1, "C", 0, axes.whole[1]);
  maker.Size(first + 3, "group", 0, axes.statistics[1]);
}

// native_group_norm(x, weight?, bias?, N, C, HxW, group, eps) -> (y, mean, rstd)
void GroupNorm(RuleMaker& maker) {
  if (maker.input_count() < 1 || maker.output_count() < 1) return maker.Fail();
  const GroupNormAxes axes =
      GroupAxes(maker, maker.in(0), maker.Integer(6, "group", 0), Parts::kSplit);
  if (maker.failed()) return;
  maker.input(0) = axes.whole;
  for (size_t i = 1; i < maker.input_count(); ++i) maker.input(i) = axes.channels;
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = maker.ResultOf(i) == 0 ? axes.whole : axes.statistics;
  }
  GroupNormSizes(maker, 3, axes);
}

// native_group_norm_backward(grad, x, mean, rstd, weight?, N, C, HxW, group, output_mask)
//   -> (grad x, grad weight, grad bias)
void GroupNormBackward(RuleMaker& maker) {
  if (maker.input_count() < 4 || maker.output_count() < 1) return maker.Fail();
  const GroupNormAxes axes =
      GroupAxes(maker, maker.in(1), maker.Integer(8, "group", 0), Parts::kSum);
  if (maker.failed()) return;
  maker.input(0) = maker.input(1) = axes.whole;
  maker.input(2) = maker.input(3) = axes.statistics;
  if (maker.input_count() > 4) maker.input(4) = axes.channels;
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = maker.ResultOf(i) == 0 ? axes.whole : axes.channels;
  }
  GroupNormSizes(maker, 5, axes);
}

// Norms over all dimensions but one of a weight, the first or the last:
// _weight_norm_interface(v, g, dim) -> (w, norms), and its backward (grad w, v, g, norms, dim) -> (grad v, grad g).
void WeightNorm(RuleMaker& maker) {
  const bool backward = maker.op().type.find("backward") != std::string_view::npos;
  if (maker.input_count() < 2 || maker.output_count() < 1) return maker.Fail();
  const std::vector<int64_t>& shape = maker.in(0);
  const size_t dim = maker.Dimension(maker.Integer(backward ? 4 : 2, "dim", 0), shape.size());
  if (maker.failed()) return;
  const TensorAxes axes = maker.AxesOf(shape, Parts::kWhole);
  maker.SetParts(axes[dim][0], Parts::kSplit);
  // A norm lies beside its weight, in dimensions of size 1 but for `dim`.
  const auto axes_of = [&](const std::vector<int64_t>& stated) {
    if (stated == shape) return axes;
    TensorAxes norm(stated.size());
    if (dim >= stated.size() || stated[dim] != shape[dim]) maker.Fail();
    if (!maker.failed()) norm[dim] = axes[dim];
    return norm;
  };
  for (size_t i = 0; i < maker.input_count(); ++i) maker.input(i) = axes_of(maker.in(i));
  for (size_t i = 0; i < maker.output_count(); ++i) maker.output(i) = axes_of(maker.out(i));
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

// _native_batch_norm_legit_no_training(x, weight?, bias?, running_mean, running_var, momentum, eps)
//   -> (y, save_mean, save_invstd), of which the last two are empty
void BatchNormOfEvaluation(RuleMaker& maker) {
  if (maker.input_count() < 1 || maker.output_count() < 1) return maker.Fail();
  const BatchNormAxes axes = ChannelAxes(maker, maker.in(0), Parts::kSplit);
  if (maker.failed()) return;
  maker.input(0) = axes.whole;
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

std::vector<RuleRow> NormRules() {
  return {{"native_layer_norm", LayerNorm},
          {"native_layer_norm_backward", LayerNormBackward},
          {"_fused_rms_norm", RmsNorm},
          {"_fused_rms_norm_backward", RmsNormBackward},
          {"native_group_norm", GroupNorm},
          {"native_group_norm_backward", GroupNormBackward},
          {"_weight_norm_interface _weight_norm_interface_backward", WeightNorm},
          {"native_batch_norm _native_batch_norm_legit", BatchNorm},
          {"_native_batch_norm_legit_no_training", BatchNormOfEvaluation},
          {"native_batch_norm_backward", BatchNormBackward}};
}

}  // namespace placewright
