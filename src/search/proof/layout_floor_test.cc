// What layouts take at least against the compiled steps.
#include "search/proof/layout_floor.h"

#include <gtest/gtest.h>

#include <string>

#include "search/evaluation/simulated.h"
#include "search/layouts/test_layout_optimum.h"
#include "search/layouts/test_steps.h"

namespace placewright {
namespace {

// Every third one has times that were measured.
TEST(LayoutFloor, IsNeverAboveDrawnSteps) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 225; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DrawnProblem tiny(seed);
    if (seed % 3 == 2) tiny.Measure();
    LayoutFloor floor(*tiny.layouts);
    Layouts layouts;
    for (int i = 0; i < 20; ++i) {
      layouts.of_group.raw().clear();
      for (size_t g = 0; g < tiny.graph->group_count(); ++g) {
        const std::vector<Layout> choice = LayoutsOf(*tiny.layouts, GroupId(g), TriedLayouts::kAll);
        layouts.of_group.push_back(LayoutId(layouts.layouts.size()));
        layouts.layouts.push_back(choice[tiny.random.Below(choice.size())]);
      }
      CompileOptions options;
      options.batch_norm_local = tiny.random.Below(4) == 0;
      const Result<Evaluation> step = EvaluateLayouts(*tiny.layouts, layouts, options);
      if (!step.ok()) continue;
      ++compared;
      EXPECT_LE(floor.Of(layouts), step.value().step_time);
    }
  }
  EXPECT_GT(compared, 3000);
}

// All that is left out are the sums of what is read twice, and the like.
TEST(LayoutFloor, IsNearTheStepOfOneDevice) {
  double floors = 0, steps = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const DrawnProblem tiny(seed);
    Layouts layouts;
    layouts.layouts = {{"", {{DeviceId(0), 0, 0}}}};
    layouts.of_group = IdVector<GroupId, LayoutId>(tiny.layouts->graph.group_count(), LayoutId(0));
    const Result<Evaluation> step = EvaluateLayouts(*tiny.layouts, layouts, {});
    if (!step.ok()) continue;
    floors += static_cast<double>(LayoutFloor(*tiny.layouts).Of(layouts).count);
    steps += static_cast<double>(step.value().step_time.count);
  }
  EXPECT_GT(floors, 0.9 * steps);
  EXPECT_LE(floors, steps);
}

}  // namespace
}  // namespace placewright
