#include "capture/onnx/operators/operator_examples.h"

#include <ATen/ATen.h>

#include <cstring>

namespace placewright::lowering {

at::Tensor Given::Tensor() const {
  at::Tensor all = at::empty({static_cast<int64_t>(values.size())}, at::kDouble);
  std::copy(values.begin(), values.end(), all.data_ptr<double>());
  return all.to(type).reshape(shape);
}

Given F(std::vector<int64_t> shape, std::vector<double> values) {
  return {at::kFloat, std::move(shape), std::move(values)};
}
Given I(std::vector<int64_t> shape, std::vector<double> values) {
  return {at::kLong, std::move(shape), std::move(values)};
}
Given B(std::vector<int64_t> shape, std::vector<double> values) {
  return {at::kBool, std::move(shape), std::move(values)};
}
Given Known(Given given) {
  given.known = true;
  return given;
}
Given KI(std::vector<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  return Known(I({count}, std::move(values)));
}
Given KF(std::vector<double> values) {
  const auto count = static_cast<int64_t>(values.size());
  return Known(F({count}, std::move(values)));
}
Given None() {
  Given given;
  given.absent = true;
  return given;
}

ImportedAttribute Int(int64_t value) { return value; }
ImportedAttribute Real(double value) { return value; }
ImportedAttribute Word(std::string value) { return value; }
ImportedAttribute IntList(std::vector<int64_t> values) { return values; }
ImportedAttribute RealList(std::vector<double> values) { return values; }
ImportedAttribute WordList(std::vector<std::string> values) { return values; }

ImportedAttribute TensorOf(const Given& given) {
  const at::Tensor tensor = given.Tensor();
  ImportedTensor out;
  out.dtype = given.type == at::kLong   ? DType::kI64
              : given.type == at::kBool ? DType::kBool
                                        : DType::kF32;
  out.shape = given.shape;
  out.bytes.emplace(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
  return out;
}

ImportedAttribute GraphOf(ImportedGraph graph) {
  return std::make_shared<const ImportedGraph>(std::move(graph));
}

ImportedNode NodeOf(std::string type, std::vector<std::string> inputs,
                    std::vector<std::string> outputs, Attributes attributes) {
  ImportedNode node;
  const size_t dot = type.rfind('.');
  if (dot != std::string::npos) node.domain = type.substr(0, dot);
  node.type = dot == std::string::npos ? type : type.substr(dot + 1);
  node.place = "node (" + type + ")";
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  return node;
}

}  // namespace placewright::lowering
