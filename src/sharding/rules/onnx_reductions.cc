// ONNX: ops that reduce dimensions, or look at a whole one, or at places near by, for each element.
#include <algorithm>
#include <utility>

#include "sharding/rules/forms.h"

namespace placewright {
namespace {

// Which dimensions a reduction takes: those of `axes`, be it an attribute or an input of known values; all,
// or none where the op says so, without them.
std::vector<bool> OnnxReduced(RuleMaker& maker) {
  const size_t rank = maker.in(0).size();
  const auto stated = maker.Integers(kByName, "axes");
  if (!stated && maker.input_count() > 1) maker.Fail();
  const bool none = maker.Flag(kByName, "noop_with_empty_axes", false);
  std::vector<bool> reduced(rank, (!stated || stated->empty()) && !none);
  if (!stated || rank == 0) return reduced;
  for (const int64_t dimension : *stated) reduced[maker.Dimension(dimension, rank)] = true;
  return reduced;
}

void OnnxReduce(RuleMaker& maker, Parts parts) {
  if (maker.input_count() < 1) return maker.Fail();
  ReduceDimensions(maker, OnnxReduced(maker), parts);
  WholeFrom(maker, 1);
}

void OnnxReduceSum(RuleMaker& maker) {
  OnnxReduce(maker, Parts::kSum);
  maker.rule().linear = {{0}};
}
void OnnxReduceMean(RuleMaker& maker) {
  OnnxReduceSum(maker);
  maker.rule().form = PartForm::kMean;
  maker.DivideByReduced();
}
// Of magnitudes or of squares.
void OnnxReduceMagnitudes(RuleMaker& maker) { OnnxReduce(maker, Parts::kSum); }
void OnnxReduceOther(RuleMaker& maker) { OnnxReduce(maker, Parts::kWhole); }

void OnnxArgument(RuleMaker& maker) {
  if (maker.input_count() != 1 || maker.in(0).empty()) return maker.Fail();
  std::vector<bool> reduced(maker.in(0).size(), false);
  reduced[maker.Dimension(maker.Integer(kByName, "axis", 0), reduced.size())] = true;
  ReduceDimensions(maker, reduced, Parts::kWhole);
}

// All outputs are like the input, of which the dimensions in `whole` are.
void AlongSome(RuleMaker& maker, const std::vector<bool>& whole) {
  const TensorAxes axes = maker.AxesOf(maker.in(0));
  for (size_t d = 0; d < whole.size(); ++d) {
    if (whole[d]) maker.SetParts(axes[d][0], Parts::kWhole);
  }
  maker.input(0) = axes;
  for (size_t i = 0; i < maker.output_count(); ++i) maker.output(i) = axes;
  WholeFrom(maker, 1);
}

// Softmax and its like. Before operator set 13 the dimensions from the axis on are one, and the axis is 1
// where none is stated; the graph does not say which set it is of.
void OnnxSoftmax(RuleMaker& maker) {
  if (maker.input_count() != 1 || maker.in(0).empty()) return maker.Fail();
  const size_t rank = maker.in(0).size();
  const bool stated = maker.Argument(kByName, "axis") != nullptr;
  const size_t axis = stated ? maker.Dimension(maker.Integer(kByName, "axis", -1), rank)
                             : std::min<size_t>(1, rank - 1);
  std::vector<bool> whole(rank, false);
  std::fill(whole.begin() + static_cast<std::ptrdiff_t>(axis), whole.end(), true);
  AlongSome(maker, whole);
}

// One dimension, `otherwise` where none is stated.
void AlongAxis(RuleMaker& maker, int64_t otherwise) {
  if (maker.input_count() < 1 || maker.in(0).empty()) return maker.Fail();
  std::vector<bool> whole(maker.in(0).size(), false);
  whole[maker.Dimension(maker.Integer(kByName, "axis", otherwise), whole.size())] = true;
  AlongSome(maker, whole);
}
void OnnxAlongLast(RuleMaker& maker) { AlongAxis(maker, -1); }
void OnnxAcrossChannels(RuleMaker& maker) { AlongAxis(maker, 1); }

// Its axis is an input.
void OnnxCumulativeSum(RuleMaker& maker) {
  const auto axis = maker.Integers(kByName, "axis");
  if (!axis || axis->size() != 1) return maker.Fail();
  AlongAxis(maker, axis->front());
  maker.rule().linear = {{0}};
}

// TopK(x, k) -> (values, indices): the dimension is whole, and another one behind the op.
void OnnxTopK(RuleMaker& maker) {
  AlongAxis(maker, -1);
  if (maker.failed()) return;
  const size_t dim = maker.Dimension(maker.Integer(kByName, "axis", -1), maker.in(0).size());
  for (size_t i = 0; i < maker.output_count(); ++i) {
    if (maker.out(i).size() != maker.in(0).size()) return maker.Fail();
    maker.output(i)[dim] = {maker.Axis(maker.out(i)[dim], Parts::kWhole)};
  }
}

// LayerNormalization(x, scale, bias?) -> (y, mean?, deviation?): the dimensions from the axis on are whole.
void OnnxLayerNorm(RuleMaker& maker) {
  if (maker.input_count() < 1 || maker.in(0).empty()) return maker.Fail();
  const std::vector<int64_t>& shape = maker.in(0);
  const size_t axis = maker.Dimension(maker.Integer(kByName, "axis", -1), shape.size());
  TensorAxes axes, statistics;
  for (size_t d = 0; d < shape.size(); ++d) {
    axes.push_back({maker.Axis(shape[d], d < axis ? Parts::kSplit : Parts::kWhole)});
    statistics.push_back(d < axis ? axes.back() : std::vector<RuleAxisId>());
  }
  maker.input(0) = axes;
  for (size_t i = 1; i < maker.input_count(); ++i) {
    maker.input(i) = maker.Broadcast(maker.in(i), axes, shape);
  }
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = maker.ResultOf(i) == 0 ? axes : statistics;
  }
}

// "b c ..." where `channel` is the axes of c, and all behind it are `others`.
TensorAxes OnChannels(RuleMaker& maker, RuleAxisId batch, std::vector<RuleAxisId> channel,
                      Parts others) {
  TensorAxes axes = {{batch}, std::move(channel)};
  for (size_t d = 2; d < maker.in(0).size(); ++d) {
    axes.push_back({maker.Axis(maker.in(0)[d], others)});
  }
  return axes;
}

// BatchNormalization(x, scale, bias, mean, variance) -> (y, and in training mean, variance). In training the
// statistics are those of all parts.
void OnnxBatchNorm(RuleMaker& maker) {
  if (maker.input_count() != 5 || maker.in(0).size() < 2 || maker.output_count() < 1) {
    return maker.Fail();
  }
  const bool training =
      maker.Flag(kByName, "training_mode", false) || maker.op().outputs.size() > 1;
  const Parts others = training ? Parts::kSynchronised : Parts::kSplit;
  const RuleAxisId batch = maker.Axis(maker.in(0)[0], others);
  const RuleAxisId channel = maker.Axis(maker.in(0)[1]);
  if (training) maker.rule().form = PartForm::kBatchNorm;
  maker.input(0) = OnChannels(maker, batch, {channel}, others);
  for (size_t i = 1; i < maker.input_count(); ++i) maker.input(i) = {{channel}};
  for (size_t i = 0; i < maker.output_count(); ++i) {
    maker.output(i) = maker.ResultOf(i) == 0 ? maker.input(0) : TensorAxes{{channel}};
  }
}

// InstanceNormalization(x, scale, bias)
void OnnxInstanceNorm(RuleMaker& maker) {
  if (maker.input_count() != 3 || maker.in(0).size() < 3 || maker.output_count() != 1) {
    return maker.Fail();
  }
  const RuleAxisId batch = maker.Axis(maker.in(0)[0]), channel = maker.Axis(maker.in(0)[1]);
  maker.input(0) = maker.output(0) = OnChannels(maker, batch, {channel}, Parts::kWhole);
  maker.input(1) = maker.input(2) = {{channel}};
}

// GroupNormalization(x, scale, bias): one scale for each group, or for each channel.
void OnnxGroupNorm(RuleMaker& maker) {
  const int64_t groups = maker.Integer(kByName, "num_groups", 0);
  if (maker.input_count() != 3 || maker.in(0).size() < 2 || maker.output_count() != 1 ||
      groups < 1 || maker.in(0)[1] % groups != 0) {
    return maker.Fail();
  }
  const RuleAxisId batch = maker.Axis(maker.in(0)[0]), group = maker.Axis(groups);
  const RuleAxisId inner = maker.Axis(maker.in(0)[1] / groups, Parts::kWhole);
  maker.input(0) = maker.output(0) = OnChannels(maker, batch, {group, inner}, Parts::kWhole);
  const bool by_group = maker.in(1) == std::vector<int64_t>{groups};
  maker.input(1) = maker.input(2) = {by_group ? std::vector{group} : std::vector{group, inner}};
  maker.Size(kByName, "num_groups", 0, {group});
}

// Pooling: samples and channels are split, places whole. The indices of a MaxPool count through all samples.
void OnnxPooling(RuleMaker& maker) {
  if (maker.input_count() != 1 || maker.output_count() != 1 || maker.in(0).size() < 3 ||
      maker.out(0).size() != maker.in(0).size()) {
    return maker.Fail();
  }
  const RuleAxisId batch = maker.Axis(maker.in(0)[0]), channel = maker.Axis(maker.in(0)[1]);
  maker.input(0) = OnChannels(maker, batch, {channel}, Parts::kWhole);
  maker.output(0) = {{batch}, {channel}};
  for (size_t d = 2; d < maker.out(0).size(); ++d) {
    maker.output(0).push_back({maker.Axis(maker.out(0)[d], Parts::kWhole)});
  }
  if (maker.op().type.find("Average") != std::string_view::npos) maker.rule().linear = {{0}};
}

// Resize(x, roi?, scales?, sizes?), Upsample(x, scales): places are whole, and what is not as long as before.
void OnnxResize(RuleMaker& maker) {
  if (maker.input_count() < 1 || maker.output_count() != 1) return maker.Fail();
  const Value* const mode = maker.Argument(kByName, "coordinate_transformation_mode");
  if (mode != nullptr && *mode == Value(std::string("tf_crop_and_resize"))) return maker.Fail();
  const std::vector<int64_t>&x = maker.in(0), &y = maker.out(0);
  if (x.size() != y.size()) return maker.Fail();
  for (size_t d = 0; d < x.size(); ++d) {
    const bool plane = d < 2 && x[d] == y[d];
    maker.input(0).push_back({maker.Axis(x[d], plane ? Parts::kSplit : Parts::kWhole)});
    maker.output(0).push_back(plane ? maker.input(0).back()
                                    : std::vector{maker.Axis(y[d], Parts::kWhole)});
  }
  WholeFrom(maker, 1);
}

// Rows of features, of ONNX's operators for other learners than networks: each by itself.
void OnnxRows(RuleMaker& maker) {
  if (maker.input_count() < 1 || maker.in(0).size() != 2) return maker.Fail();
  const RuleAxisId row = maker.Axis(maker.in(0)[0]);
  const auto by_row = [&](const std::vector<int64_t>& shape) {
    TensorAxes axes = maker.AxesOf(shape, Parts::kWhole);
    if (shape.empty()) maker.Fail();
    if (!shape.empty()) axes[0] = {row};
    return axes;
  };
  for (size_t i = 0; i < maker.input_count(); ++i) maker.input(i) = by_row(maker.in(i));
  for (size_t i = 0; i < maker.output_count(); ++i) maker.output(i) = by_row(maker.out(i));
}

}  // namespace

std::vector<RuleRow> OnnxReductionRules() {
  return {{"ReduceSum", OnnxReduceSum},
          {"ReduceMean", OnnxReduceMean},
          {"ReduceL1 ReduceSumSquare", OnnxReduceMagnitudes},
          {"ArgMax ArgMin", OnnxArgument},
          {"Softmax LogSoftmax Hardmax", OnnxSoftmax},
          {"CumSum", OnnxCumulativeSum},
          {"LpNormalization", OnnxAlongLast},
          {"LRN", OnnxAcrossChannels},
          {"TopK", OnnxTopK},
          {"LayerNormalization", OnnxLayerNorm},
          {"BatchNormalization", OnnxBatchNorm},
          {"InstanceNormalization", OnnxInstanceNorm},
          {"GroupNormalization", OnnxGroupNorm},
          {"Resize Upsample", OnnxResize},
          {"ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMin ReduceProd", OnnxReduceOther},
          {"AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool", OnnxPooling},
          {"ai.onnx.ml.FeatureVectorizer ai.onnx.ml.Imputer ai.onnx.ml.Scaler "
           "ai.onnx.ml.TreeEnsembleClassifier ai.onnx.ml.TreeEnsembleRegressor",
           OnnxRows}};
}

}  // namespace placewright
