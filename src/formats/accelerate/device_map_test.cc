#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "formats/accelerate/device_map_writer.h"
#include "formats/accelerate/module_tree.h"
#include "formats/aten/reader.h"

namespace placewright {
namespace {

using testing::HasSubstr;

// A module with one op, which reads what the one before made and the parameter `w` of the module or
// of `tied_to`.
struct Layer {
  std::string path, tied_to;
  bool parameter = true;
};

std::string AtenText(const std::vector<Layer>& layers, const std::string& wrapper) {
  std::string inputs = R"({"name": "input:x", "kind": "input", "shape": [2, 2], "dtype": "f32"})";
  std::string ops, before = "input:x";
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const std::string owner = wrapper + (layer.tied_to.empty() ? layer.path : layer.tied_to);
    const std::string name = fmt::format("op{}", i), weight = "param:" + owner + ".w";
    if (layer.parameter && layer.tied_to.empty()) {
      inputs += fmt::format(
          R"(, {{"name": "{}", "kind": "param", "shape": [2, 2], "dtype": "f32"}})", weight);
    }
    const std::string reads = layer.parameter ? fmt::format(R"(, "{}")", weight) : "";
    ops += fmt::format(
        R"({}{{"name": "{}", "target": "aten.mm.default", "phase": "fwd", "scope": "{}",
           "inputs": ["{}"{}], "args": [], "outputs": [{{"shape": [2, 2], "dtype": "f32"}}]}})",
        i ? ", " : "", name, wrapper + layer.path, before, reads);
    before = name;
  }
  return fmt::format(R"({{"name": "g", "inputs": [{}], "ops": [{}], "outputs": []}})", inputs, ops);
}

// `devices`: of each op, by its name in the cluster.
Result<std::string> Export(const std::string& text, const std::vector<std::string>& devices,
                           const char* cluster = "4xP100",
                           std::vector<std::string>* notes = nullptr) {
  PlanInputs plan;
  AtenGraph file = ReadAtenFile(text).Take();
  plan.graph.graph = std::move(file.graph);
  plan.graph.module_stated = std::move(file.module_stated);
  plan.graph.wrapped = file.wrapped;
  plan.cluster = LoadCluster(cluster).Take();
  Placement placement;
  for (const std::string& name : devices) {
    placement.push_back(plan.cluster.cluster.FindDevice(name));
    EXPECT_TRUE(placement[OpId(placement.size() - 1)].valid()) << name;
  }
  EXPECT_EQ(placement.size(), plan.graph.graph.op_count());
  std::vector<std::string> ignored;
  return WriteDeviceMap(plan, placement, notes == nullptr ? &ignored : notes);
}

std::string Map(const Result<std::string>& result) {
  if (!result.ok()) return result.error().ToString();
  return ParseJson(result.value()).Take().dump();
}

std::string Refused(const Result<std::string>& result) {
  if (result.ok()) return "written: " + result.value();
  EXPECT_EQ(result.error().code, ErrorCode::kNotExpressible);
  return result.error().message;
}

const std::string kG0 = "host0/gpu0", kG1 = "host0/gpu1", kG3 = "host0/gpu3", kCpu = "host0/cpu0";

TEST(DeviceMap, OneDeviceIsOneEntry) {
  const std::string text = AtenText({{"enc.0", ""}, {"enc.1", ""}, {"head", ""}}, "m.");
  EXPECT_EQ(Map(Export(text, {kG1, kG1, kG1})), R"({"":1})");
  EXPECT_EQ(Map(Export(text, {kCpu, kCpu, kCpu})), R"({"":"cpu"})");
}

