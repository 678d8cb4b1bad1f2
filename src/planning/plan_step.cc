#include <placewright/placewright.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cost/cost_model.h"
#include "formats/aten/writer.h"
#include "formats/cost_store/measured_reader.h"
#include "formats/plan/layouts_json.h"
#include "planning/algorithms.h"
#include "planning/batch_trials.h"
#include "planning/plan_session.h"
#include "planning/rewriting.h"
#include "planning/rewriting_advice.h"
#include "planning/search_budget.h"
#include "planning/stage_layers.h"
#include "planning/strategy_search.h"
#include "search/agent_settings.h"
#include "search/evaluation/group_placement.h"
#include "search/planner_table.h"
#include "sim/placement_check.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

constexpr int kMaxThreads = 1024;

Error UsageError(const std::string& why, const std::string& remedy) {
  return MakeError(ErrorCode::kUsage, why, "", remedy);
}

Error Cancelled() { return MakeError(ErrorCode::kCancelled, "stopped before there was any plan"); }

Status CheckLimits(const PlanRequest& request) {
  if (request.iterations && *request.iterations < 0) {
    return UsageError("fewer than 0 iterations were asked for",
                      "Give 0 or more, or none for no limit.");
  }
  if (request.threads > kMaxThreads) {
    return UsageError("more than " + std::to_string(kMaxThreads) + " threads were asked for",
                      "Give as many as there are cores.");
  }
  return Ok();
}

Status CheckSettings(const Planner& planner, const std::vector<std::string>& settings) {
  if (settings.empty()) return Ok();
  if (planner.settable() == nullptr) {
    return UsageError(std::string(planner.name()) + " has no settings",
                      "Leave them out; `placewright explain ALGO` lists those of an algorithm.");
  }
  const Result<AgentSettings> parsed = AgentSettings::Parse(*planner.settable(), settings);
  return parsed.ok() ? Ok() : Status(parsed.error());
}

SchedulingPolicy PolicyOf(const PlanRequest& request, const Graph& graph) {
  return request.policy.value_or(DefaultPolicy(graph.format()));
}

// With links as they were measured, where a cost store has some.
struct MeasuredMachines {
  Cluster cluster;
  std::vector<LinkId> measured;
};

// A request with the planner that it names.
class Request {
 public:
  static Result<std::unique_ptr<Request>> Make(const PlanRequest& request) {
    auto made = std::make_unique<Request>(request);
    PW_ASSIGN(made->planner_, made->algorithms_.Find(request.algorithm));
    if (request.initial) {
      PW_RETURN_IF_ERROR(made->algorithms_.CheckTakesInit(*made->planner_));
    }
    PW_RETURN_IF_ERROR(CheckSettings(*made->planner_, request.settings));
    PW_RETURN_IF_ERROR(CheckLimits(request));
    return made;
  }
  explicit Request(const PlanRequest& request)
      : in(request), algorithms_({.agent = request.settings}, PlannerTable(request.planners)) {}

  const Planner& planner() const { return *planner_; }

  // Errors: kUsage (a space that cannot be had).
  Result<bool> Splits(const Graph& graph, const Cluster& cluster) const {
    if (in.space == PlanSpace::kPipelined) {
      return UsageError("pipelines are not planned", "Ask for kPlaced or kReplicated.");
    }
    const bool must = in.layouts || planner_->space() != PlanSpace::kPlaced;
    if (must && in.space == PlanSpace::kPlaced) {
      return UsageError((in.layouts ? "layouts" : std::string(planner_->name())) +
                            " may split ops, which kPlaced forbids",
                        "Leave the space out, or ask for kReplicated.");
    }
    const bool by_default = !in.space && !must && in.algorithm == "auto" && !in.initial &&
                            SplitsByDefault(graph, cluster);
    if (!must && !by_default && in.space != PlanSpace::kReplicated) return false;
    if (graph.batch_scaling() != nullptr) return true;
    return UsageError(
        "no op can be split: it is not proven how sizes of " + Printable(graph.name()) +
            " follow its batch",
        "Read an ONNX model with prove_batch, record the step anew, or ask for kPlaced.");
  }

