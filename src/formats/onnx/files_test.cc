// Real ONNX files: counts of the index, stored shapes against recomputed ones, weight-less forms.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "cost/work.h"
#include "formats/onnx/reader.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kData = PLACEWRIGHT_SHARED_DATA;

#define SKIP_WITHOUT_DATA()                                                                  \
  if (!std::filesystem::exists(kData + "/INDEX.md")) {                                       \
    GTEST_SKIP() << "no folder of real graphs at " << kData << " (PLACEWRIGHT_SHARED_DATA)"; \
  }

Result<Graph> Read(const std::string& file, const OnnxOptions& options = {},
                   OnnxReport* report = nullptr) {
  PW_ASSIGN(const std::string bytes, ReadFile(kData + "/" + file));
  return ReadOnnx(bytes, options, report);
}

int64_t ParameterElements(const Graph& graph) {
  int64_t total = 0;
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
    int64_t count = 1;
    for (const int64_t dim : tensor.shape) count *= dim;
    total += count;
  }
  return total;
}

double GigaMacs(const Graph& graph) {
  int64_t macs = 0;
  for (const OpId op : graph.ops()) macs += WorkOf(graph, op).macs;
  return static_cast<double>(macs) / 1e9;
}

std::map<std::string, std::vector<int64_t>> Shapes(const Graph& graph) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const TensorId id : graph.tensors()) shapes[graph.tensor(id).name] = graph.tensor(id).shape;
  return shapes;
}

// One row of the index: ops, edges, parameters in millions, GMAC (-1: not stated).
struct Row {
  const char* file;
  size_t ops, edges;
  const char* parameters;
  double gmac;
};
constexpr Row kRows[] = {
    {"alexnet_b64", 20, 19, "61.1M", 45.7},
    {"bert_base_qa_b24_s384", 624, 744, "108.9M", 848.0},
    {"convnext_tiny_b32", 476, 557, "28.6M", 142.6},
    {"fcn_resnet50_b4", 133, 150, "35.3M", 610.9},
    {"gnmt_l2_b128_s40_lstm", 114, 139, "119.2M", -1},
    {"gnmt_l2_b128_s40_unrolled", 3010, 4200, "120.0M", 438.3},
    {"gnmt_l8_b128_s40_lstm", 216, 271, "245.1M", -1},
    {"gnmt_l8_b128_s40_unrolled", 10252, 14304, "249.1M", 1082.5},
    {"googlenet_b64", 139, 165, "6.6M", 95.9},
    {"gpt2_small_b4_s1024", 674, 795, "164.1M", 583.3},
    {"inceptionv4_b8", 339, 393, "42.6M", 98.0},
    {"mobilenet_v3_large_b1", 161, 199, "5.5M", 0.2},
    {"mobilenet_v3_large_b64", 161, 199, "5.5M", 13.9},
    {"nasnetamobile_b32", 833, 976, "5.3M", 18.2},
    {"nn_transformer_base_b32_s64", 846, 1050, "44.1M", 92.6},
    {"pnasnet5large_b4", 736, 865, "86.0M", 99.9},
    {"regnet_y_8gf_b8", 230, 263, "39.3M", 67.8},
    {"resnet50_b1", 122, 137, "25.5M", 4.1},
    {"resnet50_b32", 122, 137, "25.5M", 130.9},
    {"resnet50_dynbatch", 122, 137, "25.5M", -1},
    {"resnet50_trainmode_b32", 175, 190, "25.6M", 130.9},
    {"squeezenet1_0_b64", 65, 72, "1.2M", 52.4},
    {"transformer_xl_enwik8_b4_t512_m512", 1297, 1697, "41.6M", 138.7},
    {"vgg19_b96", 44, 43, "143.7M", 1884.7},
    {"wavenet_10x4_b1", 900, 1017, "0.7M", 2.1},
    {"wlm_transformer_6x512_b32_t128", 333, 412, "53.2M", 150.3},
    {"variants/bert_base_qa_b24_s384.params_as_inputs", 624, 744, "108.9M", -1},
    {"variants/resnet50_b1.params_as_inputs", 122, 137, "25.5M", -1},
};

