// Tensors stored outside the model file, confined to the model's folder.
#ifndef PLACEWRIGHT_FORMATS_ONNX_EXTERNAL_H_
#define PLACEWRIGHT_FORMATS_ONNX_EXTERNAL_H_

#include <onnx/onnx_pb.h>

#include <string>

#include "base/result.h"
#include "formats/onnx/tensor_value.h"

namespace placewright::onnx_import {

struct ExternalTensor {
  bool missing = false;  // the file is not there; its content is then unknown, which may not matter
  std::string location;  // as the model states it
  std::optional<SmallTensor> value;  // read only if small and foldable
  std::optional<std::string> bytes;  // if all of it was asked for
};

// Looks up the data of `tensor` (data_location EXTERNAL, already checked) below `folder` (empty:
// the current one). Errors: kField (an absolute location, one with "..", one that leaves the folder
// by a symbolic link, a malformed offset or length), kFileUnreadable (a folder, a pipe),
// kFileCorrupt (the file is shorter than offset and length, or the length is not what the
// dimensions ask for). Opens nothing but regular files.
Result<ExternalTensor> FindExternal(const onnx::TensorProto& tensor, const std::string& folder,
                                    const std::string& place, bool all_bytes = false);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_EXTERNAL_H_
