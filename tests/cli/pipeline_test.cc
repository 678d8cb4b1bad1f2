// Workloads of dnn-partitioning and PipeDream profiles from end to end: plan, check, the workload's
// own objectives, export.
#include <gmock/gmock.h>

#include "program_runner.h"

namespace placewright {
namespace {

using testing::HasSubstr;

using Pipeline = ProgramTest;

// 1 -> 2 on two accelerators and a CPU.
constexpr const char* kWorkload = R"({"maxSizePerFPGA": 1000000, "maxFPGAs": 2, "maxCPUs": 1,
  "nodes": [{"id": 1, "name": "a", "cpuLatency": 10, "fpgaLatency": 1, "size": 600000,
             "supportedOnFpga": 1, "isBackwardNode": 0},
            {"id": 2, "name": "b", "cpuLatency": 20, "fpgaLatency": 2, "size": 600000,
             "supportedOnFpga": 1, "isBackwardNode": 0}],
  "edges": [{"sourceId": 1, "destId": 2, "cost": 0.5}]})";

constexpr const char* kProfile =
    "in -- Input0 -- forward_compute_time=9.000, backward_compute_time=0.000, "
    "activation_size=8.0, parameter_size=0.000\n"
    "a -- Linear -- forward_compute_time=1.000, backward_compute_time=2.000, "
    "activation_size=1000.0, parameter_size=4000.000\n"
    "b -- Linear -- forward_compute_time=1.000, backward_compute_time=2.000, "
    "activation_size=1000.0, parameter_size=4000.000\n"
    "\tin -- a\n\ta -- b\n";

TEST_F(Pipeline, BothObjectivesInTheFilesOwnUnit) {
  Write("w.json", kWorkload);
  Write("s.json", R"({"fpgas": [{"nodes": [1]}, {"nodes": [2]}], "cpus": []})");
  const std::vector<std::string> line = {"simulate", "w.json", "--placement", "s.json",
                                         "--objective"};
  const auto with = [&](const char* objective) {
    std::vector<std::string> words = line;
    words.push_back(objective);
    return words;
  };
  // Accelerator 1: 1 + sending 0.5; accelerator 2: 2 + receiving 0.5.
  const Json load = RunJson(with("throughput")).json();
  EXPECT_EQ(load["schema"], "placewright.objective/1");
  EXPECT_EQ(load["objective_value"], 2.5);
  EXPECT_EQ(load["memory_ok"], true);
  EXPECT_EQ(load["devices"][1]["communication"], 0.5);
  // 1 + 0.5 out, 0.5 in + 2.
  const Json latency = RunJson(with("latency")).json();
  EXPECT_EQ(latency["objective_value"], 4.0);
  EXPECT_EQ(latency["nodes"][0], Json({{"id", 1}, {"finish", 1.5}}));
  EXPECT_THAT(Run(with("latency")).out, HasSubstr("latency: 4 "));
  // As a step: a millisecond of computing, 2 * 0.5 through the host, 2.
  const Json step = RunJson({"simulate", "w.json", "--placement", "s.json"}).json();
  EXPECT_EQ(step["step_time_ns"], 4'000'000);
  EXPECT_EQ(step["cost_sources"]["given"], 1.0);
  EXPECT_EQ(step["notes"].size(), 2u);
  // All on one: 1.2 MB of 1.
  Write("s.json", R"({"fpgas": [{"nodes": [1, 2]}]})");
  EXPECT_EQ(RunJson(with("throughput")).json()["memory_ok"], false);
  EXPECT_EQ(RunJson(with("throughput")).json()["objective_value"], 3.0);
}

TEST_F(Pipeline, ErrorsOfSplitsHaveTheirNames) {
  Write("w.json", kWorkload);
  const auto code = [&](const char* split, const char* objective) {
    Write("s.json", split);
    const Outcome run =
        RunJson({"simulate", "w.json", "--placement", "s.json", "--objective", objective});
    EXPECT_EQ(run.status, 3) << split;
    EXPECT_EQ(run.json()["error"]["file"], "s.json") << split;
    return run.json()["error"]["code"].get<std::string>();
  };
  EXPECT_EQ(code(R"({"fpgas": [{"nodes": [1]}]})", "throughput"), "split-incomplete");
  EXPECT_EQ(code(R"({"fpgas": [{"nodes": [1]}]})", "latency"), "split-incomplete");
  EXPECT_EQ(code(R"({})", "throughput"), "split-incomplete");
  EXPECT_EQ(code(R"({"fpgas": {}})", "throughput"), "field");
  EXPECT_EQ(code(R"({"fpgas": 3})", "latency"), "field");
  Json workload = Json::parse(kWorkload);
  workload["maxFPGAs"] = 1;
  Write("w.json", workload.dump());
  EXPECT_EQ(code(R"({"fpgas": [{"nodes": [1]}, {"nodes": [2]}]})", "throughput"), "split-devices");
  EXPECT_EQ(code(R"({"fpgas": [{"nodes": [1]}, {"nodes": [2]}]})", "step-time"), "split-devices");
  workload["edges"].push_back({{"sourceId", 1}, {"destId", 2}, {"cost", 7}});
  Write("w.json", workload.dump());
  const Outcome run = RunJson({"inspect", "w.json"});
  EXPECT_EQ(run.status, 3);
  EXPECT_EQ(run.json()["error"]["code"], "workload-cost");
}