class IndexedFile : public testing::TestWithParam<Row> {
 protected:
  // The batch only where the file does not fix it.
  static OnnxOptions Options() {
    OnnxOptions options;
    if (std::string_view(GetParam().file) == "resnet50_dynbatch") options.batch = 1;
    return options;
  }
};

TEST_P(IndexedFile, HasTheCountsOfTheIndex) {
  SKIP_WITHOUT_DATA();
  const Row& row = GetParam();
  OnnxReport report;
  const auto read = Read(fmt::format("onnx/{}.onnx", row.file), Options(), &report);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  const Graph& graph = read.value();
  EXPECT_EQ(graph.op_count(), row.ops);
  EXPECT_EQ(graph.edge_count(), row.edges);
  EXPECT_EQ(fmt::format("{:.1f}M", static_cast<double>(ParameterElements(graph)) / 1e6),
            row.parameters);
  // The index rounds to 0.1; the tolerance is 0.5 % or 0.06 GMAC.
  if (row.gmac >= 0) {
    EXPECT_NEAR(GigaMacs(graph), row.gmac, std::max(0.06, 0.005 * row.gmac));
  }
  EXPECT_TRUE(report.assumed_shapes.empty()) << report.assumed_shapes.front();
  EXPECT_EQ(graph.format(), "onnx");
}

// Without the stored shapes, inference and folding find the same ones from the inputs alone.
TEST_P(IndexedFile, ShapesFollowFromTheInputsAlone) {
  SKIP_WITHOUT_DATA();
  const std::string file = fmt::format("onnx/{}.onnx", GetParam().file);
  const auto stored = Read(file, Options());
  ASSERT_TRUE(stored.ok()) << stored.error().ToString();
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(ReadFile(kData + "/" + file).Take()));
  model.mutable_graph()->clear_value_info();
  for (auto& output : *model.mutable_graph()->mutable_output()) output.clear_type();
  OnnxReport report;
  const auto inferred = ReadOnnx(model.SerializeAsString(), Options(), &report);
  ASSERT_TRUE(inferred.ok()) << inferred.error().ToString();
  EXPECT_EQ(Shapes(inferred.value()), Shapes(stored.value()));
  EXPECT_TRUE(report.assumed_shapes.empty());
}

INSTANTIATE_TEST_SUITE_P(Index, IndexedFile, testing::ValuesIn(kRows), [](const auto& row) {
  std::string name = row.param.file;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

void ExpectSameGraph(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.op_count(), b.op_count());
  EXPECT_EQ(Shapes(a), Shapes(b));
  for (const OpId id : a.ops()) {
    EXPECT_EQ(a.op(id).name, b.op(id).name);
    EXPECT_EQ(a.op(id).type, b.op(id).type);
    EXPECT_EQ(a.op(id).attributes, b.op(id).attributes);
    EXPECT_EQ(a.op(id).is_view, b.op(id).is_view);
    const auto names = [](const Graph& graph, const std::vector<TensorId>& ids) {
      std::vector<std::string> out;
      for (const TensorId tensor : ids) {
        out.push_back(
            fmt::format("{} {}", graph.tensor(tensor).name, ToString(graph.tensor(tensor).kind)));
      }
      return out;
    };
    EXPECT_EQ(names(a, a.op(id).inputs), names(b, b.op(id).inputs)) << a.op(id).name;
    EXPECT_EQ(names(a, a.op(id).outputs), names(b, b.op(id).outputs)) << a.op(id).name;
  }
}

TEST(OnnxFiles, ParametersAsInputsGiveTheSameGraph) {
  SKIP_WITHOUT_DATA();
  for (const std::string name : {"resnet50_b1", "bert_base_qa_b24_s384"}) {
    const auto light = Read("onnx/" + name + ".onnx");
    const auto inputs = Read("onnx/variants/" + name + ".params_as_inputs.onnx");
    ASSERT_TRUE(light.ok() && inputs.ok());
    ExpectSameGraph(light.value(), inputs.value());
  }
}

TEST(OnnxFiles, BatchTurnsOneExportIntoTheOther) {
  SKIP_WITHOUT_DATA();
  for (const int batch : {1, 32}) {
    const auto fixed = Read(fmt::format("onnx/resnet50_b{}.onnx", batch));
    ASSERT_TRUE(fixed.ok());
    // Symbolic first dimension; fixed first dimension of 1 and of 32.
    for (const std::string file : {"resnet50_dynbatch", "resnet50_b1", "resnet50_b32"}) {
      OnnxOptions options;
      options.batch = batch;
      const auto read = Read("onnx/" + file + ".onnx", options);
      ASSERT_TRUE(read.ok()) << file << ": " << read.error().ToString();
      EXPECT_EQ(read.value().batch(), batch);
      EXPECT_EQ(Shapes(read.value()), Shapes(fixed.value())) << file;
    }
  }
}

TEST(OnnxFiles, SymbolicBatchWithoutAValueIsNamed) {
  SKIP_WITHOUT_DATA();
  const auto read = Read("onnx/resnet50_dynbatch.onnx");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kGraphShape);
  EXPECT_THAT(read.error().message,
              HasSubstr("'/conv1/Conv_output_0', made by Conv '/conv1/Conv'"));
  EXPECT_THAT(read.error().message, HasSubstr("'input' is f32 [batch, 3, 224, 224]"));
  EXPECT_EQ(read.error().place, "node /conv1/Conv (Conv)");
  EXPECT_THAT(std::string(read.error().Remedy()), HasSubstr("--batch N, or --dim batch=N"));
}

