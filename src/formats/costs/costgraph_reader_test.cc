#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/random.h"
#include "formats/cluster/cluster_reader.h"
#include "formats/costs/costgraph_writer.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

// a (d0, 5 ns) reads the parameter w and the input x and makes y, which b (d1) reads.
const char kSmallCostGraph[] = R"({
  "schema": "placewright.costgraph/1", "name": "small",
  "devices": [{"name": "d0", "memory_bytes": 1000}, {"name": "d1", "memory_bytes": 0}],
  "links": [{"name": "l", "bandwidth": 3, "latency_ns": 7}, {"name": "m", "bandwidth": 2, "latency_ns": 0}],
  "routes": [{"from": "d0", "to": "d1", "links": ["m", "l"]}],
  "tensors": [{"name": "y", "bytes": 10}, {"name": "w", "bytes": 20, "kind": "parameter"},
              {"name": "x", "bytes": 30, "kind": "input"}],
  "ops": [{"name": "b", "time_ns": [null, 6], "inputs": ["y", "y"], "outputs": []},
          {"name": "a", "time_ns": [5, null], "inputs": ["w", "x"], "outputs": ["y"]}],
  "homes": {"w": "d1"},
  "placement": {"a": "d0", "b": "d1"},
  "expected": {"anything": [1, 2]}})";

CostGraph GoodCostGraph(const Json& document) {
  auto result = ReadCostGraph(document);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
  return result.Take();
}

Json SmallCostGraph() { return ParseJson(kSmallCostGraph).Take(); }

TEST(CostGraphReader, IdsArePositions) {
  const CostGraph c = GoodCostGraph(SmallCostGraph());
  EXPECT_EQ(c.graph.name(), "small");
  EXPECT_EQ(c.graph.format(), "costgraph");
  ASSERT_EQ(c.graph.op_count(), 2u);
  EXPECT_EQ(c.graph.op(OpId(0)).name, "b");
  ASSERT_EQ(c.graph.storage_count(), 3u);
  for (const StorageId id : c.graph.storages()) {
    EXPECT_EQ(c.graph.storage(id).first, TensorId(id.value()));
  }
  EXPECT_EQ(c.graph.tensor(TensorId(0)).producer, OpId(1));
  EXPECT_EQ(c.graph.storage(StorageId(1)).kind, TensorKind::kParameter);
  EXPECT_EQ(c.graph.storage(StorageId(2)).kind, TensorKind::kInput);
  EXPECT_EQ(c.graph.storage(StorageId(2)).bytes, Bytes(30));
  EXPECT_EQ(c.graph.given_home(StorageId(1)), DeviceId(1));
  EXPECT_FALSE(c.graph.given_home(StorageId(2)).valid());
}

// r0 on d0 and r1 on d1 are one collective over l; b comes after a.
Json SecondVersion() {
  Json document = SmallCostGraph();
  document["schema"] = "placewright.costgraph/2";
  document["ops"].push_back({{"name", "r0"},
                             {"time_ns", {0, nullptr}},
                             {"inputs", Json::array()},
                             {"outputs", Json::array()}});
  document["ops"].push_back({{"name", "r1"},
                             {"time_ns", {0, 0}},
                             {"inputs", Json::array()},
                             {"outputs", Json::array()},
                             {"after", {"a"}}});
  document["placement"]["r0"] = "d0";
  document["placement"]["r1"] = "d1";
  document["collectives"] = Json::array(
      {{{"name", "ar"}, {"members", {"r1", "r0"}}, {"links", {"l"}}, {"time_ns", 900}}});
  document["sequence"] = {{"d1", {"b"}}};
  return document;
}

TEST(CostGraphReader, TheSecondVersionHasCollectivesControlEdgesAndSequences) {
  const CostGraph c = GoodCostGraph(SecondVersion());
  ASSERT_EQ(c.graph.collective_count(), 1u);
  EXPECT_EQ(c.graph.collective(CollectiveId(0)).members, (std::vector<OpId>{OpId(3), OpId(2)}));
  EXPECT_EQ(c.graph.collective_of(OpId(2)), CollectiveId(0));
  EXPECT_FALSE(c.graph.collective_of(OpId(0)).valid());
  EXPECT_EQ(c.costs.collectives()[CollectiveId(0)].time, Nanos(900));
  EXPECT_EQ(c.costs.collectives()[CollectiveId(0)].links, std::vector<LinkId>{LinkId(0)});
  EXPECT_EQ(c.graph.op(OpId(3)).after, std::vector<OpId>{OpId(1)});
  EXPECT_EQ(c.sequences, (NamedSequences{{"d1", {"b"}}}));
  Json first = SecondVersion();
  first["schema"] = "placewright.costgraph/1";
  EXPECT_FALSE(ReadCostGraph(first).ok());
}

