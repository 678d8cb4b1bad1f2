// The evaluation rules behind Fold, in two families: arithmetic (fold_math.cc) and layout
// (fold_layout.cc). Each returns nothing where the node is not of its family or cannot be
// evaluated.
#ifndef PLACEWRIGHT_FORMATS_ONNX_SHAPES_FOLD_RULES_H_
#define PLACEWRIGHT_FORMATS_ONNX_SHAPES_FOLD_RULES_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "formats/onnx/shapes/fold.h"

namespace placewright::onnx_import {

using Folded = std::optional<SmallTensor>;
using Inputs = std::vector<FoldInput>;

// Element-wise ops with broadcasting, comparisons, Where, Cast, reductions.
Folded FoldMath(const onnx::NodeProto& node, const Inputs& inputs);
// Shape, Size, Gather, Concat, Slice, (Un)squeeze, Reshape, Transpose, Expand, Tile, Range, ...
Folded FoldLayout(const onnx::NodeProto& node, const Inputs& inputs);
std::optional<std::vector<SmallTensor>> FoldSplit(const onnx::NodeProto& node,
                                                  const Inputs& inputs);

// Shared by both families.
// The value of input `i`, or nullptr.
const SmallTensor* ValueAt(const Inputs& inputs, size_t i);
// The value of input `i` as integers, if it is an integer tensor of rank 0 or 1.
std::optional<std::vector<int64_t>> IntsAt(const Inputs& inputs, size_t i);
// Integers from the attribute of that name or, failing that, from input `i` (opsets differ).
std::optional<std::vector<int64_t>> IntsFrom(const onnx::NodeProto& node, const Inputs& inputs,
                                             const char* attribute, size_t i);
// Makes axis non-negative; nothing if it lies outside [-rank, rank).
std::optional<size_t> Axis(int64_t axis, size_t rank);
// The broadcast shape of two, or nothing if they do not fit.
std::optional<std::vector<int64_t>> Broadcast(const std::vector<int64_t>& a,
                                              const std::vector<int64_t>& b);
// A tensor of that shape and type whose element at (row-major) index i is source[map(index of i)];
// nothing if too large or if map gives nothing.
using IndexMap = std::function<std::optional<size_t>(const std::vector<int64_t>& index)>;
Folded Remap(const SmallTensor& source, std::vector<int64_t> dims, const IndexMap& map);
// The flat position of a multi-index in a tensor of that shape, aligned right: leading extra
// indices are ignored and dimensions of one are broadcast.
size_t FlatBroadcast(const std::vector<int64_t>& dims, const std::vector<int64_t>& index);
// An empty tensor of that type and shape with as many zeros as the shape says; nothing if too
// large.
Folded Zeros(int32_t type, std::vector<int64_t> dims);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_SHAPES_FOLD_RULES_H_
