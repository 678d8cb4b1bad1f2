// Memory of tiny steps, each derived by hand (rules 8-13). Sizes are multiples of the granule of
// 512 bytes unless rounding is the point; links are as in simulator_test.cc.
#include <gtest/gtest.h>

#include "sim/peak_items.h"
#include "sim/simulator.h"
#include "sim/tiny_step.h"

namespace placewright {
namespace {

SimResult SimulateTiny(const TinyProblem& problem) {
  Simulator simulator(problem.sim_graph);
  return simulator.Run(problem.placement);
}

TEST(Memory, RoundsUpAndKeepsZero) {
  TinyStep step(1);
  step.Op("a", 0, 5, {}, {1, 512, 513, 0});
  // Unread outputs live while their producer runs: 512 + 512 + 1024 + 0.
  EXPECT_EQ(SimulateTiny(step.Build()).devices[0].tensor_peak.count, 2048);
}

TEST(Memory, ChainFreesAtTheLastReadersEnd) {
  TinyStep step(1);
  const TensorId x = step.Op("a", 0, 5, {}, {512})[0];
  const TensorId y = step.Op("b", 0, 5, {x}, {1024})[0];
  step.Op("c", 0, 5, {y}, {2048});
  const SimResult result = SimulateTiny(step.Build());
  // a: 512; b: 512 + 1024; at 10 x leaves before c's output comes: c: 1024 + 2048.
  EXPECT_EQ(result.devices[0].tensor_peak.count, 3072);
  EXPECT_EQ(result.devices[0].peak_time.count, 10);
}

// What an op holds stays until it has ended, as if it read it.
TEST(Memory, WhatAnOpHoldsOutlivesItsReaders) {
  for (const bool held : {false, true}) {
    TinyStep step(1);
    const TensorId x = step.Op("a", 0, 5, {}, {512})[0];
    const TensorId y = step.Op("b", 0, 5, {x}, {1024})[0];
    const TensorId z = step.Op("c", 0, 5, {y}, {2048})[0];
    step.Op("d", 0, 5, {z}, {512});
    if (held) step.Hold(x, "c");
    const SimResult result = SimulateTiny(step.Build());
    // c: 1024 + 2048, and x, which leaves at its end, before d's output comes: d: 2048 + 512.
    EXPECT_EQ(result.devices[0].tensor_peak.count, held ? 3584 : 3072);
    EXPECT_EQ(result.devices[0].peak_time.count, 10);
  }
}

TEST(Memory, CopyOutlivesItsHome) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId x = step.Op("a", 0, 5, {}, {1024})[0];
  step.Op("b", 1, 5000, {x}, {512});
  step.Op("late", 0, 10, {}, {2048}, {.after = {"b"}});
  const SimResult result = SimulateTiny(step.Build());
  // d0: x 0-1039 (transfer 5-1039), then 2048 from 6039: never together. d1: the copy from 5 and
  // b's output from 1039: 1536.
  EXPECT_EQ(result.devices[0].tensor_peak.count, 2048);
  EXPECT_EQ(result.devices[0].peak_time.count, 6039);
  EXPECT_EQ(result.devices[1].tensor_peak.count, 1536);
  EXPECT_EQ(result.devices[1].peak_time.count, 1039);
}

TEST(Memory, ParametersStayAtHomeAndCopiesGo) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId w = step.Input("w", TensorKind::kParameter, 1024);
  step.Op("home", 0, 1, {w}, {});
  step.Op("far", 1, 10, {w}, {});
  step.Op("late", 1, 10, {}, {512}, {.after = {"far"}});
  const SimResult result = SimulateTiny(step.Build());
  // d1 has the copy from 0 to 1044 and 512 after that.
  EXPECT_EQ(result.devices[0].tensor_peak.count, 1024);
  EXPECT_EQ(result.devices[1].tensor_peak.count, 1024);
  EXPECT_EQ(result.devices[1].peak_time.count, 0);
}

TEST(Memory, InputsLieWhereverTheyAreReadAlsoThroughViews) {
  TinyStep step(3);
  step.ConnectAll();
  const TensorId x = step.Input("x", TensorKind::kInput, 1024);
  const TensorId v = step.View("v", 2, x, 0, 512);
  step.Op("a", 0, 5, {x}, {});
  step.Op("b", 1, 5, {v}, {});
  const SimResult result = SimulateTiny(step.Build());
  // The whole input on d0 and d1, for the whole step; the view op on d2 reads nothing there.
  EXPECT_EQ(result.devices[0].tensor_peak.count, 1024);
  EXPECT_EQ(result.devices[1].tensor_peak.count, 1024);
  EXPECT_EQ(result.devices[2].tensor_peak.count, 0);
  EXPECT_EQ(result.step_time.count, 5);
}

