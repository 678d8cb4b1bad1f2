// Plans on many devices that are alike, whose files are of one device of each class.
#include <gmock/gmock.h>

#include <set>

#include "recorded_mlp.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

class PlansInLanes : public RecordedMlp {
 protected:
  void SetUp() override {
    RecordedMlp::SetUp();
    if (IsSkipped()) return;
    in_lanes_ = Planned("lanes.plan.json", {});
    // A picture draws every device.
    in_full_ = Planned("full.plan.json", {"--svg", "full.svg"});
  }

  Json Planned(const std::string& file, const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"plan",       "mlp.json.gz", "-c",     "4x8xH100",
                                          "--batch",    "64",          "--algo", "data-parallel",
                                          "--no-store", "-o",          file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome planned = RunJson(arguments);
    EXPECT_EQ(planned.status, 0) << planned.err;
    return planned.json();
  }

  // The error of a plan file that was changed.
  Json ErrorOf(const Json& plan, int status = 3) const {
    Write("lanes.plan.json", plan.dump());
    const Outcome checked = RunJson({"check", "lanes.plan.json"});
    EXPECT_EQ(checked.status, status) << checked.out;
    return checked.json()["error"];
  }

  Json in_lanes_, in_full_;
};

// Without what names files, took its time, or is of the devices that stand for others.
Json FiguresOf(Json object) {
  for (const char* const key : {"seconds", "plan_file", "layers", "history", "peak_rss_bytes",
                                "first_feasible_seconds", "files"}) {
    object.erase(key);
  }
  return object;
}

TEST_F(PlansInLanes, SayWhatPlansInFullSay) {
  EXPECT_EQ(FiguresOf(in_lanes_), FiguresOf(in_full_));
  const Json lanes = Json::parse(Read("lanes.plan.json")),
             full = Json::parse(Read("full.plan.json"));
  ASSERT_EQ(lanes["lanes"].size(), 1u);
  EXPECT_EQ(lanes["lanes"][0].size(), 32u);
  EXPECT_FALSE(full.contains("lanes"));
  EXPECT_EQ(lanes["devices"], full["devices"]);
  EXPECT_EQ(lanes["communication"], full["communication"]);
  std::set<std::string> devices;
  const Json schedule = Json::parse(Read("lanes.plan.schedule.json"));
  for (const Json& op : schedule["ops"]) {
    devices.insert(op["device"].get<std::string>());
  }
  EXPECT_EQ(devices, std::set<std::string>{"host0/gpu0"});
  EXPECT_LT(Read("lanes.plan.schedule.json").size() * 10, Read("full.plan.schedule.json").size());
}

TEST_F(PlansInLanes, AreReadWithAllDevices) {
  const Outcome checked = RunJson({"check", "lanes.plan.json"});
  ASSERT_EQ(checked.status, 0) << checked.err;
  EXPECT_EQ(checked.json()["ops"], RunJson({"check", "full.plan.json"}).json()["ops"]);
  for (const char* const name : {"lanes", "full"}) {
    const std::string plan = std::string(name) + ".plan.json",
                      step = std::string(name) + ".step.json";
    ASSERT_EQ(Run({"compile", plan, "-o", step}).status, 0);
    ASSERT_EQ(
        Run({"export", plan, "--to", "chrome-trace", "-o", std::string(name) + ".trace"}).status,
        0);
  }
  EXPECT_EQ(Read("lanes.step.json"), Read("full.step.json"));
  EXPECT_EQ(Read("lanes.trace"), Read("full.trace"));
  const Json simulated = RunJson({"simulate", "lanes.plan.json"}).json();
  EXPECT_EQ(FiguresOf(simulated), FiguresOf(RunJson({"simulate", "full.plan.json"}).json()));
  // Under another order, too, which the plan says nothing of.
  for (const char* const option : {"--memory", "--schedule"}) {
    const std::vector<std::string> how = {"--order", "fifo", option};
    std::vector<std::string> lanes = {"simulate", "lanes.plan.json"},
                             full = {"simulate", "full.plan.json"};
    lanes.insert(lanes.end(), how.begin(), how.end());
    full.insert(full.end(), how.begin(), how.end());
    EXPECT_EQ(FiguresOf(RunJson(lanes).json()), FiguresOf(RunJson(full).json())) << option;
  }
}

TEST_F(PlansInLanes, AreRefusedWhereTheirClassesAreNot) {
  const Json plan = Json::parse(Read("lanes.plan.json"));
  Json changed = plan;
  changed["lanes"][0].erase(31);  // one that nothing stands for
  Json error = ErrorOf(changed);
  EXPECT_EQ(error["code"], "plan-invalid");
  EXPECT_EQ(error["place"], "lanes");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("host3/gpu7"));
  changed = plan;
  changed["lanes"][0].push_back("host0/gpu3");
  EXPECT_THAT(ErrorOf(changed)["message"].get<std::string>(), HasSubstr("in two classes"));
  changed = plan;
  changed["lanes"][0].push_back("host9/gpu0");
  EXPECT_THAT(ErrorOf(changed)["message"].get<std::string>(), HasSubstr("no device host9/gpu0"));
  changed = plan;
  changed["lanes"][0].push_back("host0/cpu0");  // does nothing
  EXPECT_THAT(ErrorOf(changed)["message"].get<std::string>(), HasSubstr("host0/cpu0 does not do"));
  changed = plan;
  changed["lanes"] = 7;
  EXPECT_EQ(ErrorOf(changed)["place"], "lanes");
  changed = plan;
  changed.erase("lanes");  // as if one device were all
  EXPECT_EQ(ErrorOf(changed)["code"], "plan-invalid");
  changed = plan;
  changed["seed"] = 5;
  EXPECT_EQ(ErrorOf(changed)["place"], "digest");
}

}  // namespace
}  // namespace placewright
