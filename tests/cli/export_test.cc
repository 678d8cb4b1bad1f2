// `export` of plans of recorded steps, from end to end.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::HasSubstr;

// Two linear modules and the update of the first one's weight.
constexpr const char* kStep = R"({"name": "two", "batch": 2,
 "inputs": [
  {"name": "param:m.a.weight", "kind": "param", "shape": [512, 512], "dtype": "f32"},
  {"name": "param:m.b.weight", "kind": "param", "shape": [512, 512], "dtype": "f32"},
  {"name": "input:x", "kind": "input", "shape": [2, 512], "dtype": "f32"}],
 "ops": [
  {"name": "first", "target": "aten.mm.default", "phase": "fwd", "scope": "m.a",
   "inputs": ["input:x", "param:m.a.weight"], "args": ["%0", "%1"],
   "outputs": [{"shape": [2, 512], "dtype": "f32"}]},
  {"name": "second", "target": "aten.mm.default", "phase": "fwd", "scope": "m.b",
   "inputs": ["first", "param:m.b.weight"], "args": ["%0", "%1"],
   "outputs": [{"shape": [2, 512], "dtype": "f32"}]},
  {"name": "step", "target": "aten.add_.Tensor", "phase": "opt", "alias": "inplace",
   "inputs": ["param:m.a.weight", "param:m.a.weight"], "args": ["%0", "%1"],
   "outputs": [{"shape": [512, 512], "dtype": "f32"}]}],
 "outputs": ["second", "step"]})";

class Export : public ProgramTest {
 protected:
  // m.a on GPU 0, m.b on GPU 1.
  void MakePlan() const {
    Write("g.json", kStep);
    const Outcome plan = Run({"plan", "g.json", "-c", "2xV100", "--pin", "m.a=host0/gpu0", "--pin",
                              "m.b=host0/gpu1", "--iterations", "1"});
    ASSERT_EQ(plan.status, 0) << plan.err;
  }

  Outcome To(const std::string& format, const std::string& file) const {
    return RunJson({"export", "g.plan.json", "--to", format, "-o", file});
  }
};

// Every file that is written is compressed where its name ends with .gz.
TEST_F(Export, TheNameSaysWhetherItIsGzip) {
  MakePlan();
  const auto gzip = [&](const std::string& file) { return Read(file).substr(0, 2) == "\x1f\x8b"; };
  for (const char* format : {"aten", "chrome-trace"}) {
    const Outcome run = To(format, "out.json.gz");
    ASSERT_EQ(run.status, 0) << run.out;
    EXPECT_TRUE(gzip("out.json.gz")) << format;
    EXPECT_EQ(run.json()["bytes"], Read("out.json.gz").size());
  }
  ASSERT_EQ(To("aten", "out.json.gz").status, 0);
  EXPECT_EQ(RunJson({"simulate", "out.json.gz", "-c", "2xV100"}).status, 0);
  const Outcome plan = RunJson({"plan", "g.json", "-c", "2xV100", "--iterations", "1", "-o",
                                "p.plan.json.gz", "--svg", "p.svg.gz", "--html", "p.html.gz"});
  ASSERT_EQ(plan.status, 0) << plan.out;
  for (const char* file : {"p.plan.json.gz", "p.plan.costs.json.gz", "p.plan.schedule.json.gz",
                           "p.svg.gz", "p.html.gz"}) {
    EXPECT_TRUE(gzip(file)) << file;
  }
  EXPECT_EQ(Run({"check", "p.plan.json.gz"}).status, 0);
  ASSERT_EQ(Run({"cluster", "random", "--seed", "1", "-o", "c.yaml.gz"}).status, 0);
  EXPECT_TRUE(gzip("c.yaml.gz"));
  EXPECT_EQ(Run({"cluster", "check", "c.yaml.gz"}).status, 0);
}

TEST_F(Export, AnAtenGraphCarriesItsPlacement) {
  MakePlan();
  const Outcome run = To("aten", "out.json");
  ASSERT_EQ(run.status, 0) << run.out;
  EXPECT_EQ(run.json()["schema"], "placewright.export/1");
  EXPECT_EQ(run.json()["format"], "aten");
  EXPECT_EQ(run.json()["bytes"], Read("out.json").size());
  const Json file = Json::parse(Read("out.json"));
  EXPECT_EQ(file["ops"][0]["device"], "host0/gpu0");
  EXPECT_EQ(file["ops"][1]["device"], "host0/gpu1");
  EXPECT_EQ(file["ops"][1]["scope"], "m.b");
  // Its own devices are the placement where none is given.
  const Json again = RunJson({"simulate", "out.json", "-c", "2xV100"}).json();
  EXPECT_EQ(again["step_time_ns"], RunJson({"simulate", "g.plan.json"}).json()["step_time_ns"]);
  EXPECT_EQ(again["devices"][1]["ops"], 1);
  // A file may state no devices, or those of another cluster: then --placement says it.
  const Outcome other =
      RunJson({"simulate", "out.json", "-c", "4xP100", "--placement", "g.plan.json"});
  EXPECT_EQ(other.status, 0) << other.out;
}

