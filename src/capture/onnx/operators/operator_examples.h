// Examples of lowered operators: one node, what it is given and what it must give, worked out by
// hand from the operators' definitions.
#ifndef PLACEWRIGHT_CAPTURE_ONNX_OPERATORS_OPERATOR_EXAMPLES_H_
#define PLACEWRIGHT_CAPTURE_ONNX_OPERATORS_OPERATOR_EXAMPLES_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "program/imported_model.h"

namespace placewright::lowering {

struct Given {
  at::ScalarType type = at::kFloat;
  std::vector<int64_t> shape;
  std::vector<double> values;  // row-major
  bool known = false;          // while the step is recorded
  bool absent = false;

  at::Tensor Tensor() const;
};

// Floats, integers, bools; known ones (constants of the file), and nothing.
Given F(std::vector<int64_t> shape, std::vector<double> values);
Given I(std::vector<int64_t> shape, std::vector<double> values);
Given B(std::vector<int64_t> shape, std::vector<double> values);
Given Known(Given given);
Given KI(std::vector<double> values);  // a known vector of integers
Given KF(std::vector<double> values);
Given None();

using Attributes = std::map<std::string, ImportedAttribute>;
ImportedAttribute Int(int64_t value);
ImportedAttribute Real(double value);
ImportedAttribute Word(std::string value);
ImportedAttribute IntList(std::vector<int64_t> values);
ImportedAttribute RealList(std::vector<double> values);
ImportedAttribute WordList(std::vector<std::string> values);
ImportedAttribute TensorOf(const Given& given);
ImportedAttribute GraphOf(ImportedGraph graph);
ImportedNode NodeOf(std::string type, std::vector<std::string> inputs,
                    std::vector<std::string> outputs, Attributes attributes = {});

struct Example {
  std::string type;  // as OperatorName says it
  std::vector<Given> inputs;
  std::vector<Given> outputs;  // absent: not looked at
  Attributes attributes = {};
  int64_t version = 17;
  // What it gives is drawn at random or must only have that shape and type.
  bool shapes_only = false;
  // In place of the one node: they read x0, x1, ... and make y0, y1, ...
  std::vector<ImportedNode> nodes = {};
  friend std::ostream& operator<<(std::ostream& out, const Example& e) { return out << e.type; }
};

std::vector<Example> ElementwiseExamples();
std::vector<Example> ProductExamples();
std::vector<Example> NormalizationExamples();
std::vector<Example> ReductionExamples();
std::vector<Example> LayoutExamples();
std::vector<Example> SelectionExamples();
std::vector<Example> RecurrentExamples();
std::vector<Example> ControlExamples();

}  // namespace placewright::lowering

#endif  // PLACEWRIGHT_CAPTURE_ONNX_OPERATORS_OPERATOR_EXAMPLES_H_
