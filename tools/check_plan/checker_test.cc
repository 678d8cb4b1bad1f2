#include "check_plan/checker.h"

#include <gtest/gtest.h>

#include <functional>

#include "check_plan/test_plan.h"

namespace placewright::check {
namespace {

using Inputs = std::function<void(PlanInputs&)>;

// a and b are ready at 0 on d0: a first, by its id. y (1000 B) leaves at 5 and takes 2 + 1000 ns;
// z (600 B) is ready at 8, waits for the link until 1007 and takes 2 + 600. c starts at 1609.
//
// d0: w 1024 always; a's y 1024 from 0 to 1007, b's z 1024 from 5 to 1609: at most 3072.
// d1: copies of y from 5 and of z from 1007, 1024 each, until c ends; c's o 512 from 1609: 2560.
// Bound: a, then c: 5 + 4. Work: 12 / 2.
TestPlan ForkPlan() {
  TestPlan plan;
  plan.inputs = {{"w", TensorKind::kParameter, 1000}};
  plan.ops = {{"a", "d0", 5, 0, {"w"}, 1000},
              {"b", "d0", 3, 5, {}, 600},
              {"c", "d1", 4, 1609, {"a", "b"}, 100}};
  plan.transfers = {{"a", 0, 1000, "d0", "d1", 5, 5, 1007},
                    {"b", 0, 600, "d0", "d1", 8, 1007, 1609}};
  plan.step = 1613;
  plan.bound = 9;
  plan.uses[0] = {3072, 8, 2};
  plan.uses[1] = {2560, 4, 1};
  return plan;
}

// The verdict on ForkPlan after one change to the loaded inputs.
std::string After(const Inputs& change) {
  PlanInputs inputs = ForkPlan().Build();
  change(inputs);
  Seal(inputs);
  return Verdict(inputs);
}

std::string AfterInSchedule(const std::function<void(Schedule&)>& change) {
  return After([&](PlanInputs& inputs) { change(inputs.schedule.schedule); });
}

std::string AfterInPlan(const std::function<void(Plan&)>& change) {
  return After([&](PlanInputs& inputs) { change(inputs.plan); });
}

TEST(CheckPlan, AcceptsAHandTimedPlan) { EXPECT_EQ(Verdict(ForkPlan().Build()), "holds"); }

TEST(CheckPlan, Coverage) {
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.placement.pop_back(); }), "coverage");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.placement.push_back({"a", "d0"}); }), "coverage");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.placement[0].first = "aa"; }), "coverage");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.placement[0].second = "d7"; }), "coverage");
  EXPECT_EQ(
      After([](PlanInputs& i) { i.costs.SetTime(OpId(0), DeviceId(0), CostTable::kUnsupported); }),
      "unsupported");
  EXPECT_EQ(After([](PlanInputs& i) { i.schedule.placement[OpId(0)] = DeviceId(1); }),
            "schedule-device");
}

TEST(CheckPlan, Transfers) {
  EXPECT_EQ(AfterInSchedule([](Schedule& s) { s.transfers.pop_back(); }), "transfers");
  EXPECT_EQ(AfterInSchedule([](Schedule& s) { s.transfers.push_back(s.transfers[0]); }),
            "transfers");
  // The parameter is needed on d0 only, where it lives.
  EXPECT_EQ(AfterInSchedule([](Schedule& s) {
              s.transfers.push_back(s.transfers[0]);
              s.transfers.back().storage = StorageId(0);
            }),
            "transfers");
  EXPECT_EQ(AfterInSchedule([](Schedule& s) { s.transfers[0].length = Bytes(999); }), "transfers");
  EXPECT_EQ(AfterInSchedule([](Schedule& s) { s.transfers[0].from = DeviceId(1); }), "transfers");
}

// The reader lies on d0, the maker on d1, and no link leads back.
TEST(CheckPlan, Unreachable) {
  TestPlan plan;
  plan.ops = {{"a", "d1", 5, 0, {}, 1000}, {"b", "d0", 3, 1007, {"a"}}};
  plan.transfers = {{"a", 0, 1000, "d1", "d0", 5, 5, 1007}};
  plan.step = 1010;
  plan.bound = 8;
  plan.uses[0] = {1024, 3, 1};
  plan.uses[1] = {1024, 5, 1};
  EXPECT_EQ(Verdict(plan.Build()), "holds");
  plan.one_way = true;
  EXPECT_EQ(Verdict(plan.Build()), "unreachable");
}

