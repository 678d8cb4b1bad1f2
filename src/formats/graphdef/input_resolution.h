// Which node reads what: names of inputs resolved, an order in which the nodes can run.
#ifndef PLACEWRIGHT_FORMATS_GRAPHDEF_INPUT_RESOLUTION_H_
#define PLACEWRIGHT_FORMATS_GRAPHDEF_INPUT_RESOLUTION_H_

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "formats/graphdef/records.h"

namespace placewright::graphdef {

struct Source {
  size_t node = 0;
  size_t output = 0;
};

struct ResolvedInputs {
  std::vector<std::vector<Source>> data;     // by node: its data inputs, in order
  std::vector<std::vector<size_t>> control;  // by node: nodes that it comes after
  std::vector<size_t> outputs;               // by node: how many it has
  std::vector<size_t> order;                 // topological, the smallest ready index first
  size_t control_edges = 0;
  std::vector<size_t> loops;  // Merge nodes, one a loop variable, whose way back was left out
  std::unordered_map<std::string_view, size_t> by_name;  // only looked up, never walked
};

// A loop's way back, from NextIteration to Merge, is left out: the graph then has one round of the
// loop and no cycle. Errors: kDuplicateName, kUnknownName (an input that names no node, or an
// output that its node does not list), kField, kGraphCycle (other cycles, naming their nodes).
Result<ResolvedInputs> ResolveInputs(const std::vector<Node>& nodes);

}  // namespace placewright::graphdef

#endif  // PLACEWRIGHT_FORMATS_GRAPHDEF_INPUT_RESOLUTION_H_
