#include "formats/aten/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "cluster/cluster_builder.h"
#include "formats/aten/format.h"
#include "formats/aten/reader.h"
#include "formats/text/json.h"
#include "graph/graph_builder.h"
#include "graph/text_form.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Marks that the schema does not state (a view of the second op), a null output, a list of one, an
// order edge, every kind of argument, an input that becomes a buffer.
constexpr std::string_view kEverything = R"({"name": "every \"thing\"", "batch": 3,
 "parameters": ["param:m.w"],
 "inputs": [
  {"name": "param:m.w", "kind": "param", "shape": [4, 2], "dtype": "f32"},
  {"name": "opt_state:m.w.momentum", "kind": "opt_state", "shape": [4, 2], "dtype": "f32"},
  {"name": "input:seen", "kind": "input", "shape": [], "dtype": "i64"},
  {"name": "constant:c", "kind": "constant", "shape": [0], "dtype": "bool"},
  {"name": "input:x", "kind": "input", "shape": [3, 4], "dtype": "bf16"}],
 "ops": [
  {"name": "mm", "target": "aten.mm.default", "phase": "fwd", "scope": "m", "inputs": ["input:x", "param:m.w"],
   "args": ["%0", "%1"], "outputs": [{"shape": [3, 2], "dtype": "f32"}]},
  {"name": "own", "target": "my.own_view.default", "phase": "fwd", "alias": "view", "inputs": ["mm"],
   "args": ["%0", [1, [2.5, null]], true, "mean", "inf", -0.0, 1e300, 9007199254740993],
   "kwargs": {"b": "nan", "a": [-7, "%0"]}, "outputs": [{"shape": [6], "dtype": "f32"}]},
  {"name": "two", "target": "aten.native_dropout.default", "phase": "fwd", "inputs": ["mm"], "after": ["own"],
   "args": ["%0", 0.5, true], "outputs": [{"shape": [3, 2], "dtype": "f32"}, null]},
  {"name": "parts", "target": "aten.split.Tensor", "phase": "bwd", "inputs": ["two:0"], "args": ["%0", 3],
   "outputs": [{"shape": [3, 2], "dtype": "f32"}]},
  {"name": "count", "target": "aten.add_.Tensor", "phase": "fwd", "alias": "inplace", "inputs": ["input:seen"],
   "args": ["%0", 1], "outputs": [{"shape": [], "dtype": "i64"}]},
  {"name": "step", "target": "aten.add_.Tensor", "phase": "opt", "inputs": ["param:m.w", "opt_state:m.w.momentum"],
   "args": ["%0", "%1"], "kwargs": {"alpha": -0.01}, "outputs": [{"shape": [4, 2], "dtype": "f32"}]}],
 "outputs": ["parts", "step"]})";

Graph Read(std::string_view text) {
  Result<Graph> graph = ReadAtenGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().ToString();
  return graph.Take();
}

// The text form has no arguments and no outputs of the graph.
void ExpectSame(const Graph& a, const Graph& b) {
  EXPECT_EQ(ToText(a), ToText(b));
  ASSERT_EQ(a.op_count(), b.op_count());
  for (OpId op : a.ops()) {
    const auto same = [](const Value& x, const Value& y) { return ToString(x) == ToString(y); };
    ASSERT_TRUE(std::equal(a.op(op).args.begin(), a.op(op).args.end(), b.op(op).args.begin(),
                           b.op(op).args.end(), same))
        << a.op(op).name;
    ASSERT_EQ(a.op(op).attributes.size(), b.op(op).attributes.size()) << a.op(op).name;
    for (size_t i = 0; i < a.op(op).attributes.size(); ++i) {
      EXPECT_EQ(a.op(op).attributes[i].name, b.op(op).attributes[i].name);
      EXPECT_PRED2(same, a.op(op).attributes[i].value, b.op(op).attributes[i].value);
    }
  }
  EXPECT_EQ(std::vector(a.outputs().begin(), a.outputs().end()),
            std::vector(b.outputs().begin(), b.outputs().end()));
}

TEST(AtenWriter, ReadsBackToTheSameGraph) {
  const Graph graph = Read(kEverything);
  const Result<std::string> text = WriteAtenGraph(graph, {}, nullptr);
  ASSERT_TRUE(text.ok()) << text.error().ToString();
  ExpectSame(graph, Read(text.value()));
  // Written twice, it is the same text.
  EXPECT_EQ(WriteAtenGraph(Read(text.value()), {}, nullptr).value(), text.value());
  const Json file = ParseJson(text.value()).Take();
  EXPECT_EQ(file["parameters"], Json({"param:m.w"}));
  EXPECT_EQ(file["n_ops"], 6);
  EXPECT_EQ(file["ops"][1]["args"], Json::parse(R"(["%0", [1, [2.5, null]], true, "mean", "inf",
      -0.0, 1e300, 9007199254740993])"));
  EXPECT_EQ(file["ops"][1]["alias"], "view");  // no schema of ATen states it
  EXPECT_FALSE(file["ops"][0].contains("device"));
  EXPECT_EQ(file["inputs"][2]["kind"], "buffer");  // `count` writes it
}

