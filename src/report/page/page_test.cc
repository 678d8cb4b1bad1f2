#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "report/memory_curve.h"
#include "report/page/alike_devices.h"
#include "report/page/packed_text.h"
#include "report/page/page_timeline.h"
#include "report/page/plan_page.h"
#include "report/two_devices_fixture.h"

namespace placewright {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::json;

// What DecompressionStream("deflate") makes of atob(packed).
std::string Unpacked(const std::string& packed) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (const char c : packed) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(digits.find(c));
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 255);
  }
  std::string text(1 << 22, '\0');
  uLongf size = text.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                       reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
            Z_OK);
  text.resize(size);
  return text;
}

TEST(PackText, IsDeflatedBase64) {
  EXPECT_EQ(PackText(""), "eNoDAAAAAAE=");  // zlib's empty stream, 78 da 03 00 00 00 00 01
  for (const std::string& text : {std::string("a"), std::string("ab"), std::string(5000, 'x')}) {
    EXPECT_EQ(Unpacked(PackText(text)), text);
  }
}

using PlanPageOf = TwoDevices;

TEST_F(PlanPageOf, TimelineHasOpsTransfersAndMemoryOfEveryClass) {
  const std::vector<MemoryCurve> memory = MemoryCurves(sim_graph_, placement_, *result_.schedule);
  const auto classes =
      FindAlikeDevices(*graph_, *cluster_, placement_, *result_.schedule, result_.devices);
  ASSERT_THAT(classes, SizeIs(2));  // they run different ops
  const PageTimeline timeline =
      MakePageTimeline({*graph_, *cluster_, placement_, *result_.schedule, memory, result_.devices,
                        classes, result_.step_time, Nanos(100)});
  EXPECT_EQ(timeline.shown, 2);
  EXPECT_EQ(timeline.busy, 2);
  EXPECT_EQ(timeline.merged.count, 0);
  const Json page = Json::parse(Unpacked(timeline.packed));
  EXPECT_EQ(page["step"], 6035);
  EXPECT_EQ(page["bound"], 100);
  EXPECT_THAT(page["lanes"], SizeIs(2));
  EXPECT_EQ(page["lanes"][0]["name"], "d0");
  // d0: a [0, 10), c [6030, 6035), which begins 6,020 ns behind the end of a.
  EXPECT_EQ(page["data"][0]["gap"], (Json{0, 6020}));
  EXPECT_EQ(page["data"][0]["time"], (Json{10, 5}));
  EXPECT_EQ(page["data"][1]["gap"], (Json{4010}));
  EXPECT_EQ(page["ops"]["phase"], (Json{0, 2, 1}));  // in the order in which devices name them
  // d0 sends x [10, 4010) and receives g [4030, 6030).
  EXPECT_EQ(page["data"][0]["moves"]["gap"], (Json{10, 4020}));
  EXPECT_EQ(page["data"][0]["moves"]["time"], (Json{4000, 2000}));
  EXPECT_EQ(page["data"][0]["moves"]["bytes"], (Json{4000, 2000}));
  EXPECT_EQ(page["kinds"][0], "transfer to d1");
  // From the begin on d0 holds w, of 1,000 bytes in two granules of 512.
  EXPECT_EQ(page["data"][0]["memory"]["gap"][0], 0);
  int64_t bytes = 0, most = 0;
  for (const int64_t more : page["data"][0]["memory"]["bytes"])
    most = std::max(most, bytes += more);
  EXPECT_EQ(page["data"][0]["memory"]["bytes"][0].get<int64_t>() >= 1024, true);
  EXPECT_EQ(most, result_.devices[0].tensor_peak.count);
}

