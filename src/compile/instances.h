// The instances of one op (internal to the module): by which of its axes it is split, and what an instance
// reads and makes.
#ifndef PLACEWRIGHT_COMPILE_INSTANCES_H_
#define PLACEWRIGHT_COMPILE_INSTANCES_H_

#include <map>
#include <span>
#include <vector>

#include "compile/emitter.h"
#include "compile/fetcher.h"
#include "compile/op_split.h"
#include "compile/rewrites/part_writer.h"
#include "plan/layout.h"
#include "sharding/named_axes.h"

namespace placewright {

// Tensors by part, as many of each: parallel to an op's inputs, or to its outputs, of which those that nothing reads
// are invalid where they were not made.
struct TensorsOfParts {
  size_t width = 0;
  std::vector<TensorId> items;

  void Begin(size_t of_each) {
    width = of_each;
    items.clear();
  }
  std::span<const TensorId> operator[](size_t part) const {
    return std::span(items).subspan(part * width, width);
  }
};

// What is made for one op after the other in the same memory.
struct InstanceMemory {
  // By storage: reads through a tensor of an earlier version than the one that is read, which a later op wrote.
  struct OlderRead {
    int32_t tensor, read;  // versions
  };
  std::map<StorageId, std::vector<OlderRead>> older_reads;
  TensorsOfParts read, made;
  std::vector<char> partial, beside;
  std::vector<const std::vector<TensorId>*> there;
  std::vector<DeviceId> devices;
  BoxesOfSplits boxes_of_splits;  // of layouts that stay where they are
};

class InstanceMaker {
 public:
  // `by`: of the layout's axes those by which its group may be split; none: every instance does everything, of whole
  // tensors. One maker at a time has the memory.
  InstanceMaker(const Graph& graph, const NamedAxes& axes, OpId op, const Layout& layout,
                const SmallVector<AxisId>& by, Emitter& emitter, Fetcher& fetcher,
                InstanceMemory& memory);

  // Adds the instances. The states of the op's outputs are set.
  Status Make();

  // A batch norm whose parts have statistics of their own, not those of all parts: all that reads these are
  // the parts of its backward, on the same devices.
  void UseOwnStatistics() { own_statistics_ = true; }

 private:
  void ChooseSplit(const SmallVector<AxisId>& by);
  bool MayBeSplitBy(const OpSplit::By& by) const;
  bool HasOwnStatistics() const;
  void ChoosePartialInputs();
  bool CarriesSums(const std::vector<int32_t>& together) const;
  void FindBeside();
  bool IsBeside(size_t input) const;
  Status FetchInputs(size_t share);
  Status NoteRead(size_t input);
  void FindThere(size_t input);
  bool AreOnTheirDevices(const std::vector<TensorId>& tensors) const;
  TensorId FetchInput(size_t input, size_t share);
  OpSpec SpecOf(size_t share) const;
  void Prepare(size_t input);
  std::vector<OutputSpec> OutputsOf(size_t share) const;
  void MakeOne(size_t share, std::vector<TensorId>& made);
  void MakeEach();
  bool AreAlike() const;
  Status MakeAlike();
  void MakeSynchronised();
  MadeInParts EmitInParts(const OpInParts& parts);
  Status Finish();
  TensorState StateOf(size_t output) const;
  Status DivideByWeight();
  void DivideMean(size_t share, std::span<TensorId> made);

  void MarkViewsOfCopies();
  Status CheckNotStale(size_t input) const;
  Status CheckOwnOrder(size_t input);
  bool IsWritten(size_t input) const;
  bool MayWriteParts(size_t input, const OpSplit::By& by) const;
  bool IsReadThroughOutputs(TensorId written) const;
  void WriteBack(size_t input);
  const OpRule& rule() const { return *axes_.rule(id_); }

  const Graph& graph_;
  const NamedAxes& axes_;
  const OpId id_;
  const Op& op_;
  const Layout& layout_;
  const bool
      writes_unsplit_;  // the group may not be split by all axes of the layout (unsplit_writes.h)
  Emitter& emitter_;
  Fetcher& fetcher_;
  OpSplit split_;
  TensorsOfParts &read_, &made_;
  std::vector<char>& partial_;  // by input: taken, and left, as a partial sum
  std::vector<char>&
      beside_;  // by input: each instance reads the piece of the same share, which is there
  // By input that is not beside: what each share reads, where it is there; else nullptr.
  std::vector<const std::vector<TensorId>*>& there_;
  std::vector<DeviceId>& devices_;  // by share
  BoxesOfSplits& boxes_of_splits_;
  const std::map<StorageId, std::vector<InstanceMemory::OlderRead>>& older_reads_;
  TensorId partial_input_;  // one of the partial sums that it takes; none: it takes none
  bool own_statistics_ = false;
  bool own_counts_ = false;  // of rows in an order of each part's own: of each part its own
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_INSTANCES_H_
