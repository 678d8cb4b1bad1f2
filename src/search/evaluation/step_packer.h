// A distributed step that is there as arrays, packed for the event loop without a graph: what SimGraph would know
// besides is left out.
#ifndef PLACEWRIGHT_SEARCH_EVALUATION_STEP_PACKER_H_
#define PLACEWRIGHT_SEARCH_EVALUATION_STEP_PACKER_H_

#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compile/step_arrays.h"
#include "cost/communication.h"
#include "cost/slowest.h"
#include "plan/placement.h"
#include "search/evaluator.h"
#include "search/problem/layout_problem.h"
#include "sim/engine/packed_step.h"
#include "sim/engine/program_order.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

// Packs steps one after the other into the same memory.
class StepPacker {
 public:
  // The first two must outlive it. `ops`: of the original step.
  StepPacker(const Communication& communication, const PartPrices& prices, size_t ops);

  // Precondition: the arrays' parts have prices. Errors: kField (an op on a device that does not support it),
  // kPlanInvalid (views of one storage on several devices), kUnreachable (devices that exchange something without a
  // route).
  // `with_paths`: what a run with a limit, or by critical path, looks at is filled, too; `with_order`: what one in the
  // order of the program does.
  Status Pack(const StepArrays& arrays, bool with_paths, bool with_order);

  // Of the last step, what runs of packed steps ask of one (sim/simulator.h). Ops are those that are no views, in the
  // order of the step.
  const SimGraph& sim_graph() const { return p_; }
  PackedStep& packed() { return packed_; }  // the caller may swap it with another one
  const Placement& placement() const { return placement_; }
  // Of instances that are these ops.
  void NameOrigins(std::vector<Feedback::Instance>& instances) const;

 private:
  // An op that is no view.
  struct ExecOp {
    ArrayRow reads, written;
    OpId origin;
    PricedPartId part;
    ArrayHalf half;
    bool of_input;
    bool holds;  // `reads` are rows of with_held_
  };
  // What an op writes, or what is there before.
  struct Version {
    ExecOpId writer, overwriter;  // or none
    StorageId storage;            // by its number in the packed step
    TensorId tensor;              // through which it is read first
    ExecOpId last_reader;
    int32_t readers = 0;
    int32_t last_read = -1;  // in reads_
    bool ranges = false;     // readers read several
    void Begin(ExecOpId by, StorageId of) {
      writer = by;
      overwriter = ExecOpId();
      storage = of;
      tensor = TensorId();
      last_reader = ExecOpId();
      readers = 0;
      last_read = -1;
      ranges = false;
    }
  };
  struct Storage {
    ArrayVersionId last;  // version
    int32_t versions = 0;
    bool made = false, input = false;
    bool born = false;                    // its first version has its slices
    bool tokens = false;                  // each of its writers keeps it
    void Begin(ArrayVersionId version) {  // that an op makes
      last = version;
      versions = 1;
      made = true;
      input = born = tokens = false;
    }
  };
  // One op reads a version through a tensor.
  struct Read {
    TensorId tensor;
    ExecOpId reader;
    int32_t before;  // of the same version; then, of one that is read in ranges, the slice
  };
  struct Range {
    int64_t offset, length;
    ExecOpId reader;
    int32_t read;
    bool IsOf(const Range& other) const { return offset == other.offset && length == other.length; }
  };

  void AddCluster();
  void AddStorages(const StepArrays& arrays);
  Status CollectOps(const StepArrays& arrays);
  Status Touch(const StepArrays& arrays, const ArrayOp& op);
  Status Apart(const ArrayOp& op) const;  // the error
  void AddHeld(const StepArrays& arrays);
  void CountDevice(OpId origin, DeviceId device, int32_t count);
  double SlowerOf(OpId origin, int32_t kind);
  Status AddTimes();
  void CollectReads(const StepArrays& arrays);
  void AddSlices(const StepArrays& arrays);
  void AddInitialSlices(const StepArrays& arrays);
  void AddSlicesOf(const StepArrays& arrays, ArrayVersionId id);
  void AddRanges(const StepArrays& arrays, const Version& version);
  void AddSlice(const Version& version, int64_t length, int32_t readers);
  // The bytes that its writer brings to be.
  int64_t AddWritten(const StepArrays& arrays, ArrayVersionId id);
  void AddEdges(const StepArrays& arrays);
  void AddWaits(const StepArrays& arrays);
  PackedStep::Waits WaitsThroughViews(const StepArrays& arrays) const;
  Status AddCollectives(const StepArrays& arrays);
  Status CheckRoutes(const StepArrays& arrays) const;
  void AddOrder();
  Status CheckLaneOrder(const StepArrays& arrays);
  void AddMoving();
  void AddPaths();
  std::span<const ArrayRead> ReadsOf(const StepArrays& arrays, const ExecOp& op) const {
    const std::vector<ArrayRead>& rows = op.holds ? with_held_ : arrays.reads;
    return {rows.data() + op.reads.begin, static_cast<size_t>(op.reads.end - op.reads.begin)};
  }
  std::span<const ArrayVersionId> WrittenBy(const StepArrays& arrays, const ExecOp& op) const {
    return {arrays.written.data() + op.written.begin,
            static_cast<size_t>(op.written.end - op.written.begin)};
  }

  const Communication& communication_;
  const Cluster& cluster_;
  const PartPrices& prices_;
  SimGraph p_;
  PackedStep packed_;
  Placement placement_;
  bool all_connected_ = true;
  std::vector<int32_t> kind_of_;  // by device
  std::vector<char> is_gpu_;
  // Rows behind the end of the step are of no meaning, here and in what is packed.
  std::vector<ExecOp> exec_;      // by exec op
  std::vector<int32_t> gpus_of_;  // by op of the original and kind: how many have an instance
  std::vector<char> seen_;        // by op of the original and device
  SlowestOfMany slowest_;
  IdVector<StorageId, StorageId> number_of_;  // by storage of the arrays
  IdVector<StorageId, Storage> storages_;     // by number
  IdVector<ArrayVersionId, Version> versions_;
  IdVector<ArrayVersionId, SliceId> slice_of_;  // or kRanges
  static constexpr SliceId kRanges = SliceId(-2);
  std::vector<Read> reads_;  // in the order of the readers
  size_t read_count_ = 0;
  int32_t slices_ = 0, readers_ = 0;  // so far
  std::vector<char> is_input_;        // by slice of what no op makes: the first ones
  std::vector<int32_t> next_reader_;  // by slice: where its next reader goes
  PackedStep::Waits waits_;
  std::vector<ArrayRead> with_held_;  // what ops that hold something read, and what they hold
  // Scratch.
  std::vector<ArrayVersionId> written_;
  std::vector<Range> ranges_;
  std::vector<SliceId> read_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EVALUATION_STEP_PACKER_H_
