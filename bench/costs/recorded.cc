#include "bench/costs/recorded.h"

#include "formats/aten_reader.h"
#include "formats/file.h"
#include "formats/onnx_reader.h"

namespace placewright::bench {

Result<Graph> ReadRecorded(const std::string& path) {
  PW_ASSIGN(const std::string bytes, ReadFile(path));
  if (path.ends_with(".onnx")) return ReadOnnx(bytes, OnnxOptions());
  return ReadAtenGraph(bytes);
}

}  // namespace placewright::bench
