#include "report/trace/chrome_trace.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "report/two_devices_fixture.h"
#include "sim/tiny_step.h"

namespace placewright {
namespace {

using Json = nlohmann::json;

class ChromeTrace : public TwoDevices {
 protected:
  Json Write(const Placement& placement, const Schedule& schedule) const {
    const std::vector<MemoryCurve> memory = MemoryCurves(sim_graph_, placement, schedule);
    std::string text;
    const Status status = WriteChromeTrace(
        {*graph_, *cluster_, sim_graph_, placement, schedule, memory}, [&](std::string_view piece) {
          text += piece;
          return Ok();
        });
    EXPECT_TRUE(status.ok());
    text_ = text;
    return Json::parse(text);
  }

  static std::vector<Json> Events(const Json& trace, const std::string& phase) {
    std::vector<Json> events;
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] == phase) events.push_back(event);
    }
    return events;
  }

  mutable std::string text_;
};

// The times of the fixture: a on d0 [0, 10), x to d1 [10, 4010), b on d1 [4010, 4030),
// g to d0 [4030, 6030), c on d0 [6030, 6035) ns.
TEST_F(ChromeTrace, SlicesStandOnTheTracksOfDevicesAndLinks) {
  const Json trace = Write(placement_, *result_.schedule);
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
  EXPECT_EQ(trace["otherData"]["graph"], "chain");
  const std::vector<Json> slices = Events(trace, "X");
  ASSERT_EQ(slices.size(), 5u);
  // d0 is process 1, d1 process 2, links process 3 with d0>d1 and d1>d0 as tracks 1 and 2.
  EXPECT_EQ(slices[0], Json::parse(R"({"ph": "X", "pid": 1, "tid": 1, "name": "a", "cat": "forward",
      "ts": 0.000, "dur": 0.010, "args": {"type": "test.op", "module": "net.one", "bytes": 4000}})"));
  EXPECT_EQ(slices[1]["pid"], 2);
  EXPECT_EQ(slices[1]["ts"], 4.010);
  EXPECT_EQ(slices[1]["dur"], 0.020);
  EXPECT_EQ(slices[3], Json::parse(R"({"ph": "X", "pid": 3, "tid": 1, "name": "a",
      "cat": "transfer", "ts": 0.010, "dur": 4.000, "args": {"bytes": 4000, "offset": 0,
      "version": 0, "from": "d0", "to": "d1", "ready": 0.010}})"));
  EXPECT_EQ(slices[4]["tid"], 2);
  EXPECT_THAT(text_, testing::HasSubstr("\"ts\": 4.030, \"dur\": 2.000"));
  std::map<std::pair<int, int>, std::string> names;
  std::set<int> processes;
  for (const Json& event : Events(trace, "M")) {
    if (event["name"] == "thread_name") names[{event["pid"], event["tid"]}] = event["args"]["name"];
    if (event["name"] == "process_name") processes.insert(event["pid"].get<int>());
  }
  EXPECT_EQ(processes, (std::set<int>{1, 2, 3}));
  EXPECT_EQ(names, (std::map<std::pair<int, int>, std::string>{
                       {{1, 1}, "ops"}, {{2, 1}, "ops"}, {{3, 1}, "d0>d1"}, {{3, 2}, "d1>d0"}}));
}

// Every step of a flow must lie within a slice of its track, or viewers drop the arrow.
TEST_F(ChromeTrace, FlowsLeadFromTheMakerThroughTheTransferToTheReader) {
  const Json trace = Write(placement_, *result_.schedule);
  std::map<int, std::vector<std::pair<std::string, std::string>>> flows;  // (step, slice) by id
  for (const Json& event : trace["traceEvents"]) {
    if (!event.contains("id")) continue;
    std::string within;
    for (const Json& slice : Events(trace, "X")) {
      const double start = slice["ts"], end = start + slice["dur"].get<double>();
      const bool inside = event["ts"] >= start && event["ts"] < end;
      if (slice["pid"] == event["pid"] && slice["tid"] == event["tid"] && inside) {
        within = slice["cat"] == "transfer" ? "transfer" : slice["name"].get<std::string>();
      }
    }
    flows[event["id"]].emplace_back(event["ph"], within);
    EXPECT_EQ(event["name"], "data");
    EXPECT_EQ(event["cat"], "flow");
    EXPECT_EQ(event.value("bp", ""), event["ph"] == "f" ? "e" : "");
  }
  using Steps = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(flows, (std::map<int, Steps>{{1, {{"s", "a"}, {"t", "transfer"}, {"f", "b"}}},
                                         {2, {{"s", "b"}, {"t", "transfer"}, {"f", "c"}}}}));
}

