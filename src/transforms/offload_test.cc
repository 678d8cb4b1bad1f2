#include "transforms/offload.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Layers "layers.i" of a product and an activation. The derivative of the activation reads what it made, that of the product
// a view of what entered the layer, which the forward pass has made.
Graph ChainOfLayers(int layers, int64_t rows = 16) {
  GraphBuilder builder("chain", "aten");
  const std::vector<int64_t> shape = {rows, 32};
  const auto input = [&](const char* name, TensorKind kind) {
    return builder.AddInput(name, kind, DType::kF32, shape).Take();
  };
  Phase phase = Phase::kForward;
  std::string module;
  const auto add = [&](const std::string& name, const std::string& type,
                       std::vector<TensorId> inputs, AliasKind alias = AliasKind::kFresh) {
    OpSpec op{.name = name, .type = "aten." + type, .phase = phase, .module = module};
    op.in_root = module.empty();
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = shape, .alias = alias}};
    if (alias != AliasKind::kFresh) op.outputs[0].alias_of = 0;
    return builder.AddOp(std::move(op)).Take()[0];
  };
  const TensorId w = input("param:w", TensorKind::kParameter);
  TensorId x = input("input:x", TensorKind::kInput);
  std::vector<TensorId> made, viewed;
  for (int i = 0; i < layers; ++i) {
    module = fmt::format("layers.{}", i);
    viewed.push_back(add(fmt::format("v{}", i), "alias.default", {x}, AliasKind::kView));
    module += ".up";
    const TensorId p = add(fmt::format("p{}", i), "mm.default", {x, w});
    module = fmt::format("layers.{}", i);
    made.push_back(x = add(fmt::format("a{}", i), "tanh.default", {p}));
  }
  module = "";
  const TensorId loss = add("loss", "neg.default", {x});
  phase = Phase::kBackward;
  TensorId g = add("g", "ones_like.default", {loss});
  for (size_t i = made.size(); i-- > 0;) {
    module = fmt::format("layers.{}", i);
    const TensorId da = add(fmt::format("da{}", i), "tanh_backward.default", {g, made[i]});
    add(fmt::format("dw{}", i), "mm.default", {viewed[i], da});
    g = add(fmt::format("dx{}", i), "mm.default", {da, w});
  }
  builder.SetOutputs({loss, g});
  return std::move(builder).Build().Take();
}

std::string LinesOfOps(const Graph& graph) {
  std::string text = "\n";
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    text += (op.phase == Phase::kForward ? "f " : "b ") + op.name + " =";
    for (const TensorId input : op.inputs) text += " " + graph.tensor(input).name;
    for (const OpId earlier : op.after) text += " after " + graph.op(earlier).name;
    text += "\n";
  }
  return text;
}

std::string Offloaded(const Graph& step, const std::vector<std::string>& set) {
  auto made = WithOffloading(step, set);
  if (!made.ok()) return made.error().ToString();
  return made.value() == nullptr ? "as it was" : LinesOfOps(*made.value());
}

// a0 and a1 leave; a2, whose backward pass comes next, stays. a1 comes back when da2 may begin, a0 when the first op does
// that reads a1.
TEST(Offloading, OfLayersIsFetchedALayerAhead) {
  const char* const text = R"(
f v0 = input:x
f p0 = input:x param:w
f a0 = p0
f a0@offload = a0
f v1 = a0
f p1 = a0 param:w
f a1 = p1
f a1@offload = a1
f v2 = a1
f p2 = a1 param:w
f a2 = p2
f loss = a2
b g = loss
b a1@fetch = a1@offload after g
b da2 = g a2
b a0@fetch = a0@offload after da2
b v2@fetch = a1@fetch
b dw2 = v2@fetch da2
b dx2 = da2 param:w
b da1 = dx2 a1@fetch
b v1@fetch = a0@fetch
b dw1 = v1@fetch da1
b dx1 = da1 param:w
b da0 = dx1 a0@fetch
b dw0 = v0 da0
b dx0 = da0 param:w
)";
  const Graph step = ChainOfLayers(3);
  EXPECT_EQ(Offloaded(step, {"full"}), text);
  EXPECT_EQ(Offloaded(step, {"layers.*"}), text);
}

// The second layer behind one waits for what leaves it.
TEST(Offloading, HoldsTheForwardPassUp) {
  EXPECT_THAT(Offloaded(ChainOfLayers(4), {"full"}),
              HasSubstr("f p2 = a1 param:w after a0@offload\n"));
}

// One module alone leaves, wherever it is: there is nothing that it could be fetched ahead of.
TEST(Offloading, OfOneModuleIsFetchedWhenItIsRead) {
  const std::string text = Offloaded(ChainOfLayers(3), {"layers.2"});
  EXPECT_THAT(text, HasSubstr("b a2@fetch = a2@offload after g\nb da2 = g a2@fetch\n"));
  EXPECT_THAT(text, Not(HasSubstr("a1@offload")));
}

TEST(Offloading, LeavesSmallTensors) {
  EXPECT_EQ(Offloaded(ChainOfLayers(3, 4), {"full"}), "as it was");
}

TEST(Offloading, KeepsGroupsAndModules) {
  const Graph step = ChainOfLayers(3);
  const auto made = WithOffloading(step, {"full"}).Take();
  EXPECT_EQ(made->group_count(), step.group_count());
  size_t copies = 0;
  for (const OpId id : made->ops()) {
    if (HostCopyOf(made->op(id)) == HostCopy::kNone) continue;
    ++copies;
    const OpId maker = made->FindOp(made->op(id).name.substr(0, 2));
    EXPECT_EQ(made->group(id), made->group(maker));
    EXPECT_EQ(made->op(id).module, made->op(maker).module);
  }
  EXPECT_EQ(copies, 4u);
}

TEST(Offloading, IsRefused) {
  const Graph step = ChainOfLayers(3);
  EXPECT_THAT(Offloaded(step, {"selective"}), HasSubstr("what is computed again"));
  EXPECT_THAT(Offloaded(step, {"blocks.*"}), HasSubstr("offload: \"blocks.*\" matches no module"));
}

}  // namespace
}  // namespace placewright
