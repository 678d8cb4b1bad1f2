// Steps simulated in lanes (docs/simulator.md) against the same steps simulated in full.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "cost/communication/test_clusters.h"
#include "graph/batch/at_batch.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/mesh_strategies.h"
#include "search/layouts/test_layer_writer.h"
#include "sim/communication_use.h"
#include "sim/simulator.h"
#include "sim/step_in_lanes.h"

namespace placewright {
namespace {

constexpr int64_t kLaneSamples = 64, kLaneWidth = 64;

// Layers, each a product with a square weight and what it is made positive by; a loss of each sample that is averaged, or
// none; every weight has a gradient, which a momentum takes up.
class LaneLayers : private LayerWriter {
 public:
  LaneLayers(int layers, bool loss, bool in_place) : loss_(loss), in_place_(in_place) {
    for (int i = 0; i < layers; ++i) modules_.push_back("layers." + std::to_string(i));
  }

  Graph Build() {
    builder_.set_batch(kLaneSamples);
    TensorId x = Input("input:x", TensorKind::kInput, {kLaneSamples, kLaneWidth});
    std::vector<TensorId> weights, read, outputs;
    for (const std::string& module : modules_) {
      module_ = module;
      read.push_back(x);
      weights.push_back(Input("param:" + module + ".weight", TensorKind::kParameter, kSquare));
      x = Add("aten.mm.default", {x, weights.back()}, {kLaneSamples, kLaneWidth},
              AliasKind::kFresh);
      x = Add(in_place_ ? "aten.relu_.default" : "aten.relu.default", {x},
              {kLaneSamples, kLaneWidth}, in_place_ ? AliasKind::kInPlace : AliasKind::kFresh);
    }
    if (loss_) outputs.push_back(Add("aten.sum.default", {x}, {}, AliasKind::kFresh));
    phase_ = Phase::kBackward;
    TensorId g = x;
    std::vector<TensorId> gradients(modules_.size());
    for (size_t i = modules_.size(); i-- > 0;) {
      module_ = modules_[i];
      const TensorId across =
          Add("aten.t.default", {read[i]}, {kLaneWidth, kLaneSamples}, AliasKind::kView);
      gradients[i] = Add("aten.mm.default", {across, g}, kSquare, AliasKind::kFresh);
      const TensorId t = Add("aten.t.default", {weights[i]}, kSquare, AliasKind::kView);
      g = Add("aten.mm.default", {g, t}, {kLaneSamples, kLaneWidth}, AliasKind::kFresh);
    }
    phase_ = Phase::kOptimizer;
    for (size_t i = 0; i < modules_.size(); ++i) {
      module_ = modules_[i];
      const TensorId momentum =
          Input("opt_state:" + module_ + ".weight.m", TensorKind::kOptimizerState, kSquare);
      outputs.push_back(
          Add("aten.add_.Tensor", {momentum, gradients[i]}, kSquare, AliasKind::kInPlace));
      outputs.push_back(
          Add("aten.sub_.Tensor", {weights[i], outputs.back()}, kSquare, AliasKind::kInPlace));
    }
    outputs.push_back(g);
    builder_.SetOutputs(outputs);
    return Scaled(std::move(builder_).Build().Take());
  }

 private:
  const std::vector<int64_t> kSquare = {kLaneWidth, kLaneWidth};

