#include "formats/plan/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "cluster/cluster_builder.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

const std::string kHash(64, 'a');

Cluster TwoDevices() {
  ClusterBuilder builder("pair");
  const int32_t kind = builder.AddKind({.name = "K", .runtime_context = Bytes(7)}).Take();
  for (const char* name : {"d0", "d1"}) {
    (void)builder.AddDevice({.name = name, .kind = kind, .capacity = Bytes(1000)}).Take();
  }
  (void)builder.Connect("d0", "d1", BytesPerSecond(1000000000), Nanos(2), Duplex::kFull, "given");
  return std::move(builder).Build().Take();
}

Graph TwoOps() {
  GraphBuilder builder("two", "costgraph");
  OpSpec a{.name = "a", .type = "op"};
  a.outputs = {{.name = "y", .dtype = DType::kOpaque, .opaque_bytes = Bytes(100)}};
  const TensorId y = builder.AddOp(a).Take()[0];
  (void)builder.AddOp({.name = "b", .type = "op", .inputs = {y}}).Take();
  return std::move(builder).Build().Take();
}

Plan SamplePlan() {
  Plan plan;
  plan.graph = {"g.json", kHash};
  plan.cluster = {"preset:2xV100", kHash};
  plan.costs = {"p.costs.json", kHash};
  plan.schedule = {"p.schedule.json", kHash};
  plan.graph_name = "two";
  plan.cluster_name = "pair";
  plan.batch_option = 3;
  plan.dimensions = {{"heads", 12}, {"sequence", 128}};
  plan.policy = SchedulingPolicy::kCriticalPath;
  plan.algorithm = "heft";
  plan.feasible = true;
  plan.step_time = Nanos(100);
  plan.lower_bound = Nanos(80);
  plan.devices = {
      {"d0", "K", 0.25, Bytes(9), Bytes(1), Bytes(2), Bytes(6), Bytes(10), Bytes(2), 1}};
  plan.devices.front().device_class = DeviceClass::kGpu;
  plan.baselines = {{"single", true, Nanos(120), {"d0"}, false},
                    {"local-search", false, Nanos(90), {"d0", "d1"}, true}};
  plan.cost_store = {"costs.sqlite", {{"K", 2, true, "1.13.0", "blas", 7}}};
  plan.links = {{"d0>d1", BytesPerSecond(500), Nanos(3)}};
  plan.share_modelled = 1;
  plan.seed = UINT64_MAX;
  plan.iterations = 12;
  plan.seconds = 0.5;
  plan.first_feasible_seconds = 0.25;
  plan.history = {{1, 0.25, Nanos(120), "single"}, {5, 0.3, Nanos(100), "heft"}};
  plan.placement = {{"a", "d0"}, {"b", "d1"}};
  return plan;
}

TEST(PlanJson, RoundTripsEveryField) {
  const Json written = PlanToJson(SamplePlan());
  const Result<Json> parsed = ParseJson(FormatDocument(written));
  ASSERT_TRUE(parsed.ok()) << parsed.error().ToString();
  const Result<Plan> read = PlanFromJson(parsed.value());
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  // Every field is in the document, so equal documents mean equal plans.
  EXPECT_EQ(PlanToJson(read.value()), written);
  EXPECT_EQ(read.value().seed, UINT64_MAX);
  EXPECT_EQ(read.value().cluster.path, "preset:2xV100");
  EXPECT_EQ(read.value().links, SamplePlan().links);
  // (100 - 80) / 100.
  EXPECT_DOUBLE_EQ(written["gap"].get<double>(), 0.2);
}

TEST(PlanJson, DigestCoversEveryValueAndNoOrder) {
  const Json written = PlanToJson(SamplePlan());
  EXPECT_EQ(written["digest"], PlanDigest(written));
  Json changed = written;
  changed["devices"][0]["ops"] = 2;
  EXPECT_NE(PlanDigest(changed), PlanDigest(written));
  const Result<Json> again = ParseJson(written.dump());
  EXPECT_EQ(PlanDigest(again.value()), PlanDigest(written));
  Json turned = Json::object();
  for (auto it = written.rbegin(); it != written.rend(); ++it) turned[it.key()] = it.value();
  EXPECT_EQ(PlanDigest(turned), PlanDigest(written));
}

