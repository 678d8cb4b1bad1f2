// Script modules give the step that the same functions give without a script, and what cannot be
// recorded of them is named.
#include "capture/script/script_model.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include "capture/outside/file_source.h"
#include "capture/replay/replayer.h"
#include "capture/script/test_modules.h"
#include "capture/step/capture_step.h"
#include "capture/step/model_step.h"
#include "graph/analysis/index_limits.h"
#include "graph/same_graph.h"
#include "graph/text_form.h"

namespace placewright {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSeed = 5;

CaptureRequest Request(const std::string& path, const std::vector<std::string>& inputs,
                       Training training = Training::kAdam) {
  CaptureRequest request{path, training, {}};
  request.source = ModelSource::kTorchScript;
  for (const std::string& text : inputs) {
    request.inputs.push_back(ParseModelInput(text).Take());
  }
  return request;
}

std::map<std::string, at::Tensor> CopyOf(const ModelStep& step) {
  std::map<std::string, at::Tensor> tensors;
  for (const ModelStep::Found& found : step.FoundTensors()) {
    tensors[found.name] = found.tensor.detach().clone();
    if (found.kind == TensorKind::kParameter) tensors[found.name].requires_grad_();
  }
  return tensors;
}

using TensorsByName = std::map<std::string, at::Tensor>;

at::Tensor EagerConvNet(TensorsByName& t) {
  at::Tensor y = at::conv2d(t["input:x"], t["param:conv.weight"], t["param:conv.bias"], 1, 1);
  y = at::relu(at::batch_norm(y, t["param:norm.weight"], t["param:norm.bias"],
                              t["buffer:norm.running_mean"], t["buffer:norm.running_var"], true,
                              0.1, 1e-5, false));
  y = at::linear(at::dropout(y, 0.3, true).mean({2, 3}), t["param:fc.weight"], t["param:fc.bias"]);
  return at::cross_entropy_loss(y, t["input:target"]);
}

at::Tensor EagerTransformer(TensorsByName& t) {
  at::Tensor x = at::embedding(t["param:embed.weight"], t["input:ids"]);
  for (const std::string block : {"param:block0.", "param:block1."}) {
    const auto linear = [&](const std::string& name, const at::Tensor& in) {
      return at::linear(in, t[block + name + ".weight"], t[block + name + ".bias"]);
    };
    const auto split = [&](const std::string& name) {
      return linear(name, x).view({x.size(0), x.size(1), 2, -1}).transpose(1, 2);
    };
    const at::Tensor q = split("query"), k = split("key"), v = split("value");
    const at::Tensor scores = at::matmul(q, k.transpose(2, 3)) / 2.0;
    const at::Tensor weights = at::dropout(at::softmax(scores, -1), 0.3, true);
    const at::Tensor mixed =
        at::matmul(weights, v).transpose(1, 2).reshape({x.size(0), x.size(1), -1});
    x = at::layer_norm(x + linear("out", mixed), {16}, t[block + "norm.weight"],
                       t[block + "norm.bias"]);
    x = x + linear("outer", at::relu(linear("inner", x)));
  }
  const at::Tensor logits = at::linear(x, t["param:embed.weight"]);
  return at::cross_entropy_loss(logits.flatten(0, -2), t["input:target"].flatten());
}

Result<ModelStep> StepOf(const CaptureRequest& request) {
  PW_ASSIGN(const std::unique_ptr<StepSource> source, MakeFileSource(request));
  return ModelStep::Build(*source, source->batch(), request.training, false);
}

Result<Capture> Captured(const CaptureRequest& request) {
  PW_ASSIGN(const std::unique_ptr<StepSource> source, MakeFileSource(request));
  return CaptureStep(*source, request.training, request.prove_batch);
}

void ExpectEager(const CaptureRequest& request, at::Tensor (*eager)(TensorsByName&)) {
  at::set_num_threads(1);
  Result<ModelStep> step = StepOf(request);
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  TensorsByName copies = CopyOf(step.value());
  at::manual_seed(kSeed);
  const Result<at::Tensor> loss = step.value().Run();
  ASSERT_TRUE(loss.ok()) << loss.error().ToString();
  at::manual_seed(kSeed);
  const at::Tensor wanted = eager(copies);
  wanted.backward();
  EXPECT_TRUE(loss.value().equal(wanted));
  for (const NamedTensor& parameter : step.value().parameters()) {
    EXPECT_TRUE(parameter.tensor.grad().equal(copies["param:" + parameter.name].grad()))
        << parameter.name;
  }
}

// The recorded graph, run op by op, gives the bits of the module; and it is the same graph without
// memory.
void ExpectReplay(const CaptureRequest& request) {
  Result<ModelStep> step = StepOf(request);
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const std::vector<ModelStep::Found> found = step.value().FoundTensors();
  std::vector<at::Tensor> before, after;
  for (const ModelStep::Found& item : found) before.push_back(item.tensor.detach().clone());
  at::manual_seed(kSeed);
  const at::Tensor loss = step.value().Run().Take().clone();
  for (size_t i = 0; i < found.size(); ++i) {
    after.push_back(found[i].tensor.detach().clone());
    found[i].tensor.detach().copy_(before[i]);
  }
  Result<ModelStep::Recording> recording = step.value().Record();
  ASSERT_TRUE(recording.ok()) << recording.error().ToString();
  const Graph& graph = recording.value().step.graph;
  std::vector<std::pair<TensorId, at::Tensor>> inputs;
  for (const auto& [id, tensor] : recording.value().step.inputs) {
    ASSERT_LT(inputs.size(), before.size()) << graph.tensor(id).name;
    inputs.emplace_back(id, before[inputs.size()]);
  }
  std::vector<OpId> order;
  for (const OpId op : graph.ops()) order.push_back(op);
  const Result<Replayer> replayer = Replayer::Create(graph);
  ASSERT_TRUE(replayer.ok()) << replayer.error().ToString();
  at::manual_seed(kSeed);
  const auto tensors = replayer.value().Run(inputs, order);
  ASSERT_TRUE(tensors.ok()) << tensors.error().ToString();
  EXPECT_TRUE(tensors.value()[graph.outputs()[0]].equal(loss));
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_TRUE(inputs[i].second.equal(after[i])) << found[i].name;
  }
  CaptureRequest without_proof = request;
  without_proof.prove_batch = false;
  const Result<Capture> meta = Captured(without_proof);
  ASSERT_TRUE(meta.ok()) << meta.error().ToString();
  // What it says beyond the recorder's: which numbers inputs may hold.
  IdVector<TensorId, int64_t> below(graph.tensor_count(), 0);
  for (const TensorId id : graph.tensors()) below[id] = meta.value().graph.tensor(id).below;
  const Graph limited = WithInputLimits(std::move(recording.value().step.graph), below);
  EXPECT_EQ(ToText(meta.value().graph), ToText(limited));
  EXPECT_TRUE(SameGraph(meta.value().graph, limited));
}

