#include "report/plan_report.h"

#include <gmock/gmock.h>

#include "report/two_devices_fixture.h"
#include "sim/device_use.h"

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
  for (int i = 2; i < 14; ++i) {
    uses.push_back(uses[0]);
    uses.back().name = "d" + std::to_string(i);
  }
  EXPECT_THAT(RenderDevices(uses, {}), HasSubstr("idle: d0, d2-13 (no op runs there)\n"));
}

// What is printed alike is one row, whatever the bytes behind it.
TEST_F(PlanReport, DevicesOfEqualWordsAreOneRow) {
  std::vector<DeviceUse> uses = UseOfDevices(result_, *cluster_);
  const int64_t gibibyte = int64_t{1} << 30;
  uses.resize(1);
  uses[0].name = "d0";
  uses[0].capacity = Bytes(80 * gibibyte);
  uses[0].peak_memory = Bytes(60 * gibibyte);
  for (int i = 1; i < 4; ++i) {
    uses.push_back(uses[0]);
    uses.back().name = "d" + std::to_string(i);
    uses.back().peak_memory = Bytes(60 * gibibyte + 1024 * i);
    uses.back().capacity = Bytes(80 * gibibyte + i);
  }
  EXPECT_THAT(RenderDevices(uses, {}), HasSubstr("\nd0-3 "));
  uses[3].peak_memory = Bytes(61 * gibibyte);
  EXPECT_THAT(RenderDevices(uses, {}), HasSubstr("\nd0-2 "));
  // Those that overflow and those that do not differ by the remark below, and stay apart.
  uses[3].peak_memory = uses[3].capacity;
  uses[2].peak_memory = Bytes(uses[2].capacity.count + 1);
  const std::string text = RenderDevices(uses, {});
  EXPECT_THAT(text, HasSubstr("\nd2 "));
  EXPECT_THAT(text, HasSubstr("\nd3 "));
}

TEST_F(PlanReport, DevicesOfEqualFiguresAreOneRow) {
  std::vector<DeviceUse> uses = UseOfDevices(result_, *cluster_);
  for (const DeviceUse& use : uses) {
    EXPECT_THAT(RenderDevices(uses, {}), HasSubstr("\n" + use.name + " "));
  }
  uses[0].capacity = uses[1].capacity = Bytes(4096);
  for (int i = 2; i < 5; ++i) {
    uses.push_back(uses[1]);
    uses.back().name = "d" + std::to_string(i);
  }
  uses.back().peak_memory = Bytes(4096 + 1024);
  const std::string text = RenderDevices(uses, {});
  EXPECT_THAT(text, HasSubstr("devices "));
  EXPECT_THAT(text, HasSubstr("\nd1-3 "));
  EXPECT_THAT(text, HasSubstr("\nd4 "));
  EXPECT_THAT(text, HasSubstr("d0, d4 overflow by 1.0 KiB each\nd1-3 overflow by 2.0 KiB each\n"));
}

// Four GPUs and a CPU; the plan takes 1,000 ns.
Plan FourGpus() {
  Plan plan;
  plan.feasible = true;
  plan.step_time = Nanos(1000);
  for (const char* name : {"h/gpu0", "h/gpu1", "h/gpu2", "h/gpu3", "h/cpu0"}) {
    DeviceUse use;
    use.name = name;
    use.device_class = plan.devices.size() < 4 ? DeviceClass::kGpu : DeviceClass::kCpu;
    plan.devices.push_back(use);
  }
  return plan;
}

TEST_F(PlanReport, BaselinesAreSetAgainstThePlan) {
  const std::vector<std::string> one = {"h/gpu0"}, all = {"h/gpu0", "h/gpu1", "h/gpu2", "h/gpu3"};
  Plan plan = FourGpus();
  EXPECT_EQ(RenderBaselines(plan, Nanos(0), {}), "");
  plan.baselines = {{"single", true, Nanos(12'000'000), {"h/cpu0"}},
                    {"random", true, Nanos(1500), all},
                    {"heft", true, Nanos(1200), one},
                    {"m-etf", true, Nanos(1200), one},
                    {"m-topo", true, Nanos(1200), one},
                    {"m-sct", true, Nanos(1200), one},
                    {"metis", true, Nanos(1200), all},
                    {"expert", false, Nanos(900), all},
                    {"local-search", true, Nanos(1000), all, true}};
  // Those with one time on the same devices are one line. Times have the unit of the plan's.
  EXPECT_EQ(RenderBaselines(plan, Nanos(0), {}),
            "baseline                step time  against this plan       runs on\n"
            "single                  12,000 us  12000.00 times as long  h/cpu0, no GPU\n"
            "random                    1.50 us  1.50 times as long      h/gpu0-3\n"
            "heft, m-etf and 2 more    1.20 us  1.20 times as long      h/gpu0\n"
            "metis                     1.20 us  1.20 times as long      h/gpu0-3\n"
            "expert                    0.90 us  does not fit            h/gpu0-3\n"
            "local-search              1.00 us  equal                   h/gpu0-3\n");
  const std::string text = RenderBaselines(plan, Nanos(200), {});
  EXPECT_THAT(text, HasSubstr("1.20 times, a tie"));
  EXPECT_THAT(text, Not(HasSubstr("1.50 times, a tie")));
  EXPECT_THAT(text, HasSubstr("\na tie: within 200 ns, which modelled times may be wrong by"));
}

