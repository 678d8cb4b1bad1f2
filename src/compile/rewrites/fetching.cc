#include "compile/rewrites/fetching.h"

#include "compile/rewrites/flat_copies.h"
#include "compile/rewrites/prefetch.h"
#include "compile/rewrites/unit_collectives.h"

namespace placewright {

void PassOverFetching(const StepSwitches& switches, const Graph& original, const PartPrices& prices,
                      ArrayWriter& writer, ArrayChanges& changes) {
  if (switches.unit_collectives) JoinUnits(original, prices, writer, changes);
  if (!switches.prefetch) return;
  DelayFetches(*switches.prefetch, original, writer, changes);
  CopyFlatBuffers(original, writer, changes);
}

}  // namespace placewright