TEST(ScriptModel, ConvNetIsTheEagerOne) {
  at::manual_seed(1);
  const std::string path = Saved(MakeConvNet(), "conv");
  ExpectEager(Request(path, {"x=[4,3,6,6]"}), EagerConvNet);
  ExpectReplay(Request(path, {"x=[4,3,6,6]"}));
}

TEST(ScriptModel, TransformerIsTheEagerOne) {
  at::manual_seed(2);
  const std::string path = Saved(MakeTransformer(), "transformer");
  ExpectEager(Request(path, {"ids=i64[2,5]<11"}), EagerTransformer);
  ExpectReplay(Request(path, {"ids=i64[2,5]<11"}));
}

// Names of the modules of the ops of a type, in order.
std::vector<std::string> ModulesOf(const Graph& graph, const std::string& type) {
  std::vector<std::string> modules;
  for (const OpId op : graph.ops()) {
    if (graph.op(op).type == type && graph.op(op).phase == Phase::kForward) {
      modules.push_back(graph.module_path(graph.op(op).module));
    }
  }
  return modules;
}

TEST(ScriptModel, OpsBelongToTheInstancesOfTheirModules) {
  const std::string path = Saved(MakeTransformer(), "paths");
  const Result<Capture> captured = Captured(Request(path, {"ids=i64[B,5]<11"}, Training::kNone));
  ASSERT_FALSE(captured.ok());  // B, and no batch
  EXPECT_EQ(captured.error().code, ErrorCode::kUsage);
  const Result<Capture> step = Captured(Request(path, {"i64[2,5]<11"}));
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const Graph& graph = step.value().graph;
  EXPECT_EQ(graph.batch(), 2);
  EXPECT_EQ(graph.name(), "paths");
  EXPECT_EQ(ModulesOf(graph, "aten.embedding.default"), std::vector<std::string>{"embed"});
  EXPECT_EQ(ModulesOf(graph, "aten.native_layer_norm.default"),
            (std::vector<std::string>{"block0.norm", "block1.norm"}));
  EXPECT_EQ(ModulesOf(graph, "aten._softmax.default"),
            (std::vector<std::string>{"block0", "block1"}));
  EXPECT_EQ(ModulesOf(graph, "aten.relu.default"), (std::vector<std::string>{"block0", "block1"}));
}

