// GraphDefs for tests, made field by field in both forms.
#ifndef PLACEWRIGHT_FORMATS_GRAPHDEF_TEST_GRAPHS_H_
#define PLACEWRIGHT_FORMATS_GRAPHDEF_TEST_GRAPHS_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace placewright::graphdef_test {

inline std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string BytesField(int number, std::string_view content) {
  return Varint(static_cast<uint64_t>(number) << 3 | 2) + Varint(content.size()) +
         std::string(content);
}
inline std::string NumberField(int number, int64_t value) {
  return Varint(static_cast<uint64_t>(number) << 3) + Varint(static_cast<uint64_t>(value));
}

// One attribute's value, in both forms.
struct Attr {
  std::string key, binary, text;
};

inline std::string BinaryShape(const std::vector<int64_t>& dims) {
  std::string shape;
  for (const int64_t size : dims) {
    shape += BytesField(2, size == 0 ? "" : NumberField(1, size));
  }
  return shape;
}
inline std::string TextShape(const std::vector<int64_t>& dims) {
  std::string shape = " {";
  for (const int64_t size : dims) shape += " dim { size: " + std::to_string(size) + " }";
  return shape + " }";
}

inline Attr ShapeAttr(std::string key, const std::vector<int64_t>& dims) {
  return {std::move(key), BytesField(7, BinaryShape(dims)), "shape" + TextShape(dims)};
}
inline Attr TypeAttr(std::string key, int64_t type) {
  return {std::move(key), NumberField(6, type), "type: " + std::to_string(type)};
}
inline Attr BoolAttr(std::string key, bool value) {
  return {std::move(key), NumberField(5, value ? 1 : 0), value ? "b: true" : "b: false"};
}
inline Attr TextAttr(std::string key, const std::string& value) {
  return {std::move(key), BytesField(2, value), "s: \"" + value + "\""};
}
inline Attr IntsAttr(std::string key, const std::vector<int64_t>& values) {
  std::string packed, text = "list {";
  for (const int64_t value : values) {
    packed += Varint(static_cast<uint64_t>(value));
    text += " i: " + std::to_string(value);
  }
  return {std::move(key), BytesField(1, BytesField(3, packed)), text + " }"};
}
inline Attr ClassAttr(const std::string& node) {
  const std::string text = "loc:@" + node;
  return {"_class", BytesField(1, BytesField(2, text)), "list { s: \"" + text + "\" }"};
}
inline Attr OutputShapes(const std::vector<std::vector<int64_t>>& shapes) {
  std::string binary, text = "list {";
  for (const auto& dims : shapes) {
    binary += BytesField(7, BinaryShape(dims));
    text += " shape" + TextShape(dims);
  }
  return {"_output_shapes", BytesField(1, binary), text + " }"};
}
// A constant of int32 numbers, or of floats without numbers.
inline Attr IntsValue(const std::vector<int64_t>& values) {
  const std::vector<int64_t> dims{static_cast<int64_t>(values.size())};
  std::string packed, text = "tensor { dtype: DT_INT32 tensor_shape" + TextShape(dims);
  for (const int64_t value : values) {
    packed += Varint(static_cast<uint64_t>(value));
    text += " int_val: " + std::to_string(value);
  }
  return {
      "value",
      BytesField(8, NumberField(1, 3) + BytesField(2, BinaryShape(dims)) + BytesField(7, packed)),
      text + " }"};
}
inline Attr FloatValue(const std::vector<int64_t>& dims) {
  return {"value", BytesField(8, NumberField(1, 1) + BytesField(2, BinaryShape(dims))),
          "tensor { dtype: DT_FLOAT tensor_shape" + TextShape(dims) + " }"};
}

struct NodeSpec {
  std::string name, op;
  std::vector<std::string> inputs;
  std::vector<Attr> attrs;
  std::string device;
};

inline std::string Binary(const NodeSpec& node) {
  std::string bytes = BytesField(1, node.name) + BytesField(2, node.op);
  for (const std::string& input : node.inputs) bytes += BytesField(3, input);
  if (!node.device.empty()) bytes += BytesField(4, node.device);
  for (const Attr& attr : node.attrs) {
    bytes += BytesField(5, BytesField(1, attr.key) + BytesField(2, attr.binary));
  }
  return BytesField(1, bytes);
}
inline std::string Text(const NodeSpec& node) {
  std::string text = "node {\n  name: \"" + node.name + "\"\n  op: \"" + node.op + "\"\n";
  for (const std::string& input : node.inputs) text += "  input: \"" + input + "\"\n";
  if (!node.device.empty()) text += "  device: \"" + node.device + "\"\n";
  for (const Attr& attr : node.attrs) {
    text += "  attr {\n    key: \"" + attr.key + "\"\n    value { " + attr.text + " }\n  }\n";
  }
  return text + "}\n";
}

// With the field `versions` behind the nodes, as TensorFlow writes it.
inline std::string Binary(const std::vector<NodeSpec>& nodes) {
  std::string file;
  for (const NodeSpec& node : nodes) file += Binary(node);
  return file + BytesField(4, NumberField(1, 27));
}
inline std::string Text(const std::vector<NodeSpec>& nodes) {
  std::string file;
  for (const NodeSpec& node : nodes) file += Text(node);
  return file + "versions {\n  producer: 27\n}\n";
}

// One training step of a layer of 3 to 5 units on 2 rows, with gradient descent: 12 nodes.
inline std::vector<NodeSpec> TrainingStep() {
  const Attr f = TypeAttr("T", 1), ref = TypeAttr("dtype", 1);
  return {
      {"x", "Placeholder", {}, {TypeAttr("dtype", 1), ShapeAttr("shape", {2, 3})}, ""},
      {"y", "Placeholder", {}, {TypeAttr("dtype", 1), ShapeAttr("shape", {2, 5})}, ""},
      {"fc/w", "VariableV2", {}, {ref, ShapeAttr("shape", {3, 5})}, ""},
      {"fc/w/read", "Identity", {"fc/w"}, {f, ClassAttr("fc/w")}, ""},
      {"fc/MatMul", "MatMul", {"x", "fc/w/read"}, {f}, "/job:worker/task:0/device:GPU:0"},
      {"fc/Relu", "Relu", {"fc/MatMul"}, {f}, ""},
      {"loss", "SoftmaxCrossEntropyWithLogits", {"fc/Relu", "y"}, {f}, ""},
      {"gradients/fc/Relu_grad", "ReluGrad", {"loss:1", "fc/Relu"}, {f}, ""},
      {"gradients/fc/MatMul_grad/MatMul_1",
       "MatMul",
       {"x", "gradients/fc/Relu_grad"},
       {f, BoolAttr("transpose_a", true), BoolAttr("transpose_b", false)},
       ""},
      {"rate", "Const", {}, {TypeAttr("dtype", 1), FloatValue({})}, ""},
      {"update",
       "ApplyGradientDescent",
       {"fc/w", "rate", "gradients/fc/MatMul_grad/MatMul_1"},
       {f, ClassAttr("fc/w")},
       ""},
      {"train", "NoOp", {"^update"}, {}, ""},
  };
}

}  // namespace placewright::graphdef_test

#endif  // PLACEWRIGHT_FORMATS_GRAPHDEF_TEST_GRAPHS_H_
