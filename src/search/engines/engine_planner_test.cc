#include "search/engines/engine_planner.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "search/evaluation/simulated.h"
#include "search/layouts/test_steps.h"
#include "search/layouts/test_tiny_steps.h"

namespace placewright {
namespace {

Result<PlannerResult> PlanFor(TrainingEngine engine, const LayeredProblem& tiny) {
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
  return EnginePlanner(engine).Plan(tiny.problem, *evaluator, {});
}

// Six devices of up to six kinds. One set of devices for all, which divides the batch; parts are equal.
TEST(EnginePlanner, PlansAreThoseThatTheEngineCanSay) {
  int several = 0, in_parts = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const TrainingEngine engine : {TrainingEngine::kDdp, TrainingEngine::kFsdp2}) {
      SCOPED_TRACE(seed);
      Random random(seed);
      Graph graph = TinyStep(random, 2);
      const LayeredProblem tiny(std::move(graph), DrawCluster(random, 6, 1 << 28));
      const LayoutProblem& problem = *tiny.problem.layouts;
      const Result<PlannerResult> planned = PlanFor(engine, tiny);
      ASSERT_TRUE(planned.ok()) << planned.error().ToString();
      const std::vector<Layout>& layouts = planned.value().plan.layouts.layouts;
      const std::vector<DeviceId> devices = DevicesOf(layouts.front());
      if (devices.size() == 1) continue;
      ++several;
      EXPECT_EQ(problem.axes.samples() % static_cast<int64_t>(devices.size()), 0);
      std::set<AxisId> axes;
      for (const Layout& layout : layouts) {
        EXPECT_EQ(DevicesOf(layout), devices);
        axes.insert(layout.axis());
        const std::vector<int64_t> lengths = LengthsOf(layout);
        EXPECT_EQ(std::set<int64_t>(lengths.begin(), lengths.end()).size(), 1U);
      }
      EXPECT_TRUE(axes.contains(problem.axes.batch()));
      EXPECT_TRUE(engine == TrainingEngine::kFsdp2 || axes.size() == 1);
      in_parts += axes.size() > 1 ? 1 : 0;
      EXPECT_EQ(planned.value().plan.switches.gradients_apart, false);
    }
  }
  EXPECT_GT(several, 20);
  EXPECT_GT(in_parts, 5);
}

// What the search ends with is no slower than all units on, and than each unit turned the other way.
TEST(EnginePlanner, NoUnitTurnedAloneIsBetter) {
  int turned = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Graph graph = TinyStep(random, 2);
    const LayeredProblem tiny(std::move(graph), DrawCluster(random, 2, 1 << 28));
    const LayoutProblem& problem = *tiny.problem.layouts;
    const PlannerResult result = PlanFor(TrainingEngine::kFsdp2, tiny).Take();
    const std::vector<DeviceId> devices = DevicesOf(result.plan.layouts.layouts.front());
    if (devices.size() == 1) continue;
    const std::vector<EngineUnit> units = UnitsOf(TrainingEngine::kFsdp2, problem, devices.size());
    if (units.empty()) continue;
    const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
    std::vector<bool> on;
    for (const EngineUnit& unit : units) {
      const auto& [group, axis] = unit.splits.front();
      on.push_back(result.plan.layouts.Of(group).axis() == axis);
    }
    for (size_t i = 0; i <= units.size(); ++i) {
      std::vector<bool> other = i < units.size() ? on : std::vector<bool>(units.size(), true);
      if (i < units.size()) other[i] = !other[i];
      if (other == std::vector<bool>(units.size(), false)) continue;
      const Evaluation evaluation =
          evaluator->EvaluatePlan(PlanOf(TrainingEngine::kFsdp2, problem, devices, units, other))
              .Take();
      EXPECT_GE(evaluation.step_time, result.step_time);
      ++turned;
    }
  }
  EXPECT_GT(turned, 20);
}

}  // namespace
}  // namespace placewright
