// Whatever bytes come: a graph or an Error, never a crash, a hang or unbounded memory.
#include "formats/aten/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)placewright::ReadAtenGraph({reinterpret_cast<const char*>(data), size});
  return 0;
}
