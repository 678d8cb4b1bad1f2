#include <string_view>

#include "cluster/catalogue.h"
#include "cluster/discovery/describe.h"
#include "cluster/discovery/topo_matrix.h"

// What the parser takes must become a machine in which every GPU is reached.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace placewright;
  Result<TopoMatrix> table = ParseTopoMatrix({reinterpret_cast<const char*>(data), size});
  if (!table.ok()) return 0;
  FoundMachine machine;
  machine.name = "fuzzed";
  FoundSocket socket{*FindKind("EPYC-7742"), Bytes(1 << 30), {0}};
  machine.sockets = {socket, socket};
  machine.sockets[1].numa = {1};
  FoundGpu gpu;
  gpu.kind = *FindKind("A100-40GB");
  gpu.memory = gpu.kind.memory;
  machine.gpus.assign(table.value().GpuCount(), gpu);
  machine.topology = table.Take();
  std::vector<std::string> notes;
  Result<ClusterBuilder> builder = DescribeMachine(machine, notes);
  if (!builder.ok()) __builtin_trap();
  if (machine.gpus.size() <= 16) {
    Result<Cluster> cluster = std::move(builder.value()).Build();
    if (!cluster.ok() || !cluster.value().Connected(DeviceId(0), DeviceId(1))) __builtin_trap();
  }
  return 0;
}
