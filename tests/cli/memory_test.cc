// Memory that runs out: an error of its own, in any thread and any reader, and no plan is lost.
#include <gmock/gmock.h>

#include <csignal>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::AnyOf;

class Memory : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers need an address space without a limit";
#endif
  }
  // What the program and its libraries take by themselves, in MiB. With too little of it some
  // libraries do not return from being loaded (OpenBLAS asks again for its 128 MiB, for ever).
  uint64_t Own() {
    uint64_t too_little = 8, enough = 4096;
    while (enough - too_little > 2) {
      const uint64_t middle = (too_little + enough) / 2;
      RunOptions options;
      options.address_space = middle << 20;
      options.signal = SIGKILL;
      options.signal_after = 5;
      (Run({"--version"}, options).status == 0 ? enough : too_little) = middle;
    }
    return enough;
  }
  // As much, and `mebibytes` more.
  RunOptions Limited(uint64_t mebibytes) {
    if (own_ == 0) own_ = Own();
    RunOptions options;
    options.address_space = (own_ + mebibytes) << 20;
    return options;
  }

 private:
  uint64_t own_ = 0;
};

void ExpectOutOfMemory(const Outcome& run) {
  EXPECT_EQ(run.status, 6) << run.err;
  const Json object = run.json();
  EXPECT_EQ(object["error"]["code"], "out-of-memory");
  EXPECT_EQ(object["error"]["message"], "out of memory");
}

// 1,440 ops on two devices. From some limit on the search gets far enough to have a plan; below, it
// ends in the error, with or without a plan; nowhere in a signal.
TEST_F(Memory, SearchEndsWithWhatItHas) {
  Write("net.json", BroadGraph(24, 60, 1 << 20).dump());
  int refused = 0, planned = 0;
  for (uint64_t mebibytes = 4; mebibytes <= 52; mebibytes += 4) {
    std::filesystem::remove(folder() / "net.plan.json");
    const Outcome run =
        RunJson({"plan", "net.json", "--iterations", "200", "--threads", "4"}, Limited(mebibytes));
    if (run.status == 127) continue;  // too little to load the program itself
    EXPECT_THAT(run.status, AnyOf(0, 6)) << mebibytes << run.err;
    const Json object = run.json();
    if (run.status == 6) ExpectOutOfMemory(run);
    const bool plan = object.contains("plan_file") && object["plan_file"].is_string();
    EXPECT_EQ(plan, Exists("net.plan.json")) << mebibytes;
    if (plan) {
      EXPECT_EQ(Run({"check", "net.plan.json"}).status, 0) << mebibytes;
    }
    refused += run.status == 6 ? 1 : 0;
    planned += plan ? 1 : 0;
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(planned, 0);
}

// Each file is right, and takes more than 18 MiB to read.
TEST_F(Memory, ReadersDoNotBlameTheFile) {
  std::string list = "name: [";
  for (int i = 0; i < 200'000; ++i) list += "x,";
  Write("cluster.yaml", list + "x]\n");
  ExpectOutOfMemory(RunJson({"cluster", "check", "cluster.yaml"}, Limited(18)));

  Write("net.json", BroadGraph(100, 200, 1 << 20).dump());
  ExpectOutOfMemory(RunJson({"inspect", "net.json"}, Limited(18)));

  // ModelProto.graph with 200,000 nodes of type Q.
  std::string graph;
  for (int i = 0; i < 200'000; ++i) graph += "\x0a\x03\x22\x01Q";
  std::string model = "\x3a";
  for (int i = 0; i < 5; ++i) {
    model += static_cast<char>((graph.size() >> (7 * i) & 0x7f) | (i < 4 ? 0x80 : 0));
  }
  Write("net.onnx", model + graph);
  ExpectOutOfMemory(RunJson({"inspect", "net.onnx"}, Limited(18)));
}

}  // namespace
}  // namespace placewright
