// From a checked model with worked-out types to a program that can be run: nodes with all their
// attributes, sub-graphs among them, and the contents of small tensors.
#ifndef PLACEWRIGHT_FORMATS_ONNX_IMPORT_H_
#define PLACEWRIGHT_FORMATS_ONNX_IMPORT_H_

#include <onnx/onnx_pb.h>

#include <cstdint>

#include "base/result.h"
#include "formats/onnx/emit.h"
#include "formats/onnx/reader.h"
#include "formats/onnx/sources.h"
#include "program/imported_model.h"

namespace placewright::onnx_import {

// Contents that a program carries: of constants up to so many bytes each, all together up to the
// second number; of parameters up to kMaxFoldedElements elements, since a setting may be stored as
// one. OnnxOptions::contents lifts all three limits.
inline constexpr int64_t kMaxConstantBytes = int64_t{4} << 20;
inline constexpr int64_t kMaxContentBytes = int64_t{256} << 20;

// `probed`: the sources after ApplyDimensions with kProbeBatch; inputs whose dimension became that
// number have the batch there. nullptr: no dimension is the batch.
inline constexpr int64_t kProbeBatch = 1009;
Result<ImportedModel> ToImportedModel(const EmitInput& input, const Sources* probed,
                                      const OnnxOptions& options);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_IMPORT_H_
