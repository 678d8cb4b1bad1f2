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

// `costs calibrate`: the model made to agree with a measured step.
class CostsCalibrate : public RecordedMlp {
 protected:
  void SetUp() override {
    RecordedMlp::SetUp();
    if (IsSkipped()) return;
    one_ = Plan("single", "one.plan.json", {});
    both_ = Plan("data-parallel", "both.plan.json", {});
  }
  int64_t Plan(const std::string& algorithm, const std::string& file,
               const std::vector<std::string>& more) {
    std::vector<std::string> words = {"plan",    "mlp.json.gz", "-c", "two.yaml", "--algo",
                                      algorithm, "--no-store",  "-o", file};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome made = RunJson(words);
    EXPECT_EQ(made.status, 0) << made.err;
    return made.json()["step_time_ns"];
  }
  Outcome Calibrate(const std::string& plan, int64_t step, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {
        "costs", "calibrate", plan, "--step", std::to_string(step) + "ns", "-o", "found.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    return RunJson(words);
  }

  int64_t one_ = 0, both_ = 0;
};

// On one device all ops are computed one after another: 1.25 times the step is 1.25 times each op.
TEST_F(CostsCalibrate, OneFactorOfAllOpsGivesTheMeasuredStep) {
  const Outcome found = Calibrate("one.plan.json", one_ * 5 / 4);
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_NEAR(found.json()["factor"].get<double>(), 1.25, 1e-3);
  EXPECT_EQ(found.json()["kinds"], Json({"worker"}));
  EXPECT_EQ(found.json()["modelled_step_ns"], one_);
  const int64_t again = Plan("single", "again.plan.json", {"--costs", "found.yaml"});
  EXPECT_NEAR(static_cast<double>(again), 1.25 * static_cast<double>(one_),
              1e-3 * static_cast<double>(one_));
}

// Products P and all others O: a step of T makes products (T - O) / P times as slow, and nothing else.
TEST_F(CostsCalibrate, TheFactorOfProductsLeavesOthersAsTheyAre) {
  const std::string products = "aten.*mm*";
  // What is not products is what a step takes with products of no time.
  Write("none.yaml", "overrides:\n  - {type: \"aten.*mm*\", time: 0ns}\n");
  const int64_t others = Plan("single", "others.plan.json", {"--costs", "none.yaml"});
  ASSERT_LT(others, one_);
  const int64_t wanted = one_ + (one_ - others) / 2;  // products take half as long again
  const Outcome found = Calibrate("one.plan.json", wanted, {"--type", products});
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_NEAR(found.json()["factor"].get<double>(), 1.5, 1e-2);
  const int64_t again = Plan("single", "again.plan.json", {"--costs", "found.yaml"});
  EXPECT_NEAR(static_cast<double>(again), static_cast<double>(wanted),
              0.01 * static_cast<double>(wanted));
}

// On two devices communications stay: the factor of ops is above that of the step.
TEST_F(CostsCalibrate, CommunicationsStayAsTheyAreModelled) {
  const Outcome found = Calibrate("both.plan.json", both_ * 3 / 2);
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_GT(found.json()["factor"].get<double>(), 1.5);
  const int64_t again = Plan("data-parallel", "again.plan.json", {"--costs", "found.yaml"});
  EXPECT_NEAR(static_cast<double>(again), 1.5 * static_cast<double>(both_),
              0.01 * static_cast<double>(both_));
  // What is computed is measured apart: 1.2 times as long, whatever the step takes.
  const int64_t computes = found.json()["modelled_compute_ns"];
  const Outcome apart = Calibrate("both.plan.json", both_ * 3 / 2,
                                  {"--compute", std::to_string(computes * 6 / 5) + "ns"});
  ASSERT_EQ(apart.status, 0) << apart.err;
  EXPECT_NEAR(apart.json()["factor"].get<double>(), 1.2, 1e-3);
  EXPECT_LT(apart.json()["step_ns"].get<int64_t>(), both_ * 3 / 2);
}

TEST_F(CostsCalibrate, RefusesWhatNoFactorGives) {
  const auto refused = [&](const Outcome& outcome, const std::string& text) {
    EXPECT_NE(outcome.status, 0);
    EXPECT_THAT(outcome.out + outcome.err, HasSubstr(text));
  };
  refused(Calibrate("both.plan.json", 100), "outside of what a factor gives");
  refused(Calibrate("one.plan.json", 0), "no time above 0");
  refused(Calibrate("one.plan.json", one_, {"--type", "aten.conv*"}), "no op that takes time");
  refused(Calibrate("one.plan.json", one_, {"--compute", std::to_string(2 * one_) + "ns"}),
          "longer than the step");
  refused(Calibrate("mlp.json.gz", one_), "is no plan");
  // Whose costs are not the model's: the factor would count twice.
  Write("slow.yaml", "overrides:\n  - {type: \"*\", scale: 2}\n");
  const int64_t slow = Plan("single", "slow.plan.json", {"--costs", "slow.yaml"});
  refused(Calibrate("slow.plan.json", slow), "made with --costs");
  Write("given.yaml", "overrides:\n  - {type: \"aten.*mm*\", time: 1ms}\n");
  Plan("single", "given.plan.json", {"--costs", "given.yaml"});
  refused(Calibrate("given.plan.json", slow), "measured or given");
}

}  // namespace
}  // namespace placewright
