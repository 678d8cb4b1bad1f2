// The checker against the simulator on random steps: it accepts what the simulator says, and
// nothing that differs from it by one nanosecond or byte.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "../simulator/random_step.h"
#include "check_plan/checker.h"
#include "formats/plan_json.h"
#include "simulated_plan.h"

namespace placewright::tests {
namespace {

PlanInputs MakeInputs(uint64_t seed, Order order) {
  TinyProblem problem = RandomStep(seed).Make();
  SimulatedPlan simulated =
      Simulate(problem.graph, problem.cluster, problem.costs, problem.placement, order);
  PlanInputs inputs;
  inputs.graph.graph = std::move(problem.graph);
  inputs.cluster.cluster = std::move(problem.cluster);
  inputs.costs = std::move(problem.costs);
  inputs.plan = std::move(simulated.plan);
  inputs.schedule = {std::move(simulated.schedule), std::move(problem.placement)};
  inputs.document = PlanToJson(inputs.plan);
  return inputs;
}

std::string VerdictOn(const PlanInputs& inputs) {
  const check::MaybeViolation violation = check::CheckPlan(inputs);
  return violation ? ToError(*violation).ToString() : "holds";
}

class CheckerOnRandomSteps : public ::testing::TestWithParam<Order> {};

TEST_P(CheckerOnRandomSteps, AcceptsWhatTheSimulatorSays) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    ASSERT_EQ(VerdictOn(MakeInputs(seed, GetParam())), "holds") << "seed " << seed;
  }
}

TEST_P(CheckerOnRandomSteps, RefusesEveryOtherSchedule) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    PlanInputs inputs = MakeInputs(seed, GetParam());
    Schedule& schedule = inputs.schedule.schedule;
    const auto refuses = [&](Nanos& a, Nanos& b, int64_t change) {
      a.count += change;
      if (&a != &b) b.count += change;
      EXPECT_NE(VerdictOn(inputs), "holds") << "seed " << seed;
      a.count -= change;
      if (&a != &b) b.count -= change;
    };
    for (OpSpan& span : schedule.ops) {
      for (int64_t change : {-1, 1}) {
        refuses(span.start, span.end, change);
        refuses(span.start, span.start, change);
        refuses(span.end, span.end, change);
      }
    }
    for (TransferSpan& span : schedule.transfers) {
      for (int64_t change : {-1, 1}) {
        refuses(span.start, span.end, change);
        refuses(span.ready, span.ready, change);
      }
    }
  }
}

// One number of the plan at a time, its digest made anew: what has a meaning is still refused.
TEST_P(CheckerOnRandomSteps, RefusesEveryOtherFigureEvenUnderAFreshDigest) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    PlanInputs inputs = MakeInputs(seed, GetParam());
    const auto refuses = [&](auto& number) {
      const auto before = number;
      for (int change : {-1, 1}) {
        number = before;
        number = number + static_cast<decltype(number + 0)>(change);
        inputs.document = PlanToJson(inputs.plan);
        EXPECT_NE(VerdictOn(inputs), "holds") << "seed " << seed;
      }
      number = before;
    };
    refuses(inputs.plan.step_time.count);
    refuses(inputs.plan.share_given);
    refuses(inputs.plan.share_modelled);
    for (DeviceUse& use : inputs.plan.devices) {
      refuses(use.busy);
      refuses(use.ops);
      refuses(use.capacity.count);
      for (Bytes* bytes :
           {&use.peak_memory, &use.tensor_peak, &use.workspace, &use.runtime_context}) {
        refuses(bytes->count);
      }
    }
    if (inputs.plan.feasible) refuses(inputs.plan.history.back().step_time.count);
    inputs.plan.feasible = !inputs.plan.feasible;
    inputs.document = PlanToJson(inputs.plan);
    EXPECT_NE(VerdictOn(inputs), "holds") << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, CheckerOnRandomSteps,
                         ::testing::Values(Order::kFifo, Order::kCriticalPath),
                         [](const auto& order) {
                           return order.param == Order::kFifo ? "Fifo" : "CriticalPath";
                         });

}  // namespace
}  // namespace placewright::tests
