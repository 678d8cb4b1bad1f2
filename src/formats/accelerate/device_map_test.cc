#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "formats/accelerate/device_map_writer.h"
#include "formats/accelerate/module_tree.h"
#include "formats/accelerate/refusals.h"
#include "formats/aten/format.h"
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
  plan.graph.details = AtenDetails{std::move(file.module_stated), file.wrapped};
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

TEST(DeviceMap, SplitModulesAreRefused) {
  // Two ops in one module: the second has no parameter.
  const std::string text = AtenText({{"a", ""}, {"a", "", false}, {"b", ""}}, "m.");
  EXPECT_EQ(Map(Export(text, {kG0, kG0, kG1})), R"({"a":0,"b":1})");
  const std::string reason = Refused(Export(text, {kG0, kG1, kG1}));
  EXPECT_THAT(reason, HasSubstr("cannot be expressed as a device_map"));
  EXPECT_THAT(reason, HasSubstr(R"(the module "a" is split across devices: "a.w" lies on GPU 0)"));
  EXPECT_THAT(reason, HasSubstr(R"("op1" runs on GPU 1)"));
}

// An op of a step that is written by hand: its inputs, and the device that is planned for it.
struct Call {
  std::string name, module;
  std::vector<std::string> reads;
  std::string device;
};

// `held`: "param:PATH" and "buffer:PATH". All ops state their modules, "" is the model.
Result<std::string> ExportCalls(const std::vector<std::string>& held,
                                const std::vector<Call>& calls,
                                std::vector<std::string>* notes = nullptr) {
  std::string inputs = R"({"name": "input:x", "kind": "input", "shape": [2, 2], "dtype": "f32"})";
  for (const std::string& name : held) {
    inputs += fmt::format(R"(, {{"name": "{}", "kind": "{}", "shape": [2, 2], "dtype": "f32"}})",
                          name, name.substr(0, name.find(':')));
  }
  std::string ops;
  std::vector<std::string> devices;
  for (const Call& call : calls) {
    std::string reads;
    for (const std::string& name : call.reads)
      reads += (reads.empty() ? "\"" : ", \"") + name + "\"";
    ops += fmt::format(
        R"({}{{"name": "{}", "target": "aten.mm.default", "phase": "fwd", "scope": "{}",
           "inputs": [{}], "args": [], "outputs": [{{"shape": [2, 2], "dtype": "f32"}}]}})",
        ops.empty() ? "" : ", ", call.name, call.module, reads);
    devices.push_back(call.device);
  }
  return Export(fmt::format(R"({{"name": "g", "wrapped": false, "inputs": [{}], "ops": [{}],
                               "outputs": []}})",
                            inputs, ops),
                devices, "4xP100", notes);
}

// The table `cos` belongs to the model, layers read it: an argument of their `forward`, which the
// hooks move. So does a parameter that the model passes on.
TEST(DeviceMap, WhatAnOuterModuleHoldsMayBeReadOnAnyDevice) {
  for (const std::string kind : {"buffer", "param"}) {
    const std::vector<std::string> held = {kind + ":cos", "param:layers.0.w", "param:layers.1.w"};
    const std::vector<Call> calls = {{"cut", "", {kind + ":cos"}, kG0},
                                     {"a", "layers.0", {"input:x", "cut", "param:layers.0.w"}, kG0},
                                     {"b", "layers.1", {"a", "cut", "param:layers.1.w"}, kG1},
                                     {"c", "layers.1", {"b", kind + ":cos"}, kG1}};
    EXPECT_EQ(Map(ExportCalls(held, calls)), R"({"cos":0,"layers.0":0,"layers.1":1})") << kind;
  }
}

// What a module holds itself, or finds in a module below it, is read where that lies.
TEST(DeviceMap, WhatAModuleReadsOfItselfOrBelowLiesWhereItRuns) {
  const std::vector<std::string> held = {"param:l.w", "param:l.out.w", "param:z.w"};
  const auto with_out_on = [&](const std::string& device) {
    return ExportCalls(held, {{"a", "l", {"input:x", "param:l.w"}, kG0},
                              {"b", "l", {"a", "param:l.out.w"}, kG0},
                              {"c", "l.out", {"b", "param:l.out.w"}, device},
                              {"d", "z", {"c", "param:z.w"}, kG1}});
  };
  EXPECT_EQ(Map(with_out_on(kG0)), R"({"l":0,"z":1})");
  const std::string reason = Refused(with_out_on(kG1));
  EXPECT_THAT(reason, HasSubstr(R"("l.out.w")"));
}

