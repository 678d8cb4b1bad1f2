// What the simulator executes: graph, cluster and costs compiled into dense arrays (CSR rows, dense
// ids), independent of any placement. Views are gone: their readers read the underlying slice.
//
// A *slice* is (storage, version, byte range): it crosses to a device once and is resident there
// once. Exec ops are the ops that are not views, in op-id order, so that comparing exec indices
// compares op ids.
#ifndef PLACEWRIGHT_SIM_ENGINE_SIM_GRAPH_H_
#define PLACEWRIGHT_SIM_ENGINE_SIM_GRAPH_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "graph/csr.h"
#include "graph/graph.h"
#include "sim/engine/sim_ids.h"

namespace placewright {

enum class StorageClass : uint8_t { kTransient, kPersistent, kInput };

struct SimGraph {
  // Exec ops.
  int32_t ops = 0, devices = 0, links = 0;
  IdVector<ExecOpId, OpId> op_of;
  IdVector<OpId, ExecOpId> exec_of;  // none for views
  // [exec * time_columns + time_column[device]] ns, -1 unsupported: devices that are alike have one column.
  std::vector<int64_t> time;
  IdVector<DeviceId, int32_t> time_column;
  int32_t time_columns = 0;
  IdVector<ExecOpId, DeviceId>
      only;  // or empty; with it, `time` is [exec]: that on this device alone
  IdVector<ExecOpId, int64_t> min_time;   // ns
  IdVector<ExecOpId, int64_t> workspace;  // bytes

  // Storages (ids as in the graph) and their versions, numbered consecutively.
  IdVector<StorageId, StorageClass> storage_class;
  IdVector<StorageId, int64_t> storage_bytes;  // rounded up to the granule
  IdVector<StorageId, OpId> home_op;           // whose device is home, or none
  IdVector<StorageId, DeviceId> fixed_home;    // given by the file, or none
  Csr<StorageId, VersionId> storage_versions;
  IdVector<VersionId, ExecOpId> version_writer;  // none: content from before the step
  IdVector<VersionId, StorageId> version_storage;

  // Slices, ordered by (writer, storage, offset, length): comparing slice indices therefore
  // compares transfer-queue keys (rule 5) up to the ready time and the destination.
  int32_t slices = 0;
  IdVector<SliceId, VersionId> slice_version;
  IdVector<SliceId, int64_t> slice_offset, slice_length;
  IdVector<SliceId, int64_t> slice_bytes;  // length rounded up: what a copy occupies
  Csr<SliceId, ExecOpId> slice_readers;    // ascending
  Csr<ExecOpId, SliceId> op_slices;        // distinct slices that an op reads
  Csr<ExecOpId, VersionId> op_makes;       // versions that an op writes
  Csr<VersionId, SliceId> version_slices;
  Csr<ExecOpId, ExecOpId> explicit_successors;  // ops whose `after` names this op

  IdVector<ExecOpId, char> moves_pieces;  // rule 17: by its type, no member; empty: none does

  // Collectives (rule 15), in the graph's order.
  IdVector<ExecOpId, CollectiveId> collective_of;  // empty without collectives
  Csr<CollectiveId, ExecOpId> collective_members;
  Csr<CollectiveId, LinkId> collective_links;
  // Which communicator does each (rules 17 and 18), where members do not say it: one may stand for several.
  IdVector<CollectiveId, int32_t> communicator;
  // Of a step in lanes: whether more than two devices take part, of which two members may be there; empty: as these say.
  IdVector<CollectiveId, char> of_many;
  IdVector<CollectiveId, int64_t> collective_time;  // ns

  // Derived from the above for the event loop and for analyses.
  IdVector<SliceId, ExecOpId> slice_writer;  // makes the slice's version, or none
  IdVector<SliceId, StorageId> slice_storage;
  std::vector<int32_t> op_first_slice;               // an op made slices [first[op], first[op + 1])
  IdVector<VersionId, ExecOpId> version_overwriter;  // makes the storage's next version, or none
  std::vector<ExecOpId> topological_order;           // order edges between storages respected;
                                                     // members of a collective are neighbours
  IdVector<ExecOpId, int64_t> min_path;  // path of rule 2, without waits of in-place writers
  bool waits_in_place = false;           // some writer may have to wait for a reader beside it
  Csr<OpId, ExecOpId> view_waits;        // ops whose end ends the view
                                         // (empty rows for exec ops and views of initial content)

