// Times of ops as they were measured on devices, and how they become costs of a graph.
//
// An op's time is the one measured for its signature. Where that was not measured, but its family at
// two batches or more, the time is on the line through these (linear regression): between them it counts
// as measured, beyond them as modelled (TAG, section 4.1.2: linear in the batch).
#ifndef PLACEWRIGHT_COST_MEASURED_COSTS_H_
#define PLACEWRIGHT_COST_MEASURED_COSTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "cost/machine_state.h"
#include "graph/graph.h"

namespace placewright {

struct MeasuredOp {
  std::string signature, family;  // as SignatureOf says; the family may be empty
  int64_t batch = 0;              // of the graph in which it was measured; 0: not known
  Nanos time;                     // median
  Nanos low, high;                // a tenth of the runs below, a tenth above
  int64_t runs = 0;
  Bytes workspace;
  MachineState state;  // in which it was measured; may be unknown
};

// What was measured in, beside the op.
struct MeasuredOn {
  std::string kind;   // of device
  int64_t cores = 0;  // CPUs: that computed; else 0
  // Whether the machine's other devices were computing, too.
  bool loaded = false;
  std::string libtorch, blas;  // of times from other programs: kImported and the program
  static constexpr std::string_view kImported = "trace of ";
  bool imported() const { return libtorch.starts_with(kImported); }
  friend auto operator<=>(const MeasuredOn&, const MeasuredOn&) = default;
};

struct MeasuredDevice {
  MeasuredOn on;
  std::vector<MeasuredOp> ops;
  MachineState now;  // in which the times are wanted; unknown: as they were measured
};

// What a cost table owes to measurements.
struct MeasuredUse {
  struct Environment {
    MeasuredOn on;
    int64_t rows = 0;  // of `ops` that some op's cost comes from
    // These rows, a line for each: signature, batch, nanoseconds, with tabs between; sorted.
    std::string lines;
  };
  std::vector<Environment> environments;  // that some op's cost comes from
  std::vector<std::string> missing;       // types of ops without a measurement: sorted, distinct
};

// Rows by what they are looked up by, of the devices whose kind and cores are among them: made once where many graphs
// are priced for one cluster.
struct MeasuredIndex {
  struct Rows {
    explicit Rows(const MeasuredDevice& device);

    const MeasuredDevice* of;
    std::unordered_map<std::string_view, size_t> by_signature;
    std::unordered_map<std::string_view, std::vector<size_t>> by_family;
  };

  // `measured` must outlive it.
  MeasuredIndex(const std::vector<MeasuredDevice>& measured, const Cluster& cluster);

  std::vector<Rows> tables;
  IdVector<DeviceId, std::vector<size_t>> tables_of;  // those that hold for it, in their order
  bool follows_state = false;                         // times depend on what an op does
};

// Sets times and workspaces of `costs`, which are of the graph and the index's cluster, for the devices that have
// rows: of several tables for one, the first that has an op's time, its signature's before its family's. Views
// and pairs that are not supported stay as they are. `wholes`: as StepInstances has it.
MeasuredUse ApplyMeasured(const Graph& graph, const MeasuredIndex& index, CostTable& costs,
                          const IdVector<OpId, const Op*>* wholes = nullptr);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_MEASURED_COSTS_H_
