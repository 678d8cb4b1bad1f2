// Losses: of classes, of pairs of elements, of samples.
#include <algorithm>
#include <utility>

#include "sharding/rules/forms.h"

namespace placewright {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1 };

// "b c ..." with a class for each "b ...".
struct ClassAxes {
  TensorAxes scores, targets;
  RuleAxisId classes;
};

ClassAxes Classes(RuleMaker& maker, const std::vector<int64_t>& scores, Parts samples) {
  ClassAxes axes;
  if (scores.empty()) {
    maker.Fail();
    return axes;
  }
  const size_t class_at = scores.size() == 1 ? 0 : 1;
  for (size_t i = 0; i < scores.size(); ++i) {
    const RuleAxisId axis = maker.Axis(scores[i], i == class_at ? Parts::kWhole : samples);
    axes.scores.push_back({axis});
    if (i != class_at) axes.targets.push_back({axis});
    if (i == class_at) axes.classes = axis;
  }
  return axes;
}

// Whether the op's arguments up to the number of a class that is ignored, or what stands behind it, are all there by
// position: then a part of the classes has an operator of its own.
bool HasPartsOfClasses(const RuleMaker& maker, size_t arguments, size_t ignored_at) {
  const Op& op = maker.op();
  return op.args.size() == arguments && op.attributes.empty() &&
         op.args[ignored_at].AsInt() != nullptr && maker.InputAt(0) == 0 && maker.InputAt(1) == 1;
}

// nll_loss_forward(x, target, weight?, reduction, ignore_index) -> (loss, total_weight). A part of the classes has the
// losses of the samples whose targets are its own, and zeros for the others: the loss is the sum (Shoeybi et al. 2019,
// Megatron-LM, section 3).
void NllLoss(RuleMaker& maker) {
  if (maker.input_count() < 2 || maker.output_count() < 1) return maker.Fail();
  const int64_t reduction = maker.Integer(3, "reduction", kMean);
  const ClassAxes axes =
      Classes(maker, maker.in(0), reduction == kNone ? Parts::kSplit : Parts::kSum);
  if (maker.failed()) return;
  if (reduction == kMean) {
    maker.rule().form = PartForm::kWeightedMean;
    maker.rule().reduction_argument = 3;
  }
  if (HasPartsOfClasses(maker, 5, 4)) {
    maker.SetParts(axes.classes, Parts::kSum);
    maker.rule().axis_parts = {{axes.classes, "placewright.nll_loss_part.default", 5, false}};
  }
  maker.input(0) = axes.scores;
  maker.input(1) = axes.targets;
  if (maker.input_count() > 2) maker.input(2) = {{axes.classes}};
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = maker.ResultOf(i) == 0 && reduction == kNone ? axes.targets : TensorAxes();
  }
}

// nll_loss_backward(grad, x, target, weight?, reduction, ignore_index, total_weight) -> grad x. The
// total weight is that of the whole.
void NllLossBackward(RuleMaker& maker) {
  if (maker.input_count() < 4 || maker.output_count() != 1) return maker.Fail();
  const int64_t reduction = maker.Integer(4, "reduction", kMean);
  const ClassAxes axes = Classes(maker, maker.in(1), Parts::kSplit);
  if (maker.failed()) return;
  if (HasPartsOfClasses(maker, 7, 5)) {
    maker.SetParts(axes.classes, Parts::kSplit);
    maker.rule().axis_parts = {
        {axes.classes, "placewright.nll_loss_backward_part.default", 7, true}};
  }
  maker.input(0) = reduction == kNone ? axes.targets : TensorAxes();
  maker.input(1) = maker.output(0) = axes.scores;
  maker.input(2) = axes.targets;
  if (const int32_t weight = maker.InputAt(3); weight >= 0) {
    maker.input(static_cast<size_t>(weight)) = {{axes.classes}};
  }
}

// A mean over `count` elements, or its gradient: parts are those of the sum, divided by that number.
void DivideBy(RuleMaker& maker, int64_t count, size_t reduction_at) {
  maker.rule().form = PartForm::kMean;
  maker.rule().divisor = count;
  maker.rule().reduction_argument = static_cast<int32_t>(reduction_at);
}

int64_t CountOf(const std::vector<int64_t>& shape) {
  __int128 count = 1;
  for (const int64_t size : shape) count = std::min<__int128>(count * size, kMaxQuantity);
  return static_cast<int64_t>(count);
}

// loss(x, target, ...) of pairs of elements: "...,...->" or, without reduction, "...,...->...".
void PairLoss(RuleMaker& maker, size_t reduction_at) {
  if (maker.input_count() < 2 || maker.output_count() != 1) return maker.Fail();
  const int64_t reduction = maker.Integer(reduction_at, "reduction", kMean);
  if (reduction == kNone) return Elementwise(maker);
  const std::vector<int64_t>& shape = maker.in(0);
  const TensorAxes axes = maker.AxesOf(shape, Parts::kSum);
  maker.AllowRepeats();
  for (size_t i = 0; i < maker.input_count(); ++i) {
    maker.input(i) = maker.Broadcast(maker.in(i), axes, shape);
  }
  maker.output(0) = {};
  if (reduction == kMean) DivideBy(maker, CountOf(shape), reduction_at);
}

// loss_backward(grad, x, target, ...) -> grad x
void PairLossBackward(RuleMaker& maker, size_t reduction_at) {
  if (maker.input_count() < 3 || maker.output_count() != 1 || maker.in(1) != maker.out(0)) {
    return maker.Fail();
  }
  const int64_t reduction = maker.Integer(reduction_at, "reduction", kMean);
  const std::vector<int64_t>& shape = maker.in(1);
  const TensorAxes axes = maker.AxesOf(shape);
  maker.AllowRepeats();
  for (size_t i = 0; i < maker.input_count(); ++i) {
    maker.input(i) = maker.Broadcast(maker.in(i), axes, shape);
  }
  maker.output(0) = axes;
  maker.rule().linear = {{0}};
  if (reduction == kMean) DivideBy(maker, CountOf(shape), reduction_at);
}

