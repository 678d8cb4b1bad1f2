#include "bench/costs/recorded.h"

#include "formats/aten/reader.h"
#include "formats/onnx/reader.h"
#include "formats/text/file.h"

namespace placewright::bench {

Result<Graph> ReadRecorded(const std::string& path) {
  PW_ASSIGN(const std::string bytes, ReadFile(path));
  if (path.ends_with(".onnx")) return ReadOnnx(bytes, OnnxOptions());
  return ReadAtenGraph(bytes);
}

}  // namespace placewright::bench
