#include "transforms/precision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "transforms/accumulate.h"
#include "transforms/test_batched_steps.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

// "wt f32 = t(w.cast)", a line each.
std::string TypesOf(const Graph& graph) {
  std::string text = "\n";
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    std::vector<std::string> read;
    for (const TensorId tensor : op.inputs) read.push_back(graph.tensor(tensor).name);
    const size_t dot = op.type.find('.');
    text +=
        fmt::format("{} {} = {}({})\n", op.name, ToString(graph.tensor(op.outputs[0]).dtype),
                    op.type.substr(dot + 1, op.type.rfind('.') - dot - 1), fmt::join(read, ", "));
  }
  return text;
}
std::string Of(const Graph& step, const Words& words) {
  const auto made = WithPrecision(step, words);
  if (!made.ok()) return made.error().ToString();
  return made.value() == nullptr ? "unchanged" : TypesOf(*made.value());
}

// The update is of 64 bits, all before it of 32; the gradient is summed in 64.
TEST(Precision, OfMastersThatAreWider) {
  EXPECT_EQ(Of(Perceptron(4), {"param=f32", "reduce=f64", "master=f64"}), R"(
w.cast f32 = _to_copy(param:w)
wt f32 = t(w.cast)
p f32 = mm(input:x, wt)
loss f32 = mse_loss(p, input:y)
one f32 = ones_like(loss)
gp f32 = mse_loss_backward(one, p, input:y)
gpt f32 = t(gp)
gw f32 = mm(gpt, input:x)
gw.cast f64 = _to_copy(gw)
next f64 = sub_(param:w, gw.cast)
)");
}

// What is summed is as it was made, and cast where the parameter lies: for the sum's type that is where the gradient does.
TEST(Precision, CastsLieWithWhatTheyAreOf) {
  const Graph step = Perceptron(4);
  const auto late = WithPrecision(step, {"master=f64"}).Take();
  const auto group = [&](const Graph& graph, const char* name) {
    return graph.group(graph.FindOp(name));
  };
  EXPECT_EQ(group(*late, "w.cast"), group(*late, "next"));
  EXPECT_EQ(group(*late, "gw.master"), group(*late, "next"));
  EXPECT_NE(group(*late, "gw"), group(*late, "next"));
  const auto early = WithPrecision(step, {"reduce=f64", "master=f64"}).Take();
  EXPECT_EQ(group(*early, "gw.cast"), group(*early, "gw"));
  EXPECT_FALSE(early->FindOp("gw.master").valid());
  const auto both = WithPrecision(step, {"reduce=bf16 master=f64"}).Take();
  EXPECT_EQ(group(*both, "gw.cast"), group(*both, "gw"));
  EXPECT_EQ(group(*both, "gw.master"), group(*both, "next"));
  EXPECT_EQ(both->tensor(both->FindTensor("param:w")).dtype, DType::kF64);
}

// Of a type that it has already nothing is cast, and gradients alone where only they are summed in another.
TEST(Precision, CastsNothingToItsOwnType) {
  const Graph step = Perceptron(4);
  EXPECT_EQ(Of(step, {"param=f32", "reduce=f32", "master=f32"}), "unchanged");
  EXPECT_THAT(Of(step, {"reduce=bf16"}),
              HasSubstr("gw.cast bf16 = _to_copy(gw)\ngw.master f32 = _to_copy(gw.cast)\n"
                        "next f32 = sub_(param:w, gw.master)\n"));
}

// Micro-batches are summed in the type in which devices are.
TEST(Precision, MicroBatchesAreSummedInTheReducedType) {
  const auto wider = WithPrecision(Perceptron(4), {"reduce=f64,master=f64"}).Take();
  const std::string text = TypesOf(*WithAccumulation(*wider, 2).Take());
  EXPECT_THAT(text, HasSubstr("gw.cast@2 f64 = _to_copy(gw@2)\n"
                              "gw.cast.sum@2 f64 = add(gw.cast@1, gw.cast@2)\n"
                              "next f64 = sub_(param:w, gw.cast.sum@2)\n"));
}

// Buffers of gradients change no op, and the step says that it has them.
TEST(Precision, OfKeptGradientsIsTheStep) {
  const Graph step = Perceptron(4);
  const Transforms kept = TransformsFor({}, {"gradients=kept"});
  const auto made = ApplyTransforms(step, kept).Take();
  EXPECT_EQ(TypesOf(*made), TypesOf(step));
  EXPECT_TRUE(KeepsGradients(*made));
  EXPECT_FALSE(KeepsGradients(step));
  EXPECT_EQ(Of(step, {"gradients=made"}), "unchanged");
}

TEST(Precision, IsRefused) {
  const Graph step = Perceptron(4);
  EXPECT_THAT(Of(step, {"gradients=lost"}), HasSubstr("\"gradients=lost\" is unknown"));
  EXPECT_THAT(Of(step, {"decoder.*", "gradients=kept"}),
              HasSubstr("gradients are kept of all modules"));
  EXPECT_THAT(Of(step, {"param=bf16"}),
              HasSubstr("the step computes with \"param:w\" in f32, not in bf16"));
  EXPECT_THAT(Of(step, {"param=int8"}), HasSubstr("\"param=int8\" is no type of floats"));
  EXPECT_THAT(Of(step, {"parameters=f32"}), HasSubstr("\"parameters=f32\" is unknown"));
  EXPECT_THAT(Of(step, {"master=bf16"}), HasSubstr("master=bf16 is shorter than \"param:w\""));
  EXPECT_THAT(Of(step, {"decoder.*", "master=f64"}),
              HasSubstr("no update writes a parameter of these modules"));
  EXPECT_EQ(WithPrecision(step, {"param=bf16"}).error().code, ErrorCode::kTransform);
}

}  // namespace
}  // namespace placewright