TEST(CostGraphReader, MistakesOfTheSecondVersionAreNamed) {
  const auto error = [](const auto& change) {
    Json document = SecondVersion();
    change(document);
    auto result = ReadCostGraph(document);
    EXPECT_FALSE(result.ok());
    return result.ok() ? std::string() : result.error().ToString();
  };
  using ::testing::AllOf;
  const auto collective = [](Json& d) -> Json& { return d["collectives"][0]; };
  EXPECT_THAT(error([&](Json& d) { collective(d)["members"] = Json::array(); }),
              HasSubstr("no members"));
  EXPECT_THAT(error([&](Json& d) {
                collective(d)["members"] = {"r0", "r0"};
              }),
              HasSubstr("a member twice"));
  EXPECT_THAT(error([&](Json& d) {
                collective(d)["members"] = {"r0", "a"};
              }),
              AllOf(HasSubstr("collectives[0].members[1]"), HasSubstr("no time of its own")));
  EXPECT_THAT(error([&](Json& d) {
                collective(d)["members"] = {"r0", "rx"};
              }),
              HasSubstr("no op is called \"rx\""));
  EXPECT_THAT(error([&](Json& d) {
                collective(d)["links"] = {"l", "l"};
              }),
              HasSubstr("collectives[0].links[1]"));
  EXPECT_THAT(error([&](Json& d) { collective(d).erase("links"); }), HasSubstr("links"));
  EXPECT_THAT(error([&](Json& d) { collective(d)["time_ns"] = -1; }), HasSubstr("time_ns"));
  EXPECT_THAT(error([&](Json& d) {
                Json again = collective(d);
                d["collectives"].push_back(again);
              }),
              HasSubstr("two collectives are called \"ar\""));
  EXPECT_THAT(error([&](Json& d) {
                Json again = collective(d);
                again["name"] = "other";
                d["collectives"].push_back(again);
              }),
              HasSubstr("is a member of ar, too"));
  EXPECT_THAT(error([](Json& d) { d["ops"][3]["after"] = {"r1"}; }), HasSubstr("after itself"));
  EXPECT_THAT(error([](Json& d) {
                d["ops"][3]["after"] = {"a", "a"};
              }),
              HasSubstr("ops[3].after[1]"));
  EXPECT_THAT(error([](Json& d) { d["ops"][3]["after"] = {"z"}; }), HasSubstr("\"z\""));
  EXPECT_THAT(error([](Json& d) { d["ops"][3]["after"] = {"r0"}; }),
              HasSubstr("wait for each other"));
  EXPECT_THAT(error([](Json& d) { d["sequence"]["d1"] = "b"; }), HasSubstr("sequence.d1"));
  EXPECT_THAT(error([](Json& d) { d.erase("placement"); }), HasSubstr("belongs to a placement"));
  EXPECT_THAT(error([](Json& d) {
                d["sequences"] = d["sequence"];
                d.erase("sequence");
              }),
              HasSubstr("did you mean \"sequence\""));
}

TEST(CostGraphReader, DevicesAndTimesAreGiven) {
  const CostGraph c = GoodCostGraph(SmallCostGraph());
  EXPECT_EQ(c.cluster.kind(DeviceId(0)).device_class, DeviceClass::kOther);
  EXPECT_EQ(c.cluster.device(DeviceId(0)).capacity, Bytes(1000));
  const Route& route = c.cluster.route(DeviceId(0), DeviceId(1));
  EXPECT_EQ(route.links, (std::vector<LinkId>{LinkId(1), LinkId(0)}));
  EXPECT_EQ(route.bandwidth, BytesPerSecond(2));
  EXPECT_FALSE(c.cluster.Connected(DeviceId(1), DeviceId(0)));
  EXPECT_EQ(c.costs.time(OpId(0), DeviceId(0)), CostTable::kUnsupported);
  EXPECT_EQ(c.costs.time(OpId(0), DeviceId(1)), Nanos(6));
  EXPECT_EQ(c.costs.source(OpId(0)), CostSource::kGiven);
  ASSERT_TRUE(c.placement.has_value());
  EXPECT_EQ((*c.placement)[1], (std::pair<std::string, std::string>("b", "d1")));
  // Its cluster is a cluster file as well.
  const Json cluster = ClusterToJson(c.cluster);
  EXPECT_EQ(ClusterToJson(ParseCluster(cluster.dump()).Take()).dump(), cluster.dump());
}

