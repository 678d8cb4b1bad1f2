// The policy that lies in policies/: every change of vocabulary, features or settings that it does not go
// with shows here.
#include <gmock/gmock.h>

#include "program_runner.h"

namespace placewright {
namespace {

using testing::HasSubstr;

const std::string kPolicy = PLACEWRIGHT_SOURCE_DIR "/policies/gdp.policy";
const std::string kTinyTransformer =
    PLACEWRIGHT_SOURCE_DIR "/examples/tiny_transformer_adam.json.gz";

using ShippedPolicy = TorchProgramTest;

TEST_F(ShippedPolicy, PlansForAnyNumberOfGpus) {
  for (const std::string cluster : {"2xP100-16GB", "4xP100-16GB", "8xP100"}) {
    const Outcome run = RunJson({"plan", kTinyTransformer, "-c", cluster, "--algo", "gdp",
                                 "--policy", kPolicy, "--iterations", "0", "-o", "net.plan.json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json plan = run.json();
    EXPECT_EQ(plan["algorithm"], "gdp");
    EXPECT_EQ(plan["cluster"], cluster);
    EXPECT_EQ(plan["iterations"], 0);
    EXPECT_EQ(plan["feasible"], true);
    EXPECT_EQ(plan["unknown_types"], Json::array());
    EXPECT_THAT(run.err, HasSubstr("the policy's placement took"));
    EXPECT_EQ(Run({"check", "net.plan.json"}).status, 0);
  }
}

// Without --policy, too, and it can be trained further.
TEST_F(ShippedPolicy, IsWhatGdpStartsFrom) {
  RunOptions options;
  options.environment = {"PLACEWRIGHT_POLICIES=" PLACEWRIGHT_SOURCE_DIR "/policies"};
  const Outcome run = RunJson({"plan", kTinyTransformer, "-c", "4xP100", "--algo", "gdp",
                               "--iterations", "10", "-o", "net.plan.json"},
                              options);
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("gdp starts from " + kPolicy));
  EXPECT_EQ(run.json()["iterations"], 10);
}

}  // namespace
}  // namespace placewright
