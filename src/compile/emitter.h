// What a distributed step is written to while it grows (internal to the module): the arrays of it
// (step_arrays.h), in blocks that may be written again. graph_printer.h makes a graph of them.
#ifndef PLACEWRIGHT_COMPILE_EMITTER_H_
#define PLACEWRIGHT_COMPILE_EMITTER_H_

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/small_vector.h"
#include "cluster/cluster.h"
#include "compile/lane_folder.h"
#include "compile/made_tensor.h"
#include "compile/step_arrays.h"
#include "graph/graph_builder.h"
#include "plan/distributed_step.h"
#include "sharding/named_axes.h"
#include "sharding/part_call.h"

namespace placewright {

// What an instance of an op is, beside what it reads: with equal keys and inputs of equal types, instances
// are equal but for their device.
struct InstanceKey {
  struct Part {
    AxisId axis;
    RuleAxisId split;     // which axis of the op's rule that is
    int64_t length = 0;   // of the part
    AxisPart stated;      // where it lies, if one of the instance's arguments says so
    bool priced = false;  // what the instance takes follows from where that is (AxisPartOp::uneven)
  };
  OpId op;
  SmallVector<Part> parts;  // what it has of axes; all of the others
};

// What the ops of a block are, up to the tensors of other blocks that they read.
struct BlockScript {
  struct Op {
    PricedPartId part;
    DeviceId device;
    int32_t origin = -1;  // of several that are given, or none
    Phase phase = Phase::kForward;
    bool own = false;
    ArrayName name = ArrayName::kOrigin;
    int32_t reads = 0;  // how many
    std::optional<int32_t> like;
  };
  struct Collective {
    CollectiveRequest request;
    int32_t over = -1;
    std::vector<size_t> members;  // among the ops
  };
  std::vector<Op> ops;
  std::vector<int32_t>
      reads;  // of tensors that are given, or -1 - n: the n-th that the block makes
  std::vector<Collective> collectives;
};

class Emitter {
 public:
  // Writes into `arrays`, which are empty or its own. `kinds`: of the original's ops (op_kinds.h). `keeps_inputs`: what
  // inputs are is asked for.
  Emitter(const Graph& original, const IdVector<OpId, int32_t>& kinds, PartPrices& prices,
          StepArrays& arrays, bool keeps_inputs);
  // Before anything is written: in lanes. The classes must outlive it. Blocks are then written once, in their order.
  void Fold(const LaneClasses& classes);
  // Behind all blocks.
  void FinishFolding() {
    if (folder_) folder_->Finish();
  }
  bool folds() const { return folder_.has_value(); }
  bool is_folding() const { return folder_ && folder_->active(); }
  // Devices of a class differ.
  bool failed_to_fold() const { return folder_ && folder_->failed(); }

  // While it folds. What the block's ops are, and all that they made; nothing where they read other tensors than these
  // and their own, or are instances of other ops than these. All tensors here are those of first devices.
  std::optional<std::vector<TensorId>> MakeScript(std::span<const TensorId> tensors,
                                                  std::span<const OpId> origins,
                                                  BlockScript& script) const;
  // The same ops with others, in a block that was begun: all that they make.
  std::vector<TensorId> Repeat(const BlockScript& script, std::span<const TensorId> tensors,
                               std::span<const OpId> origins);
  // A piece of an input, on a first device or everywhere; and the same piece of another one.
  struct InputPiece {
    PartTypeId type;
    Bytes bytes;
    DeviceId device, on;  // by its name, and where it lies
    TensorBox box;
  };
  InputPiece PieceOf(TensorId id) const;
  TensorId RepeatInput(TensorId original, const InputPiece& piece);
  MadeTensor MadeOf(TensorId id) const;
  int image_bits() const { return folder_->image_bits(); }

