#include "planning/permitted_changes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/input.h"
#include "graph/graph_builder.h"
#include "planning/algorithms.h"
#include "search/evaluation/group_placement.h"
#include "search/evaluation/simulated.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A step on its cluster, planned by data parallelism in proportion to speed, or by `single`.
class PermittedChangesTest : public ::testing::Test {
 protected:
  void Prepare(Graph graph, const std::string& preset) {
    graph_.emplace(std::move(graph));
    cluster_.emplace(LoadCluster(preset, {}).Take().cluster);
    costs_.emplace(ModelCosts(*graph_, *cluster_, options_).Take());
    problem_ = BuildProblem(*graph_, *cluster_, *costs_, {}, SchedulingPolicy::kFifo).Take();
    layouts_ = LayoutProblem::Make(*graph_, *cluster_, options_, SchedulingPolicy::kFifo).Take();
    problem_.layouts = layouts_.get();
    evaluator_ = MakeSimulatedEvaluator(problem_, 1);
  }

  PlannerResult Plan(const std::string& algorithm) {
    const Algorithms algorithms;
    return algorithms.Find(algorithm).Take()->Plan(problem_, *evaluator_, {}).Take();
  }

  PermittedChanges Ask(const PlannerResult& plan, bool other_plans) {
    return FindPermittedChanges(
        {problem_, layouts_.get(), *evaluator_, options_, plan, plan.step_time, other_plans, 1});
  }

  CostOptions options_;
  std::optional<Graph> graph_;
  std::optional<Cluster> cluster_;
  std::optional<CostTable> costs_;
  Problem problem_;
  std::unique_ptr<LayoutProblem> layouts_;
  std::unique_ptr<Evaluator> evaluator_;
};

// `batch` samples through products of 512 x 512, each with a batch norm behind it if `norms`.
Graph Chain(int64_t batch, int length, bool norms) {
  GraphBuilder builder("chain", "aten");
  builder.set_batch(batch);
  TensorId x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {batch, 512}).Take();
  for (int i = 0; i < length; ++i) {
    const std::string number = std::to_string(i);
    const auto input = [&](const std::string& name, TensorKind kind, std::vector<int64_t> shape) {
      return builder.AddInput(name + number, kind, DType::kF32, std::move(shape)).Take();
    };
    OpSpec product;
    product.name = "product" + number;
    product.type = "aten.mm.default";
    product.inputs = {x, input("param:w", TensorKind::kParameter, {512, 512})};
    product.args = {Value(InputRef{0}), Value(InputRef{1})};
    product.outputs = {{.name = product.name, .shape = {batch, 512}}};
    x = builder.AddOp(std::move(product)).Take()[0];
    if (!norms) continue;
    OpSpec norm;
    norm.name = "norm" + number;
    norm.type = "aten.native_batch_norm.default";
    norm.inputs = {x, input("param:gamma", TensorKind::kParameter, {512}),
                   input("param:beta", TensorKind::kParameter, {512}),
                   input("buffer:mean", TensorKind::kBuffer, {512}),
                   input("buffer:var", TensorKind::kBuffer, {512})};
    for (int32_t k = 0; k < 5; ++k) norm.args.push_back(Value(InputRef{k}));
    for (const Value& value : {Value(true), Value(0.1), Value(1e-5)}) norm.args.push_back(value);
    norm.writes = {3, 4};
    norm.outputs = {{.name = norm.name + ":0", .shape = {batch, 512}},
                    {.name = norm.name + ":1", .shape = {512}},
                    {.name = norm.name + ":2", .shape = {512}}};
    x = builder.AddOp(std::move(norm)).Take()[0];
  }
  builder.SetOutputs({x});
  Graph graph = std::move(builder).Build().Take();
  BatchScaling laws;
  laws.sizes = {batch, batch + 1, 2 * batch + 3};
  for (const TensorId id : graph.tensors()) {
    const std::vector<int64_t>& shape = graph.tensor(id).shape;
    if (shape.front() == batch) laws.dimensions.items.push_back({0, 1});
    laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
  }
  laws.arguments.offsets.resize(graph.op_count() + 1, 0);
  Result<Graph> scaled = WithBatchScaling(std::move(graph), laws);
  if (!scaled.ok()) ADD_FAILURE() << scaled.error().ToString();
  return scaled.Take();
}