TEST(ScriptModel, TiedWeightsAreOneParameter) {
  const std::string path = Saved(MakeTransformer(), "tied");
  const Result<Capture> step = Captured(Request(path, {"ids=i64[2,5]<11"}));
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  // 11 x 16; two blocks of 4 (16 x 16 + 16) + (16 x 32 + 32) + (32 x 16 + 16) + 2 x 16.
  int64_t elements = 0;
  const Graph& graph = step.value().graph;
  for (const TensorId id : graph.tensors()) {
    if (graph.tensor(id).kind != TensorKind::kParameter || graph.tensor(id).producer.valid())
      continue;
    int64_t count = 1;
    for (const int64_t size : graph.tensor(id).shape) count *= size;
    elements += count;
  }
  EXPECT_EQ(elements, 176 + 2 * (4 * 272 + 544 + 528 + 32));
}

Error ErrorOf(const std::string& code, const std::vector<std::string>& inputs = {"x=[2,4]"},
              Training training = Training::kNone) {
  const std::string path = Saved(MakeModule(code), "error");
  const Result<Capture> step = Captured(Request(path, inputs, training));
  EXPECT_FALSE(step.ok()) << code;
  return step.ok() ? Error{} : step.error();
}

TEST(ScriptModel, ControlFlowThatDependsOnDataIsNamed) {
  const std::string bodies[] = {
      "  if bool(x.sum() > 0):\n    return x + self.w\n  return x\n",
      "  n = int(x[0, 0])\n  return x * n\n",
      "  return x * x.max().item()\n",
      "  y: List[float] = x[0].tolist()\n  return x * y[0]\n",
      "  return x[x > 0]\n",
      "  return torch.nonzero(x)\n",
  };
  for (const std::string& body : bodies) {
    const Error error = ErrorOf("def forward(self, x):\n" + body);
    EXPECT_EQ(error.code, ErrorCode::kDataDependent) << body << error.ToString();
    EXPECT_THAT(error.place, HasSubstr("op ")) << body;
    EXPECT_THAT(error.place, HasSubstr(" line ")) << body;
    const Error training = ErrorOf("def forward(self, x):\n" + body, {"x=[2,4]"}, Training::kAdam);
    EXPECT_EQ(training.code, ErrorCode::kDataDependent) << body << training.ToString();
  }
}

