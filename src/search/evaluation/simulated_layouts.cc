#include "search/evaluation/simulated_layouts.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "compile/array_changes.h"
#include "compile/rewrites/fetching.h"
#include "compile/rewrites/fuse_all_reduces.h"
#include "compile/rewrites/separate_gradients.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/simulated.h"
#include "search/evaluation/step_packer.h"
#include "search/floors/layout_floor.h"
#include "sharding/layout_check.h"
#include "sharding/separable_results.h"
#include "sim/memory/device_memory.h"

namespace placewright {
namespace {

// Whether some op makes gradients that two could.
bool HasSeparable(const Graph& graph) {
  for (const OpId op : graph.ops()) {
    if (SeparableResults(graph.op(op))) return true;
  }
  return false;
}

// Whether an op that computes something hands out views of what it did not make: what reads these waits for it.
bool HandsOutViews(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  return !op.is_view && std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId output) {
    const Tensor& tensor = graph.tensor(output);
    const auto version = static_cast<size_t>(tensor.version);
    return graph.storage(tensor.storage).versions[version].writer != id;
  });
}

constexpr size_t kFewDevices = 16;

// So that a step of all devices is slow: of many micro-batches, say.
bool HasManyOps(const LayoutProblem& problem, size_t devices) {
  constexpr double kManyOps = 1e6;
  const auto ops = static_cast<double>(problem.graph.op_count()) * problem.unwritten;
  return static_cast<double>(devices) * ops >= kManyOps;
}

}  // namespace

struct LayoutEvaluator::State {
  State(const LayoutProblem& of, LaneUse use, StopCheck check)
      : problem(of),
        lane_use(use),
        stop(std::move(check)),
        suffices(Suffices(of)),
        separable(HasSeparable(of.graph)),
        prices(of.cluster, of.cost_options, of.graph.batch()),
        packer(of.communication, prices, of.graph.op_count()),
        evaluator(packer.sim_graph()) {}

  // For one set of switches: the writer that was used last comes last.
  struct Writers {
    StepSwitches switches;
    std::vector<std::unique_ptr<ArrayWriter>> writers;
  };
  static constexpr size_t kWriters = 2;

  Writers& WritersFor(const StepSwitches& switches) {
    for (Writers& of : writers) {
      if (AreFor(of, switches)) return of;
    }
    writers.push_back({switches, {}});
    return writers.back();
  }
  // By what a writer looks at: how far ahead parameters are fetched is decided behind it, that they wait is not.
  static bool AreFor(const Writers& of, const StepSwitches& switches) {
    return of.switches.broadcasts == switches.broadcasts &&
           of.switches.prefetch.has_value() == switches.prefetch.has_value() &&
           of.switches.regather == switches.regather &&
           of.switches.local_batch_norm == switches.local_batch_norm;
  }
  static size_t NearFor(const Layouts& layouts) { return layouts.of_group.size() / 4; }

  // The one whose step is nearest; what changes much goes to another one than that of the last steps, which is
  // near many to come.
  ArrayWriter& WriterFor(const StepSwitches& switches, const Layouts& layouts) {
    Writers& of = WritersFor(switches);
    size_t chosen = of.writers.size(), nearest = NearFor(layouts);
    for (size_t i = 0; i < of.writers.size(); ++i) {
      const size_t distance = of.writers[i]->DistanceTo(layouts);
      if (distance > nearest) continue;
      nearest = distance;
      chosen = i;
    }
    if (chosen == of.writers.size()) {
      chosen = 0;
      if (of.writers.size() < kWriters) {
        const CompileOptions options{.switches = switches};
        of.writers.insert(of.writers.begin(), std::make_unique<ArrayWriter>(
                                                  problem.graph, problem.axes, options, prices));
        of.writers.front()->GiveUpWhere(stop);
      }
    }
    std::rotate(of.writers.begin() + static_cast<ptrdiff_t>(chosen),
                of.writers.begin() + static_cast<ptrdiff_t>(chosen) + 1, of.writers.end());
    return *of.writers.back();
  }

  Result<Evaluation> Evaluate(const Layouts& layouts, const StepSwitches& switches,
                              Nanos abandon_above) {
    apart.reset();
    classes.reset();
    in_lanes.reset();
    if (!suffices) return Compiled(layouts, switches, /*feedback=*/false);
    if (IsAbove(abandon_above, layouts)) return Evaluation{.abandoned = true};
    asked = switches;
    policy = switches.order.value_or(problem.policy);
    if (MayUseLanes(switches, layouts)) {
      PW_ASSIGN(std::optional<Evaluation> evaluation,
                EvaluateInLanes(layouts, switches, abandon_above));
      if (evaluation) return *std::move(evaluation);
    }
    return EvaluateAll(layouts, switches, abandon_above);
  }

