#include "formats/dnn_partitioning/workload_graph.h"
#include "formats/dnn_partitioning/workload_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace placewright;
  auto document = ParseJson({reinterpret_cast<const char*>(data), size});
  if (!document.ok()) return 0;
  if (IsSplit(document.value())) (void)ReadSplit(document.value());
  auto workload = ReadWorkload(document.value());
  if (workload.ok()) (void)WorkloadToCostGraph(workload.value());
  return 0;
}
