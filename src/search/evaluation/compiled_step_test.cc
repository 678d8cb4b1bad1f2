#include "search/evaluation/compiled_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "planning/plan_words.h"
#include "search/evaluation/simulated.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/layout_state.h"
#include "search/layouts/test_clusters.h"
#include "search/layouts/test_specs.h"
#include "search/layouts/test_steps.h"

namespace placewright {
namespace {

Value Sizes(std::vector<int64_t> sizes) {
  Value::List list;
  for (const int64_t size : sizes) list.push_back(Value(size));
  return Value(list);
}

// The gradients of a convolution's input x [8 16 9 9] and weight: that of x goes through 20 ops, by the other
// one the weight is updated.
Graph GradientsOfConvolution() {
  GraphBuilder builder("convolution", "aten");
  const auto input = [&](const char* name, TensorKind kind, std::vector<int64_t> shape) {
    return builder.AddInput(name, kind, DType::kF32, std::move(shape)).Take();
  };
  const auto add = [&](std::string name, std::string type, std::vector<TensorId> inputs,
                       std::vector<int64_t> shape, Phase phase) {
    OpSpec op{.name = name, .type = std::move(type), .phase = phase};
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape)}};
    if (phase == Phase::kOptimizer) op.outputs[0].alias = AliasKind::kInPlace;
    if (phase == Phase::kOptimizer) op.outputs[0].alias_of = 0;
    return builder.AddOp(std::move(op)).Take()[0];
  };
  const TensorId x = input("input:x", TensorKind::kInput, {8, 16, 9, 9});
  const TensorId g = input("input:g", TensorKind::kInput, {8, 32, 9, 9});
  const TensorId w = input("param:w", TensorKind::kParameter, {32, 16, 1, 1});
  OpSpec back{.name = "back", .type = "aten.convolution_backward.default"};
  back.phase = Phase::kBackward;
  back.inputs = {g, x, w};
  for (int32_t i = 0; i < 3; ++i) back.args.push_back(Value(InputRef{i}));
  back.args.insert(back.args.end(), {Value(), Sizes({1, 1}), Sizes({0, 0}), Sizes({1, 1}),
                                     Value(false), Sizes({0, 0}), Value(int64_t{1}),
                                     Value(Value::List{Value(true), Value(true), Value(false)})});
  back.outputs = {{.name = "back:0", .shape = {8, 16, 9, 9}},
                  {.name = "back:1", .shape = {32, 16, 1, 1}}};
  const std::vector<TensorId> made = builder.AddOp(std::move(back)).Take();
  TensorId on = made[0];
  for (int i = 0; i < 20; ++i) {
    const std::string name = "relu" + std::to_string(i);
    on = add(name, "aten.relu.default", {on}, {8, 16, 9, 9}, Phase::kBackward);
  }
  builder.SetOutputs(
      {on, add("w1", "aten.sub_.Tensor", {w, made[1]}, {32, 16, 1, 1}, Phase::kOptimizer)});
  return std::move(builder).Build().Take();
}

// By the samples.
DistributionSpec Split() {
  DistributionSpec spec;
  LayoutSpec all;
  all.groups = "*";
  all.axis = "input:x[0]";
  all.devices = {{"a", {}}, {"b", {}}};
  all.option = LayoutOption::kAllReduce;
  spec.layouts = {all};
  return spec;
}

CompiledStep CompiledOver(const Graph& graph, const Cluster& cluster) {
  const auto problem =
      LayoutProblem::Make(graph, cluster, CostOptions(), SchedulingPolicy::kFifo).Take();
  return CompileSpec(*problem, Split()).Take();
}

// Over slow links the step waits for the weight's gradient, which is sooner there if it is made first.
TEST(CompileStep, MakesGradientsApartWhereThatIsFaster) {
  const Graph graph = GradientsOfConvolution();
  const Cluster slow = TwoDevices(BytesPerSecond(1 << 20));
  const CompiledStep step = CompiledOver(graph, slow);
  const OpId first = step.step.graph.FindOp("back.weight@a");
  ASSERT_TRUE(first.valid());
  EXPECT_EQ(step.step.graph.op(step.step.graph.FindOp("back.input@a")).after,
            std::vector<OpId>{first});
}

