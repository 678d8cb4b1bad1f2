// Shapes and strides of the results of operators for which LibTorch has no meta kernel in C++.
// Each is held to a real run on the CPU, strides included, in shape_functions_test.cc.
#ifndef PLACEWRIGHT_CAPTURE_META_SHAPE_FUNCTIONS_H_
#define PLACEWRIGHT_CAPTURE_META_SHAPE_FUNCTIONS_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "capture/recorder/dispatch.h"

namespace placewright {

// The results of a call, all on meta, or an argument that the call wrote.
using ShapeFunction = std::vector<c10::IValue> (*)(const TorchCall& call);
using ShapeTable = std::unordered_map<std::string, ShapeFunction>;  // "aten::where.self"

// The function for an operator, or nullptr.
ShapeFunction FindShapeFunction(const c10::FunctionSchema& schema);
// The names of all operators that have one, sorted.
std::vector<std::string> ShapeFunctionNames();

// The parts of the table, by kind of operator.
void AddConvolutionShapes(ShapeTable& table);
void AddNormalizationShapes(ShapeTable& table);
void AddIndexingShapes(ShapeTable& table);
void AddElementwiseShapes(ShapeTable& table);
void AddPoolingShapes(ShapeTable& table);
void AddResamplingShapes(ShapeTable& table);
void AddReductionShapes(ShapeTable& table);
void AddLossShapes(ShapeTable& table);

// For writing shape functions: a contiguous tensor on meta, one with the sizes of another, and one
// like another (its strides kept where it has no gaps, as at::empty_like does).
at::Tensor EmptyMeta(at::IntArrayRef sizes, at::ScalarType type);
at::Tensor EmptyContiguous(const at::Tensor& other);
at::Tensor EmptyLike(const at::Tensor& other);
at::Tensor EmptyLike(const at::Tensor& other, at::ScalarType type);
// The tensor argument, undefined where it is None.
at::Tensor TensorArgument(const TorchCall& call, size_t i);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_META_SHAPE_FUNCTIONS_H_
