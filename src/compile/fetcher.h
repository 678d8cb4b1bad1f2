// Brings tensors to instances in the state that these need (internal to the module). What is fetched once
// is used again: by (tensor, version, what is needed, device).
#ifndef PLACEWRIGHT_COMPILE_FETCHER_H_
#define PLACEWRIGHT_COMPILE_FETCHER_H_

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compile/emitter.h"
#include "compile/tensor_state.h"

namespace placewright {

class Fetcher {
 public:
  // `graph` is the original.
  Fetcher(const Graph& graph, Emitter& emitter, bool collectives, bool broadcasts)
      : graph_(graph),
        emitter_(emitter),
        collectives_(collectives),
        broadcasts_(collectives && broadcasts),
        states_(graph.tensor_count()),
        known_(graph.tensor_count()) {}

  bool collectives() const { return collectives_; }
  TensorState& state(TensorId id) { return states_[id]; }
  // The storage has been written through views of fetched copies: its own pieces are out of date.
  void SetStale(StorageId id) { stale_.insert(id); }
  bool IsStale(StorageId id) const { return stale_.contains(id); }

  // The tensor as the original reads it at `version`, whole, on a device.
  Result<TensorId> Whole(TensorId id, int32_t version, DeviceId device);
  // An interval of it.
  Result<TensorId> Part(TensorId id, int32_t version, const AxisPlace& place, Interval interval,
                        DeviceId device);
  // Several devices are about to fetch all of it: where they are those that have its pieces, one
  // collective serves them.
  Status PrepareWhole(TensorId id, int32_t version, const std::vector<DeviceId>& devices);
  // The same of intervals of a sum, one for each device.
  Status PreparePart(TensorId id, int32_t version, const AxisPlace& place,
                     const std::map<DeviceId, Interval>& intervals);
  // The same of what one device has: where two or more others want it, they get copies. Of a view that shows
  // all of what it views they get that, and views of their own: what one storage holds crosses once.
  Status PrepareCopies(TensorId id, int32_t version, const std::vector<DeviceId>& devices);
  // The tensor is read at that version as the sum of its pieces.
  bool IsPartial(TensorId id, int32_t version) const;

 private:
  // A part of a tensor on a device, or all of it: its place is then none.
  struct Fetched {
    int32_t version;
    DeviceId device;
    AxisPlace place;
    Interval interval;
    TensorId made;
  };
  // What is known of a tensor beside its state.
  struct Known {
    std::vector<std::pair<int32_t, TensorState>> completed;  // by version: completed, gathered
    std::vector<Fetched> fetched;
    DeviceId first_reader;  // of an input as a whole
  };

  const TensorState& StateAt(TensorId id, int32_t version) const;
  void SetCompleted(TensorId id, int32_t version, TensorState state);
  // Invalid where it was not fetched.
  TensorId FindFetched(TensorId id, int32_t version, DeviceId device, const AxisPlace& place,
                       Interval interval) const;
  bool IsInput(TensorId id) const;
  bool IsOfInput(TensorId id) const;
  std::vector<DeviceId> WithoutCopies(TensorId id, int32_t version,
                                      const std::vector<DeviceId>& devices) const;
  TensorId ViewedBy(TensorId id, int32_t version) const;
  Status AddViews(TensorId id, int32_t version, TensorId base);
  Result<TensorId> WholeInput(TensorId id, DeviceId device);
  Result<TensorId> MakeWhole(const TensorState& state, DeviceId device);
  Result<TensorId> MakePart(TensorId id, const TensorState& state, const AxisPlace& place,
                            Interval interval, DeviceId device);

  const Graph& graph_;
  Emitter& emitter_;
  const bool collectives_, broadcasts_;
  IdVector<TensorId, TensorState> states_;
  IdVector<TensorId, Known> known_;
  std::set<StorageId> stale_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_FETCHER_H_
