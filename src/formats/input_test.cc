#include "formats/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cluster/catalogue.h"
#include "formats/aten/format.h"
#include "formats/cluster/cluster_reader.h"
#include "formats/costs/format.h"
#include "formats/dnn_partitioning/format.h"
#include "formats/graphdef/format.h"
#include "formats/onnx/format.h"
#include "formats/pipedream/format.h"
#include "formats/plan/plan_files.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::string_view kCostGraph = R"({"ops": [{"name": "a", "time_ns": [5], "inputs": [],
  "outputs": []}], "name": "g", "devices": [{"name": "d0", "memory_bytes": 9}], "links": [],
  "routes": [], "tensors": [], "placement": {"a": "d0"}, "schema": "placewright.costgraph/1"})";

class Input : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("placewright-input-" + std::to_string(getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string File(const std::string& name, std::string_view content) const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  fs::path folder_;
};

const GraphFormat* FormatOf(std::string_view bytes) {
  auto format = SniffGraph(bytes);
  EXPECT_TRUE(format.ok()) << format.error().ToString();
  return format.ok() ? format.value() : nullptr;
}

Error ErrorOfInput(std::string_view bytes) {
  auto format = SniffGraph(bytes);
  EXPECT_FALSE(format.ok()) << bytes;
  return format.ok() ? Error{} : format.error();
}

TEST(SniffGraph, TellsFormatsByContent) {
  EXPECT_EQ(FormatOf(R"({"name": "x", "inputs": [{"name": "a"}], "ops": []})"), &kAtenFormat);
  EXPECT_EQ(FormatOf("\n  {\"ops\": [{\"inputs\": [1]}]}"), &kAtenFormat);
  EXPECT_EQ(FormatOf("\xef\xbb\xbf{\"inputs\": []}"), &kAtenFormat);
  EXPECT_EQ(FormatOf(kCostGraph), &kCostGraphFormat);  // its schema comes last
  EXPECT_EQ(FormatOf(R"({"devices": [], "tensors": [], "ops": []})"), &kCostGraphFormat);
  EXPECT_EQ(FormatOf(R"({"schema": "placewright.costgraph/7"})"), &kCostGraphFormat);
  EXPECT_EQ(FormatOf("node { op: \"Const\" }"), &kGraphDefFormat);
  EXPECT_EQ(FormatOf("\x08\x08\x12\x07pytorch"), &kOnnxFormat);           // ir_version 8, producer
  EXPECT_EQ(FormatOf(std::string("\x3a\x02\x0a\x00", 4)), &kOnnxFormat);  // a graph at once
}

// A key inside an op decides nothing.
TEST(SniffGraph, LooksAtTheOutermostKeysOnly) {
  EXPECT_EQ(FormatOf(R"({"ops": [{"schema": "placewright.costgraph/1"}]})"), &kAtenFormat);
  EXPECT_EQ(ErrorOfInput(R"({"model": {"inputs": [], "ops": []}})").code,
            ErrorCode::kFormatUnknown);
}

TEST(SniffGraph, SaysWhatItSeesInstead) {
  EXPECT_THAT(ErrorOfInput("").message, HasSubstr("empty"));
  EXPECT_THAT(ErrorOfInput("  \n ").message, HasSubstr("empty"));
  EXPECT_THAT(ErrorOfInput("%PDF-1.4 and more").message, HasSubstr("text that begins with"));
  EXPECT_THAT(ErrorOfInput(R"({"schema": "placewright.plan/1"})").message,
              HasSubstr("placewright.plan/1"));
  EXPECT_EQ(ErrorOfInput("\x89PNG\r\n\x1a\n").code, ErrorCode::kFormatUnknown);
  EXPECT_THAT(ErrorOfInput("[]").message,
              HasSubstr("JSON, but a list where an object is expected"));
  EXPECT_THAT(ErrorOfInput(" \"abc\"\n").message, HasSubstr("JSON, but a text where"));
  EXPECT_THAT(ErrorOfInput("-1.5e3").message, HasSubstr("JSON, but a single value where"));
  EXPECT_THAT(ErrorOfInput("[section]\nkey = 1").message, HasSubstr("not JSON"));
  EXPECT_EQ(ErrorOfInput("{}").code, ErrorCode::kFormatUnknown);
  const Error broken = ErrorOfInput("{\"name\": \"x\",\n \"batch\": }");
  EXPECT_EQ(broken.code, ErrorCode::kSyntax);
  EXPECT_THAT(broken.place, HasSubstr("line 2"));
}

TEST_F(Input, CostGraphsBringDevicesTimesAndPlacement) {
  const std::string path = File("whatever.onnx", kCostGraph);  // the name says nothing
  auto loaded = LoadGraph(path);
  ASSERT_TRUE(loaded.ok()) << loaded.error().ToString();
  EXPECT_EQ(loaded.value().format, &kCostGraphFormat);
  EXPECT_EQ(loaded.value().sha256, Sha256(kCostGraph));
  EXPECT_EQ(loaded.value().cluster->device_count(), 1u);
  EXPECT_EQ(loaded.value().costs->time(OpId(0), DeviceId(0)), Nanos(5));
  EXPECT_EQ(*loaded.value().placement, (NamedPlacement{{"a", "d0"}}));
  EXPECT_EQ(LoadPlacement(path, loaded.value(), *loaded.value().cluster).Take().placement,
            (NamedPlacement{{"a", "d0"}}));
}

TEST_F(Input, GraphErrorsNameTheFile) {
  const auto error = [](const std::string& path, const GraphInputOptions& options = {}) {
    auto loaded = LoadGraph(path, options);
    EXPECT_FALSE(loaded.ok());
    return loaded.ok() ? Error{} : loaded.error();
  };
  const std::string cost_graph = File("g.json", kCostGraph);
  EXPECT_EQ(error("no/such/file").code, ErrorCode::kFileUnreadable);
  EXPECT_EQ(error(folder_.string()).code, ErrorCode::kFileUnreadable);
  EXPECT_EQ(error(File("text", "hello")).file, (folder_ / "text").string());
  EXPECT_EQ(error(File("cut.gz", "\x1f\x8b\x08")).code, ErrorCode::kFileCorrupt);
  EXPECT_EQ(error(cost_graph, {32, ""}).code, ErrorCode::kUsage);
  const Error fixed = error(cost_graph, {std::nullopt, "", {{"n", 4}}});
  EXPECT_EQ(fixed.code, ErrorCode::kUsage);
  EXPECT_THAT(fixed.message, HasSubstr("--dim n=4"));
  EXPECT_EQ(error(cost_graph, {std::nullopt, std::string(64, '0')}).code, ErrorCode::kPlanMismatch);
}

TEST_F(Input, ClustersAreFilesOrPresets) {
  const LoadedCluster preset = LoadCluster("4xP100").Take();
  EXPECT_EQ(preset.path, "preset:4xP100");
  EXPECT_EQ(preset.sha256, ClusterHash(MakePreset("4xP100").Take()));
  EXPECT_EQ(LoadCluster("preset:4xP100").Take().sha256, preset.sha256);
  EXPECT_NE(LoadCluster("8xP100").Take().sha256, preset.sha256);

  const auto unknown = LoadCluster("4xP10");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownName);
  EXPECT_THAT(unknown.error().message, HasSubstr("4xP100"));
  EXPECT_EQ(LoadCluster("machines.yaml").error().code, ErrorCode::kFileUnreadable);
  EXPECT_EQ(LoadCluster("dir/machines").error().code, ErrorCode::kFileUnreadable);
}