// A cost graph brings its costs along; what is stated as given must be these.
TEST(CheckPlan, GivenCosts) {
  PlanInputs inputs = ForkPlan().Build();
  for (OpId op : inputs.graph.graph.ops()) inputs.costs.SetSource(op, CostSource::kGiven);
  inputs.graph.costs = inputs.costs;
  inputs.plan.cluster.path = std::string(kClusterInGraph);
  inputs.plan.share_given = 1;
  inputs.plan.share_modelled = 0;
  Seal(inputs);
  EXPECT_EQ(Verdict(inputs), "holds");
  // On d1, where a does not even run.
  inputs.graph.costs->SetTime(OpId(0), DeviceId(1), Nanos(6));
  EXPECT_EQ(Verdict(inputs), "given-costs");
}

TEST(CheckPlan, DurationsAndReadyTimes) {
  EXPECT_EQ(AfterInSchedule([](Schedule& s) { s.ops[OpId(2)].end = Nanos(1614); }), "duration");
  EXPECT_EQ(AfterInSchedule([](Schedule& s) { s.transfers[1].end = Nanos(1610); }), "duration");
  EXPECT_EQ(AfterInSchedule([](Schedule& s) { s.transfers[1].ready = Nanos(9); }), "ready-time");
  EXPECT_EQ(After([](PlanInputs& i) { i.costs.SetTime(OpId(1), DeviceId(0), Nanos(4)); }),
            "duration");
}

TEST(CheckPlan, PrecedenceAndExclusivity) {
  // c one nanosecond before b's copy has arrived.
  EXPECT_EQ(AfterInSchedule([](Schedule& s) {
              s.ops[OpId(2)] = {Nanos(1608), Nanos(1612)};
            }),
            "precedence");
  // y leaves while a still runs.
  EXPECT_EQ(AfterInSchedule([](Schedule& s) {
              s.transfers[0].start = Nanos(4);
              s.transfers[0].end = Nanos(1006);
            }),
            "precedence");
  // b while a runs; z while y crosses.
  EXPECT_EQ(AfterInSchedule([](Schedule& s) {
              s.ops[OpId(1)] = {Nanos(4), Nanos(7)};
              s.transfers[1].ready = Nanos(7);
            }),
            "exclusivity");
  EXPECT_EQ(AfterInSchedule([](Schedule& s) {
              s.transfers[1].start = Nanos(1006);
              s.transfers[1].end = Nanos(1608);
            }),
            "exclusivity");
}

TEST(CheckPlan, QueueOrder) {
  // b before a, all else in step: b 0-3, a 3-8, z 3-605, y 8 waits, 605-1607, c 1607-1611.
  TestPlan turned = ForkPlan();
  turned.ops[0].start = 3;
  turned.ops[1].start = 0;
  turned.ops[2].start = 1607;
  turned.transfers = {{"a", 0, 1000, "d0", "d1", 8, 605, 1607},
                      {"b", 0, 600, "d0", "d1", 3, 3, 605}};
  turned.step = 1611;
  EXPECT_EQ(Verdict(turned.Build()), "queue-order");
  // The link's queue: z (ready 8) before y (ready 5).
  TestPlan link = ForkPlan();
  link.transfers = {{"a", 0, 1000, "d0", "d1", 5, 610, 1612}, {"b", 0, 600, "d0", "d1", 8, 8, 610}};
  link.ops[2].start = 1612;
  link.step = 1616;
  EXPECT_EQ(Verdict(link.Build()), "idle");  // from 5 to 8 the link could have carried y
  // Nothing may wait for no reason.
  TestPlan late = ForkPlan();
  late.ops[2].start = 1610;
  late.step = 1614;
  EXPECT_EQ(Verdict(late.Build()), "idle");
}

