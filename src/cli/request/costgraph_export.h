// Plans as cost graphs, so that they can be simulated by other programs
// (docs/formats/costgraph.md).
#ifndef PLACEWRIGHT_CLI_REQUEST_COSTGRAPH_EXPORT_H_
#define PLACEWRIGHT_CLI_REQUEST_COSTGRAPH_EXPORT_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "base/text_sink.h"
#include "formats/plan/plan_files.h"
#include "plan/placement.h"

namespace placewright {

// The plan's step, placed or distributed, with its placement and sequences and what the simulator
// says of the file (`expected`). A device has the memory that workspace and runtime context leave
// to tensors. `notes`: what the form says otherwise, and by how much step time and tensor peaks
// then differ from the plan's. Errors: kNotExpressible where readers of the form would not take
// that many times; those of CheckPlacementLegal; the sink's.
Status WriteCostGraphPlan(const PlanInputs& plan, const Placement& placement, const TextSink& sink,
                          std::vector<std::string>* notes);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_COSTGRAPH_EXPORT_H_
