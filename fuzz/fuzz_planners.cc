// A small cost graph on a few devices, both decoded from the bytes, for every planner of the table
// with a few moves each. Every plan is legal, as fast and as large as the simulator says, no better
// than the bound and what was proven, and holds before the independent checker.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "formats/costs/costgraph_reader.h"
#include "formats/costs/format.h"
#include "search/evaluation/plan_result.h"
#include "search/evaluation/simulated.h"
#include "search/planner.h"
#include "search/planner_table.h"
#include "search/proof/bound.h"
#include "search/proof/infeasibility.h"
#include "search/proof/routes.h"
#include "sim/placement_check.h"
#include "sim/saturation_check.h"
#include "sim/simulator.h"
#include "simulated_plan.h"

namespace placewright {
namespace {

constexpr int64_t kMoves = 12;

void Require(bool holds, std::string_view planner, std::string_view what,
             std::string_view detail = "") {
  if (holds) return;
  fprintf(stderr, "broken: %.*s: %.*s %.*s\n", static_cast<int>(planner.size()), planner.data(),
          static_cast<int>(what.size()), what.data(), static_cast<int>(detail.size()),
          detail.data());
  std::abort();
}

// Zeros behind the end.
class Source {
 public:
  Source(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  size_t Below(size_t bound) {
    if (left_ == 0) return 0;
    --left_;
    return *data_++ % bound;
  }
  int64_t OneOf(const std::vector<int64_t>& values) { return values[Below(values.size())]; }

 private:
  const uint8_t* data_;
  size_t left_;
};

std::string Named(const char* prefix, size_t i) { return prefix + std::to_string(i); }

void AddDevices(Source& source, size_t devices, Json& file) {
  const std::vector<int64_t> memories = {kMaxQuantity, 0, 512, 2048, 8192, 1 << 16, 1 << 30};
  for (size_t i = 0; i < devices; ++i) {
    file["devices"].push_back({{"name", Named("d", i)}, {"memory_bytes", source.OneOf(memories)}});
  }
  file["links"] = file["routes"] = Json::array();
  for (size_t from = 0; from < devices; ++from) {
    for (size_t to = 0; to < devices; ++to) {
      const size_t way = from == to ? 0 : source.Below(8);
      if (from == to || way == 7) continue;      // no route
      if (way >= 5 && !file["links"].empty()) {  // one that another pair has, too
        const Json& link = file["links"][source.Below(file["links"].size())];
        file["routes"].push_back({{"from", Named("d", from)},
                                  {"to", Named("d", to)},
                                  {"links", Json::array({link["name"]})}});
        continue;
      }
      const std::string name = Named("d", from) + ">" + Named("d", to);
      file["links"].push_back(
          {{"name", name},
           {"bandwidth", source.OneOf({1'000'000'000, 1, 1000, 12'000'000'000, kMaxQuantity})},
           {"latency_ns", source.OneOf({0, 1, 3000, 1'000'000'000, kMaxQuantity})}});
      file["routes"].push_back(
          {{"from", Named("d", from)}, {"to", Named("d", to)}, {"links", Json::array({name})}});
    }
  }
}

void AddOps(Source& source, size_t devices, size_t ops, Json& file) {
  const std::vector<int64_t> sizes = {512, 0, 1, 1000, 4096, 1 << 20, int64_t{1} << 40};
  const std::vector<int64_t> times = {1000, 0, 1, 7, 50'000, 1'000'000'000, kMaxQuantity};
  std::vector<std::string> tensors;
  const auto add_tensor = [&](Json tensor) {
    tensors.push_back(tensor["name"]);
    file["tensors"].push_back(std::move(tensor));
  };
  file["tensors"] = Json::array();
  for (size_t i = source.Below(5); i-- > 0;) {
    const bool parameter = source.Below(2) == 0;
    const std::string name = Named("w", i);
    add_tensor({{"name", name},
                {"bytes", source.OneOf(sizes)},
                {"kind", parameter ? "parameter" : "input"}});
    if (parameter && source.Below(4) == 0) {
      file["homes"][name] = Named("d", source.Below(devices));
    }
  }
  for (size_t i = 0; i < ops; ++i) {
    Json op = {{"name", Named("op", i)}, {"inputs", Json::array()}, {"outputs", Json::array()}};
    for (size_t d = 0; d < devices; ++d) {
      const bool runs = source.Below(10) != 9;
      op["time_ns"].push_back(runs ? Json(source.OneOf(times)) : Json(nullptr));
    }
    for (size_t k = source.Below(4); k-- > 0 && !tensors.empty();) {
      op["inputs"].push_back(tensors[tensors.size() - 1 - source.Below(tensors.size())]);
    }
    for (size_t k = source.Below(3); k-- > 0;) {
      const std::string name = Named("op", i) + ":" + std::to_string(k);
      add_tensor({{"name", name}, {"bytes", source.OneOf(sizes)}});
      op["outputs"].push_back(name);
    }
    file["ops"].push_back(std::move(op));
  }
}

Constraints ConstraintsOf(Source& source, size_t devices, size_t ops) {
  Constraints constraints;
  const auto op = [&] { return Named("op", source.Below(ops)); };
  const auto device = [&] { return Named("d", source.Below(devices)); };
  if (source.Below(4) == 3) constraints.pins.push_back({op(), device()});
  if (source.Below(4) == 3) constraints.forbids.push_back({op(), device()});
  if (source.Below(4) == 3) constraints.colocate.push_back("op1*");
  return constraints;
}

class Judge {
 public:
  Judge(LoadedGraph& graph, const Cluster& cluster, const CostTable& costs, const Problem& problem)
      : graph_(graph),
        cluster_(cluster),
        costs_(costs),
        problem_(problem),
        evaluator_(MakeSimulatedEvaluator(problem)),
        bound_(LowerBound(problem).value),
        proven_infeasible_(
            !CheckNotProvenDisconnected(problem).ok() ||
            !CheckNotProvenInfeasible(problem, *evaluator_, ConstructivePlans(table_)).ok()) {}

  const PlannerTable& table() const { return table_; }

  void Try(const Planner& planner, uint64_t seed) {
    PlannerOptions options;
    options.budget.iterations = kMoves;
    options.seed = seed;
    options.started = Clock::now();
    const auto result = planner.Plan(problem_, *evaluator_, options);
    if (!result.ok()) {
      Require(result.error().code == ErrorCode::kUnreachable, planner.name(), "an error",
              result.error().ToString());
      return;
    }
    Look(planner.name(), result.value());
    if (seed % 4 != 0) return;
    options.threads = 2;
    const auto again = planner.Plan(problem_, *evaluator_, options);
    Require(again.ok() && again.value().placement == result.value().placement, planner.name(),
            "two threads, another plan");
  }

 private:
  void Look(std::string_view name, const PlannerResult& result) {
    Require(result.placement.size() == graph_.graph.op_count(), name, "an op has no device");
    for (const ColocationGroup& group : problem_.groups) {
      for (const OpId op : group.ops) {
        const auto& allowed = group.allowed;
        Require(std::find(allowed.begin(), allowed.end(), result.placement[op]) != allowed.end(),
                name, "a device that is not allowed");
      }
    }
    const Status legal =
        CheckPlacementLegal(problem_.sim_graph, graph_.graph, cluster_, result.placement);
    Require(legal.ok(), name, "illegal", legal.ok() ? "" : legal.error().ToString());
    Simulator simulator(problem_.sim_graph);
    const SimResult& step = simulator.Run(result.placement, {problem_.policy, true, false});
    Require(step.step_time == result.step_time, name, "another step time");
    Require(step.feasible == result.feasible, name, "fits or not");
    Require(!result.feasible || !proven_infeasible_, name, "fits, though it was proven not to");
    Require(!result.feasible || result.step_time >= bound_, name, "faster than the bound");
    if (!CheckNotSaturated(problem_.sim_graph, graph_.graph, cluster_, result.placement, step)
             .ok()) {
      return;
    }
    const std::string verdict = tests::Verdict(
        graph_, cluster_, costs_, result.placement,
        tests::Simulate(graph_.graph, cluster_, costs_, result.placement, problem_.policy));
    Require(verdict == "holds", name, "the checker says:", verdict);
  }

  LoadedGraph& graph_;
  const Cluster& cluster_;
  const CostTable& costs_;
  const Problem& problem_;
  const PlannerTable table_ = MakeSearchPlanners();
  const std::unique_ptr<Evaluator> evaluator_;
  const Nanos bound_;
  const bool proven_infeasible_;
};

Status PlanAll(Source source) {
  const size_t devices = 1 + source.Below(4), ops = 1 + source.Below(20);
  const uint64_t seed = source.Below(256);
  const SchedulingPolicy policy = kSchedulingPolicies[source.Below(kSchedulingPolicies.size())];
  const Constraints constraints = ConstraintsOf(source, devices, ops);
  Json file = {{"schema", "placewright.costgraph/1"}};
  AddDevices(source, devices, file);
  AddOps(source, devices, ops, file);
  auto read = ReadCostGraph(file);
  Require(read.ok(), "the target itself", read.ok() ? "" : read.error().ToString());
  LoadedGraph graph;
  graph.format = &kCostGraphFormat;
  graph.graph = std::move(read.value().graph);
  const Cluster cluster = std::move(read.value().cluster);
  const CostTable costs = std::move(read.value().costs);
  PW_ASSIGN(const Problem problem, BuildProblem(graph.graph, cluster, costs, constraints, policy));
  Judge judge(graph, cluster, costs, problem);
  for (const auto& planner : judge.table()) judge.Try(*planner, seed);
  if (seed % 3 == 0) judge.Try(*MakeAuto(judge.table()), seed);  // runs the whole table again
  return Ok();
}

}  // namespace
}  // namespace placewright

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)placewright::PlanAll(placewright::Source(data, size));
  return 0;
}
