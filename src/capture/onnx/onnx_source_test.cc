// A lowered program is a model like any other: its parameters, its training step, its replay, its
// errors.
#include "capture/onnx/onnx_source.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "capture/onnx/operators/operator_examples.h"
#include "capture/replay/replayer.h"
#include "capture/step/model_step.h"
#include "graph/text_form.h"

namespace placewright {
namespace {

using namespace lowering;  // NOLINT: examples of nodes and attributes

NamedImportedTensor Parameter(const std::string& name, std::vector<int64_t> shape) {
  return {name, {DType::kF32, std::move(shape), std::nullopt}};
}

// Images of 1 x 6 x 6: convolution, normalisation, Relu, pooling, dropout, a known permutation of
// the features, classes.
ImportedModel SmallNet() {
  ImportedModel program;
  program.name = "small";
  program.batch = 4;
  program.versions[""] = 13;
  program.inputs = {{"image", DType::kF32, {4, 1, 6, 6}, {0}}};
  program.parameters = {Parameter("net.conv.weight", {3, 1, 3, 3}),
                        Parameter("net.bn.weight", {3}),
                        Parameter("net.bn.bias", {3}),
                        Parameter("net.bn.running_mean", {3}),
                        Parameter("net.bn.running_var", {3}),
                        Parameter("fc.weight", {5, 12}),
                        Parameter("fc.bias", {5})};
  const auto add = [&](const char* module, ImportedNode node) {
    node.module = module;
    program.graph.nodes.push_back(std::move(node));
  };
  add("net/conv", NodeOf("Conv", {"image", "net.conv.weight"}, {"c"}));
  add("net/bn",
      NodeOf("BatchNormalization",
             {"c", "net.bn.weight", "net.bn.bias", "net.bn.running_mean", "net.bn.running_var"},
             {"n"}));
  add("net", NodeOf("Relu", {"n"}, {"r"}));
  add("net", NodeOf("MaxPool", {"r"}, {"p"},
                    {{"kernel_shape", IntList({2, 2})}, {"strides", IntList({2, 2})}}));
  add("net", NodeOf("Dropout", {"p"}, {"d"}));
  add("net", NodeOf("Flatten", {"d"}, {"f"}));
  add("", NodeOf("Constant", {}, {"order"},
                 {{"value_ints", IntList({11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})}}));
  add("", NodeOf("Gather", {"f", "order"}, {"g"}, {{"axis", Int(1)}}));
  add("fc", NodeOf("Gemm", {"g", "fc.weight", "fc.bias"}, {"y"}, {{"transB", Int(1)}}));
  program.graph.outputs = {"y"};
  return program;
}

OnnxSource SourceOf(ImportedModel program, LossKind loss = LossKind::kCrossEntropy) {
  return {std::make_shared<const ImportedModel>(std::move(program)), loss};
}

Result<ModelStep> StepOf(ImportedModel program, Training training, bool on_meta,
                         LossKind loss = LossKind::kCrossEntropy) {
  const OnnxSource source = SourceOf(std::move(program), loss);
  return ModelStep::Build(source, source.batch(), training, on_meta);
}

Error RecordingError(ImportedModel program) {
  Result<ModelStep> step = StepOf(std::move(program), Training::kNone, true);
  if (!step.ok()) return step.error();
  const Result<ModelStep::Recording> recording = step.value().Record();
  return recording.ok() ? Error{} : recording.error();
}

std::vector<at::Tensor> Copies(const std::vector<ModelStep::Found>& found) {
  std::vector<at::Tensor> copies;
  for (const auto& item : found) copies.push_back(item.tensor.detach().clone());
  return copies;
}

TEST(OnnxSource, NewerOperatorSetsAreSaid) {
  auto program = std::make_shared<ImportedModel>();
  program->versions[""] = 23;
  EXPECT_TRUE(OnnxSource(program, LossKind::kMean).Notes().empty());
  program->versions[""] = 25;
  const std::vector<std::string> notes = OnnxSource(program, LossKind::kMean).Notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("version 25"), std::string::npos);
}

TEST(OnnxSource, KeepsNamesModulesAndBuffers) {
  Result<ModelStep> step = StepOf(SmallNet(), Training::kAdam, true);
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const Result<ModelStep::Recording> recording = step.value().Record();
  ASSERT_TRUE(recording.ok()) << recording.error().ToString();
  const Graph& graph = recording.value().step.graph;
  EXPECT_EQ(graph.batch(), 4);
  for (const char* name : {"param:net.conv.weight", "buffer:net.bn.running_var", "param:fc.bias",
                           "input:image", "input:target"}) {
    EXPECT_TRUE(graph.FindTensor(name).valid()) << name;
  }
  const TensorId weight = graph.FindTensor("param:net.conv.weight");
  for (const OpId op : graph.ops()) {
    const std::string_view type = graph.op(op).type;
    if (graph.op(op).phase != Phase::kForward || type != "aten.convolution.default") continue;
    EXPECT_EQ(graph.op(op).inputs[1], weight);
    EXPECT_EQ(graph.module_path(graph.op(op).module), "net.conv");
  }
}

// The step is the one that eager LibTorch runs, dropout and running statistics included.
TEST(OnnxSource, ReplaysBitForBit) {
  at::set_num_threads(1);
  at::manual_seed(1);
  Result<ModelStep> built = StepOf(SmallNet(), Training::kAdam, false);
  ASSERT_TRUE(built.ok()) << built.error().ToString();
  ModelStep& step = built.value();
  const std::vector<ModelStep::Found> found = step.FoundTensors();
  const std::vector<at::Tensor> before = Copies(found);
  at::manual_seed(7);
  const Result<at::Tensor> loss = step.Run();
  ASSERT_TRUE(loss.ok()) << loss.error().ToString();
  const at::Tensor eager = loss.value().clone();
  const std::vector<at::Tensor> after = Copies(found);
  for (size_t i = 0; i < found.size(); ++i) {
    const at::NoGradGuard no_grad;
    found[i].tensor.detach().copy_(before[i]);
  }
  at::manual_seed(7);
  const Result<ModelStep::Recording> recording = step.Record();
  ASSERT_TRUE(recording.ok()) << recording.error().ToString();
  const Graph& graph = recording.value().step.graph;
  std::vector<std::pair<TensorId, at::Tensor>> inputs;
  std::vector<at::Tensor> copies;
  for (const auto& [id, tensor] : recording.value().step.inputs) {
    // Behind what was announced stands the one constant: the order of the features.
    copies.push_back(copies.size() < before.size() ? before[copies.size()].clone() : tensor);
    inputs.emplace_back(id, copies.back());
  }
  EXPECT_EQ(copies.size(), before.size() + 1);
  std::vector<OpId> order;
  for (const OpId op : graph.ops()) order.push_back(op);
  const Result<Replayer> replayer = Replayer::Create(graph);
  ASSERT_TRUE(replayer.ok()) << replayer.error().ToString();
  at::manual_seed(7);
  const auto tensors = replayer.value().Run(inputs, order);
  ASSERT_TRUE(tensors.ok()) << tensors.error().ToString();
  EXPECT_TRUE(tensors.value()[graph.outputs()[0]].equal(eager));
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(copies[i].equal(after[i])) << found[i].name;
  }
}