// What stands there is the module that runs, and its line of code.
TEST(ScriptModel, ErrorsNameModuleAndLine) {
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module inner("Inner", unit);
  inner.define(
      "def forward(self, x):\n"
      "  y = x * 2\n"
      "  if x.size(0) == 3:\n"
      "    y = torch.mm(y, y)\n"
      "  if x.size(0) == 4:\n"
      "    assert x.size(1) == 4, \"square ones only\"\n"
      "  if bool(y.sum() > 0):\n"
      "    return y\n"
      "  return x\n");
  torch::jit::Module outer("Outer", unit);
  outer.register_module("inner", inner);
  outer.define("def forward(self, x):\n  return self.inner.forward(x)\n");
  const std::string path = Saved(outer, "lines");
  const auto error = [&](const std::string& input) {
    const Result<Capture> step = Captured(Request(path, {input}, Training::kNone));
    EXPECT_FALSE(step.ok()) << input;
    return step.ok() ? Error{} : step.error();
  };
  const Error data = error("x=[2,5]");
  EXPECT_EQ(data.code, ErrorCode::kDataDependent);
  EXPECT_THAT(data.place, HasSubstr("in module inner, "));
  EXPECT_THAT(data.place, HasSubstr("line 7: if bool(y.sum() > 0)"));
  const Error sizes = error("x=[3,5]");
  EXPECT_EQ(sizes.code, ErrorCode::kNotRecordable);
  EXPECT_THAT(sizes.place, HasSubstr("op aten::mm in module inner, "));
  EXPECT_THAT(sizes.place, HasSubstr("line 4: y = torch.mm(y, y)"));
  EXPECT_THAT(sizes.remedy, HasSubstr("(x=f32[3,5])"));
  const Error raised = error("x=[4,5]");
  EXPECT_EQ(raised.code, ErrorCode::kNotRecordable);
  EXPECT_THAT(raised.message, HasSubstr("square ones only"));
  EXPECT_THAT(raised.place, HasSubstr("module inner, "));
  EXPECT_THAT(raised.place, HasSubstr("line 6: assert"));
  EXPECT_THAT(raised.remedy, HasSubstr("(x=f32[4,5])"));
}

TEST(ScriptModel, WhatReachesBeyondTheStepIsNamed) {
  const Error error = ErrorOf("def forward(self, x):\n  torch.save(x, \"x.pt\")\n  return x\n");
  EXPECT_EQ(error.code, ErrorCode::kNotRecordable);
  EXPECT_THAT(error.place, HasSubstr("op aten::save, "));
  EXPECT_THAT(error.place, HasSubstr("line 2: torch.save(x, "));
}

TEST(ScriptModel, ClassesThatAreReadFromDataAreNamed) {
  const Error error = ErrorOf(
      "def forward(self, x):\n  return torch.one_hot(x) * 1.0 + self.w.sum()\n", {"x=i64[2,4]"});
  EXPECT_EQ(error.code, ErrorCode::kDataDependent) << error.ToString();
  EXPECT_THAT(error.place, HasSubstr("one_hot"));
  EXPECT_FALSE(error.Remedy().empty());
}

Graph GraphOf(const std::string& code, const std::vector<std::string>& inputs,
              Training training = Training::kNone) {
  const std::string path = Saved(MakeModule(code), "small");
  Result<Capture> step = Captured(Request(path, inputs, training));
  EXPECT_TRUE(step.ok()) << code << step.error().ToString();
  return step.ok() ? std::move(step.value().graph) : Graph();
}

std::vector<std::string> TypesOf(const Graph& graph) {
  std::vector<std::string> types;
  for (const OpId op : graph.ops()) types.emplace_back(graph.op(op).type);
  return types;
}

TEST(ScriptModel, ControlFlowOnSizesIsFollowed) {
  const std::string code = R"(
def forward(self, x):
  for i in range(x.size(0)):
    x = x * self.w
  if x.size(1) == 4:
    x = torch.relu(x)
  return x
)";
  EXPECT_EQ(TypesOf(GraphOf(code, {"x=[3,4]"})).size(), 4u);
  EXPECT_EQ(TypesOf(GraphOf(code, {"x=[5,4]"})).size(), 6u);
}

TEST(ScriptModel, OutputsOfEveryShapeAreFlattened) {
  const std::string code = R"(
def forward(self, x):
  pair = {"loss": (x * self.w).sum(), "logits": x + self.w}
  return pair, [x - self.w, x / self.w], 3
)";
  const Graph graph = GraphOf(code, {"x=[2,4]"});
  ASSERT_EQ(graph.outputs().size(), 4u);
  const std::vector<std::vector<int64_t>> shapes = {{}, {2, 4}, {2, 4}, {2, 4}};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(graph.tensor(graph.outputs()[i]).shape, shapes[i]);
}

