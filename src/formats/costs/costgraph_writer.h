// A cost graph as a file: of version 1 where that says everything, else of version 2.
#ifndef PLACEWRIGHT_FORMATS_COSTS_COSTGRAPH_WRITER_H_
#define PLACEWRIGHT_FORMATS_COSTS_COSTGRAPH_WRITER_H_

#include "formats/costs/costgraph_reader.h"

namespace placewright {

// Exact for what ReadCostGraph gave.
Json CostGraphToJson(const CostGraph& cost_graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_COSTS_COSTGRAPH_WRITER_H_