// m.a's update comes after what reads the weight; nothing else has to be said otherwise, so that
// step time and peaks are the plan's.
TEST_F(Export, ACostGraphTakesAsLongAsThePlan) {
  MakePlan();
  const Outcome run = To("costgraph", "g.costgraph.json");
  ASSERT_EQ(run.status, 0) << run.out;
  EXPECT_THAT(run.json()["notes"][0].get<std::string>(),
              HasSubstr("writes in place, of which orders of ops are left: 1"));
  const Json file = Json::parse(Read("g.costgraph.json"));
  EXPECT_EQ(file["schema"], "placewright.costgraph/2");
  EXPECT_EQ(file["ops"][2]["name"], "step");
  EXPECT_EQ(file["ops"][2]["after"], Json({"first"}));
  EXPECT_EQ(file["homes"]["param:m.b.weight"], "host0/gpu1");
  EXPECT_EQ(file["placement"]["second"], "host0/gpu1");
  const Json plan = Json::parse(Read("g.plan.json"));
  const Json simulated = RunJson({"simulate", "g.costgraph.json"}).json();
  EXPECT_EQ(simulated["step_time_ns"], plan["step_time_ns"]);
  EXPECT_EQ(file["expected"]["fifo"]["step_time_ns"], plan["step_time_ns"]);
  for (size_t d = 0; d < plan["devices"].size(); ++d) {
    const Json& device = plan["devices"][d];
    EXPECT_EQ(simulated["devices"][d]["tensor_peak_bytes"], device["tensor_peak_bytes"]) << d;
    EXPECT_EQ(file["expected"]["fifo"]["peak_memory_bytes"][d], device["tensor_peak_bytes"]) << d;
    // Less workspace and runtime context: what is not tensors' of the peak.
    EXPECT_EQ(file["devices"][d]["memory_bytes"].get<int64_t>(),
              device["capacity_bytes"].get<int64_t>() - device["peak_memory_bytes"].get<int64_t>() +
                  device["tensor_peak_bytes"].get<int64_t>())
        << d;
  }
}

// Of a cost graph's plan nothing is lost.
TEST_F(Export, ACostGraphStaysWhatItIs) {
  Json graph = ChainGraph(4, 1 << 20);
  Write("c.json", graph.dump());
  ASSERT_EQ(Run({"plan", "c.json", "--iterations", "1"}).status, 0);
  ASSERT_EQ(
      RunJson({"export", "c.plan.json", "--to", "costgraph", "-o", "again.json"}).json()["notes"],
      Json::array());
  Json again = Json::parse(Read("again.json"));
  for (Json* document :
       {&graph, &again}) {  // it does not matter in which order an op names what it reads
    for (Json& op : (*document)["ops"]) std::sort(op["inputs"].begin(), op["inputs"].end());
  }
  for (const char* field : {"schema", "devices", "links", "tensors", "ops"}) {
    EXPECT_EQ(again[field], graph[field]) << field;
  }
  EXPECT_EQ(again["placement"].size(), 4u);
}

#ifdef PLACEWRIGHT_HAS_TORCH

// Steps of some thousand ops with views, state that is updated and parts that cross.
TEST_F(Export, CostGraphsOfTheZooTakeAsLongAsThePlans) {
  for (const std::string model : {"resnet-50", "bert-small"}) {
    ASSERT_EQ(Run({"capture", model, "--batch", "2", "-o", "z.json.gz"}).status, 0);
    for (const std::string algorithm : {"metis", "round-robin"}) {
      for (const std::string order : {"fifo", "critical-path", "program"}) {
        ASSERT_EQ(Run({"plan", "z.json.gz", "-c", "4xP100", "--algo", algorithm, "--order", order,
                       "-o", "z.plan.json"})
                      .status,
                  0);
        ASSERT_EQ(RunJson({"export", "z.plan.json", "--to", "costgraph", "-o", "z.costgraph.json"})
                      .status,
                  0);
        const Json plan = Json::parse(Read("z.plan.json"));
        // The file states the order of the program itself, by sequences.
        std::vector<std::string> words = {"simulate", "z.costgraph.json"};
        if (order != "program") words.insert(words.end(), {"--order", order});
        const Json simulated = RunJson(words).json();
        EXPECT_EQ(simulated["step_time_ns"], plan["step_time_ns"]) << model << " by " << algorithm;
        for (size_t d = 0; d < plan["devices"].size(); ++d) {
          const double peak = plan["devices"][d]["tensor_peak_bytes"];
          EXPECT_NEAR(simulated["devices"][d]["tensor_peak_bytes"].get<double>(), peak, peak / 100);
        }
      }
    }
  }
}

