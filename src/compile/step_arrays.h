// A distributed step as arrays: what a simulation of it needs, without names, arguments and modules. The same
// rewrites write it as write the graph (emitter.h); a test holds the two to the same simulated step.
#ifndef PLACEWRIGHT_COMPILE_STEP_ARRAYS_H_
#define PLACEWRIGHT_COMPILE_STEP_ARRAYS_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "compile/compiler.h"
#include "compile/part_prices.h"
#include "cost/communication/device_set_plan.h"
#include "graph/graph.h"
#include "plan/layout.h"
#include "sharding/named_axes.h"

namespace placewright {

using ArrayVersionId = Id<struct ArrayVersionTag>;  // over all storages

struct ArrayRow {
  int32_t begin = 0, end = 0;
};

// Of an op whose gradients are made by two: which of these it is.
enum class ArrayHalf : uint8_t { kNone, kFirst, kSecond };

struct ArrayOp {
  ArrayRow reads, made, written;
  DeviceId device;
  OpId origin;  // of which it is an instance, or none
  PricedPartId part;
  CollectiveId collective;  // or none
  Phase phase = Phase::kForward;
  bool is_view = false;
  ArrayHalf half = ArrayHalf::kNone;
  double share = 1;  // of the time of both, that of the first
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
};

struct ArrayStorage {
  Bytes bytes;
  ArrayVersionId newest;
  int32_t versions = 1;
  bool input = false;  // an input of the step that nothing has written
  DeviceId home;       // of the first op that makes, views or writes it
  DeviceId first_reader;
};

struct ArrayVersion {
  StorageId storage;
  OpId writer;  // none: content from before the step
};

struct ArrayCollective {
  CollectiveRequest request;
  ArrayRow members;  // none: it has become a part of another one
};

struct StepArrays {
  IdVector<OpId, ArrayOp> ops;
  std::vector<OpId> order;  // those that there are, in the order of the compiled graph
  std::vector<ArrayRead> reads;
  std::vector<TensorId> made;
  std::vector<ArrayVersionId> written;
  IdVector<TensorId, ArrayTensor> tensors;
  IdVector<StorageId, ArrayStorage> storages;
  IdVector<ArrayVersionId, ArrayVersion> versions;
  IdVector<CollectiveId, ArrayCollective> collectives;
  std::vector<OpId> members;
  std::vector<std::pair<OpId, OpId>> after;  // the second does not begin before the first has ended

  std::span<const ArrayRead> ReadsOf(const ArrayOp& op) const { return Row(reads, op.reads); }
  std::span<const TensorId> MadeBy(const ArrayOp& op) const { return Row(made, op.made); }
  std::span<const ArrayVersionId> WrittenBy(const ArrayOp& op) const {
    return Row(written, op.written);
  }
  std::span<const OpId> MembersOf(const ArrayCollective& collective) const {
    return Row(members, collective.members);
  }
  void Clear();

 private:
  template <class Item>
  static std::span<const Item> Row(const std::vector<Item>& items, ArrayRow row) {
    return {items.data() + row.begin, static_cast<size_t>(row.end - row.begin)};
  }
};

// The step into `arrays`, whose memory is used again; prices of new parts are found. Layouts are not checked.
// Of the options, fusion and gradients made apart are not looked at. Errors: those of Compile, of the
// instances; of PartPrices::PriceNew.
Status WriteArrays(const Graph& graph, const NamedAxes& axes, const Layouts& layouts,
                   const CompileOptions& options, PartPrices& prices, StepArrays& arrays);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_STEP_ARRAYS_H_