TEST(ScriptModel, CodePastTheDispatcherIsHarmless) {
  // TensorsByName of numbers are constants, numbers are numbers, prints are left out.
  const Graph graph = GraphOf(R"(
def forward(self, x):
  scale = torch.tensor([1.0, 2.0, 3.0, 4.0])
  print("never seen", x.size(0))
  n = torch.tensor(3)
  return x * scale * self.w + int(n)
)",
                              {"x=[2,4]"});
  EXPECT_EQ(TypesOf(graph),
            (std::vector<std::string>{"aten.mul.Tensor", "aten.mul.Tensor", "aten.add.Scalar"}));
}

TEST(ScriptModel, WhatTheCodeRaisesIsSaid) {
  const Error raised = ErrorOf(
      "def forward(self, x):\n  assert x.size(0) != 2, \"odd batches only\"\n  return x * "
      "self.w\n");
  EXPECT_EQ(raised.code, ErrorCode::kNotRecordable);
  EXPECT_THAT(raised.message, HasSubstr("odd batches only"));
  const Error shapes = ErrorOf("def forward(self, x):\n  return torch.mm(x, self.w.view(2, 2))\n");
  EXPECT_EQ(shapes.code, ErrorCode::kNotRecordable);
  EXPECT_THAT(shapes.ToString(), HasSubstr("mm"));
  const Error endless = ErrorOf(
      "def forward(self, x):\n  n = 0\n  while n >= 0:\n    n = n + 1\n    if n > 5:\n      n = 0\n"
      "  return x * self.w\n");
  EXPECT_EQ(endless.code, ErrorCode::kNotRecordable);
  EXPECT_THAT(endless.message, HasSubstr("loop iterations"));
  EXPECT_EQ(ErrorOf("def forward(self, x):\n  return 3\n").code, ErrorCode::kNotRecordable);
}

TEST(ScriptModel, InputsAreCheckedAgainstTheArguments) {
  const std::string code =
      "def forward(self, x, mask: Optional[Tensor] = None, scale: float = 2.0):\n"
      "  if mask is not None:\n    x = x + mask\n  return x * self.w * scale\n";
  EXPECT_EQ(TypesOf(GraphOf(code, {"[2,4]"})).size(), 2u);
  EXPECT_EQ(TypesOf(GraphOf(code, {"[2,4]", "[2,4]"})).size(), 3u);
  EXPECT_EQ(TypesOf(GraphOf(code, {"mask=[2,4]", "[2,4]"})).size(), 3u);
  const auto error = [&](const std::vector<std::string>& inputs) {
    const Error bad = ErrorOf(code, inputs);
    EXPECT_EQ(bad.code, ErrorCode::kUsage);
    EXPECT_THAT(bad.message, HasSubstr("forward takes (x: Tensor, mask: Tensor?, scale: float)"));
    EXPECT_THAT(bad.remedy, HasSubstr("--input 'x=f32[B,SIZES]'"));
    return bad.message;
  };
  EXPECT_THAT(error({}), HasSubstr("\"x\" is not given"));
  EXPECT_THAT(error({"y=[2]"}), HasSubstr("no argument \"y\""));
  EXPECT_THAT(error({"x=[2]", "x=[2]"}), HasSubstr("given twice"));
  EXPECT_THAT(error({"[2]", "[2]", "[2]"}), HasSubstr("no argument left"));
  EXPECT_THAT(error({"[2]", "scale=[2]"}), HasSubstr("\"scale\" takes no tensor"));
  const Error number = ErrorOf("def forward(self, x, n: int):\n  return x * n\n");
  EXPECT_EQ(number.code, ErrorCode::kUsage);
  EXPECT_THAT(number.message, HasSubstr("\"n\" is no tensor"));
}

