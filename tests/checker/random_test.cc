// The checker against the simulator on random steps: it accepts what the simulator says, and
// nothing that differs from it by one nanosecond or byte.
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "../simulator/random_step.h"
#include "check_plan/checker.h"
#include "formats/plan/plan_json.h"
#include "simulated_plan.h"

namespace placewright::tests {
namespace {

PlanInputs MakeInputs(uint64_t seed, SchedulingPolicy policy) {
  TinyProblem problem = RandomStep(seed).Make();
  SimulatedPlan simulated =
      Simulate(problem.graph, problem.cluster, problem.costs, problem.placement, policy);
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

class CheckerOnRandomSteps : public ::testing::TestWithParam<SchedulingPolicy> {};

TEST_P(CheckerOnRandomSteps, AcceptsWhatTheSimulatorSays) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    ASSERT_EQ(VerdictOn(MakeInputs(seed, GetParam())), "holds") << "seed " << seed;
  }
}

TEST_P(CheckerOnRandomSteps, RejectsEveryOtherSchedule) {
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
TEST_P(CheckerOnRandomSteps, RejectsEveryOtherFigureEvenUnderAFreshDigest) {
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

// Whatever a forged file may state within the readers' limits: a verdict, never a crash.
TEST_P(CheckerOnRandomSteps, AlwaysComesToAVerdict) {
  constexpr int64_t kTimes[] = {0, 1, 100, kMaxQuantity - 1, kMaxQuantity};
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    PlanInputs inputs = MakeInputs(seed, GetParam());
    Random random(seed);
    const auto time = [&] { return Nanos(kTimes[random.Below(std::size(kTimes))]); };
    const size_t devices = inputs.cluster.cluster.device_count();
    const auto device = [&] { return DeviceId(random.Below(devices)); };
    std::vector<TransferSpan>& transfers = inputs.schedule.schedule.transfers;
    for (int change = 0; change < 4; ++change) {
      const OpId op(random.Below(inputs.graph.graph.op_count()));
      OpSpan& span = inputs.schedule.schedule.ops[op];
      switch (random.Below(6)) {
        case 0: span.start = time(); break;
        case 1: span = {time(), time()}; break;
        case 2: {
          // A cost and everything that follows at once, so that later checks are reached, too.
          const Nanos cost = time();
          inputs.costs.SetTime(op, inputs.schedule.placement[op], cost);
          span.end = Nanos(SaturatingAdd(span.start.count, cost.count));
          break;
        }
        case 3:
          inputs.schedule.placement[op] = device();
          inputs.plan.placement[op.index()].second =
              inputs.cluster.cluster.device(inputs.schedule.placement[op]).name;
          break;
        case 4:
          if (!transfers.empty()) transfers.push_back(transfers[random.Below(transfers.size())]);
          break;
        default:
          if (transfers.empty()) break;
          transfers[random.Below(transfers.size())].start = time();
          transfers[random.Below(transfers.size())].to = device();
      }
    }
    EXPECT_FALSE(VerdictOn(inputs).empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, CheckerOnRandomSteps, ::testing::ValuesIn(kSchedulingPolicies),
                         [](const auto& policy) {
                           return policy.param == SchedulingPolicy::kFifo      ? "Fifo"
                                  : policy.param == SchedulingPolicy::kProgram ? "Program"
                                                                               : "CriticalPath";
                         });

}  // namespace
}  // namespace placewright::tests