// a [0, 10) on d0 and b [0, 30) on d1 are summed [30, 50); c reads the sum on d0.
TEST(ChromeTraceOfCollectives, TheyStandBesideTheOpsOfTheirDevices) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId a = step.Op("a", 0, 10, {}, {8})[0], b = step.Op("b", 1, 30, {}, {8})[0];
  const TensorId sum = step.Op("sum0", 0, 0, {a}, {8})[0];
  (void)step.Op("sum1", 1, 0, {b}, {8});
  (void)step.Op("c", 0, 5, {sum}, {8});
  step.Collective("sum", {OpId(2), OpId(3)}, {0, 1}, 20);
  const TinyProblem problem = step.Build();
  Simulator simulator(problem.sim_graph);
  const SimResult& result = simulator.Run(problem.placement, {SchedulingPolicy::kFifo, true});
  ASSERT_TRUE(result.schedule);
  const std::vector<MemoryCurve> memory =
      MemoryCurves(problem.sim_graph, problem.placement, *result.schedule);
  std::string text;
  const Status status = WriteChromeTrace({problem.graph, problem.cluster, problem.sim_graph,
                                          problem.placement, *result.schedule, memory},
                                         [&](std::string_view piece) {
                                           text += piece;
                                           return Ok();
                                         });
  ASSERT_TRUE(status.ok());
  std::vector<std::string> slices, collectives;
  const Json trace = Json::parse(text);
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") slices.push_back(event["name"]);
    if (event.value("cat", "") == "collective") {
      collectives.push_back(event["ph"].get<std::string>() + event["pid"].dump() + " at " +
                            event["ts"].dump());
      EXPECT_EQ(event["name"], "sum");
      EXPECT_EQ(event["args"]["ready"], 0.030);
    }
  }
  EXPECT_EQ(slices, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(collectives,
            (std::vector<std::string>{"b1 at 0.03", "e1 at 0.05", "b2 at 0.03", "e2 at 0.05"}));
}

// d0: w (1,024 of 1,000 B) always; x (4,096) from the start of a to the end of its transfer;
// g's copy (2,048) from 4030 to the end of c. d1: x's copy from 10 to the end of b at 4030, which
// makes g (2,048) from 4010 to the end of g's transfer at 6030.
TEST_F(ChromeTrace, CountersAreTheMemoryCurves) {
  const Json trace = Write(placement_, *result_.schedule);
  std::map<int, std::vector<std::pair<double, int64_t>>> counters;
  for (const Json& event : Events(trace, "C")) {
    EXPECT_EQ(event["name"], "memory");
    counters[event["pid"]].emplace_back(event["ts"], event["args"]["bytes"]);
  }
  using Points = std::vector<std::pair<double, int64_t>>;
  EXPECT_EQ(counters[1], (Points{{0, 5120}, {4.010, 1024}, {4.030, 3072}, {6.035, 1024}}));
  EXPECT_EQ(counters[2], (Points{{0, 0}, {0.010, 4096}, {4.010, 6144}, {4.030, 2048}, {6.030, 0}}));
  // The simulator's own peaks.
  EXPECT_EQ(result_.devices[0].tensor_peak, Bytes(5120));
  EXPECT_EQ(result_.devices[1].tensor_peak, Bytes(6144));
}

TEST_F(ChromeTrace, OneDeviceHasNoLinksAndNoFlows) {
  const Placement together(3, DeviceId(0));
  Simulator simulator(sim_graph_);
  const SimResult& result = simulator.Run(together, {SchedulingPolicy::kFifo, true, false});
  const Json trace = Write(together, *result.schedule);
  EXPECT_EQ(Events(trace, "X").size(), 3u);
  EXPECT_EQ(Events(trace, "s").size() + Events(trace, "f").size(), 0u);
  for (const Json& event : trace["traceEvents"]) EXPECT_LE(event["pid"], 2);
}

TEST_F(ChromeTrace, TheFirstErrorOfTheSinkEndsTheWriting) {
  int pieces = 0;
  const std::vector<MemoryCurve> memory = MemoryCurves(sim_graph_, placement_, *result_.schedule);
  const Status status =
      WriteChromeTrace({*graph_, *cluster_, sim_graph_, placement_, *result_.schedule, memory},
                       [&](std::string_view) -> Status {
                         if (++pieces < 4) return Ok();
                         return MakeError(ErrorCode::kFileUnwritable, "full");
                       });
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(pieces, 4);
}

}  // namespace
}  // namespace placewright