#endif  // PLACEWRIGHT_HAS_TORCH

TEST_F(Export, ADeviceMapNamesModules) {
  MakePlan();
  ASSERT_EQ(To("accelerate", "map.json").status, 0);
  EXPECT_EQ(Json::parse(Read("map.json")), Json({{"a", 0}, {"b", 1}}));
}

// The whole trace: its slices are the schedule, every flow begins at a maker and ends at a reader,
// the counters' peak is what the plan says.
TEST_F(Export, ATraceIsTheSchedule) {
  MakePlan();
  ASSERT_EQ(To("chrome-trace", "t.json").status, 0);
  const Json trace = Json::parse(Read("t.json"));
  const Json plan = Json::parse(Read("g.plan.json"));
  const Json schedule = Json::parse(Read("g.plan.schedule.json"));
  std::map<std::string, Json> slices;
  std::map<int64_t, std::string> flows;
  std::map<int, int64_t> peaks;
  for (const Json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "X") slices[event["cat"] == "transfer" ? "transfer" : event["name"]] = event;
    if (event.contains("id")) flows[event["id"]] += phase;
    if (phase != "C") continue;
    int64_t& peak = peaks[event["pid"]];
    peak = std::max<int64_t>(peak, event["args"]["bytes"]);
  }
  EXPECT_EQ(slices.size(), 4u);
  for (const Json& op : schedule["ops"]) {
    const Json& slice = slices.at(op["name"]);
    EXPECT_EQ(std::llround(slice["ts"].get<double>() * 1000), op["start_ns"].get<int64_t>());
    EXPECT_EQ(std::llround((slice["ts"].get<double>() + slice["dur"].get<double>()) * 1000),
              op["end_ns"].get<int64_t>());
  }
  EXPECT_EQ(slices["transfer"]["args"]["bytes"], 2 * 512 * 4);
  EXPECT_EQ(flows, (std::map<int64_t, std::string>{{1, "stf"}}));
  for (size_t d = 0; d < plan["devices"].size(); ++d) {
    EXPECT_EQ(peaks[static_cast<int>(d) + 1], plan["devices"][d]["tensor_peak_bytes"]) << d;
  }
}

TEST_F(Export, WhatAFormCannotHoldIsRefusedAndNothingWritten) {
  Write("c.json", ChainGraph(2, 1 << 20).dump());
  ASSERT_EQ(Run({"plan", "c.json", "--iterations", "1"}).status, 0);
  const std::map<std::string, std::string> reasons = {
      {"aten", "times"}, {"accelerate", "modules of PyTorch"}, {"pipedream", "PipeDream profile"}};
  for (const auto& [format, reason] : reasons) {
    const Outcome run = RunJson({"export", "c.plan.json", "--to", format, "-o", "out"});
    EXPECT_EQ(run.status, 3) << format;
    EXPECT_EQ(run.json()["error"]["code"], "not-expressible") << format;
    EXPECT_THAT(run.json()["error"]["message"].get<std::string>(), HasSubstr(reason)) << format;
    EXPECT_FALSE(Exists("out")) << format;
  }
  EXPECT_EQ(Run({"export", "c.plan.json", "--to", "chrome-trace", "-o", "out"}).status, 0);
}

