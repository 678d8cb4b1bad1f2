// ONNX models: shapes inferred, constants and parameters folded, sub-graphs kept as one op.
// docs/formats/onnx.md.
#ifndef PLACEWRIGHT_FORMATS_ONNX_READER_H_
#define PLACEWRIGHT_FORMATS_ONNX_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

struct OnnxOptions {
  // The value of every batch dimension (the first dimension of graph inputs that is symbolic, or
  // fixed): stored shapes of non-constants are dropped and inferred again.
  std::optional<int64_t> batch;
  // Folder of the model file: external data is looked for there and nowhere else.
  std::string folder;
};

// `bytes` is the serialized ModelProto. Errors: kFileCorrupt, kGraphCycle, kDuplicateName,
// kGraphShape (naming the op and the tensor), ...
Result<Graph> ReadOnnx(std::string_view bytes, const OnnxOptions& options);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ONNX_READER_H_
