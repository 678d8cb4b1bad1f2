// Distributed steps as arrays, one after the other: what layouts have in common is written once.
//
// A step is blocks: what belongs to one op of the original or to one of its inputs. Where a group's layout
// changes, the blocks of its ops are written anew, in the order of the graph, and then those of ops that read what
// has changed in these: a tensor's state, what was fetched of it, or the content of a storage. A block depends
// on nothing else (but a batch norm with statistics of its own parts on the layouts of their readers, which are
// looked at, too, and what was written through views of copies, after which all is written), so that the result
// is what writing all of it would give; a test holds both to the same simulated steps. What the blocks were before
// the last call is kept: most of what a search tries it does not take, and what comes next is nearer to that.
#ifndef PLACEWRIGHT_COMPILE_ARRAY_WRITER_H_
#define PLACEWRIGHT_COMPILE_ARRAY_WRITER_H_

#include <memory>
#include <vector>

#include "base/result.h"
#include "base/stop_check.h"
#include "compile/block_scripts.h"
#include "compile/compiler.h"
#include "compile/emitter.h"
#include "compile/fetch_store.h"
#include "compile/part_prices.h"
#include "compile/step_arrays.h"
#include "compile/step_writer.h"
#include "graph/csr.h"
#include "plan/layout.h"
#include "sharding/named_axes.h"

namespace placewright {

class ArrayWriter {
 public:
  // All must outlive it. Of the options, fusion and gradients made apart are not looked at. `once`: there will be one
  // call of Write, whose step is printed as a graph. `lanes`: there will be one call, in lanes of these classes.
  ArrayWriter(const Graph& graph, const NamedAxes& axes, const CompileOptions& options,
              PartPrices& prices, bool once = false, const LaneClasses* lanes = nullptr);

  // Asked behind every few hundred ops that are written.
  void GiveUpWhere(StopCheck stop) { stop_ = std::move(stop); }

  // The step, laid out like that. `layouts.layouts` only grows from call to call. Layouts are not checked, and
  // new parts have no prices yet. Errors: those of Compile, of the instances; kPlanInvalid where devices of a class do
  // not do alike; kCancelled where it was given up.
  Status Write(const Layouts& layouts);
  // It is not called again: what was kept for that is given up.
  void Finish() {
    scripts_.reset();
    writer_.reset();
    store_.reset();
  }
  // How many groups have another layout in what was written last, or before that; all where nothing was.
  size_t DistanceTo(const Layouts& layouts) const;
  // The last one.
  StepArrays& arrays() { return arrays_; }
  const std::vector<TensorId>& outputs() const { return outputs_; }
  int32_t blocks_written() const { return blocks_written_; }  // by the last call
  int64_t ops_repeated() const { return ops_repeated_; }      // of a step in lanes

  // What comes behind all blocks: passes over the whole write there.
  Emitter& emitter() { return *emitter_; }
  int32_t place_behind() const { return PlaceOf(OpId(graph_.op_count())) + 1; }

 private:
  static constexpr uint32_t kOpsBetweenStops = 256;

  int32_t PlaceOf(TensorId input) const { return input.value() + 1; }
  int32_t PlaceOf(OpId op) const {
    return static_cast<int32_t>(graph_.tensor_count()) + 1 + op.value();
  }

  bool IsGivenUp() { return stop_ && ++asked_ % kOpsBetweenStops == 0 && stop_(); }
  void Restart();
  void MarkChanged(const Layouts& layouts);
  Status WriteMarked();
  void Undo();
  void WriteInput(TensorId id);
  Status WriteOp(OpId op);
  Status WriteInLanes(OpId op);
  void MarkReaders(TensorId id, int32_t behind);
  void MarkOverwritten(const std::vector<StorageId>& storages, int32_t behind);
  void NoteOverwritten(int32_t place);

  const Graph& graph_;
  const NamedAxes& axes_;
  const CompileOptions options_;
  const bool once_;
  const LaneClasses* const lanes_;
  const IdVector<OpId, int32_t> kinds_;
  PartPrices& prices_;
  Csr<TensorId, OpId> readers_;
  Csr<StorageId, TensorId> tensors_of_;
  std::vector<TensorId> inputs_;

  StepArrays arrays_;
  std::vector<TensorId> outputs_;
  std::unique_ptr<FetchStore> store_;
  std::unique_ptr<Emitter> emitter_;
  std::unique_ptr<StepWriter> writer_;
  std::unique_ptr<BlockScripts> scripts_;  // of a step in lanes
  IdVector<GroupId, LayoutId> written_;    // empty: nothing is
  IdVector<GroupId, LayoutId>
      before_;  // what was written before that; empty: it is not known any more
  std::vector<std::pair<TensorId, TensorState>> states_before_;
  // Originals of other blocks' storages that a block writes; none: something that was fetched.
  std::vector<StorageId> overwritten_;
  std::vector<char> marked_;  // by place
  int32_t blocks_written_ = 0;
  int64_t ops_repeated_ = 0;
  StopCheck stop_;
  uint32_t asked_ = 0;
  size_t rows_ = 0;              // of reads, when rows were compact
  size_t tensors_at_start_ = 0;  // when all was written last
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_ARRAY_WRITER_H_
