#include "formats/costs/override_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)placewright::ReadCostOverrides({reinterpret_cast<const char*>(data), size});
  return 0;
}
