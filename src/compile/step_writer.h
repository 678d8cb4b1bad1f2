// The instances of a step's ops and what they fetch (internal to the module), op by op.
#ifndef PLACEWRIGHT_COMPILE_STEP_WRITER_H_
#define PLACEWRIGHT_COMPILE_STEP_WRITER_H_

#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "compile/compiler.h"
#include "compile/emitter.h"
#include "compile/fetch_store.h"
#include "compile/fetcher.h"
#include "compile/instances.h"
#include "transforms/offload.h"

namespace placewright {

// Of the options those that are no passes over the whole: no fusion, no gradients made apart. Errors: those of
// Compile.
class StepWriter {
 public:
  // All must outlive it.
  StepWriter(const Graph& graph, const NamedAxes& axes, const CompileOptions& options,
             Emitter& emitter, FetchStore& store);

  // What follows is laid out like that. `layouts` must outlive what follows, and its layouts only grow.
  void SetLayouts(const Layouts& layouts);

  // The parts of a step, in this order: every tensor without a producer, every op in the order of the file, in which
  // versions were resolved, and the outputs.
  void WriteInput(TensorId id);
  Status WriteOp(OpId op);
  Result<std::vector<TensorId>> WriteOutputs();

  // Of an op: whether it is written by what is known of the tensors that it looks at alone; in which epoch it fetches;
  // and of reads through tensors of earlier versions what its writing looks at.
  bool MayRepeat(OpId op) const;
  int32_t EpochOf(OpId op) const { return epoch_of_.empty() ? 0 : epoch_of_[op]; }
  void AddOlderReads(StorageId storage, std::vector<int64_t>& numbers) const;
  // Of the layout's axes those that split what is written in place in the group (unsplit_writes.h).
  SmallVector<AxisId> SplitBy(GroupId group) const;

  const Layout& LayoutOf(GroupId group) const {
    return single_[group] ? *single_[group] : layouts_->Of(group);
  }

 private:
  void FindRegathered();
  Status WriteHostCopy(OpId op);
  void AddOlderRead(TensorId id, int32_t read);
  void FindSingle();
  PieceBoxes BoxesOfInput(TensorId id, const Layout& layout, const SmallVector<AxisId>& by);
  bool IsSynchronised(OpId op) const;
  bool MayBeLocal(OpId op) const;
  bool HasEnoughForEach(OpId op) const;
  Status CheckKept() const;
  void AddOutput(TensorId id, std::vector<TensorId>& outputs);

  const Graph& graph_;
  const NamedAxes& axes_;
  const CompileOptions options_;
  Emitter& emitter_;
  IdVector<OpId, int32_t> epoch_of_;  // empty: nothing is fetched anew
  FetchStore& store_;
  Fetcher fetcher_;
  const Layouts* layouts_ = nullptr;
  std::vector<OpId> draws_;               // ops that draw random numbers
  IdVector<OpId, HostCopy> host_copies_;  // empty: there are none
  InstanceMemory memory_;
  size_t looked_at_ = 0;                               // of the layouts: `unsplit_` has their axes
  std::map<AxisId, IdVector<GroupId, bool>> unsplit_;  // of these axes
  IdVector<GroupId, std::optional<Layout>> single_;    // of groups that draw random numbers
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_STEP_WRITER_H_
