#include "search/layouts/feeders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/catalogue.h"
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

// A chain of products, all of which are joined and multiplied by a wide weight, as are the last by itself, and one row.
struct JoinedStep {
  static constexpr int64_t kRows = 64, kWidth = 1024, kWords = 32768;
  static constexpr int kSteps = 40;

  JoinedStep() {
    GraphBuilder builder("step", "aten");
    const auto input = [&](const char* name, std::vector<int64_t> shape) {
      return builder.AddInput(name, TensorKind::kParameter, DType::kF32, std::move(shape)).Take();
    };
    const auto add = [&](const std::string& name, const char* type, std::vector<TensorId> inputs,
                         std::vector<Value> args, std::vector<int64_t> shape) {
      OpSpec op{.name = name, .type = type};
      op.inputs = std::move(inputs);
      op.args = std::move(args);
      op.outputs = {{.name = name, .shape = std::move(shape)}};
      return builder.AddOp(std::move(op)).Take()[0];
    };
    const auto two = [] { return std::vector<Value>{Value(InputRef{0}), Value(InputRef{1})}; };
    const TensorId u = input("param:u", {kWidth, kWidth});
    const TensorId words = input("param:words", {kWidth, kWords});
    TensorId x = input("param:x", {kRows, kWidth});
    std::vector<TensorId> states;
    Value::List list;
    for (int i = 0; i < kSteps; ++i) {
      x = add("state" + std::to_string(i), "aten.mm.default", {x, u}, two(), {kRows, kWidth});
      states.push_back(x);
      list.push_back(Value(InputRef{i}));
    }
    const TensorId joined =
        add("joined", "aten.cat.default", states, {Value(std::move(list)), Value(int64_t{0})},
            {kSteps * kRows, kWidth});
    const TensorId one =
        add("one", "aten.mm.default", {input("param:one", {1, kWidth}), u}, two(), {1, kWidth});
    builder.SetOutputs(
        {add("scores", "aten.mm.default", {joined, words}, two(), {kSteps * kRows, kWords}),
         add("last scores", "aten.mm.default", {x, words}, two(), {kRows, kWords}),
         add("one score", "aten.mm.default", {one, words}, two(), {1, kWords})});
    graph = std::make_unique<const Graph>(std::move(builder).Build().Take());
    cluster = std::make_unique<const Cluster>(MakePreset("dgx-a100").Take());
    layouts = LayoutProblem::Make(*graph, *cluster, CostOptions(), SchedulingPolicy::kFifo).Take();
    problem = BuildProblem(*graph, *cluster, layouts->costs, Constraints(), SchedulingPolicy::kFifo)
                  .Take();
    problem.layouts = layouts.get();
  }

  GroupId GroupOf(const char* op) const { return graph->group(graph->FindOp(op)); }
  // Scores in parts of the words, all else on one device.
  DistributionSpec Split() const {
    DistributionSpec spec;
    spec.layouts = {{"*", GroupId(), "", {{"host0/gpu0", {}}}, LayoutOption::kPlace}};
    for (const char* const scores : {"scores", "last scores", "one score"}) {
      spec.layouts.push_back(
          {"", GroupOf(scores), "param:words[1]", {{"*gpu*", {}}}, LayoutOption::kAllReduce});
    }
    return spec;
  }

  std::unique_ptr<const Graph> graph;
  std::unique_ptr<const Cluster> cluster;
  std::unique_ptr<LayoutProblem> layouts;
  Problem problem;
};

TEST(Feeders, AreOnOneDeviceAndReadOnSeveral) {
  const JoinedStep step;
  LayoutBook book;
  const auto feeders = [&](const DistributionSpec& spec, size_t max) {
    const LayoutState state = StateOf(*step.layouts, ResolvePlan(*step.layouts, spec).Take(), book);
    std::vector<GroupId> groups;
    for (const Feeder& feeder : FeedersOf(*step.layouts, book, state, max)) {
      EXPECT_EQ(book[feeder.read_by].shares.size(), 8u);
      groups.push_back(feeder.group);
    }
    return groups;
  };
  DistributionSpec spec = step.Split();
  // The larger first, and not one row.
  EXPECT_THAT(feeders(spec, 8), ElementsAre(step.GroupOf("joined"), step.GroupOf("state39")));
  EXPECT_THAT(feeders(spec, 1), ElementsAre(step.GroupOf("joined")));
  EXPECT_THAT(feeders(spec, 0), IsEmpty());
  spec.layouts.push_back(
      {"", step.GroupOf("joined"), "", {{"*gpu*", {}}}, LayoutOption::kDuplicate});
  std::vector<GroupId> states = feeders(spec, 100);
  // The last state is read by two layouts.
  EXPECT_EQ(states.size(), static_cast<size_t>(JoinedStep::kSteps) + 1);
  EXPECT_EQ(std::count(states.begin(), states.end(), step.GroupOf("state7")), 1);
  spec.layouts.resize(1);
  EXPECT_THAT(feeders(spec, 8), IsEmpty());
}

TEST(Feeders, AreComputedOnAllDevicesWhereTheSearchFindsThat) {
  const JoinedStep step;
  DistributionSpec everywhere = step.Split();
  everywhere.layouts.push_back(
      {"", step.GroupOf("joined"), "", {{"*gpu*", {}}}, LayoutOption::kDuplicate});
  const Nanos before = EvaluateSpec(*step.layouts, step.Split()).Take().step_time;
  const Nanos after = EvaluateSpec(*step.layouts, everywhere).Take().step_time;
  EXPECT_LT(after, before);
  PlannerOptions options;
  options.budget.iterations = 1;
  options.starts = {ResolvePlan(*step.layouts, step.Split()).Take()};
  const PlannerResult found = SearchTiny(step.problem, options);
  EXPECT_LE(found.step_time, after);
}

}  // namespace
}  // namespace placewright
