// The simulator against the reference, on random steps.
#include <gtest/gtest.h>

#include "random_step.h"
#include "reference_simulator.h"
#include "seeds.h"
#include "sim/batch.h"
#include "sim/bottlenecks.h"
#include "sim/peak_items.h"
#include "sim/synthetic_step.h"

namespace placewright {
namespace {

const uint64_t kCases = SeedsOf(1500);

void ExpectEqualRuns(const TinyProblem& problem, SchedulingPolicy policy,
                     const Sequences& sequences = {}) {
  ReferenceSimulator reference(problem.graph, problem.cluster, problem.costs, problem.placement,
                               policy, sequences);
  reference.Run();
  Simulator simulator(problem.sim_graph);
  SimOptions options;
  options.policy = policy;
  options.sequences = &sequences;
  options.schedule = false;  // the loop without records
  const SimResult unrecorded = simulator.Run(problem.placement, options);
  options.schedule = true;
  const SimResult& result = simulator.Run(problem.placement, options);
  ASSERT_EQ(result.stuck, reference.StuckOp());
  if (result.stuck.valid()) return;
  ASSERT_EQ(result.step_time.count, reference.step_time);
  ASSERT_EQ(unrecorded.step_time, result.step_time);
  for (size_t d = 0; d < result.devices.size(); ++d) {
    ASSERT_EQ(unrecorded.devices[d].tensor_peak, result.devices[d].tensor_peak) << "device " << d;
    ASSERT_EQ(unrecorded.devices[d].peak_time, result.devices[d].peak_time) << "device " << d;
    ASSERT_EQ(unrecorded.devices[d].busy, result.devices[d].busy) << "device " << d;
    ASSERT_EQ(result.devices[d].tensor_peak.count, reference.peak[d]) << "device " << d;
    ASSERT_EQ(result.devices[d].peak_time.count, reference.peak_time[d]) << "device " << d;
  }
  for (OpId op : problem.graph.ops()) {
    const OpSpan& span = result.schedule->ops[op];
    if (problem.graph.op(op).is_view) {
      ASSERT_EQ(span.start.count, reference.ViewEnd(op)) << problem.graph.op(op).name;
      ASSERT_EQ(span.end, span.start);
      continue;
    }
    ASSERT_EQ(span.start.count, reference.ops[op.value()].start) << problem.graph.op(op).name;
    ASSERT_EQ(span.end.count, reference.ops[op.value()].end) << problem.graph.op(op).name;
  }
  ASSERT_EQ(result.schedule->transfers.size(), reference.transfers.size());
  for (const TransferSpan& span : result.schedule->transfers) {
    const auto it = reference.transfers.find(
        {{span.storage.value(), span.version, span.offset.count, span.length.count},
         span.to.value()});
    ASSERT_NE(it, reference.transfers.end());
    ASSERT_EQ(span.ready.count, it->second.ready);
    ASSERT_EQ(span.start.count, it->second.start);
    ASSERT_EQ(span.end.count, it->second.end);
  }
}

// With many devices far more transfers are under way than small steps ever have.
TEST(SimulatorProperty, EqualsTheReferenceOnLargerSteps) {
  for (const int32_t devices : {3, 16}) {
    SCOPED_TRACE(devices);
    SyntheticStep step =
        MakeSyntheticStep({.ops = static_cast<int32_t>(SeedsOf(360)), .devices = devices});
    const Placement random = RandomPlacement(step), contiguous = ContiguousPlacement(step);
    SimGraph sim_graph = BuildSimGraph(step.graph, step.cluster, step.costs);
    TinyProblem problem{std::move(step.graph), std::move(step.cluster), std::move(step.costs),
                        random, std::move(sim_graph)};
    ExpectEqualRuns(problem, SchedulingPolicy::kFifo);
    ExpectEqualRuns(problem, SchedulingPolicy::kCriticalPath);
    ExpectEqualRuns(problem, SchedulingPolicy::kProgram);
    problem.placement = contiguous;
    ExpectEqualRuns(problem, SchedulingPolicy::kFifo);
    ExpectEqualRuns(problem, SchedulingPolicy::kProgram);
    if (HasFatalFailure()) return;
  }
}

TEST(SimulatorProperty, EqualsTheReferenceInFifoOrder) {
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    ExpectEqualRuns(RandomStep(seed).Make(), SchedulingPolicy::kFifo);
    if (HasFatalFailure()) return;
  }
}

TEST(SimulatorProperty, EqualsTheReferenceInCriticalPathOrder) {
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    ExpectEqualRuns(RandomStep(seed).Make(), SchedulingPolicy::kCriticalPath);
    if (HasFatalFailure()) return;
  }
}

