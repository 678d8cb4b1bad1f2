#include "cli/request/validation_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "planning/algorithms.h"
#include "planning/prepared_problem.h"
#include "search/evaluation/group_placement.h"
#include "search/planner.h"

namespace placewright {
namespace {

// Models whose steps take a CPU well below a second or two, at these batches.
struct SuiteModel {
  std::string_view model;
  int64_t batch;
};
constexpr std::array kSuite = {SuiteModel{"inception-v3", 1}, SuiteModel{"bert-small", 2},
                               SuiteModel{"resnet-50", 1}, SuiteModel{"transformer", 2}};

// Who places, from which seed, by how many moves.
struct SuitePlanner {
  std::string_view name;
  uint64_t seed = 0;
  int64_t iterations = 0;
};
constexpr std::array kPlanners = {SuitePlanner{"single"},
                                  SuitePlanner{"layered"},
                                  SuitePlanner{"metis"},
                                  SuitePlanner{"scotch"},
                                  SuitePlanner{"m-topo"},
                                  SuitePlanner{"m-etf"},
                                  SuitePlanner{"heft"},
                                  SuitePlanner{"random", 0},
                                  SuitePlanner{"random", 1},
                                  SuitePlanner{"annealing", 0, 300},
                                  SuitePlanner{"annealing", 1, 3000},
                                  SuitePlanner{"auto", 0, 10000}};

std::string NameOf(const SuitePlanner& by) {
  if (by.iterations > 0) {
    return fmt::format("{} (seed {}, {} moves)", by.name, by.seed, by.iterations);
  }
  return by.name == "random" ? fmt::format("{} (seed {})", by.name, by.seed) : std::string(by.name);
}

}  // namespace

std::vector<std::pair<std::string, std::optional<int64_t>>> SuiteModels() {
  std::vector<std::pair<std::string, std::optional<int64_t>>> models;
  for (const SuiteModel& model : kSuite) models.emplace_back(model.model, model.batch);
  return models;
}

Result<std::vector<SuitePlacement>> PlanSuite(const Graph& graph, const Cluster& cluster,
                                              const CostTable& costs,
                                              const std::atomic<bool>& interrupted,
                                              Console& console) {
  PW_ASSIGN(const auto prepared, PreparedProblem::Prepare(graph, cluster, costs, {}));
  const Algorithms algorithms;
  std::vector<SuitePlacement> suite;
  for (const SuitePlanner& by : kPlanners) {
    if (interrupted) break;
    console.Progress(fmt::format("{}: {}", graph.name(), by.name));
    PW_ASSIGN(const Planner* planner, algorithms.Find(by.name));
    PlannerOptions options;
    options.seed = by.seed;
    options.budget.iterations = by.iterations;
    options.started = Clock::now();
    PW_ASSIGN(PlannerResult result,
              planner->Plan(prepared->problem(), prepared->evaluator(), options));
    Placement placement = PlacementOf(prepared->problem(), result.plan);
    const bool known = std::any_of(suite.begin(), suite.end(), [&](const SuitePlacement& one) {
      return one.placement == placement;
    });
    if (result.feasible && !known) suite.push_back({NameOf(by), std::move(placement)});
  }
  return suite;
}

}  // namespace placewright