// Over fast ones it waits for what is made of the input's gradient: nothing is gained.
TEST(CompileStep, MakesThemTogetherWhereItIsNot) {
  const Graph graph = GradientsOfConvolution();
  const Cluster fast = TwoDevices(BytesPerSecond(int64_t{1} << 40));
  EXPECT_TRUE(CompiledOver(graph, fast).step.graph.FindOp("back@a").valid());
}

// A plan's order comes before the problem's; of plans that split ops, and of placed ones with and without layouts.
TEST(StepPlan, MayStateTheOrder) {
  int differ = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const DrawnProblem tiny(seed);
    const auto by_path = LayoutProblem::Make(*tiny.graph, *tiny.cluster, CostOptions(),
                                             SchedulingPolicy::kCriticalPath)
                             .Take();
    const Problem whole = BuildProblem(*tiny.graph, *tiny.cluster, by_path->costs, {},
                                       SchedulingPolicy::kCriticalPath)
                              .Take();
    Problem fifo =
        BuildProblem(*tiny.graph, *tiny.cluster, by_path->costs, {}, SchedulingPolicy::kFifo)
            .Take();
    const auto placed = MakeSimulatedEvaluator(fifo, 1);
    const auto placed_by_path = MakeSimulatedEvaluator(whole, 1);
    Random random(seed);
    for (int i = 0; i < 5; ++i) {
      StepPlan plan;
      for (const GroupId group : IdRange<GroupId>(tiny.layouts->graph.group_count())) {
        const DeviceId device(random.Below(tiny.cluster->device_count()));
        plan.layouts.of_group.push_back(LayoutId(group.index()));
        plan.layouts.layouts.push_back(PlacedOn(device));
      }
      StepPlan stated = plan;
      stated.switches.order = SchedulingPolicy::kCriticalPath;
      const Nanos time = EvaluateCompiled(*by_path, plan).Take().step_time;
      EXPECT_EQ(EvaluateCompiled(*tiny.layouts, stated).Take().step_time, time);
      LayoutEvaluator evaluator(*tiny.layouts);
      EXPECT_EQ(evaluator.Evaluate(stated.layouts, stated.switches).Take().step_time, time);
      EXPECT_EQ(placed->EvaluatePlan(stated).Take().step_time,
                placed_by_path->EvaluatePlan(plan).Take().step_time);
      differ += evaluator.Evaluate(plan.layouts, plan.switches).Take().step_time != time;
    }
  }
  EXPECT_GT(differ, 10);
}

// y waits for a view of what z has made, and v, a view that y reads, for z: in arrays as in the graph.
TEST(LayoutEvaluator, WaitsForViews) {
  for (const bool of_view : {true, false}) {
    GraphBuilder builder("views", "aten");
    const auto add = [&](std::string name, std::string type, TensorId read, std::string after) {
      OpSpec op{.name = name, .type = std::move(type), .inputs = {read}};
      op.args = {Value(InputRef{0})};
      op.outputs = {{.name = name, .shape = {64, 64}}};
      if (op.type == "aten.t.default") {
        op.outputs[0].alias = AliasKind::kView;
        op.outputs[0].alias_of = 0;
      }
      if (!after.empty()) op.after = {std::move(after)};
      return builder.AddOp(std::move(op)).Take()[0];
    };
    const TensorId x =
        builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {64, 64}).Take();
    const TensorId slow = add("slow", "aten.exp.default", x, "");
    const TensorId z = add("z", "aten.relu.default", slow, "");
    add("shown", "aten.t.default", z, "");
    const TensorId a = add("a", "aten.relu.default", x, "");
    const TensorId v = add("v", "aten.t.default", a, of_view ? "z" : "");
    builder.SetOutputs({z, add("y", "aten.relu.default", v, of_view ? "" : "shown")});
    const Graph graph = std::move(builder).Build().Take();
    const Cluster cluster = TwoDevices(BytesPerSecond(1 << 20));
    const auto problem =
        LayoutProblem::Make(graph, cluster, CostOptions(), SchedulingPolicy::kFifo).Take();
    StepPlan plan;
    plan.layouts.layouts = {PlacedOn(DeviceId(0)), PlacedOn(DeviceId(1))};
    plan.layouts.of_group = IdVector<GroupId, LayoutId>(problem->graph.group_count(), LayoutId(0));
    for (const char* op : {"a", "v", "y"}) {
      plan.layouts.of_group[problem->graph.group(problem->graph.FindOp(op))] = LayoutId(1);
    }
    ASSERT_TRUE(LayoutEvaluator::Suffices(*problem));
    LayoutEvaluator evaluator(*problem);
    const Evaluation fast = evaluator.EvaluateWithFeedback(plan.layouts, plan.switches).Take();
    EXPECT_EQ(fast.step_time, EvaluateCompiled(*problem, plan).Take().step_time);
    const auto instance = [&](const char* op) {
      const OpId id = problem->graph.FindOp(op);
      return *std::find_if(fast.feedback->instances.begin(), fast.feedback->instances.end(),
                           [&](const auto& one) { return one.origin == id; });
    };
    EXPECT_EQ(instance("y").start, instance("z").end);
  }
}

