// What the simulator executes: graph, cluster and costs compiled into dense arrays (CSR rows, plain
// integers), independent of any placement. Views are gone: their readers read the underlying slice.
//
// A *slice* is (storage, version, byte range): it crosses to a device once and is resident there
// once. Exec ops are the ops that are not views, in op-id order, so that comparing exec indices
// compares op ids.
#ifndef PLACEWRIGHT_SIM_ENGINE_SIM_GRAPH_H_
#define PLACEWRIGHT_SIM_ENGINE_SIM_GRAPH_H_

#include <cstdint>
#include <vector>

#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "graph/graph.h"

namespace placewright {

enum class StorageClass : uint8_t { kTransient, kPersistent, kInput };

struct SimGraph {
  // Exec ops.
  int32_t ops = 0, devices = 0, links = 0;
  std::vector<OpId> op_of;         // exec -> graph op
  std::vector<int32_t> exec_of;    // graph op -> exec, -1 for views
  std::vector<int64_t> time;       // [exec * devices + device] ns, -1 unsupported
  std::vector<int64_t> min_time;   // [exec]
  std::vector<int64_t> workspace;  // [exec] bytes

  // Storages (ids as in the graph) and their versions, numbered consecutively.
  std::vector<StorageClass> storage_class;
  std::vector<int64_t> storage_bytes;        // rounded up to the granule
  std::vector<int32_t> home_op;              // graph op whose device is home, -1: none
  std::vector<int32_t> fixed_home;           // device given by the file, -1: none
  Csr<StorageId, int32_t> storage_versions;  // version ids
  std::vector<int32_t> version_writer;       // exec op, -1: content from before the step
  std::vector<int32_t> version_storage;

  // Slices, ordered by (writer, storage, offset, length): comparing slice indices therefore
  // compares transfer-queue keys (rule 5) up to the ready time and the destination.
  int32_t slices = 0;
  std::vector<int32_t> slice_version;
  std::vector<int64_t> slice_offset, slice_length;
  std::vector<int64_t> slice_bytes;           // length rounded up: what a copy occupies
  std::vector<int32_t> slice_readers_offset;  // CSR: exec ops that read the slice, ascending
  std::vector<int32_t> slice_readers;
  std::vector<int32_t> op_slices_offset;  // CSR: distinct slices that an exec op reads
  std::vector<int32_t> op_slices;
  std::vector<int32_t> op_makes_offset;  // CSR: version ids that an exec op writes
  std::vector<int32_t> op_makes;
  std::vector<int32_t> version_slices_offset;  // CSR: slices of a version
  std::vector<int32_t> version_slices;
  std::vector<int32_t> after_offset;  // CSR: exec ops that wait for this op (explicit order)
  std::vector<int32_t> after;

  // Derived from the above for the event loop and for analyses.
  std::vector<int32_t> slice_writer;        // exec op that makes the slice's version, -1: none
  std::vector<int32_t> slice_storage;       // storage of the slice's version
  std::vector<int32_t> op_first_slice;      // exec op made slices [first[op], first[op + 1])
  std::vector<int32_t> version_overwriter;  // exec op that makes the storage's next version, or -1
  std::vector<int32_t> topological_order;   // exec ops; order edges between storages respected
  std::vector<int64_t> min_path;  // [exec] path of rule 2, without waits of in-place writers
  bool waits_in_place = false;    // some writer may have to wait for a reader beside it
  std::vector<int32_t> view_waits_offset;  // CSR by graph op: exec ops whose end ends the view
  std::vector<int32_t> view_waits;         // (empty rows for exec ops and views of initial content)

  // Cluster.
  std::vector<int64_t> capacity;         // [device]
  std::vector<int64_t> runtime_context;  // [device]
  std::vector<int32_t> route_offset;     // CSR by from * devices + to: link ids
  std::vector<int32_t> route_links;
  std::vector<int64_t> route_latency, route_bandwidth;
};

// Precondition: costs match graph and cluster. Complexity: O(ops + edges + devices^2).
SimGraph BuildSimGraph(const Graph& graph, const Cluster& cluster, const CostTable& costs);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_SIM_GRAPH_H_