TEST(SimulatorProperty, EqualsTheReferenceInTheProgramsOrder) {
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    ExpectEqualRuns(RandomStep(seed).Make(), SchedulingPolicy::kProgram);
    if (HasFatalFailure()) return;
  }
}

// How many of them run beside another one over one of its links.
int Shared(const TinyProblem& problem, const Schedule& schedule) {
  int shared = 0;
  for (const CollectiveId id : problem.graph.collectives()) {
    for (const CollectiveId other : problem.graph.collectives()) {
      const auto &a = schedule.collectives[id], &b = schedule.collectives[other];
      const auto &links = problem.costs.collectives()[id].links,
                 &others = problem.costs.collectives()[other].links;
      if (id == other || a.end <= b.start || b.end <= a.start) continue;
      shared += std::find_first_of(links.begin(), links.end(), others.begin(), others.end()) !=
                links.end();
    }
  }
  return shared;
}

// Rules 14 to 17: collectives, and orders that are given, some of which let nothing go on. Rule 18 where `sharing`.
void ExpectEqualDistributedSteps(int count, bool sharing) {
  int steps = 0, collectives = 0, stuck = 0, sequences = 0, shared = 0;
  for (uint64_t seed = 0; steps < count; ++seed) {
    SCOPED_TRACE(seed);
    RandomStep random(seed, /*collectives=*/true, sharing);
    const TinyProblem problem = random.Make();
    if (!RandomStep::MembersApart(problem)) continue;
    ++steps;
    collectives += static_cast<int>(problem.graph.collective_count());
    const SchedulingPolicy policy = kSchedulingPolicies[seed % kSchedulingPolicies.size()];
    ExpectEqualRuns(problem, policy);
    const Sequences given = random.RandomSequences(problem);
    for (const auto& sequence : given) sequences += sequence ? 1 : 0;
    ExpectEqualRuns(problem, policy, given);
    SimOptions options;
    options.policy = policy;
    options.sequences = &given;
    options.schedule = options.feedback = true;
    Simulator simulator(problem.sim_graph);
    const SimResult& result = simulator.Run(problem.placement, options);
    if (testing::Test::HasFatalFailure()) return;
    if (result.stuck.valid()) {
      ++stuck;
      continue;
    }
    shared += Shared(problem, *result.schedule);
    const Bottlenecks bottlenecks = FindBottlenecks(
        problem.sim_graph, problem.graph, problem.cluster, problem.placement, *result.schedule);
    ASSERT_EQ(bottlenecks.Total(), result.step_time);
    for (DeviceId device : problem.cluster.devices()) {
      Bytes sum;
      for (const PeakItem& item : ItemisePeak(problem.sim_graph, problem.graph, problem.placement,
                                              policy, device, &given)) {
        sum += item.bytes;
      }
      ASSERT_EQ(sum, result.devices[device.index()].tensor_peak);
    }
    const Nanos step_time = result.step_time;
    options.abandon_above = Nanos(step_time.count - 1);
    ASSERT_TRUE(simulator.Run(problem.placement, options).abandoned);
    options.abandon_above = step_time;
    ASSERT_FALSE(simulator.Run(problem.placement, options).abandoned);
  }
  // What the test is for does occur.
  EXPECT_GT(collectives, count / 2);
  EXPECT_GT(sequences, count / 2);
  EXPECT_GT(stuck, count / 100);
  EXPECT_EQ(shared > count / 100, sharing);
}

TEST(SimulatorProperty, EqualsTheReferenceOnDistributedSteps) {
  ExpectEqualDistributedSteps(static_cast<int>(SeedsOf(1800)), /*sharing=*/false);
}

