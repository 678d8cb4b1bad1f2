#include "compile/step_costs.h"

#include <utility>

#include "cost/communication.h"

namespace placewright {

Result<CostTable> CostsOfStep(const DistributedStep& step, const Graph& original,
                              const Communication& communication, const CostOptions& options,
                              CostModelReport* report) {
  IdVector<OpId, const Op*> originals;
  for (const OpId op : step.graph.ops()) {
    const OpId origin = step.origin[op];
    originals.push_back(origin.valid() ? &original.op(origin) : nullptr);
  }
  CostOptions of_step = options;
  of_step.devices = &step.placement;
  of_step.originals = &originals;
  PW_ASSIGN(CostTable costs, ModelCosts(step.graph, communication.cluster(), of_step, report));
  PW_ASSIGN(auto collectives, CollectiveCosts(step.graph, step.placement, communication));
  costs.SetCollectives(std::move(collectives));
  costs.SetCompiled();
  return costs;
}

}  // namespace placewright