TEST(CostGraphReader, OptionalParts) {
  Json document = SmallCostGraph();
  document.erase("homes");
  document.erase("placement");
  document.erase("name");
  const CostGraph c = GoodCostGraph(document);
  EXPECT_FALSE(c.placement.has_value());
  EXPECT_FALSE(c.graph.given_home(StorageId(1)).valid());
}

// Each patch (RFC 6902) breaks one rule of the format.
struct Broken {
  const char* patch;
  ErrorCode code;
  const char* place;
  const char* message;
};

TEST(CostGraphReader, EveryRuleIsChecked) {
  const auto kField = ErrorCode::kField;
  const auto kDuplicate = ErrorCode::kDuplicateName;
  const auto kUnknown = ErrorCode::kUnknownName;
  const auto kInvalid = ErrorCode::kClusterInvalid;
  const Broken cases[] = {
      {R"({"op":"replace","path":"/schema","value":"placewright.costgraph/3"})", kField, "schema",
       "costgraph/1"},
      {R"({"op":"remove","path":"/schema"})", kField, "", "schema"},
      {R"({"op":"remove","path":"/devices"})", kField, "", "devices"},
      {R"({"op":"replace","path":"/devices","value":[]})", kInvalid, "devices", "no devices"},
      {R"({"op":"replace","path":"/devices/1/name","value":"d0"})", kDuplicate, "devices[1].name",
       "d0"},
      {R"({"op":"replace","path":"/devices/1/name","value":""})", kField, "devices[1].name",
       "empty"},
      {R"({"op":"replace","path":"/devices/1/name","value":3})", kField, "devices[1].name",
       "string"},
      {R"({"op":"replace","path":"/devices/0/memory_bytes","value":-1})", kField,
       "devices[0].memory_bytes", "-1"},
      {R"({"op":"replace","path":"/devices/0/memory_bytes","value":1.5})", kField,
       "devices[0].memory_bytes", "integer"},
      {R"({"op":"add","path":"/devices/0/memroy","value":1})", kField, "devices[0]", "memroy"},
      {R"({"op":"replace","path":"/links/0/bandwidth","value":0})", kField, "links[0].bandwidth",
       "outside [1"},
      {R"({"op":"replace","path":"/links/0/latency_ns","value":-1})", kField, "links[0].latency_ns",
       "-1"},
      {R"({"op":"replace","path":"/links/1/name","value":"l"})", kDuplicate, "links[1].name", "l"},
      {R"({"op":"replace","path":"/routes/0/from","value":"d9"})", kUnknown, "routes[0].from",
       "did you mean d0"},
      {R"({"op":"replace","path":"/routes/0/to","value":"d0"})", kInvalid, "routes[0]", "itself"},
      {R"({"op":"replace","path":"/routes/0/links","value":[]})", kInvalid, "routes[0]",
       "no links"},
      {R"({"op":"replace","path":"/routes/0/links","value":["l","l"]})", kInvalid, "routes[0]",
       "twice"},
      {R"({"op":"replace","path":"/routes/0/links","value":["q"]})", kUnknown, "routes[0].links[0]",
       "q"},
      {R"({"op":"add","path":"/routes/0","value":{"from":"d0","to":"d1","links":["l"]}})", kInvalid,
       "routes[1]", "twice"},
      {R"({"op":"replace","path":"/tensors/1/name","value":"y"})", kDuplicate, "tensors[1].name",
       "y"},
      {R"({"op":"replace","path":"/tensors/0/bytes","value":-4})", kField, "tensors[0].bytes",
       "-4"},
      {R"({"op":"replace","path":"/tensors/0/bytes","value":2e30})", kField, "tensors[0].bytes",
       ""},
      {R"({"op":"replace","path":"/tensors/0/bytes","value":9223372036854775808})", kField,
       "tensors[0].bytes", "outside"},
      {R"({"op":"replace","path":"/tensors/1/kind","value":"weight"})", kField, "tensors[1].kind",
       "parameter"},
      {R"({"op":"add","path":"/tensors/0/kind","value":"parameter"})", kField, "ops[1].outputs[0]",
       "no op"},
      {R"({"op":"remove","path":"/tensors/2/kind"})", kField, "ops", "no op produces it"},
      {R"({"op":"replace","path":"/ops/1/name","value":"b"})", kDuplicate, "ops[1].name", "b"},
      {R"({"op":"replace","path":"/ops/0/time_ns","value":[1]})", kField, "ops[0].time_ns",
       "1 times for 2"},
      {R"({"op":"replace","path":"/ops/0/time_ns/1","value":-6})", kField, "ops[0].time_ns[1]",
       "-6"},
      {R"({"op":"replace","path":"/ops/0/time_ns/1","value":"6"})", kField, "ops[0].time_ns[1]",
       "integer"},
      {R"({"op":"replace","path":"/ops/0/inputs","value":["absent"]})", kUnknown,
       "ops[0].inputs[0]", "absent"},
      {R"({"op":"replace","path":"/ops/0/inputs","value":"y"})", kField, "ops[0].inputs", "list"},
      {R"({"op":"remove","path":"/ops/0/outputs"})", kField, "ops[0]", "outputs"},
      {R"({"op":"replace","path":"/ops/1/outputs","value":["y","y"]})", kDuplicate,
       "ops[1].outputs[1]", "twice"},
      {R"({"op":"replace","path":"/ops/0/outputs","value":["y"]})", kDuplicate, "ops[1]", "y"},
      {R"({"op":"replace","path":"/ops/1/inputs","value":["y"]})", ErrorCode::kGraphCycle, "ops",
       ""},
      {R"({"op":"replace","path":"/homes","value":{"x":"d0"}})", kField, "homes.x",
       "only parameters"},
      {R"({"op":"replace","path":"/homes","value":{"y":"d0"}})", kField, "homes.y",
       "only parameters"},
      {R"({"op":"replace","path":"/homes","value":{"z":"d0"}})", kUnknown, "homes.z", "z"},
      {R"({"op":"replace","path":"/homes","value":{"w":"d7"}})", kUnknown, "homes.w", "d7"},
      {R"({"op":"replace","path":"/homes","value":[]})", kField, "homes", "object"},
      {R"({"op":"move","from":"/homes","path":"/home"})", kField, "home", "homes"},
      {R"({"op":"replace","path":"/placement","value":{"c":"d0"}})", kUnknown, "placement.c", "c"},
      {R"({"op":"replace","path":"/placement","value":{"a":"d2"}})", kUnknown, "placement.a", "d2"},
      {R"({"op":"replace","path":"","value":[]})", kField, "", "object"},
  };
  for (const Broken& broken : cases) {
    const Json patched = SmallCostGraph().patch(Json::array({ParseJson(broken.patch).Take()}));
    const auto result = ReadCostGraph(patched);
    ASSERT_FALSE(result.ok()) << broken.patch;
    EXPECT_EQ(InfoOf(result.error().code).name, InfoOf(broken.code).name)
        << broken.patch << result.error().ToString();
    EXPECT_THAT(result.error().ToString(), HasSubstr(broken.place)) << broken.patch;
    EXPECT_THAT(result.error().ToString(), HasSubstr(broken.message)) << broken.patch;
    const auto of_text = ReadCostGraphText(patched.dump());
    ASSERT_FALSE(of_text.ok()) << broken.patch;
    EXPECT_EQ(of_text.error().ToString(), result.error().ToString()) << broken.patch;
  }
}

