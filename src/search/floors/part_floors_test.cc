// What ops cost at least against what their instances cost in compiled steps.
#include "search/floors/part_floors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/test_layout_optimum.h"
#include "search/layouts/test_steps.h"

namespace placewright {
namespace {

struct InstanceTimes {
  std::map<DeviceId, int64_t> on;  // of all that an op became there
};

// By op of the original.
IdVector<OpId, InstanceTimes> TimesOfInstances(const LayoutProblem& problem,
                                               const CompiledStep& compiled) {
  IdVector<OpId, InstanceTimes> times(problem.graph.op_count());
  for (const OpId op : compiled.step.graph.ops()) {
    const OpId origin = compiled.step.origin[op];
    if (!origin.valid()) continue;
    const DeviceId device = compiled.step.placement[op];
    times[origin].on[device] += compiled.costs.time(op, device).count;
  }
  return times;
}

// Instances of an op on devices d take t_d with sum of t_d / floor(d) at least 1, as the bound by work needs, and
// none takes less than any part.
void ExpectAtLeastFloors(const LayoutProblem& problem, const CompiledStep& compiled) {
  const PartFloors floors(problem);
  const auto times = TimesOfInstances(problem, compiled);
  for (const OpId op : problem.graph.ops()) {
    double shares = 0;
    bool free = false;
    for (const auto& [device, time] : times[op].on) {
      const int64_t whole = floors.Whole(op, device);
      ASSERT_GE(whole, 0);
      free = free || whole == 0;
      if (whole > 0) shares += static_cast<double>(time) / static_cast<double>(whole);
      EXPECT_GE(time, floors.Part(op, device)) << problem.graph.op(op).name;
    }
    EXPECT_TRUE(free || shares >= 1 - 1e-9) << problem.graph.op(op).name << " " << shares;
  }
}

// Returns how many steps were compared.
int CompareDrawnSteps(uint64_t seeds, bool measured) {
  int compared = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    DrawnProblem tiny(seed);
    if (measured) tiny.Measure();
    const LayoutProblem& problem = *tiny.layouts;
    std::vector<std::vector<Layout>> choices;
    for (size_t g = 0; g < problem.graph.group_count(); ++g) {
      choices.push_back(LayoutsOf(problem, GroupId(g)));
    }
    for (int i = 0; i < 20; ++i) {
      Layouts layouts;
      for (const std::vector<Layout>& choice : choices) {
        layouts.of_group.push_back(LayoutId(layouts.layouts.size()));
        layouts.layouts.push_back(choice[tiny.random.Below(choice.size())]);
      }
      StepSwitches switches;
      switches.local_batch_norm = tiny.random.Below(4) == 0;
      const Result<CompiledStep> compiled = DecideAndCompile(problem, {layouts, switches});
      if (!compiled.ok()) continue;
      ++compared;
      SCOPED_TRACE("seed " + std::to_string(seed));
      ExpectAtLeastFloors(problem, compiled.value());
    }
  }
  return compared;
}

TEST(PartFloors, AreNeverAboveInstancesOfDrawnSteps) {
  EXPECT_GT(CompareDrawnSteps(150, /*measured=*/false), 2000);
}

TEST(PartFloors, AreNeverAboveWhatWasMeasured) {
  EXPECT_GT(CompareDrawnSteps(100, /*measured=*/true), 1300);
}

// A stated time is taken for every part as it is, a factor for what is modelled of each.
TEST(PartFloors, FollowOverrides) {
  const DrawnProblem tiny(15);  // a product and a mean
  CostOptions options;
  CostOverride stated, scaled;
  stated.type = "aten.mm.*";
  stated.time = Nanos(12345);
  scaled.type = "aten.mean.*";
  scaled.scale = 3;
  options.overrides = {stated, scaled};
  const auto problem =
      LayoutProblem::Make(*tiny.graph, *tiny.cluster, options, SchedulingPolicy::kFifo).Take();
  const PartFloors floors(*problem), plain(*tiny.layouts);
  const OpId product = problem->graph.FindOp("product0"), mean = problem->graph.FindOp("mean1");
  ASSERT_TRUE(product.valid() && mean.valid());
  EXPECT_EQ(floors.Whole(product, DeviceId(0)), 12345);
  EXPECT_EQ(floors.Part(product, DeviceId(0)), 12345);
  EXPECT_EQ(floors.Whole(mean, DeviceId(0)), 3 * plain.Whole(mean, DeviceId(0)));
}

// An override of one op may name devices, so that each has floors of its own: of all other ops the same.
TEST(PartFloors, OfDevicesThatAreAlikeAreThoseOfTheFirst) {
  size_t shared = 0, compared = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const DrawnProblem tiny(seed);
    OpId overridden;
    for (const OpId op : tiny.graph->ops()) {
      if (!tiny.graph->op(op).is_view) overridden = op;
    }
    ASSERT_TRUE(overridden.valid());
    CostOverride line;
    line.op = tiny.graph->op(overridden).name;
    line.time = Nanos(1);
    CostOptions options;
    options.overrides = {line};
    const auto apart =
        LayoutProblem::Make(*tiny.graph, *tiny.cluster, options, SchedulingPolicy::kFifo).Take();
    const PartFloors floors(*tiny.layouts), of_each(*apart);
    EXPECT_EQ(of_each.firsts().size(), tiny.cluster->device_count());
    shared += tiny.cluster->device_count() - floors.firsts().size();
    for (const OpId op : tiny.graph->ops()) {
      if (op == overridden) continue;
      ++compared;
      for (const DeviceId device : tiny.cluster->devices()) {
        EXPECT_EQ(floors.Whole(op, device), of_each.Whole(op, device));
        EXPECT_EQ(floors.Part(op, device), of_each.Part(op, device));
      }
    }
  }
  EXPECT_GT(shared, 0U);
  EXPECT_GT(compared, 0U);
}

}  // namespace
}  // namespace placewright