// Two cards in slots: what statistics cost is mostly that each is waited for.
TEST_F(PermittedChangesTest, LocalBatchNormsOfThePlansOwnLayouts) {
  Prepare(Chain(2048, 8, true), "2x3090");
  const PlannerResult plan = Plan("data-parallel");
  const PermittedChanges found = Ask(plan, false);
  ASSERT_THAT(found.changes, SizeIs(::testing::Ge(1U)));
  const PermittedChange& change = found.changes.front();
  EXPECT_EQ(change.option, "--batch-norm local");
  EXPECT_EQ(change.plan, "the same plan");
  EXPECT_FALSE(layouts_->local_batch_norm);  // as it was
  // What the planner comes to where it is asked for such a plan.
  layouts_->local_batch_norm = true;
  const PlannerResult local = Plan("data-parallel");
  EXPECT_EQ(change.step_time, local.step_time);
  EXPECT_LT(local.step_time, plan.step_time);
  EXPECT_DOUBLE_EQ(change.gain, static_cast<double>((plan.step_time - local.step_time).count) /
                                    static_cast<double>(plan.step_time.count));
  EXPECT_THAT(DescribePermittedChange(change),
              AllOf(HasSubstr("--batch-norm local: "), HasSubstr(FormatNanos(local.step_time)),
                    HasSubstr("DistributedDataParallel")));
  // A plan with local ones gains nothing more by them.
  for (const PermittedChange& other : Ask(local, true).changes) {
    EXPECT_NE(other.option, "--batch-norm local");
  }
}

// A plan on one card has no layouts of its own: of others the best data-parallel one is looked at, if others may be.
TEST_F(PermittedChangesTest, OtherPlansWhereTheSearchWasFree) {
  Prepare(Chain(2048, 8, true), "2x3090");
  const PlannerResult plan = Plan("single");
  const auto local_of = [](const PermittedChanges& found) {
    return std::find_if(found.changes.begin(), found.changes.end(),
                        [](const auto& change) { return change.option == "--batch-norm local"; });
  };
  const PermittedChanges alone = Ask(plan, false), free = Ask(plan, true);
  EXPECT_EQ(local_of(alone), alone.changes.end());
  ASSERT_NE(local_of(free), free.changes.end());
  EXPECT_EQ(local_of(free)->plan, "data-parallel-best");
  const PermittedChanges again = Ask(plan, true);
  EXPECT_EQ(local_of(again)->step_time, local_of(free)->step_time);
}

TEST_F(PermittedChangesTest, Tf32OfTheSamePlan) {
  Prepare(Chain(4096, 6, false), "8xA100-40GB");
  const PlannerResult plan = Plan("single");
  const PermittedChanges found = Ask(plan, true);
  ASSERT_THAT(found.changes, SizeIs(1));
  EXPECT_EQ(found.changes[0].option, "--precision tf32");
  options_.precision = FloatPrecision::kTf32;
  Prepare(Chain(4096, 6, false), "8xA100-40GB");
  const SimResult there =
      Simulator(problem_.sim_graph)
          .Run(PlacementOf(problem_, plan.plan), {SchedulingPolicy::kFifo, false, false});
  EXPECT_EQ(found.changes[0].step_time, there.step_time);
  EXPECT_THAT(Ask(Plan("single"), true).changes, IsEmpty());  // it is in TF32
}

// P100 have no TF32, and the step no batch norms.
TEST_F(PermittedChangesTest, NothingWhereNothingChanges) {
  Prepare(Chain(4096, 6, false), "2xP100-16GB");
  const PermittedChanges found = Ask(Plan("data-parallel"), true);
  EXPECT_THAT(found.changes, IsEmpty());
  EXPECT_THAT(found.notes, IsEmpty());
}

}  // namespace
}  // namespace placewright