// Paths: a 3 + 4 = 7, b 5 + 4 = 9, so b goes first: b 0-5, a 5-8; z 5-607, y 607-1609, c 1609.
// d0: w, z from 0 to 607, y from 5 to 1609: 3072. d1: z from 5, y from 607, o: 2560.
TEST(CheckPlan, CriticalPathOrder) {
  TestPlan plan = ForkPlan();
  plan.policy = SchedulingPolicy::kCriticalPath;
  plan.ops[0].time = 3;
  plan.ops[0].start = 5;
  plan.ops[1].time = 5;
  plan.ops[1].start = 0;
  plan.transfers = {{"b", 0, 600, "d0", "d1", 5, 5, 607}, {"a", 0, 1000, "d0", "d1", 8, 607, 1609}};
  EXPECT_EQ(Verdict(plan.Build()), "holds");
  plan.policy = SchedulingPolicy::kFifo;  // then a would go first
  EXPECT_EQ(Verdict(plan.Build()), "queue-order");
}

TEST(CheckPlan, Figures) {
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.step_time = Nanos(1612); }), "step-time");
  for (Bytes DeviceUse::*field : {&DeviceUse::tensor_peak, &DeviceUse::peak_memory,
                                  &DeviceUse::workspace, &DeviceUse::runtime_context}) {
    EXPECT_EQ(AfterInPlan([&](Plan& p) { p.devices[1].*field += Bytes(512); }), "memory");
  }
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.feasible = false; }), "feasible");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.devices[0].ops = 1; }), "devices");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.devices[0].busy += 0.001; }), "devices");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.devices[0].name = "d2"; }), "devices");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.devices[0].kind = "L"; }), "devices");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.devices[0].device_class = DeviceClass::kCpu; }), "devices");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.devices[0].capacity = Bytes(99999); }), "devices");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.devices.pop_back(); }), "devices");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.graph_name = "other"; }), "names");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.cluster_name = "other"; }), "names");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.objective = ""; }), "names");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.cost_profile = "defaultx"; }), "names");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.cost_profile = "tf1"; }), "holds");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.share_given = 0.5; }), "cost-sources");
  EXPECT_EQ(After([](PlanInputs& i) { i.costs.SetSource(OpId(1), CostSource::kMeasured); }),
            "cost-sources");
  EXPECT_EQ(After([](PlanInputs& i) { i.costs.SetWorkspace(OpId(2), Bytes(1)); }), "memory");
}

TEST(CheckPlan, BoundAndSearch) {
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.lower_bound = Nanos(1614); }), "bound");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.lower_bound = Nanos(8); }), "bound");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.lower_bound = Nanos(1613); }), "holds");
  // Of other layouts the chain of this step says nothing; none takes longer than the bound all the same.
  const auto replicated = [](int64_t bound) {
    return AfterInPlan([bound](Plan& p) {
      p.bound_space = PlanSpace::kReplicated;
      p.lower_bound = Nanos(bound);
    });
  };
  EXPECT_EQ(replicated(8), "holds");
  EXPECT_EQ(replicated(1614), "bound");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.baselines[0].step_time = Nanos(1612); }), "baselines");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.baselines[1].feasible = true; }), "baselines");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.baselines[0].devices = {"d0", "d7"}; }), "baselines");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.baselines[0].devices = {"d0"}; }), "holds");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.history[0].step_time = Nanos(1613); }), "history");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.history.pop_back(); }), "history");
  PlanInputs inputs = ForkPlan().Build();
  inputs.document["gap"] = 0.5;
  EXPECT_EQ(Verdict(inputs), "gap");
}