TEST(EvaluatePlans, RefuseLayoutsThatNothingComputes) {
  const Graph graph = GradientsOfConvolution();
  const Cluster cluster = TwoDevices(BytesPerSecond(1 << 20));
  const auto layouts =
      LayoutProblem::Make(graph, cluster, CostOptions(), SchedulingPolicy::kFifo).Take();
  Problem problem =
      BuildProblem(graph, cluster, layouts->costs, {}, SchedulingPolicy::kFifo).Take();
  problem.layouts = layouts.get();
  const auto evaluator = MakeSimulatedEvaluator(problem, 1);
  const StepPlan right = ResolvePlan(*layouts, Split()).Take();
  StepPlan wrong = right;
  for (Layout& layout : wrong.layouts.layouts) layout.shares.front().box = {};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(evaluator->EvaluatePlan(wrong).error().code, ErrorCode::kField);
    EXPECT_TRUE(evaluator->EvaluatePlan(right).ok());
  }
}

// However its gradients are made, with buckets, and after other steps.
TEST(LayoutEvaluator, KnowsTheInstancesOfTheStep) {
  const Graph graph = GradientsOfConvolution();
  for (const bool apart : {true, false}) {
    const Cluster cluster = TwoDevices(BytesPerSecond(int64_t{1} << (apart ? 20 : 40)));
    const auto problem =
        LayoutProblem::Make(graph, cluster, CostOptions(), SchedulingPolicy::kFifo).Take();
    LayoutBook book;
    const LayoutState state = StateOf(*problem, ResolvePlan(*problem, Split()).Take(), book);
    LayoutEvaluator evaluator(*problem);
    LayoutState placed = state, bucket = state;
    bucket.switches.fusion = Bytes(1 << 20);
    for (LayoutId& id : placed.of_group) id = book.Add(PlacedOn(DeviceId(0)));
    for (const LayoutState& one : {state, placed, bucket, state}) {
      ASSERT_TRUE(evaluator.Evaluate(book.With(one.of_group), one.switches).ok());
      ASSERT_TRUE(evaluator.gradients_apart().has_value());
      const bool is_apart = *evaluator.gradients_apart();
      EXPECT_EQ(is_apart, apart && !(one == placed));
      StepPlan decided{book.With(one.of_group), one.switches};
      decided.switches.gradients_apart = is_apart;
      const CompiledStep compiled = CompileStep(*problem, decided).Take();
      std::vector<Feedback::Instance> expected = InstancesOf(compiled);
      std::vector<Feedback::Instance> instances =
          evaluator.EvaluateWithFeedback(book.With(one.of_group), one.switches)
              .Take()
              .feedback->instances;
      for (std::vector<Feedback::Instance>* of : {&expected, &instances}) {
        std::erase_if(*of, [](const auto& instance) { return !instance.origin.valid(); });
        std::sort(of->begin(), of->end());
      }
      EXPECT_TRUE(instances == expected);
      // The two gradients, 20 ops, the update.
      EXPECT_EQ(instances.size(), ((is_apart ? 2U : 1U) + 20U + 1U) * (one == placed ? 1U : 2U));
      ASSERT_TRUE(evaluator.Evaluate(book.With(one.of_group), one.switches, Nanos(1)).ok());
      EXPECT_FALSE(evaluator.gradients_apart().has_value());
    }
  }
}

}  // namespace
}  // namespace placewright
