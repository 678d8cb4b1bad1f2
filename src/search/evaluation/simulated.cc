#include "search/evaluation/simulated.h"

#include <algorithm>
#include <utility>

#include "base/thread_pool.h"
#include "search/evaluation/layout_batches.h"
#include "sim/batch.h"
#include "sim/incremental.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

SimOptions OptionsOf(const Problem& problem, const EvaluationOptions& options) {
  SimOptions sim;
  sim.policy = options.order.value_or(problem.policy);
  sim.abandon_above = options.abandon_above;
  sim.schedule = options.feedback;
  sim.feedback = options.feedback;
  return sim;
}

// Into an Evaluation that keeps its memory: local search does this some ten thousand times a
// second.
void Fill(const SimResult& result, Evaluation* evaluation) {
  evaluation->abandoned = result.abandoned;
  evaluation->feasible = result.feasible;
  evaluation->step_time = result.step_time;
  evaluation->devices.resize(result.devices.size());
  for (size_t d = 0; d < result.devices.size(); ++d) {
    evaluation->devices[d] = {result.devices[d].peak, result.devices[d].over};
  }
}

class SimulatedMoves : public MoveEvaluator {
 public:
  SimulatedMoves(const Problem& problem, size_t memory_limit)
      : problem_(problem),
        incremental_(problem.sim_graph, problem.policy, memory_limit),
        simulator_(problem.sim_graph) {}

  const Evaluation& SetIncumbent(const Placement& placement) override {
    Fill(incremental_.SetIncumbent(placement), &evaluation_);
    return evaluation_;
  }
  const Placement& incumbent() const override { return incremental_.incumbent(); }
  const Evaluation& Try(std::span<const OpMove> moves, Nanos abandon_above) override {
    const SimResult& result = incremental_.Try(moves, abandon_above);
    evaluation_.abandoned = result.abandoned;
    if (!result.abandoned) Fill(result, &evaluation_);
    return evaluation_;
  }
  void Accept() override { incremental_.Accept(); }
  Nanos IncumbentBusy(DeviceId device) const override {
    return incremental_.incumbent_result().devices[device.index()].busy;
  }
  const Schedule& IncumbentSchedule() override {
    SimOptions options = OptionsOf(problem_, {});
    options.schedule = true;
    return *simulator_.Run(incremental_.incumbent(), options).schedule;
  }

 private:
  const Problem& problem_;
  IncrementalSimulator incremental_;
  Simulator simulator_;  // records what the incremental one does not
  Evaluation evaluation_;
};

class SimulatedEvaluator : public Evaluator {
 public:
  SimulatedEvaluator(const Problem& problem, int threads, StopCheck stop)
      : problem_(problem),
        pool_(std::max(1, threads)),
        stop_(std::move(stop)),
        simulators_(problem.sim_graph, &pool_) {}