// The sum of what two layers make is the model's own: no hook moves one to the other.
TEST(DeviceMap, OpsBetweenModulesReadOneDevice) {
  const std::vector<std::string> held = {"param:layers.0.a.w", "param:layers.0.b.w"};
  const auto with_b_on = [&](const std::string& device, const std::string& module) {
    return ExportCalls(held, {{"a", "layers.0.a", {"input:x", "param:layers.0.a.w"}, kG0},
                              {"b", "layers.0.b", {"a", "param:layers.0.b.w"}, device},
                              {"sum", module, {"a", "b"}, kG0}});
  };
  EXPECT_EQ(Map(with_b_on(kG0, "layers.0")), R"({"":0})");
  const Result<std::string> inner = with_b_on(kG1, "layers.0");
  const std::string reason = Refused(inner);
  EXPECT_THAT(reason, HasSubstr(R"(the module "layers.0" is split across devices)"));
  EXPECT_THAT(reason, HasSubstr(R"(what the module "layers.0.a" makes on GPU 0)"));
  EXPECT_THAT(reason, HasSubstr(R"(what the module "layers.0.b" makes on GPU 1)"));
  EXPECT_EQ(inner.error().remedy,
            "Plan again with --colocate-each 'layers.*', besides the options given.");
  EXPECT_THAT(Refused(with_b_on(kG1, "")), HasSubstr("the model is split across devices"));
}

// What the model itself holds lies on the main device, which is the first GPU unless
// stated otherwise.
TEST(DeviceMap, TheMainDeviceIsNoted) {
  const std::vector<std::string> held = {"param:pos", "param:a.w", "param:b.w"};
  const auto calls = [](const std::string& first, const std::string& second) {
    return std::vector<Call>{{"a", "a", {"input:x", "param:a.w"}, first},
                             {"sum", "", {"a", "param:pos"}, first},
                             {"b", "b", {"sum", "param:b.w"}, second}};
  };
  std::vector<std::string> notes;
  EXPECT_EQ(Map(ExportCalls(held, calls(kG0, kG1), &notes)), R"({"pos":0,"a":0,"b":1})");
  EXPECT_THAT(notes, testing::IsEmpty());
  EXPECT_EQ(Map(ExportCalls(held, calls(kG1, kG0), &notes)), R"({"pos":1,"a":1,"b":0})");
  EXPECT_THAT(notes, testing::ElementsAre(HasSubstr("give dispatch_model main_device=1")));
  notes.clear();
  EXPECT_EQ(Map(ExportCalls(held, calls(kCpu, kG0), &notes)), R"({"pos":"cpu","a":"cpu","b":0})");
  EXPECT_THAT(notes, testing::ElementsAre(HasSubstr("main_device=\"cpu\"")));
}

// `free` has no module to be moved with: it runs where `a` lies, GPU 0.
TEST(DeviceMap, OpsThatRunElsewhereThanPlannedAreCounted) {
  std::vector<std::string> notes;
  EXPECT_EQ(Map(ExportCalls({"param:a.w", "param:b.w"},
                            {{"a", "a", {"input:x", "param:a.w"}, kG0},
                             {"free", "", {"a"}, kG1},
                             {"b", "b", {"free", "param:b.w"}, kG1}},
                            &notes)),
            R"({"a":0,"b":1})");
  EXPECT_THAT(notes, testing::ElementsAre(HasSubstr("runs 1 op on another device")));
}

// `count` layers of one op, all on GPU 0, before what a test is about.
std::vector<Call> Trunk(int count, std::vector<std::string>& held) {
  std::vector<Call> calls;
  for (int i = 0; i < count; ++i) {
    const std::string module = fmt::format("trunk.{}", i);
    held.push_back("param:" + module + ".w");
    calls.push_back({fmt::format("t{}", i), module, {"input:x", held.back()}, kG0});
  }
  return calls;
}