  static Graph Scaled(Graph graph) {
    BatchScaling laws;
    laws.sizes = {kLaneSamples, kLaneSamples + 1, 2 * kLaneSamples + 3};
    for (const TensorId id : graph.tensors()) {
      const Tensor& tensor = graph.tensor(id);
      const std::vector<int64_t>& shape = tensor.shape;
      const bool weight = tensor.name.starts_with("param") || tensor.name.starts_with("opt_state");
      const bool across = shape.size() == 2 && tensor.producer.valid() &&
                          graph.op(tensor.producer).type == "aten.t.default";
      const bool square = weight || SquareOf(graph, tensor) || shape.empty();
      if (!square) laws.dimensions.items.push_back({across ? 1 : 0, 1});
      laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
    }
    laws.arguments.offsets.resize(graph.op_count() + 1, 0);
    return WithBatchScaling(std::move(graph), laws).Take();
  }
  static bool SquareOf(const Graph& graph, const Tensor& tensor) {
    if (!tensor.producer.valid()) return false;
    const Op& op = graph.op(tensor.producer);
    if (op.phase == Phase::kOptimizer) return true;
    if (op.type == "aten.t.default") {
      return !graph.tensor(op.inputs.front()).producer.valid() &&
             graph.tensor(op.inputs.front()).name.starts_with("param");
    }
    const Tensor& first = graph.tensor(op.inputs.front());
    return op.phase == Phase::kBackward && first.producer.valid() &&
           graph.op(first.producer).type == "aten.t.default" && !SquareOf(graph, first);
  }