// A block of two layers on two GPUs, whose sum no hook of Accelerate can make: to keep the block whole is tried before it is
// suggested. Weights are 16 MiB each, and a product's workspace 8.
class ExportRemedy : public Export {
 protected:
  std::string RemedyWith(const std::string& memory) const {
    Write("b.json", R"({"name": "block", "batch": 2, "wrapped": false,
 "inputs": [
  {"name": "param:l.0.a.w", "kind": "param", "shape": [2048, 2048], "dtype": "f32"},
  {"name": "param:l.0.b.w", "kind": "param", "shape": [2048, 2048], "dtype": "f32"},
  {"name": "param:z.w", "kind": "param", "shape": [2048, 2048], "dtype": "f32"},
  {"name": "input:x", "kind": "input", "shape": [2, 2048], "dtype": "f32"}],
 "ops": [
  {"name": "a", "target": "aten.mm.default", "phase": "fwd", "scope": "l.0.a",
   "inputs": ["input:x", "param:l.0.a.w"], "args": ["%0", "%1"], "outputs": [{"shape": [2, 2048], "dtype": "f32"}]},
  {"name": "b", "target": "aten.mm.default", "phase": "fwd", "scope": "l.0.b",
   "inputs": ["input:x", "param:l.0.b.w"], "args": ["%0", "%1"], "outputs": [{"shape": [2, 2048], "dtype": "f32"}]},
  {"name": "s", "target": "aten.add.Tensor", "phase": "fwd", "scope": "l.0",
   "inputs": ["a", "b"], "args": ["%0", "%1"], "outputs": [{"shape": [2, 2048], "dtype": "f32"}]},
  {"name": "z", "target": "aten.mm.default", "phase": "fwd", "scope": "z",
   "inputs": ["s", "param:z.w"], "args": ["%0", "%1"], "outputs": [{"shape": [2, 2048], "dtype": "f32"}]}],
 "outputs": ["z"]})");
    Write("three.yaml", R"(
name: three
reserve: 0%
kinds:
  card: {class: gpu, architecture: pascal, peak_flops: {f32: 1000000000000}, memory_bandwidth: 100 GB/s,
         memory: )" + memory +
                            R"(, launch_overhead: 1 us, runtime_context: 0 B}
devices:
  - {name: gpu0, kind: card, host: 0}
  - {name: gpu1, kind: card, host: 0}
  - {name: gpu2, kind: card, host: 0}
links:
  - {between: [gpu0, gpu1], bandwidth: 10 GB/s, latency: 1 us}
  - {between: [gpu0, gpu2], bandwidth: 10 GB/s, latency: 1 us}
  - {between: [gpu1, gpu2], bandwidth: 10 GB/s, latency: 1 us}
)");
    const Outcome plan =
        Run({"plan", "b.json", "-c", "three.yaml", "--pin", "l.0.a=gpu0", "--pin", "l.0.b=gpu1",
             "--pin", "z=gpu2", "--iterations", "1", "-o", "g.plan.json"});
    EXPECT_EQ(plan.status, 0) << plan.err;
    const Outcome run = To("accelerate", "map.json");
    EXPECT_EQ(run.status, 3) << run.out;
    EXPECT_FALSE(Exists("map.json"));
    return run.json()["error"]["remedy"];
  }
};

TEST_F(ExportRemedy, OptionsThatWereTriedAreNamed) {
  const std::string remedy = RemedyWith("64 MiB");
  EXPECT_THAT(remedy,
              testing::ContainsRegex("Plan again with --colocate-each 'l.\\*', besides the "
                                     "options given: tried with --algo [-a-z]+, that fits"));
  const size_t at = remedy.find("--algo ") + 7;
  const std::string algorithm = remedy.substr(at, remedy.find(',', at) - at);
  ASSERT_EQ(Run({"plan", "b.json", "-c", "three.yaml", "--colocate-each", "l.*", "--algo",
                 algorithm, "-o", "g.plan.json"})
                .status,
            0);
  EXPECT_EQ(To("accelerate", "map.json").status, 0);
}

// 32 MiB of weights in one block, and less on each GPU.
TEST_F(ExportRemedy, OptionsThatMakeItInfeasibleAreNotSuggested) {
  const std::string remedy = RemedyWith("30 MiB");
  EXPECT_THAT(remedy, HasSubstr("With --colocate-each 'l.*' no plan that fits"));
  EXPECT_THAT(remedy, testing::Not(HasSubstr("Plan again")));
}

TEST_F(Export, FilesThatAreMissingOrOthersAreNamed) {
  MakePlan();
  const auto code = [&](const std::string& output) {
    const Outcome run = To("chrome-trace", output);
    EXPECT_EQ(run.status, 3);
    return run.json()["error"]["code"].get<std::string>();
  };
  EXPECT_EQ(code("no/such/folder/t.json"), "file-unwritable");
  EXPECT_EQ(To("chrome-trace", "g.plan.schedule.json").status, 2);
  EXPECT_EQ(To("chrom-trace", "t.json").status, 2);
  EXPECT_THAT(Run({"export", "g.plan.json", "--to", "chrom-trace", "-o", "t.json"}).err,
              HasSubstr("did you mean chrome-trace"));
  for (const char* name : {"g.plan.costs.json", "g.plan.schedule.json"}) {
    const std::string whole = Read(name);
    std::filesystem::remove(folder() / name);
    EXPECT_EQ(code("t.json"), "file-unreadable") << name;
    Write(name, whole + " ");
    EXPECT_EQ(code("t.json"), "plan-mismatch") << name;
    Write(name, whole);
  }
  EXPECT_FALSE(Exists("t.json"));
  EXPECT_EQ(To("chrome-trace", "t.json").status, 0);
}

}  // namespace
}  // namespace placewright