  std::vector<Evaluation> Evaluate(std::span<const Placement> candidates,
                                   const EvaluationOptions& options) override {
    std::vector<Evaluation> evaluations(candidates.size());
    simulators_.Run(candidates, OptionsOf(problem_, options),
                    [&](size_t i, const SimResult& result) {
                      Fill(result, &evaluations[i]);
                      if (options.feedback && !result.abandoned) {
                        evaluations[i].feedback = FeedbackOf(result);
                      }
                    });
    return evaluations;
  }
  std::vector<Result<Evaluation>> EvaluatePlans(std::span<const StepPlan> candidates,
                                                const EvaluationOptions& options) override {
    if (problem_.layouts != nullptr) return Layouts().Evaluate(candidates, options);
    std::vector<Result<Evaluation>> results;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const std::optional<Placement> placement = PlacementIfPlaced(*problem_.graph, candidates[i]);
      if (!placement) {
        results.push_back(NoLayouts());
        continue;
      }
      EvaluationOptions one = options;
      if (!options.limits.empty()) one.abandon_above = options.limits[i];
      one.order = candidates[i].switches.order;
      results.push_back(EvaluateOne(*placement, one));
      if (options.feedback && !results.back().value().abandoned) {
        AddInstances(candidates[i], *results.back().value().feedback);
      }
    }
    return results;
  }
  int threads() const override { return pool_.threads(); }
  Result<std::unique_ptr<CompiledStep>> Compile(const StepPlan& plan) override {
    if (problem_.layouts == nullptr) return NoLayouts();
    return Layouts().Compile(plan);
  }
  Result<const CompiledStep*> CompileAndKeep(const StepPlan& plan) override {
    if (problem_.layouts == nullptr) return NoLayouts();
    return Layouts().CompileAndKeep(plan);
  }
  std::unique_ptr<MoveEvaluator> StartMoves(size_t memory_limit) override {
    return std::make_unique<SimulatedMoves>(problem_, memory_limit);
  }
  std::unique_ptr<Evaluator> ForProblem(const Problem& variant, int threads) const override {
    return MakeSimulatedEvaluator(variant, threads, stop_);
  }

 private:
  LayoutBatches& Layouts() {
    if (!layouts_) layouts_.emplace(*problem_.layouts, pool_, stop_);
    return *layouts_;
  }

  void AddInstances(const StepPlan& plan, Feedback& feedback) const {
    const Graph& graph = *problem_.graph;
    for (const OpId op : graph.ops()) {
      if (graph.op(op).is_view) continue;
      const OpSpan& span = feedback.schedule.ops[op];
      feedback.instances.push_back(
          {op, plan.layouts.Of(graph.group(op)).shares.front().device, span.start, span.end});
    }
    feedback.schedule = {};
  }

  const Problem& problem_;
  ThreadPool pool_;
  const StopCheck stop_;
  BatchSimulator simulators_;
  std::optional<LayoutBatches> layouts_;
};

}  // namespace

std::unique_ptr<Evaluator> MakeSimulatedEvaluator(const Problem& problem, int threads,
                                                  StopCheck stop) {
  return std::make_unique<SimulatedEvaluator>(problem, threads, std::move(stop));
}

Evaluation EvaluationOf(const SimResult& result) {
  Evaluation evaluation;
  Fill(result, &evaluation);
  return evaluation;
}

Feedback FeedbackOf(const SimResult& result) {
  Feedback feedback;
  if (result.schedule) feedback.schedule = *result.schedule;
  for (const DeviceResult& device : result.devices) {
    feedback.devices.push_back({device.busy, device.idle_before_transfers});
  }
  for (const LinkResult& link : result.links) {
    feedback.links.push_back({link.busy, link.moved, link.transfers, link.collectives});
  }
  return feedback;
}

PackedEvaluator::PackedEvaluator(const SimGraph& graph)
    : simulator_(std::make_unique<Simulator>(Simulator::OfPackedSteps(graph))) {}
PackedEvaluator::~PackedEvaluator() = default;

Evaluation PackedEvaluator::Evaluate(PackedStep& packed, const Placement& placement,
                                     SchedulingPolicy policy, Nanos abandon_above) {
  simulator_->Reload(packed);
  return EvaluationOf(
      simulator_->Run(placement, {.policy = policy, .abandon_above = abandon_above}));
}

Evaluation PackedEvaluator::EvaluateWithFeedback(PackedStep& packed, const Placement& placement,
                                                 SchedulingPolicy policy) {
  simulator_->Reload(packed);
  const SimResult& result = simulator_->Run(placement, {.policy = policy, .feedback = true});
  Evaluation evaluation = EvaluationOf(result);
  evaluation.feedback = FeedbackOf(result);
  for (const OpSpan& span : simulator_->Spans()) {
    const OpId op(evaluation.feedback->instances.size());
    evaluation.feedback->instances.push_back({OpId(), placement[op], span.start, span.end});
  }
  return evaluation;
}

}  // namespace placewright