  const bool loss_, in_place_;
  std::vector<std::string> modules_;
};

// Hosts of equal or unequal GPUs, with one or several NICs, under rule 15 or rule 18.
Cluster DrawMachines(Random& random) {
  const std::vector<const char*> kinds = {"V100-32GB", "A100-80GB", "H100", "H100"};
  const char* const kind = kinds[random.Below(kinds.size())];
  const bool cards = random.Below(3) == 0;
  const std::vector<int32_t> each = {1, 2, 4, 8};
  std::vector<int32_t> counts(1 + random.Below(4), each[random.Below(each.size())]);
  if (random.Below(5) == 0) counts.back() = each[random.Below(each.size())];
  if (counts.size() == 1 && counts.front() == 1) counts.front() = 2;
  const std::vector<int32_t> nics = {1, 2, 4};
  const bool h100 = std::string_view(kind) == "H100";
  const Interconnect joined = cards                                      ? Interconnect::kPcie3
                              : h100 || std::string_view(kind)[0] == 'A' ? Interconnect::kNvswitch
                                                                         : Interconnect::kPcie3;
  return GpuMachines(kind, counts, joined, 100'000, nics[random.Below(nics.size())]);
}

// `parts` equal intervals of the axis, and where they do not divide it, the first ones longer.
Interval PartOf(int64_t size, int64_t parts, int64_t part) {
  const auto end = [&](int64_t of) { return of * (size / parts) + std::min(of, size % parts); };
  return {end(part), end(part + 1)};
}

// The devices as a mesh of two dimensions, over each of which an axis is split or nothing is.
Layout DrawLayout(Random& random, const NamedAxes& axes, const std::vector<DeviceId>& devices) {
  const auto count = static_cast<int64_t>(devices.size());
  std::vector<int64_t> inner;
  for (int64_t n = 1; n <= count; ++n) {
    if (count % n == 0) inner.push_back(n);
  }
  const int64_t columns = inner[random.Below(inner.size())], rows = count / columns;
  const auto draw = [&](int64_t parts) {
    if (parts == 1 || random.Below(4) == 0) return AxisId();
    const AxisId axis = random.Below(3) > 0 && axes.batch().valid()
                            ? axes.batch()
                            : AxisId(random.Below(axes.axis_count()));
    return axes.axis(axis).size >= parts ? axis : AxisId();
  };
  const AxisId by_row = draw(rows), by_column = draw(columns);
  Layout layout;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<AxisInterval> box;
    if (by_row.valid()) box.push_back({by_row, PartOf(axes.axis(by_row).size, rows, i / columns)});
    if (by_column.valid() && by_column != by_row) {
      box.push_back({by_column, PartOf(axes.axis(by_column).size, columns, i % columns)});
    }
    std::sort(box.begin(), box.end());
    layout.shares.push_back({devices[static_cast<size_t>(i)], {box.begin(), box.end()}});
  }
  return layout;
}

Layout WholeOn(const std::vector<DeviceId>& devices) {
  Layout layout;
  for (const DeviceId device : devices) layout.shares.push_back({device, {}});
  return layout;
}

// Two or three layouts, by ops or, so that layers repeat, by types of ops; now and then a group is on one device, or
// stages share the devices.
StepPlan DrawPlan(Random& random, const LayoutProblem& problem) {
  const std::vector<DeviceId> gpus = GpusOf(problem.cluster);
  StepPlan plan;
  const size_t stages = gpus.size() % 2 == 0 && random.Below(4) == 0 ? 2 : 1;
  const size_t of_each = gpus.size() / stages;
  const size_t drawn = 1 + random.Below(3);
  for (size_t stage = 0; stage < stages; ++stage) {
    const std::vector<DeviceId> own(gpus.begin() + static_cast<ptrdiff_t>(stage * of_each),
                                    gpus.begin() + static_cast<ptrdiff_t>((stage + 1) * of_each));
    for (size_t i = 0; i < drawn; ++i) {
      plan.layouts.layouts.push_back(DrawLayout(random, problem.axes, own));
    }
  }
  const bool whole = random.Below(8) == 0;
  if (whole) plan.layouts.layouts.push_back(PlacedOn(gpus[random.Below(gpus.size())]));
  const size_t groups = problem.graph.group_count();
  const bool by_type = random.Below(2) == 0;
  std::map<std::string, size_t> of_type;
  IdVector<GroupId, std::string> types(groups);
  for (const OpId op : problem.graph.ops()) {
    types[problem.graph.group(op)] += std::string(problem.graph.op(op).type) + ' ';
  }
  for (size_t group = 0; group < groups; ++group) {
    const size_t stage = group * stages / groups;
    size_t choice = random.Below(drawn);
    if (by_type) choice = of_type.try_emplace(types[GroupId(group)], choice).first->second;
    size_t layout = stage * drawn + choice;
    if (whole && random.Below(6) == 0) layout = plan.layouts.layouts.size() - 1;
    plan.layouts.of_group.push_back(LayoutId(layout));
  }
  plan.switches.fusion = random.Below(3) == 0 ? Bytes(1 << (10 + random.Below(10))) : Bytes(0);
  plan.switches.broadcasts = random.Below(3) > 0;
  if (random.Below(4) == 0) plan.switches.regather = {"layers.*"};
  if (random.Below(4) == 0) plan.switches.prefetch = static_cast<int32_t>(random.Below(2));
  const std::vector<SchedulingPolicy> orders = {
      SchedulingPolicy::kFifo, SchedulingPolicy::kCriticalPath, SchedulingPolicy::kProgram};
  plan.switches.order = orders[random.Below(orders.size())];
  if (random.Below(2) == 0) plan.switches.gradients_apart = random.Below(2) == 0;
  return plan;
}

struct LaneStep {
  explicit LaneStep(Cluster machines, int layers = 3, bool loss = false, bool in_place = false)
      : graph(LaneLayers(layers, loss, in_place).Build()),
        cluster(std::move(machines)),
        problem(LayoutProblem::Make(graph, cluster, {}, SchedulingPolicy::kProgram).Take()) {}