  // Cluster.
  bool collectives_share = false;  // rule 18
  // Rule 18: what times are multiplied with beside a collective, as a quotient.
  IdVector<DeviceId, std::pair<int32_t, int32_t>> beside_collectives;
  IdVector<DeviceId, int64_t> capacity, runtime_context;
  Csr<RouteId, LinkId> route_links;
  IdVector<RouteId, int64_t> route_latency, route_bandwidth;

  IdRange<ExecOpId> exec_ops() const { return IdRange<ExecOpId>(op_of.size()); }
  IdRange<DeviceId> device_ids() const { return IdRange<DeviceId>(devices); }
  IdRange<StorageId> storage_ids() const { return IdRange<StorageId>(storage_class.size()); }
  IdRange<VersionId> version_ids() const { return IdRange<VersionId>(version_writer.size()); }
  IdRange<SliceId> slice_ids() const { return IdRange<SliceId>(slice_version.size()); }

  int64_t Time(ExecOpId op, DeviceId device) const {
    if (!only.empty()) return only[op] == device ? time[op.index()] : -1;
    const auto column = static_cast<size_t>(time_column[device]);
    return time[op.index() * static_cast<size_t>(time_columns) + column];
  }
  RouteId RouteBetween(DeviceId from, DeviceId to) const {
    return RouteId(from.value() * devices + to.value());
  }
  CollectiveId CollectiveOf(ExecOpId op) const {
    return collective_of.empty() ? CollectiveId() : collective_of[op];
  }
  // Rule 18: the time of an op that begins while a collective of its device runs.
  int64_t BesideCollective(int64_t duration, DeviceId device) const {
    const auto [all, left] = beside_collectives[device];
    const __int128 product = __int128{duration} * all + left - 1;
    return static_cast<int64_t>(std::min<__int128>(product / left, kMaxQuantity));
  }
  // What of its path an op takes itself, on the fastest device.
  int64_t OwnTime(ExecOpId op) const {
    const CollectiveId collective = CollectiveOf(op);
    return collective.valid() ? collective_time[collective] : min_time[op];
  }
  // The version with this number among those of the storage, and back.
  VersionId VersionOf(StorageId storage, int32_t number) const {
    return VersionId(storage_versions.offsets[storage.index()] + number);
  }
  int32_t NumberOf(VersionId version) const {
    return version.value() - storage_versions.offsets[version_storage[version].index()];
  }
  // Who reads what the op makes, slice by slice.
  std::span<const ExecOpId> ReadersOf(ExecOpId op) const {
    const int32_t begin = slice_readers.offsets[op_first_slice[op.index()]];
    const int32_t end = slice_readers.offsets[op_first_slice[op.index() + 1]];
    return {slice_readers.items.data() + begin, static_cast<size_t>(end - begin)};
  }
};

// Paths of rule 2 for every op, from the end: `after(op)` is the largest path among those that
// follow it. The members of a collective have one path together.
template <class After>
void FillPaths(const SimGraph& sim_graph, IdVector<ExecOpId, int64_t>* path, const After& after) {
  const SimGraph& p = sim_graph;
  path->assign(p.ops, 0);
  for (size_t i = p.topological_order.size(); i > 0;) {
    const ExecOpId last = p.topological_order[--i];
    int64_t longest = after(last);
    size_t first = i;  // of the ops that have one path
    const CollectiveId collective = p.CollectiveOf(last);
    while (collective.valid() && first > 0 &&
           p.CollectiveOf(p.topological_order[first - 1]) == collective) {
      longest = std::max(longest, after(p.topological_order[--first]));
    }
    for (size_t j = first; j <= i; ++j) {
      const ExecOpId op = p.topological_order[j];
      (*path)[op] = SaturatingAdd(p.OwnTime(op), longest);
    }
    i = first;
  }
}

// The cluster's part of a SimGraph that has none.
void AddCluster(const Cluster& cluster, SimGraph* sim_graph);

// Precondition: costs match graph and cluster. Complexity: O(ops + edges + devices^2).
SimGraph BuildSimGraph(const Graph& graph, const Cluster& cluster, const CostTable& costs);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_SIM_GRAPH_H_