// Without any size, sizes of 1 show the same structure: ops and edges as in OnnxRuntimeModels.
TEST(OnnxFiles, OpenDimensionsMayBeAssumed) {
  SKIP_WITHOUT_DATA();
  struct Case {
    const char* file;
    size_t ops, edges;
    std::vector<const char*> open;
  };
  const Case kCases[] = {
      {"onnx/resnet50_dynbatch", 122, 137, {"batch"}},
      {"public/onnxruntime/bert_toy_optimized", 310, 376, {"batch", "max_seq_len_in_batch"}},
      {"public/onnxruntime/gpt2_megatron", 132, 162, {"batch_size", "past_seq_len", "seq_len"}},
      {"public/onnxruntime/mnist", 12, 11, {}},
      {"public/onnxruntime/scan_1", 4, 3, {"Sequence"}},
      {"public/onnxruntime/tiny_gpt2_beamsearch", 1, 0, {"batch_size", "sequence_length"}}};
  OnnxOptions options;
  options.assume_dimensions = true;
  for (const Case& c : kCases) {
    OnnxReport report;
    const auto read = Read(fmt::format("{}.onnx", c.file), options, &report);
    ASSERT_TRUE(read.ok()) << read.error().ToString();
    EXPECT_EQ(read.value().op_count(), c.ops) << c.file;
    EXPECT_EQ(read.value().edge_count(), c.edges) << c.file;
    std::map<std::string, int64_t> ones;
    for (const char* name : c.open) ones[name] = 1;
    EXPECT_EQ(report.assumed_dimensions, ones) << c.file;
  }
}

// A sequence-first model whose export has its batch of 128 baked into 40 x 128 reshapes.
TEST(OnnxFiles, ABatchThatTheModelContradictsIsAnError) {
  SKIP_WITHOUT_DATA();
  OnnxOptions options;
  for (const char* file :
       {"onnx/gnmt_l2_b128_s40_lstm.onnx", "onnx/gnmt_l2_b128_s40_unrolled.onnx"}) {
    for (const int64_t batch : {1, 7}) {  // 1 fits by broadcasting
      options.batch = batch;
      const auto read = Read(file, options);
      ASSERT_FALSE(read.ok()) << file << batch;
      EXPECT_EQ(read.error().code, ErrorCode::kGraphShape);
    }
  }
}