// Plans from before there was --dim lack the field; what is there must be sizes.
TEST(PlanJson, DimensionsMayBeAbsentButNotWrong) {
  const Json good = PlanToJson(SamplePlan());
  const auto with = [&good](const Json& dimensions) {
    Json json = good;
    json["graph"]["dimensions"] = dimensions;
    return PlanFromJson(json);
  };
  Json old = good;
  old["graph"].erase("dimensions");
  EXPECT_TRUE(PlanFromJson(old).value().dimensions.empty());
  EXPECT_TRUE(with(Json::object()).value().dimensions.empty());
  EXPECT_EQ(with(Json{{"n", 5}}).value().dimensions, (std::map<std::string, int64_t>{{"n", 5}}));
  for (const Json& wrong :
       {Json(3), Json(nullptr), Json::array({1}), Json{{"n", 0}}, Json{{"n", -1}}, Json{{"n", "5"}},
        Json{{"n", 2.5}}, Json{{"n", int64_t{1} << 31}}}) {
    const auto read = with(wrong);
    ASSERT_FALSE(read.ok()) << wrong;
    EXPECT_EQ(read.error().code, ErrorCode::kField) << wrong;
    EXPECT_THAT(read.error().place, HasSubstr("graph.dimensions")) << wrong;
  }
  Json changed = good;
  changed["graph"]["dimensions"]["heads"] = 13;
  EXPECT_NE(PlanDigest(changed), PlanDigest(good));
}

// Every field is needed, and none may be of another type.
TEST(PlanJson, RejectsMissingAndWrongFields) {
  const Json good = PlanToJson(SamplePlan());
  std::vector<Json::json_pointer> places;
  const Json flat = good.flatten();
  for (auto it = flat.begin(); it != flat.end(); ++it) places.emplace_back(it.key());
  EXPECT_GT(places.size(), 40u);
  for (const auto& place : places) {
    const std::string text = place.to_string();
    if (text.starts_with("/placement/")) continue;  // any map is a placement
    Json wrong = good;
    wrong[place] = Json::array();
    const auto wrong_type = PlanFromJson(wrong);
    ASSERT_FALSE(wrong_type.ok()) << text;
    EXPECT_EQ(wrong_type.error().code, ErrorCode::kField) << text;
    EXPECT_FALSE(wrong_type.error().place.empty()) << text;
    if (text.starts_with("/graph/dimensions/")) continue;  // so is any map of sizes
    // What plans made before do not say.
    const bool later = text.ends_with("/class") || text.ends_with("/reserve_bytes") ||
                       text.ends_with("/search") || text == "/costs/precision" ||
                       text == "/space" || text == "/bound_space" ||
                       text.find("/devices/", 1) != text.npos;
    if (later) continue;
    Json missing = good;
    missing[place.parent_pointer()].erase(place.back());
    EXPECT_FALSE(PlanFromJson(missing).ok()) << text;
  }
}

TEST(PlanJson, NamesThePlaceOfABadValue) {
  const auto place = [](const char* pointer, Json value) {
    Json json = PlanToJson(SamplePlan());
    json[Json::json_pointer(pointer)] = std::move(value);
    const auto plan = PlanFromJson(json);
    return plan.ok() ? std::string("accepted") : plan.error().place;
  };
  EXPECT_EQ(place("/schema", "placewright.plan/3"), "schema");
  EXPECT_EQ(place("/order", "lifo"), "order");
  EXPECT_EQ(place("/step_time_ns", -1), "step_time_ns");
  EXPECT_EQ(place("/step_time_ns", 1.5), "step_time_ns");
  EXPECT_EQ(place("/devices/0/busy", 1.1), "devices[0].busy");
  EXPECT_EQ(place("/baselines/1/step_time_ns", "9"), "baselines[1].step_time_ns");
  EXPECT_EQ(place("/baselines/1/devices/1", 1), "baselines[1].devices[1]");
  EXPECT_EQ(place("/devices/0/class", "fpga"), "devices[0].class");
  EXPECT_EQ(place("/graph/sha256", "abc"), "graph.sha256");
  EXPECT_EQ(place("/cluster/path", "c.yaml"), "cluster");  // a preset and a path
  EXPECT_EQ(place("/seed", -1), "seed");
  EXPECT_EQ(place("/first_feasible_seconds", nullptr), "accepted");
  EXPECT_EQ(place("/placement/b", 1), "placement.b");
}

TEST(PlacementJson, ReadsMapsAndDocumentsWithAMap) {
  const NamedPlacement expected = {{"a", "d0"}, {"b", "d1"}};
  EXPECT_EQ(PlacementFromJson(ParseJson(R"({"a": "d0", "b": "d1"})").Take()).Take(), expected);
  EXPECT_EQ(PlacementFromJson(PlanToJson(SamplePlan())).Take(), expected);
  // An op may be called "placement".
  EXPECT_EQ(PlacementFromJson(ParseJson(R"({"placement": "d0"})").Take()).Take(),
            (NamedPlacement{{"placement", "d0"}}));
  EXPECT_FALSE(PlacementFromJson(ParseJson("[]").Take()).ok());
  EXPECT_FALSE(PlacementFromJson(ParseJson(R"({"a": 3})").Take()).ok());
  const auto costs = PlacementFromJson(ParseJson(R"({"schema": "placewright.costs/1"})").Take());
  ASSERT_FALSE(costs.ok());
  EXPECT_THAT(costs.error().message, HasSubstr("no placement"));
  const auto later = PlacementFromJson(
      ParseJson(R"({"schema": "placewright.plan/9", "placement": {"a": "d0"}})").Take());
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.error().place, "schema");
}