  // In lanes as in full: to the nanosecond and to the byte. By how many classes, or none.
  std::optional<size_t> ExpectSame(const StepPlan& plan, const std::string& what) const {
    LayoutEvaluator in_full(*problem, LaneUse::kNever), in_lanes(*problem, LaneUse::kAlways);
    const Result<Evaluation> full = in_full.Evaluate(plan.layouts, plan.switches);
    const Result<Evaluation> lanes = in_lanes.Evaluate(plan.layouts, plan.switches);
    EXPECT_EQ(full.ok(), lanes.ok()) << what;
    if (!full.ok() || !lanes.ok()) return std::nullopt;
    EXPECT_EQ(full.value().step_time, lanes.value().step_time) << what;
    EXPECT_EQ(full.value().feasible, lanes.value().feasible) << what;
    EXPECT_EQ(in_full.gradients_apart(), in_lanes.gradients_apart()) << what;
    for (const DeviceId device : cluster.devices()) {
      const Evaluation::Device& one = full.value().devices[device.index()];
      const Evaluation::Device& other = lanes.value().devices[device.index()];
      EXPECT_EQ(one.peak, other.peak) << what << " " << cluster.device(device).name;
      EXPECT_EQ(one.over, other.over) << what << " " << cluster.device(device).name;
    }
    // A limit gives up the same steps.
    const Nanos limit = full.value().step_time;
    for (const Nanos at : {limit, limit - Nanos(1)}) {
      const Result<Evaluation> limited = in_lanes.Evaluate(plan.layouts, plan.switches, at);
      EXPECT_EQ(limited.ok() && limited.value().abandoned, at < limit) << what;
      const bool fits = limited.ok() && limited.value().feasible;
      EXPECT_EQ(fits, at == limit && full.value().feasible) << what;
    }
    return in_lanes.classes();
  }