TEST(DeviceMap, SubTreesOnOneDeviceAreOneEntry) {
  const std::string text = AtenText({{"emb", ""},
                                     {"enc.0.a", ""},
                                     {"enc.0.b", ""},
                                     {"enc.1.a", ""},
                                     {"enc.1.b", ""},
                                     {"enc.10", ""}},
                                    "m.");
  // enc.0 lies on GPU 0, enc.1 on two devices, so enc and the model do, too.
  EXPECT_EQ(Map(Export(text, {kCpu, kG0, kG0, kG1, kG3, kG3})),
            R"({"emb":"cpu","enc.0":0,"enc.1.a":1,"enc.1.b":3,"enc.10":3})");
  EXPECT_EQ(Map(Export(text, {kG0, kG1, kG1, kG1, kG1, kG1})), R"({"emb":0,"enc":1})");
}

TEST(DeviceMap, OnlyAWrapperOfAllPathsIsLeftOut) {
  EXPECT_EQ(Map(Export(AtenText({{"a", ""}, {"b", ""}}, ""), {kG0, kG1})), R"({"a":0,"b":1})");
  EXPECT_EQ(Map(Export(AtenText({{"m.a", ""}, {"b", ""}}, ""), {kG0, kG1})), R"({"m":0,"b":1})");
  EXPECT_EQ(Map(Export(AtenText({{"m.a", ""}, {"m.b", ""}}, "m."), {kG0, kG1})),
            R"({"m.a":0,"m.b":1})");
}

// `text` with what a recorder knows of its paths.
std::string Stating(std::string text, bool wrapped) {
  return text.insert(1, fmt::format(R"("wrapped": {}, )", wrapped));
}

TEST(DeviceMap, AChildCalledLikeTheWrapperStaysWhereTheFileSaysSo) {
  const std::string text = AtenText({{"0", ""}, {"2", ""}}, "m.");
  std::vector<std::string> notes;
  EXPECT_EQ(Map(Export(Stating(text, false), {kG0, kG1}, "4xP100", &notes)),
            R"({"m.0":0,"m.2":1})");
  EXPECT_EQ(Map(Export(Stating(text, true), {kG0, kG1}, "4xP100", &notes)), R"({"0":0,"2":1})");
  EXPECT_THAT(notes, testing::IsEmpty());
  // A file that states nothing is guessed at, aloud where it matters.
  EXPECT_EQ(Map(Export(text, {kG1, kG1}, "4xP100", &notes)), R"({"":1})");
  EXPECT_THAT(notes, testing::IsEmpty());
  EXPECT_EQ(Map(Export(text, {kG0, kG1}, "4xP100", &notes)), R"({"0":0,"2":1})");
  EXPECT_THAT(notes, testing::ElementsAre(HasSubstr(R"("wrapped": false)")));
}

TEST(DeviceMap, ModulesWithoutParametersAreNamedWhereTheyLieApart) {
  const std::string text = AtenText({{"a", ""}, {"act", "", false}, {"b", ""}}, "m.");
  EXPECT_EQ(Map(Export(text, {kG0, kG1, kG0})), R"({"a":0,"b":0,"act":1})");
  EXPECT_EQ(Map(Export(text, {kG0, kG0, kG0})), R"({"":0})");
}

TEST(DeviceMap, TornModulesAreRefused) {
  // Two ops in one module: the second has no parameter.
  const std::string text = AtenText({{"a", ""}, {"a", "", false}, {"b", ""}}, "m.");
  EXPECT_EQ(Map(Export(text, {kG0, kG0, kG1})), R"({"a":0,"b":1})");
  const std::string reason = Refused(Export(text, {kG0, kG1, kG1}));
  EXPECT_THAT(reason, HasSubstr(R"(the module "a" is torn: "a.w" lies on GPU 0)"));
  EXPECT_THAT(reason, HasSubstr(R"("op1" runs on GPU 1)"));
}

