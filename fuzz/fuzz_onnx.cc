#include "formats/onnx/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  placewright::OnnxOptions options;
  options.folder = "/nonexistent";
  if (size > 0 && data[size - 1] % 4 == 0) options.batch = 3;
  (void)placewright::ReadOnnx({reinterpret_cast<const char*>(data), size}, options);
  return 0;
}
