#include "cli/request/fit_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/request/max_batch.h"
#include "cli/request/steps_by_batch.h"
#include "plan/space_words.h"
#include "planning/quick_fit.h"
#include "planning/rewriting_advice.h"

namespace placewright {
namespace {

constexpr std::chrono::seconds kPatience{5};  // for each thing that may help

PlannerOptions OptionsOf(const FitAdviceRequest& request) {
  PlannerOptions options;
  options.threads = ThreadsOf(request.search);
  options.seed = request.search.seed;
  options.budget.stop = request.stop;
  options.budget.deadline = Clock::now() + kPatience;
  options.started = Clock::now();
  return options;
}

// Plans that split ops, where whole ones alone were allowed.
std::string SplitAdvice(const FitAdviceRequest& request, const Inputs& inputs) {
  SpaceOptions space;
  space.splitting = SpaceOptions::Splitting::kWhereProven;
  if (!MaySplit(space, inputs)) return "";
  const Result<Constraints> constraints = ParseConstraints(request.search);
  if (!constraints.ok() || !constraints.value().Empty()) return "";
  Result<Problem> problem =
      BuildProblem(inputs.graph.graph, inputs.cluster.cluster, inputs.costs, {}, inputs.policy);
  const Result<std::unique_ptr<LayoutProblem>> layouts =
      MakeLayoutProblem(request.input, space, inputs);
  if (!problem.ok() || !layouts.ok()) return "";
  problem.value().layouts = layouts.value().get();
  const Result<QuickFit> fit = FindFit(problem.value(), nullptr, OptionsOf(request));
  if (!fit.ok() || !fit.value().fits || fit.value().plan.space == PlanSpace::kPlaced) return "";
  const PlannerResult& plan = fit.value().plan;
  const std::string which =
      request.asked.name() == "auto" ? "" : fmt::format(" --algo {}", plan.algorithm);
  return fmt::format("; or --space replicated{}, which may split ops: {} then fits, {} a step",
                     which, plan.algorithm, FormatNanos(plan.step_time));
}

// Plans of all algorithms, where one was asked for.
std::string AlgorithmAdvice(const FitAdviceRequest& request) {
  const bool given = !request.space.layouts.empty();
  if (request.asked.name() == "auto" && !given) return "";
  const Result<QuickFit> fit = FindFit(request.planning->problem(), nullptr, OptionsOf(request));
  if (!fit.ok() || !fit.value().fits) return "";
  const PlannerResult& plan = fit.value().plan;
  return fmt::format("; or {}--algo {}, which {}: it fits, {} a step",
                     given ? "instead of --layouts " : "", plan.algorithm, WordsOf(plan.space).does,
                     FormatNanos(plan.step_time));
}

// The algorithm that was asked for, on the step rewritten further: the first that fits, or what the last one still needs.
std::string FurtherRewritingAdvice(const FitAdviceRequest& request, const Inputs& inputs) {
  const Graph& graph = inputs.graph.graph;
  const bool given = !request.space.layouts.empty();
  const bool splits = request.planning != nullptr && request.planning->layouts() != nullptr;
  if (!splits || given || request.asked.name() == "auto" || request.asked.iterative()) return "";
  StepsByBatch steps(request.input);
  const Result<StrategyTrier*> trier = steps.At(request.input.batch);
  StrategyTrialOptions options;
  Result<CostOptions> costs = CostOptionsOf(request.input, inputs.cluster.cluster);
  if (!trier.ok() || !costs.ok()) return "";
  options.costs = costs.Take();
  options.policy = inputs.policy;
  options.stop = request.stop;
  const auto advice = AdviseRewriting(
      {graph, inputs.cluster.cluster, std::string(request.asked.name()), request.input.settings,
       request.input.rewriting, std::move(options), Clock::now() + kAdvicePatience},
      *trier.value());
  if (!advice) return "";
  return (advice->fits ? "; or " : "; ") + Describe(*advice, RewritingWords::kOptions);
}

std::string BatchAdvice(const FitAdviceRequest& request, const Inputs& inputs, Console& console) {
  const int64_t batch = inputs.graph.graph.samples();
  InputOptions input = request.input;
  input.batch.reset();
  const auto smaller =
      FindSmallerBatch({input, request.search, request.space, request.asked, request.stop}, batch,
                       kPatience, console);
  if (!smaller) return "";
  return fmt::format("; or --batch {} ({}; now {})", smaller->batch,
                     smaller->largest
                         ? fmt::format("the largest that fits, by {}", smaller->algorithm)
                         : fmt::format("fits, by {}, and perhaps more", smaller->algorithm),
                     batch);
}

}  // namespace

std::string FitAdvice(const FitAdviceRequest& request, Console& console) {
  std::optional<Inputs> read;
  if (request.planning == nullptr) {
    InputOptions input = request.input;
    input.store.clear();
    input.cluster_store.clear();
    input.prove_batch = true;
    Result<Inputs> loaded = LoadInputs(input);
    if (!loaded.ok()) return "";
    read = loaded.Take();
  }
  const Inputs& inputs = read ? *read : request.planning->inputs;
  console.Progress("nothing fits: what would?");
  std::string text;
  const bool splits = request.planning != nullptr && request.planning->layouts() != nullptr;
  text += FurtherRewritingAdvice(request, inputs);
  if (splits) text += AlgorithmAdvice(request);
  if (!splits && !request.space.MaySplit()) text += SplitAdvice(request, inputs);
  text += BatchAdvice(request, inputs, console);
  console.Progress("");
  return request.stop.StopRequested() ? "" : text;
}

std::string CheckpointAdvice(const Graph& graph, const Analysis& analysis, const Cluster& cluster) {
  // One whose batch is proven is rewritten instead: --recompute.
  const bool rewritable = graph.batch_scaling() != nullptr;
  if (graph.format() != "aten" || rewritable || analysis.peaks.empty()) return "";
  bool trains = false;
  for (const OpId op : graph.ops()) trains = trains || graph.op(op).phase == Phase::kBackward;
  const auto& [device, items] = analysis.peaks.front();
  Bytes activations;
  for (const PeakItem& item : items) {
    if (item.kind == TensorKind::kActivation && !item.copy) activations += item.bytes;
  }
  if (!trains || activations.count == 0) return "";
  return fmt::format(
      "; or record the step with gradient checkpointing (torch.utils.checkpoint): activations are "
      "{} of the {} on {}",
      FormatBytes(activations), FormatBytes(analysis.result.devices[device.index()].peak),
      cluster.device(device).name);
}

}  // namespace placewright
