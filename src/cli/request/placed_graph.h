// A graph whose placement is given by hand, as if it were a plan.
#ifndef PLACEWRIGHT_CLI_REQUEST_PLACED_GRAPH_H_
#define PLACEWRIGHT_CLI_REQUEST_PLACED_GRAPH_H_

#include <string>

#include "base/result.h"
#include "cli/request/inputs.h"
#include "cli/terminal/options.h"
#include "formats/plan/plan_files.h"

namespace placewright {

// What a file of --placement states for a graph.
struct FilePlacement {
  NamedPlacement named;
  Placement placement;
  Sequences sequences;
};
// Of a map, a split or a plan. Errors: those of LoadPlacement, ResolvePlacement and ResolveSequences; kPlanMismatch (a plan of
// other inputs), kUsage (one that splits or copies ops).
Result<FilePlacement> LoadFilePlacement(const std::string& path, const InputOptions& input,
                                        const Inputs& inputs);

// `placement`: a JSON map from op to device, perhaps with sequences, or a plan. The plan is made of what is simulated; it has no
// bound, no document and no schedule. Errors: those of LoadInputs and LoadFilePlacement, kPlanInvalid.
Result<PlanInputs> LoadPlacedGraph(const InputOptions& input, const std::string& placement);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_PLACED_GRAPH_H_