  Result<Evaluation> EvaluateAll(const Layouts& layouts, const StepSwitches& switches,
                                 Nanos abandon_above) {
    ArrayWriter& writer = WriterFor(switches, layouts);
    last = &writer;
    return WriteAndSimulate(writer, layouts, switches, abandon_above);
  }

  bool MayUseLanes(const StepSwitches& switches, const Layouts& layouts) {
    if (lane_use == LaneUse::kNever) return false;
    if (lane_use == LaneUse::kAlways) return true;
    const size_t devices = CountDevices(problem.cluster, layouts);
    if (devices < kFewDevices && !HasManyOps(problem, devices)) return false;
    for (const Writers& of : writers) {
      if (!AreFor(of, switches)) continue;
      for (const auto& writer : of.writers) {
        if (writer->DistanceTo(layouts) <= NearFor(layouts)) return false;
      }
    }
    return true;
  }

  // None: devices that seem alike are not. What is wrong with layouts is said by the one that has all devices.
  Result<std::optional<Evaluation>> EvaluateInLanes(const Layouts& layouts,
                                                    const StepSwitches& switches,
                                                    Nanos abandon_above) {
    last = nullptr;
    for (LaneClasses& lanes : FindLaneClasses(problem.cluster, layouts)) {
      auto written = std::make_unique<InLanes>();
      written->classes = std::move(lanes);
      written->writer = std::make_unique<ArrayWriter>(problem.graph, problem.axes,
                                                      CompileOptions{.switches = switches}, prices,
                                                      /*once=*/true, &written->classes);
      written->writer->GiveUpWhere(stop);
      Result<Evaluation> evaluation =
          WriteAndSimulate(*written->writer, layouts, switches, abandon_above);
      if (!evaluation.ok() && evaluation.error().code == ErrorCode::kCancelled) {
        return evaluation.error();
      }
      if (!evaluation.ok()) continue;
      classes = CountClasses(written->classes, layouts);
      written->writer->Finish();
      in_lanes = std::move(written);
      return std::optional<Evaluation>(std::move(evaluation).Take());
    }
    apart.reset();
    return std::optional<Evaluation>();
  }

  Result<Evaluation> WriteAndSimulate(ArrayWriter& writer, const Layouts& layouts,
                                      const StepSwitches& switches, Nanos abandon_above) {
    PW_RETURN_IF_ERROR(writer.Write(layouts));
    prices.PriceNew();
    // Both ways, where that is left open.
    const std::optional<bool> decided = switches.gradients_apart;
    std::optional<Evaluation> in_two;
    if (separable && decided.value_or(true)) {
      ArrayChanges changes(writer);
      if (SeparateGradients(prices, writer, changes)) {
        PW_ASSIGN(in_two, Simulate(abandon_above, writer, changes));
      }
    }
    if (decided && in_two) {
      if (!in_two->abandoned) apart = true;
      return *std::move(in_two);
    }
    // What is longer than a step that fits is not looked at to its end.
    const bool fits = in_two && !in_two->abandoned && in_two->TotalOver() == Bytes(0);
    const Nanos limit = fits ? std::min(abandon_above, in_two->step_time) : abandon_above;
    ArrayChanges changes(writer);
    PW_ASSIGN(Evaluation together, Simulate(limit, writer, changes));
    const bool is_apart =
        in_two && !in_two->abandoned && (together.abandoned || in_two->score() < together.score());
    if (is_apart || !together.abandoned) apart = is_apart;
    return is_apart ? *std::move(in_two) : std::move(together);
  }

  // What arrays cannot say.
  Result<Evaluation> Compiled(const Layouts& layouts, const StepSwitches& switches, bool feedback) {
    PW_ASSIGN(Evaluation evaluation, EvaluateCompiled(problem, {layouts, switches}, feedback));
    apart = evaluation.gradients_apart;
    return evaluation;
  }

  // Of the step that was evaluated last, which is packed again as it is made: the other way may have been the last that
  // was.
  Evaluation Feedback() {
    ArrayChanges changes(*last);
    if (*apart) SeparateGradients(prices, *last, changes);
    PW_CHECK(Pack(*last, changes, /*with_paths=*/false).ok());
    Evaluation evaluation =
        evaluator.EvaluateWithFeedback(packer.packed(), packer.placement(), policy);
    packer.NameOrigins(evaluation.feedback->instances);
    evaluation.gradients_apart = apart;
    return evaluation;
  }

