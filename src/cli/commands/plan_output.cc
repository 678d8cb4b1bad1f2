#include "cli/commands/plan_output.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/request/assumptions.h"
#include "cli/request/result_json.h"
#include "report/plan_report.h"

namespace placewright {
namespace {

// The device that lacks most, or has the smallest rest.
std::string PlaceOf(const Plan& plan) {
  const auto worst = std::max_element(
      plan.devices.begin(), plan.devices.end(), [](const DeviceUse& a, const DeviceUse& b) {
        return a.peak_memory - a.capacity < b.peak_memory - b.capacity;
      });
  return worst == plan.devices.end() ? "plan" : "device " + worst->name;
}

void PrintAsJson(const PlanOutput& output, Console& console) {
  const auto& [of, plan, analysis, file, notes, error, max_batch, changes, from, beside,
               init_differs] = output;
  const Inputs& inputs = *of.inputs;
  Json object = PlanSummaryToJson(plan, "placewright.plan-result/1");
  object["bound_argument"] = of.step.bound != nullptr ? of.step.bound->argument : "";
  object["max_batch"] = nullptr;
  if (max_batch) object["max_batch"] = MaxBatchToJson(*max_batch);
  object["permitted_changes"] = Json::array();
  for (const PermittedChange& change : changes) {
    object["permitted_changes"].push_back({{"option", change.option},
                                           {"meaning", change.meaning},
                                           {"plan", change.plan},
                                           {"step_time_ns", change.step_time.count},
                                           {"gain", change.gain}});
  }
  object["from"] = nullptr;
  if (beside) object["from"] = FromToJson(*from, *beside);
  object["peak_rss_bytes"] = PeakResidentBytes();
  object["plan_file"] = nullptr;
  if (plan.feasible) object["plan_file"] = file;
  const Cluster& cluster = inputs.cluster.cluster;
  AddAnalysis(analysis, cluster, &object);
  AddCommunicationTime(plan, TimeOfCommunication(inputs.graph.graph, *analysis.result.schedule),
                       &object);
  object["fullest"] = nullptr;
  if (!analysis.peaks.empty()) object["fullest"] = PeaksToJson(analysis, cluster)[0];
  object["init_differs"] = init_differs;
  object["unknown_types"] = inputs.cost_report.unknown_types;
  AddAssumedShapes(inputs.graph, &object);
  AddNotes(inputs, &object);
  for (const std::string& note : notes) object["notes"].push_back(note);
  object["interrupted"] = error && error->code == ErrorCode::kInterrupted;
  if (error) object["error"] = ErrorToJson(*error, PlaceOf(plan))["error"];
  console.PrintJson(object);
}

// The headline with its figures, then the tables, then what the figures assume.
void PrintAsText(const PlanOutput& output, Console& console) {
  const auto& [of, plan, analysis, file, notes, error, max_batch, changes, from, beside,
               init_differs] = output;
  const Inputs& inputs = *of.inputs;
  const Style& style = console.style();
  const Cluster& cluster = inputs.cluster.cluster;
  const std::string strategies =
      RenderStrategies(plan.strategies, plan.step_time, analysis.tie_within, style);
  if (const StrategyResult* nearest = NearestStrategy(plan)) {
    console.Print(RenderNearest(plan, *nearest, style));
    console.Print("\n" + strategies);
    return;
  }
  console.Print(RenderHeadline(plan, style));
  console.Print(RenderRates(analysis, plan, style));
  if (beside) console.Print("\n" + DescribeFrom(*from, *beside, style));
  if (max_batch) {
    console.Print(fmt::format("  max batch  {}\n  best rate  {}\n",
                              DescribeMaxBatch(max_batch->found), DescribeBestRate(*max_batch)));
  }
  for (const PermittedChange& change : changes) {
    console.Print(Wrap("  would gain " + DescribePermittedChange(change) + "\n", style, 13));
  }
  const std::string modules = RenderModuleTable(analysis, plan, cluster, style);
  if (!modules.empty()) console.Print("\n" + modules);
  console.Print("\n" + RenderDevices(plan.devices, style));
  if (analysis.gpu_use) {
    console.Print(Wrap(DescribeGpuUse(*analysis.gpu_use) + "\n", style));
  }
  console.Print(RenderCommunication(analysis, plan, inputs.graph.graph, style));
  if (!strategies.empty()) {
    console.Print("\n" + strategies);
  } else if (!plan.baselines.empty()) {
    console.Print("\n" + RenderBaselines(plan, analysis.tie_within, style));
  }
  console.Print("\n" + Explain(analysis, cluster, style));
  const std::vector<std::string>& unknown = inputs.cost_report.unknown_types;
  if (!unknown.empty()) console.Print("\n" + RenderUnknownTypes(unknown));
  for (const std::string& line : DescribeAssumptions(inputs)) {
    console.Print(Wrap(fmt::format("\n{}\n", line), style));
  }
  if (plan.feasible) {
    console.Print(Wrap(fmt::format("\nplan written to {}, its {}costs and schedule beside it\n",
                                   Printable(file, 4096), of.file.empty() ? "" : "step, "),
                       style));
  }
}

}  // namespace

void PrintPlan(const PlanOutput& output, Console& console) {
  if (console.json) {
    PrintAsJson(output, console);
    return;
  }
  PrintAsText(output, console);
  if (output.error) console.PrintError(*output.error);
}

Status NoteTime(const Planning& planning, const SearchOptions& search, const StepInputs& of,
                Clock::time_point searched, Console& console) {
  constexpr std::chrono::milliseconds kNoticeable{500};
  PW_ASSIGN(const Budget limit, MakeBudget(search, planning.loaded));
  const Clock::time_point now = Clock::now();
  if (!limit.deadline || now <= *limit.deadline + kNoticeable) return Ok();
  const auto seconds = [](Clock::duration time) {
    return std::chrono::duration<double>(time).count();
  };
  console.Note(
      fmt::format("the search took {:.1f} s; to compile the plan ({}), to check, analyse and "
                  "write it took {:.1f} s more, which --time does not limit",
                  seconds(searched - planning.loaded), CountOf(of.step.graph->op_count(), "op"),
                  seconds(now - searched)));
  return Ok();
}

void NoteReplicatedBound(const Planning& planning, const StepOfPlan& step, PlannerResult& result) {
  const std::optional<Bound>& bound = planning.prepared().replicated_bound();
  const bool whole = step.space == PlanSpace::kPlaced;
  if (!bound || !whole || !result.feasible || result.step_time.count <= 0) return;
  const double left = static_cast<double>((result.step_time - bound->value).count) /
                      static_cast<double>(result.step_time.count);
  result.notes.push_back(fmt::format(
      "at most {} below this is possible for plans that may split or copy ops ({})",
      FormatShare(std::max(0.0, left)), FormatNanosLike(bound->value, result.step_time)));
}

}  // namespace placewright