TEST(AtenWriter, DevicesAreTheGivenPlacement) {
  const Graph graph = Read(kEverything);
  NamedPlacement devices;
  for (OpId op : graph.ops()) devices.emplace_back(graph.op(op).name, "host0/gpu1");
  devices[2].second = "host0/cpu0";
  const std::string text = WriteAtenGraph(graph, {}, &devices).Take();
  const Result<AtenGraph> read = ReadAtenFile(text);
  ASSERT_TRUE(read.ok());
  ExpectSame(graph, read.value().graph);
  EXPECT_EQ(read.value().placement, devices);
  EXPECT_EQ(ReadAtenFile(kEverything).value().placement, std::nullopt);
}

TEST(AtenWriter, ADeviceIsANameOrNull) {
  const auto with = [](const char* device) {
    std::string text(kEverything);
    const std::string field = R"("phase": "opt")";
    text.replace(text.find(field), field.size(), field + R"(, "device": )" + device);
    return ReadAtenFile(text);
  };
  EXPECT_EQ(with(R"("d0")").value().placement, (NamedPlacement{{"step", "d0"}}));
  EXPECT_EQ(with("null").value().placement, std::nullopt);
  EXPECT_EQ(with("3").error().code, ErrorCode::kField);
  EXPECT_THAT(with("3").error().place, HasSubstr("ops[5] (step).device"));
}

TEST(AtenWriter, SaysWhatItCannotHold) {
  const auto reason = [](Graph graph) {
    const Result<std::string> text = WriteAtenGraph(graph, {}, nullptr);
    EXPECT_FALSE(text.ok());
    EXPECT_EQ(text.error().code, ErrorCode::kNotExpressible);
    return text.error().message;
  };
  const auto built = [](DType dtype, const char* type, const char* output) {
    GraphBuilder builder("g", "onnx");
    const TensorId in = builder.AddInput("x", TensorKind::kInput, dtype, {}, Bytes(4)).Take();
    OpSpec op;
    op.name = "a";
    op.type = type;
    op.inputs = {in};
    OutputSpec out;
    out.name = output;
    op.outputs = {out};
    EXPECT_TRUE(builder.AddOp(std::move(op)).ok());
    return std::move(builder).Build().Take();
  };
  EXPECT_THAT(reason(built(DType::kOpaque, "aten.neg.default", "a")), HasSubstr("only the bytes"));
  EXPECT_THAT(reason(built(DType::kString, "aten.neg.default", "a")), HasSubstr("texts"));
  EXPECT_THAT(reason(built(DType::kF32, "Conv", "a")), HasSubstr("no operator of ATen"));
  EXPECT_THAT(reason(built(DType::kF32, "aten.neg.default", "y")), HasSubstr("would read back"));
  EXPECT_TRUE(WriteAtenGraph(built(DType::kF32, "aten.neg.default", "a"), {}, nullptr).ok());
  // What the file said of its paths stays said.
  for (const bool wrapped : {false, true}) {
    const std::string text =
        WriteAtenGraph(built(DType::kF32, "aten.neg.default", "a"), {}, nullptr, wrapped).Take();
    EXPECT_EQ(ReadAtenFile(text).Take().wrapped, wrapped);
  }
}

// One op of one input, "input:x", of these sizes.
Graph OneOp(const std::vector<int64_t>& shape) {
  GraphBuilder builder("g", "aten");
  const TensorId x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, shape).Take();
  OpSpec op{.name = "neg", .type = "aten.neg.default"};
  op.inputs = {x};
  op.args = {Value(InputRef{0})};
  op.outputs = {{.name = "neg", .shape = shape}};
  EXPECT_TRUE(builder.AddOp(std::move(op)).ok());
  return std::move(builder).Build().Take();
}

// A distributed step of one op, that has a box of "input:x" of [6 24].
struct StepInPart {
  explicit StepInPart(const TensorBox& box) : original(OneOp({6, 24})) {
    ClusterBuilder devices("one");
    const int32_t kind = devices.AddKind({.name = "K"}).Take();
    (void)devices.AddDevice({.name = "d0", .kind = kind, .capacity = Bytes(1 << 20)}).Take();
    cluster = std::make_unique<Cluster>(std::move(devices).Build().Take());
    step.graph = OneOp(ShapeOf({6, 24}, box));
    step.placement.push_back(DeviceId(0));
    step.origin.push_back(OpId(0));
    step.inputs = {{TensorId(0), TensorId(0), box}};
  }
  std::string Text() const { return FormatAtenStep(step, original, *cluster).Take(); }
  Result<DistributedStep> Read(const std::string& text) const {
    return ReadAtenStep(text, original, *cluster);
  }

  Graph original;
  std::unique_ptr<Cluster> cluster;
  DistributedStep step;
};

constexpr AxisPart kPartOfRows = {{0, 1, 6, 1}, {2, 5}};
constexpr AxisPart kHalfOfColumns = {{1, 1, 2, 12}, {1, 2}};
constexpr AxisPart kThirdsOfColumns = {{1, 2, 3, 4}, {0, 2}};

