#include "search/layouts/gradient_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/catalogue.h"
#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"
#include "planning/plan_words.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/layout_search.h"
#include "search/layouts/test_specs.h"
#include "search/layouts/test_tiny_steps.h"
#include "search/problem/problem.h"

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr int64_t kBatch = 4;

// A step whose ops are stated one by one.
class SummedStep {
 public:
  SummedStep() { builder_.set_batch(kBatch); }

  TensorId Input(const std::string& name, TensorKind kind, std::vector<int64_t> shape,
                 int32_t batch = -1) {
    samples_.push_back({batch, rows_});
    return builder_.AddInput(name, kind, DType::kF32, std::move(shape)).Take();
  }
  // `batch`: its dimension of samples, or -1.
  TensorId Op(const std::string& name, const char* type, std::vector<TensorId> inputs,
              std::vector<int64_t> shape, int32_t batch, Phase phase = Phase::kBackward) {
    OpSpec op{.name = name, .type = type};
    op.phase = phase;
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape)}};
    if (phase == Phase::kOptimizer) op.outputs[0].alias = AliasKind::kInPlace;
    if (phase == Phase::kOptimizer) op.outputs[0].alias_of = 0;
    samples_.push_back({batch, rows_});
    return builder_.AddOp(std::move(op)).Take()[0];
  }
  // Of a weight [width, width] that reads so many rows of every sample: its product, and behind all of it its
  // gradient.
  TensorId Product(const std::string& name, TensorId weight, int64_t width, int64_t rows = 1) {
    rows_ = rows;
    const TensorId x = Input("input:" + name, TensorKind::kInput, {rows * kBatch, width}, 0);
    return Op(name, "aten.mm.default", {x, weight}, {rows * kBatch, width}, 0, Phase::kForward);
  }
  TensorId Gradient(const std::string& name, TensorId of, int64_t width, int64_t rows = 1) {
    rows_ = rows;
    const TensorId across = Input("input:t" + name, TensorKind::kInput, {width, rows * kBatch}, 1);
    return Op(name, "aten.mm.default", {across, of}, {width, width}, -1);
  }
  TensorId Sum(const std::string& name, TensorId a, TensorId b, int64_t width) {
    return Op(name, "aten.add.Tensor", {a, b}, {width, width}, -1);
  }
  void Update(const std::string& name, TensorId weight, TensorId gradient, int64_t width) {
    outputs_.push_back(
        Op(name, "aten.sub_.Tensor", {weight, gradient}, {width, width}, -1, Phase::kOptimizer));
  }

  void Build(const std::string& cluster_name) {
    builder_.SetOutputs(outputs_);
    Graph plain = std::move(builder_).Build().Take();
    BatchScaling laws;
    laws.sizes = {kBatch, kBatch + 1, 2 * kBatch + 3};
    for (const TensorId id : plain.tensors()) {
      const auto& [batch, rows] = samples_.at(id.index());
      if (batch >= 0) laws.dimensions.items.push_back({batch, rows});
      laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
    }
    laws.arguments.offsets.resize(plain.op_count() + 1, 0);
    graph = std::make_unique<const Graph>(WithBatchScaling(std::move(plain), laws).Take());
    cluster = std::make_unique<const Cluster>(MakePreset(cluster_name).Take());
    layouts = LayoutProblem::Make(*graph, *cluster, CostOptions(), SchedulingPolicy::kFifo).Take();
  }
  std::vector<std::string> Summands(size_t max_groups = 8) const {
    std::vector<std::string> names;
    for (const GroupId group : GroupsOfSummands(*layouts, max_groups)) {
      for (const OpId op : graph->ops()) {
        if (graph->group(op) == group) names.push_back(graph->op(op).name);
      }
    }
    return names;
  }

  std::unique_ptr<const Graph> graph;
  std::unique_ptr<const Cluster> cluster;
  std::unique_ptr<LayoutProblem> layouts;

 private:
  GraphBuilder builder_{"step", "aten"};
  int64_t rows_ = 1;
  std::vector<std::pair<int32_t, int64_t>>
      samples_;  // by tensor: the dimension, rows of each sample
  std::vector<TensorId> outputs_;
};