// Each of two devices computes "mm" and updates a parameter of its own, as parameter servers do; `name` and `time` of
// what the second one computes, and the time of its update, differ.
struct Second {
  std::string name = "mm@d1";
  int64_t time = 1000, update = 100;
};
size_t ClassesBeside(const Second& second) {
  GraphBuilder graph("two", "aten");
  const TensorId x = graph.AddInput("x", TensorKind::kInput, DType::kF32, {8}).Take();
  const auto add = [&](const std::string& name, Phase phase) {
    OpSpec op;
    op.name = name;
    op.type = "test.op";
    op.phase = phase;
    op.inputs = {x};
    OutputSpec output;
    output.name = name;
    output.shape = {8};
    op.outputs = {output};
    (void)graph.AddOp(std::move(op)).Take();
  };
  add("mm@d0", Phase::kForward);
  add(second.name, Phase::kForward);
  add("first.update@d0", Phase::kOptimizer);
  add("second.update@d1", Phase::kOptimizer);
  const Graph built = std::move(graph).Build().Take();
  ClusterBuilder builder("pair");
  DeviceKind kind;
  kind.name = "box";
  const int32_t index = builder.AddKind(kind).Take();
  for (const char* name : {"d0", "d1"}) {
    Device device;
    device.name = name;
    device.kind = index;
    device.capacity = Bytes(1 << 20);
    (void)builder.AddDevice(device).Take();
  }
  const Cluster cluster = std::move(builder).Build().Take();
  Schedule schedule;
  Placement placement;
  const auto run = [&](int32_t device, int64_t start, int64_t time) {
    placement.push_back(DeviceId(device));
    schedule.ops.push_back({Nanos(start), Nanos(start + time)});
  };
  run(0, 0, 1000);
  run(1, 500, second.time);  // when makes no difference
  run(0, 2000, 100);
  run(1, 2000, second.update);
  const std::vector<DeviceResult> results(2);
  return FindAlikeDevices(built, cluster, placement, schedule, results).size();
}

TEST(AlikeDevices, RunTheSameOpsForTheSameTime) {
  EXPECT_EQ(ClassesBeside({}), 1);
  EXPECT_EQ(ClassesBeside({.time = 1020}), 1);   // 20 of 1,120 ns
  EXPECT_EQ(ClassesBeside({.time = 1030}), 2);   // 30 of 1,130 ns: more than 2%
  EXPECT_EQ(ClassesBeside({.update = 130}), 2);  // another amount of updates
  EXPECT_EQ(ClassesBeside({.name = "other@d1"}), 2);
}

// Of a chain of 3,000 ops of 1 us on one device; others are idle.
class LongChain : public ::testing::Test {
 protected:
  void SetUp() override {
    GraphBuilder graph("chain", "aten");
    TensorId x = graph.AddInput("x", TensorKind::kInput, DType::kF32, {250}).Take();
    for (int i = 0; i < 3000; ++i) {
      OpSpec op;
      op.name = "op" + std::to_string(i * 7919 % 3001);
      op.type = "test.op";
      op.inputs = {x};
      OutputSpec output;
      output.name = op.name;
      output.shape = {250};
      op.outputs = {output};
      x = graph.AddOp(std::move(op)).Take()[0];
    }
    graph_.emplace(std::move(graph).Build().Take());
    ClusterBuilder cluster("row");
    DeviceKind kind;
    kind.name = "box";
    const int32_t index = cluster.AddKind(kind).Take();
    for (const char* name : {"d0", "d1", "d2"}) {
      Device device;
      device.name = name;
      device.kind = index;
      device.capacity = Bytes(1 << 24);
      ASSERT_TRUE(cluster.AddDevice(device).ok());
    }
    cluster_.emplace(std::move(cluster).Build().Take());
    costs_ = CostTable(3000, 3);
    for (const OpId op : graph_->ops()) {
      for (const DeviceId device : cluster_->devices()) costs_.SetTime(op, device, Nanos(1000));
    }
    placement_.assign(3000, DeviceId(0));
    sim_graph_ = BuildSimGraph(*graph_, *cluster_, costs_);
    Simulator simulator(sim_graph_);
    result_ = simulator.Run(placement_, {SchedulingPolicy::kFifo, true, true});
    memory_ = MemoryCurves(sim_graph_, placement_, *result_.schedule);
    classes_ = FindAlikeDevices(*graph_, *cluster_, placement_, *result_.schedule, result_.devices);
  }

  PageTimeline Make(size_t limit) const {
    return MakePageTimeline({*graph_, *cluster_, placement_, *result_.schedule, memory_,
                             result_.devices, classes_, result_.step_time, Nanos(0), limit});
  }

