// A distributed step that is there as arrays, as a SimGraph. Schedules of views cannot be asked of it
// (SimGraph::view_waits is empty).
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_SIMULATED_ARRAYS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_SIMULATED_ARRAYS_H_

#include <vector>

#include "base/result.h"
#include "compile/step_arrays.h"
#include "cost/communication.h"
#include "plan/placement.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

// Fills a SimGraph from arrays, again and again into the same memory.
class ArraySimGraph {
 public:
  // Both must outlive it.
  ArraySimGraph(const Communication& communication, const PartPrices& prices);

  // Precondition: the arrays' parts have prices. Errors: kField (an op on a device that does not support it;
  // views of one storage on several devices), kUnreachable (devices that exchange something without a
  // route).
  // `with_paths`: what a run with a limit, or by critical path, looks at is filled, too.
  Status Fill(const StepArrays& arrays, bool with_paths);

  // Of the last step; its ops have the ids of the SimGraph's.
  const SimGraph& sim_graph() const { return p_; }
  const Placement& placement() const { return placement_; }

 private:
  // An op that is no view: what of it is looked at again and again.
  struct ExecOp {
    OpId id;
    DeviceId device;
    ArrayRow reads, written;
    OpId origin;
    PricedPartId part;
    ArrayHalf half;
    double share;
  };
  // A version that an op writes, and its storage's number.
  struct Written {
    ArrayVersionId version;
    StorageId storage;
    ExecOpId writer;
  };
  // One op that reads a version through a tensor.
  struct RangeRead {
    TensorId tensor;
    ExecOpId reader;
  };

  void AddCluster();
  Status CollectOps(const StepArrays& arrays);
  void CountDevices();
  Status AddOps();
  double SlowerOf(const ExecOp& op);
  void AddStorages(const StepArrays& arrays);
  void NumberVersions(const StepArrays& arrays);
  Status FindHomesOfInputs(const StepArrays& arrays);
  void CollectReads(const StepArrays& arrays);
  void AddSlices(const StepArrays& arrays);
  void AddSlicesOf(const StepArrays& arrays, VersionId version);
  void AddVersionRows(const StepArrays& arrays);
  Status AddCollectives(const StepArrays& arrays);
  std::span<const ArrayRead> ReadsOf(const StepArrays& arrays, const ExecOp& op) const {
    return {arrays.reads.data() + op.reads.begin,
            static_cast<size_t>(op.reads.end - op.reads.begin)};
  }
  std::span<const ArrayVersionId> WrittenBy(const StepArrays& arrays, const ExecOp& op) const {
    return {arrays.written.data() + op.written.begin,
            static_cast<size_t>(op.written.end - op.written.begin)};
  }
  Status CheckRoutes(const StepArrays& arrays) const;
  void AddPaths();

  const Communication& communication_;
  const Cluster& cluster_;
  const PartPrices& prices_;
  SimGraph p_;
  Placement placement_;
  bool all_connected_ = true;
  std::vector<ExecOp> exec_;  // by exec op
  std::vector<OpId>
      touch_inputs_;  // ops that view or write storages that no op makes, in their order
  std::vector<int32_t> gpus_of_;    // by op of the original and kind: how many have an instance
  std::vector<char> seen_;          // by op of the original and device
  std::vector<double> slowest_of_;  // by number of devices
  IdVector<StorageId, StorageId> storage_of_;  // the SimGraph's
  std::vector<StorageId> storages_;            // and back
  IdVector<ArrayVersionId, VersionId> version_of_;
  std::vector<int32_t> read_row_;  // by version: start in reads_
  std::vector<RangeRead> reads_;
  std::vector<Written> all_written_;   // in the order of their writers
  std::vector<VersionId> read_;        // by read of exec ops: what is read
  std::vector<VersionId> written_;     // scratch
  std::vector<int32_t> next_version_;  // scratch: where the next item of a row goes
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_SIMULATED_ARRAYS_H_
