// The models of the papers on the machines of the papers: every preset of the zoo that names a
// cluster, recorded, looked at on one device, and planned. One process per preset (fork), so that a
// failure and peak memory are each preset's own. Markdown, one row per preset.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/text.h"
#include "bench/bench.h"
#include "cluster/catalogue.h"
#include "cost/cost_model.h"
#include "report/graph_summary.h"
#include "search/evaluation/group_placement.h"
#include "search/evaluation/plan_result.h"
#include "search/evaluation/simulated.h"
#include "search/planner.h"
#include "search/planner_table.h"
#include "search/proof/bound.h"
#include "search/proof/infeasibility.h"
#include "torch_api/capture_service.h"
#include "torch_api/torch_library.h"

namespace placewright {
namespace {

struct Options {
  std::string models = "*", markdown = "zoo.md";
  double seconds = 10;
  BenchBudget budget;
};

struct Case {
  std::string model;  // "bert-base@mars"
  std::string cluster;
  int64_t paper_ops = 0;
};

// The presets that name machines, in the order of the zoo.
std::vector<Case> Cases(const CaptureService& service, const std::string& glob) {
  std::vector<Case> cases;
  for (const ZooModel& model : service.Zoo()) {
    for (const ZooPreset& preset : model.presets) {
      const std::string name = model.name + "@" + preset.name;
      if (preset.cluster.empty() || !GlobMatch(glob, name)) continue;
      cases.push_back({name, preset.cluster, preset.paper_ops});
    }
  }
  return cases;
}

// One device of every kind of GPU, with everything that can run there on it, the rest on its first
// allowed device: "P100-12GB yes 10.9 GiB".
Result<std::string> OneDevice(const Problem& problem, Evaluator& evaluator) {
  std::string text, last;
  for (size_t d = 0; d < problem.cluster->device_count(); ++d) {
    const DeviceId device(static_cast<int32_t>(d));
    const DeviceKind& kind = problem.cluster->kind(device);
    if (kind.device_class == DeviceClass::kCpu || kind.name == last) continue;
    last = kind.name;
    GroupPlacement devices;
    for (const ColocationGroup& group : problem.groups) {
      const bool allowed =
          std::find(group.allowed.begin(), group.allowed.end(), device) != group.allowed.end();
      devices.push_back(allowed ? device : group.allowed.front());
    }
    PW_ASSIGN(const Score score, EvaluateGroups(problem, devices, evaluator));
    if (!text.empty()) text += ", ";
    text += kind.name + (score.feasible ? " yes" : " no");
  }
  return text;
}

struct Row {
  Case what;
  GraphSummary summary;
  int64_t batch = 0;
  std::string fits;
  std::optional<OneDeviceStep> alone;
  Bound bound;
  PlannerResult plan;
  size_t gpus = 0;  // that the plan uses
};

size_t UsedGpus(const Problem& problem, const Placement& placement) {
  std::vector<bool> used(problem.cluster->device_count());
  for (const OpId op : problem.graph->ops()) {
    if (!problem.graph->op(op).is_view) used[placement[op].index()] = true;
  }
  size_t gpus = 0;
  for (size_t d = 0; d < used.size(); ++d) {
    const DeviceKind& kind = problem.cluster->kind(DeviceId(static_cast<int32_t>(d)));
    gpus += used[d] && kind.device_class != DeviceClass::kCpu;
  }
  return gpus;
}

Result<Row> RunCase(const CaptureService& service, const Case& what, const Options& options) {
  CaptureRequest request;
  request.model = what.model;
  PW_ASSIGN(const Capture capture, service.CaptureModel(request));
  const Graph& graph = capture.graph;
  PW_ASSIGN(Cluster cluster, MakePreset(what.cluster));
  PW_RETURN_IF_ERROR(ApplyMemoryReserve(std::nullopt, &cluster));
  PW_ASSIGN(const CostTable costs, ModelCosts(graph, cluster, {}));
  PW_ASSIGN(const Problem problem,
            BuildProblem(graph, cluster, costs, {}, SchedulingPolicy::kFifo));
  const PlannerTable table = MakeSearchPlanners();
  const std::unique_ptr<Evaluator> evaluator =
      MakeSimulatedEvaluator(problem, options.budget.threads);
  PW_RETURN_IF_ERROR(CheckNotProvenInfeasible(problem, *evaluator, ConstructivePlans(table)));
  Row row{what,
          Summarise(graph),
          graph.batch(),
          "",
          SimulateOnOneDevice(graph, nullptr),
          LowerBound(problem),
          {},
          0};
  PW_ASSIGN(row.fits, OneDevice(problem, *evaluator));
  PW_ASSIGN(row.plan, MakeAuto(table)->Plan(problem, *evaluator,
                                            PlanningOptions(options.budget, options.seconds)));
  row.gpus = UsedGpus(problem, PlacementOf(problem, row.plan.plan));
  return row;
}

double Milliseconds(Nanos time) { return static_cast<double>(time.count) / 1e6; }

void Print(std::FILE* file, const Row& row) {
  const double step = Milliseconds(row.plan.step_time), bound = Milliseconds(row.bound.value);
  std::fprintf(
      file, "| %s | %lld | %s | %s | %s | %s | %s | %s | %.1f%s | %s | %zu | %.1f %s | %.1f%% |\n",
      row.what.model.c_str(), static_cast<long long>(row.batch),
      FormatCount(row.summary.ops).c_str(),
      row.what.paper_ops == 0 ? "-" : FormatCount(row.what.paper_ops).c_str(),
      FormatCount(row.summary.parameters).c_str(),
      row.alone ? FormatBytes(row.alone->peak).c_str() : "-", row.fits.c_str(),
      row.what.cluster.c_str(), step, row.plan.feasible ? "" : " does not fit",
      row.plan.algorithm.c_str(), row.gpus, bound, row.bound.argument.c_str(),
      step > 0 ? 100 * (1 - bound / step) : 0);
  std::fflush(file);
}

int RunOne(const CaptureService& service, const Case& what, const Options& options,
           std::FILE* file) {
  const auto row = RunCase(service, what, options);
  if (row.ok()) {
    Print(file, row.value());
    return 0;
  }
  std::fprintf(stderr, "%s: %s\n", what.model.c_str(), row.error().ToString().c_str());
  return 1;
}

int Main(const Options& options) {
  const auto library = TorchLibrary::Open();
  if (!library.ok()) {
    std::fprintf(stderr, "%s\n", library.error().ToString().c_str());
    return 6;
  }
  std::FILE* file = OpenTable(options.markdown);
  if (file == nullptr) return 3;
  std::fprintf(file,
               "| model | batch | ops | paper's | parameters | tensors on one device | all on one "
               "GPU fits | cluster | best plan, ms | found by | GPUs | bound, ms | gap |\n"
               "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  std::fflush(file);
  int failures = 0;
  const CaptureService& service = *library.value().api().capture();
  for (const Case& what : Cases(service, options.models)) {
    failures += !SucceedsInChild([&] { return RunOne(service, what, options, file); });
  }
  return failures > 0 ? 1 : 0;
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) {
  placewright::Options options;
  CLI::App app{"Plans the papers' models on the papers' machines."};
  app.add_option("--models", options.models, "glob over MODEL@PRESET");
  app.add_option("--time", options.seconds, "seconds for each plan");
  app.add_option("--iterations", options.budget.iterations, "moves instead of seconds");
  app.add_option("--threads", options.budget.threads, "threads");
  app.add_option("--seed", options.budget.seed, "seed");
  app.add_option("--markdown", options.markdown, "file, or - (default zoo.md)");
  CLI11_PARSE(app, argc, argv);
  return placewright::Main(options);
}
