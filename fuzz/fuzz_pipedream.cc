#include "formats/pipedream/profile_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto profile = placewright::ReadPipeDream({reinterpret_cast<const char*>(data), size});
  if (profile.ok()) (void)placewright::ProfileToGraph(profile.value());
  return 0;
}
