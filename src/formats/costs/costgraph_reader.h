// The cost graph: devices, links, tensors and ops with given times, in one JSON file
// (schema "placewright.costgraph/1" and "/2"; docs/formats/costgraph.md).
#ifndef PLACEWRIGHT_FORMATS_COSTS_COSTGRAPH_READER_H_
#define PLACEWRIGHT_FORMATS_COSTS_COSTGRAPH_READER_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "formats/text/json.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/sequence.h"

namespace placewright {

struct CostGraph {
  Graph graph;
  Cluster cluster;
  CostTable costs;
  std::optional<NamedPlacement> placement;
  NamedSequences sequences{};  // of the placement
};

// Ids of devices, links, tensors (and storages) and ops are positions in the file's lists. Times
// are `given`; an op that no device supports is accepted here and infeasible later. Fields that the
// format does not know are refused, except at the top, where they are skipped unless they look like
// a misspelt one. Errors name their place ("ops[12].inputs[0]"): kField, kDuplicateName,
// kUnknownName, kClusterInvalid (routes), kGraphCycle. A placement may be
// incomplete, but names only what is there.
Result<CostGraph> ReadCostGraph(const Json& document);
// The same of a file's text, of whose tensors and ops none are kept as JSON. Errors: those of ParseJson, too.
Result<CostGraph> ReadCostGraphText(std::string_view text);

// {device: [op, ...], ...} at `place`. Errors: kField.
Result<NamedSequences> SequencesFromJson(const Json& object, const std::string& place);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_COSTS_COSTGRAPH_READER_H_