TEST(OnnxSource, WithoutMemoryItIsTheSameGraph) {
  for (const Training training : {Training::kNone, Training::kSgd}) {
    Result<ModelStep> real = StepOf(SmallNet(), training, false);
    Result<ModelStep> meta = StepOf(SmallNet(), training, true);
    ASSERT_TRUE(real.ok() && meta.ok());
    const auto with = real.value().Record(), without = meta.value().Record();
    ASSERT_TRUE(with.ok()) << with.error().ToString();
    ASSERT_TRUE(without.ok()) << without.error().ToString();
    EXPECT_EQ(ToText(without.value().step.graph), ToText(with.value().step.graph));
  }
}

TEST(OnnxSource, IsBuiltAtAnotherBatch) {
  const OnnxSource source = SourceOf(SmallNet());
  EXPECT_EQ(source.batch(), 4);
  Result<ModelStep> step = ModelStep::Build(source, 7, Training::kSgd, true);
  ASSERT_TRUE(step.ok());
  const Result<ModelStep::Recording> recording = step.value().Record();
  ASSERT_TRUE(recording.ok()) << recording.error().ToString();
  const Graph& graph = recording.value().step.graph;
  EXPECT_EQ(graph.tensor(graph.FindTensor("input:image")).shape[0], 7);
  EXPECT_EQ(graph.tensor(graph.FindTensor("input:target")).shape[0], 7);
}