// (x, target, reduction, ...), (grad, x, target, reduction, ...)
void MeanSquares(RuleMaker& maker) { PairLoss(maker, 2); }
void MeanSquaresBackward(RuleMaker& maker) { PairLossBackward(maker, 3); }
// (x, target, weight?, reduction), (grad, x, target, weight?, reduction)
void CrossEntropyOfPairs(RuleMaker& maker) { PairLoss(maker, 3); }
void CrossEntropyOfPairsBackward(RuleMaker& maker) { PairLossBackward(maker, 4); }
// (x, target, weight?, weight of positives?, reduction)
void CrossEntropyOfLogits(RuleMaker& maker) { PairLoss(maker, 4); }

// Losses of samples with classes: x [samples classes] or [classes], a target of each sample.
//   multi_margin_loss(x, target, p, margin, weight?, reduction)
//   multilabel_margin_loss_forward(x, target, reduction) -> (loss, is_target)
// and their backward (grad, x, target, ...) -> grad x. A mean is one over samples.
void SampleLoss(RuleMaker& maker, size_t reduction_at, bool backward) {
  const size_t x_at = backward ? 1 : 0;
  if (maker.input_count() < x_at + 2 || maker.output_count() < 1) return maker.Fail();
  const int64_t reduction = maker.Integer(reduction_at, "reduction", kMean);
  const std::vector<int64_t>& shape = maker.in(x_at);
  if (maker.failed() || shape.size() != 2) return maker.Fail();
  const bool sums = !backward && reduction != kNone;
  const RuleAxisId samples = maker.Axis(shape[0], sums ? Parts::kSum : Parts::kSplit);
  const RuleAxisId classes = maker.Axis(shape[1], Parts::kWhole);
  const auto axes_of = [&](const std::vector<int64_t>& stated) -> TensorAxes {
    if (stated == shape) return {{samples}, {classes}};
    if (stated.empty()) return {};
    if (stated.size() == 1 && stated[0] == shape[0]) return {{samples}};
    maker.Fail();
    return {};
  };
  for (size_t i = 0; i < maker.input_count(); ++i) {
    // A weight for each class stands behind the targets.
    const bool weight = i > x_at + 1 && maker.in(i) == std::vector<int64_t>{shape[1]};
    maker.input(i) = weight ? TensorAxes{{classes}} : axes_of(maker.in(i));
  }
  for (size_t i = 0; i < maker.output_count(); ++i) maker.output(i) = axes_of(maker.out(i));
  if (reduction == kMean) DivideBy(maker, shape[0], reduction_at);
}
void MultiMargin(RuleMaker& maker) { SampleLoss(maker, 5, false); }
void MultiMarginBackward(RuleMaker& maker) { SampleLoss(maker, 6, true); }
void MultiLabelMargin(RuleMaker& maker) { SampleLoss(maker, 2, false); }
void MultiLabelMarginBackward(RuleMaker& maker) { SampleLoss(maker, 3, true); }

// _ctc_loss.Tensor(log_probs [t n c], targets [n s], input_lengths [n], target_lengths [n], blank, ...)
//   -> (losses [n], log_alpha [n t ...]); its backward (grad [n], log_probs, targets, input_lengths,
// target_lengths, losses, log_alpha, ...) -> grad log_probs. Targets in a row are cut nowhere.
void CtcLoss(RuleMaker& maker) {
  const bool backward = maker.op().type.find("backward") != std::string_view::npos;
  const size_t first = backward ? 1 : 0;
  if (maker.input_count() != (backward ? 7 : 4) || maker.output_count() < 1 ||
      maker.in(first).size() != 3 || maker.in(first + 1).size() != 2) {
    return maker.Fail();
  }
  const RuleAxisId samples = maker.Axis(maker.in(first)[1]);
  const auto along = [&](const std::vector<int64_t>& shape, size_t dim) {
    TensorAxes axes = maker.AxesOf(shape, Parts::kWhole);
    if (dim >= shape.size()) maker.Fail();
    if (!maker.failed()) axes[dim] = {samples};
    return axes;
  };
  for (size_t i = 0; i < maker.input_count(); ++i) {
    maker.input(i) = along(maker.in(i), i == first ? 1 : 0);
  }
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = along(maker.out(i), backward ? 1 : 0);
  }
}

}  // namespace

std::vector<RuleRow> LossRules() {
  return {{"_ctc_loss _ctc_loss_backward", CtcLoss, "Tensor"},
          {"nll_loss_forward nll_loss2d_forward", NllLoss},
          {"nll_loss_backward nll_loss2d_backward", NllLossBackward},
          {"mse_loss smooth_l1_loss huber_loss soft_margin_loss", MeanSquares},
          {"mse_loss_backward smooth_l1_loss_backward huber_loss_backward "
           "soft_margin_loss_backward",
           MeanSquaresBackward},
          {"binary_cross_entropy", CrossEntropyOfPairs},
          {"binary_cross_entropy_backward", CrossEntropyOfPairsBackward},
          {"binary_cross_entropy_with_logits", CrossEntropyOfLogits},
          {"multi_margin_loss", MultiMargin},
          {"multi_margin_loss_backward", MultiMarginBackward},
          {"multilabel_margin_loss_forward", MultiLabelMargin},
          {"multilabel_margin_loss_backward", MultiLabelMarginBackward}};
}

}  // namespace placewright
