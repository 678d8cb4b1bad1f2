#include "formats/text/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const placewright::ReadLimits limits{.stored = 1 << 20, .expanded = 1 << 24};
  (void)placewright::Expand(std::string(reinterpret_cast<const char*>(data), size), limits);
  return 0;
}
