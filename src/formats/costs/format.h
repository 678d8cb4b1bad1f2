// The cost graph as a graph format.
#ifndef PLACEWRIGHT_FORMATS_COSTS_FORMAT_H_
#define PLACEWRIGHT_FORMATS_COSTS_FORMAT_H_

#include "formats/costs/costgraph_reader.h"
#include "formats/graph_format.h"

namespace placewright {

extern const GraphFormat kCostGraphFormat;

// A graph with devices, times and perhaps a placement, as these files have them.
void TakeCostGraph(CostGraph cost_graph, LoadedGraph* loaded);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_COSTS_FORMAT_H_