  const Graph graph;
  const Cluster cluster;
  const std::unique_ptr<LayoutProblem> problem;
};

using LaneSpans = IdVector<DeviceId, std::vector<std::pair<Nanos, Nanos>>>;

// When each device begins and ends what it runs.
LaneSpans SpansOf(const CompiledStep& compiled, const Schedule& schedule, size_t devices) {
  LaneSpans spans(devices);
  for (const OpId op : compiled.step.graph.ops()) {
    if (compiled.step.graph.op(op).is_view) continue;
    spans[compiled.step.placement[op]].emplace_back(schedule.ops[op].start, schedule.ops[op].end);
  }
  for (auto& of_device : spans) std::sort(of_device.begin(), of_device.end());
  return spans;
}

SimResult Replay(const CompiledStep& compiled) {
  Simulator simulator(compiled.sim_graph);
  SimResult result = simulator.Run(compiled.step.placement,
                                   {.policy = compiled.policy, .schedule = true, .feedback = true});
  if (compiled.lanes) ExpandLanes(*compiled.lanes, result);
  return result;
}

// The step compiled in lanes, where it can be, is the step compiled in full: what devices and links do and when, what
// moves, and what ops are called.
bool ExpectSameCompiled(const LaneStep& step, StepPlan plan, const std::string& what) {
  LayoutEvaluator evaluator(*step.problem, LaneUse::kAlways);
  const Result<Evaluation> evaluated = evaluator.Evaluate(plan.layouts, plan.switches);
  if (!evaluated.ok() || !evaluator.classes()) return false;
  plan.switches.gradients_apart = evaluator.gradients_apart();
  const Result<CompiledStep> made = evaluator.CompileInLanes(plan);
  if (!made.ok()) return false;
  const CompiledStep& lanes = made.value();
  const CompiledStep full = CompileStep(*step.problem, plan).Take();
  const SimResult one = Replay(full), other = Replay(lanes);
  EXPECT_EQ(one.step_time, other.step_time) << what;
  EXPECT_EQ(one.feasible, other.feasible) << what;
  const size_t devices = step.cluster.device_count();
  const LaneSpans spans = SpansOf(full, *one.schedule, devices),
                  of_first = SpansOf(lanes, *other.schedule, devices);
  for (const DeviceId device : step.cluster.devices()) {
    const DeviceResult &a = one.devices[device.index()], &b = other.devices[device.index()];
    const std::string where = what + " " + step.cluster.device(device).name;
    EXPECT_EQ(a.tensor_peak, b.tensor_peak) << where;
    EXPECT_EQ(a.workspace, b.workspace) << where;
    EXPECT_EQ(a.peak, b.peak) << where;
    EXPECT_EQ(a.peak_time, b.peak_time) << where;
    EXPECT_EQ(a.busy, b.busy) << where;
    EXPECT_EQ(a.idle_before_transfers, b.idle_before_transfers) << where;
    EXPECT_EQ(a.ops, b.ops) << where;
    EXPECT_EQ(spans[device], of_first[lanes.lanes->first[device]]) << where;
  }
  for (const LinkId link : IdRange<LinkId>(step.cluster.link_count())) {
    const LinkResult &a = one.links[link.index()], &b = other.links[link.index()];
    const std::string where = what + " " + step.cluster.link(link).name;
    EXPECT_EQ(a.busy, b.busy) << where;
    EXPECT_EQ(a.collecting, b.collecting) << where;
    EXPECT_EQ(a.moved, b.moved) << where;
    EXPECT_EQ(a.transfers, b.transfers) << where;
    EXPECT_EQ(a.collectives, b.collectives) << where;
  }
  EXPECT_EQ(UseOfCommunication(full.step.graph, full.costs, *one.schedule),
            UseOfCommunication(lanes.step.graph, lanes.costs, *other.schedule, &*lanes.lanes))
      << what;
  for (const OpId op : lanes.step.graph.ops()) {
    if (!lanes.step.origin[op].valid()) continue;
    const OpId same = full.step.graph.FindOp(lanes.step.graph.op(op).name);
    const OpId origin = same.valid() ? full.step.origin[same] : OpId();
    EXPECT_EQ(origin, lanes.step.origin[op]) << what << " " << lanes.step.graph.op(op).name;
  }
  return true;
}

TEST(Lanes, AreTheFullCompiledStep) {
  int folded = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    Random random(seed + 1000);
    const LaneStep step(DrawMachines(random), 1 + static_cast<int>(random.Below(6)),
                        random.Below(4) == 0, random.Below(2) == 0);
    for (int i = 0; i < 3; ++i) {
      const StepPlan plan = DrawPlan(random, *step.problem);
      folded += ExpectSameCompiled(step, plan,
                                   "seed " + std::to_string(seed) + " plan " + std::to_string(i));
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(folded, 50);
}

TEST(Lanes, AreTheFullSimulation) {
  int folded = 0, evaluated = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const LaneStep step(DrawMachines(random), 1 + static_cast<int>(random.Below(6)),
                        random.Below(4) == 0, random.Below(2) == 0);
    for (int i = 0; i < 4; ++i) {
      StepPlan plan = DrawPlan(random, *step.problem);
      plan.switches.unit_collectives = i % 2 == 1;
      const auto classes =
          step.ExpectSame(plan, "seed " + std::to_string(seed) + " plan " + std::to_string(i));
      ++evaluated;
      folded += classes.has_value();
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_EQ(evaluated, 480);
  EXPECT_GT(folded, 100);
}

// What a layer does the next ones do with other tensors: most ops of many layers are written as others were.
TEST(Lanes, LayersAreWrittenAsOthersWere) {
  constexpr int kLayers = 40;
  const LaneStep step(GpuMachines("H100", {8, 8}, Interconnect::kNvswitch, 400'000, 8), kLayers,
                      /*loss=*/false, /*in_place=*/true);
  for (const MeshStrategy strategy :
       {MeshStrategy::kZero1, MeshStrategy::kZero2, MeshStrategy::kFsdp, MeshStrategy::kHsdp}) {
    const StepPlan plan = LayOutOnMesh(*step.problem, strategy).Take();
    const std::string name(NameOf(strategy));
    EXPECT_TRUE(step.ExpectSame(plan, name).has_value()) << name;
    EXPECT_TRUE(ExpectSameCompiled(step, plan, name)) << name;
    LayoutEvaluator evaluator(*step.problem, LaneUse::kAlways);
    ASSERT_TRUE(evaluator.Evaluate(plan.layouts, plan.switches).ok()) << name;
    // Of two layers of each pass all ops may be written anew.
    const auto ops = static_cast<int64_t>(step.graph.op_count());
    EXPECT_GE(evaluator.ops_repeated(), ops - ops / kLayers * 4) << name;
    EXPECT_LT(evaluator.ops_repeated(), ops) << name;
  }
}

// Of two classes of two GPUs the lanes have their parameters in different orders: what is there before the step makes
// devices differ, and finer classes are taken.
TEST(Lanes, ParametersInAnotherOrderMakeClassesFiner) {
  const LaneStep step(GpuMachines("H100", {4}, Interconnect::kNvswitch, 100'000, 4));
  StepPlan plan;
  plan.layouts.layouts = {
      SplitOver(step.problem->axes.batch(), GpusOf(step.cluster), {24, 8, 8, 24})};
  plan.layouts.of_group.assign(step.graph.group_count(), LayoutId(0));
  EXPECT_EQ(step.ExpectSame(plan, "unequal"), 3u);
}

// One device sends to a class of several: in lanes these are two members, and no copy from one device to another.
TEST(Lanes, ABroadcastToAClassIsNoCopy) {
  const LaneStep step(GpuMachines("H100", {4}, Interconnect::kNvswitch, 100'000, 4));
  const std::vector<DeviceId> gpus = GpusOf(step.cluster);
  StepPlan plan;
  plan.layouts.layouts.push_back(WholeOn(gpus));
  plan.layouts.layouts.push_back(PlacedOn(gpus.front()));
  plan.switches.broadcasts = true;
  size_t broadcasts = 0;
  for (size_t alone = 0; alone < step.graph.group_count(); ++alone) {
    plan.layouts.of_group.assign(step.graph.group_count(), LayoutId(0));
    plan.layouts.of_group[GroupId(alone)] = LayoutId(1);
    for (const SchedulingPolicy order : {SchedulingPolicy::kFifo, SchedulingPolicy::kProgram}) {
      plan.switches.order = order;
      const auto classes = step.ExpectSame(plan, "group " + std::to_string(alone));
      broadcasts += classes == std::optional<size_t>(2);
    }
  }
  EXPECT_GT(broadcasts, 4u);
}

// One class of GPUs stands for all of them, two where every second one has its NIC's other half under rule 15.
TEST(Lanes, AreFewWhereDevicesDoAlike) {
  const auto all = [](const LaneStep& step) {
    const std::vector<DeviceId> gpus = GpusOf(step.cluster);
    const int64_t each = kLaneSamples / static_cast<int64_t>(gpus.size());
    StepPlan plan;
    plan.layouts.layouts = {
        SplitOver(step.problem->axes.batch(), gpus, std::vector<int64_t>(gpus.size(), each))};
    plan.layouts.of_group.assign(step.graph.group_count(), LayoutId(0));
    return plan;
  };
  for (const char* const kind : {"H100", "A100-80GB"}) {
    const LaneStep step(GpuMachines(kind, {8, 8, 8, 8}, Interconnect::kNvswitch, 400'000, 4));
    EXPECT_EQ(step.ExpectSame(all(step), "data-parallel"), 1u) << kind;
    const StepPlan fsdp = LayOutOnMesh(*step.problem, MeshStrategy::kFsdp).Take();
    EXPECT_EQ(step.ExpectSame(fsdp, "fsdp"), 1u) << kind;
    const StepPlan hsdp = LayOutOnMesh(*step.problem, MeshStrategy::kHsdp).Take();
    const auto classes = step.ExpectSame(hsdp, "hsdp");
    ASSERT_TRUE(classes.has_value()) << kind;
    EXPECT_LE(*classes, 8u) << kind;
  }
}

// Two stages of two hosts each: gradients are summed over the links on which activations cross.
TEST(Lanes, FoldStagesOfSeveralHosts) {
  const LaneStep step(GpuMachines("H100", {8, 8, 8, 8}, Interconnect::kNvswitch, 400'000, 8));
  const std::vector<DeviceId> gpus = GpusOf(step.cluster);
  const std::vector<int64_t> each(gpus.size() / 2,
                                  2 * kLaneSamples / static_cast<int64_t>(gpus.size()));
  const auto half = gpus.begin() + static_cast<ptrdiff_t>(gpus.size() / 2);
  StepPlan plan;
  plan.layouts.layouts = {SplitOver(step.problem->axes.batch(), {gpus.begin(), half}, each),
                          SplitOver(step.problem->axes.batch(), {half, gpus.end()}, each)};
  const size_t groups = step.graph.group_count();
  for (size_t group = 0; group < groups; ++group) {
    plan.layouts.of_group.push_back(LayoutId(2 * group / groups));
  }
  EXPECT_EQ(step.ExpectSame(plan, "stages"), 2u);
  EXPECT_TRUE(ExpectSameCompiled(step, plan, "stages"));
}

// The next evaluation is as if the one that was given up had never begun.
TEST(Lanes, AStepThatIsGivenUpLeavesNothingBehind) {
  const LaneStep step(GpuMachines("H100", {4, 4}, Interconnect::kNvswitch, 400'000, 4), 80);
  const StepPlan plan = LayOutOnMesh(*step.problem, MeshStrategy::kFsdp, {}).Take();
  for (const LaneUse use : {LaneUse::kAlways, LaneUse::kNever}) {
    int64_t asked = 0, last = 0;
    const StopCheck stop = [&] { return ++asked == last; };
    LayoutEvaluator whole(*step.problem, use, stop);
    const Evaluation expected = whole.Evaluate(plan.layouts, plan.switches).Take();
    const int64_t count = asked;
    ASSERT_GE(count, 3);
    for (last = 1; last <= count; ++last) {
      asked = 0;
      LayoutEvaluator evaluator(*step.problem, use, stop);
      const Result<Evaluation> given_up = evaluator.Evaluate(plan.layouts, plan.switches);
      ASSERT_FALSE(given_up.ok());
      EXPECT_EQ(given_up.error().code, ErrorCode::kCancelled);
      const Result<Evaluation> again = evaluator.Evaluate(plan.layouts, plan.switches);
      ASSERT_TRUE(again.ok()) << again.error().message;
      EXPECT_EQ(again.value().step_time, expected.step_time);
      for (size_t i = 0; i < expected.devices.size(); ++i) {
        EXPECT_EQ(again.value().devices[i].peak, expected.devices[i].peak);
      }
    }
    last = 0;
  }
}

// Whether fetches wait is part of what is written, not only of what is made of it: plans that differ in that alone do not
// share a writer.
TEST(Lanes, PlansWithAndWithoutPrefetchAreWrittenApart) {
  const LaneStep step(GpuMachines("H100", {4}, Interconnect::kNvswitch, 400'000, 4));
  StepPlan waiting = LayOutOnMesh(*step.problem, MeshStrategy::kFsdp, {}).Take();
  waiting.switches.regather.clear();
  waiting.switches.prefetch = 1;
  StepPlan at_once = waiting;
  at_once.switches.prefetch.reset();
  LayoutEvaluator both(*step.problem, LaneUse::kNever);
  std::vector<Nanos> times;
  for (const StepPlan* const plan : {&waiting, &at_once, &waiting}) {
    LayoutEvaluator alone(*step.problem, LaneUse::kNever);
    const Evaluation expected = alone.Evaluate(plan->layouts, plan->switches).Take();
    const Evaluation found = both.Evaluate(plan->layouts, plan->switches).Take();
    EXPECT_EQ(found.step_time, expected.step_time);
    for (const DeviceId device : step.cluster.devices()) {
      EXPECT_EQ(found.devices[device.index()].peak, expected.devices[device.index()].peak);
    }
    times.push_back(expected.step_time);
  }
  EXPECT_NE(times[0], times[1]);
}

}  // namespace
}  // namespace placewright
