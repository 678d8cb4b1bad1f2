// Costs of a graph whose ops are instances of others', each on one device: of a compiled step, or of parts alone
// (compile/step_costs.h, compile/part_prices.h).
#ifndef PLACEWRIGHT_COST_INSTANCE_COSTS_H_
#define PLACEWRIGHT_COST_INSTANCE_COSTS_H_

#include "cost/cost_model.h"

namespace placewright {

// By op of the graph.
struct StepInstances {
  IdVector<OpId, DeviceId> devices;  // where each is; its times elsewhere stay unsupported
  // By which names and types overrides know the ops: those of the ops that they are instances of. Empty, or
  // nullptr: their own. Must outlive the call, as `wholes`.
  IdVector<OpId, const Op*> originals;
  IdVector<OpId, double> slower;  // by what each op's modelled time is multiplied; empty: 1
  // Which ops have the costs of another one, with tensors of the same graph: that of which they compute some
  // results. Empty, or nullptr: their own.
  IdVector<OpId, const Op*> wholes;
  // Of the options' rows and the cluster, where many graphs are priced; nullptr: it is made for the call.
  const MeasuredIndex* measured = nullptr;
};

// As ModelCosts.
Result<CostTable> ModelInstanceCosts(const Graph& graph, const Cluster& cluster,
                                     const CostOptions& options, const StepInstances& instances,
                                     CostModelReport* report = nullptr);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_INSTANCE_COSTS_H_
