// The layers of a model, as people count them: what is checkpointed, gathered or put on a stage at a time.
#ifndef PLACEWRIGHT_TRANSFORMS_LAYERS_H_
#define PLACEWRIGHT_TRANSFORMS_LAYERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace placewright {

struct StepLayers {
  std::vector<std::string> names;         // paths, in the order of their first forward ops
  IdVector<ModuleId, int32_t> of_module;  // a layer, or -1
};

// Modules of a list, one of which has modules of its own ("layers.0", "layers.1"); of nested lists the outermost. Where
// there are none, modules that numbers at their ends distinguish. O(ops log modules).
StepLayers LayersOf(const Graph& step);

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_LAYERS_H_