TEST(CostsJson, RoundTripsAndComparesTheCluster) {
  const Graph graph = TwoOps();
  const Cluster cluster = TwoDevices();
  CostTable costs(2, 2);
  costs.SetTime(OpId(0), DeviceId(0), Nanos(5));
  costs.SetTime(OpId(1), DeviceId(1), Nanos(0));
  costs.SetWorkspace(OpId(1), Bytes(64));
  costs.SetSource(OpId(0), DeviceId(0), CostSource::kMeasured);
  costs.SetSource(OpId(1), CostSource::kGiven);
  Schedule schedule;
  schedule.ops = IdVector<OpId, OpSpan>(2);
  schedule.transfers.push_back({StorageId(0), 0, Bytes(0), Bytes(8), DeviceId(0), DeviceId(1)});
  const Json json = ParseJson(FormatCosts(costs, schedule, graph, cluster)).Take();
  EXPECT_EQ(json["ops"][0]["time_ns"], Json::parse("[5, null]"));
  EXPECT_EQ(json["devices"][0]["runtime_context_bytes"], 7);
  EXPECT_EQ(json["routes"][0]["links"], Json::parse(R"(["d0>d1"])"));
  const auto read = CostsFromJson(json, graph, cluster);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(Json::parse(FormatCosts(read.value(), schedule, graph, cluster)), json);

  Json wider = json;
  wider["links"][0]["bandwidth"] = 2000000000;
  const auto other = CostsFromJson(wider, graph, cluster);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kPlanMismatch);
  EXPECT_EQ(other.error().place, "links[0]");
  // Only routes that the schedule uses are there, and these must be.
  EXPECT_EQ(json["routes"].size(), 1u);
  EXPECT_TRUE(CheckRoutesCovered(json, schedule, cluster).ok());
  const Json unused = Json::parse(FormatCosts(costs, Schedule{}, graph, cluster));
  EXPECT_TRUE(unused["routes"].empty());
  EXPECT_TRUE(CostsFromJson(unused, graph, cluster).ok());
  EXPECT_EQ(CheckRoutesCovered(unused, schedule, cluster).error().code, ErrorCode::kPlanMismatch);
  Json slower = json;
  slower["routes"][0]["latency_ns"] = 3;
  EXPECT_EQ(CostsFromJson(slower, graph, cluster).error().place, "routes[0]");
  slower["routes"][0]["to"] = "d7";
  EXPECT_EQ(CostsFromJson(slower, graph, cluster).error().place, "routes[0]");
  Json negative = json;
  negative["ops"][0]["time_ns"][0] = -5;
  EXPECT_EQ(CostsFromJson(negative, graph, cluster).error().place, "ops[0].time_ns[0]");
}

TEST(ScheduleJson, RoundTripsAndRefusesWhatTheGraphDoesNotHave) {
  const Graph graph = TwoOps();
  const Cluster cluster = TwoDevices();
  Schedule schedule;
  schedule.ops.push_back({Nanos(0), Nanos(5)});
  schedule.ops.push_back({Nanos(107), Nanos(107)});
  schedule.transfers = {{StorageId(0), 0, Bytes(0), Bytes(100), DeviceId(0), DeviceId(1), Nanos(5),
                         Nanos(5), Nanos(107)}};
  Placement placement;
  placement.push_back(DeviceId(0));
  placement.push_back(DeviceId(1));
  const Json json = ParseJson(FormatSchedule(schedule, graph, cluster, placement)).Take();
  const auto read = ScheduleFromJson(json, graph, cluster);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(
      Json::parse(FormatSchedule(read.value().schedule, graph, cluster, read.value().placement)),
      json);

  const auto place = [&](const char* pointer, Json value) {
    Json changed = json;
    changed[Json::json_pointer(pointer)] = std::move(value);
    const auto result = ScheduleFromJson(changed, graph, cluster);
    return result.ok() ? std::string("accepted") : result.error().place;
  };
  EXPECT_EQ(place("/ops/1/name", "c"), "ops[1].name");
  EXPECT_EQ(place("/ops/1/device", "d9"), "ops[1].device");
  EXPECT_EQ(place("/ops/1/start_ns", -1), "ops[1].start_ns");
  EXPECT_EQ(place("/transfers/0/storage", "b"), "transfers[0].storage");
  EXPECT_EQ(place("/transfers/0/version", 1), "transfers[0].version");
  EXPECT_EQ(place("/transfers/0/length", nullptr), "transfers[0].length");
}