  std::optional<Graph> graph_;
  std::optional<Cluster> cluster_;
  CostTable costs_;
  Placement placement_;
  SimGraph sim_graph_;
  SimResult result_;
  std::vector<MemoryCurve> memory_;
  std::vector<std::vector<DeviceId>> classes_;
};

TEST_F(LongChain, IdleDevicesAreAClassWithoutALane) {
  ASSERT_THAT(classes_, SizeIs(2));
  EXPECT_THAT(classes_[1], ElementsAre(DeviceId(1), DeviceId(2)));
  const PageTimeline timeline = Make(1'000'000);
  EXPECT_EQ(timeline.busy, 1);
  EXPECT_EQ(timeline.merged.count, 0);
  const Json page = Json::parse(Unpacked(timeline.packed));
  EXPECT_THAT(page["lanes"], SizeIs(1));
  EXPECT_THAT(page["data"][0]["gap"], SizeIs(3000));
  EXPECT_THAT(page["data"][0]["count"], SizeIs(0));
}

// Where there is no room ops are merged, and what is merged is counted: nothing is lost.
TEST_F(LongChain, OpsAreMergedToKeepToTheLimit) {
  const PageTimeline whole = Make(1'000'000);
  const PageTimeline small = Make(whole.packed.size() / 3);
  EXPECT_LE(small.packed.size(), whole.packed.size() / 3);
  EXPECT_GT(small.merged.count, 1000);
  const Json page = Json::parse(Unpacked(small.packed));
  int64_t ops = 0, time = 0;
  for (const int64_t count : page["data"][0]["count"]) ops += count;
  for (const int64_t one : page["data"][0]["time"]) time += one;
  EXPECT_EQ(ops, 3000);
  EXPECT_EQ(time, 3'000'000);
  EXPECT_EQ(Make(whole.packed.size() / 3).packed, small.packed);  // the same again
}

TEST_F(PlanPageOf, SaysWhatThePlanSays) {
  const std::vector<MemoryCurve> memory = MemoryCurves(sim_graph_, placement_, *result_.schedule);
  Plan plan;
  plan.graph_name = "a <b> chain";
  plan.cluster_name = "pair";
  plan.algorithm = "by hand";
  plan.feasible = true;
  plan.step_time = result_.step_time;
  plan.samples = 8;
  plan.communication = {{"transfer", "", Bytes(4000), Nanos(4000), 1}};
  plan.share_modelled = 1;
  plan.baselines = {{"single", true, Nanos(12070), {"d0"}}};
  for (const DeviceId device : cluster_->devices()) {
    DeviceUse use;
    use.name = cluster_->device(device).name;
    use.kind = "box";
    use.capacity = Bytes(8192);
    use.ops = 1;
    plan.devices.push_back(use);
  }
  PlanPage page{plan, *cluster_, *graph_, placement_, *result_.schedule, memory, result_};
  page.layers = LayersByDevice(*graph_, placement_, *result_.schedule);
  page.warnings = {"mind the gap"};
  page.notes = {"noted"};
  const std::string html = RenderPlanPage(page);
  EXPECT_THAT(html, AllOf(HasSubstr("a &lt;b&gt; chain on pair"), HasSubstr("<b>6.04 us</b>"),
                          HasSubstr("<b>8</b><span>batch</span>"), HasSubstr("100.0% modelled"),
                          HasSubstr("mind the gap"), HasSubstr("<li>noted</li>"),
                          HasSubstr("placements of whole ops"), HasSubstr("2.00 times as long"),
                          HasSubstr("net.one")));
  EXPECT_THAT(html, AllOf(HasSubstr("id=\"timeline-data\""), HasSubstr("var uPlot="),
                          HasSubstr("Leon Sorokin")));
  EXPECT_THAT(html, AllOf(Not(HasSubstr("http://")), Not(HasSubstr("https://"))));
  // d0>d1 carries x, 4,000 bytes in 4,000 of 6,035 ns.
  EXPECT_THAT(html, AllOf(HasSubstr("d0&gt;d1"), HasSubstr("66.3%")));
  EXPECT_EQ(html, RenderPlanPage(page));
}

}  // namespace
}  // namespace placewright
