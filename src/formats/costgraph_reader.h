// The cost graph: devices, links, tensors and ops with given times, in one JSON file
// (schema "placewright.costgraph/1"; docs/formats/costgraph.md).
#ifndef PLACEWRIGHT_FORMATS_COSTGRAPH_READER_H_
#define PLACEWRIGHT_FORMATS_COSTGRAPH_READER_H_

#include <optional>
#include <string>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "formats/json.h"
#include "graph/graph.h"
#include "plan/placement.h"

namespace placewright {

struct CostGraph {
  Graph graph;
  Cluster cluster;
  CostTable costs;
  std::optional<NamedPlacement> placement;
};

Result<CostGraph> ReadCostGraph(const Json& document);
// Graph, cluster and costs as a cost graph: the transport form of any problem without storages'
// finer points; exact for graphs that came from a cost graph.
Json WriteCostGraph(const CostGraph& cost_graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_COSTGRAPH_READER_H_
