// GraphDefs in both forms: what their nodes become, counts, phases, shapes, real files.
#include "formats/graphdef/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cost/work.h"
#include "formats/graphdef/format.h"
#include "formats/graphdef/test_graphs.h"
#include "formats/input.h"

namespace placewright {
namespace {

using namespace graphdef_test;
using testing::ElementsAre;
using testing::HasSubstr;

Graph Good(const std::string& file, GraphDefReport* report = nullptr,
           const GraphDefOptions& options = {}) {
  auto graph = ReadGraphDef(file, options, report);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().ToString());
  return graph.Take();
}

int64_t Macs(const Graph& graph) {
  int64_t macs = 0;
  for (const OpId op : graph.ops()) macs += WorkOf(graph, op).macs;
  return macs;
}

std::vector<int64_t> ShapeOf(const Graph& graph, const char* tensor) {
  return graph.tensor(graph.FindTensor(tensor)).shape;
}

class BothForms : public testing::TestWithParam<bool> {
 protected:
  std::string File(const std::vector<NodeSpec>& nodes) const {
    return GetParam() ? Text(nodes) : Binary(nodes);
  }
};
INSTANTIATE_TEST_SUITE_P(GraphDef, BothForms, testing::Bool(), [](const auto& param_info) {
  return param_info.param ? "Text" : "Binary";
});

TEST_P(BothForms, ATrainingStep) {
  GraphDefReport report;
  const std::string file = File(TrainingStep());
  EXPECT_EQ(SniffGraph(file).Take(), &kGraphDefFormat);
  const Graph graph = Good(file, &report);
  EXPECT_EQ(graph.op_count(), 12u);
  // w>read; x, read>MatMul; MatMul>Relu; Relu, y>loss; loss, Relu>Relu_grad; x, Relu_grad>MatMul_1;
  // w, rate, MatMul_1>update; update>train.
  EXPECT_EQ(graph.edge_count(), 14u);
  // 2x3 by 3x5, and 3x2 by 2x5.
  EXPECT_EQ(Macs(graph), 30 + 30);
  EXPECT_EQ(ShapeOf(graph, "fc/Relu"), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(ShapeOf(graph, "loss"), (std::vector<int64_t>{2}));
  EXPECT_EQ(ShapeOf(graph, "loss:1"), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(ShapeOf(graph, "gradients/fc/MatMul_grad/MatMul_1"), (std::vector<int64_t>{3, 5}));
  const Tensor& parameter = graph.tensor(graph.FindTensor("param:fc/w"));
  EXPECT_EQ(parameter.kind, TensorKind::kParameter);
  EXPECT_EQ(parameter.bytes, Bytes(3 * 5 * 4));
  EXPECT_EQ(graph.tensor(graph.FindTensor("input:x")).kind, TensorKind::kInput);
  EXPECT_EQ(graph.tensor(graph.FindTensor("const:rate")).kind, TensorKind::kConstant);
  EXPECT_TRUE(report.assumed_shapes.empty());
  EXPECT_THAT(report.notes,
              ElementsAre(HasSubstr("1 control inputs"), HasSubstr("2 colocation constraints"),
                          HasSubstr("1 nodes name a device")));
}

TEST_P(BothForms, PhasesAndInPlaceUpdates) {
  const Graph graph = Good(File(TrainingStep()));
  const auto op = [&](const char* name) -> const Op& { return graph.op(graph.FindOp(name)); };
  EXPECT_EQ(op("fc/Relu").phase, Phase::kForward);
  EXPECT_EQ(op("gradients/fc/MatMul_grad/MatMul_1").phase, Phase::kBackward);
  EXPECT_EQ(op("update").phase, Phase::kOptimizer);
  EXPECT_EQ(op("fc/MatMul").type, "tf.MatMul");
  EXPECT_EQ(graph.module_path(op("fc/MatMul").module), "fc");
  EXPECT_TRUE(op("fc/w/read").is_view);
  ASSERT_EQ(op("update").writes.size(), 1u);
  const StorageId weight = graph.tensor(graph.FindTensor("param:fc/w")).storage;
  EXPECT_EQ(graph.tensor(op("update").writes[0]).storage, weight);
  EXPECT_EQ(graph.storage(weight).versions.size(), 2u);
  // The forward product reads the weight before the update overwrites it.
  const OrderEdge before{graph.FindOp("fc/MatMul"), graph.FindOp("update"),
                         OrderKind::kWriteAfterRead};
  EXPECT_THAT(graph.order_edges(), testing::Contains(before));
  EXPECT_EQ(graph.group(graph.FindOp("update")), graph.group(graph.FindOp("fc/w")));
}

// b and u share nothing but their class; nothing is called "gone", yet its class holds both w.
TEST_P(BothForms, ColocationAndOrder) {
  const Attr f = TypeAttr("T", 1), s = ShapeAttr("shape", {4});
  const Graph graph = Good(File({{"b", "Relu", {"a"}, {f, ClassAttr("u")}, ""},
                                 {"a", "Placeholder", {}, {s}, ""},
                                 {"u", "Relu", {"a", "^b2"}, {f}, ""},
                                 {"b2", "Relu", {"b:0"}, {f}, ""},
                                 {"w1", "Relu", {"a"}, {f, ClassAttr("gone")}, ""},
                                 {"w2", "Relu", {"a"}, {f, ClassAttr("gone")}, ""}}));
  const auto group = [&](const char* name) { return graph.group(graph.FindOp(name)); };
  EXPECT_EQ(group("b"), group("u"));
  EXPECT_NE(group("b"), group("b2"));
  EXPECT_EQ(group("w1"), group("w2"));
  EXPECT_NE(group("w1"), group("u"));
  // a>b, a>u, b2>u (control), b>b2, a>w1, a>w2.
  EXPECT_EQ(graph.edge_count(), 6u);
  EXPECT_THAT(graph.op(graph.FindOp("u")).after, ElementsAre(graph.FindOp("b2")));
}

TEST_P(BothForms, ConvolutionsAndTheirGradients) {
  const Attr f = TypeAttr("T", 1), strides = IntsAttr("strides", {1, 2, 2, 1});
  const Attr same = TextAttr("padding", "SAME");
  const Graph graph =
      Good(File({{"x", "Placeholder", {}, {ShapeAttr("shape", {2, 8, 8, 3})}, ""},
                 {"w", "Const", {}, {FloatValue({3, 3, 3, 4})}, ""},
                 {"conv", "Conv2D", {"x", "w"}, {f, strides, same}, ""},
                 {"xs", "Const", {}, {IntsValue({2, 8, 8, 3})}, ""},
                 {"ws", "Const", {}, {IntsValue({3, 3, 3, 4})}, ""},
                 {"dx", "Conv2DBackpropInput", {"xs", "w", "conv"}, {f, strides, same}, ""},
                 {"dw", "Conv2DBackpropFilter", {"x", "ws", "conv"}, {f, strides, same}, ""},
                 {"k", "Const", {}, {FloatValue({3, 3, 4, 2})}, ""},
                 {"deep",
                  "DepthwiseConv2dNative",
                  {"conv", "k"},
                  {f, IntsAttr("strides", {1, 1, 1, 1}), TextAttr("padding", "VALID")},
                  ""}}));
  EXPECT_EQ(ShapeOf(graph, "conv"), (std::vector<int64_t>{2, 4, 4, 4}));
  EXPECT_EQ(ShapeOf(graph, "dx"), (std::vector<int64_t>{2, 8, 8, 3}));
  EXPECT_EQ(ShapeOf(graph, "dw"), (std::vector<int64_t>{3, 3, 3, 4}));
  EXPECT_EQ(ShapeOf(graph, "deep"), (std::vector<int64_t>{2, 2, 2, 8}));
  const auto macs = [&](const char* op) { return WorkOf(graph, graph.FindOp(op)).macs; };
  // 2*4*4*4 outputs of 3*3*3 products; each gradient the same number. Depthwise: 2*2*2*8 of 3*3.
  EXPECT_EQ(macs("conv"), 128 * 27);
  EXPECT_EQ(macs("dx"), 128 * 27);
  EXPECT_EQ(macs("dw"), 128 * 27);
  EXPECT_EQ(macs("deep"), 64 * 9);
}

TEST_P(BothForms, BatchedProductsAndLstmCells) {
  const Attr f = TypeAttr("T", 1);
  const auto constant = [](const char* name, const std::vector<int64_t>& dims) {
    return NodeSpec{name, "Const", {}, {FloatValue(dims)}, ""};
  };
  const Graph graph =
      Good(File({constant("a", {2, 4, 3}),
                 constant("b", {2, 4, 5}),
                 {"ab", "BatchMatMulV2", {"a", "b"}, {f, BoolAttr("adj_x", true)}, ""},
                 constant("x", {6, 7}),
                 constant("h", {6, 8}),
                 constant("w", {15, 32}),
                 {"cell", "LSTMBlockCell", {"x", "h", "h", "w"}, {f}, ""}}));
  EXPECT_EQ(ShapeOf(graph, "ab"), (std::vector<int64_t>{2, 3, 5}));
  // 2*3*5 outputs of 4 products; 6 rows through 15 x 32 weights.
  EXPECT_EQ(Macs(graph), 30 * 4 + 6 * 15 * 32);
}

TEST_P(BothForms, ResourceVariablesAndTheirState) {
  const Attr type = TypeAttr("dtype", 1), dims = ShapeAttr("shape", {3});
  const Graph graph =
      Good(File({{"w", "VarHandleOp", {}, {type, dims}, ""},
                 {"m", "VarHandleOp", {}, {type, dims}, ""},
                 {"read", "ReadVariableOp", {"w"}, {type}, ""},
                 {"g", "ReluGrad", {"read", "read"}, {TypeAttr("T", 1)}, ""},
                 {"rate", "Const", {}, {FloatValue({})}, ""},
                 {"up", "ResourceApplyMomentum", {"w", "m", "rate", "g", "rate"}, {}, ""}}));
  EXPECT_EQ(graph.tensor(graph.FindTensor("param:w")).kind, TensorKind::kParameter);
  EXPECT_EQ(graph.tensor(graph.FindTensor("opt_state:m")).kind, TensorKind::kOptimizerState);
  EXPECT_EQ(graph.op(graph.FindOp("up")).writes.size(), 2u);
  EXPECT_TRUE(graph.op(graph.FindOp("up")).outputs.empty());
  EXPECT_TRUE(graph.op(graph.FindOp("read")).is_view);
  EXPECT_EQ(graph.group(graph.FindOp("w")), graph.group(graph.FindOp("m")));
}

TEST_P(BothForms, OpenDimensions) {
  const std::string file =
      File({{"x", "Placeholder", {}, {ShapeAttr("shape", {-1, 3})}, ""},
            {"w", "Const", {}, {FloatValue({3, 4})}, ""},
            {"y", "MatMul", {"x", "w"}, {TypeAttr("T", 1), OutputShapes({{-1, 4}})}, ""}});
  const auto refused = ReadGraphDef(file, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kGraphShape);
  EXPECT_THAT(refused.error().message, HasSubstr("x[0]"));
  EXPECT_EQ(ShapeOf(Good(file, nullptr, {8}), "y"), (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(ShapeOf(Good(file, nullptr, {{}, {{"x[0]", 6}}}), "y"), (std::vector<int64_t>{6, 4}));
  GraphDefReport report;
  EXPECT_EQ(Macs(Good(file, &report, {{}, {}, true})), 12);
  EXPECT_EQ(report.assumed_dimensions.at("x[0]"), 1);
  EXPECT_EQ(ReadGraphDef(file, {{}, {{"x[1]", 6}}}).error().code, ErrorCode::kUnknownName);
  EXPECT_EQ(ReadGraphDef(file, {0}).error().code, ErrorCode::kField);
}

TEST_P(BothForms, UnknownShapesAreAssumedAloud) {
  GraphDefReport report;
  const Graph graph = Good(File({{"x", "Placeholder", {}, {ShapeAttr("shape", {4, 3})}, ""},
                                 {"odd", "MyOwnOp", {"x"}, {TypeAttr("T", 1)}, ""},
                                 {"relu", "Relu", {"odd:1"}, {TypeAttr("T", 1)}, ""}}),
                           &report);
  EXPECT_EQ(ShapeOf(graph, "odd:1"), (std::vector<int64_t>{4, 3}));
  EXPECT_THAT(report.assumed_shapes, ElementsAre("odd (MyOwnOp)"));
  EXPECT_FALSE(WorkOf(graph, graph.FindOp("odd")).known);
}

TEST_P(BothForms, ALoopRunsOneRound) {
  const Attr f = TypeAttr("T", 1);
  GraphDefReport report;
  const Graph graph = Good(File({{"x", "Placeholder", {}, {ShapeAttr("shape", {4})}, ""},
                                 {"in", "Enter", {"x"}, {f}, ""},
                                 {"merge", "Merge", {"in", "next"}, {f}, ""},
                                 {"body", "Relu", {"merge"}, {f}, ""},
                                 {"next", "NextIteration", {"body"}, {f}, ""}}),
                           &report);
  EXPECT_EQ(graph.edge_count(), 4u);  // x>in>merge>body>next
  EXPECT_THAT(report.notes, testing::Contains(HasSubstr("1 Merge nodes (the first is merge)")));
}

TEST(GraphDefText, ItsOtherSpellings) {
  // Comments, angle brackets, lists, single quotes, octal, joined texts, numbers for names.
  const Graph graph = Good(
      "# a comment { \n"
      "node < name: 'x' op: \"Place\" \"holder\"; attr { key: 'dtype' value { type: 1 } },\n"
      "  attr { key: \"sh\\141pe\" value { shape { dim: [{ size: 0x10 }, { size: 010 }] } } } >\n"
      "node: { name: \"y\" op: \"Relu\" input: [\"x\"] my_field: 1.5e3 [a.b/c] { d: [1, 2] } }\n");
  EXPECT_EQ(ShapeOf(graph, "y"), (std::vector<int64_t>{16, 8}));
}

// The ends of a 64-bit number, and a sign parted from its number, as protobuf's text format has it.
TEST(GraphDefText, EveryInteger) {
  const auto attribute = [](const std::string& number) {
    const auto graph = ReadGraphDef(
        "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_INVALID } "
        "}\n"
        "  attr { key: \"shape\" value { shape { dim { size: 2 } } } }\n"
        "  attr { key: \"n\" value { i: " +
            number + " } } other: - 1.5 }",
        {});
    if (!graph.ok()) return graph.error().ToString();
    for (const NamedValue& named : graph.value().op(OpId(0)).attributes) {
      if (named.name == "n") return std::to_string(*named.value.AsInt());
    }
    return std::string("none");
  };
  EXPECT_EQ(attribute("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(attribute("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(attribute("- 5"), "-5");
  EXPECT_EQ(attribute("- # five\n 0x10"), "-16");
  EXPECT_EQ(attribute("-010"), "-8");
  for (const char* bad : {"-9223372036854775809", "9223372036854775808", "--5", "-", "+5", "- -5",
                          "1.5", "0x", "-0x-5"}) {
    EXPECT_THAT(attribute(bad), HasSubstr("syntax")) << bad;
  }
}

std::filesystem::path RealFile(const char* name) {
  return std::filesystem::path(PLACEWRIGHT_SHARED_DATA) / "public/tf-graphdef" / name;
}

TEST(RealGraphDefs, SfMLearner) {
  const auto path = RealFile("sfmlearner_train.pbtxt.gz");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no folder of real data: " << path;
  const LoadedGraph loaded = LoadGraph(path.string()).Take();
  EXPECT_EQ(loaded.format, &kGraphDefFormat);
  EXPECT_EQ(loaded.graph.op_count(), 3448u);
  // 4,654 pairs by data, 940 by control inputs, counted in the text.
  EXPECT_EQ(loaded.graph.edge_count(), 5594u);
  size_t parameters = 0, state = 0;
  for (const TensorId id : loaded.graph.tensors()) {
    const Tensor& tensor = loaded.graph.tensor(id);
    if (tensor.producer.valid()) continue;
    parameters += tensor.kind == TensorKind::kParameter ? 1 : 0;
    state += tensor.kind == TensorKind::kOptimizerState ? 1 : 0;
  }
  // One ApplyAdam for each of 64 weights, with two moments.
  EXPECT_EQ(parameters, 64u);
  EXPECT_EQ(state, 128u);
}

TEST(RealGraphDefs, ImpalaWithItsLoops) {
  const auto path = RealFile("impala_agent_train.pbtxt.gz");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no folder of real data: " << path;
  const LoadedGraph loaded = LoadGraph(path.string()).Take();
  EXPECT_EQ(loaded.graph.op_count(), 2124u);
  EXPECT_EQ(loaded.graph.edge_count(), 3665u - 6);  // six ways back of loops
  EXPECT_THAT(loaded.notes, testing::Contains(HasSubstr("6 Merge nodes")));
}

}  // namespace
}  // namespace placewright