  Result<CostOptions> CostsOn(const Cluster& cluster) const {
    if (!IsCostProfile(in.cost_profile)) {
      return UsageError("there is no cost profile \"" + Printable(in.cost_profile) + "\"",
                        "The profiles are default and tf1.");
    }
    CostOptions costs;
    costs.profile = in.cost_profile;
    PW_ASSIGN(costs.precision, ParseFloatPrecision(in.precision));
    if (!in.cost_store.empty()) {
      PW_RETURN_IF_ERROR(UseMeasuredTimes(in.cost_store, cluster, costs));
    }
    return costs;
  }

  Result<MeasuredMachines> MachinesOf(const Cluster& cluster) const {
    MeasuredMachines machines{cluster, {}};
    if (in.cost_store.empty()) return machines;
    PW_ASSIGN(machines.measured, UseMeasuredLinks(in.cost_store, machines.cluster));
    return machines;
  }

  PlannerOptions Options(Clock::time_point started) const {
    PlannerOptions options;
    options.budget = MakeSearchBudget(in.time, in.iterations, started);
    options.budget.stop = in.stop;
    options.seed = in.seed;
    options.threads = std::max(1, in.threads);
    options.started = started;
    if (in.progress) {
      options.progress = [this](const PlannerOptions::Progress& progress) {
        in.progress({progress.algorithm, progress.iterations, progress.best, progress.feasible});
      };
    }
    return options;
  }

  bool ChoosesStrategies(const Graph& graph) const {
    return in.algorithm == "auto" && in.strategies.rewrite && !in.initial && !in.layouts &&
           in.planners.empty() && MayChooseStrategies(graph, in.constraints);
  }
  StrategySearchOptions StrategyOptionsAt(const Graph& graph, Clock::time_point started,
                                          bool for_auto) const {
    StrategySearchOptions options;
    options.strategies = in.strategies;
    options.policy = PolicyOf(in, graph);
    options.wishes.local_batch_norm = in.local_batch_norm;
    options.planning = Options(started);
    options.for_auto = options.folds = for_auto;
    if (in.progress) {
      options.tried = [this](const StrategyResult& one, int64_t evaluations,
                             const StrategyResult& best) {
        in.progress({Describe(one.strategy), evaluations, best.step_time, best.fits});
      };
    }
    return options;
  }

  const PlanRequest& in;

 private:
  const Algorithms algorithms_;
  const Planner* planner_ = nullptr;
};

// What is planned: a graph with costs, and how parts of its ops cost what they do, if they may be split.
struct Subject {
  const Graph& graph;
  const Cluster& cluster;
  const CostTable& costs;
  const CostOptions* parts;
  // What of the costs and the cluster was measured; nullptr where the caller gave the costs.
  const MeasuredUse* measured = nullptr;
  const std::vector<LinkId>* links = nullptr;
  StrategySearchResult* strategies =
      nullptr;            // that were tried; the graph is that of the best, if it rewrites
  bool as_found = false;  // the plan is that of the best strategy, which nothing searches on from
};

// What the request's planner makes of the step as it is. `trials`: that chose the batch; or nullptr.
Result<PlannerResult> SearchAsked(const Request& request, PlanSession& session,
                                  PlannerOptions options, const MaxBatch* trials) {
  const PlanRequest& in = request.in;
  const Problem& problem = session.problem();
  if (in.layouts) return session.TakeLayouts(*in.layouts);
  if (in.initial) {
    PW_RETURN_IF_ERROR(
        CheckPlacementLegal(problem.sim_graph, *problem.graph, *problem.cluster, *in.initial));
    options.initial = PlanOf(*problem.graph, *in.initial);
  }
  if (trials != nullptr) options.initial = StartOf(*trials);
  if (in.stop.StopRequested()) return Cancelled();
  options.bound = session.prepared().search_bound();
  PW_ASSIGN(PlannerResult result, request.planner().Plan(problem, session.evaluator(), options));
  if (trials != nullptr) TakeTrialsPlan(*trials, problem, result);
  return result;
}

Result<PlannerResult> Search(const Request& request, const Subject& subject, PlanSession& session,
                             const PlannerOptions& options, const MaxBatch* trials) {
  if (subject.as_found) return subject.strategies->ForAuto();
  return SearchBehind(
      subject.strategies, session.problem(), session.evaluator(), options,
      [&](const PlannerOptions& behind) { return SearchAsked(request, session, behind, trials); });
}