TEST(AtenWriter, PiecesReadBack) {
  for (const TensorBox& box : {TensorBox{},
                               {kPartOfRows},
                               {kPartOfRows, kHalfOfColumns},
                               {kHalfOfColumns, kThirdsOfColumns},
                               {kThirdsOfColumns, kPartOfRows, kHalfOfColumns}}) {
    const StepInPart made(box);
    const Result<DistributedStep> read = made.Read(made.Text());
    ASSERT_TRUE(read.ok()) << read.error().ToString();
    EXPECT_EQ(read.value().inputs[0].box, box);
    EXPECT_EQ(FormatAtenStep(read.value(), made.original, *made.cluster).Take(), made.Text());
  }
  EXPECT_THAT(StepInPart({}).Text(), HasSubstr(R"("of":{"input":"input:x"},)"));
  const std::string rows = R"("dimension":0,"outer":1,"size":6,"inner":1,"from":2,"to":5})";
  EXPECT_THAT(StepInPart({kPartOfRows}).Text(),
              HasSubstr(R"("of":{"input":"input:x",)" + rows + ","));
  EXPECT_THAT(StepInPart({kPartOfRows, kHalfOfColumns}).Text(),
              HasSubstr(R"("of":{"input":"input:x","box":[{)" + rows +
                        R"(,{"dimension":1,"outer":1,"size":2,"inner":12,"from":1,"to":2}]},)"));
}

TEST(AtenWriter, WrongPiecesAreRefused) {
  const StepInPart made({kHalfOfColumns, kThirdsOfColumns});
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = made.Text();
    const size_t at = text.rfind(from);
    EXPECT_NE(at, text.npos) << from;
    const Result<DistributedStep> read = made.Read(text.replace(at, from.size(), to));
    return read.ok() ? "" : read.error().ToString();
  };
  EXPECT_EQ(refused("\"box\"", "\"box\""), "");
  EXPECT_THAT(refused("\"to\":2", "\"to\":4"), HasSubstr("inputs[0].of.box[1].to"));
  EXPECT_THAT(refused("\"inner\":4,", ""), HasSubstr("inputs[0].of.box[1]"));
  EXPECT_THAT(refused("\"inner\":4,", "\"inner\":5,"), HasSubstr("no factors"));
  EXPECT_THAT(refused("\"box\":[", "\"box\":[3,"), HasSubstr("inputs[0].of.box[0]"));
  EXPECT_THAT(refused("\"box\":[", "\"dimension\":1,\"box\":["), HasSubstr("inputs[0].of"));
  EXPECT_THAT(refused("\"box\":[",
                      "\"outer\":1,\"size\":6,\"inner\":4,\"from\":0,\"to\":1,"
                      "\"dimension\":1,\"box\":["),
              HasSubstr("inputs[0].of.box: a box has several axes"));
  EXPECT_THAT(refused(R"(,{"dimension":1,"outer":2,"size":3,"inner":4,"from":0,"to":2}])", "]"),
              HasSubstr("inputs[0].of.box: a box has several axes"));
  // Others of the same sizes beside the thirds: what is a factor of the dimension with them, and what is not.
  const auto beside = [&](const std::string& other) {
    return refused(R"("outer":1,"size":2,"inner":12,"from":1,"to":2)", other);
  };
  EXPECT_EQ(beside(R"("outer":1,"size":2,"inner":12,"from":0,"to":1)"), "");
  EXPECT_EQ(beside(R"("outer":6,"size":2,"inner":2,"from":0,"to":1)"), "");
  EXPECT_EQ(beside(R"("outer":6,"size":4,"inner":1,"from":2,"to":4)"), "");
  EXPECT_THAT(beside(R"("outer":2,"size":4,"inner":3,"from":0,"to":2)"), HasSubstr("no factors"));
  EXPECT_THAT(beside(R"("outer":4,"size":2,"inner":3,"from":1,"to":2)"), HasSubstr("no factors"));
  EXPECT_THAT(refused(R"("box":[{"dimension":1)", R"("box":[{"dimension":2)"),
              HasSubstr("no factors"));
}

TEST(AtenWriter, PublicGraphsReadBack) {
  const fs::path folder = fs::path(PLACEWRIGHT_SHARED_DATA) / "fx";
  std::vector<fs::path> files = {fs::path(PLACEWRIGHT_SOURCE_DIR) /
                                 "examples/tiny_transformer_adam.json.gz"};
  if (fs::exists(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  }
  for (const fs::path& path : files) {
    if (path.extension() != ".gz") continue;
    const Result<LoadedGraph> loaded = LoadGraph(path.string());
    ASSERT_TRUE(loaded.ok()) << loaded.error().ToString();
    const Result<std::string> text = WriteAtenGraph(
        loaded.value().graph, loaded.value().Details<AtenDetails>()->module_stated, nullptr);
    ASSERT_TRUE(text.ok()) << path << ": " << text.error().ToString();
    ExpectSame(loaded.value().graph, Read(text.value()));
  }
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not here: only the example was read";
}

}  // namespace
}  // namespace placewright
