#include "graph/ownership/module_attribution.h"

#include <gtest/gtest.h>

#include "graph/ownership/alignment.h"
#include "graph/ownership/derivative_names.h"
#include "graph/ownership/module_path.h"
#include "graph/test_graphs.h"

namespace placewright {
namespace {

TEST(ModulePath, ParentAndCommon) {
  EXPECT_EQ(ParentModule("m.layer.1"), "m.layer");
  EXPECT_EQ(ParentModule("m"), "");
  EXPECT_EQ(ParentModule("/layer1/layer1.0"), "/layer1");
  EXPECT_EQ(CommonModule("m.layer.1", "m.layer.12"), "m.layer");
  EXPECT_EQ(CommonModule("m.layer", "m.layer.0.norm"), "m.layer");
  EXPECT_EQ(CommonModule("m.layer.0.norm", "m.layer"), "m.layer");
  EXPECT_EQ(CommonModule("a.b", "c.d"), "");
  EXPECT_EQ(CommonModule("", "c.d"), "");
  EXPECT_EQ(CommonModule("/layer1/layer1.0/conv", "/layer1/layer1.1/conv"), "/layer1");
}

TEST(ModulePath, WithinIsByWholeComponents) {
  EXPECT_TRUE(IsWithinModule("m.layer.1", "m.layer"));
  EXPECT_TRUE(IsWithinModule("m.layer.1", ""));
  EXPECT_FALSE(IsWithinModule("m.layer.12", "m.layer.1"));
  EXPECT_FALSE(IsWithinModule("m.layer", "m.layer.1"));
}

// Of a list, by a number behind "_", or by a bare number where something lies within.
TEST(ModulePath, LayersAreCountedByTheirNames) {
  EXPECT_EQ(LayerOf("m.layers.3.mlp.up"), "m.layers.3");
  EXPECT_EQ(LayerOf("encoder.layer_3.norm1"), "encoder.layer_3");
  EXPECT_EQ(LayerOf("layer3.self_attn.q_proj"), "layer3");
  EXPECT_EQ(LayerOf("m.h11.mlp"), "m.h11");
  EXPECT_EQ(LayerOf("layer1.0.conv1"), "layer1.0");  // lists first
  EXPECT_EQ(LayerOf("m.fc1"), "");
  EXPECT_EQ(LayerOf("embed_tokens"), "");
  EXPECT_EQ(LayerOf(""), "");
  EXPECT_EQ(LayerOf("/encoder/layer.3/conv1"), "/encoder/layer.3");
}

TEST(ModulePath, OfParameters) {
  EXPECT_EQ(ModuleOfParameter("param:m.fc.weight"), "m.fc");
  EXPECT_EQ(ModuleOfParameter("param:weight"), "");
  EXPECT_EQ(ModuleOfParameter("m.fc.weight"), "m.fc");
}

// Rows 0, 1, 2 may have the positions 5 or 3; 4; 3 or 1. Descending: 5, 4, 3 (weights 1 + 1 + 2),
// or 3, -, 3 (4 + 2); with a weight of 5 for row 1: 5, 4, 3 (1 + 5 + 2).
TEST(Alignment, HeaviestDescentNeverRises) {
  std::vector<std::vector<PositionMatch>> rows = {{{5, 1}, {3, 4}}, {{4, 1}}, {{3, 2}, {1, 1}}};
  EXPECT_EQ(HeaviestDescent(rows, 6), (std::vector<int32_t>{3, kUnmatched, 3}));
  rows[1][0].weight = 5;
  EXPECT_EQ(HeaviestDescent(rows, 6), (std::vector<int32_t>{5, 4, 3}));
  EXPECT_EQ(HeaviestDescent({{}, {}}, 0), (std::vector<int32_t>{kUnmatched, kUnmatched}));
}

// Row r matches positions 9 - r and 9 - 2 r: 9, 8, 7 is descending, and so is 9, 7, 5.
TEST(Alignment, DenseDescentTakesThePositionsInOrder) {
  const auto weight = [](size_t row, int32_t position) {
    const auto r = static_cast<int32_t>(row);
    return position == 9 - r ? 1 : position == 9 - 2 * r ? 2 : 0;
  };
  EXPECT_EQ(DenseDescent(3, 9, 5, weight), (std::vector<int32_t>{9, 7, 5}));
  EXPECT_EQ(DenseDescent(3, 9, 6, weight), (std::vector<int32_t>{9, 7, 7}));
  EXPECT_EQ(DenseDescent(2, 3, 4, weight), (std::vector<int32_t>{kUnmatched, kUnmatched}));
}

TEST(DerivativeNames, FormulasOfAutograd) {
  EXPECT_TRUE(NamesForward("gelu_backward", "gelu"));
  EXPECT_FALSE(NamesForward("mul", "mul"));
  EXPECT_TRUE(MayDifferentiate("transpose", "transpose"));
  EXPECT_TRUE(MayDifferentiate("sum", "add_"));
  EXPECT_TRUE(MayDifferentiate("cat", "split"));
  EXPECT_FALSE(MayDifferentiate("split", "add"));
  EXPECT_FALSE(MayDifferentiate("", ""));
}

class ModuleAttribution : public ::testing::Test {
 protected:
  TensorId Backward(const std::string& type, const std::string& name,
                    std::vector<TensorId> inputs) {
    OpSpec spec;
    spec.name = name;
    spec.type = type;
    spec.phase = Phase::kBackward;
    spec.inputs = std::move(inputs);
    spec.outputs = {OutputSpec()};
    spec.outputs[0].name = name;
    spec.outputs[0].shape = {4};
    return tiny_.builder().AddOp(std::move(spec)).Take()[0];
  }
  TensorId Forward(const std::string& module, const std::string& type, const std::string& name,
                   std::vector<TensorId> inputs) {
    OpSpec spec;
    spec.name = name;
    spec.type = type;
    spec.module = module;
    spec.inputs = std::move(inputs);
    spec.outputs = {OutputSpec()};
    spec.outputs[0].name = name;
    spec.outputs[0].shape = {4};
    return tiny_.builder().AddOp(std::move(spec)).Take()[0];
  }
  void Build() { graph_ = tiny_.Build(); }
  std::string ModuleOf(const std::string& op) const {
    return graph_.module_path(graph_.op(graph_.FindOp(op)).module);
  }
  TinyGraph tiny_;
  Graph graph_;
};

TEST_F(ModuleAttribution, ForwardOpsWithoutAScope) {
  const TensorId x = tiny_.Input("x", TensorKind::kInput, {4});
  const TensorId w = tiny_.Input("param:m.2.attention.in_proj", TensorKind::kParameter, {4});
  const TensorId mask = tiny_.Fresh("mask", {x});
  const TensorId a = tiny_.In(Phase::kForward, "m.1.norm").Fresh("norm", {x, mask});
  const TensorId b = tiny_.In(Phase::kForward, "m.1.drop").Fresh("drop", {x});
  tiny_.In(Phase::kForward);
  const TensorId sum = tiny_.Fresh("sum", {a, b});
  const TensorId view = tiny_.View("view", "aten.detach.default", w, {4});
  const TensorId product = tiny_.Fresh("product", {sum, view});
  tiny_.Fresh("loss", {product});
  Build();
  EXPECT_EQ(ModuleOf("sum"), "m.1");                // holds both that it reads from
  EXPECT_EQ(ModuleOf("view"), "m.2.attention");     // by the parameter's name
  EXPECT_EQ(ModuleOf("product"), "m.2.attention");  // a view of a parameter counts as one
  EXPECT_EQ(ModuleOf("loss"), "m.2.attention");     // as the op it reads from
  EXPECT_EQ(ModuleOf("mask"), "");                  // before the first module that is stated
}

TEST_F(ModuleAttribution, BackwardOpsFollowWhatTheyRead) {
  const TensorId x = tiny_.Input("x", TensorKind::kInput, {4});
  const TensorId w = tiny_.Input("param:m.fc.weight", TensorKind::kParameter, {4});
  tiny_.In(Phase::kForward, "m.fc");
  const TensorId y = tiny_.Fresh("mm", {x, w});
  OpSpec gelu;
  gelu.name = "gelu";
  gelu.type = "aten.gelu.default";
  gelu.module = "m.act";
  gelu.inputs = {y};
  gelu.outputs = {OutputSpec()};
  gelu.outputs[0].name = "gelu";
  gelu.outputs[0].shape = {4};
  const TensorId z = tiny_.builder().AddOp(gelu).Take()[0];
  const TensorId out = tiny_.In(Phase::kForward, "m.head").Fresh("head", {z});
  tiny_.In(Phase::kBackward);
  const TensorId start = tiny_.Fresh("ones_like", {});
  const TensorId g1 = Backward("aten.threshold_backward.default", "by_output", {start, out});
  const TensorId g2 = Backward("aten.mul.Tensor", "by_input", {g1, z});
  const TensorId g3 = Backward("aten.gelu_backward.default", "by_name", {g2, y});
  Backward("aten.mm.default", "by_parameter", {g3, w});
  Build();
  EXPECT_EQ(ModuleOf("ones_like"), "m.head");  // its gradient's consumer
  EXPECT_EQ(ModuleOf("by_output"), "m.head");  // a *_backward op saved the maker's output
  EXPECT_EQ(ModuleOf("by_name"), "m.act");     // gelu read y; mm made it
  EXPECT_EQ(ModuleOf("by_input"), "m.head");   // head read z; gelu made it
  EXPECT_EQ(ModuleOf("by_parameter"), "m.fc");
}

// An op between two whose modules the file states lies in every module that holds both.
TEST_F(ModuleAttribution, ForwardOpsBetweenStatedOnes) {
  const TensorId x = tiny_.Input("x", TensorKind::kInput, {4});
  const TensorId a = tiny_.In(Phase::kForward, "m.0.a").Fresh("a", {x});
  const TensorId mid = tiny_.In(Phase::kForward).Fresh("mid", {a});
  const TensorId b = tiny_.In(Phase::kForward, "m.0.b").Fresh("b", {mid});
  const TensorId residual = tiny_.In(Phase::kForward).Fresh("residual", {mid, b});
  const TensorId first = tiny_.Fresh("first", {b});
  const TensorId inside = tiny_.Fresh("inside", {first, first});
  tiny_.In(Phase::kForward, "m.1.a").Fresh("next", {inside, residual});
  Build();
  EXPECT_EQ(ModuleOf("mid"), "m.0");  // not m.0.a, which states its own ops
  EXPECT_EQ(ModuleOf("residual"), "m.0");
  EXPECT_EQ(ModuleOf("first"), "m");  // reads m.0.b, runs before m.1.a
}

// Two layers that share the table `cos`, autograd's order: layers.1 first. Each is
//   h = norm(x), r = h * cos, x = x + mm(r, w)
class SharedTable : public ModuleAttribution {
 protected:
  void SetUp() override {
    const TensorId ids = tiny_.Input("ids", TensorKind::kInput, {4});
    const TensorId cos = tiny_.Input("buffer:cos", TensorKind::kBuffer, {4});
    const TensorId table = tiny_.Input("param:emb.weight", TensorKind::kParameter, {9, 4});
    struct Layer {
      TensorId w, v, x, h, r;
    };
    Layer layers[2];
    TensorId x = Forward("emb", "aten.embedding.default", "embedding", {table, ids});
    for (int i = 0; i < 2; ++i) {
      const std::string n = std::to_string(i), path = "layers." + n;
      Layer& layer = layers[i];
      layer.x = x;
      layer.v = tiny_.Input("param:" + path + ".norm.v", TensorKind::kParameter, {4});
      layer.w = tiny_.Input("param:" + path + ".fc.w", TensorKind::kParameter, {4});
      layer.h = Forward(path + ".norm", "aten.mul.Tensor", "norm" + n, {x, layer.v});
      layer.r = Forward(path + ".attn", "aten.mul.Tensor", "rotate" + n, {layer.h, cos});
      const TensorId y = Forward(path + ".fc", "aten.mm.default", "fc" + n, {layer.r, layer.w});
      x = Forward(path, "aten.add.Tensor", "add" + n, {x, y});
    }
    TensorId g = Backward("aten.sum_backward.default", "start", {});
    for (int i = 1; i >= 0; --i) {
      const std::string n = std::to_string(i);
      const Layer& layer = layers[i];
      const TensorId dw = Backward("aten.mm.default", "dw" + n, {layer.r, g});
      const TensorId dr = Backward("aten.mm.default", "dr" + n, {g, layer.w});
      const TensorId dh = Backward("aten.mul.Tensor", "dh" + n, {dr, cos});
      const TensorId dv = Backward("aten.mul.Tensor", "dv" + n, {dh, layer.x});
      const TensorId dx = Backward("aten.mul.Tensor", "dx" + n, {dh, layer.v});
      g = Backward("aten.add.Tensor", "sum" + n, {g, dx});
      (void)dw, (void)dv;
    }
    Backward("aten.embedding_dense_backward.default", "demb", {g, ids});
    Build();
  }
};

TEST_F(SharedTable, EachLayerHasItsOwnBackwardOps) {
  for (const std::string n : {"0", "1"}) {
    const std::string path = "layers." + n;
    for (const char* op : {"dw", "dr"}) EXPECT_EQ(ModuleOf(op + n), path + ".fc") << op;
    EXPECT_EQ(ModuleOf("dh" + n), path + ".attn");
    for (const char* op : {"dv", "dx"}) EXPECT_EQ(ModuleOf(op + n), path + ".norm") << op;
  }
}

// The sum of the gradients of a layer's input belongs to the layer, whose norm and addition read
// it.
TEST_F(SharedTable, SumsOfGradientsBelongToTheModuleOfAllReaders) {
  EXPECT_EQ(ModuleOf("sum1"), "layers.1");
  EXPECT_EQ(ModuleOf("sum0"), "layers.0");
  EXPECT_EQ(ModuleOf("demb"), "emb");
}

// A layer whose output the next step of the sequence reads, too, and a residual addition behind it:
//   y = layer(e), z = next_step(y), x = y + e, d = dropout(x), out = x + d
// No op takes the sum of the gradients of x but the sum of those of y and the one of those of e.
TEST_F(ModuleAttribution, ASumThatOnlySumsTakeBelongsToTheMakerOfItsTensor) {
  const TensorId in = tiny_.Input("in", TensorKind::kInput, {4});
  const TensorId w = tiny_.Input("param:layer.w", TensorKind::kParameter, {4});
  const TensorId v = tiny_.Input("param:enc.v", TensorKind::kParameter, {4});
  const TensorId mask = tiny_.Input("mask", TensorKind::kInput, {4});
  const TensorId e = Forward("enc", "aten.mul.Tensor", "e", {in, v});
  const TensorId y = Forward("layer", "aten.mm.default", "y", {e, w});
  const TensorId z = Forward("next", "aten.tanh.default", "z", {y});
  const TensorId x = Forward("residual", "aten.add.Tensor", "x", {y, e});
  const TensorId d = Forward("dropout", "aten.mul.Tensor", "d", {x, mask});
  Forward("last", "aten.add.Tensor", "out", {x, d});
  const TensorId g = Backward("aten.sum_backward.default", "g", {});
  const TensorId dd = Backward("aten.mul.Tensor", "dd", {g, mask});
  const TensorId sum_x = Backward("aten.add.Tensor", "sum_x", {g, dd});
  const TensorId dz = Backward("aten.tanh_backward.default", "dz", {g, z});
  const TensorId sum_y = Backward("aten.add.Tensor", "sum_y", {sum_x, dz});
  const TensorId de = Backward("aten.mm.default", "de", {sum_y, w});
  Backward("aten.mm.default", "dw", {e, sum_y});
  const TensorId sum_e = Backward("aten.add.Tensor", "sum_e", {sum_x, de});
  Backward("aten.mul.Tensor", "dv", {sum_e, in});
  Build();
  EXPECT_EQ(ModuleOf("sum_x"), "residual");
  EXPECT_EQ(ModuleOf("sum_y"), "layer");
  EXPECT_EQ(ModuleOf("sum_e"), "enc");
}

// A view of the gradient of all of a product undoes no broadcasting: it belongs to the view behind which the norm reads,
// not to the norm's last product that has the same shape.
TEST_F(ModuleAttribution, AViewOfAnOutputsGradientIsAViews) {
  const TensorId in = tiny_.Input("in", TensorKind::kInput, {4});
  const TensorId w = tiny_.Input("param:layer.w", TensorKind::kParameter, {4});
  const TensorId m = Forward("layer", "aten.mm.default", "m", {in, w});
  const TensorId seen = Forward("layer", "aten._unsafe_view.default", "seen", {m});
  const TensorId root = Forward("norm", "aten.rsqrt.default", "root", {seen});
  const TensorId y = Forward("norm", "aten.mul.Tensor", "y", {seen, root});
  Forward("last", "aten.tanh.default", "out", {y});
  const TensorId g = Backward("aten.tanh_backward.default", "g", {y});
  const TensorId dy = Backward("aten.mul.Tensor", "dy", {g, seen});
  const TensorId dv = Backward("aten.view.default", "dv", {dy});
  Backward("aten.mm.default", "dw", {in, dv});
  Build();
  EXPECT_EQ(ModuleOf("dy"), "norm");
  EXPECT_EQ(ModuleOf("dv"), "layer");
  EXPECT_EQ(ModuleOf("dw"), "layer");
}

// norm and gelu run again in the backward pass, as checkpointing has it.
TEST_F(ModuleAttribution, RecomputedOpsBelongToTheOpThatTheyRepeat) {
  const TensorId x = tiny_.Input("x", TensorKind::kInput, {4});
  const TensorId a = tiny_.In(Phase::kForward, "m.a").Fresh("a", {x});
  const TensorId b = tiny_.In(Phase::kForward, "m.b").Fresh("b", {a});
  tiny_.In(Phase::kForward, "m.c").Fresh("c", {b});
  tiny_.In(Phase::kBackward);
  const TensorId g = tiny_.Fresh("g", {});
  const TensorId a2 = tiny_.Fresh("a_again", {x});
  const TensorId b2 = tiny_.Fresh("b_again", {a2});
  const TensorId gb = tiny_.Fresh("of_c", {g, b2});
  const TensorId ga = tiny_.Fresh("of_b", {gb, a2});
  tiny_.Fresh("of_a", {ga, x});
  Build();
  EXPECT_EQ(ModuleOf("a_again"), "m.a");
  EXPECT_EQ(ModuleOf("b_again"), "m.b");
  EXPECT_EQ(ModuleOf("of_c"), "m.c");
  EXPECT_EQ(ModuleOf("of_b"), "m.b");
  EXPECT_EQ(ModuleOf("of_a"), "m.a");
}

TEST_F(ModuleAttribution, TiedWeightsFollowTheViewThatWasRead) {
  const TensorId w = tiny_.Input("param:m.encoder.weight", TensorKind::kParameter, {2, 2});
  const TensorId x = tiny_.Input("x", TensorKind::kInput, {2, 2});
  const TensorId e = tiny_.In(Phase::kForward, "m.encoder").Fresh("embedding", {w, x});
  tiny_.In(Phase::kForward, "m.decoder");
  const TensorId t = tiny_.View("t", "aten.t.default", w, {2, 2});
  const TensorId y = tiny_.Fresh("mm", {e, t});
  tiny_.In(Phase::kBackward);
  const TensorId g = tiny_.Fresh("loss_backward", {y});
  const TensorId back = tiny_.View("t_1", "aten.t.default", t, {2, 2});
  const TensorId ge = tiny_.Fresh("mm_1", {g, back});
  tiny_.Fresh("embedding_backward", {ge, x});
  tiny_.Fresh("weight_decay", {g, w});
  Build();
  EXPECT_EQ(ModuleOf("mm_1"), "m.decoder");
  EXPECT_EQ(ModuleOf("t_1"), "m.decoder");
  EXPECT_EQ(ModuleOf("embedding_backward"), "m.encoder");
  EXPECT_EQ(ModuleOf("weight_decay"), "m.encoder");  // reads the parameter itself: by its name
}

TEST_F(ModuleAttribution, OptimizerOpsFollowTheirParameter) {
  const TensorId w = tiny_.Input("param:m.fc.weight", TensorKind::kParameter, {4});
  const TensorId s = tiny_.Input("opt_state:m.fc.weight.m", TensorKind::kOptimizerState, {4});
  tiny_.builder().Tie(w, s);
  const TensorId g = tiny_.In(Phase::kBackward).Fresh("g", {});
  const TensorId s1 = tiny_.In(Phase::kOptimizer).InPlace("lerp_", {s, g});
  const TensorId r = tiny_.Fresh("sqrt", {s1});
  tiny_.InPlace("addcdiv_", {w, r});
  tiny_.Fresh("step", {});
  Build();
  for (const char* op : {"lerp_", "sqrt", "addcdiv_", "g"}) EXPECT_EQ(ModuleOf(op), "m.fc") << op;
  EXPECT_EQ(ModuleOf("step"), "");
}

}  // namespace
}  // namespace placewright
