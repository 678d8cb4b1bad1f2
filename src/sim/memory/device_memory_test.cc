// Peaks of tiny steps, each derived by hand.
#include "sim/memory/device_memory.h"

#include <gtest/gtest.h>

#include "sim/simulator.h"
#include "sim/tiny_step.h"

namespace placewright {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;
constexpr TinyOpOptions kBackward{.phase = Phase::kBackward};
constexpr TinyOpOptions kUpdate{.phase = Phase::kOptimizer};

IdVector<DeviceId, DevicePeaks> Measure(const TinyProblem& problem, bool lasting_buckets = false,
                                        bool lasting_gradients = false) {
  Simulator simulator(problem.sim_graph);
  const SimResult& result = simulator.Run(problem.placement, {.schedule = true});
  return MeasureMemory({problem.sim_graph, problem.graph, problem.cluster, problem.placement,
                        *result.schedule, lasting_buckets, nullptr, lasting_gradients});
}

// w and m of 4 MiB. a 0-10 makes x (6), b 10-20 makes g (4) of x, s 20-30 makes t (4) of m, u 30-40
// updates w and m by g and t.
TinyProblem TrainingStep(DeviceClass device_class) {
  TinyStep step(1, 100 * kMebibyte, DeviceKind{.device_class = device_class});
  const TensorId w = step.Input("w", TensorKind::kParameter, 4 * kMebibyte);
  const TensorId m = step.Input("opt_state:w.exp_avg", TensorKind::kOptimizerState, 4 * kMebibyte);
  const TensorId x = step.Op("a", 0, 10, {w}, {6 * kMebibyte})[0];
  const TensorId g = step.Op("b", 0, 10, {x}, {4 * kMebibyte}, kBackward)[0];
  TinyOpOptions behind = kUpdate;
  behind.after = {"b"};
  const TensorId t = step.Op("s", 0, 10, {m}, {4 * kMebibyte}, behind)[0];
  TinyOpOptions update = kUpdate;
  update.writes = {0, 1};
  step.Op("u", 0, 10, {w, m, g, t}, {}, update);
  return step.Build();
}

TEST(DevicePeaks, UsesAreThoseOfTheAllocatedPeak) {
  const DevicePeaks memory = Measure(TrainingStep(DeviceClass::kGpu))[DeviceId(0)];
  // At 10: w, m, x, g. At 20 x is gone: w, m, g, t are 16 MiB.
  EXPECT_EQ(memory.allocated.count, 18 * kMebibyte);
  EXPECT_EQ(memory.peak_time.count, 10);
  EXPECT_EQ(memory.Of(MemoryUse::kParameters).count, 4 * kMebibyte);
  EXPECT_EQ(memory.Of(MemoryUse::kOptimizerState).count, 4 * kMebibyte);
  EXPECT_EQ(memory.Of(MemoryUse::kActivations).count, 6 * kMebibyte);
  EXPECT_EQ(memory.Of(MemoryUse::kGradients).count, 4 * kMebibyte);
  EXPECT_EQ(memory.Of(MemoryUse::kWorkspace).count, 0);
  // w at 0-4 of a segment of 20 MiB, x 4-10, g 10-14; the first update makes m, at 4-8 of what x had,
  // and t at 14-18. In the second step x has 8-14 and g 14-18.
  EXPECT_EQ(memory.reserved.count, 20 * kMebibyte);
  EXPECT_EQ(memory.Device(), memory.reserved);
  EXPECT_TRUE(memory.fits);
}

TEST(DevicePeaks, SumsOfGradientsAndWhatTheyAddAreGradients) {
  TinyStep step(1, 100 * kMebibyte, DeviceKind{.device_class = DeviceClass::kGpu});
  const TensorId w = step.Input("w", TensorKind::kParameter, 4 * kMebibyte);
  const TensorId x = step.Op("a", 0, 10, {w}, {6 * kMebibyte})[0];
  const TensorId first = step.Op("b", 0, 10, {x}, {4 * kMebibyte}, kBackward)[0];
  const TensorId second = step.Op("c", 0, 10, {x}, {4 * kMebibyte}, kBackward)[0];
  TinyOpOptions adds = kBackward;
  adds.type = "aten.add.Tensor";
  const TensorId sum = step.Op("d", 0, 10, {first, second}, {4 * kMebibyte}, adds)[0];
  TinyOpOptions update = kUpdate;
  update.writes = {0};
  step.Op("u", 0, 10, {w, sum}, {}, update);
  const DevicePeaks memory = Measure(step.Build())[DeviceId(0)];
  // At 20: w, x, both gradients; when they are added x is gone, and the sum is as large.
  EXPECT_EQ(memory.Of(MemoryUse::kGradients).count, 8 * kMebibyte);
  EXPECT_EQ(memory.Of(MemoryUse::kActivations).count, 6 * kMebibyte);
}

// The same two gradients and their sum, at which w, 6 MiB of x and a buffer of the size of one gradient are there, as they
// are before the backward pass.
TEST(DevicePeaks, LastingGradientsHaveABufferForTheWholeStep) {
  TinyStep step(1, 100 * kMebibyte, DeviceKind{.device_class = DeviceClass::kGpu});
  const TensorId w = step.Input("w", TensorKind::kParameter, 4 * kMebibyte);
  const TensorId x = step.Op("a", 0, 10, {w}, {6 * kMebibyte})[0];
  const TensorId first = step.Op("b", 0, 10, {x}, {4 * kMebibyte}, kBackward)[0];
  const TensorId second = step.Op("c", 0, 10, {x}, {4 * kMebibyte}, kBackward)[0];
  TinyOpOptions adds = kBackward;
  adds.type = "aten.add.Tensor";
  const TensorId sum = step.Op("d", 0, 10, {first, second}, {4 * kMebibyte}, adds)[0];
  TinyOpOptions update = kUpdate;
  update.writes = {0};
  step.Op("u", 0, 10, {w, sum}, {}, update);
  const TinyProblem problem = step.Build();
  const DevicePeaks memory = Measure(problem, false, /*lasting_gradients=*/true)[DeviceId(0)];
  EXPECT_EQ(memory.allocated.count, 14 * kMebibyte);
  EXPECT_EQ(memory.Of(MemoryUse::kGradients).count, 4 * kMebibyte);
  EXPECT_EQ(memory.peak_time.count, 0);
  EXPECT_EQ(Measure(problem)[DeviceId(0)].allocated.count, 18 * kMebibyte);
}

TEST(DevicePeaks, OtherDevicesHoldWhatIsAllocated) {
  const DevicePeaks memory = Measure(TrainingStep(DeviceClass::kCpu))[DeviceId(0)];
  EXPECT_EQ(memory.allocated.count, 18 * kMebibyte);
  EXPECT_EQ(memory.reserved, memory.allocated);
}

TEST(DevicePeaks, WorkspaceAndContextAreAdded) {
  TinyProblem problem = TrainingStep(DeviceClass::kGpu);
  problem.sim_graph.workspace[ExecOpId(1)] = 3 * kMebibyte;
  problem.sim_graph.runtime_context[DeviceId(0)] = 7 * kMebibyte;
  const DevicePeaks memory = Measure(problem)[DeviceId(0)];
  EXPECT_EQ(memory.allocated.count, 21 * kMebibyte);
  EXPECT_EQ(memory.Of(MemoryUse::kWorkspace).count, 3 * kMebibyte);
  // The 6 MiB at 14-20 that g leaves hold it in the first step. In the second w, m, x and g fill
  // 0-18 and it needs a segment.
  EXPECT_EQ(memory.reserved.count, 40 * kMebibyte);
  EXPECT_EQ(memory.Device().count, 47 * kMebibyte);
}

// x of 30 MiB is gone when y of 40 MiB comes: two segments, 70 MiB, of which 30 go back where there
// are only 60. Then y's serves x in the second step.
TEST(DevicePeaks, CachedSegmentsGoBackBeforeAStepDoesNotFit) {
  const auto measure = [](int64_t capacity) {
    TinyStep step(1, capacity, DeviceKind{.device_class = DeviceClass::kGpu});
    const TensorId x = step.Op("a", 0, 10, {}, {30 * kMebibyte})[0];
    step.Op("b", 0, 10, {x}, {});
    step.Op("c", 0, 10, {}, {40 * kMebibyte}, {.after = {"b"}});
    return Measure(step.Build())[DeviceId(0)];
  };
  const DevicePeaks plenty = measure(70 * kMebibyte);
  EXPECT_TRUE(plenty.fits);
  EXPECT_EQ(plenty.reserved.count, 70 * kMebibyte);
  EXPECT_EQ(plenty.retries, 0);
  const DevicePeaks tight = measure(60 * kMebibyte);
  EXPECT_TRUE(tight.fits);
  EXPECT_EQ(tight.reserved.count, 40 * kMebibyte);
  EXPECT_EQ(tight.retries, 1);
  const DevicePeaks over = measure(39 * kMebibyte);
  EXPECT_FALSE(over.fits);
  EXPECT_EQ(over.reserved.count, 70 * kMebibyte);
}

// Free memory in pieces: x and z of 12 MiB lie in a segment of 36 MiB around y; when they are gone
// 24 MiB are free there, yet v of 24 MiB needs a segment. 60 MiB for 36 MiB of tensors, and none of
// it can go back.
TEST(DevicePeaks, FragmentsMayBeWhyAStepDoesNotFit) {
  const auto measure = [](int64_t capacity) {
    TinyStep step(1, capacity, DeviceKind{.device_class = DeviceClass::kGpu});
    step.Op("whole", 0, 10, {}, {36 * kMebibyte});
    const TensorId x = step.Op("x", 0, 10, {}, {12 * kMebibyte}, {.after = {"whole"}})[0];
    const TensorId y = step.Op("y", 0, 10, {x}, {12 * kMebibyte})[0];
    const TensorId z = step.Op("z", 0, 10, {x, y}, {12 * kMebibyte})[0];
    step.Op("free", 0, 10, {x, z}, {});
    step.Op("v", 0, 10, {y}, {24 * kMebibyte}, {.after = {"free"}});
    return Measure(step.Build())[DeviceId(0)];
  };
  const DevicePeaks plenty = measure(60 * kMebibyte);
  EXPECT_EQ(plenty.allocated.count, 36 * kMebibyte);
  EXPECT_EQ(plenty.reserved.count, 60 * kMebibyte);
  EXPECT_TRUE(plenty.fits);
  EXPECT_FALSE(measure(59 * kMebibyte).fits);
}

// A reserve stands for what is counted here.
TEST(DevicePeaks, AllOfTheMemoryIsOffered) {
  TinyProblem problem = TrainingStep(DeviceClass::kGpu);
  ASSERT_TRUE(problem.cluster.SetReserve(DeviceId(0), Bytes(6 * kMebibyte)).ok());
  EXPECT_EQ(Measure(problem)[DeviceId(0)].offered.count, 100 * kMebibyte);
}

// A gathered parameter, a bucket of two gradients, and what the update makes for itself.
TEST(DevicePeaks, WhatStoragesAreUsedFor) {
  TinyStep step(1);
  const TensorId w = step.Input("param:w", TensorKind::kParameter, 512);
  const TensorId i = step.Input("input:i", TensorKind::kInput, 512);
  const auto of_type = [](const char* type, Phase phase) {
    return TinyOpOptions{.phase = phase, .type = type};
  };
  const TensorId whole = step.Op("whole", 0, 1, {w}, {512},
                                 of_type("placewright.all_gather.default", Phase::kForward))[0];
  const TensorId x = step.Op("x", 0, 1, {i, whole}, {512})[0];
  const TensorId sum = step.Op("sum", 0, 1, {x}, {512},
                               of_type("placewright.all_reduce.default", Phase::kForward))[0];
  const TensorId g = step.Op("g", 0, 1, {sum}, {512}, kBackward)[0];
  const TensorId h = step.Op("h", 0, 1, {sum}, {512}, kBackward)[0];
  const TensorId bucket = step.Op("bucket", 0, 1, {g, h}, {1024},
                                  of_type("placewright.pack.default", Phase::kBackward))[0];
  const TensorId reduced = step.Op("reduced", 0, 1, {bucket}, {1024},
                                   of_type("placewright.all_reduce.default", Phase::kBackward))[0];
  const TensorId t = step.Op("t", 0, 1, {reduced}, {512}, kUpdate)[0];
  const TinyProblem problem = step.Build();
  const IdVector<StorageId, MemoryUse> uses = UsesOfStorages(problem.graph);
  const auto use = [&](TensorId tensor) {
    return std::string(ToString(uses[problem.graph.tensor(tensor).storage]));
  };
  EXPECT_EQ(use(w), "parameters");
  EXPECT_EQ(use(i), "inputs");
  EXPECT_EQ(use(whole), "gathered");
  EXPECT_EQ(use(x), "activations");
  EXPECT_EQ(use(sum), "activations");
  EXPECT_EQ(use(g), "gradients");
  EXPECT_EQ(use(h), "gradients");
  EXPECT_EQ(use(bucket), "communication buffers");
  EXPECT_EQ(use(reduced), "gradients");
  EXPECT_EQ(use(t), "workspace");
}

// c is w in another type, read by two gathers. One after the other run c, a (12 MiB) of c, x (12) of a, y (12) of x, s
// (12), which scatters y, the update, b (12) of c.
// In the first step w has 0-4 of a segment of 20 MiB, c 4-8, a 8-20; x needs one of 12, y has the place of a, s that of x.
// In the second one c takes the smaller free block, these 12, so that x needs one more of 12.
// Where x is copied out of a, gathers and scatters have streams of their own, and c is there for a and for b alone: w, a
// and x are the peak; a lies beside c in a segment of 20 MiB, x in that of w, and y and s need one of 12 each, which in
// the second step are as good for x and y.
TEST(DevicePeaks, FetchesThatAreCopiedOutHaveStreamsOfTheirOwn) {
  const auto measure = [](const char* reader) {
    TinyStep step(1, 100 * kMebibyte, DeviceKind{.device_class = DeviceClass::kGpu});
    const auto of_type = [](const char* type, Phase phase) {
      return TinyOpOptions{.phase = phase, .type = type};
    };
    TinyOpOptions gathers = of_type("placewright.all_gather.default", Phase::kForward);
    const TensorId w = step.Input("param:w", TensorKind::kParameter, 4 * kMebibyte);
    const TensorId c = step.Op("c", 0, 10, {w}, {4 * kMebibyte},
                               of_type("aten._to_copy.default", Phase::kForward))[0];
    const TensorId a = step.Op("a", 0, 10, {c}, {12 * kMebibyte}, gathers)[0];
    const TensorId x =
        step.Op("x", 0, 10, {a}, {12 * kMebibyte}, of_type(reader, Phase::kForward))[0];
    const TensorId y = step.Op("y", 0, 10, {x}, {12 * kMebibyte}, kBackward)[0];
    const TensorId s = step.Op("s", 0, 10, {y}, {12 * kMebibyte},
                               of_type("placewright.reduce_scatter.default", Phase::kBackward))[0];
    step.Op("u", 0, 10, {s}, {}, kUpdate);
    gathers.after = {"u"};
    step.Op("b", 0, 10, {c}, {12 * kMebibyte}, gathers);
    return Measure(step.Build())[DeviceId(0)];
  };
  const DevicePeaks one = measure("aten.neg.default");
  EXPECT_EQ(one.allocated.count, 32 * kMebibyte);
  EXPECT_EQ(one.reserved.count, 44 * kMebibyte);
  const DevicePeaks three = measure("placewright.concat.default");
  EXPECT_EQ(three.allocated.count, 28 * kMebibyte);
  EXPECT_EQ(three.reserved.count, 64 * kMebibyte);
}

// d0 and d1 each make g (4 MiB) and pack it into a bucket (4), from which an all-reduce makes the sum (4)
// that the update reads. As the step has it, two of the three lie there at a time; with buckets that
// stay, g or the sum lies beside the 4 MiB for ever.
TEST(DevicePeaks, LastingBucketsTakeThePlaceOfTheStepsOwn) {
  TinyStep step(2, 100 * kMebibyte, DeviceKind{.device_class = DeviceClass::kGpu});
  step.ConnectAll();
  std::vector<OpId> members;
  for (int32_t d = 0; d < 2; ++d) {
    const auto name = [&](const char* op) { return op + std::to_string(d); };
    const auto options = [](Phase phase, const char* type) {
      return TinyOpOptions{.phase = phase, .type = type};
    };
    const TensorId g = step.Op(name("g"), d, 10, {}, {4 * kMebibyte}, kBackward)[0];
    const TensorId bucket = step.Op(name("bucket"), d, 1, {g}, {4 * kMebibyte},
                                    options(Phase::kBackward, "placewright.pack.default"))[0];
    const TensorId sum = step.Op(name("sum"), d, 0, {bucket}, {4 * kMebibyte},
                                 options(Phase::kBackward, "placewright.all_reduce.default"))[0];
    members.push_back(OpId(4 * d + 2));
    step.Op(name("update"), d, 5, {sum}, {}, kUpdate);
  }
  step.Collective("sum", members, {}, 100);
  const TinyProblem problem = step.Build();
  const DevicePeaks own = Measure(problem)[DeviceId(1)];
  EXPECT_EQ(own.allocated.count, 8 * kMebibyte);
  EXPECT_EQ(own.Of(MemoryUse::kCommunication).count, 4 * kMebibyte);
  const DevicePeaks lasting = Measure(problem, true)[DeviceId(1)];
  EXPECT_EQ(lasting.allocated.count, 8 * kMebibyte);
  EXPECT_EQ(lasting.Of(MemoryUse::kCommunication).count, 4 * kMebibyte);
  EXPECT_EQ(lasting.peak_time.count, 0);
}

// Routes of 1 GB/s have the fewest channels, 2. Three devices that sum: a ring and two of a tree, 6
// connections of 10 MiB. Two that gather: a ring, 2 more. One transfer from d0 to d2: 2.
TEST(DevicePeaks, TheLibraryHasBuffersByCommunicatorAndSender) {
  TinyStep step(3, 100 * kMebibyte, DeviceKind{.device_class = DeviceClass::kGpu});
  step.ConnectAll();
  const auto member = [&](const char* type, const std::string& name, int32_t device) {
    TinyOpOptions options;
    options.type = type;
    step.Op(name, device, 0, {}, {512}, options);
  };
  for (int32_t d = 0; d < 3; ++d) {
    member("placewright.all_reduce.default", "sum" + std::to_string(d), d);
  }
  for (int32_t d = 0; d < 2; ++d) {
    member("placewright.all_gather.default", "gather" + std::to_string(d), d);
  }
  step.Collective("sum", {OpId(0), OpId(1), OpId(2)}, {}, 1);
  step.Collective("gather", {OpId(3), OpId(4)}, {}, 1);
  const TensorId x = step.Op("x", 0, 1, {}, {512})[0];
  step.Op("y", 2, 1, {x}, {512});
  const IdVector<DeviceId, DevicePeaks> memories = Measure(step.Build());
  EXPECT_EQ(memories[DeviceId(0)].library, (LibraryUse{Bytes(80 * kMebibyte), 2, 0}));
  EXPECT_EQ(memories[DeviceId(1)].library, (LibraryUse{Bytes(80 * kMebibyte), 2, 0}));
  EXPECT_EQ(memories[DeviceId(2)].library, (LibraryUse{Bytes(80 * kMebibyte), 1, 1}));
}

}  // namespace
}  // namespace placewright
