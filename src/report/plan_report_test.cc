#include "report/plan_report.h"

#include <gmock/gmock.h>

#include "report/two_devices_fixture.h"

namespace placewright {
namespace {

using testing::HasSubstr;
using testing::Not;

class PlanReport : public TwoDevices {};

TEST_F(PlanReport, DeviceUseIsThatOfTheSimulation) {
  const std::vector<DeviceUse> uses = UseOfDevices(result_, *cluster_);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].name, "d0");
  EXPECT_EQ(uses[0].kind, "box");
  EXPECT_EQ(uses[0].ops, 2);
  // a and c take 15 of 6,035 ns, b 20.
  EXPECT_DOUBLE_EQ(uses[0].busy, 15.0 / 6035);
  EXPECT_DOUBLE_EQ(uses[1].busy, 20.0 / 6035);
  EXPECT_EQ(uses[1].peak_memory, Bytes(4096 + 2048));
  EXPECT_EQ(uses[1].capacity, Bytes(8192));
}

TEST_F(PlanReport, SaysIdleAndOverflowingDevicesAloud) {
  std::vector<DeviceUse> uses = UseOfDevices(result_, *cluster_);
  EXPECT_THAT(RenderDevices(uses, {}), Not(HasSubstr("idle")));
  uses[0].ops = 0;
  uses[1].capacity = Bytes(4096);
  const std::string text = RenderDevices(uses, {});
  EXPECT_THAT(text, HasSubstr("idle: d0 (no op runs there)"));
  EXPECT_THAT(text, HasSubstr("d1 overflows by 2.0 KiB"));
}

TEST_F(PlanReport, BaselinesAreSetAgainstThePlan) {
  const std::vector<Baseline> baselines = {
      {"single", false, Nanos(500)}, {"heft", true, Nanos(1500)}, {"m-etf", true, Nanos(1000)}};
  EXPECT_EQ(RenderBaselines(baselines, Nanos(1000), {}),
            "baseline  step time  against this plan\n"
            "single       500 ns  does not fit\n"
            "heft        1.50 us  1.50 times as long\n"
            "m-etf       1.00 us  equal\n");
  EXPECT_EQ(RenderBaselines({}, Nanos(1000), {}), "");
}

TEST(CostSources, OnlyThoseWithAShare) {
  EXPECT_EQ(RenderCostSources({0.25, 0, 0.75}), "25.0% given, 75.0% modelled");
  EXPECT_EQ(RenderCostSources({}), "none");
}

TEST(Headline, NamesBoundGapProducerAndCosts) {
  Plan plan;
  plan.graph_name = "net";
  plan.cluster_name = "4xP100";
  plan.feasible = true;
  plan.step_time = Nanos(1000);
  plan.lower_bound = Nanos(750);
  plan.algorithm = "local-search";
  plan.iterations = 1234;
  plan.seconds = 2;
  plan.first_feasible_seconds = 0.25;
  plan.share_measured = 0.25;
  plan.share_modelled = 0.75;
  // gap = (1000 - 750) / 1000.
  EXPECT_EQ(RenderHeadline(plan, {}),
            "net on 4xP100: fits\n"
            "  step time  1.00 us\n"
            "  bound      750 ns, so no plan takes more than 25.0% less time\n"
            "  found by   local-search, 1,234 moves in 2.0 s, seed 0; the first that fits after "
            "0.25 s\n"
            "  costs      25.0% measured, 75.0% modelled\n");
  plan.lower_bound = plan.step_time;
  plan.iterations = 1;
  const std::string optimal = RenderHeadline(plan, {});
  EXPECT_THAT(optimal, HasSubstr("  bound      1.00 us: optimal: no plan takes less\n"));
  EXPECT_THAT(optimal, HasSubstr(", 1 move in 2.0 s"));
}

}  // namespace
}  // namespace placewright
