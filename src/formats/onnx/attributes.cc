#include "formats/onnx/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/utf8.h"
#include "formats/onnx/tensor_value.h"

namespace placewright::onnx_import {
namespace {

using onnx::AttributeProto;

constexpr int kMaxListItems = 1024;
constexpr size_t kMaxStringBytes = 4096;

template <class T, class Field>
Value ListValue(const Field& field, std::string_view what) {
  if (field.size() > kMaxListItems) return Value(fmt::format("<{} {}>", field.size(), what));
  Value::List list;
  for (const auto& item : field) list.push_back(Value(T(item)));
  return Value(std::move(list));
}

std::string DescribeTensor(const onnx::TensorProto& tensor) {
  const auto element = ElementTypeOf(tensor.data_type());
  return fmt::format("<tensor {} [{}]>", element ? ToString(element->dtype) : "?",
                     fmt::join(tensor.dims().begin(), tensor.dims().end(), ", "));
}

std::string DescribeGraph(const onnx::GraphProto& graph) {
  return fmt::format("<graph: {} nodes>", graph.node_size());
}

// ONNX strings are bytes; those that are no text, or long, are summarised.
Value TextValue(const std::string& bytes) {
  if (bytes.size() <= kMaxStringBytes && IsUtf8(bytes)) return Value(bytes);
  return Value(fmt::format("<{} bytes>", bytes.size()));
}

template <class Field>
Value TextsValue(const Field& field) {
  if (field.size() > kMaxListItems) return Value(fmt::format("<{} strings>", field.size()));
  Value::List list;
  for (const std::string& bytes : field) list.push_back(TextValue(bytes));
  return Value(std::move(list));
}

Value ValueOf(const AttributeProto& attribute) {
  switch (attribute.type()) {
    case AttributeProto::FLOAT: return Value(static_cast<double>(attribute.f()));
    case AttributeProto::INT: return Value(static_cast<int64_t>(attribute.i()));
    case AttributeProto::STRING: return TextValue(attribute.s());
    case AttributeProto::TENSOR: return Value(DescribeTensor(attribute.t()));
    case AttributeProto::GRAPH: return Value(DescribeGraph(attribute.g()));
    case AttributeProto::FLOATS: return ListValue<double>(attribute.floats(), "floats");
    case AttributeProto::INTS: return ListValue<int64_t>(attribute.ints(), "ints");
    case AttributeProto::STRINGS: return TextsValue(attribute.strings());
    case AttributeProto::TENSORS:
      return Value(fmt::format("<{} tensors>", attribute.tensors_size()));
    case AttributeProto::GRAPHS: return Value(fmt::format("<{} graphs>", attribute.graphs_size()));
    default: return Value(std::string("<unknown>"));
  }
}

}  // namespace

const AttributeProto* FindAttribute(const onnx::NodeProto& node, std::string_view name) {
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t IntAttribute(const onnx::NodeProto& node, std::string_view name, int64_t otherwise) {
  const AttributeProto* attribute = FindAttribute(node, name);
  return attribute != nullptr && attribute->has_i() ? attribute->i() : otherwise;
}

std::optional<std::vector<int64_t>> IntsAttribute(const onnx::NodeProto& node,
                                                  std::string_view name) {
  const AttributeProto* attribute = FindAttribute(node, name);
  if (attribute == nullptr || attribute->type() != AttributeProto::INTS) return std::nullopt;
  return std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

bool IsDefaultDomain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

bool IsOp(const onnx::NodeProto& node, std::string_view type) {
  return node.op_type() == type && IsDefaultDomain(node.domain());
}

std::string OpType(const onnx::NodeProto& node) {
  return IsDefaultDomain(node.domain()) ? node.op_type()
                                        : fmt::format("{}.{}", node.domain(), node.op_type());
}

std::vector<NamedValue> NamedAttributes(const onnx::NodeProto& node) {
  std::vector<NamedValue> values;
  for (const AttributeProto& attribute : node.attribute()) {
    values.push_back({attribute.name(), ValueOf(attribute)});
  }
  return values;
}

}  // namespace placewright::onnx_import
