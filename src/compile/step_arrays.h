// A distributed step as arrays: what a simulation of it needs, and from what a graph of it is made
// (graph_printer.h).
#ifndef PLACEWRIGHT_COMPILE_STEP_ARRAYS_H_
#define PLACEWRIGHT_COMPILE_STEP_ARRAYS_H_

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "compile/lane_classes.h"
#include "compile/part_prices.h"
#include "cost/communication/device_set_plan.h"
#include "graph/graph.h"

namespace placewright {

using ArrayVersionId = Id<struct ArrayVersionTag>;  // over all storages

struct ArrayRow {
  int32_t begin = 0, end = 0;
};

// Of an op whose gradients are made by two: which of these it is.
enum class ArrayHalf : uint8_t { kNone, kFirst, kSecond };

// By what an op is called in a graph (graph_printer.h).
enum class ArrayName : uint8_t {
  kOrigin,  // it is the op itself, or an instance of it on its device
  kMain,    // of several ops that compute such an instance, the one that is called as it
  kPart,    // and another one
  kView,    // an instance of `like`'s op, on another device
  kLike     // what moves, joins, sums or overwrites pieces, after `like`
};

// In one cache line: packing reads them in no order.
struct alignas(64) ArrayOp {
  ArrayRow reads, made, written;
  DeviceId device;
  OpId origin;  // of which it is an instance, or none
  PricedPartId part;
  CollectiveId collective;  // or none
  Phase phase = Phase::kForward;
  bool is_view = false;
  bool touches_input = false;  // it views or writes a storage that no op makes
  bool apart = false;          // or one that an op on another device has made
  ArrayHalf half = ArrayHalf::kNone;
  bool of_input = false;  // and whether it makes the gradient of the input
  ArrayName name = ArrayName::kOrigin;
  TensorId like;
  bool IsInstance() const { return name <= ArrayName::kPart; }
};

struct ArrayRead {
  TensorId tensor;
  ArrayVersionId version;
};

struct ArrayTensor {
  PartTypeId type;
  StorageId storage;
  OpId producer;  // none of an input
  Bytes offset, length;
  bool inexact = false;  // a view of which no more is known than what it is of
  friend bool operator==(const ArrayTensor&, const ArrayTensor&) = default;
};

struct ArrayStorage {
  Bytes bytes;
  ArrayVersionId first;  // its versions are a list
  bool input = false;    // an input of the step, as long as nothing writes it
  StorageId original;    // of the original step, of which it is a piece; none: it was fetched
  DeviceId device;       // of the op that makes it; none of inputs
};

struct ArrayVersion {
  StorageId storage;
  OpId writer;        // none: content from before the step
  int32_t place = 0;  // of the block that writes it
  ArrayVersionId next;
};

struct ArrayCollective {
  CollectiveRequest request;
  ArrayRow members;   // none: it has become a part of another one
  int32_t over = -1;  // of a step in lanes: row of StepArrays::over
};

// What belongs to one op of the original step, or to one of its inputs.
struct ArrayBlock {
  // Of ops themselves, and of what moves, joins and sums what they read: apart, so that both keep their numbers
  // when the others change.
  struct Numbers {
    std::vector<TensorId> tensors;
    std::vector<StorageId> storages;
    std::vector<ArrayVersionId> versions;
  };
  std::vector<OpId> ops;
  Numbers own, fetched;
  std::vector<CollectiveId> collectives;
  std::vector<ArrayVersionId> overwrites;  // of other blocks' storages
};

// Numbers are those of pools: between the ones in use are others that are free.
struct StepArrays {
  IdVector<OpId, ArrayOp> ops;
  std::vector<ArrayRead> reads;
  std::vector<TensorId> made;
  std::vector<ArrayVersionId> written;
  IdVector<TensorId, ArrayTensor> tensors;
  IdVector<StorageId, ArrayStorage> storages;
  IdVector<ArrayVersionId, ArrayVersion> versions;
  IdVector<CollectiveId, ArrayCollective> collectives;
  std::vector<OpId> members;

  std::vector<OpId> order;           // the ops that there are, in the order of the compiled graph
  std::vector<StorageId> inputs;     // storages that no op makes, in their order
  std::vector<CollectiveId> joined;  // the collectives that there are
  std::vector<std::pair<OpId, OpId>> after;  // the second does not begin before the first has ended
  std::vector<std::pair<OpId, ArrayRead>>
      holds;  // the op does not read it, but it stays as if it did

  // Of a step in lanes (lane_folder.h), else nothing: who stands for whom; over which sets of devices the collectives
  // are that one stands for, its own set first; and which first devices read what others of them have.
  const LaneClasses* lanes = nullptr;
  std::vector<std::vector<std::vector<DeviceId>>> over;
  std::set<std::pair<DeviceId, DeviceId>> lane_reads;
  bool lane_orders_differ = false;      // some set of devices is stated in several orders
  IdVector<OpId, int32_t> lane_blocks;  // which block each op is of

  std::span<const ArrayRead> ReadsOf(const ArrayOp& op) const { return Row(reads, op.reads); }
  std::span<const TensorId> MadeBy(const ArrayOp& op) const { return Row(made, op.made); }
  std::span<const ArrayVersionId> WrittenBy(const ArrayOp& op) const {
    return Row(written, op.written);
  }
  std::span<const OpId> MembersOf(const ArrayCollective& collective) const {
    return Row(members, collective.members);
  }
  // The content of the storage that an op of the block at `place` reads.
  ArrayVersionId NewestAt(StorageId storage, int32_t place) const {
    ArrayVersionId version = storages[storage].first;
    while (versions[version].next.valid() && versions[versions[version].next].place <= place) {
      version = versions[version].next;
    }
    return version;
  }
  // For how many devices this one stands.
  int32_t DevicesLike(DeviceId device) const { return lanes == nullptr ? 1 : lanes->size[device]; }
  // Whose devices are in the collective.
  std::vector<DeviceId> DevicesOf(const ArrayCollective& collective) const {
    if (collective.over >= 0) return over[static_cast<size_t>(collective.over)].front();
    std::vector<DeviceId> devices;
    for (const OpId member : MembersOf(collective)) devices.push_back(ops[member].device);
    return devices;
  }
  // Rows that nothing has any more are left out.
  void Compact();

 private:
  template <class Item>
  static std::span<const Item> Row(const std::vector<Item>& items, ArrayRow row) {
    return {items.data() + row.begin, static_cast<size_t>(row.end - row.begin)};
  }
  template <class Item>
  static void CopyRow(const std::vector<Item>& from, ArrayRow& row, std::vector<Item>& to);
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_STEP_ARRAYS_H_
