// Incremental simulation against full simulation, along random walks over placements.
#include "sim/incremental.h"

#include <gtest/gtest.h>

#include "random_step.h"
#include "seeds.h"
#include "sim/synthetic_step.h"

namespace placewright {
namespace {

// All ops of one or two colocation groups to random devices.
std::vector<OpMove> RandomMoves(RandomStep& random, const TinyProblem& problem) {
  std::vector<OpMove> moves;
  const int32_t groups = static_cast<int32_t>(problem.graph.group_count());
  const int32_t first = random.Draw(groups), second = random.Draw(groups);
  const int32_t devices = static_cast<int32_t>(problem.cluster.device_count());
  for (int32_t group : {first, second}) {
    if (group == second && second == first && !moves.empty()) break;
    const DeviceId device(random.Draw(devices));
    for (OpId op : problem.graph.ops()) {
      if (problem.graph.group(op) == GroupId(group)) moves.push_back({op, device});
    }
    if (random.Draw(2) == 0) break;
  }
  return moves;
}

void ExpectSame(const SimResult& actual, const SimResult& expected) {
  ASSERT_EQ(actual.step_time, expected.step_time);
  ASSERT_EQ(actual.feasible, expected.feasible);
  ASSERT_FALSE(actual.abandoned);
  for (size_t d = 0; d < expected.devices.size(); ++d) {
    const DeviceResult &a = actual.devices[d], &e = expected.devices[d];
    ASSERT_EQ(a.tensor_peak, e.tensor_peak) << "device " << d;
    ASSERT_EQ(a.peak_time, e.peak_time) << "device " << d;
    ASSERT_EQ(a.busy, e.busy) << "device " << d;
    ASSERT_EQ(a.ops, e.ops) << "device " << d;
    ASSERT_EQ(a.over, e.over) << "device " << d;
  }
}

void Walk(RandomStep& random, const TinyProblem& problem, SchedulingPolicy policy) {
  IncrementalSimulator incremental(problem.sim_graph, policy);
  Simulator full(problem.sim_graph);
  SimOptions options;
  options.policy = policy;
  ExpectSame(incremental.SetIncumbent(problem.placement), full.Run(problem.placement, options));
  Placement incumbent = problem.placement;
  for (int step = 0; step < 12; ++step) {
    const std::vector<OpMove> moves = RandomMoves(random, problem);
    Placement moved = incumbent;
    for (const OpMove& move : moves) moved[move.op] = move.device;
    const SimResult expected = full.Run(moved, options);
    if (random.Draw(3) == 0) {
      const Nanos limit(random.Draw(2 * static_cast<int32_t>(expected.step_time.count) + 2));
      ASSERT_EQ(incremental.Try(moves, limit).abandoned, expected.step_time > limit);
    } else {
      ExpectSame(incremental.Try(moves), expected);
    }
    if (testing::Test::HasFatalFailure()) return;
    if (random.Draw(3) > 0) continue;
    incremental.Accept();
    incumbent = moved;
    ASSERT_EQ(incremental.incumbent(), incumbent);
    ExpectSame(incremental.incumbent_result(), expected);
  }
}

TEST(IncrementalSimulator, EqualsFullSimulationInFifoOrder) {
  for (uint64_t seed = 0; seed < SeedsOf(1500); ++seed) {
    SCOPED_TRACE(seed);
    RandomStep random(seed);
    Walk(random, random.Make(), SchedulingPolicy::kFifo);
    if (HasFatalFailure()) return;
  }
}

TEST(IncrementalSimulator, EqualsFullSimulationInCriticalPathOrder) {
  for (uint64_t seed = 0; seed < SeedsOf(1500); ++seed) {
    SCOPED_TRACE(seed);
    RandomStep random(seed);
    Walk(random, random.Make(), SchedulingPolicy::kCriticalPath);
    if (HasFatalFailure()) return;
  }
}

TEST(IncrementalSimulator, EqualsFullSimulationInTheProgramsOrder) {
  for (uint64_t seed = 0; seed < SeedsOf(1500); ++seed) {
    SCOPED_TRACE(seed);
    RandomStep random(seed);
    Walk(random, random.Make(), SchedulingPolicy::kProgram);
    if (HasFatalFailure()) return;
  }
}

// Long enough for all the states that are kept, each of which leaves out what is over.
TEST(IncrementalSimulator, EqualsFullSimulationOnLargerSteps) {
  SyntheticStep step = MakeSyntheticStep({.ops = 2000, .devices = 6});
  SimGraph sim_graph = BuildSimGraph(step.graph, step.cluster, step.costs);
  const Placement placements[] = {ContiguousPlacement(step), RandomPlacement(step)};
  TinyProblem problem{std::move(step.graph),
                      std::move(step.cluster),
                      std::move(step.costs),
                      {},
                      std::move(sim_graph)};
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    problem.placement = placements[seed % 2];
    RandomStep random(seed);
    Walk(random, problem, kSchedulingPolicies[seed / 2 % kSchedulingPolicies.size()]);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace placewright
