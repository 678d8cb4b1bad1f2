// The checker against the simulator on compiled steps with collectives: it accepts what the simulator says,
// and no member or transfer a nanosecond earlier or later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "check_plan/checker.h"
#include "cluster/catalogue.h"
#include "compile/compiler.h"
#include "compile/step_costs.h"
#include "compiled_step.h"
#include "formats/plan/plan_json.h"
#include "sim/communication_use.h"
#include "simulated_plan.h"

namespace placewright::tests {
namespace {

// Over the first devices of the cluster, its GPUs.
PlanInputs InputsFor(const RecordedStep& recorded, const StatedLayouts& stated,
                     SchedulingPolicy policy, std::string_view preset = "4xP100") {
  PlanInputs inputs;
  inputs.cluster.cluster = MakePreset(preset).Take();
  const Cluster& cluster = inputs.cluster.cluster;
  DistributedStep step =
      Compile(*recorded.graph, *recorded.axes, stated.layouts, cluster, {}).Take();
  const Communication communication(cluster);
  inputs.costs = CostsOfStep(step, *recorded.graph, communication, {}).Take();
  SimulatedPlan simulated = Simulate(step.graph, cluster, inputs.costs, step.placement, policy);
  inputs.plan = std::move(simulated.plan);
  inputs.plan.space = PlanSpace::kReplicated;
  inputs.plan.communication = UseOfCommunication(step.graph, inputs.costs, simulated.schedule);
  inputs.plan.samples = step.graph.batch();
  inputs.graph.graph = std::move(step.graph);
  inputs.schedule = {std::move(simulated.schedule), std::move(step.placement)};
  inputs.document = PlanToJson(inputs.plan);
  return inputs;
}

std::string ScheduleVerdict(const PlanInputs& inputs) {
  const check::MaybeViolation violation = check::CheckPlan(inputs);
  return violation ? ToError(*violation).ToString() : "holds";
}

class CollectiveSchedules : public ::testing::TestWithParam<SchedulingPolicy> {};

TEST_P(CollectiveSchedules, AreThoseOfTheSimulator) {
  for (const RecordedStep& recorded : RecordedSteps()) {
    Random random(7);
    for (int i = 0; i < 5; ++i) {
      const PlanInputs inputs = InputsFor(recorded, AtRandom(recorded, 4, random), GetParam());
      EXPECT_EQ(ScheduleVerdict(inputs), "holds") << recorded.name << ", " << i;
    }
  }
}

// Rule 18: collectives share links, and ops beside them take longer. No collective ends a nanosecond earlier or
// later, and no op.
TEST_P(CollectiveSchedules, AreThoseOfTheSimulatorWhereCollectivesShare) {
  int beside = 0;
  for (const RecordedStep& recorded : RecordedSteps()) {
    Random random(7);
    for (int i = 0; i < 5; ++i) {
      PlanInputs inputs = InputsFor(recorded, AtRandom(recorded, 4, random), GetParam(), "4xH100");
      ASSERT_TRUE(inputs.cluster.cluster.collectives_share());
      EXPECT_EQ(ScheduleVerdict(inputs), "holds") << recorded.name << ", " << i;
      const Graph& graph = inputs.graph.graph;
      for (const OpId op : graph.ops()) {
        OpSpan& span = inputs.schedule.schedule.ops[op];
        const Nanos cost = inputs.costs.time(op, inputs.schedule.placement[op]);
        if (graph.op(op).is_view || span.end.count - span.start.count <= cost.count) continue;
        if (!graph.collective_of(op).valid()) ++beside;
        if (i > 0) continue;
        ++span.end.count;
        EXPECT_THAT(ScheduleVerdict(inputs), ::testing::HasSubstr("duration")) << graph.op(op).name;
        --span.end.count;
      }
    }
  }
  EXPECT_GT(beside, 0);
}

TEST_P(CollectiveSchedules, AndNoOthers) {
  const RecordedStep recorded = std::move(RecordedSteps().front());
  const std::string& samples = recorded.axes->axis(AxisId(0)).name;
  ASSERT_EQ(recorded.axes->axis(AxisId(0)).size, 6);
  PlanInputs inputs = InputsFor(recorded, ForAll(recorded, samples, {3, 2, 1}), GetParam());
  ASSERT_EQ(ScheduleVerdict(inputs), "holds");
  for (CommunicationUse& use : inputs.plan.communication) {
    ++use.count;
    EXPECT_THAT(ScheduleVerdict(inputs), ::testing::HasSubstr("communication: "));
    --use.count;
  }
  const Graph& graph = inputs.graph.graph;
  ASSERT_GT(graph.collective_count(), 1u);
  for (const CollectiveId id : graph.collectives()) {
    const auto move_all = [&](int64_t by) {
      for (const OpId member : graph.collective(id).members) {
        inputs.schedule.schedule.ops[member].start.count += by;
        inputs.schedule.schedule.ops[member].end.count += by;
      }
    };
    for (const int64_t by : {-1, 1}) {
      move_all(by);
      EXPECT_NE(ScheduleVerdict(inputs), "holds") << graph.collective(id).name;
      move_all(-by);
      OpSpan& one = inputs.schedule.schedule.ops[graph.collective(id).members.back()];
      for (Nanos* const time : {&one.start, &one.end}) {
        time->count += by;
        EXPECT_NE(ScheduleVerdict(inputs), "holds") << graph.collective(id).name;
        time->count -= by;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, CollectiveSchedules, ::testing::ValuesIn(kSchedulingPolicies),
                         [](const auto& policy) {
                           return policy.param == SchedulingPolicy::kFifo      ? "Fifo"
                                  : policy.param == SchedulingPolicy::kProgram ? "Program"
                                                                               : "CriticalPath";
                         });

}  // namespace
}  // namespace placewright::tests
