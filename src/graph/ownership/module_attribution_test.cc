#include "graph/ownership/module_attribution.h"

#include <gtest/gtest.h>

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

TEST(ModulePath, OfParameters) {
  EXPECT_EQ(ModuleOfParameter("param:m.fc.weight"), "m.fc");
  EXPECT_EQ(ModuleOfParameter("param:weight"), "");
  EXPECT_EQ(ModuleOfParameter("m.fc.weight"), "m.fc");
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
  EXPECT_EQ(ModuleOf("mask"), "m.1.norm");          // nothing to read from: by its reader
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
  const TensorId g2 = Backward("aten.gelu_backward.default", "by_name", {g1, y});
  const TensorId g3 = Backward("aten.mul.Tensor", "by_input", {g1, z});
  const TensorId sum = tiny_.Fresh("accumulate", {g2, g3});
  Backward("aten.mm.default", "by_parameter", {sum, w});
  Build();
  EXPECT_EQ(ModuleOf("ones_like"), "m.head");  // its gradient's consumer
  EXPECT_EQ(ModuleOf("by_output"), "m.head");  // a *_backward op saved the maker's output
  EXPECT_EQ(ModuleOf("by_name"), "m.act");     // gelu read y; mm made it
  EXPECT_EQ(ModuleOf("by_input"), "m.head");   // head read z; gelu made it
  EXPECT_EQ(ModuleOf("accumulate"), "m.fc");   // reads gradients only: its consumer
  EXPECT_EQ(ModuleOf("by_parameter"), "m.fc");
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
