#include "planning/permitted_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cost/precision.h"
#include "cost/work.h"
#include "search/evaluation/group_placement.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/data_parallel.h"
#include "search/problem/layout_problem.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

constexpr int64_t kCandidates = 12;  // of data-parallel-best
constexpr int64_t kPatience = 4;
constexpr Bytes kBuckets(64 << 20);
constexpr std::string_view kSamePlan = "the same plan";

class Asker {
 public:
  explicit Asker(const PermittedQuestion& question) : in_(question) {}

  PermittedChanges Ask() {
    const bool norms =
        in_.layouts != nullptr && !in_.layouts->local_batch_norm && in_.layouts->HasBatchNorms();
    const bool products = in_.costs.precision != FloatPrecision::kTf32 && HasSlowProducts();
    const auto size = static_cast<int64_t>(in_.problem.graph->op_count()) *
                      static_cast<int64_t>(in_.problem.cluster->device_count());
    if (size > kMaxOpsOnDevices) {
      if (norms) NotAsked("--batch-norm local");
      if (products) NotAsked("--precision tf32");
      return std::move(found_);
    }
    if (norms) AskLocalBatchNorm();
    if (products) AskTf32();
    return std::move(found_);
  }

 private:
  void NotAsked(std::string_view option) {
    found_.notes.push_back(
        fmt::format("what {} would gain was not looked at: the step is too large", option));
  }

  void Add(std::string_view option, std::string_view meaning, std::string_view plan,
           std::optional<Nanos> step_time) {
    if (!step_time || in_.step_time.count <= 0) return;
    const double gain = static_cast<double>((in_.step_time - *step_time).count) /
                        static_cast<double>(in_.step_time.count);
    if (gain < kGainWorthSaying) return;
    found_.changes.push_back(
        {std::string(option), std::string(meaning), std::string(plan), *step_time, gain});
  }

  void AskLocalBatchNorm() {
    // Planners and evaluator read it off the problem.
    struct Local {
      explicit Local(LayoutProblem* changed) : problem(changed) {
        problem->local_batch_norm = true;
      }
      ~Local() { problem->local_batch_norm = false; }
      Local(const Local&) = delete;
      Local& operator=(const Local&) = delete;
      LayoutProblem* problem;
    } const local(in_.layouts);
    std::optional<Nanos> best;
    std::string_view by;
    const auto consider = [&](StepPlan plan, std::string_view name) {
      plan.switches = AsStart(*in_.layouts, plan.switches);
      const Result<Evaluation> evaluation = in_.evaluator.EvaluatePlan(plan);
      if (!evaluation.ok() || !evaluation.value().feasible) return;
      if (best && *best <= evaluation.value().step_time) return;
      best = evaluation.value().step_time;
      by = name;
    };
    if (in_.plan.space != PlanSpace::kPlaced) consider(in_.plan.plan, kSamePlan);
    if (in_.other_plans) {
      const DataParallelPlanner planner(DataParallelKind::kBest);
      PlannerOptions options;
      options.budget.iterations = kCandidates;
      options.patience = kPatience;
      options.threads = in_.threads;
      Result<PlannerResult> result = planner.Plan(in_.problem, in_.evaluator, options);
      if (result.ok()) {
        StepPlan plan = result.value().plan;
        consider(plan, planner.name());
        plan.switches.fusion = kBuckets;
        consider(plan, planner.name());
      }
    }
    Add("--batch-norm local",
        "batch norms take the statistics of each device's samples alone, as under "
        "DistributedDataParallel: another step than the one on one device",
        by, best);
  }

  // Whether some device of the cluster multiplies float32 faster in TF32 than it is timed.
  bool HasSlowProducts() const {
    const Graph& graph = *in_.problem.graph;
    const Cluster& cluster = *in_.problem.cluster;
    bool has = false;
    for (const DeviceId device : cluster.devices()) {
      const DeviceKind& kind = cluster.kind(device);
      has = has || (HasTf32(kind) && IsFasterInTf32(OpClass::kGemm, kind));
    }
    if (!has) return false;
    for (const OpId op : graph.ops()) {
      if (graph.op(op).is_view || ComputeDType(graph, op) != DType::kF32) continue;
      const OpClass op_class = WorkOf(graph, op).op_class;
      if (UsesTf32(FloatPrecision::kTf32, op_class) && !UsesTf32(in_.costs.precision, op_class)) {
        return true;
      }
    }
    return false;
  }

  void AskTf32() {
    CostOptions costs = in_.costs;
    costs.precision = FloatPrecision::kTf32;
    Add("--precision tf32",
        "float32 products in TF32, as with torch.set_float32_matmul_precision(\"high\"): rounded "
        "to "
        "10 bits of mantissa",
        kSamePlan,
        in_.plan.space == PlanSpace::kPlaced ? TimeOfPlacement(costs) : TimeOfLayouts(costs));
  }

  std::optional<Nanos> TimeOfLayouts(const CostOptions& costs) const {
    if (in_.layouts == nullptr) return std::nullopt;
    Result<std::unique_ptr<LayoutProblem>> problem =
        LayoutProblem::Make(*in_.problem.graph, *in_.problem.cluster, costs, in_.problem.policy);
    if (!problem.ok()) return std::nullopt;
    StepPlan plan = in_.plan.plan;
    plan.switches.gradients_apart.reset();
    LayoutEvaluator evaluator(*problem.value());
    const Result<Evaluation> evaluation = evaluator.Evaluate(plan.layouts, plan.switches);
    if (!evaluation.ok() || !evaluation.value().feasible) return std::nullopt;
    return evaluation.value().step_time;
  }

  std::optional<Nanos> TimeOfPlacement(const CostOptions& costs) const {
    const Result<CostTable> table = ModelCosts(*in_.problem.graph, *in_.problem.cluster, costs);
    if (!table.ok()) return std::nullopt;
    const SimGraph sim_graph =
        BuildSimGraph(*in_.problem.graph, *in_.problem.cluster, table.value());
    Simulator simulator(sim_graph);
    const SimResult& result =
        simulator.Run(PlacementOf(in_.problem, in_.plan.plan),
                      {in_.plan.plan.switches.order.value_or(in_.problem.policy), false, false});
    if (!result.feasible) return std::nullopt;
    return result.step_time;
  }

  const PermittedQuestion& in_;
  PermittedChanges found_;
};

}  // namespace

PermittedChanges FindPermittedChanges(const PermittedQuestion& question) {
  return Asker(question).Ask();
}

std::string DescribePermittedChange(const PermittedChange& change) {
  return fmt::format("{}: {} a step, {:.1f}% less, by {} ({})", change.option,
                     FormatNanos(change.step_time), 100 * change.gain, change.plan, change.meaning);
}

}  // namespace placewright