// `w` belongs to the model itself; the op of the module `l` reads it.
TEST(DeviceMap, TheTornModuleIsTheOneThatHoldsWhatIsRead) {
  const std::string text = R"({"name": "g", "wrapped": false, "inputs": [
      {"name": "param:w", "kind": "param", "shape": [2, 2], "dtype": "f32"}],
    "ops": [
      {"name": "a", "target": "aten.mm.default", "phase": "fwd", "inputs": ["param:w", "param:w"],
       "args": [], "outputs": [{"shape": [2, 2], "dtype": "f32"}]},
      {"name": "b", "target": "aten.mm.default", "phase": "fwd", "scope": "l",
       "inputs": ["a", "param:w"], "args": [], "outputs": [{"shape": [2, 2], "dtype": "f32"}]}],
    "outputs": []})";
  const std::string reason = Refused(Export(text, {kG0, kG1}));
  EXPECT_THAT(reason, HasSubstr(R"(the model is torn: "w" lies on GPU)"));
}

TEST(DeviceMap, TiedWeightsOnTwoDevicesAreRefused) {
  const std::string text = AtenText({{"emb", ""}, {"enc", ""}, {"head", "emb"}}, "m.");
  EXPECT_EQ(Map(Export(text, {kG0, kG1, kG0})), R"({"emb":0,"enc":1,"head":0})");
  const std::string reason = Refused(Export(text, {kG0, kG1, kG1}));
  EXPECT_THAT(reason, HasSubstr(R"("emb.w" on GPU 0 is tied)"));
  EXPECT_THAT(reason, HasSubstr(R"("head" reads it on GPU 1)"));
}

TEST(DeviceMap, ParametersBesideModulesAreNamedThemselves) {
  // `net.w` beside the modules net.a and net.b, which lie apart.
  const std::string text = AtenText({{"net", ""}, {"net.a", ""}, {"net.b", ""}}, "m.");
  EXPECT_EQ(Map(Export(text, {kG0, kG0, kG1})), R"({"net.w":0,"net.a":0,"net.b":1})");
}

TEST(DeviceMap, SeveralHostsAreRefused) {
  const std::string text = AtenText({{"a", ""}, {"b", ""}}, "m.");
  const std::string reason = Refused(Export(text, {"host0/gpu0", "host1/gpu0"}, "tag-testbed"));
  EXPECT_THAT(reason, HasSubstr(R"("host0/gpu0" and "host1/gpu0" are on several hosts)"));
  // GPUs count from 0 on each host.
  EXPECT_EQ(Map(Export(text, {"host1/gpu0", "host1/gpu1"}, "tag-testbed")), R"({"a":0,"b":1})");
}

TEST(DeviceMap, OtherGraphsAreRefused) {
  PlanInputs plan;
  plan.graph.graph = ReadAtenGraph(AtenText({{"a", ""}}, "m.")).Take();
  plan.cluster = LoadCluster("4xP100").Take();
  plan.graph.format = GraphFormat::kOnnx;
  const Placement placement(1, DeviceId(0));
  std::vector<std::string> notes;
  EXPECT_THAT(Refused(WriteDeviceMap(plan, placement, &notes)), HasSubstr("modules of PyTorch"));
  plan.graph.format = GraphFormat::kAten;
  plan.graph.graph = ReadAtenGraph(AtenText({{"a", "", false}}, "m.")).Take();
  EXPECT_THAT(Refused(WriteDeviceMap(plan, placement, &notes)), HasSubstr("no parameters"));
}

TEST(ModuleTree, LeavesWithoutADeviceGoWithTheirSiblings) {
  ModuleTree tree;
  tree.Add("a.x", 2);
  tree.Add("a.unused", std::nullopt);
  tree.Add("b", 1);
  tree.Add("c.unused", std::nullopt);
  using Entries = std::vector<std::pair<std::string, int32_t>>;
  EXPECT_EQ(tree.Cover(), (Entries{{"a", 2}, {"b", 1}, {"c", 2}}));
  EXPECT_EQ(ModuleTree().Cover(), (Entries{{"", 0}}));
}

}  // namespace
}  // namespace placewright
