// Brings tensors to instances in the state that these need (internal to the module). What is fetched once
// is used again: by (tensor, version, what is needed, device).
#ifndef PLACEWRIGHT_COMPILE_FETCHER_H_
#define PLACEWRIGHT_COMPILE_FETCHER_H_

#include <span>
#include <utility>
#include <vector>

#include "compile/emitter.h"
#include "compile/fetch_store.h"
#include "compile/op_split.h"
#include "compile/tensor_state.h"
#include "plan/layout.h"
#include "plan/step_switches.h"
#include "sharding/named_axes.h"

namespace placewright {

class Fetcher {
 public:
  // `graph` is the original.
  Fetcher(const Graph& graph, const NamedAxes& axes, Emitter& emitter, FetchStore& store,
          bool collectives, const StepSwitches& switches)
      : graph_(graph),
        axes_(axes),
        emitter_(emitter),
        store_(store),
        collectives_(collectives),
        broadcasts_(collectives && switches.broadcasts),
        gathers_views_(!switches.regather.empty() || switches.prefetch) {}

  bool collectives() const { return collectives_; }
  const TensorState& state(TensorId id) { return store_.state(id); }
  TensorState& MutableState(TensorId id) { return store_.MutableState(id); }
  void SetStale(StorageId id) { store_.SetStale(id); }
  bool IsStale(StorageId id) const { return store_.IsStale(id); }

  // The tensor as the original reads it at `version`, whole, on a device.
  TensorId Whole(TensorId id, int32_t version, DeviceId device);
  // A part of it.
  TensorId Part(TensorId id, int32_t version, const TensorBox& box, DeviceId device);
  // What each of the devices has of it already, where that is the part that Part would give it: by device, or nothing
  // where they are not all there or there may be others. Valid until more is fetched of the tensor.
  const std::vector<TensorId>* PartsThere(TensorId id, int32_t version,
                                          const std::vector<DeviceId>& devices,
                                          const PieceBoxes& boxes);
  // These devices are about to fetch these parts of it: where they are those that have its pieces, collectives bring
  // them there; where none of them has one, the parts of a sum are added up by those that have them.
  void Prepare(TensorId id, int32_t version, const std::vector<DeviceId>& devices,
               const PieceBoxes& boxes);
  // All of what one device has is about to be fetched: two or more others get copies, and of a parameter that waits
  // for when it is wanted one, too. Of a view that shows all of what it views they get that, and views of their own:
  // what one storage holds crosses once.
  void PrepareCopies(TensorId id, int32_t version, const std::vector<DeviceId>& devices);
  // The tensor is read at that version as the sum of its pieces.
  bool IsPartial(TensorId id, int32_t version);

 private:
  void Add(TensorId id, FetchedPart part);
  static bool HasItself(const TensorState& own, const TensorBox& box, DeviceId device);
  void CompleteWhereItIs(TensorId id, int32_t version);
  bool IsInput(TensorId id) const;
  bool IsOfInput(TensorId id) const;
  bool IsFetchedByOps(TensorId id) const;
  std::vector<DeviceId> WithoutCopies(TensorId id, int32_t version,
                                      const std::vector<DeviceId>& devices);
  bool PrepareAsView(TensorId id, int32_t version, const std::vector<DeviceId>& devices,
                     const PieceBoxes& boxes);
  static bool SplitByAll(const Layout& layout, OpSplit& split);
  TensorId ViewedBy(TensorId id, int32_t version);
  void AddViews(TensorId id, int32_t version, TensorId base);
  TensorId WholeInput(TensorId id, DeviceId device);
  size_t NextInTurn(std::span<const size_t> nearest, const TensorState& state,
                    DeviceId device) const;
  size_t NearestWith(const TensorState& state, const TensorBox& box, DeviceId device,
                     Bytes bytes) const;
  Nanos ArrivalOf(const Piece& piece, DeviceId device, Bytes bytes) const;
  Bytes BytesOf(TensorId id, const TensorBox& box) const;
  TensorId MakePart(TensorId id, const TensorState& state, const TensorBox& box, DeviceId device);
  TensorId Assemble(TensorId id, const TensorState& state, const TensorBox& box, DeviceId device);
  TensorId AddUp(TensorId id, const TensorState& state, const TensorBox& box, DeviceId device);

  const Graph& graph_;
  const NamedAxes& axes_;
  Emitter& emitter_;
  FetchStore& store_;
  const bool collectives_, broadcasts_;
  const bool gathers_views_;  // of what they view, not each by itself
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_FETCHER_H_
