#include "runtime/measuring/measuring_evaluator.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/service/execution.h"
#include "torch_api/execution_setup.h"
#include "torch_api/step_measurement.h"

namespace placewright {
namespace {

constexpr int64_t kCutOff = 10;  // times the best

Feedback FeedbackOf(const Problem& problem, const StepMeasurement& measured) {
  Feedback feedback;
  feedback.schedule = measured.schedule;
  const auto step = static_cast<double>(measured.schedule_time.count);
  for (const double busy : measured.busy) {
    feedback.devices.push_back({Nanos(static_cast<int64_t>(busy * step)), Nanos(0)});
  }
  feedback.links.resize(problem.cluster->link_count());
  for (const TransferSpan& transfer : measured.schedule.transfers) {
    for (const LinkId id : problem.cluster->route(transfer.from, transfer.to).links) {
      Feedback::Link& link = feedback.links[id.index()];
      link.busy += transfer.end - transfer.start;
      link.moved += transfer.length;
      ++link.transfers;
    }
  }
  return feedback;
}

class MeasuringEvaluator : public Evaluator {
 public:
  explicit MeasuringEvaluator(const Problem& problem) : problem_(problem) {}

  std::vector<Evaluation> Evaluate(std::span<const Placement> candidates,
                                   const EvaluationOptions& options) override {
    std::vector<Evaluation> evaluations;
    for (const Placement& candidate : candidates) {
      Result<Evaluation> evaluation = Measure(candidate, options);
      if (evaluation.ok()) {
        evaluations.push_back(evaluation.Take());
      } else {
        // It cannot be executed: how much memory it lacks is not known.
        evaluations.emplace_back();
        evaluations.back().step_time = Nanos(kMaxQuantity - 1);
        evaluations.back().devices.resize(problem_.cluster->device_count());
        evaluations.back().devices.front().over = Bytes(1);
      }
    }
    return evaluations;
  }

  std::unique_ptr<MoveEvaluator> StartMoves(size_t memory_limit) override;
  std::unique_ptr<Evaluator> ForProblem(const Problem& variant, int /*threads*/) const override {
    return std::make_unique<MeasuringEvaluator>(variant);
  }

  Result<Evaluation> Measure(const Placement& candidate, const EvaluationOptions& options) {
    static std::mutex one_at_a_time;
    const std::scoped_lock lock(one_at_a_time);
    const Cluster& cluster = *problem_.cluster;
    PW_ASSIGN(ExecutionRequest request,
              MakeExecutionRequest(*problem_.graph, cluster, *problem_.costs, candidate,
                                   problem_.policy, /*simulate=*/false));
    PW_ASSIGN(const std::unique_ptr<Execution> execution, StartExecution(std::move(request)));
    StepMeasurementOptions measure;
    measure.abandon_above = std::min(
        options.abandon_above,
        Nanos(best_.count < kMaxQuantity / kCutOff ? best_.count * kCutOff : kMaxQuantity));
    PW_ASSIGN(const StepMeasurement measured,
              MeasureSteps(*execution, candidate, cluster.device_count(), measure));
    if (measured.failure) return *measured.failure;
    Evaluation evaluation;
    evaluation.step_time = measured.median();
    evaluation.abandoned = measured.abandoned || evaluation.step_time > options.abandon_above;
    if (evaluation.abandoned) return evaluation;
    evaluation.feasible = true;
    for (const DeviceId device : cluster.devices()) {
      const Bytes peak(measured.peaks[device.index()]);
      const Bytes over(std::max<int64_t>(0, peak.count - cluster.device(device).capacity.count));
      evaluation.feasible &= over.count == 0;
      evaluation.devices.push_back({peak, over});
    }
    if (evaluation.feasible) best_ = std::min(best_, evaluation.step_time);
    if (options.feedback) evaluation.feedback = FeedbackOf(problem_, measured);
    return evaluation;
  }

 private:
  const Problem& problem_;
  Nanos best_{kMaxQuantity};
};

// Move by move: each is executed in full.
class MeasuringMoves : public MoveEvaluator {
 public:
  explicit MeasuringMoves(MeasuringEvaluator& evaluator) : evaluator_(evaluator) {}

  const Evaluation& SetIncumbent(const Placement& placement) override {
    incumbent_ = tried_ = placement;
    of_incumbent_ = last_ = evaluator_.EvaluateOne(placement, {.feedback = true});
    return last_;
  }
  const Placement& incumbent() const override { return incumbent_; }
  const Evaluation& Try(std::span<const OpMove> moves, Nanos abandon_above) override {
    tried_ = incumbent_;
    for (const OpMove& move : moves) tried_[move.op] = move.device;
    last_ = evaluator_.EvaluateOne(tried_, {.abandon_above = abandon_above, .feedback = true});
    return last_;
  }
  void Accept() override {
    incumbent_ = tried_;
    of_incumbent_ = last_;
  }
  Nanos IncumbentBusy(DeviceId device) const override {
    return of_incumbent_.feedback ? of_incumbent_.feedback->devices[device.index()].busy : Nanos(0);
  }
  const Schedule& IncumbentSchedule() override {
    // Of what could not be executed, nothing ran.
    if (!of_incumbent_.feedback) {
      of_incumbent_.feedback.emplace();
      of_incumbent_.feedback->schedule.ops.assign(incumbent_.size(), {Nanos(0), Nanos(0)});
    }
    return of_incumbent_.feedback->schedule;
  }

 private:
  MeasuringEvaluator& evaluator_;
  Placement incumbent_, tried_;
  Evaluation of_incumbent_, last_;
};

std::unique_ptr<MoveEvaluator> MeasuringEvaluator::StartMoves(size_t /*memory_limit*/) {
  return std::make_unique<MeasuringMoves>(*this);
}

}  // namespace

Result<std::unique_ptr<Evaluator>> MakeMeasuringEvaluator(const Problem& problem) {
  PW_RETURN_IF_ERROR(CheckExecutable(*problem.graph));
  // Whether every op can be called at all, before a search takes it for a bad placement.
  PW_ASSIGN(ExecutionRequest request,
            MakeExecutionRequest(*problem.graph, *problem.cluster, *problem.costs,
                                 Placement(problem.graph->op_count(), DeviceId(0)), problem.policy,
                                 /*simulate=*/false));
  for (ExecutionDevice& device : request.devices) device.memory_limit = 0;
  PW_ASSIGN(const std::unique_ptr<Execution> execution, StartExecution(std::move(request)));
  PW_ASSIGN([[maybe_unused]] const Execution::Step step, execution->Run());
  return std::unique_ptr<Evaluator>(std::make_unique<MeasuringEvaluator>(problem));
}

}  // namespace placewright