TEST(Memory, WrittenInputHasAHome) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId x = step.Input("x", TensorKind::kInput, 1024);
  step.Op("far", 1, 5, {x}, {});
  step.InPlace("write", 0, 5, {x});
  const SimResult result = SimulateTiny(step.Build());
  // A buffer now: it lies on d0 and crosses to d1 (10 + 1024), and the write waits for that.
  EXPECT_EQ(result.devices[0].tensor_peak.count, 1024);
  EXPECT_EQ(result.devices[1].tensor_peak.count, 1024);
  EXPECT_EQ(result.step_time.count, 1039);
}

TEST(Memory, HomeHoldsWholeStoragesCopiesHoldRanges) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId x = step.Op("a", 0, 5, {}, {4096})[0];
  const TensorId v = step.View("v", 0, x, 100, 600);
  step.Op("b", 1, 5, {v}, {});
  const SimResult result = SimulateTiny(step.Build());
  EXPECT_EQ(result.devices[0].tensor_peak.count, 4096);
  EXPECT_EQ(result.devices[1].tensor_peak.count, 1024);  // 600 rounded up
}

TEST(Memory, VersionsShareOneStorageAndCopiesDoNot) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId x = step.Op("a", 0, 5, {}, {512})[0];
  step.Op("far0", 1, 5000, {x}, {});
  const TensorId x1 = step.InPlace("write", 0, 5, {x});
  step.Op("far1", 1, 5, {x1}, {});
  const SimResult result = SimulateTiny(step.Build());
  // d0: one storage of 512. d1: version 0 from 5 to 5527 (5 + 522 + 5000) and version 1 from 532.
  EXPECT_EQ(result.devices[0].tensor_peak.count, 512);
  EXPECT_EQ(result.devices[1].tensor_peak.count, 1024);
  EXPECT_EQ(result.devices[1].peak_time.count, 532);
}

TEST(Memory, StorageWaitsForItsLastWriter) {
  TinyStep step(1);
  const TensorId x = step.Op("a", 0, 5, {}, {512})[0];
  step.Op("r", 0, 5, {x}, {});
  step.Op("between", 0, 5, {}, {2048}, {.after = {"r"}});
  step.InPlace("write", 0, 5, {x}, {.after = {"between"}});
  const SimResult result = SimulateTiny(step.Build());
  // No reader of version 0 is left after r, but the write still comes: 512 + 2048 at 10.
  EXPECT_EQ(result.devices[0].tensor_peak.count, 2560);
  EXPECT_EQ(result.devices[0].peak_time.count, 10);
}

TEST(Memory, FreesComeBeforeAllocationsOfTheSameInstant) {
  TinyStep step(2);
  step.ConnectAll();
  step.Op("a", 0, 5, {}, {1024});
  step.Op("b", 0, 5, {}, {1024});
  const SimResult result = SimulateTiny(step.Build());
  // a's unread output leaves at 5 before b's comes.
  EXPECT_EQ(result.devices[0].tensor_peak.count, 1024);
}

TEST(Memory, StartsOfOnePhaseCountTogether) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId w = step.Input("w", TensorKind::kParameter, 512);
  step.Op("home", 1, 0, {w}, {});
  step.Op("a", 0, 0, {}, {1024});
  step.Op("b", 0, 1, {w}, {});
  const SimResult result = SimulateTiny(step.Build());
  // At 0, in one phase: a (0 ns) allocates 1024 and the copy of w 512. a's output leaves in the
  // next phase of the same instant, but the two were there together.
  EXPECT_EQ(result.devices[0].tensor_peak.count, 1536);
}

TEST(Memory, OverCapacityIsAResult) {
  TinyStep step(1, /*capacity=*/1000);
  step.Op("a", 0, 5, {}, {1024});
  const SimResult result = SimulateTiny(step.Build());
  EXPECT_FALSE(result.feasible);
  EXPECT_EQ(result.step_time.count, 5);
  EXPECT_EQ(result.devices[0].over.count, 24);
  EXPECT_EQ(result.TotalOver().count, 24);
}

TEST(PeakItems, NameWhatLiesThere) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId w = step.Input("w", TensorKind::kParameter, 2048);
  const TensorId x = step.Input("x", TensorKind::kInput, 512);
  step.Op("home", 1, 1, {w}, {});
  const TensorId y = step.Op("a", 0, 5, {w, x}, {1024})[0];
  step.Op("b", 0, 5, {y}, {1500});
  const TinyProblem problem = step.Build();
  const std::vector<PeakItem> items = ItemisePeak(
      problem.sim_graph, problem.graph, problem.placement, SchedulingPolicy::kFifo, DeviceId(0));
  // While a runs: x 512, the copy of w 2048, a 1024: 3584. While b runs: x 512, a 1024, b 1536.
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0].name, "w");
  EXPECT_TRUE(items[0].copy);
  EXPECT_EQ(items[0].kind, TensorKind::kParameter);
  EXPECT_EQ(items[0].bytes.count, 2048);
  EXPECT_EQ(items[1].name, "a");
  EXPECT_FALSE(items[1].copy);
  EXPECT_EQ(items[2].name, "x");
  EXPECT_EQ(items[2].kind, TensorKind::kInput);
}

}  // namespace
}  // namespace placewright