// Baselines: single 1614 (fits), m-etf 1 (does not), heft 1613 (the plan). History: single at
// 0.1 s, heft at 0.2 s, the plan at 0.3 s.
TEST(CheckPlan, BaselinesAgreeWithPlanAndHistory) {
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.baselines[2].step_time = Nanos(1700); }), "baselines");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.baselines[2].feasible = false; }), "baselines");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.baselines[2].algorithm = "m-topo"; }), "baselines");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.baselines[0].step_time = Nanos(1615); }), "baselines");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.baselines[0].step_time = Nanos(1613); }), "baselines");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.baselines[0].feasible = false; }), "baselines");
  // m-etf never led: nothing but its name can be held against it.
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.baselines[1].algorithm = ""; }), "baselines");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.baselines[1].algorithm = "single"; }), "baselines");
  EXPECT_EQ(AfterInPlan([](Plan& p) {
              p.history.insert(p.history.begin(), {0, 0.1, Nanos(1700), "m-topo"});
            }),
            "history");
  // After single, 1700 ns of random is no improvement; before it, it would be in the history.
  const Baseline late{"random", true, Nanos(1700)};
  EXPECT_EQ(AfterInPlan([&](Plan& p) { p.baselines[1] = late; }), "holds");
  EXPECT_EQ(AfterInPlan([&](Plan& p) { p.baselines.insert(p.baselines.begin(), late); }),
            "baselines");
  // What a search reached behind a better plan of another is not in the history; what is there it reached.
  const Baseline search{"local-search", true, Nanos(1700), {}, true};
  EXPECT_EQ(AfterInPlan([&](Plan& p) { p.baselines.insert(p.baselines.begin(), search); }),
            "holds");
  const auto led = [&](int64_t step) {
    return AfterInPlan([&](Plan& p) {
      p.baselines.push_back(search);
      p.history.insert(p.history.begin(), {0, 0.1, Nanos(step), "local-search"});
    });
  };
  EXPECT_EQ(led(1800), "holds");
  EXPECT_EQ(led(1690), "baselines");
  // With the plan of a search before it, one that needs seconds has not led.
  EXPECT_EQ(AfterInPlan([&](Plan& p) {
              p.baselines.insert(p.baselines.begin(), late);
              p.baselines.push_back(search);
              p.history.insert(p.history.begin(), {0, 0.1, Nanos(1700), "local-search"});
            }),
            "holds");
  // Unless the plan to start from was as good.
  EXPECT_EQ(AfterInPlan([&](Plan& p) {
              p.baselines.insert(p.baselines.begin(), late);
              p.history.insert(p.history.begin(), {0, 0.1, Nanos(1700), "init"});
            }),
            "holds");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.baselines.clear(); }), "holds");  // of a single planner
}

// A given plan that nothing improves on is the plan, and no baseline.
TEST(CheckPlan, ThePlanToStartFromMayBeTheBest) {
  EXPECT_EQ(AfterInPlan([](Plan& p) {
              p.algorithm = "init";
              p.history = {{0, 0.1, Nanos(1613), "init"}};
            }),
            "holds");
}

TEST(CheckPlan, HistoryEndsWithThePlan) {
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.algorithm = "single"; }), "history");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.history[1].algorithm = "single"; }), "history");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.history[1].iterations = 1; }), "history");
  EXPECT_EQ(AfterInPlan([](Plan& p) {
              p.iterations = 1;
              p.history[1].iterations = 1;
            }),
            "holds");
}

TEST(CheckPlan, SecondsAgree) {
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.seconds = 0.2; }), "holds");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.seconds = 0.19; }), "seconds");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.history[1].seconds = 0.09; }), "seconds");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.history[0].seconds = 0.2; }), "seconds");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.first_feasible_seconds = 0.31; }), "seconds");
  EXPECT_EQ(AfterInPlan([](Plan& p) { p.first_feasible_seconds.reset(); }), "seconds");
}

TEST(CheckPlan, DigestNoticesWhatNothingElseDoes) {
  for (const char* field : {"/seed", "/iterations", "/seconds", "/graph/batch_option",
                            "/graph/dimensions/n", "/baselines/1/step_time_ns"}) {
    PlanInputs inputs = ForkPlan().Build();
    inputs.document[Json::json_pointer(field)] = 7;
    EXPECT_EQ(Verdict(inputs), "digest") << field;
  }
}

// p makes s (1024 B) on d0 at 5; its view v is there at once. r reads v on d0 until 12; q reads s
// on d1, to which it crosses from 5 to 1031. w writes s in place: it waits for r and for the
// transfer, but not for q. The second content crosses from 1033 to 2059, and f reads it.
// d0: s 1024 from 0 to 2059. d1: 1024 from 5 to 1032, and again from 1033 to 2060.
// Bound: p, r or w, f: 5 + 2 + 1; p, r: 12; the work: 16 / 2.
TestPlan InPlacePlan() {
  TestPlan plan;
  plan.ops = {{"p", "d0", 5, 0, {}, 1024},
              {"v", "d0", 0, 5, {"p"}, 1024, TestOp::kView},
              {"r", "d0", 7, 5, {"v"}},
              {"q", "d1", 1, 1031, {"p"}},
              {"w", "d0", 2, 1031, {"p"}, 1024, TestOp::kInPlace},
              {"f", "d1", 1, 2059, {"w"}}};
  plan.transfers = {{"p", 0, 1024, "d0", "d1", 5, 5, 1031},
                    {"p", 1, 1024, "d0", "d1", 1033, 1033, 2059}};
  plan.step = 2060;
  plan.bound = 12;
  plan.uses[0] = {1024, 14, 3};
  plan.uses[1] = {1024, 2, 2};
  return plan;
}

