// `validate --suite`: which models, and whose placements of them, are executed.
#ifndef PLACEWRIGHT_CLI_REQUEST_VALIDATION_SUITE_H_
#define PLACEWRIGHT_CLI_REQUEST_VALIDATION_SUITE_H_

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/terminal/console.h"
#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "graph/graph.h"
#include "plan/placement.h"

namespace placewright {

// Graphs as LoadGraphOrModel takes them, each with a batch; no batch: its own.
std::vector<std::pair<std::string, std::optional<int64_t>>> SuiteModels();

struct SuitePlacement {
  std::string plan;  // "annealing (seed 1, 3000 moves)"
  Placement placement;
};
// Placements of the graph that fit, each once, by planners from constructive to searching. Errors: those
// of PreparedProblem and of the planners.
Result<std::vector<SuitePlacement>> PlanSuite(const Graph& graph, const Cluster& cluster,
                                              const CostTable& costs,
                                              const std::atomic<bool>& interrupted,
                                              Console& console);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_VALIDATION_SUITE_H_
