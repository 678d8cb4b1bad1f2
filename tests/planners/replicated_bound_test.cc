// The bound of plans that may split or copy ops on recorded training steps: never above what compiled steps
// take, and what it rests on, the floors of ops' times, never above what their instances take.
#include "search/proof/replicated_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "cluster/catalogue.h"
#include "compile/drawn_layouts.h"
#include "cost/cost_model.h"
#include "formats/input.h"
#include "search/evaluation/simulated.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/floors/part_floors.h"
#include "search/proof/replicated_memory.h"

namespace placewright::tests {
namespace {

// Of steps that are compiled in a second or two.
constexpr size_t kMaxOps = 6000;

std::vector<std::string> RecordedSteps() {
  std::vector<std::string> paths = {PLACEWRIGHT_SOURCE_DIR
                                    "/examples/tiny_transformer_adam.json.gz"};
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(PLACEWRIGHT_SHARED_DATA "/fx", ignored)) {
    if (entry.path().extension() == ".gz") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Layout DrawSplit(const LayoutProblem& problem, AxisId axis, Random& random) {
  const NamedAxis& named = problem.axes.axis(axis);
  const int64_t devices = static_cast<int64_t>(problem.cluster.device_count());
  const int64_t count =
      std::min(named.size, 1 + static_cast<int64_t>(random.Below(static_cast<uint64_t>(devices))));
  std::vector<DeviceId> some;
  for (int64_t i = 0; i < count; ++i) some.push_back(DeviceId(static_cast<size_t>(i)));
  return SplitOver(axis, some, RandomLengths(random, some.size(), named.size));
}

// One axis for all groups: any mixture of several would mostly move data.
Layouts DrawLayouts(const LayoutProblem& problem, AxisId axis, Random& random) {
  Layouts layouts;
  layouts.layouts.push_back(DrawSplit(problem, axis, random));
  layouts.layouts.push_back(PlacedOn(DeviceId(random.Below(problem.cluster.device_count()))));
  for (size_t g = 0; g < problem.graph.group_count(); ++g) {
    layouts.of_group.push_back(LayoutId(random.Below(8) == 0 ? size_t{1} : size_t{0}));
  }
  return layouts;
}

void ExpectNoLessThanFloors(const LayoutProblem& problem, const CompiledStep& compiled) {
  const PartFloors floors(problem);
  const Graph& step = compiled.step.graph;
  IdVector<OpId, double> shares(problem.graph.op_count(), 0);
  for (const OpId op : step.ops()) {
    const OpId origin = compiled.step.origin[op];
    if (!origin.valid()) continue;
    const DeviceId device = compiled.step.placement[op];
    const int64_t time = compiled.costs.time(op, device).count;
    const int64_t whole = floors.Whole(origin, device);
    shares[origin] += whole == 0 ? 1 : static_cast<double>(time) / static_cast<double>(whole);
  }
  for (const OpId op : problem.graph.ops()) {
    EXPECT_GE(shares[op], 1 - 1e-9)
        << problem.graph.op(op).name << " " << problem.graph.op(op).type;
  }
}

void CheckStep(const std::string& path, const char* preset) {
  SCOPED_TRACE(path + " on " + preset);
  Result<LoadedGraph> read = LoadGraph(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const LoadedGraph loaded = read.Take();
  if (loaded.graph.op_count() > kMaxOps) return;
  const Cluster cluster = MakePreset(preset).Take();
  auto made = LayoutProblem::Make(loaded.graph, cluster, CostOptions(), SchedulingPolicy::kFifo);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const std::unique_ptr<LayoutProblem> layouts = made.Take();
  const CostTable costs = ModelCosts(loaded.graph, cluster, {}).Take();
  Problem problem = BuildProblem(loaded.graph, cluster, costs, {}, SchedulingPolicy::kFifo).Take();
  problem.layouts = layouts.get();
  const Bound bound = ReplicatedLowerBound(problem).value();
  const bool excluded = !CheckNotProvenInfeasibleInParts(problem).ok();
  Random random(1);
  int compared = 0;
  for (int i = 0; i < 4; ++i) {
    const AxisId axis = i == 0 && layouts->axes.batch().valid()
                            ? layouts->axes.batch()
                            : AxisId(random.Below(layouts->axes.axis_count()));
    const Result<CompiledStep> compiled =
        DecideAndCompile(*layouts, {DrawLayouts(*layouts, axis, random), {}});
    if (!compiled.ok()) continue;
    ++compared;
    const Evaluation evaluation = EvaluateStep(compiled.value());
    EXPECT_LE(bound.value, evaluation.step_time);
    EXPECT_FALSE(evaluation.feasible && excluded);
    ExpectNoLessThanFloors(*layouts, compiled.value());
  }
  EXPECT_GT(compared, 0);
}

TEST(ReplicatedLowerBound, IsNeverAboveLayoutsOfRecordedSteps) {
  for (const std::string& path : RecordedSteps()) CheckStep(path, "4xP100");
}

}  // namespace
}  // namespace placewright::tests
