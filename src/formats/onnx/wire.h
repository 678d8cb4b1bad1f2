// From bytes to a ModelProto, bounded: a walk over the protobuf wire format first estimates what
// the parsed model would take, since two bytes on the wire can become hundreds in memory.
#ifndef PLACEWRIGHT_FORMATS_ONNX_WIRE_H_
#define PLACEWRIGHT_FORMATS_ONNX_WIRE_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace placewright::onnx_import {

// Upper limit for the estimated memory of a parsed model, weights inside the file included; and for
// the part of it that is structure: everything but the bytes of strings and numbers.
inline constexpr int64_t kMaxModelMemory = int64_t{3} << 30;
inline constexpr int64_t kMaxStructureMemory = int64_t{1} << 30;
// Of the whole model, sub-graphs and functions included: many times what the largest models have.
// A few bytes on the wire make a node or an input, and later steps keep hundreds for each.
inline constexpr int64_t kMaxNodes = 500'000;
inline constexpr int64_t kMaxNodeItems = 4'000'000;  // inputs, outputs and attributes of nodes

// Bytes that parsing would take, roughly and from above. Errors: kFileCorrupt with the byte offset
// (truncated or impossible fields, more than 100 levels), kField (a node without an operator type),
// kFileTooLarge (the limits above but kMaxModelMemory). Linear time, constant memory.
Result<int64_t> EstimateMemory(std::string_view bytes);

// Errors: kFileCorrupt, kFileTooLarge (estimate above kMaxModelMemory), kField (no graph, no
// nodes).
Result<onnx::ModelProto> ParseModel(std::string_view bytes);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_WIRE_H_
