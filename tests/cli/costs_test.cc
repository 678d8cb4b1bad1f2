// `costs import`: times from traces of other programs.
#include <gmock/gmock.h>

#include "recorded_mlp.h"

namespace placewright {
namespace {

using testing::HasSubstr;
using testing::Not;

class CostsImport : public RecordedMlp {
 protected:
  void SetUp() override {
    RecordedMlp::SetUp();
    if (IsSkipped()) return;
    // mlp.json.gz multiplies 8 rows of 784 by 784 x 32 first.
    Write("trace.json", Trace("aten::addmm", 123));
  }
  static std::string Trace(const std::string& op, int microseconds) {
    return R"({"traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": ")" +
           op + R"(", "pid": 1, "tid": 1, "ts": 10, "dur": )" + std::to_string(microseconds) +
           R"(, "args": {"External id": 1,
   "Input Dims": [[32], [8, 784], [784, 32], [], []],
   "Input type": ["float", "float", "float", "Scalar", "Scalar"]}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::roll", "pid": 1, "tid": 1, "ts": 900, "dur": 41,
   "args": {"External id": 2, "Input Dims": [[3]], "Input type": ["float"]}}]})";
  }
  Outcome Import(const std::string& trace, const std::string& kind = "worker") {
    return RunJson({"costs", "import", trace, "mlp.json.gz", "--kind", kind, "--cores", "1",
                    "--cost-store", "costs.sqlite"});
  }
};

TEST_F(CostsImport, MatchedOpsCostWhatTheTraceSays) {
  const Outcome imported = Import("trace.json");
  ASSERT_EQ(imported.status, 0) << imported.err;
  const Json object = imported.json();
  EXPECT_EQ(object["source"], "PyTorch");
  EXPECT_EQ(object["on_device"], false);
  EXPECT_EQ(object["rows"], 1);
  EXPECT_NEAR(object["time_share"].get<double>(), 123.0 / 164, 1e-9);
  EXPECT_EQ(object["unused"][0]["type"], "aten::roll");
  EXPECT_EQ(object["unused"][0]["time_ns"], 41000);
  int64_t matched = 0;
  for (const Json& one : object["classes"]) matched += one["matched"].get<int64_t>();
  EXPECT_EQ(matched, 1);
  const Outcome planned = RunJson({"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", "single",
                                   "--cost-store", "costs.sqlite", "-o", "p.json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_GT(planned.json()["cost_sources"]["measured"], 0);
  EXPECT_THAT(planned.json()["notes"].dump(), HasSubstr("trace of PyTorch"));
  EXPECT_THAT(Read("p.costs.json"), HasSubstr("123000"));
  const Outcome text = Run({"costs", "import", "trace.json", "mlp.json.gz", "--kind", "worker",
                            "--cost-store", "costs.sqlite"});
  EXPECT_THAT(text.out, HasSubstr("Not used, longest first: aten::roll 41"));
}

// What was measured here stays, and what was imported twice, too.
TEST_F(CostsImport, FillsInWhatWasNotMeasured) {
  ASSERT_EQ(Import("trace.json").status, 0);
  ASSERT_EQ(Run({"profile", "mlp.json.gz", "-c", "two.yaml", "--batch", "8", "--steps", "5",
                 "--no-transfers", "--cost-store", "costs.sqlite"})
                .status,
            0);
  const auto measured = [&] {
    const Outcome planned = RunJson({"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", "single",
                                     "--cost-store", "costs.sqlite", "-o", "p.json"});
    EXPECT_EQ(planned.status, 0) << planned.err;
    EXPECT_THAT(planned.json()["notes"].dump(), HasSubstr("LibTorch"));
    EXPECT_THAT(planned.json()["notes"].dump(), Not(HasSubstr("trace of")));
    return planned.json()["cost_sources"]["measured"].get<double>();
  };
  EXPECT_EQ(measured(), 1);
  ASSERT_EQ(Import("trace.json").status, 0);
  EXPECT_EQ(measured(), 1);
}

TEST_F(CostsImport, WhatDoesNotFitIsNamedAndNothingIsStored) {
  Write("other.json", Trace("aten::bmm", 5));
  const Outcome other = Import("other.json");
  EXPECT_EQ(other.status, 3);
  EXPECT_THAT(other.out, HasSubstr("is an op of mlp.json.gz"));
  const auto gpu = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"costs",  "import",    "trace.json",   "mlp.json.gz",
                                      "--kind", "A100-80GB", "--cost-store", "costs.sqlite"};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  };
  EXPECT_THAT(gpu({}).err, HasSubstr("its times are of calls on a CPU"));
  EXPECT_THAT(gpu({"--cores", "2"}).err, HasSubstr("--cores is for CPUs"));
  EXPECT_THAT(Import("two.yaml").out, HasSubstr("format-unknown"));
  EXPECT_FALSE(Exists("costs.sqlite"));
}

}  // namespace
}  // namespace placewright
