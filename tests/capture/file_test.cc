// A recorded step written as an ATen training graph reads back to the same graph.
#include <gtest/gtest.h>

#include "capture/step/model_step.h"
#include "formats/aten/reader.h"
#include "formats/aten/writer.h"
#include "graph/text_form.h"

namespace placewright {
namespace {

class RecordedFile : public ::testing::TestWithParam<Training> {};

TEST_P(RecordedFile, ReadsBackToTheSameGraph) {
  CaptureRequest request;
  request.model = "bert-base";
  request.training = GetParam();
  request.values = {{"batch", 3}, {"sequence", 16}, {"layers", 2}};
  const Result<Capture> capture = CaptureZooModel(request);
  ASSERT_TRUE(capture.ok()) << capture.error().ToString();
  const Graph& graph = capture.value().graph;
  const Result<std::string> text = WriteAtenGraph(graph, capture.value().module_stated, nullptr);
  ASSERT_TRUE(text.ok()) << text.error().ToString();
  const Result<AtenGraph> file = ReadAtenFile(text.value());
  ASSERT_TRUE(file.ok()) << file.error().ToString();
  EXPECT_EQ(ToText(file.value().graph), ToText(graph));
  EXPECT_EQ(file.value().module_stated, capture.value().module_stated);
  for (const OpId op : graph.ops()) {
    EXPECT_EQ(file.value().graph.op(op).args, graph.op(op).args) << graph.op(op).name;
    EXPECT_EQ(file.value().graph.op(op).attributes, graph.op(op).attributes) << graph.op(op).name;
  }
}

INSTANTIATE_TEST_SUITE_P(Trainings, RecordedFile,
                         ::testing::Values(Training::kNone, Training::kSgd, Training::kAdam),
                         [](const auto& test) { return std::string(ToString(test.param)); });

// Backward ops lie in the module whose forward op they belong to, updates in that of the parameter.
TEST(RecordedModules, AreThoseOfTheModel) {
  CaptureRequest request;
  request.model = "bert-base";
  request.values = {{"layers", 2}};
  const Result<Capture> capture = CaptureZooModel(request);
  ASSERT_TRUE(capture.ok()) << capture.error().ToString();
  const Graph& graph = capture.value().graph;
  const auto module_of = [&](std::string_view op) {
    const OpId id = graph.FindOp(op);
    return id.valid() ? graph.module_path(graph.op(id).module) : "no such op";
  };
  // addmm: query, key, value, attention.output, intermediate, output of layer0, then of layer1.
  EXPECT_EQ(module_of("addmm"), "layer0.attention.self.query");
  EXPECT_EQ(module_of("addmm_3"), "layer0.attention.output.dense");
  EXPECT_EQ(module_of("addmm_11"), "layer1.output.dense");
  EXPECT_EQ(module_of("gelu_1"), "layer1.intermediate");
  EXPECT_EQ(module_of("_softmax"), "layer0.attention.self");
  // The first gradients: of the head, then of the last layer's second dense layer.
  EXPECT_EQ(module_of("mm"), "qa_outputs");
  EXPECT_EQ(module_of("mm_2"), "layer1.output.dense");
  EXPECT_EQ(module_of("gelu_backward"), "layer1.intermediate");
  EXPECT_EQ(module_of("addcdiv_"), "embeddings.word_embeddings");
}

// A layer's steps all belong to the layer. A step: two products with their transposed weights (4
// ops), sum, split, four gates, two products and a sum for the cell, tanh and product: 15 ops.
// Adam: 8 ops for each of four parameters.
TEST(RecordedModules, OfAnUnrolledLayerAreTheLayer) {
  CaptureRequest request;
  request.model = "rnnlm-2";
  request.values = {{"steps", 3}, {"hidden", 8}, {"vocabulary", 10}, {"batch", 2}};
  const Result<Capture> capture = CaptureZooModel(request);
  ASSERT_TRUE(capture.ok()) << capture.error().ToString();
  const Graph& graph = capture.value().graph;
  int64_t forward = 0, optimizer = 0, products = 0;
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (graph.module_path(op.module) != "lstm1") continue;
    forward += op.phase == Phase::kForward ? 1 : 0;
    optimizer += op.phase == Phase::kOptimizer ? 1 : 0;
    products += op.phase == Phase::kBackward && op.type == "aten.mm.default" ? 1 : 0;
  }
  EXPECT_EQ(forward, 3 * 15);
  EXPECT_EQ(optimizer, 4 * 8);
  // For each of the two: gradients of weight and of input, the first step's state having none.
  EXPECT_EQ(products, 3 * 4 - 1);
}

}  // namespace
}  // namespace placewright
