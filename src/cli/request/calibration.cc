#include "cli/request/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/text.h"
#include "cli/request/inputs.h"
#include "cli/request/whole_plan.h"
#include "cost/cost_model.h"
#include "planning/plan_session.h"
#include "report/table.h"
#include "sim/simulator.h"
#include "sim/step_in_lanes.h"

namespace placewright {
namespace {

constexpr double kSmallest = 1.0 / 64, kLargest = 64;

// Five digits are what a file of costs says.
double Rounded(double factor) {
  return std::strtod(fmt::format("{:.5g}", factor).c_str(), nullptr);
}

// A plan's step with costs as they are modelled now.
struct ModelledStep {
  PlanInputs inputs;  // of a placed plan
  StepAgain again;    // of one that splits ops
  CostTable costs;
  StepOfPlan own;
  const StepOfPlan* step = nullptr;
  const Cluster* cluster = nullptr;
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
  const Plan* plan = nullptr;
};

Result<std::unique_ptr<ModelledStep>> ReadStep(const std::string& path,
                                               const PlanInputOptions& options) {
  auto made = std::make_unique<ModelledStep>();
  PW_ASSIGN(const Plan plan, LoadPlan(path));
  if (plan.space != PlanSpace::kPlaced) {
    PW_ASSIGN(made->again, CompileAgain(path, options, std::nullopt, /*in_lanes=*/true));
    made->step = &made->again.step;
    made->costs = *made->step->costs;
    made->cluster = &made->again.whole->cluster.cluster;
    made->policy = made->step->compiled->policy;
    made->plan = &made->again.plan;
    return made;
  }
  PW_ASSIGN(made->inputs, LoadPlanInputs(path, options));
  const PlanInputs& inputs = made->inputs;
  made->cluster = &inputs.cluster.cluster;
  CostOptions costs;
  costs.profile = inputs.plan.cost_profile;
  PW_ASSIGN(costs.precision, ParseFloatPrecision(inputs.plan.precision));
  PW_ASSIGN(made->costs, ModelCosts(inputs.graph.graph, *made->cluster, costs));
  PW_ASSIGN(Placement placement,
            ResolvePlacement(inputs.plan.placement, inputs.graph.graph, *made->cluster));
  made->own = StepOfWholeOps(inputs.graph.graph, made->costs, nullptr, std::move(placement));
  made->step = &made->own;
  made->policy = inputs.plan.policy;
  made->plan = &inputs.plan;
  return made;
}

class Calibrator {
 public:
  Calibrator(const ModelledStep& of, const MeasuredStep& measured) : of_(of), measured_(measured) {}

  Result<Calibration> Run() {
    PW_RETURN_IF_ERROR(FindOps());
    Calibration made;
    made.modelled_step = StepTime(1);
    PW_RETURN_IF_ERROR(CheckModelled(made.modelled_step));
    made.busiest = of_.cluster->device(busiest_).name;
    made.modelled_compute = scaled_ + others_;
    made.kinds.assign(kinds_.begin(), kinds_.end());
    PW_ASSIGN(const double factor, measured_.compute ? FactorOfCompute() : FactorOfStep());
    made.factor = Rounded(factor);
    made.step = StepTime(made.factor);
    made.compute = ScaledTime(scaled_, made.factor) + others_;
    return made;
  }

 private:
  bool IsOff(OpId op) const {
    const OpId origin = of_.step->origin.empty() ? OpId() : of_.step->origin[op];
    const std::string_view type =
        origin.valid() ? of_.step->original->op(origin).type : of_.step->graph->op(op).type;
    return measured_.types.empty() ||
           std::any_of(measured_.types.begin(), measured_.types.end(),
                       [&](const std::string& glob) { return GlobMatch(glob, type); });
  }