Result<PlannedStep> PlanSubject(const Request& request, const Subject& subject,
                                const MaxBatch* trials = nullptr,
                                Clock::time_point started = Clock::now()) {
  const PlanRequest& in = request.in;
  ProblemSettings settings;
  settings.constraints = in.constraints;
  settings.policy = PolicyOf(in, subject.graph);
  settings.threads = std::max(1, in.threads);
  const PlannerOptions options = request.Options(started);
  settings.advice = ForAdvice(options.budget, started);
  const bool has_plan = subject.strategies != nullptr && subject.strategies->has_plan();
  if (in.stop.StopRequested() && !has_plan) return Cancelled();
  PW_ASSIGN(const std::unique_ptr<PlanSession> session,
            PlanSession::Open(subject.graph, subject.cluster, subject.costs, subject.parts,
                              {.local_batch_norm = in.local_batch_norm}, settings));
  if (has_plan) PW_RETURN_IF_ERROR(subject.strategies->LayOut(session->problem()));
  if (has_plan && subject.strategies->compiler) {
    session->TakeCompiler(subject.strategies->plan.plan, subject.strategies->compiler);
  }
  PW_ASSIGN(PlannerResult result, Search(request, subject, *session, options, trials));
  session->NoteEqualShares(request.planner(), in.settings, options, result);
  PW_RETURN_IF_ERROR(session->RecomputeFromFactors(in.sfb, in.stop, started, result));
  session->NoteUnservedGpus(result);
  const double seconds = std::chrono::duration<double>(Clock::now() - started).count();
  PW_ASSIGN(StepOfPlan step, session->StepOf(result, in.in_lanes));
  PW_ASSIGN(SimResult replay, session->Replay(step, result));
  PlannedStep planned;
  planned.plan = session->MakePlan(step, result, replay, in.seed, seconds);
  planned.placement = std::move(step.placement);
  planned.schedule = *std::move(replay.schedule);
  if (step.bound != nullptr) planned.bound_argument = step.bound->argument;
  if (in.keep_files) {
    planned.costs = *step.costs;
    if (step.compiled) {
      PW_ASSIGN(planned.compiled_text,
                FormatAtenStep(step.compiled->step, subject.graph, subject.cluster));
    }
  }
  if (step.compiled) planned.compiled = std::move(step.compiled->step.graph);
  if (subject.strategies != nullptr) planned.plan.strategies = subject.strategies->Shown();
  planned.plan.cost_profile = in.cost_profile;
  planned.plan.precision = in.precision;
  if (subject.links != nullptr) {
    NameMeasurements(in.cost_store, *subject.measured, subject.cluster, *subject.links,
                     planned.plan);
  }
  planned.notes = subject.cluster.notes();
  planned.notes.insert(planned.notes.end(), result.notes.begin(), result.notes.end());
  return planned;
}

// A step at one batch, with all that its problem points to.
class RecordedAtBatch : public ProblemAtBatch {
 public:
  static Result<std::unique_ptr<RecordedAtBatch>> Make(const Request& request,
                                                       const GraphAtBatch& graph_at,
                                                       const MeasuredMachines& machines,
                                                       int64_t batch) {
    PW_ASSIGN(Graph graph, graph_at(batch));
    auto made = std::make_unique<RecordedAtBatch>(std::move(graph), machines);
    const Cluster& cluster = machines.cluster;
    PW_ASSIGN(made->options_, request.CostsOn(cluster));
    PW_ASSIGN(made->costs_, ModelCosts(made->graph_, cluster, made->options_, &made->report_));
    PW_ASSIGN(made->splits_, request.Splits(made->graph_, cluster));
    return made;
  }
  // The problem of a trial. Errors: those of BuildProblem and of LayoutProblem::Make.
  Status Pose(const PlanRequest& request) {
    PW_ASSIGN(problem_, BuildProblem(graph_, machines_.cluster, costs_, request.constraints,
                                     PolicyOf(request, graph_)));
    if (!splits_) return Ok();
    PW_ASSIGN(layouts_, MakeLayouts(graph_, machines_.cluster, options_, problem_.policy,
                                    {.local_batch_norm = request.local_batch_norm}));
    problem_.layouts = layouts_.get();
    return Ok();
  }
  RecordedAtBatch(Graph graph, const MeasuredMachines& machines)
      : graph_(std::move(graph)), machines_(machines) {}

  const Problem& problem() const override { return problem_; }
  Subject subject() const {
    return {graph_,
            machines_.cluster,
            costs_,
            splits_ ? &options_ : nullptr,
            &report_.measured,
            &machines_.measured};
  }