// ONNX's own light models: every ConstantOfShape in them is a weight. Ops and edges counted without
// them by an independent script.
TEST(OnnxFiles, LightModelsWithoutParameterNames) {
  SKIP_WITHOUT_DATA();
  constexpr Row kWeightless[] = {
      {"bvlc_alexnet", 24, 23, "61.0M", 0.655}, {"inception_v1", 144, 170, "7.0M", 1.432},
      {"resnet50", 176, 191, "25.6M", 4.089},   {"squeezenet", 66, 73, "1.2M", 0.349},
      {"vgg19", 46, 45, "143.7M", 19.632},      {"zfnet512", 22, 21, "87.3M", 1.482}};
  for (const Row& row : kWeightless) {
    const auto read =
        Read(fmt::format("public/onnx-light/onnx/backend/test/data/light/light_{}.onnx", row.file));
    ASSERT_TRUE(read.ok()) << read.error().ToString();
    EXPECT_EQ(read.value().op_count(), row.ops);
    EXPECT_EQ(read.value().edge_count(), row.edges);
    EXPECT_EQ(fmt::format("{:.1f}M", static_cast<double>(ParameterElements(read.value())) / 1e6),
              row.parameters);
    EXPECT_NEAR(GigaMacs(read.value()), row.gmac, 0.005);
  }
}

// Files of other tools, with counts by an independent script: nodes in no order, whole decoders and
// loop bodies as sub-graphs, operators of other domains.
TEST(OnnxFiles, OnnxRuntimeModels) {
  SKIP_WITHOUT_DATA();
  struct Case {
    const char* file;
    size_t ops, edges, assumed;
    OnnxOptions options;
  };
  const Case kCases[] = {
      {"bert_toy_optimized", 310, 376, 0, {2, {{"max_seq_len_in_batch", 16}}, ""}},
      {"gpt2_megatron", 132, 162, 0, {2, {{"seq_len", 8}, {"past_seq_len", 56}}, ""}},
      {"mnist", 12, 11, 0, {}},
      {"model_181031_12", 249, 248, 249, {}},
      {"scan_1", 4, 3, 0, {7, {}, ""}},
      {"tiny_gpt2_beamsearch", 1, 0, 1, {3, {{"sequence_length", 5}}, ""}},
  };
  for (const Case& c : kCases) {
    OnnxReport report;
    const auto read = Read(fmt::format("public/onnxruntime/{}.onnx", c.file), c.options, &report);
    ASSERT_TRUE(read.ok()) << read.error().ToString();
    EXPECT_EQ(read.value().op_count(), c.ops) << c.file;
    EXPECT_EQ(read.value().edge_count(), c.edges) << c.file;
    EXPECT_EQ(report.assumed_shapes.size(), c.assumed) << c.file;
  }
}

TEST(OnnxFiles, NamesModulesViewsAndBatch) {
  SKIP_WITHOUT_DATA();
  const auto read = Read("onnx/resnet50_b32.onnx");
  ASSERT_TRUE(read.ok());
  const Graph& graph = read.value();
  EXPECT_EQ(graph.name(), "resnet50");
  EXPECT_EQ(graph.batch(), 32);
  const OpId conv = graph.FindOp("/layer1/layer1.0/conv2/Conv");
  ASSERT_TRUE(conv.valid());
  EXPECT_EQ(graph.op(conv).type, "Conv");
  EXPECT_EQ(graph.module_path(graph.op(conv).module), "layer1/layer1.0/conv2");
  const Tensor& out = graph.tensor(graph.op(conv).outputs[0]);
  EXPECT_THAT(out.shape, ElementsAre(32, 64, 56, 56));
  EXPECT_EQ(out.bytes, Bytes(int64_t{32} * 64 * 56 * 56 * 4));
  const OpId flatten = graph.FindOp("/Flatten");
  ASSERT_TRUE(flatten.valid());
  EXPECT_TRUE(graph.op(flatten).is_view);
  EXPECT_EQ(graph.tensor(graph.op(flatten).outputs[0]).storage,
            graph.tensor(graph.op(flatten).inputs[0]).storage);
}

}  // namespace
}  // namespace placewright
