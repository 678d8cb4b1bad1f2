#include "formats/plan/layouts_json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/plan/plan_json.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

DistributionSpec Sample() {
  DistributionSpec spec;
  spec.layouts = {{"*",
                   GroupId(),
                   "batch",
                   {{"d0", {{"", 0, 3}}}, {"d1", {{"", 3, 8}}}},
                   LayoutOption::kAllReduce},
                  {"m.head", GroupId(), "", {{"d1", {}}}, LayoutOption::kPlace},
                  {"", GroupId(7), "", {{"d*", {}}}, LayoutOption::kModelParallel}};
  spec.switches.fusion = Bytes(1 << 20);
  spec.switches.local_batch_norm = true;
  spec.switches.broadcasts = false;
  spec.switches.gradients_apart = true;
  spec.switches.regather = {"layers.*", "m.head"};
  spec.switches.prefetch = 1;
  spec.switches.unit_collectives = true;
  spec.transforms = Transforms{Transform{Transform::kCountedDraws}};
  return spec;
}

Result<DistributionSpec> Read(const std::string& text) {
  return DistributionSpecFromJson(ParseJson(text).Take());
}

TEST(LayoutsJson, WhatIsWrittenReadsBack) {
  Json object;
  AddDistributionSpec(Sample(), &object);
  EXPECT_EQ(object["layouts"][2]["groups"], 7);
  EXPECT_EQ(object["transforms"], Json({"counted-draws"}));
  EXPECT_EQ(DistributionSpecFromJson(object).Take(), Sample());
}

TEST(LayoutsJson, TransformsKeepWhatTheyTake) {
  DistributionSpec spec = Sample();
  spec.transforms = Transforms{
      {},
      {.kind = Transform::kPrecision, .modules = {"param=bf16"}},
      {.kind = Transform::kSplitBackward},
      {.kind = Transform::kAccumulate, .micro_batches = 4},
      {.kind = Transform::kRecompute, .modules = {"layers.*", "head"}},
      {.kind = Transform::kPipeline, .schedule = "1f1b", .stages = 4},
      {.kind = Transform::kPipeline, .schedule = "gpipe", .stages = 2, .layers = {3, 1}}};
  Json object = Json::object();
  AddDistributionSpec(spec, &object);
  EXPECT_EQ(object["transforms"], Json::parse(R"(["counted-draws", {"precision": ["param=bf16"]},
                                                 "split-backward", {"accumulate": 4},
                                                 {"recompute": ["layers.*", "head"]},
                                                 {"pipeline": {"schedule": "1f1b", "stages": 4,
                                                               "chunks": 1}},
                                                 {"pipeline": {"schedule": "gpipe", "stages": 2,
                                                               "chunks": 1, "layers": [3, 1]}}])"));
  EXPECT_EQ(DistributionSpecFromJson(object).Take(), spec);
  for (const char* wrong :
       {R"(["accumulate"])", R"([{"counted-draws": 1}])", R"([{"accumulate": 1}])",
        R"([{"recompute": [1]}])", R"([{"accumulate": 2, "recompute": []}])",
        R"([{"precision": [{"param": "bf16"}]}])", R"([{"split-backward": []}])",
        R"([{"pipeline": {"schedule": "1f1b", "stages": 2, "layers": [3, 0]}}])",
        R"([{"pipeline": {"schedule": "1f1b", "stages": 2, "layers": 4}}])"}) {
    const Error error = Read(fmt::format(R"({{"layouts": [], "transforms": {}}})", wrong)).error();
    EXPECT_THAT(error.place, HasSubstr("transforms[0]")) << wrong;
  }
}

TEST(LayoutsJson, UnknownTransformsAreRefused) {
  const Error error = Read(R"({"layouts": [], "transforms": ["counted-draws", "fused"]})").error();
  EXPECT_EQ(error.place, "transforms[1]");
  EXPECT_EQ(error.remedy,
            "The transforms are precision, counted-draws, split-backward, accumulate, recompute, "
            "offload, pipeline.");
}

// Plans without them are the files that they were.
TEST(LayoutsJson, FetchingIsWrittenWhereItIsStated) {
  Json object;
  AddDistributionSpec({}, &object);
  EXPECT_FALSE(object.contains("regather"));
  EXPECT_FALSE(object.contains("prefetch"));
  EXPECT_FALSE(object.contains("unit_collectives"));
}

TEST(LayoutsJson, FetchingIsGlobsAndADistance) {
  EXPECT_EQ(Read(R"({"layouts": [], "regather": "*"})").error().place, "regather");
  EXPECT_EQ(Read(R"({"layouts": [], "regather": ["*", 3]})").error().place, "regather[1]");
  EXPECT_EQ(Read(R"({"layouts": [], "prefetch": -1})").error().place, "prefetch");
  EXPECT_EQ(Read(R"({"layouts": [], "unit_collectives": 1})").error().place, "unit_collectives");
  EXPECT_EQ(Read(R"({"layouts": [], "prefetch": "all"})").error().place, "prefetch");
}