 private:
  const Graph graph_;
  const MeasuredMachines& machines_;
  CostOptions options_;
  CostTable costs_;
  CostModelReport report_;
  bool splits_ = false;
  std::unique_ptr<LayoutProblem> layouts_;
  Problem problem_;
};

}  // namespace

namespace {

// Its tensors fit, but not what is taken beside them.
bool IsCrowded(const Plan& plan) {
  return !plan.feasible &&
         std::all_of(plan.devices.begin(), plan.devices.end(),
                     [](const DeviceUse& use) { return use.peak_memory <= use.capacity; });
}

}  // namespace

Result<DistributionSpec> ReadLayouts(const std::string& path) { return ReadDistributionSpec(path); }

Result<SettledRewriting> SettleRewriting(const Graph& step, const Cluster& described,
                                         const PlanRequest& request, const Rewriting& asked) {
  SettledRewriting settled{request.algorithm, asked};
  AlignPipeline(request.layouts.has_value(), settled.algorithm, settled.rewriting);
  PW_ASSIGN(settled.rewriting,
            ChooseRewriting(step, described, settled.rewriting, settled.algorithm == "3d"));
  if (settled.rewriting.schedule.empty() || !settled.rewriting.layers.empty()) return settled;
  PlanRequest of_it = request;
  of_it.algorithm = settled.algorithm;
  PW_ASSIGN(const std::unique_ptr<Request> made, Request::Make(of_it));
  PW_ASSIGN(const CostOptions costs, made->CostsOn(described));
  PW_ASSIGN(settled.rewriting.layers,
            LayersOfUnequalStages(step, described, costs, settled.rewriting, settled.algorithm,
                                  request.settings));
  return settled;
}

Result<std::optional<RewritingAdvice>> AdviseRewriting(const Graph& recorded, const Graph& step,
                                                       const Cluster& described,
                                                       const PlanRequest& request,
                                                       const Rewriting& asked) {
  PW_ASSIGN(const std::unique_ptr<Request> made, Request::Make(request));
  PW_ASSIGN(const MeasuredMachines machines, made->MachinesOf(described));
  PW_ASSIGN(const bool splits, made->Splits(step, machines.cluster));
  if (!splits || !LaysOutOnePlan(made->planner()) || request.layouts) {
    return std::optional<RewritingAdvice>();
  }
  StrategyTrialOptions trials;
  PW_ASSIGN(trials.costs, made->CostsOn(machines.cluster));
  trials.policy = PolicyOf(request, step);
  trials.stop = request.stop;
  // What the step computes in is kept: of a step that is rewritten beyond that it is not known.
  const auto has_types = [](const Transform& one) { return one.kind == Transform::kPrecision; };
  const Transforms& made_by = step.transforms();
  const bool as_recorded = MayBeRewritten(made_by);
  if (!as_recorded && std::any_of(made_by.begin(), made_by.end(), has_types)) {
    return std::optional<RewritingAdvice>();
  }
  StrategyTrier trier(as_recorded ? step : recorded);
  return AdviseRewriting(
      {step, machines.cluster, request.algorithm, request.settings, asked, std::move(trials)},
      trier);
}