  // What follows belongs to the block at this place: blocks may be written again, in any order. What it had is
  // taken back. Inputs that are read by ops belong to the block at place 0.
  void Begin(int32_t place);
  // Of the same block. Whether other blocks that read what it makes, or write what it writes, may go on as they
  // are.
  struct Outcome {
    bool same = true;
    bool same_writes = true;  // of storages of other blocks
  };
  Outcome End();
  // From here on what blocks were before is kept; what was kept is forgotten.
  void Record();
  void StopRecording() { recording_ = false; }
  // All blocks, and the rows of ops, are what they were at Record, but for inputs that were read since: they stay.
  void Undo();
  size_t block_count() const { return blocks_.size(); }
  const ArrayBlock& block(int32_t place) const { return blocks_[static_cast<size_t>(place)]; }
  // What is written when all blocks are: the order of ops and inputs.
  void SetOrder();

  // Without inputs and name of the op. What it makes is appended to `made`.
  using MakeSpec = std::function<OpSpec()>;
  void AddInstance(const InstanceKey& key, std::span<const TensorId> inputs, DeviceId device,
                   const MakeSpec& make, std::vector<TensorId>& made);
  // While it folds: the same instance as the device's class has added at this turn, where `inputs` stand for what that
  // one reads. False: nothing is added.
  bool AddAgain(std::span<const TensorId> inputs, DeviceId device, std::vector<TensorId>& made);
  // One of several ops that compute a part of `origin`: that which is called as it (`main`), or another, called by its
  // type. `spec` has no names. `in_kernel`: as DistributedStep has it.
  std::vector<TensorId> AddOfPart(OpSpec spec, bool main, DeviceId device, OpId origin,
                                  bool in_kernel);
  // What moves, joins or sums pieces, with one output; its phase is that of what made `like`.
  TensorId AddLike(std::string_view type, std::vector<TensorId> inputs, std::vector<Value> args,
                   std::vector<int64_t> shape, TensorId like, DeviceId device);
  // While it folds: the same, where the device's class has added just that at this turn, of what `input` stands for.
  // Invalid: nothing is added.
  TensorId AddLikeAgain(std::string_view type, TensorId input, const std::vector<int64_t>& shape,
                        DeviceId device);
  // One without outputs, called after the first tensor that it reads.
  OpId AddReader(std::string_view type, std::vector<TensorId> inputs, std::vector<Value> args,
                 DeviceId device);
  // The view `view` of what is equal to its base, on another device: an instance of the same op.
  TensorId AddViewOf(TensorId view, TensorId base, DeviceId device);
  // The view that an op makes of a part of its input, or all of it, where the op that made `like` makes that of another
  // part; `call`, `shape`: of this part.
  TensorId AddPartView(const InstanceKey& key, PartCall call, std::vector<int64_t> shape,
                       TensorId like, TensorId base, DeviceId device);
  // Writes `value` over `tensor`, which lies on the device, or zeros; what `tensor` then is.
  TensorId Overwrite(TensorId tensor, TensorId value, DeviceId device);
  // A part of an original input, or all of it; of a device alone, or of none. `on`: where it lies, or is read, though its
  // name does not say so.
  TensorId AddInput(TensorId original, DeviceId device, const TensorBox& box = {},
                    DeviceId on = DeviceId());
  // The ops, which are on these devices, begin and end together.
  using Member = LaneFolder::Member;
  void Join(std::span<const Member> members);
  // The ops that made these tensors do.
  void JoinMakers(const std::vector<TensorId>& made);
  // What one op is that does on one device what these ops do there, members of collectives of one kind: it reads what they
  // read and makes what they make.
  PricedPartId CoalescedPart(std::span<const OpId> ops);
  // What the collective of these ops asks for.
  CollectiveRequest RequestOf(std::span<const OpId> members) const;
  // One more op with the same rows.
  OpId AddCopyOf(OpId op);
  // A view of `spec`'s only input, with the phase of what made `like`.
  TensorId AddView(OpSpec spec, TensorId like, DeviceId device);

