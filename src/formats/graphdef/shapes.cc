#include "formats/graphdef/shapes.h"

#include <algorithm>
#include <array>

#include "base/units.h"
#include "base/words.h"
#include "formats/graphdef/data_types.h"
#include "formats/graphdef/roles.h"

namespace placewright::graphdef {
namespace {

using Dims = std::vector<int64_t>;
using Inputs = std::vector<const Made*>;
using Rule = Shape (*)(const Node& node, const Inputs& inputs, size_t output);

const Value* Attribute(const Node& node, std::string_view name) {
  for (const NamedValue& attribute : node.attributes) {
    if (attribute.name == name) return &attribute.value;
  }
  return nullptr;
}

bool BoolAttribute(const Node& node, std::string_view name) {
  const Value* value = Attribute(node, name);
  return value != nullptr && value->AsBool() != nullptr && *value->AsBool();
}

Dims Integers(const Node& node, std::string_view name) {
  Dims numbers;
  const Value* value = Attribute(node, name);
  const Value::List* list = value != nullptr ? value->AsList() : nullptr;
  if (list == nullptr) return numbers;
  for (const Value& item : *list) numbers.push_back(*item.AsInt());
  return numbers;
}

bool ChannelsFirst(const Node& node) {
  const Value* format = Attribute(node, "data_format");
  const std::string* text = format != nullptr ? format->AsString() : nullptr;
  return text != nullptr && text->starts_with("NC");
}

const Dims* ShapeOf(const Inputs& inputs, size_t i) {
  return i < inputs.size() && inputs[i]->shape ? &*inputs[i]->shape : nullptr;
}

const Dims* ValueOf(const Inputs& inputs, size_t i) {
  return i < inputs.size() ? inputs[i]->value : nullptr;
}

template <size_t kIndex>
Shape LikeInput(const Node&, const Inputs& inputs, size_t) {
  const Dims* shape = ShapeOf(inputs, kIndex);
  return shape != nullptr ? Shape(*shape) : Shape();
}

Shape Scalar(const Node&, const Inputs&, size_t) { return Dims(); }

// The shape is the content of input kIndex.
template <size_t kIndex>
Shape StatedByInput(const Node&, const Inputs& inputs, size_t) {
  const Dims* value = ValueOf(inputs, kIndex);
  if (value == nullptr || std::any_of(value->begin(), value->end(), [](auto n) { return n < 0; })) {
    return {};
  }
  return *value;
}

Shape Broadcast(const Dims& a, const Dims& b) {
  Dims shape(std::max(a.size(), b.size()));
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return {};
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
  }
  return shape;
}

Shape BroadcastInputs(const Node&, const Inputs& inputs, size_t) {
  const Dims *a = ShapeOf(inputs, 0), *b = ShapeOf(inputs, 1);
  return a != nullptr && b != nullptr ? Broadcast(*a, *b) : Shape();
}

Shape Product(const Node& node, const Inputs& inputs, size_t) {
  const Dims *a = ShapeOf(inputs, 0), *b = ShapeOf(inputs, 1);
  if (a == nullptr || b == nullptr || a->size() < 2 || b->size() < 2) return {};
  const bool turn_a = BoolAttribute(node, "transpose_a") || BoolAttribute(node, "adj_x");
  const bool turn_b = BoolAttribute(node, "transpose_b") || BoolAttribute(node, "adj_y");
  if (a->end()[turn_a ? -2 : -1] != b->end()[turn_b ? -1 : -2]) return {};
  Shape shape = Broadcast(Dims(a->begin(), a->end() - 2), Dims(b->begin(), b->end() - 2));
  if (!shape) return {};
  shape->push_back(a->end()[turn_a ? -1 : -2]);
  shape->push_back(b->end()[turn_b ? -2 : -1]);
  return shape;
}

// Extent of an image behind a window: SAME divides rounding up, VALID leaves the rim out.
int64_t Windowed(int64_t extent, int64_t window, int64_t stride, int64_t dilation, bool same) {
  const int64_t reach = same ? 1 : SaturatingAdd(SaturatingMultiply(window - 1, dilation), 1);
  return extent < reach ? -1 : (extent - reach) / stride + 1;
}

// `window`: extents over the spatial dimensions; `channels` of the output.
Shape Slide(const Node& node, const Dims& image, const Dims& window, int64_t channels) {
  const bool first = ChannelsFirst(node);
  const Dims strides = Integers(node, "strides"), dilations = Integers(node, "dilations");
  const Value* padding = Attribute(node, "padding");
  const std::string* text = padding != nullptr ? padding->AsString() : nullptr;
  if (text == nullptr || (*text != "SAME" && *text != "VALID")) return {};
  if (image.size() != window.size() + 2 || strides.size() != image.size()) return {};
  Dims shape = image;
  for (size_t i = 0; i < window.size(); ++i) {
    const size_t dim = i + (first ? 2 : 1);
    const int64_t dilation = dilations.size() == image.size() ? dilations[dim] : 1;
    if (strides[dim] < 1 || dilation < 1 || window[i] < 1) return {};
    shape[dim] = Windowed(image[dim], window[i], strides[dim], dilation, *text == "SAME");
    if (shape[dim] < 0) return {};
  }
  shape[first ? 1 : image.size() - 1] = channels;
  return shape;
}

Shape Convolution(const Node& node, const Inputs& inputs, size_t) {
  const Dims *image = ShapeOf(inputs, 0), *w = ShapeOf(inputs, 1);
  if (image == nullptr || w == nullptr || w->size() != image->size()) return {};
  const int64_t channels =
      node.op.starts_with("Depthwise") ? SaturatingMultiply(w->end()[-2], w->back()) : w->back();
  return Slide(node, *image, Dims(w->begin(), w->end() - 2), channels);
}

Shape Pool(const Node& node, const Inputs& inputs, size_t) {
  const Dims* image = ShapeOf(inputs, 0);
  const Dims sizes = Integers(node, "ksize");
  if (image == nullptr || sizes.size() != image->size() || sizes.size() < 3) return {};
  const bool first = ChannelsFirst(node);
  const auto begin = sizes.begin() + (first ? 2 : 1);
  const auto window_rank = static_cast<std::ptrdiff_t>(sizes.size()) - 2;
  return Slide(node, *image, Dims(begin, begin + window_rank), first ? (*image)[1] : image->back());
}

Shape BiasGradient(const Node& node, const Inputs& inputs, size_t) {
  const Dims* image = ShapeOf(inputs, 0);
  if (image == nullptr || image->size() < 2) return {};
  return Dims{ChannelsFirst(node) ? (*image)[1] : image->back()};
}

Shape Reshaped(const Node&, const Inputs& inputs, size_t) {
  const Dims *from = ShapeOf(inputs, 0), *to = ValueOf(inputs, 1);
  if (from == nullptr || to == nullptr || std::count(to->begin(), to->end(), -1) > 1) return {};
  int64_t elements = 1, stated = 1;
  for (const int64_t size : *from) elements = SaturatingMultiply(elements, size);
  for (const int64_t size : *to) {
    if (size < -1) return {};
    if (size >= 0) stated = SaturatingMultiply(stated, size);
  }
  Dims shape = *to;
  if (stated == 0 && elements != 0) return {};
  std::replace(shape.begin(), shape.end(), int64_t{-1}, stated > 0 ? elements / stated : 0);
  return shape;
}

Shape Reduced(const Node& node, const Inputs& inputs, size_t) {
  const Dims *from = ShapeOf(inputs, 0), *axes = ValueOf(inputs, 1);
  if (from == nullptr || axes == nullptr) return {};
  std::vector<char> gone(from->size(), 0);
  const auto rank = static_cast<int64_t>(from->size());
  for (const int64_t axis : *axes) {
    if (axis < -rank || axis >= rank) return {};
    gone[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = 1;
  }
  const bool keep = BoolAttribute(node, "keep_dims") || BoolAttribute(node, "keepdims");
  Dims shape;
  for (size_t i = 0; i < from->size(); ++i) {
    if (!gone[i]) {
      shape.push_back((*from)[i]);
    } else if (keep) {
      shape.push_back(1);
    }
  }
  return shape;
}

Shape CrossEntropy(const Node&, const Inputs& inputs, size_t output) {
  const Dims* logits = ShapeOf(inputs, 0);
  if (logits == nullptr || logits->empty()) return {};
  return output == 0 ? Dims{logits->front()} : *logits;
}

Shape RankOf(const Node&, const Inputs& inputs, size_t output) {
  const Dims* shape = ShapeOf(inputs, output);
  return shape != nullptr ? Shape(Dims{static_cast<int64_t>(shape->size())}) : Shape();
}

Shape Gathered(const Node&, const Inputs& inputs, size_t) {
  const Dims *table = ShapeOf(inputs, 0), *indices = ShapeOf(inputs, 1), *axis = ValueOf(inputs, 2);
  if (table == nullptr || indices == nullptr || table->empty()) return {};
  if (inputs.size() > 2 && (axis == nullptr || axis->size() != 1 || (*axis)[0] != 0)) return {};
  Dims shape = *indices;
  shape.insert(shape.end(), table->begin() + 1, table->end());
  return shape;
}

Shape Permuted(const Node&, const Inputs& inputs, size_t) {
  const Dims *from = ShapeOf(inputs, 0), *order = ValueOf(inputs, 1);
  if (from == nullptr || order == nullptr || order->size() != from->size()) return {};
  Dims shape;
  for (const int64_t dim : *order) {
    if (dim < 0 || dim >= static_cast<int64_t>(from->size())) return {};
    shape.push_back((*from)[static_cast<size_t>(dim)]);
  }
  return shape;
}

// ConcatV2: the axis comes last.
Shape Joined(const Node&, const Inputs& inputs, size_t) {
  const Dims* axis = inputs.empty() ? nullptr : inputs.back()->value;
  const Dims* first = ShapeOf(inputs, 0);
  if (axis == nullptr || first == nullptr || axis->size() != 1 || inputs.size() < 2) return {};
  const auto rank = static_cast<int64_t>(first->size());
  const int64_t dim = (*axis)[0] < 0 ? (*axis)[0] + rank : (*axis)[0];
  if (dim < 0 || dim >= rank) return {};
  Dims shape = *first;
  for (size_t i = 1; i + 1 < inputs.size(); ++i) {
    const Dims* part = ShapeOf(inputs, i);
    if (part == nullptr || part->size() != first->size()) return {};
    int64_t& total = shape[static_cast<size_t>(dim)];
    total = SaturatingAdd(total, (*part)[static_cast<size_t>(dim)]);
  }
  return shape;
}

// x [b, i], c, h, and the weights: seven outputs like c.
Shape LstmCell(const Node& node, const Inputs& inputs, size_t output) {
  return output < 7 ? LikeInput<1>(node, inputs, output) : Shape();
}

struct RuleRow {
  std::string_view ops;  // with spaces between
  Rule rule;
};

constexpr RuleRow kRules[] = {
    {"Abs AddN BiasAdd BiasAddV1 Cast CheckNumerics Elu Enter Exit Exp LeakyRelu Log LogSoftmax "
     "LogicalNot MaxPoolGrad Neg NextIteration OnesLike Reciprocal Relu Relu6 Relu6Grad ReluGrad "
     "Rsqrt Sigmoid SigmoidGrad Sign Softmax Softplus Sqrt Square Switch Tanh TanhGrad ZerosLike",
     LikeInput<0>},
    {"Add AddV2 Div Equal FloorDiv FloorMod Greater GreaterEqual Less LessEqual LogicalAnd "
     "LogicalOr Maximum Minimum Mul NotEqual Pow RealDiv SquaredDifference Sub",
     BroadcastInputs},
    {"AvgPool MaxPool", Pool},
    {"AvgPoolGrad Conv2DBackpropInput Conv3DBackpropInputV2 DepthwiseConv2dNativeBackpropInput "
     "Fill RandomStandardNormal RandomUniform TruncatedNormal",
     StatedByInput<0>},
    {"BatchMatMul BatchMatMulV2 BatchMatMulV3 MatMul", Product},
    {"BiasAddGrad", BiasGradient},
    {"ConcatV2", Joined},
    {"Conv2D Conv3D DepthwiseConv2dNative", Convolution},
    {"Conv2DBackpropFilter Conv3DBackpropFilterV2 DepthwiseConv2dNativeBackpropFilter",
     StatedByInput<1>},
    {"Gather GatherV2", Gathered},
    {"IsVariableInitialized L2Loss Size", Scalar},
    {"LSTMBlockCell", LstmCell},
    {"Max Mean Min Prod Sum", Reduced},
    {"Reshape", Reshaped},
    {"Select SelectV2", LikeInput<1>},
    {"Shape ShapeN", RankOf},
    {"SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits", CrossEntropy},
    {"Transpose", Permuted},
};

constexpr std::array<std::string_view, 12> kBoolOps = {
    "Equal",      "NotEqual",   "Greater",   "GreaterEqual",          "Less",     "LessEqual",
    "LogicalAnd", "LogicalNot", "LogicalOr", "IsVariableInitialized", "IsFinite", "IsNan"};

}  // namespace

Shape InferShape(const Node& node, const Inputs& inputs, size_t output) {
  static const RowsByWord<RuleRow> kByOp(kRules, &RuleRow::ops);
  if (const RuleRow* row = kByOp.Find(node.op)) return row->rule(node, inputs, output);
  const Role role = RoleOf(node.op);
  const bool like_first = role == Role::kView || role == Role::kAssign || role == Role::kApply;
  // These change the shape as their constants say, which no rule above reads.
  if (node.op == "Squeeze" || node.op == "ExpandDims" || node.op == "Bitcast") return {};
  return like_first ? LikeInput<0>(node, inputs, output) : Shape();
}

int64_t InferType(const Node& node, const Inputs& inputs, size_t output) {
  if (output < node.list_types.size()) return node.list_types[output];
  if (std::find(kBoolOps.begin(), kBoolOps.end(), node.op) != kBoolOps.end()) return kDtBool;
  if (RoleOf(node.op) == Role::kConstant && node.value_type > 0) return node.value_type;
  if (node.made_type > 0) return node.made_type;
  if (node.op == "Shape" || node.op == "ShapeN" || node.op == "Size" || node.op == "Rank") {
    return kDtInt32;
  }
  if (node.op == "ArgMax" || node.op == "ArgMin") return kDtInt64;
  if (node.type > 0) return node.type;
  const Role role = RoleOf(node.op);
  const bool first = role == Role::kView || role == Role::kAssign || role == Role::kApply;
  if (first && !inputs.empty() && inputs[0]->data_type > 0) return inputs[0]->data_type;
  return kDtFloat;
}

}  // namespace placewright::graphdef
