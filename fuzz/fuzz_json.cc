#include "formats/text/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto document = placewright::ParseJson({reinterpret_cast<const char*>(data), size});
  if (document.ok()) (void)document.value().dump();
  return 0;
}