  // Of the distributed step.
  const std::vector<int64_t>& shape(TensorId id) const { return type(id).shape; }
  DType dtype(TensorId id) const { return type(id).dtype; }
  OpId producer(TensorId id) const { return tensor(id).producer; }  // none of an input
  DeviceId device(OpId id) const { return arrays_.ops[id].device; }
  OpId last() const { return last_; }  // the op that was added last
  const Cluster& cluster() const { return prices_.cluster(); }
  const Communication& communication() const { return prices_.communication(); }
  // What an input is of the original's.
  struct Input {
    TensorId original;
    DeviceId device;
    TensorBox box;
  };
  const Input& input(TensorId id) const { return inputs_.at(id); }
  // Of a step in lanes: the first device's tensor that this one is written as.
  TensorId StandsFor(TensorId id) const { return folder_ ? folder_->StandsFor(id) : id; }
  // Where it is made; none of an input.
  DeviceId device_of(TensorId id) const {
    const OpId maker = producer(id);
    if (!maker.valid()) return DeviceId();
    return is_folding() ? folder_->DeviceOf(id) : device(maker);
  }

 private:
  PricedPartId PartOf(OpSpec& spec, bool in_kernel = false);
  // Of what moves or joins pieces; `made`: what it makes.
  PricedPartId PartOfCall(std::string_view type, std::vector<Value> args,
                          std::span<const TensorId> inputs, std::span<const PartTypeId> made);
  const ArrayTensor& tensor(TensorId id) const { return arrays_.tensors[StandsFor(id)]; }
  const PartType& type(TensorId id) const { return prices_.type(tensor(id).type); }
  Phase PhaseOf(TensorId like) const;
  void SetInstanceKey(const InstanceKey& key);
  // What there is of a part in the key: the types of its inputs.
  std::span<const PartInput> TakeInputs(std::span<const TensorId> inputs);
  // While it folds: the op that the device's class has added at this turn, if that reads what `inputs` stand for.
  OpId NextOf(std::span<const TensorId> inputs, DeviceId device) const;
  void AppendValue(const Value& value);
  void AppendText(std::string_view text);
  // Of what moves, joins or sums, where its cost may depend on them.
  void AppendArguments(const std::vector<Value>& args);
  // Numbers that the block had before are used again first.
  template <class Number, class Pool>
  Number Take(std::vector<Number>& numbers, size_t& used, std::vector<Number>& free, Pool& pool);
  ArrayBlock& block() { return blocks_[static_cast<size_t>(place_)]; }
  // `own`: it is an instance itself; else something that was fetched for one. What it makes is appended to `made`.
  void Add(PricedPartId part, std::span<const TensorId> inputs, DeviceId device, OpId origin,
           Phase phase, bool own, std::vector<TensorId>& made);
  void AddHere(PricedPartId part, std::span<const TensorId> inputs, DeviceId device, OpId origin,
               Phase phase, bool own, std::vector<TensorId>& made);
  void AddFolded(PricedPartId part, std::span<const TensorId> inputs, DeviceId device, OpId origin,
                 Phase phase, bool own, std::vector<TensorId>& made);
  TensorId AddInputHere(TensorId original, PartTypeId type, Bytes bytes);
  void SetLaneBlock(OpId op, int32_t block);
  // With one output.
  TensorId AddOne(PricedPartId part, std::span<const TensorId> inputs, DeviceId device, OpId origin,
                  Phase phase);
  // How the op that was added last is called.
  void Name(ArrayName name, TensorId like = TensorId());
  void SetAfter();
  void SetHolds();
  void Write(OpId op, StorageId storage, bool own);
  TensorId MakeOutput(PricedPartId part, size_t output, std::span<const TensorId> inputs, OpId op,
                      OpId origin, DeviceId device, bool own);
  TensorId AddTensor(const ArrayTensor& tensor, bool own);
  // With its first content, that `writer` makes.
  StorageId AddStorage(ArrayStorage storage, OpId writer, bool own);
  ArrayVersionId AddVersion(const ArrayVersion& version, bool own);
  void Unlink(ArrayVersionId version);

