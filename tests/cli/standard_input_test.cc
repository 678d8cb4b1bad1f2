// "-": a graph, a cluster or a plan on standard input.
#include <gmock/gmock.h>
#include <zlib.h>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::HasSubstr;

class StandardInput : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    Write("net.json", ChainGraph(4, 100000).dump());
  }
  static RunOptions From(const std::string& file) {
    RunOptions options;
    options.input_from = file;
    return options;
  }
};

TEST_F(StandardInput, AGraphIsReadAndStoredBesideThePlan) {
  EXPECT_EQ(RunJson({"inspect", "-"}, From("net.json")).json()["name"], "chain");
  const Outcome run = RunJson({"plan", "-", "--iterations", "5"}, From("net.json"));
  ASSERT_EQ(run.status, 0) << run.err << run.out;
  EXPECT_EQ(run.json()["plan_file"], "stdin.plan.json");
  EXPECT_EQ(Read("stdin.plan.graph.json"), Read("net.json"));
  EXPECT_EQ(Run({"check", "stdin.plan.json"}).status, 0);
  EXPECT_EQ(Run({"simulate", "stdin.plan.json"}).status, 0);
}

TEST_F(StandardInput, GzipIsRecognisedByItsContent) {
  const std::string text = Read("net.json"), path = (folder() / "packed").string();
  gzFile packed = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(packed, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  gzclose(packed);
  ASSERT_EQ(Run({"plan", "-", "--iterations", "5"}, From("packed")).status, 0);
  EXPECT_EQ(Read("stdin.plan.graph.json.gz"), Read("packed"));
  EXPECT_EQ(Run({"check", "stdin.plan.json"}).status, 0);
}

TEST_F(StandardInput, APlanIsReadAndItsFilesAreNamedFromHere) {
  ASSERT_EQ(Run({"plan", "net.json", "--iterations", "5", "-o", "a.json"}).status, 0);
  EXPECT_EQ(Run({"check", "-"}, From("a.json")).status, 0);
  EXPECT_EQ(RunJson({"simulate", "-"}, From("a.json")).json()["step_time_ns"],
            RunJson({"simulate", "a.json"}).json()["step_time_ns"]);
  EXPECT_EQ(RunJson({"compare", "a.json", "-"}, From("a.json")).json()["plans"].size(), 2u);
  EXPECT_EQ(Run({"simulate", "net.json", "--placement", "-"}, From("a.json")).status, 0);
  const Outcome exported = Run({"export", "-", "--to", "chrome-trace", "-o", "-"}, From("a.json"));
  EXPECT_EQ(exported.status, 0) << exported.err;
  ASSERT_EQ(Run({"export", "a.json", "--to", "chrome-trace", "-o", "t.json"}).status, 0);
  EXPECT_EQ(exported.out, Read("t.json"));
  EXPECT_EQ(Run({"export", "a.json", "--to", "chrome-trace", "-o", "-", "--json"}).status, 2);
}

TEST_F(StandardInput, AClusterIsRead) {
  const std::string text = "name: piped\ngpus: 2 x T4\n";
  Write("c.yaml", text);
  EXPECT_EQ(RunJson({"cluster", "show", "-"}, From("c.yaml")).json()["cluster"]["name"], "piped");
  EXPECT_EQ(Run({"cluster", "check", "-"}, From("c.yaml")).status, 0);
  Write("p.txt",
        "node1 -- a() -- forward_compute_time=1.0, backward_compute_time=2.0, "
        "activation_size=8.0, parameter_size=4.0\n");
  const Outcome run = Run({"plan", "p.txt", "-c", "-", "--iterations", "5"}, From("c.yaml"));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(Read("p.plan.cluster.yaml"), text);
  EXPECT_EQ(Run({"check", "p.plan.json"}).status, 0);
}

TEST_F(StandardInput, OnlyOnce) {
  for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
           {"plan", "-", "-c", "-"}, {"compare", "-", "-"}, {"plan", "-", "--init", "-"}}) {
    const Json error = RunJson(line, From("net.json")).json()["error"];
    EXPECT_EQ(error["code"], "usage");
    EXPECT_THAT(error["message"].get<std::string>(),
                HasSubstr("standard input (-) is given twice"));
  }
}

TEST_F(StandardInput, OfATerminalIsRefused) {
  RunOptions terminal;
  terminal.terminal = true;
  const Outcome run = Run({"inspect", "-"}, terminal);
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.out, HasSubstr("which is a terminal"));
}

TEST_F(StandardInput, WhatCannotBeReadSaysSo) {
  Write("empty", "");
  Write("cut.gz", "\x1f\x8b\x08");
  EXPECT_EQ(RunJson({"inspect", "-"}, From("empty")).json()["error"]["code"], "format-unknown");
  EXPECT_EQ(RunJson({"inspect", "-"}, From("cut.gz")).json()["error"]["code"], "file-corrupt");
}

}  // namespace
}  // namespace placewright
