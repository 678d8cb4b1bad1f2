// Proofs that nothing fits, however it is split, against brute force over all layouts.
#include "search/proof/replicated_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "search/layouts/test_clusters.h"
#include "search/layouts/test_layout_optimum.h"
#include "search/layouts/test_steps.h"

namespace placewright {
namespace {

TEST(CheckNotProvenInfeasibleInParts, ProvesNothingOfWhatFits) {
  int fitting = 0, proven = 0, neither = 0;
  for (uint64_t seed = 0; fitting + proven + neither < 60; ++seed) {
    const DrawnProblem tiny(seed, true, true);
    const auto optimum = BestOfLayouts(*tiny.layouts, 400);
    if (!optimum) continue;
    const bool excluded = !CheckNotProvenInfeasibleInParts(tiny.problem).ok();
    const auto fitting_of = [](const LayoutOptimum& of) { return of.best && of.best->feasible; };
    Random random(seed);
    const bool fits = fitting_of(*optimum) || (excluded && tiny.cluster->device_count() > 2 &&
                                               fitting_of(BestOfBoxes(*tiny.layouts, 200, random)));
    EXPECT_FALSE(fits && excluded) << "seed " << seed;
    fitting += fits;
    proven += excluded;
    neither += !fits && !excluded;
  }
  EXPECT_GT(fitting, 10);
  EXPECT_GT(proven, 4);
}

// `count` parameters of `rows` times 4 MiB, each read by an op.
Graph StepOfParameters(int count, int64_t rows, const char* op_type) {
  GraphBuilder builder("parameters", "aten");
  const bool has_rule = std::string(op_type).starts_with("aten.");
  std::vector<TensorId> outputs;
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    OpSpec op{.name = "op" + number, .type = op_type};
    op.inputs = {
        builder.AddInput("param:w" + number, TensorKind::kParameter, DType::kF32, {rows, 1 << 20})
            .Take()};
    op.args = {Value(InputRef{0})};
    op.outputs = {{.name = op.name, .shape = {rows, has_rule ? 1 << 20 : 1}}};
    outputs.push_back(builder.AddOp(std::move(op)).Take()[0]);
  }
  builder.SetOutputs(outputs);
  return std::move(builder).Build().Take();
}

struct ProvenProblem {
  ProvenProblem(int count, int64_t rows, const char* op_type, Constraints constraints = {})
      : graph(StepOfParameters(count, rows, op_type)),
        cluster(TwoDevices(BytesPerSecond(1 << 30))) {
    layouts = LayoutProblem::Make(graph, cluster, CostOptions(), SchedulingPolicy::kFifo).Take();
    problem =
        BuildProblem(graph, cluster, layouts->costs, constraints, SchedulingPolicy::kFifo).Take();
    problem.layouts = layouts.get();
  }
  Status Check() const { return CheckNotProvenInfeasibleInParts(problem); }

  const Graph graph;
  const Cluster cluster;  // two devices of 256 MiB
  std::unique_ptr<LayoutProblem> layouts;
  Problem problem;
};

// 80 rows of 4 MiB twice: 640 MiB of 512 MiB. 60 rows: 480 MiB, which fit in parts.
TEST(CheckNotProvenInfeasibleInParts, CountsParametersOnce) {
  const ProvenProblem large(2, 80, "aten.relu.default"), small(2, 60, "aten.relu.default");
  const Status proven = large.Check();
  ASSERT_FALSE(proven.ok());
  EXPECT_EQ(proven.error().code, ErrorCode::kInfeasible);
  EXPECT_THAT(proven.error().message, testing::HasSubstr("need 640.0 MiB"));
  EXPECT_THAT(proven.error().remedy, testing::HasSubstr("At least 128.0 MiB"));
  EXPECT_TRUE(small.Check().ok());
}

// On one device that both are pinned to, 480 MiB do not fit.
TEST(CheckNotProvenInfeasibleInParts, RespectsPins) {
  Constraints pinned;
  pinned.pins.push_back({"*", "b"});
  const ProvenProblem small(2, 60, "aten.relu.default", pinned);
  EXPECT_THAT(small.Check().error().message, testing::HasSubstr("b offers 256.0 MiB"));
}

// An op without a rule has its parameter whole on some device, of 256 MiB: 280 MiB are too much, 240 are not; of
// one with a rule each has a part.
TEST(CheckNotProvenInfeasibleInParts, KnowsOpsThatNoAxisSplits) {
  const ProvenProblem large(1, 70, "own.op.default"), small(1, 60, "own.op.default");
  EXPECT_THAT(large.Check().error().message, testing::HasSubstr("op op0 cannot be split"));
  EXPECT_TRUE(small.Check().ok());
  EXPECT_TRUE(ProvenProblem(1, 70, "aten.relu.default").Check().ok());
}

}  // namespace
}  // namespace placewright