  struct Used {
    size_t tensors = 0, storages = 0, versions = 0;
  };
  // What blocks had when they were begun, one behind the other.
  struct Kept {
    struct Counts {
      size_t tensors = 0, storages = 0, versions = 0;
    };
    struct Block {
      int32_t place = 0;
      size_t ops = 0, collectives = 0, overwrites = 0;
      Counts own, fetched;
    };
    std::vector<Block> blocks;
    std::vector<std::pair<OpId, ArrayOp>> ops;
    std::vector<std::pair<CollectiveId, ArrayCollective>> collectives;
    std::vector<std::pair<TensorId, ArrayTensor>> tensors;
    std::vector<std::pair<StorageId, ArrayStorage>> storages;
    std::vector<ArrayVersionId> version_numbers, overwrites;
    std::vector<std::pair<ArrayVersionId, ArrayVersion>>
        versions;                                          // and those that were linked anew
    size_t reads = 0, made = 0, written = 0, members = 0;  // rows, at Record
    // Numbers that no block has now, but one had.
    std::vector<OpId> unused_ops;
    std::vector<CollectiveId> unused_collectives;
    ArrayBlock::Numbers unused;
  };
  void Keep();
  void KeepNumbers(const ArrayBlock::Numbers& numbers, Kept::Counts& counts);
  void SetNext(ArrayVersionId version, ArrayVersionId next);
  void UndoBlock(const Kept::Block& kept);
  void UndoNumbers(const Kept::Counts& counts, ArrayBlock::Numbers& numbers);
  bool IsAsBefore() const;
  bool WritesAsBefore() const;
  void SetTails(const std::vector<StorageId>& storages, std::vector<ArrayVersionId>& tails) const;

  const Graph& original_;
  struct OrderedOp {
    OpId op;
    bool
        beside;  // a copy: it is to be there no earlier than it is wanted on its device, wherever the others are
  };
  std::vector<OrderedOp> ordered_;  // of its ops: what states an order beside its edges
  const Csr<OpId, TensorId> held_;  // by its ops: what they hold
  const IdVector<OpId, int32_t>& kinds_;
  const bool keeps_inputs_;
  PartPrices& prices_;
  StepArrays& arrays_;
  std::optional<LaneFolder> folder_;
  std::vector<ArrayBlock> blocks_;
  std::map<TensorId, Input> inputs_;
  // Of each block, and the end: where its rows begin in what SetOrder has written, and which have changed since.
  std::vector<int32_t> order_start_, inputs_start_, joined_start_, changed_;
  int32_t place_ = 0;
  OpId last_;
  size_t used_ops_ = 0, used_collectives_ = 0;
  std::vector<char> own_ops_;  // of the block's ops, in lanes
  Used used_own_, used_fetched_;
  bool recording_ = false;
  Kept kept_;
  size_t tensors_before_ = 0,
         versions_before_ = 0;  // of the block: where they begin among what is kept
  std::vector<std::pair<ArrayVersionId, StorageId>> overwrites_before_;
  // Of the storages that the block had: what other blocks wrote there.
  std::vector<ArrayVersionId> own_tails_, fetched_tails_;
  std::vector<OpId> free_ops_;
  std::vector<CollectiveId> free_collectives_;
  ArrayBlock::Numbers free_;
  std::vector<int32_t> key_, last_key_;
  PricedPartId last_part_;  // of last_key_: the next instance is mostly alike
  std::vector<PartInput> types_;
  std::vector<TensorId> made_;  // by what was fetched last
};

template <class Number, class Pool>
Number Emitter::Take(std::vector<Number>& numbers, size_t& used, std::vector<Number>& free,
                     Pool& pool) {
  if (used < numbers.size()) return numbers[used++];
  ++used;
  if (free.empty()) {
    numbers.push_back(Number(pool.size()));
    pool.raw().emplace_back();  // ArrayOp is aligned: by value g++ would warn of its ABI
  } else {
    numbers.push_back(free.back());
    free.pop_back();
  }
  return numbers.back();
}

// "%0", "%1", ...: references to the first inputs.
std::vector<Value> References(size_t count);
Value IntegerList(const std::vector<int64_t>& numbers);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_EMITTER_H_