// Lists are read one after the other, in whatever order the text has them.
TEST(CostGraphReader, ATextIsReadAsTheDocumentThatItIs) {
  const Json document = SmallCostGraph();
  Json backwards = Json::object();
  for (auto member = document.rbegin(); member != document.rend(); ++member) {
    backwards[member.key()] = member.value();
  }
  const Json wanted = CostGraphToJson(ReadCostGraph(document).Take());
  EXPECT_EQ(CostGraphToJson(ReadCostGraphText(document.dump()).Take()), wanted);
  EXPECT_EQ(CostGraphToJson(ReadCostGraphText(backwards.dump()).Take()), wanted);
}

// A cycle of two ops, each reading what the other makes.
TEST(CostGraphReader, CyclesAreNamed) {
  Json document = SmallCostGraph();
  document["tensors"].push_back({{"name", "z"}, {"bytes", 1}});
  document["ops"][0]["outputs"] = {"z"};
  document["ops"][1]["inputs"] = {"z"};
  const auto result = ReadCostGraph(document);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kGraphCycle);
}

Json LoadVectors() {
  const std::string path = std::string(PLACEWRIGHT_SHARED_DATA) + "/simulator/vectors.json.gz";
  if (!std::filesystem::exists(path)) return Json();
  return ParseJson(ReadFile(path).Take()).Take();
}