TEST_F(Pipeline, ObjectivesRefuseWhatTheyDoNotUse) {
  Write("w.json", kWorkload);
  Write("p.txt", kProfile);
  Write("s.json", R"({"fpgas": [{"nodes": [1, 2]}]})");
  const auto refused = [&](std::vector<std::string> words, const char* message) {
    const Outcome run = Run(words);
    EXPECT_EQ(run.status, 2) << message << run.out;
    EXPECT_THAT(run.err, HasSubstr(message));
  };
  refused({"simulate", "w.json", "--objective", "throughput"}, "--placement FILE is missing");
  refused({"simulate", "w.json", "--placement", "s.json", "--objective", "throughputs"},
          "did you mean throughput");
  refused({"simulate", "w.json", "--placement", "s.json", "--objective", "latency", "--schedule"},
          "--schedule cannot be used");
  refused({"simulate", "p.txt", "--placement", "s.json", "--objective", "latency"},
          "not a dnn-partitioning workload");
  refused({"simulate", "p.txt", "-c", "2xV100", "--placement", "s.json"}, "the graph is none");
  refused({"simulate", "w.json", "-c", "2xV100", "--placement", "s.json"},
          "-c cannot be used with a dnn-partitioning workload");
  refused({"plan", "p.txt"}, "-c CLUSTER is missing");
  refused({"plan", "p.txt", "-c", "2xV100", "--cost-profile", "tf1"},
          "--cost-profile cannot be used with a PipeDream profile");
}

TEST_F(Pipeline, AWorkloadsPlanGoesBackAsASplit) {
  Write("w.json", kWorkload);
  // Neither accelerator holds both: a 1 ms, 2 * 0.5 ms through the host, b 2 ms.
  const Json plan = RunJson({"plan", "w.json", "--iterations", "50"}).json();
  EXPECT_EQ(plan["step_time_ns"], 4'000'000);
  EXPECT_EQ(Run({"check", "w.plan.json"}).status, 0);
  const Outcome written =
      RunJson({"export", "w.plan.json", "--to", "dnn-partitioning", "-o", "s.json"});
  ASSERT_EQ(written.status, 0) << written.out;
  EXPECT_EQ(written.json()["bytes"], Read("s.json").size());
  const Json split = Json::parse(Read("s.json"));
  EXPECT_EQ(split["fpgas"].size(), 2u);
  EXPECT_EQ(split["cpus"].size(), 1u);
  for (const char* placement : {"s.json", "w.plan.json"}) {
    const Json load =
        RunJson({"simulate", "w.json", "--placement", placement, "--objective", "throughput"})
            .json();
    EXPECT_EQ(load["objective_value"], 2.5) << placement;
  }
  const Outcome refused =
      RunJson({"export", "w.plan.json", "--to", "pipedream", "-o", "stages.txt"});
  EXPECT_EQ(refused.status, 3);
  EXPECT_EQ(refused.json()["error"]["code"], "not-expressible");
  EXPECT_FALSE(Exists("stages.txt"));
}

// 1 -> 2 -> 3 of `size` each on `accelerators` with room for 2 * size, and no CPU.
std::string FullWorkload(double size, int accelerators) {
  Json workload = {{"maxSizePerFPGA", 2 * size}, {"maxFPGAs", accelerators}, {"maxCPUs", 0}};
  for (int id = 1; id <= 3; ++id) {
    workload["nodes"].push_back({{"id", id},
                                 {"cpuLatency", 1},
                                 {"fpgaLatency", 1},
                                 {"size", size},
                                 {"supportedOnFpga", 1},
                                 {"isBackwardNode", 0}});
  }
  workload["edges"] = {{{"sourceId", 1}, {"destId", 2}, {"cost", 0.5}},
                       {{"sourceId", 2}, {"destId", 3}, {"cost", 0.5}}};
  return workload.dump();
}