Result<PlannedStep> PlanStep(const Graph& graph, const Cluster& described,
                             const PlanRequest& request) {
  const Clock::time_point started = Clock::now();
  PW_ASSIGN(const std::unique_ptr<Request> made, Request::Make(request));
  PW_ASSIGN(const MeasuredMachines machines, made->MachinesOf(described));
  const Cluster& cluster = machines.cluster;
  PW_ASSIGN(const CostOptions options, made->CostsOn(cluster));
  PW_ASSIGN(const bool splits, made->Splits(graph, cluster));
  std::optional<StrategySearchResult> strategies;
  if (splits && made->ChoosesStrategies(graph)) {
    PW_ASSIGN(strategies, SearchStrategies(graph, cluster, options,
                                           made->StrategyOptionsAt(graph, started, true)));
    if (request.stop.StopRequested() && !strategies->has_plan()) return Cancelled();
  }
  const auto plan = [&](StrategySearchResult* of, bool as_found) -> Result<PlannedStep> {
    std::unique_ptr<const Graph> rewritten;
    if (of != nullptr && of->rewrites()) {
      rewritten = std::move(of->rewritten);
      if (rewritten == nullptr) {
        PW_ASSIGN(rewritten, ApplyTransforms(graph, TransformsFor(of->best->rewriting)));
      }
    }
    const Graph& step = rewritten ? *rewritten : graph;
    CostModelReport report;
    PW_ASSIGN(const CostTable costs, ModelCosts(step, cluster, options, &report));
    return PlanSubject(*made,
                       {step, cluster, costs, splits ? &options : nullptr, &report.measured,
                        &machines.measured, of, as_found},
                       nullptr, started);
  };
  // Strategies were judged by tensors alone. Where these fit and what is taken beside them does not, they are tried anew,
  // and the best is planned as it is: a search from it would judge by tensors again.
  Result<PlannedStep> planned = plan(strategies ? &*strategies : nullptr, false);
  if (!strategies || !planned.ok() || !IsCrowded(planned.value().plan)) return planned;
  StrategySearchOptions in_all_peaks = made->StrategyOptionsAt(graph, Clock::now(), true);
  in_all_peaks.in_all_peaks = true;
  PW_ASSIGN(StrategySearchResult others, SearchStrategies(graph, cluster, options, in_all_peaks));
  return others.has_plan() ? plan(&others, true) : std::move(planned);
}

Result<PlannedStep> PlanStep(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                             const PlanRequest& request) {
  PW_ASSIGN(const std::unique_ptr<Request> made, Request::Make(request));
  const bool splits = request.layouts || made->planner().space() != PlanSpace::kPlaced ||
                      request.space.value_or(PlanSpace::kPlaced) != PlanSpace::kPlaced;
  if (splits) {
    return UsageError("costs of whole ops say nothing of their parts",
                      "Leave the costs out, so that they are modelled, or ask for kPlaced.");
  }
  return PlanSubject(*made, {graph, cluster, costs, nullptr});
}

Result<std::vector<StrategyResult>> RankStrategies(const Graph& graph, const Cluster& described,
                                                   const PlanRequest& request) {
  const Clock::time_point started = Clock::now();
  PW_ASSIGN(const std::unique_ptr<Request> made, Request::Make(request));
  PW_ASSIGN(const MeasuredMachines machines, made->MachinesOf(described));
  PW_ASSIGN(const CostOptions costs, made->CostsOn(machines.cluster));
  PW_ASSIGN(StrategySearchResult found,
            SearchStrategies(graph, machines.cluster, costs,
                             made->StrategyOptionsAt(graph, started, false)));
  if (request.stop.StopRequested() && found.evaluations == 0) return Cancelled();
  return std::move(found.strategies);
}

Result<PlannedBatch> PlanLargestBatch(const GraphAtBatch& graph_at, const Cluster& described,
                                      const PlanRequest& request, int64_t start) {
  if (request.initial) {
    return UsageError("a placement to start from is of one batch",
                      "Leave `initial` out, or plan at that batch (PlanStep).");
  }
  PW_ASSIGN(const std::unique_ptr<Request> made, Request::Make(request));
  PW_ASSIGN(const MeasuredMachines machines, made->MachinesOf(described));
  BatchTrialOptions options;
  options.at_batch = [&](int64_t batch) -> Result<std::unique_ptr<ProblemAtBatch>> {
    PW_ASSIGN(auto at, RecordedAtBatch::Make(*made, graph_at, machines, batch));
    PW_RETURN_IF_ERROR(at->Pose(request));
    return std::unique_ptr<ProblemAtBatch>(std::move(at));
  };
  options.asked = &made->planner();
  options.layouts = request.layouts;
  options.planning.budget.stop = request.stop;
  options.planning.threads = std::max(1, request.threads);
  options.planning.seed = request.seed;
  options.planning.started = Clock::now();
  BatchTrials trials(std::move(options));
  PW_ASSIGN(MaxBatchOrTrials found,
            FindMaxBatch(trials, std::max<int64_t>(1, start), request.stop));
  if (!found.found) return NoBatchFits(found.trials.back());
  PW_ASSIGN(const std::unique_ptr<RecordedAtBatch> at,
            RecordedAtBatch::Make(*made, graph_at, machines, found.found->found.batch));
  PW_ASSIGN(PlannedStep step, PlanSubject(*made, at->subject(), &*found.found));
  return PlannedBatch{std::move(found.found->found), std::move(found.found->rates),
                      std::move(step)};
}

}  // namespace placewright