TEST_F(Input, GpusKeepAReserve) {
  const auto reserve = [](const LoadedCluster& loaded) {
    return loaded.cluster.device(DeviceId(0)).reserve.count;
  };
  const std::string file = File("c.yaml", "gpus: {kind: T4, memory: 1000 B}\n");
  EXPECT_EQ(reserve(LoadCluster(file).Take()), 50);  // 5%
  EXPECT_EQ(reserve(LoadCluster(file, {.reserve = MemoryReserve{Bytes(7)}}).Take()), 7);
  EXPECT_EQ(reserve(LoadCluster(file, {.as_described = true}).Take()), 0);
  EXPECT_EQ(LoadCluster(file, {.reserve = MemoryReserve{Bytes(1000)}}).error().code,
            ErrorCode::kUsage);
  // The resolved form says what it keeps.
  const Json resolved = ClusterToJson(LoadCluster(file, {.as_described = true}).Take().cluster);
  EXPECT_EQ(reserve(LoadCluster(File("c.json", resolved.dump())).Take()), 0);
}

TEST_F(Input, AFileNamedLikeAPresetWins) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  File("4xP100", "no: cluster\n");
  auto loaded = LoadCluster("4xP100");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().file, "4xP100");
  EXPECT_TRUE(LoadCluster("preset:4xP100").ok());
  fs::remove("4xP100");
  fs::create_directory("4xP100");  // a folder is no cluster
  EXPECT_TRUE(LoadCluster("4xP100").ok());
  fs::current_path(before);
}

