// `size`, `what-if` and `plan --from`, end to end.
#include <gmock/gmock.h>

#include <csignal>

#include "recorded_mlp.h"

namespace placewright {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class Sizing : public ProgramTest {
 protected:
  // A recorded transformer of two layers with Adam, 32 samples.
  const std::string step_ =
      std::string(PLACEWRIGHT_SOURCE_DIR) + "/examples/tiny_transformer_adam.json.gz";
};

TEST_F(Sizing, SizeNamesTheFewestAndSaysItsNeighbour) {
  const Outcome run =
      RunJson({"size", step_, "--kinds", "RTX4090", "--counts", "2,4", "--target", "fits"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json size = run.json();
  EXPECT_EQ(size["schema"], "placewright.size/1");
  // One fewer than 2 is 1, which no count names.
  ASSERT_EQ(size["rows"].size(), 3u);
  EXPECT_EQ(size["answer"], 1);
  EXPECT_EQ(size["rows"][1]["count"], 2);
  EXPECT_EQ(size["neighbours"], Json({0}));
  EXPECT_EQ(size["rows"][0]["asked_for"], false);
  EXPECT_EQ(size["rows"][0]["meets"], true);
  const Outcome text = Run({"size", step_, "--kinds", "RTX4090", "--counts", "2,4"});
  EXPECT_THAT(text.out, HasSubstr("2 RTX-4090 by "));
  EXPECT_THAT(text.out, HasSubstr("verified: 1 RTX-4090 meets it, too (not in --counts)"));
}

TEST_F(Sizing, ATargetThatIsMissedExitsWithNothingFound) {
  const Outcome run =
      RunJson({"size", step_, "--kinds", "RTX4090", "--counts", "1,2", "--target", "step=0.001ms"});
  EXPECT_EQ(run.status, 5);
  EXPECT_EQ(run.json()["answer"], nullptr);
  EXPECT_EQ(run.json()["error"]["code"], "nothing-found");
  EXPECT_EQ(run.json()["rows"].size(), 2u);
}

TEST_F(Sizing, PricesMakeTheCheapestTheAnswer) {
  Write("prices.yaml", "currency: USD\nper_gpu_hour: {H100: 3, RTX4090: 1}\n");
  const Outcome run = RunJson(
      {"size", step_, "--kinds", "H100,RTX4090", "--counts", "1", "--prices", "prices.yaml"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json size = run.json();
  EXPECT_EQ(size["rows"][size["answer"].get<size_t>()]["kind"], "RTX-4090");
  EXPECT_EQ(size["currency"], "USD");
  EXPECT_EQ(size["rows"][0]["price_per_hour"], 3);
}

TEST_F(Sizing, SizeRefusesWhatItCannotMean) {
  const auto code_of = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"size", step_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome run = RunJson(arguments);
    EXPECT_NE(run.status, 0);
    return run.json()["error"]["code"].get<std::string>();
  };
  EXPECT_EQ(code_of({"--kinds", "H100", "--target", "fast"}), "usage");
  EXPECT_EQ(code_of({"--kinds", "H100", "--target", "step=500"}), "usage");
  EXPECT_EQ(code_of({"--kinds", "H100", "--target", "tokens/s=many"}), "usage");
  EXPECT_EQ(code_of({"--kinds", "A100"}), "unknown-name");
  EXPECT_EQ(code_of({"--kinds", "H100", "--counts", "12"}), "usage");
  EXPECT_EQ(code_of({"--kinds", "H100", "--counts", "0"}), "usage");
  Write("prices.yaml", "currency: USD\nper_gpu_hour: {H100: 3}\n");
  EXPECT_EQ(code_of({"--kinds", "H100,L4", "--prices", "prices.yaml"}), "field");
}

TEST_F(Sizing, WhatIfSortsChangesByTheirGain) {
  const Outcome run = RunJson({"what-if", step_, "-c", "2x4090"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json answers = run.json();
  EXPECT_EQ(answers["schema"], "placewright.what-if/1");
  EXPECT_NE(answers["binds"], nullptr);
  std::vector<std::string> names;
  double last = 1e300;
  for (const Json& change : answers["changes"]) {
    names.push_back(change["change"]);
    if (change["samples_per_second"].is_null()) continue;
    EXPECT_LE(change["samples_per_second"].get<double>(), last);
    last = change["samples_per_second"];
  }
  for (const char* const name : {"16 GB more per GPU", "one GPU fewer", "batch 16", "batch 64",
                                 "peer to peer between GPUs"}) {
    EXPECT_THAT(names, Contains(name));
  }
}

TEST_F(Sizing, WhatIfComparesWithAPlanOfTheSameFiles) {
  ASSERT_EQ(Run({"plan", step_, "-c", "2x4090", "--algo", "zero-2", "-o", "z.plan.json"}).status,
            0);
  const Json plan = Json::parse(Read("z.plan.json"));
  const Outcome run = RunJson({"what-if", step_, "-c", "2x4090", "--plan", "z.plan.json"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.json()["base"]["strategy"]["algorithm"], "zero-2");
  EXPECT_EQ(run.json()["base"]["strategy"]["step_time_ns"], plan["step_time_ns"]);
  const Outcome other = RunJson({"what-if", step_, "-c", "4x4090", "--plan", "z.plan.json"});
  EXPECT_EQ(other.json()["error"]["code"], "plan-mismatch");
}

TEST_F(Sizing, APlanFromDeepSpeedIsItsStrategy) {
  Write("ds.json",
        "{\"zero_optimization\": {\"stage\": 2}, \"train_micro_batch_size_per_gpu\": 8,"
        " \"gradient_accumulation_steps\": 1}");
  const Outcome run =
      RunJson({"plan", step_, "-c", "2x4090", "--from", "ds.json", "-o", "from.plan.json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json result = run.json();
  EXPECT_EQ(result["algorithm"], "zero-2");
  EXPECT_EQ(result["from"]["program"], "DeepSpeed");
  EXPECT_EQ(result["from"]["configured"]["micro_batches"], 1);
  // 8 samples on each of 2 ranks.
  EXPECT_NEAR(
      result["samples_per_second"].get<double>() * result["step_time_ns"].get<double>() * 1e-9, 16,
      1e-6);
  // What is said beside the plan is of the plan.
  EXPECT_EQ(result["from"]["configured"]["step_time_ns"], result["step_time_ns"]);
  EXPECT_LE(result["from"]["best"]["step_time_ns"], result["step_time_ns"]);
  const Outcome both =
      RunJson({"plan", step_, "-c", "2x4090", "--from", "ds.json", "--algo", "fsdp"});
  EXPECT_EQ(both.json()["error"]["code"], "usage");
  const Outcome fewer = RunJson({"plan", step_, "-c", "1x4090", "--from", "ds.json"});
  EXPECT_EQ(fewer.json()["error"]["code"], "usage");
}

// What `export` writes of a plan, `--from` reads as that plan.
using RecordedConfigurations = RecordedMlp;

TEST_F(RecordedConfigurations, AreReadAsTheyWereExported) {
  for (const auto& [algorithm, format] :
       std::vector<std::pair<std::string, std::string>>{{"data-parallel", "torchtitan"},
                                                        {"data-parallel", "deepspeed"},
                                                        {"fsdp", "deepspeed"}}) {
    ASSERT_EQ(Run({"plan", "mlp.json.gz", "-c", "2x4090", "--algo", algorithm, "-o", "a.plan.json"})
                  .status,
              0);
    const Outcome written = Run({"export", "a.plan.json", "--to", format, "-o", "configuration"});
    ASSERT_EQ(written.status, 0) << algorithm << format << written.err;
    const Outcome read = RunJson(
        {"plan", "mlp.json.gz", "-c", "2x4090", "--from", "configuration", "-o", "b.plan.json"});
    ASSERT_EQ(read.status, 0) << read.err;
    EXPECT_EQ(read.json()["algorithm"], algorithm);
    EXPECT_EQ(read.json()["step_time_ns"], Json::parse(Read("a.plan.json"))["step_time_ns"]);
    // torchtitan computes some again where nothing is said.
    if (format == "torchtitan") {
      EXPECT_THAT(Read("configuration"), HasSubstr("[activation_checkpoint]\nmode = \"none\""));
    }
  }
}

// No step is handed on without what was done to it.
TEST_F(RecordedConfigurations, OfRewrittenStepsAreRefused) {
  ASSERT_EQ(Run({"plan", "mlp.json.gz", "-c", "2x4090", "--algo", "data-parallel",
                 "--micro-batches", "2", "-o", "a.plan.json"})
                .status,
            0);
  for (const char* const format : {"torchtitan", "deepspeed", "accelerate-fsdp"}) {
    const Json error =
        RunJson({"export", "a.plan.json", "--to", format, "-o", "configuration"}).json()["error"];
    EXPECT_EQ(error["code"], "not-expressible") << format;
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("is rewritten (accumulate 2)"));
  }
}

}  // namespace
}  // namespace placewright
