#include "search/sfb/sfb_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/batch/batch_scaling.h"
#include "graph/graph_builder.h"
#include "planning/plan_words.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/test_clusters.h"
#include "search/layouts/test_specs.h"
#include "search/sfb/group_programs.h"
#include "search/sfb/replicated_step.h"
#include "search/sfb/shared_cut.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

// A batch of 4: y = x w, of which relu(y) stands for the gradient; dw = x^T relu(y); w -= dw. x [4 64], w [64 64].
class SfbLayer {
 public:
  Graph Build() {
    builder_.set_batch(4);
    const TensorId x =
        builder_.AddInput("input:x", TensorKind::kInput, DType::kF32, {4, 64}).Take();
    const TensorId w =
        builder_.AddInput("param:w", TensorKind::kParameter, DType::kF32, {64, 64}).Take();
    const TensorId y = Add("y", "aten.mm.default", {x, w}, {4, 64}, Phase::kForward);
    const TensorId dy = Add("dy", "aten.relu.default", {y}, {4, 64}, Phase::kBackward);
    const TensorId xt = Add("xt", "aten.t.default", {x}, {64, 4}, Phase::kBackward, true);
    const TensorId dw = Add("dw", "aten.mm.default", {xt, dy}, {64, 64}, Phase::kBackward);
    builder_.SetOutputs({Add("w1", "aten.sub_.Tensor", {w, dw}, {64, 64}, Phase::kOptimizer)});
    Graph graph = std::move(builder_).Build().Take();
    BatchScaling laws;
    laws.sizes = {4, 5, 7};
    for (const TensorId id : graph.tensors()) {
      const std::string& name = graph.tensor(id).name;
      if (name == "input:x" || name == "y" || name == "dy") laws.dimensions.items.push_back({0, 1});
      if (name == "xt") laws.dimensions.items.push_back({1, 1});
      laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
    }
    laws.arguments.offsets.resize(graph.op_count() + 1, 0);
    return WithBatchScaling(std::move(graph), laws).Take();
  }

 private:
  TensorId Add(std::string name, std::string type, std::vector<TensorId> inputs,
               std::vector<int64_t> shape, Phase phase, bool view = false) {
    OpSpec op{.name = name, .type = std::move(type), .phase = phase};
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape)}};
    if (view) op.outputs[0].alias = AliasKind::kView;
    if (phase == Phase::kOptimizer) op.outputs[0].alias = AliasKind::kInPlace;
    if (view || phase == Phase::kOptimizer) op.outputs[0].alias_of = 0;
    return builder_.AddOp(std::move(op)).Take()[0];
  }

  GraphBuilder builder_{"layer", "aten"};
};

class SfbSearchTest : public ::testing::Test {
 protected:
  void Make(int64_t bytes_per_second, LayoutOption option) {
    cluster_ = std::make_unique<Cluster>(TwoDevices(BytesPerSecond(bytes_per_second)));
    problem_ =
        LayoutProblem::Make(graph_, *cluster_, CostOptions(), SchedulingPolicy::kFifo).Take();
    LayoutSpec all;
    all.groups = "*";
    all.axis = "batch";
    all.devices = {{"a", {}}, {"b", {}}};
    all.option = option;
    DistributionSpec spec;
    spec.layouts = {all};
    plan_ = ResolvePlan(*problem_, spec).Take();
    whole_ = BuildProblem(graph_, *cluster_, problem_->costs, {}, SchedulingPolicy::kFifo).Take();
    whole_.layouts = problem_.get();
    evaluator_ = MakeSimulatedEvaluator(whole_);
  }

  ReplicatedStep StepOf() const {
    const CompiledStep compiled = DecideAndCompile(*problem_, plan_).Take();
    std::vector<ReplicatedStep> steps =
        FindReplicatedSteps(*problem_, plan_.layouts, false, InstancesOf(compiled));
    EXPECT_EQ(steps.size(), 1U);
    return std::move(steps[0]);
  }

  std::vector<std::string> NamesOf(const std::vector<OpId>& ops) const {
    std::vector<std::string> names;
    for (const OpId op : ops) names.push_back(graph_.op(op).name);
    return names;
  }

  int64_t OpsOfType(const StepPlan& plan, const std::string& type) const {
    const CompiledStep compiled = DecideAndCompile(*problem_, plan).Take();
    int64_t count = 0;
    for (const OpId op : compiled.step.graph.ops()) {
      count += compiled.step.graph.op(op).type == type ? 1 : 0;
    }
    return count;
  }