TEST(CheckPlan, InPlaceWritesWaitForLocalReadersAndTransfers) {
  EXPECT_EQ(Verdict(InPlacePlan().Build()), "holds");
  // w at 12: r has ended, the transfer has not. Everything after it is in step.
  TestPlan early = InPlacePlan();
  early.ops[4].start = 12;
  early.transfers[1] = {"p", 1, 1024, "d0", "d1", 14, 1031, 2057};
  early.ops[5].start = 2057;
  early.step = 2058;
  EXPECT_EQ(Verdict(early.Build()), "precedence");
  // w at 1032: q's end is no reason to wait.
  TestPlan late = InPlacePlan();
  late.ops[4].start = 1032;
  late.transfers[1] = {"p", 1, 1024, "d0", "d1", 1034, 1034, 2060};
  late.ops[5].start = 2060;
  late.step = 2061;
  EXPECT_EQ(Verdict(late.Build()), "idle");
  TestPlan view = InPlacePlan();
  view.ops[1].start = 6;
  EXPECT_EQ(Verdict(view.Build()), "ready-time");
}

TEST(CheckPlan, StoragesStayTogether) {
  for (size_t op : {1, 4}) {  // the view, the writer
    TestPlan plan = InPlacePlan();
    plan.ops[op].device = "d1";
    EXPECT_EQ(Verdict(plan.Build()), "colocation");
  }
}

// All at 0, by phases: a, then b (ready since phase 1, but by its id before c), then c.
// Occupancy: a's 512; with b's 512: 1024; both leave when b ends; c's 1024. Had c run before b,
// a's and c's would be 1536.
TEST(CheckPlan, OpsWithoutDurationFollowPhases) {
  TestPlan plan;
  plan.ops = {
      {"a", "d0", 0, 0, {}, 512}, {"b", "d0", 0, 0, {"a"}, 512}, {"c", "d0", 0, 0, {}, 1024}};
  plan.uses[0] = {1024, 0, 3};
  PlanInputs inputs = plan.Build();
  inputs.plan.baselines.clear();
  inputs.plan.history.clear();
  inputs.plan.first_feasible_seconds.reset();
  Seal(inputs);
  EXPECT_EQ(Verdict(inputs), "holds");
  inputs.plan.devices[0].tensor_peak = Bytes(1536);
  inputs.plan.devices[0].peak_memory = Bytes(1546);
  Seal(inputs);
  EXPECT_EQ(Verdict(inputs), "memory");
}

// An explicit order edge: b waits for a's end, though it reads nothing and lies elsewhere.
TEST(CheckPlan, ExplicitOrderCrossesDevicesWithoutTransfer) {
  TestPlan plan;
  plan.ops = {{"a", "d0", 5, 0}, {"b", "d1", 3, 5, {}, -1, TestOp::kPlain, {"a"}}};
  plan.step = 8;
  plan.bound = 8;
  plan.uses[0] = {0, 5, 1};
  plan.uses[1] = {0, 3, 1};
  EXPECT_EQ(Verdict(plan.Build()), "holds");
  plan.ops[1].start = 0;
  plan.step = 5;
  plan.bound = 5;
  EXPECT_EQ(Verdict(plan.Build()), "precedence");
}

// x is resident wherever it is read, for the whole step: no transfer, 512 bytes on each device.
TEST(CheckPlan, InputsAreEverywhere) {
  TestPlan plan;
  plan.inputs = {{"x", TensorKind::kInput, 100}};
  plan.ops = {{"a", "d0", 5, 0, {"x"}}, {"b", "d1", 3, 0, {"x"}}};
  plan.step = 5;
  plan.bound = 5;
  plan.uses[0] = {512, 5, 1};
  plan.uses[1] = {512, 3, 1};
  EXPECT_EQ(Verdict(plan.Build()), "holds");
  plan.transfers = {{"x", 0, 100, "d0", "d1", 0, 0, 102}};
  EXPECT_EQ(Verdict(plan.Build()), "transfers");
}

}  // namespace
}  // namespace placewright::check