// A small module that the plan splits is written whole, where its largest parameter lies, and what
// then runs elsewhere is counted: here 1 op of 20, or of 19, which is too much.
TEST(DeviceMap, ASmallSplitIsWrittenWholeAndCounted) {
  const auto with_trunk = [](int count, std::vector<std::string>* notes) {
    std::vector<std::string> held = {"param:norm.w"};
    std::vector<Call> calls = Trunk(count, held);
    calls.push_back({"norm", "norm", {"t0", "param:norm.w"}, kG1});
    calls.push_back({"again", "norm", {"norm"}, kG0});
    return ExportCalls(held, calls, notes);
  };
  std::vector<std::string> notes;
  EXPECT_EQ(Map(with_trunk(18, &notes)), R"({"norm":1,"trunk":0})");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("runs 1 op on another device"));
  EXPECT_THAT(notes[0], HasSubstr("plan with --colocate 'norm'"));
  const Result<std::string> refused = with_trunk(17, &notes);
  EXPECT_THAT(Refused(refused), HasSubstr(R"(the module "norm" is split)"));
  EXPECT_EQ(refused.error().remedy,
            "Plan again with --colocate 'norm', besides the options given.");
}

// Two tables of one module on two devices are no reason to refuse: they lie where it runs.
TEST(DeviceMap, BuffersLieWhereTheirModuleRuns) {
  std::vector<std::string> held = {"buffer:rotary.cos", "buffer:rotary.sin", "param:a.w",
                                   "param:b.w"};
  const auto calls = [](const std::string& rotary) {
    return std::vector<Call>{{"a", "a", {"input:x", "param:a.w", "buffer:rotary.cos"}, kG0},
                             {"turn", "rotary", {"input:x", "buffer:rotary.sin"}, rotary},
                             {"b", "b", {"a", "turn", "param:b.w"}, kG1}};
  };
  EXPECT_EQ(Map(ExportCalls(held, calls(kG1))), R"({"rotary":1,"a":0,"b":1})");
  EXPECT_EQ(Map(ExportCalls(held, calls(kG0))), R"({"rotary":0,"a":0,"b":1})");
}

// What the model itself holds lies together, on the device on which ops can read it: `pos` is added
// to what `patch` makes on GPU 3, wherever the plan has it.
TEST(DeviceMap, WhatTheModelHoldsLiesOnTheDeviceThatReadsIt) {
  std::vector<std::string> held = {"param:cls", "param:pos", "param:patch.w", "param:head.w"};
  std::vector<std::string> notes;
  EXPECT_EQ(Map(ExportCalls(held,
                            {{"patch", "patch", {"input:x", "param:patch.w"}, kG3},
                             {"cat", "", {"patch", "param:cls"}, kG1},
                             {"sum", "", {"cat", "param:pos"}, kG3},
                             {"head", "head", {"sum", "param:head.w"}, kG1}},
                            &notes)),
            R"({"cls":3,"pos":3,"patch":3,"head":1})");
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_THAT(notes[0], HasSubstr("main_device=3"));
  EXPECT_THAT(notes[1], HasSubstr("runs 1 op on another device"));
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
  const Placement placement(1, DeviceId(0));
  std::vector<std::string> notes;
  EXPECT_THAT(Refused(WriteDeviceMap(plan, placement, &notes)), HasSubstr("modules of PyTorch"));
  plan.graph.details = AtenDetails();
  plan.graph.graph = ReadAtenGraph(AtenText({{"a", "", false}}, "m.")).Take();
  EXPECT_THAT(Refused(WriteDeviceMap(plan, placement, &notes)), HasSubstr("no parameters"));
}

TEST(Refusals, NameTheOptionsThatWouldHelp) {
  EXPECT_EQ(KeepWhole("m.layers.3.attn"), "--colocate-each 'm.layers.*'");
  EXPECT_EQ(KeepWhole("3.conv1"), "--colocate-each '*'");
  EXPECT_EQ(KeepWhole("m.norm"), "--colocate 'm.norm'");
  EXPECT_EQ(KeepWhole(""), "");
  Refusals refusals;
  refusals.Add("layers.0", "first", KeepWhole("layers.0"));
  refusals.Add("layers.0", "again", KeepWhole("layers.0"));
  refusals.Add("layers.1", "second", KeepWhole("layers.1"));
  refusals.Add("norm", "third", KeepWhole("norm"));
  const Error error = refusals.ToError();
  EXPECT_THAT(error.message, HasSubstr("first (and 2 more such modules)"));
  EXPECT_EQ(
      error.remedy,
      "Plan again with --colocate-each 'layers.*' --colocate 'norm', besides the options given.");
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