TEST(ScheduleJson, HasCollectivesWhereTheGraphHas) {
  GraphBuilder builder("sums", "aten");
  for (const char* name : {"a", "b"}) {
    OpSpec op{.name = name, .type = "test.op"};
    op.outputs = {{.name = name, .shape = {1}}};
    ASSERT_TRUE(builder.AddOp(op).ok());
  }
  ASSERT_TRUE(builder.AddCollective("sum", {OpId(0), OpId(1)}).ok());
  const Graph graph = std::move(builder).Build().Take();
  const Cluster cluster = TwoDevices();
  Schedule schedule;
  schedule.ops.assign(2, {Nanos(4), Nanos(9)});
  schedule.collectives.push_back({Nanos(3), Nanos(4), Nanos(9)});
  Placement placement;
  placement.push_back(DeviceId(0));
  placement.push_back(DeviceId(1));
  const Json json = ParseJson(FormatSchedule(schedule, graph, cluster, placement)).Take();
  EXPECT_EQ(json["collectives"],
            Json::parse(R"([{"name": "sum", "ready_ns": 3, "start_ns": 4, "end_ns": 9}])"));
  const auto read = ScheduleFromJson(json, graph, cluster);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read.value().schedule.collectives[CollectiveId(0)].start, Nanos(4));
  Json changed = json;
  changed["collectives"][0]["name"] = "other";
  EXPECT_EQ(ScheduleFromJson(changed, graph, cluster).error().place, "collectives[0].name");
  changed["collectives"] = Json::array();
  EXPECT_EQ(ScheduleFromJson(changed, graph, cluster).error().place, "collectives");
}

TEST(FormatDocument, GivesLongAndNestedMembersALineEach) {
  const Json json = Json::parse(R"({"a": 1, "b": [1, 2], "c": [{"d": 1}, {"d": 2}], "e": {}})");
  EXPECT_EQ(FormatDocument(json),
            "{\n\"a\": 1,\n\"b\": [1,2],\n\"c\": [\n  {\"d\":1},\n  {\"d\":2}\n],\n\"e\": {}\n}\n");
  EXPECT_EQ(ParseJson(FormatDocument(json)).Take(), json);
}

TEST(PlanJson, SpacesAreWrittenAndOlderPlansArePlaced) {
  Plan plan = SamplePlan();
  Json json = PlanToJson(plan);
  EXPECT_EQ(json["space"], "placed");
  EXPECT_EQ(json["bound_space"], "placed");
  plan.space = PlanSpace::kReplicated;
  EXPECT_EQ(PlanToJson(plan)["space"], "replicated");
  EXPECT_FALSE(plan.ProvenOptimal());
  json["space"] = "replicated";
  // No reader carries out what it does not know.
  for (const Error& error : {PlanFromJson(json).error(), PlacementFromJson(json).error()}) {
    EXPECT_EQ(error.place, "space");
    EXPECT_THAT(error.message, HasSubstr("a replicated plan"));
  }
  json.erase("space");
  EXPECT_EQ(PlanFromJson(json).Take().space, PlanSpace::kPlaced);
  json["bound_space"] = "pipelined";  // has a name, but nothing plans or reads it
  EXPECT_EQ(PlanFromJson(json).error().place, "bound_space");
  for (const char* const unknown : {"sharded", "pipelined"}) {
    json["space"] = unknown;
    EXPECT_EQ(PlanFromJson(json).error().place, "space");
  }
}

TEST(PlanJson, ANewerSchemaIsNamed) {
  Json json = PlanToJson(SamplePlan());
  json["schema"] = "placewright.plan/3";
  for (const Error& error : {PlanFromJson(json).error(), PlacementFromJson(json).error()}) {
    EXPECT_NE(error.message.find("placewright.plan/3"), std::string::npos);
    EXPECT_NE(error.message.find("newer Placewright"), std::string::npos);
  }
  // Even where it has no placement as this version knows it; an unknown older one is not newer.
  json.erase("placement");
  EXPECT_THAT(PlacementFromJson(json).error().message, HasSubstr("newer Placewright"));
  json["schema"] = "placewright.plan/0";
  EXPECT_THAT(PlanFromJson(json).error().message, HasSubstr("is neither the schema"));
}

}  // namespace
}  // namespace placewright