TEST(OnnxSource, NamesAnOperatorThatItDoesNotKnow) {
  ImportedModel program = SmallNet();
  program.graph.nodes[2] = NodeOf("acme.Swoosh", {"n"}, {"r"});
  const Error error = RecordingError(std::move(program));
  EXPECT_EQ(error.code, ErrorCode::kOnnxOperator);
  EXPECT_NE(error.message.find("acme.Swoosh"), std::string::npos) << error.ToString();
  EXPECT_EQ(error.place, "node (acme.Swoosh)");
}

TEST(OnnxSource, NamesWhatDependsOnData) {
  ImportedModel program = SmallNet();
  // A new shape out of the image itself.
  program.graph.nodes[5] = NodeOf("Reshape", {"d", "image"}, {"f"});
  const Error error = RecordingError(std::move(program));
  EXPECT_EQ(error.code, ErrorCode::kDataDependent);
  EXPECT_NE(error.message.find("input 1 ('image') of Reshape"), std::string::npos)
      << error.ToString();
}

TEST(OnnxSource, NamesANodeThatContradictsTheShapesOfTheFile) {
  ImportedModel program = SmallNet();
  program.shapes["p"] = {4, 3, 3, 3};
  const Error error = RecordingError(std::move(program));
  EXPECT_EQ(error.code, ErrorCode::kGraphShape);
  EXPECT_NE(error.message.find("[4, 3, 2, 2]"), std::string::npos) << error.ToString();
  EXPECT_EQ(error.place, "node (MaxPool)");
}

TEST(OnnxSource, NamesANodeThatLibTorchRefuses) {
  ImportedModel program = SmallNet();
  program.parameters[5].tensor.shape = {5, 13};
  const Error error = RecordingError(std::move(program));
  EXPECT_EQ(error.code, ErrorCode::kNotRecordable);
  EXPECT_EQ(error.place, "node (Gemm)");
}

// A loop of a hundred million rounds ends in an error, not in a full memory.
TEST(OnnxSource, RejectsToUnrollWithoutEnd) {
  auto body = std::make_shared<ImportedGraph>();
  body->inputs = {"i", "go", "s"};
  body->nodes = {NodeOf("Identity", {"s"}, {"t"})};
  body->outputs = {"go", "t"};
  ImportedModel program;
  program.name = "loop";
  program.versions[""] = 13;
  program.inputs = {{"x", DType::kF32, {2}, {}}};
  program.graph.nodes = {
      NodeOf("Constant", {}, {"n"}, {{"value_int", Int(100'000'000)}}),
      NodeOf("Loop", {"n", "", "x"}, {"y"},
             {{"body", ImportedAttribute(std::shared_ptr<const ImportedGraph>(body))}})};
  program.graph.outputs = {"y"};
  const Error error = RecordingError(std::move(program));
  EXPECT_EQ(error.code, ErrorCode::kNotRecordable);
  EXPECT_NE(error.message.find("1000000 nodes"), std::string::npos) << error.ToString();
}

// Constants that would be large are made in the step, not ahead of it.
TEST(OnnxSource, HoldsNoLargeConstants) {
  ImportedModel program;
  program.name = "mask";
  program.versions[""] = 13;
  program.inputs = {{"x", DType::kF32, {1}, {}}};
  program.graph.nodes = {
      NodeOf("Constant", {}, {"shape"}, {{"value_ints", IntList({1 << 20, 1 << 20})}}),
      NodeOf("ConstantOfShape", {"shape"}, {"ones"}), NodeOf("Trilu", {"ones"}, {"half"}),
      NodeOf("Add", {"half", "x"}, {"y"})};
  program.graph.outputs = {"y"};
  Result<ModelStep> step = StepOf(std::move(program), Training::kNone, true);
  ASSERT_TRUE(step.ok());
  const Result<ModelStep::Recording> recording = step.value().Record();
  ASSERT_TRUE(recording.ok()) << recording.error().ToString();
  const Graph& graph = recording.value().step.graph;
  EXPECT_EQ(graph.tensor(graph.outputs()[0]).shape, (std::vector<int64_t>{1 << 20, 1 << 20}));
}

}  // namespace
}  // namespace placewright
