// A cost graph as JSON again, for tests.
#ifndef PLACEWRIGHT_FORMATS_COSTS_COSTGRAPH_FORM_H_
#define PLACEWRIGHT_FORMATS_COSTS_COSTGRAPH_FORM_H_

#include "formats/costs/costgraph_reader.h"

namespace placewright {

// Exact for what ReadCostGraph gave.
Json CostGraphForm(const CostGraph& cost_graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_COSTS_COSTGRAPH_FORM_H_