// Of several axes a share is an object of them.
TEST(LayoutsJson, BoxesNameTheirAxes) {
  const std::string text =
      R"({"layouts": [{"groups": "*", "axis": "batch", "devices": [
             {"name": "d0", "box": {"batch": [0, 3], "heads": [2, 4]}}]}]})";
  const DistributionSpec spec = Read(text).Take();
  EXPECT_EQ(spec.layouts[0].devices[0].box,
            (std::vector<LayoutSpec::Interval>{{"batch", 0, 3}, {"heads", 2, 4}}));
  EXPECT_EQ(spec.layouts[0].option, LayoutOption::kAllReduce);
  Json object;
  AddDistributionSpec(spec, &object);
  EXPECT_EQ(object["layouts"][0]["devices"][0]["box"],
            (Json{{"batch", {0, 3}}, {"heads", {2, 4}}}));
  EXPECT_EQ(DistributionSpecFromJson(object).Take(), spec);
}

TEST(LayoutsJson, ByHandLittleIsNeeded) {
  const DistributionSpec spec =
      Read(R"({"layouts": [{"groups": "*", "axis": "batch", "devices": ["d0", {"name": "d1"}]},
                           {"groups": "m", "devices": ["d0"]},
                           {"groups": "n", "devices": ["d0", "d1"]}]})")
          .Take();
  ASSERT_EQ(spec.layouts.size(), 3u);
  EXPECT_EQ(spec.layouts[0].option, LayoutOption::kAllReduce);
  EXPECT_EQ(spec.layouts[1].option, LayoutOption::kPlace);
  EXPECT_EQ(spec.layouts[2].option, LayoutOption::kDuplicate);
  EXPECT_TRUE(spec.layouts[0].devices[1].box.empty());
  EXPECT_FALSE(spec.switches.local_batch_norm);
  EXPECT_TRUE(spec.switches.broadcasts);
  EXPECT_FALSE(spec.switches.gradients_apart.has_value());
}

TEST(LayoutsJson, ErrorsNameThePlace) {
  const auto error = [](const std::string& entry) {
    return Read(R"({"layouts": [)" + entry + "]}").error().ToString();
  };
  EXPECT_THAT(error(R"({"groups": "*", "device": ["d0"]})"),
              HasSubstr("layouts[0]: there is no field \"device\" (did you mean devices?)"));
  EXPECT_THAT(error(R"({"devices": ["d0"]})"), HasSubstr("groups"));
  EXPECT_THAT(error(R"({"groups": -1, "devices": ["d0"]})"), HasSubstr("groups"));
  EXPECT_THAT(error(R"({"groups": "*", "devices": [3]})"), HasSubstr("layouts[0].devices[0]"));
  EXPECT_THAT(error(R"({"groups": "*", "devices": [{"name": "d0", "from": 1}]})"),
              HasSubstr("both from and to"));
  EXPECT_THAT(error(R"({"groups": "*", "devices": [{"name": "d0", "box": {"batch": 3}}]})"),
              HasSubstr("layouts[0].devices[0].box.batch: a box has [from, to)"));
  for (const char* box : {R"("box": {})", R"("from": 0, "to": 3, "box": {"batch": [0, 3]})"}) {
    EXPECT_THAT(error(std::string(R"({"groups": "*", "devices": [{"name": "d0", )") + box + "}]}"),
                HasSubstr("layouts[0].devices[0].box: a box names an axis or more"));
  }
  EXPECT_THAT(error(R"({"groups": "*", "devices": [{"name": "d0", "box": {"batch": [0, -1]}}]})"),
              HasSubstr("layouts[0].devices[0].box.batch"));
  EXPECT_THAT(error(R"({"groups": "*", "devices": ["d0"], "option": "replicate"})"),
              HasSubstr("layouts[0].option: there is no option \"replicate\""));
  EXPECT_THAT(Read(R"({"layouts": [], "batch_norm": "global"})").error().ToString(),
              HasSubstr("batch_norm"));
  EXPECT_THAT(Read(R"({"layouts": [], "broadcasts": 1})").error().ToString(),
              HasSubstr("broadcasts"));
}

// A plan with layouts is of the second version and has a step in the place of a placement.
TEST(LayoutsJson, PlansKeepThem) {
  const std::string hash(64, 'a');
  Plan plan;
  plan.graph = {"g.json", hash};
  plan.cluster = {"preset:2xV100", hash};
  plan.costs = {"p.costs.json", hash};
  plan.schedule = {"p.schedule.json", hash};
  plan.space = plan.bound_space = PlanSpace::kReplicated;
  plan.step_time = Nanos(500'000'000);
  plan.step = {"p.step.json.gz", hash};
  plan.distribution = Sample();
  plan.communication = {{"all-reduce", "ring", Bytes(100), Nanos(7), 2}};
  plan.samples = 24;
  const Json written = PlanToJson(plan);
  EXPECT_EQ(written["schema"], "placewright.plan/2");
  EXPECT_TRUE(written["lower_bound_ns"].is_null());
  EXPECT_TRUE(written["gap"].is_null());
  EXPECT_FALSE(written.contains("placement"));
  EXPECT_DOUBLE_EQ(written["samples_per_second"].get<double>(), 48);
  const Plan read = PlanFromJson(written).Take();
  EXPECT_EQ(PlanToJson(read), written);
  EXPECT_EQ(read.distribution, Sample());
  EXPECT_EQ(read.communication, plan.communication);
  Json placed = written;
  placed["schema"] = "placewright.plan/1";
  EXPECT_THAT(PlanFromJson(placed).error().ToString(), HasSubstr("space"));
  EXPECT_THAT(PlacementFromJson(written).error().remedy, HasSubstr("--space placed"));
}

}  // namespace
}  // namespace placewright
