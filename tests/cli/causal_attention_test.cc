// Attention under a causal mask in parts of its places, by hand, end to end.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "recorded_mlp.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

using CausalAttentionInParts = RecordedMlp;

// Attention under a causal mask whose queries are split by their places: x [2 samples, 6 places, 8] times one weight
// each is queries, keys and values of two heads; the loss is the sum of squares of what attention gives. `paired`: the
// places are seen as three pairs, too, so that they are two axes.
Json CausalAttention(bool paired) {
  Json ops = Json::array();
  const auto op = [&](const std::string& name, const std::string& target, Json inputs, Json args,
                      const std::vector<std::vector<int64_t>>& shapes, const char* phase) {
    Json outputs = Json::array();
    for (const auto& shape : shapes) outputs.push_back({{"shape", shape}, {"dtype", "f32"}});
    ops.push_back({{"name", name},
                   {"target", "aten." + target},
                   {"phase", phase},
                   {"scope", "attention"},
                   {"inputs", std::move(inputs)},
                   {"args", std::move(args)},
                   {"outputs", std::move(outputs)}});
  };
  const std::vector<int64_t> heads = {2, 2, 6, 4}, places = {2, 6, 2, 4}, rows = {12, 8};
  const std::string attention = "_scaled_dot_product_flash_attention_for_cpu";
  Json inputs = {{{"name", "input:x"}, {"kind", "input"}, {"shape", {2, 6, 8}}, {"dtype", "f32"}}};
  op("rows", "view.default", {"input:x"}, {"%0", rows}, {rows}, "fwd");
  if (paired) {
    const std::vector<int64_t> pairs = {2, 3, 2, 8};
    op("pairs", "view.default", {"input:x"}, {"%0", pairs}, {pairs}, "fwd");
  }
  for (const std::string w : {"q", "k", "v"}) {
    inputs.push_back(
        {{"name", "param:" + w}, {"kind", "param"}, {"shape", {8, 8}}, {"dtype", "f32"}});
    op(w, "mm.default", {"rows", "param:" + w}, {"%0", "%1"}, {rows}, "fwd");
    op(w + "_heads", "view.default", {w}, {"%0", places}, {places}, "fwd");
    op(w + "_inside", "transpose.int", {w + "_heads"}, {"%0", 1, 2}, {heads}, "fwd");
  }
  op("attend", attention + ".default", {"q_inside", "k_inside", "v_inside"},
     {"%0", "%1", "%2", 0.0, true}, {heads, {2, 2, 6}}, "fwd");
  op("squares", "mul.Tensor", {"attend:0", "attend:0"}, {"%0", "%0"}, {heads}, "fwd");
  op("loss", "sum.default", {"squares"}, {"%0"}, {{}}, "fwd");
  op("grad", "mul.Scalar", {"attend:0"}, {"%0", 2.0}, {heads}, "bwd");
  op("back", attention + "_backward.default",
     {"grad", "q_inside", "k_inside", "v_inside", "attend:0", "attend:1"},
     {"%0", "%1", "%2", "%3", "%4", "%5", 0.0, true}, {heads, heads, heads}, "bwd");
  op("columns", "t.default", {"rows"}, {"%0"}, {{8, 12}}, "bwd");
  int output = 0;
  for (const std::string w : {"q", "k", "v"}) {
    const std::string of = "back:" + std::to_string(output++);
    op(w + "_outside", "transpose.int", {of}, {"%0", 1, 2}, {places}, "bwd");
    op(w + "_flat", "view.default", {w + "_outside"}, {"%0", rows}, {rows}, "bwd");
    op(w + "_grad", "mm.default", {"columns", w + "_flat"}, {"%0", "%1"}, {{8, 8}}, "bwd");
    op(w + "_step", "add_.Tensor", {"param:" + w, w + "_grad"}, {"%0", "%1"}, {{8, 8}}, "opt");
  }
  return {{"name", "causal"}, {"n_ops", ops.size()}, {"n_edges", 36},
          {"inputs", inputs}, {"ops", ops},          {"outputs", {"loss"}}};
}

// Even and uneven parts of the places are those of one device.
TEST_F(CausalAttentionInParts, QueriesUnderACausalMaskAreSplitByTheirPlaces) {
  Write("mlp.json.gz", CausalAttention(/*paired=*/false).dump());
  const Json uneven = {{{"name", "cpu0"}, {"from", 0}, {"to", 1}},
                       {{"name", "cpu1"}, {"from", 1}, {"to", 6}}};
  for (const Json& devices : {Json{"cpu0", "cpu1"}, uneven}) {
    const Json layout = {{"groups", "*"}, {"axis", "input:x[1]"}, {"devices", devices}};
    Write("layouts.json", Json{{"layouts", Json::array({layout})}}.dump());
    const Outcome planned = Run({"plan", "mlp.json.gz", "-c", "two.yaml", "--layouts",
                                 "layouts.json", "-o", "places.plan.json"});
    ASSERT_EQ(planned.status, 0) << planned.err;
    ASSERT_EQ(Run({"export", "places.plan.json", "--to", "aten", "-o", "step.json"}).status, 0);
    EXPECT_THAT(Read("step.json"), HasSubstr("placewright.causal_attention_part"));
    EXPECT_THAT(Read("step.json"), HasSubstr("placewright.causal_attention_backward_part"));
    const Outcome checked = Run({"check", "places.plan.json", "--run"});
    EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
  }
}

// Of places that are two axes the outer one's parts lie together. The inner one's do not, so that attention is whole.
TEST_F(CausalAttentionInParts, QueriesUnderACausalMaskAreSplitByRunsOfPlaces) {
  Write("mlp.json.gz", CausalAttention(/*paired=*/true).dump());
  for (const char* const axis : {"input:x[1].0", "input:x[1].1"}) {
    const bool outer = std::string(axis).back() == '0';
    const Json layout = {{"groups", "*"}, {"axis", axis}, {"devices", {"cpu0", "cpu1"}}};
    Write("layouts.json", Json{{"layouts", Json::array({layout})}}.dump());
    const Outcome planned = Run({"plan", "mlp.json.gz", "-c", "two.yaml", "--layouts",
                                 "layouts.json", "-o", "places.plan.json"});
    ASSERT_EQ(planned.status, 0) << planned.err;
    ASSERT_EQ(Run({"export", "places.plan.json", "--to", "aten", "-o", "step.json"}).status, 0);
    const bool in_parts = Read("step.json").find("causal_attention_part") != std::string::npos;
    EXPECT_EQ(in_parts, outer) << axis;
    const Outcome checked = Run({"check", "places.plan.json", "--run"});
    EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
  }
}

}  // namespace
}  // namespace placewright