TEST(ScriptModel, AFrozenModuleHasNothingToTrain) {
  torch::jit::Module net = MakeConvNet();
  net.eval();
  const std::string path = Saved(torch::jit::freeze(net), "frozen");
  const Result<Capture> train = Captured(Request(path, {"x=[4,3,6,6]"}));
  ASSERT_FALSE(train.ok());
  EXPECT_EQ(train.error().code, ErrorCode::kNotRecordable);
  EXPECT_THAT(train.error().ToString(), HasSubstr("no parameter"));
  EXPECT_THAT(train.error().remedy, HasSubstr("freeze"));
  const Result<Capture> pass = Captured(Request(path, {"x=[4,3,6,6]"}, Training::kNone));
  EXPECT_TRUE(pass.ok()) << pass.error().ToString();
}

TEST(ScriptModel, DevicesOfTheCodeAreOfNoAccount) {
  const std::string code =
      "def forward(self, x):\n  y = x.to(torch.device(\"cuda:3\")).cuda()\n"
      "  z = torch.tensor([1.0], device=torch.device(\"cuda:3\"))\n"
      "  return (y * self.w + torch.ones([4], device=torch.device(\"cuda:3\")) + z).cpu()\n";
  const std::vector<std::string> types = {"aten.mul.Tensor", "aten.ones.default", "aten.add.Tensor",
                                          "aten.add.Tensor"};
  EXPECT_EQ(TypesOf(GraphOf(code, {"x=[2,4]"})), types);
  const std::string path = Saved(MakeModule(code), "cuda");
  Result<ModelStep> step = StepOf(Request(path, {"x=[2,4]"}, Training::kNone));
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const Result<ModelStep::Recording> recording = step.value().Record();
  ASSERT_TRUE(recording.ok()) << recording.error().ToString();
  EXPECT_EQ(TypesOf(recording.value().step.graph), types);
  const Result<Capture> captured = Captured(Request(path, {"x=[2,4]"}, Training::kNone));
  ASSERT_TRUE(captured.ok()) << captured.error().ToString();
  ASSERT_EQ(captured.value().notes.size(), 1u);
  EXPECT_THAT(captured.value().notes[0], HasSubstr("names cuda and cuda:3, which are not here"));
}

TEST(ScriptModel, WithoutOtherDevicesThereIsNoNote) {
  const Result<Capture> captured =
      Captured(Request(Saved(MakeConvNet(), "plain"), {"x=[4,3,6,6]"}));
  ASSERT_TRUE(captured.ok()) << captured.error().ToString();
  EXPECT_TRUE(captured.value().notes.empty());
}

// How often every element stands there is a number of the code.
TEST(ScriptModel, RepeatsOfANumberHaveASize) {
  const Graph graph = GraphOf(
      "def forward(self, x):\n"
      "  return torch.repeat_interleave(x * self.w, 3, 1), torch.repeat_interleave(x, 2)\n",
      {"x=[2,4]"});
  ASSERT_EQ(graph.outputs().size(), 2u);
  EXPECT_EQ(graph.tensor(graph.outputs()[0]).shape, (std::vector<int64_t>{2, 12}));
  EXPECT_EQ(graph.tensor(graph.outputs()[1]).shape, std::vector<int64_t>{16});
}

// Traced code computes with sizes as with tensors.
TEST(ScriptModel, NumbersOfTheHostAreNumbers) {
  const Graph graph = GraphOf(
      "def forward(self, x):\n"
      "  n = torch.floor_divide(torch.tensor(x.size(1)), torch.tensor(2))\n"
      "  return (x * self.w).view(x.size(0), 2, int(n))\n",
      {"x=[2,4]"});
  EXPECT_EQ(TypesOf(graph), (std::vector<std::string>{"aten.mul.Tensor", "aten.view.default"}));
  const Graph root =
      GraphOf("def forward(self, x):\n  return x * self.w / torch.sqrt(torch.tensor(x.size(1)))\n",
              {"x=[2,4]"});
  ASSERT_EQ(TypesOf(root), (std::vector<std::string>{"aten.mul.Tensor", "aten.div.Tensor"}));
  EXPECT_EQ(root.op(OpId(1)).args[1], Value(2.0));
}

