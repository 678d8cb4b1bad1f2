// In which order a step's ops stand when some of its collectives have become one (internal to rewrites/).
#ifndef PLACEWRIGHT_COMPILE_REWRITES_UNIT_ORDER_H_
#define PLACEWRIGHT_COMPILE_REWRITES_UNIT_ORDER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compile/step_arrays.h"

namespace placewright {

// Collectives that become one.
struct CollectiveUnit {
  std::vector<CollectiveId> of;
  bool gathers = false;  // it stands where the first of them stood, else where the last did
  // Of sums: what reads them stands behind the next sums that have another number. -1: it does not wait for these.
  int32_t turn = -1;
};

// Whether the op, and all that it waits for, reads nothing but inputs of the step as they are before it, so that it may
// stand anywhere before.
bool MayStandEarlier(const StepArrays& arrays, OpId op);

class UnitOrder {
 public:
  // Both must outlive it.
  UnitOrder(const StepArrays& arrays, std::span<const CollectiveUnit> units);

  // The ops of the step with the members of each unit's first collective in the place of all. Each stands behind what it
  // waits for, and the members of every collective behind what all of these wait for. None: FailedUnit() waits for itself.
  std::optional<std::vector<OpId>> Order();
  size_t FailedUnit() const { return failed_; }

 private:
  bool PlaceGathers(size_t unit);
  bool VisitSum(OpId member, size_t unit);
  void PlaceMembers(size_t unit);
  void PlaceWithMakers(OpId op);
  void Visit(OpId op);
  bool Waits(OpId op) const;
  bool WaitsAlone(OpId op) const;
  void Defer(OpId op);
  void Hold(OpId op);
  void HoldSums(size_t unit);
  void Release();

  const StepArrays& arrays_;
  const std::span<const CollectiveUnit> units_;
  IdVector<OpId, int32_t> unit_of_;        // or -1
  std::vector<std::vector<OpId>> before_;  // by op: those behind which it is to stand
  IdVector<OpId, char> placed_;
  IdVector<OpId, char> deferred_;
  std::vector<OpId> waiting_;            // deferred, in their order
  std::vector<std::vector<OpId>> open_;  // of units of sums: the members that were met
  IdVector<StorageId, char> read_later_, written_later_;  // by what is deferred or open
  std::vector<StorageId> held_;                           // those of which either is so
  std::vector<size_t> in_turn_;  // placed units whose readers wait for other sums
  std::vector<OpId> order_;
  size_t failed_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_UNIT_ORDER_H_
