#include "compile/rewrites/flat_copies.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "compile/emitter.h"
#include "compile/rewrites/gradient_readers.h"
#include "compile/rewrites/rewrites.h"
#include "transforms/precision.h"

namespace placewright {
namespace {

class FlatCopier {
 public:
  FlatCopier(const Graph& original, ArrayWriter& writer, ArrayChanges& changes)
      : original_(original),
        emitter_(writer.emitter()),
        arrays_(writer.arrays()),
        changes_(changes),
        readers_(arrays_),
        storages_before_(arrays_.storages.size()),
        gathered_(storages_before_),
        copy_of_(storages_before_) {}

  void Copy() {
    changes_.KeepOrder();
    const std::vector<OpId> before = arrays_.order;
    std::vector<OpId> order;
    order.reserve(before.size());
    for (const OpId id : before) {
      const ArrayOp op = arrays_.ops[id];
      for (auto row = static_cast<size_t>(op.reads.begin); row < static_cast<size_t>(op.reads.end);
           ++row) {
        ReadCopy(row, order);
      }
      MoveViews(op);
      if (IsOf(op, CollectiveKind::kReduceScatter) && scattered_.insert(op.collective).second) {
        CopyAllIn(op.collective, order);
      }
      order.push_back(id);
      if (IsOf(op, CollectiveKind::kAllGather) && IsOfParameter(op)) {
        for (const TensorId made : arrays_.MadeBy(op)) {
          gathered_[arrays_.tensors[made].storage.index()] = made;
        }
      }
    }
    arrays_.order = std::move(order);
    for (auto& [op, read] : arrays_.holds) {
      const StorageId storage = arrays_.versions[read.version].storage;
      const TensorId copy =
          storage.index() < storages_before_ ? copy_of_[storage.index()] : TensorId();
      if (!copy.valid()) continue;
      read = {read.tensor == gathered_[storage.index()] ? copy : read.tensor, FirstOf(copy)};
    }
  }

 private:
  bool IsOf(const ArrayOp& op, CollectiveKind kind) const {
    return op.collective.valid() && arrays_.collectives[op.collective].request.kind == kind;
  }
  // What it reads is there before the step, as a parameter, or a cast of one.
  bool IsOfParameter(const ArrayOp& op) const {
    const ArrayVersion& content = arrays_.versions[arrays_.ReadsOf(op).front().version];
    const StorageId storage = arrays_.storages[content.storage].original;
    if (!storage.valid()) return false;
    if (CastParameter(original_, storage).valid()) return true;
    return !content.writer.valid() && original_.storage(storage).kind == TensorKind::kParameter;
  }
  TensorId AddCopy(TensorId tensor, DeviceId device, std::vector<OpId>& order) {
    const TensorId copy = EmitCopy(emitter_, tensor, device);
    order.push_back(emitter_.last());
    return copy;
  }

  // Before the first member, so that what all of them read stands before the collective.
  void CopyAllIn(CollectiveId id, std::vector<OpId>& order) {
    const std::span<const OpId> of = arrays_.MembersOf(arrays_.collectives[id]);
    const std::vector<OpId> members(of.begin(), of.end());
    for (const OpId member : members) {
      const ArrayOp op = arrays_.ops[member];
      if (IsReadByUpdate(original_, arrays_, readers_, op)) CopyIn(op, order);
    }
  }

  void CopyIn(const ArrayOp& member, std::vector<OpId>& order) {
    for (auto row = static_cast<size_t>(member.reads.begin);
         row < static_cast<size_t>(member.reads.end); ++row) {
      const ArrayRead gradient = arrays_.reads[row];
      if (IsCastForIt(gradient.tensor)) continue;
      const TensorId copy = AddCopy(gradient.tensor, member.device, order);
      arrays_.reads[static_cast<size_t>(arrays_.ops[emitter_.last()].reads.begin)] = gradient;
      changes_.ChangeRead(row) = {copy, FirstOf(copy)};
    }
  }

  // What casts a gradient into the type of sums writes it where it is sent from.
  bool IsCastForIt(TensorId gradient) const {
    const OpId maker = arrays_.tensors[gradient].producer;
    const OpId origin = maker.valid() ? arrays_.ops[maker].origin : OpId();
    return origin.valid() && IsGradientCast(original_.op(origin));
  }

  // A read of what was gathered becomes one of its copy, which the first of them makes: of all that one op gathered.
  void ReadCopy(size_t row, std::vector<OpId>& order) {
    const StorageId storage = arrays_.versions[arrays_.reads[row].version].storage;
    if (storage.index() >= storages_before_ || !gathered_[storage.index()].valid()) return;
    const TensorId gathered = gathered_[storage.index()], read = arrays_.reads[row].tensor;
    if (!copy_of_[storage.index()].valid()) CopyOut(arrays_.tensors[gathered].producer, order);
    const TensorId copy = copy_of_[storage.index()];
    changes_.ChangeRead(row) = {read == gathered ? copy : read, FirstOf(copy)};
  }

  void CopyOut(OpId gather, std::vector<OpId>& order) {
    const ArrayOp op = arrays_.ops[gather];
    const std::span<const TensorId> row = arrays_.MadeBy(op);
    for (const TensorId made : std::vector<TensorId>(row.begin(), row.end())) {
      if (readers_.Of(made).empty()) continue;
      copy_of_[arrays_.tensors[made].storage.index()] = AddCopy(made, op.device, order);
    }
  }

  // Views of what was gathered are views of the copy.
  void MoveViews(const ArrayOp& op) {
    for (const TensorId made : arrays_.MadeBy(op)) {
      const StorageId storage = arrays_.tensors[made].storage;
      if (storage.index() >= storages_before_ || !copy_of_[storage.index()].valid()) continue;
      changes_.Change(made).storage = arrays_.tensors[copy_of_[storage.index()]].storage;
    }
  }

  ArrayVersionId FirstOf(TensorId tensor) const {
    return arrays_.storages[arrays_.tensors[tensor].storage].first;
  }

  const Graph& original_;
  Emitter& emitter_;
  StepArrays& arrays_;
  ArrayChanges& changes_;
  const ArrayReaders readers_;
  const size_t storages_before_;
  std::set<CollectiveId> scattered_;
  std::vector<TensorId> gathered_, copy_of_;  // by storage: the parameter in it, and its copy
};

}  // namespace

void CopyFlatBuffers(const Graph& original, ArrayWriter& writer, ArrayChanges& changes) {
  FlatCopier(original, writer, changes).Copy();
}

}  // namespace placewright
