#include "sim/one_device.h"

#include <algorithm>
#include <utility>

#include "cluster/catalogue.h"
#include "cluster/cluster_builder.h"
#include "cost/cost_model.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

Result<Cluster> MakeCluster(DeviceKind kind) {
  kind.memory = Bytes(kMaxQuantity);
  ClusterBuilder builder("one device");
  PW_ASSIGN(const int32_t index, builder.AddKind(std::move(kind)));
  Device device;
  device.name = "gpu";
  device.kind = index;
  device.capacity = Bytes(kMaxQuantity);
  PW_RETURN_IF_ERROR(builder.AddDevice(std::move(device)));
  return std::move(builder).Build();
}

}  // namespace

OpTimes TimesOnOneDevice(const Graph& graph, const CostTable* costs) {
  OpTimes times{IdVector<OpId, Nanos>(graph.op_count(), Nanos(1)), "none"};
  std::optional<CostTable> modelled;
  if (costs == nullptr) {
    const DeviceKind* kind = FindKind(kOneDeviceKind);
    if (kind == nullptr) return times;
    const Result<Cluster> cluster = MakeCluster(*kind);
    if (!cluster.ok()) return times;
    Result<CostTable> table = ModelCosts(graph, cluster.value(), {});
    if (!table.ok()) return times;
    modelled = table.Take();
  }
  times.source = modelled ? kOneDeviceKind : "file";
  const CostTable& table = modelled ? *modelled : *costs;
  for (OpId op : graph.ops()) times.time[op] = std::max(Nanos(0), table.MinTime(op));
  return times;
}

std::optional<OneDeviceStep> SimulateOnOneDevice(const Graph& graph, const CostTable* costs) {
  const DeviceKind* kind = FindKind(kOneDeviceKind);
  if (kind == nullptr || graph.collective_count() > 0) return std::nullopt;
  const Result<Cluster> cluster = MakeCluster(*kind);
  const OpTimes times = TimesOnOneDevice(graph, costs);
  if (!cluster.ok() || times.source == "none") return std::nullopt;
  CostTable min(graph.op_count(), 1);
  for (OpId op : graph.ops()) min.SetTime(op, DeviceId(0), times.time[op]);
  SimGraph sim_graph = BuildSimGraph(graph, cluster.value(), min);
  // What a file keeps on devices of its own lies here on the one that there is.
  for (DeviceId& home : sim_graph.fixed_home) home = std::min(home, DeviceId(0));
  Simulator simulator(sim_graph);
  const SimResult& result = simulator.Run(Placement(graph.op_count(), DeviceId(0)),
                                          {.policy = DefaultPolicy(graph.format())});
  return OneDeviceStep{result.devices[0].tensor_peak, result.devices[0].peak_time,
                       result.step_time};
}

}  // namespace placewright
