// `train`, and plans of learned planners.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>

#include "program_runner.h"
#include "recorded_mlp.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::HasSubstr;

class Train : public TorchProgramTest {
 protected:
  void SetUp() override {
    TorchProgramTest::SetUp();
    if (IsSkipped()) return;
    Write("net.json", BroadGraph(4, 6, 1 << 20).dump());
  }
  // `train mars` on the small graph with narrow layers.
  Outcome TrainMars(std::vector<std::string> more, const RunOptions& options = {}) const {
    std::vector<std::string> arguments = {"train", "mars"};
    arguments.insert(arguments.end(), narrow_.begin(), narrow_.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunJson(arguments, options);
  }

  const std::vector<std::string> narrow_ = {"--set",           "width=8", "--set",
                                            "encoder-width=8", "--set",   "pretraining=5"};
};

TEST_F(Train, WritesAPolicyThatPlansStartFrom) {
  const Outcome trained =
      TrainMars({"net.json", "--iterations", "60", "-o", "net.policy", "--events", "curves"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  const Json object = trained.json();
  EXPECT_EQ(object["schema"], "placewright.train/1");
  EXPECT_EQ(object["samples"], 60);
  EXPECT_EQ(object["updates"], 6);
  EXPECT_EQ(object["graphs"][0]["graph"], "net.json");
  EXPECT_EQ(object["graphs"][0]["samples"], 60);
  EXPECT_EQ(object["graphs"][0]["history"].back()["step_time_ns"],
            object["graphs"][0]["step_time_ns"]);
  size_t curves = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder() / "curves")) {
    EXPECT_THAT(entry.path().filename().string(), HasSubstr("events.out.tfevents."));
    ++curves;
  }
  EXPECT_EQ(curves, 1u);

  const Outcome planned = RunJson({"plan", "net.json", "--algo", "mars", "--policy", "net.policy",
                                   "--iterations", "40", "-o", "net.plan.json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_EQ(planned.json()["algorithm"], "mars");
  EXPECT_EQ(planned.json()["iterations"], 40);
  EXPECT_EQ(Run({"check", "net.plan.json"}).status, 0);
  // By name in a folder of policies.
  std::filesystem::create_directory(folder() / "kept");
  std::filesystem::rename(folder() / "net.policy", folder() / "kept" / "net.policy");
  RunOptions options;
  options.environment = {"PLACEWRIGHT_POLICIES=/nowhere:kept"};
  const Outcome named = RunJson(
      {"plan", "net.json", "--algo", "mars", "--policy", "net", "--iterations", "40"}, options);
  ASSERT_EQ(named.status, 0) << named.err;
  EXPECT_EQ(named.json()["step_time_ns"], planned.json()["step_time_ns"]);
  const Outcome missing = RunJson({"plan", "net.json", "--algo", "mars", "--policy", "net"});
  EXPECT_EQ(missing.status, 3);
  EXPECT_EQ(missing.json()["error"]["code"], "file-unreadable");
  const Outcome a_folder = Run({"plan", "net.json", "--algo", "mars", "--policy", "kept"});
  EXPECT_EQ(a_folder.status, 3);
  EXPECT_THAT(a_folder.err, HasSubstr("kept: it is a folder"));
}

// One that serves any cluster stands for its planner where it lies in a folder of policies.
TEST_F(Train, APlannersOwnPolicyIsItsStart) {
  std::filesystem::create_directory(folder() / "kept");
  const Outcome trained =
      RunJson({"train", "gdp", "net.json", "--set", "encoder-width=8", "--set", "lessons=3",
               "--iterations", "20", "--no-state", "-o", "kept/gdp.policy"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  RunOptions options;
  options.environment = {"PLACEWRIGHT_POLICIES=kept"};
  const auto plan = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"plan",         "net.json", "--algo", "gdp",
                                          "--iterations", "0",        "-o",     "net.plan.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunJson(arguments, options);
  };
  const Outcome own = plan({});
  ASSERT_EQ(own.status, 0) << own.err;
  EXPECT_THAT(own.err, HasSubstr("gdp starts from kept/gdp.policy"));
  EXPECT_THAT(own.err, HasSubstr("the policy's placement took"));
  EXPECT_EQ(Run({"check", "net.plan.json"}).status, 0);
  EXPECT_EQ(own.json()["step_time_ns"], plan({"--seed", "5"}).json()["step_time_ns"]);
  for (const std::vector<std::string>& cold :
       {std::vector<std::string>{"--policy", "none"}, {"--set", "scores=plain"}}) {
    const Outcome without = plan(cold);
    EXPECT_EQ(without.status, 0) << without.err;
    EXPECT_THAT(without.err, testing::Not(HasSubstr("starts from")));
  }
  // How it learns is not the policy's to say, but one that has no such form is refused by name.
  EXPECT_EQ(plan({"--set", "update=20", "--set", "draw=20"}).status, 0);
  const Outcome odd = plan({"--set", "update=15"});
  EXPECT_EQ(odd.status, 2);
  EXPECT_THAT(odd.json()["error"]["message"].get<std::string>(), HasSubstr("no multiple of draw"));
  // Without its state a training cannot go on.
  const Outcome resumed =
      RunJson({"train", "gdp", "net.json", "--resume", "kept/gdp.policy", "--iterations", "40"});
  EXPECT_NE(resumed.status, 0);
  // One of a fixed number of devices is taken only where it is asked for.
  ASSERT_EQ(RunJson({"train", "gdp", "net.json", "--set", "encoder-width=8", "--set",
                     "devices=numbered", "--iterations", "20", "-o", "kept/gdp.policy"})
                .status,
            0);
  EXPECT_THAT(plan({}).err, testing::Not(HasSubstr("starts from")));
}

TEST_F(Train, ResumesToTheSameCurve) {
  const Json whole = TrainMars({"net.json", "--iterations", "80", "-o", "whole.policy"}).json();
  ASSERT_EQ(TrainMars({"net.json", "--iterations", "40", "-o", "half.policy"}).status, 0);
  const Outcome resumed =
      RunJson({"train", "mars", "net.json", "--resume", "half.policy", "--iterations", "80"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(resumed.json()["graphs"], whole["graphs"]);
  EXPECT_EQ(resumed.json()["policy_file"], "half.policy");
}

// Killed at any moment it leaves the policy of some update, from which it goes on.
TEST_F(Train, KilledItGoesOn) {
  RunOptions options;
  options.signal = SIGKILL;
  options.signal_behind = "cut.policy";
  const Outcome killed = TrainMars({"net.json", "-o", "cut.policy", "--every", "1ms"}, options);
  ASSERT_EQ(killed.status, 128 + SIGKILL);
  ASSERT_TRUE(Exists("cut.policy"));
  const auto resume = [&](int64_t samples) {
    return RunJson({"train", "mars", "net.json", "--resume", "cut.policy", "--iterations",
                    std::to_string(samples)});
  };
  // However far it came: it ends at once where it has as many.
  const Outcome reached = resume(1);
  ASSERT_EQ(reached.status, 0) << reached.err;
  const int64_t longer = reached.json()["samples"].get<int64_t>() + 40;
  const Outcome resumed = resume(longer);
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  const Json whole =
      TrainMars({"net.json", "--iterations", std::to_string(longer), "-o", "whole.policy"}).json();
  EXPECT_EQ(resumed.json()["samples"], longer);
  EXPECT_EQ(resumed.json()["graphs"], whole["graphs"]);
}

TEST_F(Train, CtrlCWritesThePolicy) {
  RunOptions options;
  options.signal = SIGINT;
  options.signal_behind = "net.policy";
  const Outcome ended = TrainMars({"net.json", "-o", "net.policy", "--every", "1ms"}, options);
  EXPECT_EQ(ended.status, 130);
  EXPECT_EQ(ended.json()["interrupted"], true);
  EXPECT_TRUE(Exists("net.policy"));
}

// A budget too small for an update leaves the earlier policy as it was.
TEST_F(Train, WithoutAnUpdateNothingIsWritten) {
  Write("net.policy", "kept");
  const Outcome none = TrainMars({"net.json", "--iterations", "9", "-o", "net.policy"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.json()["error"]["message"], HasSubstr("no policy was written"));
  EXPECT_THAT(none.json()["error"]["remedy"], HasSubstr("takes 10 placements"));
  EXPECT_EQ(Read("net.policy"), "kept");
}

TEST_F(Train, WhatCannotBeIsNamed) {
  ASSERT_EQ(TrainMars({"net.json", "--iterations", "20", "-o", "net.policy"}).status, 0);
  struct Case {
    std::vector<std::string> arguments;
    int status;
    std::string code, says;
  };
  std::string damaged = Read("net.policy");
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  Write("damaged.policy", damaged);
  Write("junk", "{\"schema\": \"placewright.plan/1\"}");
  const std::vector<Case> cases = {
      {{"train", "mras", "net.json"}, 2, "usage", "did you mean mars"},
      {{"train", "mars", "net.json", "--set", "wdith=8"}, 2, "usage", "did you mean width"},
      {{"train", "mars", "net.json", "net.json", "-c", "4xP100", "-c", "4xP100", "-c", "4xP100"},
       2,
       "usage",
       "3 clusters for 2 graphs"},
      {{"train", "mars", "net.json", "--policy", "net.policy", "--resume", "net.policy"},
       2,
       "usage",
       "cannot be used with --resume"},
      {{"train", "mars", "net.json", "-o", "net.json"}, 2, "usage", "net.json"},
      {{"plan", "net.json", "--algo", "mars", "--policy", "net.policy", "-o", "net.policy"},
       2,
       "usage",
       "--policy"},
      {{"train", "mars", "net.json", "--resume", "junk"}, 3, "format-unknown", "no policy"},
      {{"train", "mars", "net.json", "--resume", "damaged.policy"}, 3, "file-corrupt", "SHA-256"},
      {{"train", "post", "net.json", "--resume", "net.policy"}, 3, "plan-mismatch", "of mars"},
      {{"train", "mars", "net.json", "--resume", "net.policy", "--seed", "7"},
       3,
       "plan-mismatch",
       "the seed 0, not 7"},
      {{"train", "mars", "net.json", "--resume", "net.policy", "--set", "width=16"},
       3,
       "plan-mismatch",
       "made with 8"},
      {{"plan", "net.json", "--algo", "post", "--policy", "net.policy", "--iterations", "20"},
       3,
       "plan-mismatch",
       "\"file\":\"net.policy\""},
      {{"plan", "net.json", "--algo", "mars", "--set", "graphs=together"},
       2,
       "usage",
       "of `train` alone"},
      {{"train", "mars", "net.json", "--set", "width=7", "-o", "odd.policy"}, 2, "usage", "is odd"},
      {{"plan", "net.json", "--algo", "heft", "--policy", "net.policy"}, 2, "usage", "heft"},
      {{"plan", "net.json", "--algo", "auto", "--set", "width=8"}, 2, "usage", "auto"},
  };
  const std::string kept = Read("net.policy");
  for (const Case& one : cases) {
    const Outcome run = RunJson(one.arguments);
    EXPECT_EQ(run.status, one.status) << one.says << run.err;
    EXPECT_EQ(run.json()["error"]["code"], one.code) << one.says;
    EXPECT_THAT(run.json()["error"].dump(), HasSubstr(one.says));
  }
  EXPECT_EQ(Read("net.policy"), kept);
}

TEST_F(Train, SettingsAreListed) {
  for (const std::string algorithm : {"mars", "eagle", "post"}) {
    const Outcome listed = RunJson({"train", algorithm, "--settings"});
    ASSERT_EQ(listed.status, 0);
    std::vector<std::string> names;
    const Json object = listed.json();
    for (const Json& setting : object["settings"]) names.push_back(setting["name"]);
    EXPECT_THAT(names, testing::IsSupersetOf({"parts", "training", "learning-rate"}));
    EXPECT_THAT(Run({"train", algorithm, "--settings"}).out, HasSubstr("learning-rate"));
  }
  EXPECT_EQ(Run({"train", "mars"}).status, 2);
}

TEST_F(Train, LearnedPlansRepeat) {
  const auto plan = [&](const std::string& algorithm, const std::string& threads) {
    std::vector<std::string> arguments = {
        "plan",      "net.json", "--algo", algorithm,       "--seed",       "3",
        "--threads", threads,    "-o",     "net.plan.json", "--iterations", "45"};
    if (algorithm != "post") arguments.insert(arguments.end(), {"--set", "width=8"});
    const Outcome run = RunJson(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["algorithm"], algorithm);
    return Json::parse(Read("net.plan.json"))["placement"].dump();
  };
  for (const std::string algorithm : {"mars", "eagle", "post"}) {
    EXPECT_EQ(plan(algorithm, "1"), plan(algorithm, "4")) << algorithm;
  }
}

class TrainTag : public RecordedMlp {
 protected:
  Outcome Train(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"train", "tag"};
    for (const char* const setting : {"games=4", "visits=1", "choices=6", "epochs=2", "rounds=1",
                                      "round-games=2", "round-epochs=1", "held-out=1"}) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunJson(arguments);
  }
};

// Games on every topology, and the losses of passes over their lessons; a training goes on to the same bytes.
TEST_F(TrainTag, LearnsFromGamesOnTopologies) {
  const Outcome whole = Train(
      {"mlp.json.gz", "--clusters", "random:2-3", "-o", "whole.policy", "--events", "curves"});
  ASSERT_EQ(whole.status, 0) << whole.err;
  const Json object = whole.json();
  EXPECT_EQ(object["games"], 6);
  EXPECT_EQ(object["updates"], 3);
  ASSERT_EQ(object["losses"].size(), 3u);
  for (const Json& loss : object["losses"]) {
    EXPECT_GT(loss["training"], 0);
    EXPECT_GT(loss["held_out"], 0);
  }
  ASSERT_EQ(object["graphs"].size(), 2u);
  EXPECT_EQ(object["graphs"][0]["graph"], "mlp.json.gz random:2");
  EXPECT_EQ(object["graphs"][1]["graph"], "mlp.json.gz random:3");
  for (const Json& graph : object["graphs"]) EXPECT_TRUE(graph["feasible"]);
  EXPECT_TRUE(Exists("curves"));

  const Outcome begun =
      Train({"mlp.json.gz", "--clusters", "random:2-3", "-o", "cut.policy", "--iterations", "10"});
  ASSERT_EQ(begun.status, 0) << begun.err;
  EXPECT_LT(begun.json()["games"], 6);
  const Outcome resumed = RunJson(
      {"train", "tag", "mlp.json.gz", "--clusters", "random:2-3", "--resume", "cut.policy"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(resumed.json()["losses"], object["losses"]);
  EXPECT_EQ(Read("cut.policy"), Read("whole.policy"));
}

TEST_F(TrainTag, SaysWhatItCannotTrainOn) {
  const auto refused = [&](std::vector<std::string> arguments) {
    const Outcome outcome = Train(std::move(arguments));
    EXPECT_NE(outcome.status, 0);
    return outcome.json()["error"]["message"].get<std::string>();
  };
  EXPECT_THAT(refused({"mlp.json.gz", "--clusters", "random:3-2"}), HasSubstr("states no seeds"));
  EXPECT_THAT(refused({"mlp.json.gz", "--clusters", "seven"}), HasSubstr("states no seeds"));
  EXPECT_THAT(refused({"mlp.json.gz", "--clusters", "random:3", "-c", "two.yaml"}),
              HasSubstr("--clusters cannot be used with -c"));
  EXPECT_THAT(refused({"mlp.json.gz", "-c", "two.yaml"}), HasSubstr("leaves none"));
}

}  // namespace
}  // namespace placewright