TEST_F(Input, PlansNameFilesInUtf8Only) {
  const std::string plan = (folder_ / "g.plan.json").string();
  const std::string odd = (folder_ / "\xff.json").string();
  const std::string good = (folder_ / "gr\xc3\xbc\xc3\x9f.json").string();
  const std::string preset = "preset:4xP100";
  EXPECT_TRUE(CheckPathsUtf8(good, preset, plan).ok());
  EXPECT_TRUE(CheckPathsUtf8(good, "graph:", plan).ok());
  for (const auto& bad : {CheckPathsUtf8(odd, preset, plan), CheckPathsUtf8(good, odd, plan),
                          CheckPathsUtf8(good, preset, odd)}) {
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().code, ErrorCode::kUsage);
    EXPECT_THAT(bad.error().message, HasSubstr("not UTF-8"));
  }
  // Beside the plan only the file's own name is stored, elsewhere the whole path.
  const std::string folder = (folder_ / "\xff").string();
  EXPECT_TRUE(CheckPathsUtf8(folder + "/g.json", preset, folder + "/g.plan.json").ok());
  EXPECT_FALSE(CheckPathsUtf8(folder + "/g.json", preset, plan).ok());
}

// y is read by the loss alone: there is nothing to compute again, and that is said.
TEST_F(Input, WhatIsNotComputedAgainIsSaid) {
  const std::string path = File("step.json", R"({"name": "step", "batch": 2, "inputs": [
    {"name": "input:x", "kind": "input", "shape": [2, 4], "dtype": "f32"},
    {"name": "param:layers.0.w", "kind": "param", "shape": [4, 4], "dtype": "f32"}], "ops": [
    {"name": "y", "target": "aten.mm.default", "phase": "fwd", "scope": "layers.0", "args": ["%0", "%1"],
     "inputs": ["input:x", "param:layers.0.w"], "outputs": [{"shape": [2, 4], "dtype": "f32"}]},
    {"name": "sum", "target": "aten.sum.default", "phase": "fwd", "scope": "", "args": ["%0"],
     "inputs": ["y"], "outputs": [{"shape": [], "dtype": "f32"}]},
    {"name": "g", "target": "aten.ones_like.default", "phase": "bwd", "args": ["%0"],
     "inputs": ["sum"], "outputs": [{"shape": [], "dtype": "f32"}]}], "outputs": ["sum", "g"]})");
  GraphInputOptions options;
  options.transforms = {{.kind = Transform::kRecompute, .modules = {"layers.*"}}};
  const auto loaded = LoadGraph(path, options);
  ASSERT_TRUE(loaded.ok()) << loaded.error().ToString();
  EXPECT_THAT(loaded.value().notes,
              ::testing::Contains(HasSubstr("nothing is computed again: the backward pass reads no "
                                            "activation of layers.*")));
}

TEST(PathBeside, KeepsTheStem) {
  EXPECT_EQ(PathBeside("a/foo.plan.json", "costs"), "a/foo.plan.costs.json");
  EXPECT_EQ(PathBeside("foo", "schedule"), "foo.schedule.json");
  EXPECT_EQ(PathBeside("a/foo.plan.json.gz", "costs"), "a/foo.plan.costs.json.gz");
}

// Every graph of the corpus is recognised by its content.
TEST(LoadGraph, Corpus) {
  std::error_code ignored;
  size_t files = 0;
  for (const auto& [folder, format] :
       {std::pair("/fx", &kAtenFormat), std::pair("/onnx", &kOnnxFormat)}) {
    const std::string path = std::string(PLACEWRIGHT_SHARED_DATA) + folder;
    for (const auto& entry : fs::directory_iterator(path, ignored)) {
      if (!entry.is_regular_file()) continue;
      auto bytes = ReadFile(entry.path().string());
      ASSERT_TRUE(bytes.ok()) << bytes.error().ToString();
      auto found = SniffGraph(bytes.value());
      ASSERT_TRUE(found.ok()) << entry.path() << found.error().ToString();
      EXPECT_EQ(found.value(), format) << entry.path();
      ++files;
    }
  }
  if (files == 0) GTEST_SKIP() << "no graphs under " PLACEWRIGHT_SHARED_DATA;
}

}  // namespace
}  // namespace placewright