// Two weights, the second of which is larger, each read twice or three times.
TEST(GradientSums, AreOfWhatIsReadMoreThanOnce) {
  SummedStep step;
  const TensorId w = step.Input("param:w", TensorKind::kParameter, {8, 8});
  const TensorId v = step.Input("param:v", TensorKind::kParameter, {16, 16});
  const TensorId once = step.Input("param:once", TensorKind::kParameter, {32, 32});
  const TensorId w0 = step.Product("w0", w, 8), w1 = step.Product("w1", w, 8);
  const TensorId v0 = step.Product("v0", v, 16), v1 = step.Product("v1", v, 16),
                 v2 = step.Product("v2", v, 16);
  const TensorId o = step.Product("o", once, 32);
  // Activations are summed, too.
  step.Op("both", "aten.add.Tensor", {w0, w1}, {kBatch, 8}, 0);
  const TensorId gv0 = step.Gradient("gv0", v0, 16), gv1 = step.Gradient("gv1", v1, 16);
  const TensorId v01 = step.Sum("v01", gv0, gv1, 16);
  const TensorId gw0 = step.Gradient("gw0", w0, 8), gw1 = step.Gradient("gw1", w1, 8);
  const TensorId w01 = step.Sum("w01", gw0, gw1, 8);
  const TensorId v012 = step.Sum("v012", v01, step.Gradient("gv2", v2, 16), 16);
  // What is added is no sum over samples; what is multiplied is no sum.
  const TensorId decay = step.Op("decay", "aten.mul.Tensor", {w, w}, {8, 8}, -1);
  step.Op("squares", "aten.mul.Tensor", {gw0, gw1}, {8, 8}, -1);
  step.Update("update w", w, step.Sum("decayed", w01, decay, 8), 8);
  step.Update("update v", v, v012, 16);
  step.Update("update once", once, step.Gradient("go", o, 32), 32);
  step.Build("4xP100");
  // Of v what its last sum adds; the larger weight first.
  EXPECT_THAT(step.Summands(), ElementsAre("gv2", "gw0", "gw1"));
  EXPECT_THAT(step.Summands(2), ElementsAre("gv2", "gw0"));
  EXPECT_THAT(step.Summands(0), IsEmpty());
}

// One summand is there before a chain of products, the other behind it.
TEST(GradientSums, AreCompletedBesideOtherWorkWhereTheSearchFindsThat) {
  constexpr int64_t kWidth = 1024, kRows = 2048;
  SummedStep step;
  const TensorId w = step.Input("param:w", TensorKind::kParameter, {kWidth, kWidth});
  const TensorId u = step.Input("param:u", TensorKind::kParameter, {kWidth, kWidth});
  // Of so many rows a gradient is smaller than what it is made of.
  const TensorId many = step.Product("many", w, kWidth, kRows);
  const TensorId first = step.Gradient("first", many, kWidth, kRows);
  TensorId x = step.Product("few", w, kWidth);
  for (int i = 0; i < 40; ++i) {
    x = step.Op("chain" + std::to_string(i), "aten.mm.default", {x, u}, {kBatch, kWidth}, 0);
  }
  const TensorId last = step.Gradient("last", x, kWidth);
  step.Update("update", w, step.Sum("sum", first, last, kWidth), kWidth);
  step.Build("4xP100");
  EXPECT_THAT(step.Summands(), UnorderedElementsAre("first", "last"));

  Problem problem = BuildProblem(*step.graph, *step.cluster, step.layouts->costs, Constraints(),
                                 SchedulingPolicy::kFifo)
                        .Take();
  problem.layouts = step.layouts.get();
  DistributionSpec split;
  split.layouts = {{"*", GroupId(), "batch", {{"*gpu*", {}}}, LayoutOption::kAllReduce}};
  const Nanos before = EvaluateSpec(*step.layouts, split).Take().step_time;
  Nanos beside = before;
  for (const GroupId group : GroupsOfSummands(*step.layouts, 2)) {
    DistributionSpec spec = split;
    spec.layouts.push_back({"", group, "", {{"*gpu*", {}}}, LayoutOption::kDuplicate});
    beside = std::min(beside, EvaluateSpec(*step.layouts, spec).Take().step_time);
  }
  EXPECT_LT(beside, before);
  PlannerOptions options;
  options.budget.iterations = 1;
  options.starts = {ResolvePlan(*step.layouts, split).Take()};
  const PlannerResult found = SearchTiny(problem, options);
  EXPECT_LE(found.step_time, beside);
}

}  // namespace
}  // namespace placewright
