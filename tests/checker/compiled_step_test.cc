// What the compiler makes of a step is that step: by data parallelism of every kind, by a split of every
// axis, and by random layouts and boxes, another one for every colocation group.
#include "compiled_step.h"

#include <gtest/gtest.h>

#include "compile/compiler.h"

namespace placewright::tests {
namespace {

constexpr int kRandomLayouts = 100;  // of each step
constexpr int kRandomBoxes = 40;

void ExpectHolds(const RecordedStep& step, const StatedLayouts& stated, size_t devices,
                 bool collectives) {
  const Cluster cluster = DevicesAlike(devices);
  const auto compiled = Compile(*step.graph, *step.axes, stated.layouts, cluster,
                                {.collectives = collectives, .switches = stated.spec.switches});
  // A write through a view that the layout does not split is refused.
  if (!compiled.ok()) {
    EXPECT_EQ(compiled.error().code, ErrorCode::kField) << compiled.error().ToString();
    return;
  }
  std::string message;
  EXPECT_EQ(VerdictOn(step, compiled.value(), cluster, stated.spec, &message), "holds") << message;
}

TEST(CompiledSteps, EverySplitOfOneAxisHolds) {
  for (const RecordedStep& step : RecordedSteps()) {
    for (const AxisId axis : step.axes->axes()) {
      const int64_t size = step.axes->axis(axis).size;
      if (size < 2) continue;
      const std::string& name = step.axes->axis(axis).name;
      SCOPED_TRACE(step.name + ", " + name);
      const int64_t first = std::max<int64_t>(1, size / 3);
      for (const bool collectives : {true, false}) {
        ExpectHolds(step, ForAll(step, name, {first, size - first}), 2, collectives);
        ExpectHolds(step, ParameterServer(step, name, {size - first, first}), 2, collectives);
        if (HasFailure()) return;
      }
      if (size < 4) continue;
      ExpectHolds(step, ParameterServer(step, name, {1, size - 2, 1}), 3, true);
      ExpectHolds(step, SplitUpdates(step, name, {size - 2, 1, 1}), 3, true);
      if (HasFailure()) return;
    }
    ExpectHolds(step, ForAll(step, "", {1, 1, 1}), 3, true);
  }
}

// Parameters in parts, on boxes and otherwise, that are fetched anew for the backward pass.
TEST(CompiledSteps, FetchesOfTwoEpochsHold) {
  for (const RecordedStep& step : RecordedSteps()) {
    const auto expect = [&](StatedLayouts stated, size_t devices, int distance) {
      stated.spec.switches.regather = {"*"};
      stated.spec.switches.prefetch = distance;
      for (const bool by_unit : {false, true}) {
        stated.spec.switches.unit_collectives = by_unit;
        ExpectHolds(step, stated, devices, true);
      }
    };
    for (const AxisId axis : step.axes->axes()) {
      const int64_t size = step.axes->axis(axis).size;
      if (size < 4) continue;
      const std::string& name = step.axes->axis(axis).name;
      SCOPED_TRACE(step.name + ", " + name);
      expect(SplitUpdates(step, name, {size - 2, 1, 1}), 3, 1);
      if (HasFailure()) return;
    }
    Random random(5);
    for (int i = 0; i < kRandomBoxes / 2 && !HasFailure(); ++i) {
      SCOPED_TRACE(testing::Message() << step.name << ", layouts " << i);
      const size_t devices = 2 + random.Below(5);
      expect(i % 2 == 0 ? AtRandom(step, devices, random) : BoxesAtRandom(step, devices, random),
             devices, static_cast<int>(random.Below(3)));
    }
  }
}

TEST(CompiledSteps, RandomLayoutsHold) {
  for (const RecordedStep& step : RecordedSteps()) {
    Random random(3);
    for (int i = 0; i < kRandomLayouts && !HasFailure(); ++i) {
      const size_t devices = 2 + random.Below(3);
      SCOPED_TRACE(testing::Message() << step.name << ", layouts " << i);
      ExpectHolds(step, AtRandom(step, devices, random), devices, random.Below(2) == 0);
    }
  }
}

TEST(CompiledSteps, RandomBoxesHold) {
  for (const RecordedStep& step : RecordedSteps()) {
    Random random(5);
    for (int i = 0; i < kRandomBoxes && !HasFailure(); ++i) {
      const size_t devices = 3 + random.Below(4);
      SCOPED_TRACE(testing::Message() << step.name << ", layouts " << i);
      ExpectHolds(step, BoxesAtRandom(step, devices, random), devices, random.Below(3) > 0);
    }
  }
}

}  // namespace
}  // namespace placewright::tests
