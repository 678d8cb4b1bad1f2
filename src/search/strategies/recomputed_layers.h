// Which layers are computed again where some must be, but not all: as few as fit, found by LayerProgram.
#ifndef PLACEWRIGHT_SEARCH_STRATEGIES_RECOMPUTED_LAYERS_H_
#define PLACEWRIGHT_SEARCH_STRATEGIES_RECOMPUTED_LAYERS_H_

#include <optional>
#include <string>
#include <vector>

#include "search/strategies/step_table.h"
#include "search/strategies/strategy_space.h"

namespace placewright {

// Of a step whose layers are kept, and whose layers are computed again: what each layer is of their difference.
class RecomputedLayers {
 public:
  // A chunk is a layer, in the order of `names` (LayersOf).
  RecomputedLayers(std::vector<std::string> names, const ChunkTable& kept, const ChunkTable& again);

  // What lies between two estimates of a strategy, with all layers kept and with all computed again: the fastest of those
  // that take `share` of the memory, its time and memory in proportion to what its layers are of the whole. None: all fit,
  // or only all computed again do.
  std::optional<StrategyEstimate> Choose(const StrategyEstimate& kept,
                                         const StrategyEstimate& again, double share) const;

 private:
  struct Weight {
    double time = 0, memory = 0;  // of what recomputation costs and saves, as shares
  };
  const std::vector<std::string> names_;
  std::vector<Weight> weights_;
};

// "layers.[0-9]", "layers.1[0-6]" for "layers.0" to "layers.16"; ascending.
std::vector<std::string> GlobsOfLayers(const std::vector<std::string>& names);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_STRATEGIES_RECOMPUTED_LAYERS_H_