TEST(SimulatorProperty, EqualsTheReferenceWhereCollectivesShare) {
  ExpectEqualDistributedSteps(static_cast<int>(SeedsOf(1800)), /*sharing=*/true);
}

// The items of the peak and the reasons for the step time leave nothing out and count nothing
// twice.
TEST(SimulatorProperty, PeakItemsAndBottlenecksSumExactly) {
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    const TinyProblem problem = RandomStep(seed).Make();
    Simulator simulator(problem.sim_graph);
    SimOptions options;
    options.policy = kSchedulingPolicies[seed % kSchedulingPolicies.size()];
    options.schedule = true;
    const SimResult& result = simulator.Run(problem.placement, options);
    for (DeviceId device : problem.cluster.devices()) {
      Bytes sum;
      for (const PeakItem& item : ItemisePeak(problem.sim_graph, problem.graph, problem.placement,
                                              options.policy, device)) {
        sum += item.bytes;
      }
      ASSERT_EQ(sum, result.devices[device.index()].tensor_peak);
    }
    const Bottlenecks bottlenecks = FindBottlenecks(
        problem.sim_graph, problem.graph, problem.cluster, problem.placement, *result.schedule);
    ASSERT_EQ(bottlenecks.Total(), result.step_time);
    Nanos by_reason, by_type, compute;
    for (const Reason& reason : TopReasons(bottlenecks, problem.cluster)) by_reason += reason.time;
    for (const auto& [type, time] : bottlenecks.compute_by_type) by_type += time;
    for (Nanos time : bottlenecks.compute) compute += time;
    ASSERT_EQ(by_reason, result.step_time);
    ASSERT_EQ(by_type, compute);
  }
}

// One Simulator for many runs: nothing of one run is left in the next, and a run is abandoned
// exactly if its step time is above the limit.
TEST(SimulatorProperty, RunsDoNotInfluenceEachOther) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomStep random(seed);
    const TinyProblem problem = random.Make();
    Simulator reused(problem.sim_graph);
    for (int run = 0; run < 8; ++run) {
      const Placement placement = random.RandomPlacement(problem);
      SimOptions options;
      options.policy = kSchedulingPolicies[static_cast<size_t>(run) % kSchedulingPolicies.size()];
      Simulator fresh(problem.sim_graph);
      const SimResult expected = fresh.Run(placement, options);
      const Nanos limit = options.abandon_above = Nanos(random.Draw(3000));
      ASSERT_EQ(reused.Run(placement, options).abandoned, expected.step_time > limit);
      options.abandon_above = Nanos(kMaxQuantity);
      const SimResult& result = reused.Run(placement, options);
      ASSERT_EQ(result.step_time, expected.step_time);
      for (size_t d = 0; d < result.devices.size(); ++d) {
        ASSERT_EQ(result.devices[d].peak, expected.devices[d].peak);
        ASSERT_EQ(result.devices[d].busy, expected.devices[d].busy);
      }
    }
  }
}

// A batch gives what one Simulator gives, in order, with any number of threads.
TEST(SimulatorProperty, BatchesDoNotDependOnThreads) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomStep random(seed);
    const TinyProblem problem = random.Make();
    std::vector<Placement> placements;
    for (int i = 0; i < 20; ++i) placements.push_back(random.RandomPlacement(problem));
    SimOptions options;
    options.abandon_above = Nanos(2000);
    Simulator simulator(problem.sim_graph);
    for (int threads = 1; threads <= 3; ++threads) {
      ThreadPool pool(threads);
      std::vector<SimResult> results(placements.size());
      BatchSimulator(problem.sim_graph, &pool)
          .Run(placements, options,
               [&](size_t i, const SimResult& result) { results[i] = result; });
      ASSERT_EQ(results.size(), placements.size());
      for (size_t i = 0; i < placements.size(); ++i) {
        const SimResult& expected = simulator.Run(placements[i], options);
        ASSERT_EQ(results[i].step_time, expected.step_time);
        ASSERT_EQ(results[i].abandoned, expected.abandoned);
        for (size_t d = 0; d < expected.devices.size(); ++d) {
          ASSERT_EQ(results[i].devices[d].peak, expected.devices[d].peak);
        }
      }
    }
  }
}

}  // namespace
}  // namespace placewright
