// The operators of ONNX that have a counterpart in LibTorch here, by kind. docs/formats/onnx.md
// lists them; every one has an example in the lists of operator_examples.h.
#ifndef PLACEWRIGHT_CAPTURE_ONNX_OPERATORS_TABLE_H_
#define PLACEWRIGHT_CAPTURE_ONNX_OPERATORS_TABLE_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "capture/onnx/node_call.h"

namespace placewright::lowering {

using Lowering = Values (*)(const NodeCall& call);
using OperatorTable = std::unordered_map<std::string, Lowering>;  // by OperatorName

// The function for an operator ("Conv", "com.microsoft.Gelu"), or nullptr.
Lowering FindOperator(const std::string& name);
// The names of all operators that have one, sorted.
std::vector<std::string> OperatorNames();

// The parts of the table.
void AddUnaryOperators(OperatorTable& table);
void AddBinaryOperators(OperatorTable& table);
void AddProductOperators(OperatorTable& table);
void AddConvolutionOperators(OperatorTable& table);
void AddPoolingOperators(OperatorTable& table);
void AddNormalizationOperators(OperatorTable& table);
void AddReductionOperators(OperatorTable& table);
void AddLayoutOperators(OperatorTable& table);
void AddSelectionOperators(OperatorTable& table);
void AddScatterOperators(OperatorTable& table);
void AddGeneratorOperators(OperatorTable& table);
void AddResizeOperators(OperatorTable& table);
void AddLossOperators(OperatorTable& table);
void AddQuantizationOperators(OperatorTable& table);
void AddRecurrentOperators(OperatorTable& table);
void AddControlOperators(OperatorTable& table);

}  // namespace placewright::lowering

#endif  // PLACEWRIGHT_CAPTURE_ONNX_OPERATORS_TABLE_H_