TEST_F(Pipeline, MemoryIsThatOfTheWorkloadsRule) {
  // Two of three nodes fill an accelerator: 1 ms, 2 * 0.5 ms through the host, 2 ms.
  for (const double size : {5.0, 0.25, 100000.0}) {
    Write("w.json", FullWorkload(size, 2));
    const Outcome run = RunJson({"plan", "w.json", "--iterations", "50"});
    ASSERT_EQ(run.status, 0) << size << run.out;
    EXPECT_EQ(run.json()["step_time_ns"], 4'000'000);
    const Json load =
        RunJson({"simulate", "w.json", "--placement", "w.plan.json", "--objective", "throughput"})
            .json();
    EXPECT_EQ(load["memory_ok"], true) << size;
    // 3 * size do not fit into 2 * size.
    Write("w.json", FullWorkload(size, 1));
    EXPECT_EQ(Run({"plan", "w.json"}).status, 4) << size;
  }
  // Beside large sizes the activations do count here, so that no plan fits; but none is no proof.
  Write("w.json", FullWorkload(1e9, 2));
  EXPECT_EQ(Run({"plan", "w.json", "--iterations", "50"}).status, 5);
  Write("w.json", FullWorkload(1e9, 1));
  EXPECT_EQ(Run({"plan", "w.json"}).status, 4);
}

TEST_F(Pipeline, AProfilesPlanGoesBackWithStages) {
  Write("p.txt", kProfile);
  Write("map.json", R"({"a": "host0/gpu1", "a.backward": "host0/gpu1",
                        "b": "host0/gpu0", "b.backward": "host0/gpu0"})");
  const Json plan = RunJson({"plan", "p.txt", "-c", "2xV100", "--pin", "a=host0/gpu1", "--pin",
                             "b=host0/gpu0", "--iterations", "1"})
                        .json();
  EXPECT_EQ(plan["cost_sources"]["given"], 1.0);
  EXPECT_THAT(plan["notes"][1].get<std::string>(), HasSubstr("1 layer"));
  EXPECT_EQ(Run({"check", "p.plan.json"}).status, 0);
  ASSERT_EQ(Run({"export", "p.plan.json", "--to", "pipedream", "-o", "p.stages.txt"}).status, 0);
  const std::string text = Read("p.stages.txt");
  EXPECT_THAT(text, HasSubstr("in -- Input0 -- forward_compute_time=9.000, "
                              "backward_compute_time=0.000, activation_size=8.0, "
                              "parameter_size=0.000 -- stage_id=0\n"));
  EXPECT_EQ(Run({"inspect", "p.stages.txt"}).status, 0);
  // Stages put a on gpu0 and b on gpu1: as long a step as a on gpu1 and b on gpu0.
  const auto step = [&](const char* placement) {
    return RunJson({"simulate", "p.txt", "-c", "2xV100", "--placement", placement}).json();
  };
  const Json staged = step("p.stages.txt");
  EXPECT_EQ(staged["step_time_ns"], step("map.json")["step_time_ns"]);
  EXPECT_EQ(staged["devices"][0]["ops"], 2);
  EXPECT_EQ(staged["devices"][1]["ops"], 2);
  EXPECT_EQ(step("p.txt")["error"]["code"], "split-incomplete");
  Write("far.txt", text +
                       "c -- L -- forward_compute_time=1, backward_compute_time=1, "
                       "activation_size=1, parameter_size=1 -- stage_id=9\n");
  EXPECT_EQ(step("far.txt")["error"]["code"], "split-devices");
}

TEST_F(Pipeline, ExportRefusesToOverwriteAndUnknownFormats) {
  Write("w.json", kWorkload);
  ASSERT_EQ(Run({"plan", "w.json", "--iterations", "1"}).status, 0);
  const std::string before = Read("w.plan.json");
  const auto refused = [&](const char* format, const char* output, const char* message) {
    const Outcome run = Run({"export", "w.plan.json", "--to", format, "-o", output});
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, HasSubstr(message));
  };
  refused("dnn-partitioning", "w.plan.json", "would overwrite the plan");
  refused("dnn-partitioning", "w.json", "would overwrite a file of the plan");
  refused("dnn-partitoning", "x", "did you mean dnn-partitioning");
  EXPECT_EQ(Read("w.plan.json"), before);
  Write("w.plan.json", before.substr(0, before.size() / 2));
  EXPECT_EQ(Run({"export", "w.plan.json", "--to", "dnn-partitioning", "-o", "x"}).status, 3);
}

}  // namespace
}  // namespace placewright