// Where a number would not do, an op makes a tensor of it: in lists, as a result, for its type, for
// what draws.
TEST(ScriptModel, NumbersOfTheHostThatMustBeTensors) {
  const std::string made = "aten.scalar_tensor.default";
  const auto graph = [](const std::string& body, const std::string& input = "x=[2,4]") {
    return GraphOf("def forward(self, x):\n" + body, {input});
  };
  EXPECT_EQ(TypesOf(graph("  return torch.stack([x.sum(), torch.tensor(2.5)])\n")),
            (std::vector<std::string>{"aten.sum.default", made, "aten.stack.default"}));
  const Graph picked = graph("  return x[torch.tensor(x.size(0) - 1)]\n");
  EXPECT_EQ(TypesOf(picked).front(), made);
  EXPECT_EQ(picked.op(OpId(0)).args[0], Value(int64_t{1}));
  EXPECT_EQ(TypesOf(graph("  return torch.where(x > 0, x, torch.tensor(0.5))\n")),
            (std::vector<std::string>{"aten.gt.Scalar", made, "aten.where.self"}));
  EXPECT_EQ(TypesOf(graph("  return torch.tensor(10.0) ** x\n")),
            (std::vector<std::string>{made, "aten.pow.Tensor_Tensor"}));
  // A double number makes doubles of whole ones, unless it is only a number.
  const Graph wide = graph("  return x * torch.tensor(0.5, dtype=7)\n", "x=i64[2,4]");
  EXPECT_EQ(TypesOf(wide), (std::vector<std::string>{made, "aten.mul.Tensor"}));
  EXPECT_EQ(wide.tensor(wide.outputs()[0]).dtype, DType::kF64);
  const Graph drawn = graph("  return x * torch.bernoulli(torch.tensor(0.9))\n");
  EXPECT_EQ(TypesOf(drawn).front(), made);
  EXPECT_EQ(TypesOf(drawn).back(), "aten.mul.Tensor");
  EXPECT_EQ(TypesOf(drawn).size(), 3u);
  EXPECT_EQ(TypesOf(graph("  return x * torch.normal(0.0, torch.tensor(1.0))\n")),
            (std::vector<std::string>{made, "aten.normal.float_Tensor", "aten.mul.Tensor"}));
  EXPECT_EQ(TypesOf(graph("  return x * self.w, torch.tensor(x.size(1))\n")),
            (std::vector<std::string>{"aten.mul.Tensor", made}));
  EXPECT_EQ(TypesOf(graph("  n = torch.tensor(x.size(1))\n  n.add_(1)\n  return x * n\n")),
            std::vector<std::string>{"aten.mul.Tensor"});
  EXPECT_EQ(
      ErrorOf("def forward(self, x):\n  n = torch.tensor(1.0)\n  n += x.mean()\n  return n\n").code,
      ErrorCode::kNotRecordable);
  EXPECT_EQ(ErrorOf("def forward(self, x):\n"
                    "  if bool(torch.rand_like(torch.tensor(0.0)) < 0.2):\n    return x\n"
                    "  return x * self.w\n")
                .code,
            ErrorCode::kDataDependent);
}

// The step runs as on the CPU, whatever it is recorded on.
TEST(ScriptModel, CodeThatAsksForItsDeviceIsOnTheCpu) {
  const Graph graph = GraphOf(
      "def forward(self, x):\n"
      "  y = x * self.w\n"
      "  if x.device.type == \"cpu\":\n    y = torch.relu(y)\n"
      "  if x.is_cuda:\n    y = torch.exp(y)\n"
      "  if x.device == torch.device(\"cuda:0\"):\n    y = torch.exp(y)\n"
      "  if x.device != torch.device(\"cpu\"):\n    y = torch.exp(y)\n"
      "  if str(x.device) != \"cpu\":\n    y = torch.exp(y)\n"
      "  return y\n",
      {"x=[2,4]"});
  EXPECT_EQ(TypesOf(graph), (std::vector<std::string>{"aten.mul.Tensor", "aten.relu.default"}));
}

