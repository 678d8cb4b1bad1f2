#include "cli/request/fit_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

bool AsksForOne(const FitAdviceRequest& request) {
  return request.asked.name() != "auto" || !request.space.layouts.empty();
}

constexpr size_t kNamedStrategies = 3;

// What is estimated to fit, with the step rewritten as each algorithm needs it: what was asked for first, then others.
std::string StrategyAdvice(const FitAdviceRequest& request, const Inputs& inputs,
                           const Graph& step) {
  const Cluster& cluster = inputs.cluster.cluster;
  const Result<Constraints> constraints = ParseConstraints(request.search);
  const Result<CostOptions> costs = CostOptionsOf(request.input, cluster);
  if (!constraints.ok() || !costs.ok()) return "";
  if (!MayChooseStrategies(step, constraints.value())) return "";
  const auto fitting = EstimatedToFit(step, cluster, costs.value(), inputs.policy);
  if (!fitting.ok()) return "";
  std::vector<std::string> names;
  for (const bool is_asked : {true, false}) {
    for (const StrategyResult& one : fitting.value()) {
      const bool is_of_it = one.strategy.algorithm == request.asked.name();
      if (is_of_it != is_asked || names.size() == kNamedStrategies) continue;
      names.push_back(
          fmt::format("{} ({} a step)", Describe(one.strategy), FormatNanos(one.estimated_time)));
    }
  }
  if (names.empty()) return "";
  const bool given = !request.space.layouts.empty();
  return fmt::format("; or leave {} out, and how the step is rewritten: estimated to fit are {}",
                     given ? "--layouts" : "--algo", fmt::join(names, "; "));
}

// A plan of any algorithm for the step as it is, where one was asked for.
std::string AlgorithmAdvice(const FitAdviceRequest& request) {
  const bool given = !request.space.layouts.empty();
  const Result<QuickFit> fit = FindFit(request.planning->problem(), nullptr, OptionsOf(request));
  if (!fit.ok() || !fit.value().fits) return "";
  const PlannerResult& plan = fit.value().plan;
  return fmt::format("; or {}--algo {}, which {}: it fits, {} a step",
                     given ? "instead of --layouts " : "", plan.algorithm, WordsOf(plan.space).does,
                     FormatNanos(plan.step_time));
}

// Of one algorithm, or layouts by hand: the step rewritten further, and other algorithms.
std::string AdviceBesideOne(const FitAdviceRequest& request, const Inputs& inputs,
                            Console& console) {
  std::string rewritten;
  if (request.rewriting) {
    rewritten = (request.rewriting->fits ? "; or " : "; ") +
                Describe(*request.rewriting, RewritingWords::kOptions);
  }
  StepsByBatch steps(request.input);
  const Result<StrategyTrier*> trier = steps.At(request.input.batch);
  if (!trier.ok()) return rewritten + AlgorithmAdvice(request);
  console.Progress("nothing fits: would another algorithm?");
  const std::string others = StrategyAdvice(request, inputs, trier.value()->step());
  return rewritten + (others.empty() ? AlgorithmAdvice(request) : others);
}

std::string BatchAdvice(const FitAdviceRequest& request, const Inputs& inputs, Console& console) {
  if (static_cast<int64_t>(inputs.graph.graph.op_count()) > kTriedOps) return "";
  const int64_t batch = inputs.graph.graph.samples();
  InputOptions input = request.input;
  input.batch.reset();
  console.Progress("nothing fits: would a smaller batch?");
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

std::optional<RewritingAdvice> FindRewriting(const FitAdviceRequest& request, Console& console) {
  const Planner& asked = request.asked;
  if (!LaysOutOnePlan(asked) || asked.space() == PlanSpace::kPlaced ||
      !request.space.layouts.empty()) {
    return std::nullopt;
  }
  const Inputs& inputs = request.planning->inputs;
  const Graph& step = inputs.graph.graph;
  // What reads the step again leaves types as they are.
  const bool as_recorded = MayBeRewritten(step.transforms());
  if (!as_recorded && !request.input.mixed_precision.empty()) return std::nullopt;
  StrategyTrialOptions options;
  Result<CostOptions> costs = CostOptionsOf(request.input, inputs.cluster.cluster);
  if (!costs.ok()) return std::nullopt;
  options.costs = costs.Take();
  options.policy = inputs.policy;
  options.stop = request.stop;
  console.Progress("it does not fit: would it with more micro-batches, or computing layers again?");
  const RewritingAdviceRequest advice = {step,
                                         inputs.cluster.cluster,
                                         std::string(asked.name()),
                                         request.input.settings,
                                         request.input.rewriting,
                                         std::move(options)};
  std::optional<RewritingAdvice> found;
  if (as_recorded) {
    StrategyTrier trier(step);
    found = AdviseRewriting(advice, trier);
  } else {
    StepsByBatch steps(request.input);
    const Result<StrategyTrier*> trier = steps.At(request.input.batch);
    if (trier.ok()) found = AdviseRewriting(advice, *trier.value());
  }
  console.Progress("");
  return request.stop.StopRequested() ? std::nullopt : found;
}

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
  if (splits && AsksForOne(request)) text += AdviceBesideOne(request, inputs, console);
  if (!splits && !request.space.MaySplit()) text += SplitAdvice(request, inputs);
  const Graph& step = inputs.graph.graph;
  if (request.planning == nullptr && step.batch_scaling() != nullptr) {
    text += "; the proof is of the step as it is, of none under --micro-batches or --recompute";
    const bool others = request.space.MaySplit() && request.asked.name() != "auto";
    if (others) text += StrategyAdvice(request, inputs, step);
  }
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