  // Whether the work of the layouts' busiest device alone takes longer.
  bool IsAbove(Nanos limit, const Layouts& layouts) {
    if (limit == Nanos(kMaxQuantity)) return false;
    if (!floor) floor.emplace(problem);
    return floor->Of(layouts) > limit;
  }

  Status Pack(ArrayWriter& writer, ArrayChanges& changes, bool with_paths) {
    if (asked.fusion > Bytes(0)) {
      // Of sums over several sets of devices, the places of these say which are joined.
      if (writer.arrays().lanes != nullptr && !SumsAreOverOneSet(writer.arrays())) {
        return MakeError(ErrorCode::kPlanInvalid, "sums of a class are joined differently");
      }
      FuseAllReduces(asked.fusion, prices, writer, changes);
    }
    const bool orders_differ =
        writer.arrays().lanes != nullptr && writer.arrays().lane_orders_differ;
    if (asked.unit_collectives && orders_differ) {
      return MakeError(ErrorCode::kPlanInvalid, "collectives of a class are joined differently");
    }
    PassOverFetching(asked, problem.graph, prices, writer, changes);
    prices.PriceNew();
    return packer.Pack(writer.arrays(), with_paths || policy == SchedulingPolicy::kCriticalPath,
                       policy == SchedulingPolicy::kProgram);
  }

  static bool SumsAreOverOneSet(const StepArrays& arrays) {
    std::optional<int32_t> known;
    for (const CollectiveId id : arrays.joined) {
      const ArrayCollective& one = arrays.collectives[id];
      if (one.request.kind != CollectiveKind::kAllReduce) continue;
      if (known.value_or(one.over) != one.over) return false;
      known = one.over;
    }
    const auto row = static_cast<size_t>(known.value_or(0));
    return !known || (!arrays.lane_orders_differ && arrays.over[row].size() == 1);
  }

  Result<Evaluation> Simulate(Nanos abandon_above, ArrayWriter& writer, ArrayChanges& changes) {
    if (stop && stop()) return MakeError(ErrorCode::kCancelled, "the step was given up");
    PW_RETURN_IF_ERROR(Pack(writer, changes, abandon_above < Nanos(kMaxQuantity)));
    Evaluation evaluation =
        evaluator.Evaluate(packer.packed(), packer.placement(), policy, abandon_above);
    if (const LaneClasses* const lanes = writer.arrays().lanes) {
      for (const DeviceId device : IdRange<DeviceId>(lanes->first.size())) {
        evaluation.devices[device.index()] = evaluation.devices[lanes->first[device].index()];
      }
      // What is over was said of first devices alone, and of a step that was given up nothing.
      evaluation.feasible = !evaluation.abandoned && evaluation.TotalOver() == Bytes(0);
    }
    if (evaluation.feasible) AddCommunicators(writer.arrays(), evaluation);
    return evaluation;
  }

  // The communication library's buffers, where a device has little left for them.
  void AddCommunicators(const StepArrays& arrays, Evaluation& evaluation) const {
    constexpr Bytes kAmple(int64_t{8} << 30);
    const auto left_on = [&](DeviceId id) {
      return problem.cluster.device(id).capacity - evaluation.devices[id.index()].peak;
    };
    std::vector<DeviceId> tight;
    for (const DeviceId id : problem.cluster.devices()) {
      if (HasContext(problem.cluster, id) && left_on(id) < kAmple) tight.push_back(id);
    }
    if (tight.empty()) return;
    const IdVector<DeviceId, LibraryUse> uses = CommunicatorsOf(arrays).On(problem.cluster);
    for (const DeviceId id : tight) {
      const Bytes over = uses[id].bytes - left_on(id);
      if (over <= Bytes(0)) continue;
      Evaluation::Device& device = evaluation.devices[id.index()];
      device.over = over;
      device.peak += uses[id].bytes;
      evaluation.feasible = false;
    }
  }

  static LibraryBuffers CommunicatorsOf(const StepArrays& arrays) {
    LibraryBuffers buffers;
    for (const CollectiveId id : arrays.joined) {
      const ArrayCollective& one = arrays.collectives[id];
      std::vector<std::vector<DeviceId>> sets = {arrays.DevicesOf(one)};
      if (one.over >= 0) sets = arrays.over[static_cast<size_t>(one.over)];
      for (std::vector<DeviceId>& devices : sets) {
        std::sort(devices.begin(), devices.end());
        buffers.AddCommunicator(std::move(devices), one.request.kind == CollectiveKind::kAllReduce);
      }
    }
    return buffers;
  }

