// Descriptions of machines that the program makes itself.
#include <gmock/gmock.h>

#include "program_runner.h"

namespace placewright {
namespace {

using testing::HasSubstr;

using ClusterFiles = ProgramTest;

constexpr std::string_view kTable =
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPIX\t0-7\t0\nGPU1\tPIX\t X \t0-7\t0\n";

// What this machine has is not known here: what is found must be a cluster file all the same.
TEST_F(ClusterFiles, DetectDescribesThisMachine) {
  const Outcome run = Run({"cluster", "detect", "-o", "here.yaml"});
  if (run.err.find("is not in the catalogue") != std::string::npos && run.status == 3) {
    GTEST_SKIP() << "this machine has a GPU that the catalogue lacks";
  }
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(Run({"cluster", "check", "here.yaml"}).status, 0);
  EXPECT_THAT(Read("here.yaml"), HasSubstr("host0/cpu0"));
  const Outcome again = Run({"cluster", "detect"});
  EXPECT_EQ(again.out, Read("here.yaml"));
}

TEST_F(ClusterFiles, DetectAsksTheDriversLibrary) {
  const Outcome run =
      RunJson({"cluster", "detect"}, {{"LD_LIBRARY_PATH=" PLACEWRIGHT_FAKE_NVML_FOLDER}});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json cluster = run.json();
  EXPECT_EQ(cluster["schema"], "placewright.cluster/1");
  EXPECT_EQ(cluster["devices"][1]["name"], "host0/gpu1");
  EXPECT_EQ(cluster["devices"][1]["kind"], "RTX-3090");
  EXPECT_EQ(cluster["devices"][1]["memory_bytes"], 25'769'803'776);
  bool joined = false;
  for (const Json& link : cluster["links"]) {
    if (link["name"] != "host0/gpu0>host0/gpu1") continue;
    joined = true;
    EXPECT_EQ(link["bandwidth_bytes_per_s"], 56'250'000'000);  // 4 lanes of 14.0625 GB/s
  }
  EXPECT_TRUE(joined);
}

TEST_F(ClusterFiles, DetectTakesTheTableOfAnotherMachine) {
  Write("topo.txt", kTable);
  const Outcome run = Run({"cluster", "detect", "--topo", "topo.txt", "--gpu", "t4"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("{name: host0/gpu1, kind: \"T4\", memory: 16 GiB, host: 0}"));
  EXPECT_THAT(run.out, HasSubstr("host0/switch0"));
  Write("that.yaml", run.out);
  EXPECT_EQ(Run({"cluster", "check", "that.yaml"}).status, 0);
}

TEST_F(ClusterFiles, DetectNamesWhatIsWrongWithTheTable) {
  Write("topo.txt", " GPU0 GPU1\nGPU0 X PIX\nGPU1 PHB X\n");
  const Outcome bad = RunJson({"cluster", "detect", "--topo", "topo.txt", "--gpu", "T4"});
  EXPECT_EQ(bad.status, 3);
  EXPECT_EQ(bad.json()["error"]["file"], "topo.txt");
  EXPECT_EQ(bad.json()["error"]["place"], "line 3");
  EXPECT_EQ(RunJson({"cluster", "detect", "--topo", "none.txt"}).json()["error"]["code"],
            "file-unreadable");
  const Outcome kind = RunJson({"cluster", "detect", "--topo", "topo.txt", "--gpu", "EPYC-7742"});
  EXPECT_EQ(kind.json()["error"]["code"], "unknown-name");
  Write("topo.txt", kTable);
  EXPECT_EQ(
      Run({"cluster", "detect", "--topo", "topo.txt", "--gpu", "T4", "-o", "topo.txt"}).status, 2);
  EXPECT_EQ(Read("topo.txt"), kTable);
}

constexpr std::string_view kPairs =
    "P2P Connectivity Matrix\n D\\D 0 1\n 0 1 0\n 1 0 1\n"
    "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n D\\D 0 1\n 0 900 18.5\n 1 18.5 900\n";

TEST_F(ClusterFiles, AmendTakesWhatWasMeasured) {
  Write("p2p.txt", kPairs);
  const Outcome run = Run({"cluster", "amend", "2xL40S", "--pairs", "p2p.txt", "-o", "m.yaml"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("host memory"));
  const Json shown = RunJson({"cluster", "show", "m.yaml"}).json();
  bool found = false;
  for (const Json& route : shown["cluster"]["routes"]) {
    if (route["from"] != "host0/gpu0" || route["to"] != "host0/gpu1") continue;
    found = true;
    EXPECT_EQ(route["through_host"], true);
    EXPECT_EQ(route["bandwidth_bytes_per_s"], 18'500'000'000);
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(Run({"cluster", "amend", "m.yaml", "-o", "m.yaml"}).status, 2);
  Write("resolved.json", shown.dump());
  EXPECT_EQ(Run({"cluster", "amend", "resolved.json"}).status, 2);
  EXPECT_EQ(Run({"cluster", "amend", "8xH100", "--pairs", "p2p.txt"}).status,
            3);  // eight GPUs, not two
}

TEST_F(ClusterFiles, WhatIsTakenIsSaid) {
  Write("open.yaml", "gpus: 8 x H100\n");
  const Outcome check = Run({"cluster", "check", "open.yaml"});
  EXPECT_EQ(check.status, 0);
  EXPECT_THAT(check.err, HasSubstr("NVSwitch"));
  EXPECT_THAT(RunJson({"cluster", "check", "open.yaml"}).json()["notes"].dump(),
              HasSubstr("NVSwitch"));
  Write("cards.yaml", "gpus: 2 x RTX 4090\ncpus: EPYC-7763\nmemory: 1 GiB\ninterconnect: pcie4\n");
  EXPECT_THAT(Run({"cluster", "show", "cards.yaml"}).out, HasSubstr("no peer to peer"));
}

TEST_F(ClusterFiles, RandomIsTheSameForASeed) {
  const Outcome one = Run({"cluster", "random", "--seed", "5", "-o", "five.yaml"});
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(Run({"cluster", "random", "--seed", "5"}).out, Read("five.yaml"));
  EXPECT_NE(Run({"cluster", "random", "--seed", "6"}).out, Read("five.yaml"));
  EXPECT_EQ(Run({"cluster", "check", "five.yaml"}).status, 0);
  for (const char* range : {"0", "3-2", "x", "1-", "-1", "1-2-3", ""}) {
    EXPECT_EQ(Run({"cluster", "random", "--machines", range}).status, 2) << range;
  }
  EXPECT_EQ(Run({"cluster", "random", "--kinds", "Voodoo2"}).status, 3);
  for (const char* kinds : {"A100-40GB,,T4", "A100-40GB,", ",", ""}) {
    const Outcome run = RunJson({"cluster", "random", "--kinds", kinds});
    EXPECT_EQ(run.status, 2) << kinds;
    EXPECT_THAT(run.json()["error"]["message"].get<std::string>(), HasSubstr("has an empty"))
        << kinds;
  }
}

}  // namespace
}  // namespace placewright
