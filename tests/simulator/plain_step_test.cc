// Steps without views, versions and ranges against what they were made of, on random steps.
#include "sim/plain_step.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "random_step.h"

namespace placewright {
namespace {

struct Runs {
  PlainStep plain;
  SimResult original, result;
  bool SameTimes(const TinyProblem& problem) const {
    for (OpId op : problem.graph.ops()) {
      if (problem.graph.op(op).is_view) continue;
      const OpSpan& before = original.schedule->ops[op];
      const OpSpan& after = result.schedule->ops[plain.graph.FindOp(problem.graph.op(op).name)];
      if (before.start != after.start || before.end != after.end) return false;
    }
    return original.step_time == result.step_time;
  }
  bool SamePeaks() const {
    for (size_t d = 0; d < original.devices.size(); ++d) {
      if (original.devices[d].tensor_peak != result.devices[d].tensor_peak) return false;
    }
    return true;
  }
};

Runs RunBoth(const TinyProblem& problem, SchedulingPolicy policy) {
  PlainStep plain =
      MakePlainStep(problem.sim_graph, problem.graph, problem.costs, problem.placement).Take();
  Simulator simulator(problem.sim_graph);
  SimResult original = simulator.Run(problem.placement, {policy, true});
  const SimGraph sim_graph = BuildSimGraph(plain.graph, problem.cluster, plain.costs);
  Simulator of_plain(sim_graph);
  SimResult result = of_plain.Run(plain.placement, {policy, true});
  return {std::move(plain), std::move(original), std::move(result)};
}

// a (5 ns on d0) makes 100 bytes, far (500 ns on d1) reads them, write (7 ns on d0) overwrites the
// first ten, near (1 ns on d0) reads what is then there through a view, last (2 ns on d1) the last
// five of these. a 0-5, 100 bytes to d1 5-115, far 115-615; write waits for them: 115-122, near
// 122-123, five bytes 122-137, last 615-617.
TEST(PlainStep, SaysWritesAsOrders) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId a = step.Op("a", 0, 5, {}, {100})[0];
  const TensorId part = step.View("part", 0, a, 0, 10);
  step.Op("far", 1, 500, {a}, {0});
  const TensorId written = step.InPlace("write", 0, 7, {part});
  step.Op("near", 0, 1, {written}, {0});
  step.Op("last", 1, 2, {step.View("end", 0, written, 5, 5)}, {0});
  const Runs runs = RunBoth(step.Build(), SchedulingPolicy::kFifo);
  const PlainStep& plain = runs.plain;
  std::string ops;
  for (OpId id : plain.graph.ops()) {
    const Op& op = plain.graph.op(id);
    ops += op.name + "(";
    for (TensorId input : op.inputs) ops += plain.graph.tensor(input).name + " ";
    ops += "->";
    for (TensorId output : op.outputs) {
      ops += " " + plain.graph.tensor(output).name + " " +
             std::to_string(plain.graph.tensor(output).bytes.count);
    }
    ops += ")";
    for (OpId before : op.after) ops += " after " + plain.graph.op(before).name;
    ops += "; ";
  }
  EXPECT_EQ(ops,
            "a(-> a 100); far(a -> far 0); write(a -> a@1[5:10] 5) after arrival of a@0; "
            "near(a -> near 0) after write; last(a@1[5:10] -> last 0); arrival of a@0(a ->); ");
  EXPECT_EQ(plain.writes, 1);
  EXPECT_EQ(plain.new_versions, 1);
  EXPECT_EQ(plain.arrivals, 1);
  for (const auto& [name, end] : {std::pair("write", 122), {"near", 123}, {"last", 617}}) {
    EXPECT_EQ(runs.result.schedule->ops[plain.graph.FindOp(name)].end, Nanos(end)) << name;
  }
  EXPECT_EQ(runs.original.step_time, runs.result.step_time);
}

// y of 2,048 bytes crosses in two parts to d1 and is read whole on d0: the parts are tensors beside
// what they leave of it, 2,048 - 1,024 - 512 bytes, so that y takes as much as before.
TEST(PlainStep, CutsWhatCrossesInParts) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId y = step.Op("y", 0, 5, {}, {2048})[0];
  step.Op("first", 1, 1, {step.View("v1", 0, y, 0, 1000)}, {0});
  step.Op("second", 1, 1, {step.View("v2", 0, y, 1500, 500)}, {0});
  step.Op("all", 0, 5000, {y}, {0});
  const Runs runs = RunBoth(step.Build(), SchedulingPolicy::kFifo);
  const Graph& graph = runs.plain.graph;
  EXPECT_EQ(graph.tensor(graph.FindTensor("y")).bytes, Bytes(512));
  EXPECT_EQ(graph.tensor(graph.FindTensor("y[0:1000]")).bytes, Bytes(1000));
  EXPECT_EQ(graph.op(graph.FindOp("all")).inputs.size(), 3u);
  EXPECT_EQ(runs.plain.parts, 2);
  EXPECT_EQ(runs.original.devices[0].tensor_peak, Bytes(2048));
  EXPECT_TRUE(runs.SamePeaks());
  EXPECT_EQ(runs.original.step_time, runs.result.step_time);
}

// What may differ does so rarely: ties behind arrivals, and memory where parts or new versions
// cross.
TEST(PlainStep, RunsAsTheStepThatItWasMadeOf) {
  int steps = 0, exact = 0, with_arrivals = 0, same_times = 0, same_peaks = 0;
  int64_t writes = 0, parts = 0, new_versions = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    const TinyProblem problem = RandomStep(seed, /*collectives=*/seed % 2 == 0).Make();
    if (!RandomStep::MembersApart(problem)) continue;
    const auto policy = seed % 3 == 0 ? SchedulingPolicy::kCriticalPath : SchedulingPolicy::kFifo;
    const Runs runs = RunBoth(problem, policy);
    const PlainStep& plain = runs.plain;
    for (OpId op : plain.graph.ops()) ASSERT_FALSE(plain.graph.op(op).is_view);
    ++steps;
    writes += plain.writes;
    parts += plain.parts;
    new_versions += plain.new_versions;
    if (plain.arrivals == 0) {
      ASSERT_TRUE(runs.SameTimes(problem));
    } else {
      ++with_arrivals;
      same_times += runs.SameTimes(problem) ? 1 : 0;
    }
    if (plain.arrivals + plain.parts + plain.new_versions == 0) {
      ASSERT_TRUE(runs.SamePeaks());
      ++exact;
    }
    same_peaks += runs.SamePeaks() ? 1 : 0;
  }
  // What the test is for does occur, and what is not exact is so nearly always.
  EXPECT_GT(exact, 1000);
  EXPECT_GT(writes, 5000);
  EXPECT_GT(parts, 500);
  EXPECT_GT(new_versions, 1000);
  EXPECT_GT(with_arrivals, 500);
  EXPECT_GE(same_times, with_arrivals * 99 / 100);
  EXPECT_GE(same_peaks, steps * 2 / 3);
}

}  // namespace
}  // namespace placewright