// LibTorch's recurrent layers become their ops, step by step, without memory as on the CPU.
TEST(ScriptModel, RecurrentLayersAreThoseOfTheCpu) {
  const std::pair<const char*, RecurrentOptions> cases[] = {
      {"lstm", {}},
      {"lstm", {.layers = 2, .bidirectional = true, .batch_first = true, .dropout = 0.3}},
      {"lstm", {.layers = 2, .biases = false}},
      {"lstm", {.layers = 2, .bidirectional = true, .projected = 2}},
      {"gru", {}},
      {"gru", {.layers = 2, .bidirectional = true, .batch_first = true, .dropout = 0.3}},
      {"gru", {.layers = 2, .biases = false}},
      {"rnn_tanh", {.layers = 2, .bidirectional = true}},
      {"rnn_relu", {.batch_first = true}},
  };
  // Later versions of LibTorch have oneDNN run whole layers, which only a CPU could.
  const bool mkldnn = at::globalContext().userEnabledMkldnn();
  at::globalContext().setUserEnabledMkldnn(false);
  int number = 0;
  for (const auto& [op, options] : cases) {
    SCOPED_TRACE(number);
    at::manual_seed(3);
    const std::string path =
        Saved(MakeRecurrent(op, options), "recurrent" + std::to_string(number++));
    CaptureRequest request = Request(path, {"x=[5,3,3]"});
    request.loss = LossKind::kMean;
    ExpectReplay(request);
  }
  at::globalContext().setUserEnabledMkldnn(mkldnn);
}

TEST(ScriptModel, RecurrentLayersTakeTheProductsWithTheInputsAtOnce) {
  const auto count = [](int steps, const std::string& part) {
    const std::string path = Saved(MakeRecurrent("lstm", {}), "steps");
    const Result<Capture> step =
        Captured(Request(path, {"x=[" + std::to_string(steps) + ",2,3]"}, Training::kNone));
    EXPECT_TRUE(step.ok()) << step.error().ToString();
    int found = 0;
    for (const std::string& type : TypesOf(step.value().graph))
      found += type.find(part) != type.npos;
    return found;
  };
  // Three gates a step; one product a step with the state, and one with all inputs.
  EXPECT_EQ(count(2, "sigmoid"), 6);
  EXPECT_EQ(count(5, "sigmoid"), 15);
  EXPECT_EQ(count(2, "aten.addmm"), 3);
  EXPECT_EQ(count(5, "aten.addmm"), 6);
}

// What the arguments of a layer do not allow, LibTorch says.
TEST(ScriptModel, RecurrentLayersOfWrongSizesAreRefused) {
  const std::string path = Saved(MakeRecurrent("gru", {}), "sizes");
  const Result<Capture> wide = Captured(Request(path, {"x=[5,2,7]"}, Training::kNone));
  ASSERT_FALSE(wide.ok());
  EXPECT_EQ(wide.error().code, ErrorCode::kNotRecordable);
}

TEST(ScriptModel, SlicesOfOneStorageAreIndependentUnlessTheyOverlap) {
  const std::string code = "def forward(self, x):\n  return x * self.a + self.b\n";
  torch::jit::Module apart = MakeModule(code, {"a", "b"});
  const at::Tensor storage = at::randn({8});
  apart.setattr("a", storage.slice(0, 0, 4).requires_grad_());
  apart.setattr("b", storage.slice(0, 4, 8).requires_grad_());
  const Result<Capture> step = Captured(Request(Saved(apart, "apart"), {"x=[2,4]"}));
  EXPECT_TRUE(step.ok()) << step.error().ToString();
  torch::jit::Module together = MakeModule(code, {"a", "b"});
  together.setattr("a", storage.slice(0, 0, 4).requires_grad_());
  together.setattr("b", storage.slice(0, 2, 6).requires_grad_());
  const Result<Capture> overlap = Captured(Request(Saved(together, "together"), {"x=[2,4]"}));
  ASSERT_FALSE(overlap.ok());
  EXPECT_EQ(overlap.error().code, ErrorCode::kNotRecordable);
  EXPECT_THAT(overlap.error().message, HasSubstr("\"a\" and \"b\" share memory"));
}

}  // namespace
}  // namespace placewright