TEST(CostGraphReader, EveryVectorSurvivesTheRoundTrip) {
  const Json vectors = LoadVectors();
  if (vectors.is_null()) GTEST_SKIP() << "no simulator vectors at " << PLACEWRIGHT_SHARED_DATA;
  EXPECT_EQ(vectors.size(), 86u);
  for (Json vector : vectors) {
    const CostGraph c = GoodCostGraph(vector);
    for (const StorageId id : c.graph.storages()) {
      EXPECT_EQ(c.graph.storage(id).first, TensorId(id.value()));
    }
    // What may be left out is written in one way: no homes, and activations without a kind.
    vector.erase("expected");
    if (!vector.contains("homes")) vector["homes"] = Json::object();
    for (Json& tensor : vector["tensors"]) {
      if (tensor.contains("kind") && tensor["kind"] == "activation") tensor.erase("kind");
    }
    // Objects by content, not by the order of their fields; routes have no order either.
    const auto normal = [](Json document) {
      auto& routes = document["routes"];
      std::sort(routes.begin(), routes.end(),
                [](const Json& a, const Json& b) { return a.dump() < b.dump(); });
      return nlohmann::json::parse(document.dump());
    };
    EXPECT_EQ(normal(CostGraphToJson(c)), normal(vector)) << vector["name"];
    EXPECT_EQ(CostGraphToJson(GoodCostGraph(CostGraphToJson(c))).dump(), CostGraphToJson(c).dump());
  }
}

// Every prefix and many one-bit changes end in a cost graph or in an error.
TEST(CostGraphReader, DamagedFiles) {
  const std::string text = kSmallCostGraph;
  const auto check = [](const std::string& damaged) {
    const auto document = ParseJson(damaged);
    if (!document.ok()) return false;
    const auto result = ReadCostGraph(document.value());
    EXPECT_TRUE(result.ok() || result.error().code != ErrorCode::kInternal);
    return result.ok();
  };
  for (size_t n = 0; n < text.size(); ++n) EXPECT_FALSE(check(text.substr(0, n)));
  Random random(5);
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = text;
    damaged[random.Below(text.size())] ^= static_cast<char>(1u << random.Below(8));
    check(damaged);
  }
}

// A value of another type in any place is an error or makes no difference; never a crash.
TEST(CostGraphReader, EveryValueReplaced) {
  const Json flat = SmallCostGraph().flatten();
  const Json others[] = {Json(nullptr),   Json(true),       Json(-1),           Json(1e300),
                         Json("d0"),      Json::array(),    Json::object(),     Json(INT64_MAX),
                         Json(INT64_MIN), Json(UINT64_MAX), Json::array({1, 2})};
  for (const auto& [pointer, value] : flat.items()) {
    for (const Json& other : others) {
      Json document = SmallCostGraph();
      document[Json::json_pointer(pointer)] = other;
      const auto result = ReadCostGraph(document);
      EXPECT_TRUE(result.ok() || result.error().code != ErrorCode::kInternal);
      const auto of_text = ReadCostGraphText(document.dump());
      ASSERT_EQ(of_text.ok(), result.ok()) << document;
      if (result.ok()) continue;
      EXPECT_EQ(of_text.error().ToString(), result.error().ToString());
    }
  }
}

}  // namespace
}  // namespace placewright