  const Graph graph_ = SfbLayer().Build();
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<LayoutProblem> problem_;
  StepPlan plan_;
  Problem whole_;
  std::unique_ptr<Evaluator> evaluator_;
};

// Nodes: y, dy, dw and the view of x. dw is a sum of 64 * 64 * 4 B that the update needs whole.
TEST_F(SfbSearchTest, SeesWhatReplicasExchange) {
  Make(1 << 20, LayoutOption::kAllReduce);
  const ReplicatedStep step = StepOf();
  EXPECT_EQ(step.nodes.size(), 4U);
  ASSERT_EQ(step.gradients.size(), 1U);
  const ReplicatedStep::Tensor& gradient = step.tensors[step.gradients[0]];
  EXPECT_TRUE(gradient.sum);
  EXPECT_TRUE(gradient.completed);
  EXPECT_EQ(gradient.whole, Bytes(16384));
  EXPECT_EQ(gradient.slice, Bytes(16384));
  EXPECT_EQ(step.nodes[static_cast<size_t>(gradient.from)].group,
            graph_.group(graph_.FindOp("dw")));
  EXPECT_EQ(gradient.updates, graph_.group(graph_.FindOp("w1")));
  EXPECT_FALSE(step.servers);
}

// With 2^20 B/s: S = 2 * 1/2 * 16,384 B = 15.625 ms. The slice of y (or dy) has 512 B, which go twice: 976,563 ns;
// but x is an input, which every device has, and everything can be computed from x: T alone is paid.
TEST_F(SfbSearchTest, PaperModeIsThePrintedProgram) {
  Make(1 << 20, LayoutOption::kAllReduce);
  const ReplicatedStep step = StepOf();
  GroupPrograms programs(step, IdVector<GroupId, int32_t>(graph_.group_count(), 0),
                         BottleneckOf(*cluster_, step.devices));
  const GroupProgram& one = programs.Make(0);
  EXPECT_EQ(one.program.Synchronisation(), 15'625'000'000);
  EXPECT_EQ(one.program.times.size(), 4U);
  int64_t times = 0;
  for (const Nanos time : one.program.times) times += time.count * 1000;
  SfbSolver solver;
  EXPECT_EQ(solver.Solve(one.program).objective, times - 15'625'000'000);

  // With y in another op group the factor y or dy is paid, which are as large: dy, whose op is not computed twice
  // then. 2 * 512 B / 2^20 B/s = 976,562,500 ps.
  IdVector<GroupId, int32_t> parts(graph_.group_count(), 0);
  parts[graph_.group(graph_.FindOp("y"))] = 1;
  GroupPrograms apart(step, parts, BottleneckOf(*cluster_, step.devices));
  const GroupProgram& without = apart.Make(0);
  ASSERT_EQ(without.program.times.size(), 3U);
  const auto of_dw = static_cast<size_t>(without.program.gradient);
  EXPECT_EQ(solver.Solve(without.program).objective,
            without.program.times[of_dw].count * 1000 + 976'562'500 - 15'625'000'000);
}

TEST_F(SfbSearchTest, RecomputesOverSlowLinks) {
  Make(1 << 20, LayoutOption::kAllReduce);
  for (const SfbMode mode : {SfbMode::kCut, SfbMode::kPaper}) {
    const Result<SfbResult> applied = ApplySfb(*problem_, *evaluator_, plan_, mode);
    ASSERT_TRUE(applied.ok()) << applied.error().ToString();
    const SfbResult& result = applied.value();
    EXPECT_EQ(result.gradients, 1);
    EXPECT_EQ(result.from_factors, 1);
    EXPECT_THAT(NamesOf(result.duplicated), ::testing::Contains("dw"));
    EXPECT_LT(result.after.step_time, result.before.step_time);
    EXPECT_EQ(EvaluateCompiled(*problem_, result.plan).Take().step_time, result.after.step_time);
    EXPECT_EQ(OpsOfType(plan_, "placewright.all_reduce.default"), 2);
    EXPECT_EQ(OpsOfType(result.plan, "placewright.all_reduce.default"), 0);
  }
}

// The parameter is updated on both devices then: nothing is pushed, nothing pulled.
TEST_F(SfbSearchTest, ServersGiveTheirParametersAway) {
  Make(1 << 20, LayoutOption::kParameterServer);
  EXPECT_TRUE(StepOf().servers);
  const SfbResult result = ApplySfb(*problem_, *evaluator_, plan_, SfbMode::kCut).Take();
  EXPECT_EQ(result.from_factors, 1);
  const Layout& of_parameter = result.plan.layouts.Of(graph_.group(graph_.FindOp("w1")));
  EXPECT_EQ(of_parameter.shares.size(), 2U);
  EXPECT_FALSE(of_parameter.axis().valid());
  EXPECT_LT(result.after.step_time, result.before.step_time);
}

// Over links of 2^50 B/s nothing is gained: the layouts stay as they are.
TEST_F(SfbSearchTest, LeavesFastLinksAlone) {
  Make(int64_t{1} << 50, LayoutOption::kAllReduce);
  const SfbResult result = ApplySfb(*problem_, *evaluator_, plan_, SfbMode::kCut).Take();
  EXPECT_EQ(result.from_factors, 0);
  EXPECT_EQ(result.plan, plan_);
  EXPECT_EQ(result.after.step_time, result.before.step_time);
}

// Three gradients of 4,000 B are made of one x of 6,000 B (3,000 B on each device) that ops outside make. Over
// 10^9 B/s and 10 ns an AllReduce of B bytes over two devices takes 2 (10 + B / 2) ns, an AllGather 10 + B / 2 ns.
ReplicatedStep ThreeReadersOf(int64_t bytes) {
  ReplicatedStep step;
  step.devices = {DeviceId(0), DeviceId(1)};
  ReplicatedStep::Tensor x;
  x.whole = Bytes(bytes);
  x.slice = Bytes(bytes / 2);
  x.readers = {0, 1, 2};
  step.tensors.push_back(x);
  for (int32_t i = 0; i < 3; ++i) {
    step.nodes.push_back({GroupId(i), Nanos(100), Nanos(200), false});
    ReplicatedStep::Tensor gradient;
    gradient.from = i;
    gradient.whole = gradient.slice = Bytes(4000);
    gradient.sum = gradient.completed = true;
    gradient.updates = GroupId(10 + i);
    step.gradients.push_back(step.tensors.size());
    step.tensors.push_back(gradient);
  }
  return step;
}

// An AllReduce takes 4,020 ns, the gather of 12,000 B 6,010: one reader alone would not pay it. All three gain
// 3 * (4,020 - 100) - 6,010 = 5,750 ns.
TEST(SharedCut, PaysATensorOnce) {
  const Cluster cluster = TwoDevices(BytesPerSecond(1'000'000'000));
  const Communication communication(cluster);
  const std::vector<CutPiece> pieces =
      CutForAllGradients(ThreeReadersOf(12000), communication).Take();
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_THAT(pieces[0].nodes, ElementsAre(0, 1, 2));
  EXPECT_EQ(pieces[0].gain, 5750);
}

// 24,000 B: 12,010 ns are more than 3 * 3,920.
TEST(SharedCut, LeavesWhatDoesNotPay) {
  const Cluster cluster = TwoDevices(BytesPerSecond(1'000'000'000));
  const Communication communication(cluster);
  EXPECT_TRUE(CutForAllGradients(ThreeReadersOf(24000), communication).Take().empty());
}

// What all devices need whole anyway costs its readers nothing, and they have nothing in common.
TEST(SharedCut, WhatIsWholeAlreadyIsFree) {
  const Cluster cluster = TwoDevices(BytesPerSecond(1'000'000'000));
  const Communication communication(cluster);
  ReplicatedStep step = ThreeReadersOf(24000);
  step.tensors[0].completed = true;
  const std::vector<CutPiece> pieces = CutForAllGradients(step, communication).Take();
  ASSERT_EQ(pieces.size(), 3U);
  for (const CutPiece& piece : pieces) EXPECT_EQ(piece.gain, 3920);
}

// 1 adds up what 0 makes: if 0 is duplicated, 1 is, too, with what it costs.
TEST(SharedCut, AddersGoWithWhatTheyAdd) {
  const Cluster cluster = TwoDevices(BytesPerSecond(1'000'000'000));
  const Communication communication(cluster);
  ReplicatedStep step = ThreeReadersOf(2000);
  step.tensors[1].adders = {1};
  step.nodes[1].whole = Nanos(10'000);  // 9,900 more, of which its own gradient saves 4,020
  step.tensors[0].readers = {0, 2};
  const std::vector<CutPiece> pieces = CutForAllGradients(step, communication).Take();
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_THAT(pieces[0].nodes, ElementsAre(2));
  step.nodes[1].pinned = true;
  step.nodes[1].whole = Nanos(100);
  EXPECT_THAT(CutForAllGradients(step, communication).Take()[0].nodes, ElementsAre(2));
}

}  // namespace
}  // namespace placewright
