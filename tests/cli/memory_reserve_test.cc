// The memory reserve: what GPUs keep free by default, in a cluster's words and by option.
#include <gmock/gmock.h>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kGiB = int64_t{1} << 30;

// Two modules in a chain: 1 GB of parameters each, times given.
constexpr const char* kProfile =
    "node1 -- a() -- forward_compute_time=1.0, backward_compute_time=2.0, "
    "activation_size=8.0, parameter_size=1000000000.0\n"
    "node2 -- b() -- forward_compute_time=1.0, backward_compute_time=2.0, "
    "activation_size=8.0, parameter_size=1000000000.0\n"
    "\tnode1 -- node2\n";

class MemoryReserveOption : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    Write("p.txt", kProfile);
    Write("c.yaml", "gpus: 2 x T4\n");
  }
  // What gpu0 keeps and offers.
  std::pair<int64_t, int64_t> Plan(const std::vector<std::string>& more) {
    std::vector<std::string> line = {"plan", "p.txt", "-c", "c.yaml", "--iterations", "5"};
    line.insert(line.end(), more.begin(), more.end());
    const Outcome run = RunJson(line);
    EXPECT_EQ(run.status, 0) << run.out;
    const Json device = run.json()["devices"][0];
    return {device["reserve_bytes"], device["capacity_bytes"]};
  }
};

// 5% of 16 GiB are 858,993,459.2 B, rounded down.
TEST_F(MemoryReserveOption, IsFivePercentUnlessStated) {
  EXPECT_EQ(Plan({}), std::pair(int64_t{858993459}, 16 * kGiB - 858993459));
  EXPECT_EQ(Plan({"--memory-reserve", "0"}), std::pair(int64_t{0}, 16 * kGiB));
  EXPECT_EQ(Plan({"--memory-reserve", "1GiB"}), std::pair(kGiB, 15 * kGiB));
  EXPECT_EQ(Plan({"--memory-reserve", "50%"}), std::pair(8 * kGiB, 8 * kGiB));
  Write("c.yaml", "gpus: {kind: T4, count: 2, reserve: 2 GiB}\n");
  EXPECT_EQ(Plan({}), std::pair(2 * kGiB, 14 * kGiB));
  EXPECT_EQ(Plan({"--memory-reserve", "1GiB"}), std::pair(kGiB, 15 * kGiB));
}

TEST_F(MemoryReserveOption, ThePlanRemembersIt) {
  for (const char* reserve : {"0", "1GiB", "12.5%"}) {
    Plan({"--memory-reserve", reserve});
    EXPECT_EQ(Run({"check", "p.plan.json"}).status, 0) << reserve;
    const Json planned = Json::parse(Read("p.plan.json")),
               again = RunJson({"simulate", "p.plan.json"}).json();
    for (const char* key : {"capacity_bytes", "reserve_bytes"}) {
      EXPECT_EQ(again["devices"][0][key], planned["devices"][0][key]) << reserve;
    }
  }
}

TEST_F(MemoryReserveOption, IsShown) {
  EXPECT_THAT(Run({"plan", "p.txt", "-c", "c.yaml", "--iterations", "5"}).out,
              HasSubstr("memory reserve: 819.2 MiB of each T4 are kept free (--memory-reserve)"));
  EXPECT_THAT(
      Run({"plan", "p.txt", "-c", "c.yaml", "--iterations", "5", "--memory-reserve", "0"}).out,
      Not(HasSubstr("memory reserve")));
  const Json shown = RunJson({"cluster", "show", "4xP100"}).json();
  EXPECT_EQ(shown["cluster"]["devices"][0]["reserve_bytes"], 644245094);  // 5% of 12 GiB
  EXPECT_EQ(shown["cluster"]["devices"][4]["reserve_bytes"], 0);          // a CPU
  // A resolved file says what it keeps, and means it.
  Write("resolved.json", shown.dump());
  EXPECT_EQ(RunJson({"cluster", "show", "resolved.json"}).json()["cluster"], shown["cluster"]);
  const Json none = RunJson({"cluster", "show", "4xP100", "--memory-reserve", "0"}).json();
  EXPECT_EQ(none["cluster"]["devices"][0]["capacity_bytes"], 12 * kGiB);
  EXPECT_EQ(none["sha256"], shown["sha256"]);  // of the machines, not of how full they may be
}

TEST_F(MemoryReserveOption, WhatDoesNotFitNamesIt) {
  // 2 GB on each GPU of 4 GiB of which 3 GiB are kept.
  Write("c.yaml", "gpus: {kind: T4, count: 1, memory: 4 GiB, reserve: 3 GiB}\n");
  const Json error =
      RunJson({"plan", "p.txt", "-c", "c.yaml", "--iterations", "5"}).json()["error"];
  EXPECT_EQ(error["code"], "infeasible") << error;
  EXPECT_THAT(error["remedy"].get<std::string>(), HasSubstr("--memory-reserve"));
  EXPECT_EQ(
      Run({"plan", "p.txt", "-c", "c.yaml", "--iterations", "5", "--memory-reserve", "0"}).status,
      0);
}

TEST_F(MemoryReserveOption, IsRefusedWhereItMeansNothing) {
  Write("net.json", ChainGraph(4, 100000).dump());
  ASSERT_EQ(Run({"plan", "net.json", "--iterations", "5"}).status, 0);
  for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
           {"plan", "net.json", "--memory-reserve", "0"},
           {"simulate", "net.plan.json", "--memory-reserve", "0"},
           {"compare", "net.plan.json", "--memory-reserve", "0"},
           {"plan", "p.txt", "-c", "c.yaml", "--memory-reserve", "12"},
           {"plan", "p.txt", "-c", "c.yaml", "--memory-reserve", "120%"},
           {"plan", "p.txt", "-c", "c.yaml", "--memory-reserve", "16GiB"},
           {"plan", "p.txt", "-c", "c.yaml", "--memory-reserve", "-1 GiB"}}) {
    const Outcome run = RunJson(line);
    EXPECT_EQ(run.status, 2) << line[1] << " " << line.back() << run.out;
    EXPECT_EQ(run.json()["error"]["code"], "usage");
  }
}

// Formats that state their own memory mean exactly that.
TEST_F(MemoryReserveOption, CostGraphsKeepNone) {
  Write("net.json", ChainGraph(4, 100000).dump());
  const Json device = RunJson({"plan", "net.json", "--iterations", "5"}).json()["devices"][0];
  EXPECT_EQ(device["capacity_bytes"], 100000);
  EXPECT_EQ(device["reserve_bytes"], 0);
}

}  // namespace
}  // namespace placewright