  // Which ops are scaled, and what the device that computes longest does.
  Status FindOps() {
    const Graph& graph = *of_.step->graph;
    IdVector<DeviceId, Nanos> scaled(of_.cluster->device_count()),
        others(of_.cluster->device_count());
    for (const OpId op : graph.ops()) {
      if (graph.op(op).is_view || graph.collective_of(op).valid()) continue;
      const DeviceId device = of_.step->placement[op];
      const Nanos time = of_.costs.time(op, device);
      (IsOff(op) ? scaled : others)[device] += time;
      if (!IsOff(op) || time.count == 0) continue;
      ops_.push_back(op);
      kinds_.insert(of_.cluster->kind(device).name);
    }
    if (ops_.empty()) {
      return MakeError(ErrorCode::kUsage, "no op that takes time is of these types", "--type",
                       "`placewright inspect --axes` lists the ops of a graph with their types.");
    }
    busiest_ = DeviceId(0);
    for (const DeviceId device : of_.cluster->devices()) {
      const auto total = [&](DeviceId id) { return scaled[id] + others[id]; };
      if (total(device) > total(busiest_)) busiest_ = device;
    }
    scaled_ = scaled[busiest_];
    others_ = others[busiest_];
    return Ok();
  }

  Nanos StepTime(double factor) const {
    CostTable costs = of_.costs;
    for (const OpId op : ops_) {
      for (const DeviceId device : of_.cluster->devices()) {
        if (!costs.only().empty() && costs.only()[op] != device) continue;
        if (costs.Supports(op, device))
          costs.SetTime(op, device, ScaledTime(costs.time(op, device), factor));
      }
    }
    SimGraph sim_graph = BuildSimGraph(*of_.step->graph, *of_.cluster, costs);
    if (of_.step->lanes() != nullptr) SetCommunicators(*of_.step->lanes(), sim_graph);
    Simulator simulator(sim_graph);
    return simulator.Run(of_.step->placement, {.policy = of_.policy}).step_time;
  }

  // The factor is one of modelled times: what it is found of must be these.
  Status CheckModelled(Nanos now) const {
    if (of_.plan->share_modelled < 1) {
      return MakeError(ErrorCode::kPlanMismatch,
                       fmt::format("{:.0f}% of the plan's times are measured or given, which no "
                                   "factor of the model holds for",
                                   100 * (1 - of_.plan->share_modelled)),
                       "cost_sources", "Make the plan again with --no-store.");
    }
    if (now == of_.plan->step_time) return Ok();
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("the step takes {}, and the plan says {}: it was made with "
                                 "--costs, or by another version",
                                 FormatNanos(now), FormatNanos(of_.plan->step_time)),
                     "step_time_ns", "Make the plan again, without --costs.");
  }

  Error OutOfReach(std::string_view what, Nanos measured, Nanos shortest, Nanos longest) const {
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("{} of {} is outside of what a factor gives: {} to {}, where communications "
                    "and other ops take "
                    "what they are modelled to take",
                    what, FormatNanos(measured), FormatNanos(shortest), FormatNanos(longest)),
        measured_.compute ? "--compute" : "--step",
        "Give the time of one step of this plan, batch and cluster, without the first steps.");
  }

  Result<double> FactorOfCompute() const {
    const Nanos wanted = *measured_.compute;
    if (wanted > measured_.step) {
      return MakeError(ErrorCode::kUsage, "the device computes longer than the step takes",
                       "--compute", "Give the part of the step in which the device computes.");
    }
    const double factor = static_cast<double>((wanted - others_).count) /
                          static_cast<double>(std::max<int64_t>(scaled_.count, 1));
    if (factor >= kSmallest && factor <= kLargest) return factor;
    return OutOfReach("computing", wanted, others_ + ScaledTime(scaled_, kSmallest),
                      others_ + ScaledTime(scaled_, kLargest));
  }

  Result<double> FactorOfStep() const {
    double low = kSmallest, high = kLargest;
    const Nanos shortest = StepTime(low), longest = StepTime(high);
    if (measured_.step < shortest || measured_.step > longest) {
      return OutOfReach("a step", measured_.step, shortest, longest);
    }
    while (high / low > 1 + 1e-5) {
      const double middle = std::sqrt(low * high);
      (StepTime(middle) < measured_.step ? low : high) = middle;
    }
    return std::sqrt(low * high);
  }

  const ModelledStep& of_;
  const MeasuredStep& measured_;
  std::vector<OpId> ops_;
  std::set<std::string> kinds_;
  DeviceId busiest_;
  Nanos scaled_, others_;  // of the busiest device
};

}  // namespace

Result<Calibration> Calibrate(const std::string& plan_path, const PlanInputOptions& options,
                              const MeasuredStep& measured) {
  PW_ASSIGN(const std::unique_ptr<ModelledStep> of, ReadStep(plan_path, options));
  return Calibrator(*of, measured).Run().InFile(plan_path);
}

}  // namespace placewright