  const LayoutProblem& problem;
  const LaneUse lane_use;
  const StopCheck stop;
  const bool suffices, separable;
  PartPrices prices;
  std::vector<Writers> writers;
  StepPacker packer;
  PackedEvaluator evaluator;
  std::optional<LayoutFloor> floor;                   // where limits are given
  ArrayWriter* last = nullptr;                        // of the last evaluation
  StepSwitches asked;                                 // of it
  SchedulingPolicy policy = SchedulingPolicy::kFifo;  // and its order
  std::optional<bool> apart;                          // of the last evaluation
  std::optional<size_t> classes;                      // of its devices
  // The last evaluation's step, if it was in lanes.
  struct InLanes {
    LaneClasses classes;
    std::unique_ptr<ArrayWriter> writer;
  };
  std::unique_ptr<InLanes> in_lanes;
};

LayoutEvaluator::LayoutEvaluator(const LayoutProblem& problem, LaneUse lanes, StopCheck stop)
    : state_(std::make_unique<State>(problem, lanes, std::move(stop))) {}
LayoutEvaluator::~LayoutEvaluator() = default;

std::optional<bool> LayoutEvaluator::gradients_apart() const { return state_->apart; }
std::optional<size_t> LayoutEvaluator::classes() const { return state_->classes; }
int64_t LayoutEvaluator::ops_repeated() const {
  return state_->in_lanes ? state_->in_lanes->writer->ops_repeated() : 0;
}
Result<Evaluation> LayoutEvaluator::Evaluate(const Layouts& layouts, const StepSwitches& switches,
                                             Nanos abandon_above) {
  return state_->Evaluate(layouts, switches, abandon_above);
}

Result<Evaluation> LayoutEvaluator::EvaluateWithFeedback(const Layouts& layouts,
                                                         const StepSwitches& switches) {
  if (!state_->suffices) return state_->Compiled(layouts, switches, /*feedback=*/true);
  PW_RETURN_IF_ERROR(state_->Evaluate(layouts, switches, Nanos(kMaxQuantity)));
  if (state_->classes)
    PW_RETURN_IF_ERROR(state_->EvaluateAll(layouts, switches, Nanos(kMaxQuantity)));
  return state_->Feedback();
}

Result<CompiledStep> LayoutEvaluator::CompileInLanes(StepPlan plan) {
  State& state = *state_;
  PW_CHECK(state.in_lanes != nullptr);
  const std::unique_ptr<State::InLanes> written = std::move(state.in_lanes);
  if (!plan.switches.gradients_apart) plan.switches.gradients_apart = state.apart;
  PW_ASSIGN(StepInLanes made,
            PrintInLanes(state.problem.graph, plan.switches, state.prices, *written->writer));
  return CompleteInLanes(state.problem, plan, std::move(made));
}

bool LayoutEvaluator::Suffices(const LayoutProblem& problem) {
  const Graph& graph = problem.graph;
  const CostOptions& options = problem.cost_options;
  if (!options.overrides.empty() || options.profile != "default") return false;
  for (const TensorId id : graph.tensors()) {
    if (SizeOf(graph.tensor(id).dtype) == 0) return false;
  }
  for (const OpId op : graph.ops()) {
    if (HandsOutViews(graph, op)) return false;
  }
  return true;
}

bool MayCompileInLanes(const LayoutProblem& problem, const StepPlan& plan) {
  const size_t devices = CountDevices(problem.cluster, plan.layouts);
  return (devices > kFewDevices || HasManyOps(problem, devices)) &&
         LayoutEvaluator::Suffices(problem);
}

Result<CompiledStep> DecideAndCompile(const LayoutProblem& problem, StepPlan plan, bool in_lanes) {
  PW_RETURN_IF_ERROR(CheckLayouts(problem.graph, problem.axes, plan.layouts, problem.cluster));
  in_lanes = in_lanes && MayCompileInLanes(problem, plan);
  if (!plan.switches.gradients_apart || in_lanes) {
    LayoutEvaluator evaluator(problem);
    // What is wrong with it the compiler says better.
    (void)evaluator.Evaluate(plan.layouts, plan.switches);
    if (in_lanes && evaluator.classes()) {
      Result<CompiledStep> compiled = evaluator.CompileInLanes(plan);
      if (compiled.ok()) return compiled;
    }
    if (!plan.switches.gradients_apart) plan.switches.gradients_apart = evaluator.gradients_apart();
  }
  return CompileStep(problem, plan);
}

}  // namespace placewright
