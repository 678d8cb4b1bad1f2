#include "formats/cluster/cluster_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)placewright::ParseCluster({reinterpret_cast<const char*>(data), size});
  return 0;
}