TEST_F(PlanReport, TheBestBaselineStaysOnGpusAndSearchesNothing) {
  Plan plan = FourGpus();
  EXPECT_EQ(DescribeBestBaseline(plan), "");
  plan.baselines = {{"local-search", true, Nanos(1000), {"h/gpu0"}, true},
                    {"expert", false, Nanos(900), {"h/gpu0"}},
                    {"single", true, Nanos(1100), {"h/cpu0"}}};
  EXPECT_EQ(DescribeBestBaseline(plan),
            "1.10 times as fast as the best baseline (single, 1.10 us)");
  plan.baselines.push_back({"heft", true, Nanos(1390), {"h/gpu0", "h/gpu3"}});
  EXPECT_EQ(DescribeBestBaseline(plan),
            "1.39 times as fast as the best baseline on GPUs (heft, 1.39 us)");
  EXPECT_TRUE(FindBestBaseline(plan).on_gpus);
  plan.baselines.back().step_time = plan.step_time;
  EXPECT_EQ(DescribeBestBaseline(plan), "equal to the best baseline on GPUs (heft, 1.00 us)");
}

TEST(CostSources, OnlyThoseWithAShare) {
  EXPECT_EQ(RenderCostSources({0.25, 0, 0.75}), "25.0% given, 75.0% modelled");
  EXPECT_EQ(RenderCostSources({}), "none");
}

// A placement that lacks 20 GiB, beside a strategy that lacks 2.
Plan OneThatDoesNotFit() {
  constexpr int64_t kGibibyte = int64_t{1} << 30;
  Plan plan;
  plan.graph_name = "net";
  plan.cluster_name = "8xH100";
  plan.devices.resize(1);
  plan.devices[0].capacity = Bytes(76 * kGibibyte);
  plan.devices[0].peak_memory = Bytes(96 * kGibibyte);
  StrategyResult nearest;
  nearest.strategy.algorithm = "fsdp";
  nearest.evaluated = true;
  nearest.step_time = Nanos(1'500'000'000);
  nearest.memory = Bytes(78 * kGibibyte);
  nearest.capacity = Bytes(76 * kGibibyte);
  plan.strategies = {nearest};
  return plan;
}

TEST(Nearest, IsTheStrategyThatLacksLessThanThePlan) {
  Plan plan = OneThatDoesNotFit();
  const StrategyResult* const nearest = NearestStrategy(plan);
  ASSERT_EQ(nearest, &plan.strategies[0]);
  EXPECT_EQ(RenderNearest(plan, *nearest, {}),
            "net on 8xH100: does not fit\n"
            "  nearest    fsdp\n"
            "  needs      78.0 GiB on the fullest device, which has 76.0 GiB: 2.0 GiB more "
            "(simulated)\n"
            "  step time  1.50 s (simulated)\n");
  plan.devices[0].peak_memory = Bytes(77 * (int64_t{1} << 30));  // the plan itself lacks less
  EXPECT_EQ(NearestStrategy(plan), nullptr);
  plan = OneThatDoesNotFit();
  plan.strategies[0].fits = true;
  EXPECT_EQ(NearestStrategy(plan), nullptr);
  plan = OneThatDoesNotFit();
  plan.feasible = true;
  EXPECT_EQ(NearestStrategy(plan), nullptr);
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
  EXPECT_EQ(
      RenderHeadline(plan, {}),
      "net on 4xP100: fits\n"
      "  step time  1.00 us\n"
      "  bound      at most 25.0% below this is possible for placements of whole ops (0.75 us)\n"
      "  found by   local-search, 1,234 moves in 2.0 s, seed 0; the first that fits after "
      "0.25 s\n"
      "  costs      25.0% measured, 75.0% modelled\n");
  plan.lower_bound = plan.step_time;
  plan.iterations = 1;
  const std::string optimal = RenderHeadline(plan, {});
  EXPECT_THAT(optimal, HasSubstr("  bound      optimal for placements of whole ops (1.00 us)\n"));
  EXPECT_THAT(optimal, HasSubstr(", 1 move in 2.0 s"));
}

// What dynamic programming found stands apart from the bound, where the plan has its stages.
TEST(Headline, NamesTheOptimumOfLayersApartFromTheBound) {
  Plan plan;
  plan.feasible = true;
  plan.step_time = Nanos(1000);
  plan.lower_bound = Nanos(750);
  plan.strategies.emplace_back().layer_optimum = Nanos(600);
  EXPECT_THAT(RenderHeadline(plan, {}), Not(HasSubstr("optimum")));
  plan.distribution.transforms =
      Transforms{{}, {.kind = Transform::kPipeline, .schedule = "1f1b", .stages = 2}};
  const std::string text = RenderHeadline(plan, {});
  EXPECT_THAT(text, HasSubstr("for placements of whole ops of the step so rewritten (0.75 us)\n"));
  EXPECT_THAT(text, HasSubstr("  layers     0.60 us is the optimum of stages"));
  EXPECT_THAT(text, HasSubstr(", no bound\n"));
  plan.strategies.front().layer_optimum = Nanos(0);
  EXPECT_THAT(RenderHeadline(plan, {}), Not(HasSubstr("optimum")));
}

}  // namespace
}  // namespace placewright
