#include "transforms/recompute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "graph/test_graphs.h"
#include "transforms/counter_draws.h"
#include "transforms/op_copy.h"
#include "transforms/test_recorded_steps.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Ops, what they read (with the version, where it is not the tensor's own) and wait for; of the forward pass marked so.
std::string Text(const Graph& graph) {
  std::string text = "\n";
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    text += (op.phase == Phase::kForward ? "f " : "b ") + op.name + " =";
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor& input = graph.tensor(op.inputs[i]);
      text += " " + input.name;
      if (op.input_versions[i] != input.version) text += "." + std::to_string(op.input_versions[i]);
    }
    for (const OpId earlier : op.after) text += " after " + graph.op(earlier).name;
    text += "\n";
  }
  return text;
}

std::string Rewritten(const Graph& step, const std::vector<std::string>& set) {
  auto made = WithRecomputation(step, set);
  if (!made.ok()) return made.error().ToString();
  return made.value() == nullptr ? "as it was" : Text(*made.value());
}

// Norm and product of each block again, since the activation's derivative reads the product; neither activation nor
// addition. sum0 enters the second block and is kept. Copies wait for the gradient that their first reader reads.
TEST(Recomputation, OfLayersIsWhatTheBackwardPassReads) {
  const Graph step = TwoBlocks();
  const char* const text = R"(
f norm0 = input:x
f up0 = norm0:0 param:w
f act0 = up0
f sum0 = act0 input:x
f norm1 = sum0
f up1 = norm1:0 param:w
f act1 = up1
f sum1 = act1 sum0
f loss = sum1
b g = loss
b norm1@recompute = sum0 after g
b up1@recompute = norm1@recompute:0 param:w
b dact1 = g up1@recompute
b dw1 = norm1@recompute:0 dact1
b dup1 = dact1 param:w
b dnorm1 = dup1 sum0 norm1@recompute:1
b dsum1 = dnorm1 g
b norm0@recompute = input:x after dsum1
b up0@recompute = norm0@recompute:0 param:w
b dact0 = dsum1 up0@recompute
b dw0 = norm0@recompute:0 dact0
b dup0 = dact0 param:w
b dnorm0 = dup0 input:x norm0@recompute:1
b dsum0 = dnorm0 dsum1
)";
  EXPECT_EQ(Rewritten(step, {"full"}), text);
  EXPECT_EQ(Rewritten(step, {"layers.*"}), text);
  EXPECT_EQ(Rewritten(step, {"layers.1", "layers.0", "layers.1.up"}), text);
}

// The derivatives of the perceptrons hold the norms' results until they are made: once these are made again, the copies.
TEST(Recomputation, OfWhatIsHeldHoldsTheCopies) {
  GraphBuilder builder("step", "aten");
  const Graph plain = TwoBlocks();
  IdVector<TensorId, TensorId> made(plain.tensor_count());
  std::vector<TensorId> tensor_of;
  std::vector<OpId> op_of;
  builder.set_batch(plain.batch());
  for (const TensorId id : plain.tensors()) {
    if (plain.tensor(id).producer.valid()) continue;
    made[id] = CopyInput(plain, id, builder).Take();
    tensor_of.push_back(id);
  }
  for (const OpId id : plain.ops()) {
    const std::vector<TensorId> added = builder.AddOp(CopyOfOp(plain, id, made)).Take();
    for (size_t i = 0; i < added.size(); ++i) made[plain.op(id).outputs[i]] = added[i];
    tensor_of.insert(tensor_of.end(), plain.op(id).outputs.begin(), plain.op(id).outputs.end());
    op_of.push_back(id);
  }
  for (const char* const block : {"0", "1"}) {
    const TensorId up = made[plain.FindTensor(std::string("up") + block)];
    builder.Hold(
        up, builder.added().tensors[made[plain.FindTensor(std::string("dup") + block)]].producer);
  }
  const auto step = FinishCopy(plain, std::move(builder), made, tensor_of, op_of);
  ASSERT_TRUE(step.ok());
  const auto again = WithRecomputation(*step.value(), {"full"});
  ASSERT_TRUE(again.ok());
  const Graph& graph = *again.value();
  std::vector<std::string> held;
  for (const TensorId id : graph.tensors()) {
    const OpId holder = graph.tensor(id).held_until;
    if (holder.valid()) held.push_back(graph.tensor(id).name + " by " + graph.op(holder).name);
  }
  EXPECT_THAT(held, ElementsAre("up1@recompute by dup1", "up0@recompute by dup0"));
}

TEST(Recomputation, OfOneModuleOfABlock) {
  // dup and dact read what is kept: of the norm's region its own result and statistics are made again, and up1 enters
  // no region. What the norm makes leaves it, and the product's derivative reads it as it was saved there.
  EXPECT_THAT(Rewritten(TwoBlocks(), {"layers.1.norm"}), HasSubstr(R"(
b dact1 = g up1
b dw1 = norm1:0 dact1
b dup1 = dact1 param:w
b norm1@recompute = sum0 after dup1
b dnorm1 = dup1 sum0 norm1@recompute:1
)"));
}

// Of the products of a layer, which are one, the first is kept: the norm alone is made again.
TEST(Recomputation, SelectiveKeepsProducts) {
  const std::string text = Rewritten(TwoBlocks(), {"selective"});
  EXPECT_THAT(text, HasSubstr("b dact1 = g up1\n"));
  EXPECT_THAT(text,
              HasSubstr("b norm1@recompute = sum0 after dact1\nb dw1 = norm1@recompute:0 dact1\n"));
  EXPECT_THAT(text, Not(HasSubstr("up1@recompute")));
}

TEST(Recomputation, KeepsGroupsModulesAndArguments) {
  const Graph step = TwoBlocks();
  const auto made = WithRecomputation(step, {"full"}).Take();
  EXPECT_EQ(made->group_count(), step.group_count());
  size_t copies = 0;
  for (const OpId id : made->ops()) {
    const OpId origin = RecomputedOp(*made, id);
    if (!origin.valid()) continue;
    ++copies;
    EXPECT_EQ(made->group(id), made->group(origin));
    EXPECT_EQ(made->op(id).module, made->op(origin).module);
    EXPECT_EQ(made->op(id).args, made->op(origin).args);
    EXPECT_EQ(made->op(id).type, made->op(origin).type);
  }
  EXPECT_EQ(copies, 4u);
}

// Two calls of one module, the second on what the first made: two regions, of which each is made again where its
// own backward pass begins. What the first call made entered the second and is kept.
TEST(Recomputation, OfAModuleThatIsCalledTwice) {
  StepByOps step;
  step.Input("input:x", TensorKind::kInput);
  step.In(Phase::kForward, "block").Op("a", "tanh.default", {"input:x"});
  step.Op("b", "tanh.default", {"a"});
  step.In(Phase::kForward, "").Op("between", "neg.default", {"b"});
  step.In(Phase::kForward, "block").Op("c", "tanh.default", {"b"});
  step.Op("d", "add.Tensor", {"c", "between"});
  step.In(Phase::kForward, "").Op("loss", "mean.default", {"d"});
  step.In(Phase::kBackward, "").Op("g", "ones_like.default", {"loss"});
  step.In(Phase::kBackward, "block").Op("dc", "tanh_backward.default", {"g", "c"});
  step.Op("dw", "mm.default", {"dc", "b"});
  step.Op("db", "tanh_backward.default", {"dc", "b"});
  step.Op("da", "tanh_backward.default", {"db", "a"});
  EXPECT_THAT(Rewritten(step.Build({"loss"}), {"block"}), HasSubstr(R"(
b g = loss
b c@recompute = b after g
b dc = g c@recompute
b dw = dc b
b db = dc b
b a@recompute = input:x after db
b da = db a@recompute
)"));
}

// A buffer is written in place twice: what reads the second content needs both writes, in their order.
TEST(Recomputation, OfContentsThatAreOverwritten) {
  StepByOps step;
  step.Input("input:x", TensorKind::kInput);
  step.In(Phase::kForward, "m").Op("a", "neg.default", {"input:x"});
  step.Op("view", "view.default", {"a"}, AliasKind::kView);
  step.Op("first", "relu_.default", {"a"}, AliasKind::kInPlace);
  step.Op("second", "tanh_.default", {"view"}, AliasKind::kInPlace);
  step.Op("out", "neg.default", {"first"});
  step.In(Phase::kForward, "").Op("loss", "mean.default", {"out"});
  step.In(Phase::kBackward, "").Op("g", "ones_like.default", {"loss"});
  step.In(Phase::kBackward, "m").Op("da", "tanh_backward.default", {"g", "first"});
  EXPECT_THAT(Rewritten(step.Build({"loss"}), {"m"}), HasSubstr(R"(
b g = loss
b a@recompute = input:x after g
b view@recompute = a@recompute
b first@recompute = a@recompute
b second@recompute = view@recompute.1
b da = g first@recompute.2
)"));
}

TEST(Recomputation, OfBatchNormsLeavesRunningStatisticsAlone) {
  StepByOps step;
  step.Input("buffer:mean", TensorKind::kBuffer);
  step.Input("buffer:var", TensorKind::kBuffer);
  step.Input("input:x", TensorKind::kInput);
  step.In(Phase::kForward, "m")
      .Op("norm", "native_batch_norm.default",
          {"input:x", "input:x", "input:x", "buffer:mean", "buffer:var"}, AliasKind::kFresh, {3, 4},
          3);
  step.Op("out", "tanh.default", {"norm:0"});
  step.In(Phase::kForward, "").Op("loss", "mean.default", {"out"});
  step.In(Phase::kBackward, "").Op("g", "ones_like.default", {"loss"});
  step.In(Phase::kBackward, "m").Op("dout", "tanh_backward.default", {"g", "out"});
  const auto made = WithRecomputation(step.Build({"loss"}), {"m"}).Take();
  const Op& copy = made->op(made->FindOp("norm@recompute"));
  EXPECT_TRUE(copy.writes.empty());
  EXPECT_EQ(copy.inputs.size(), 3u);
  EXPECT_EQ(copy.args, (std::vector<Value>{Ref(0), Ref(1), Ref(2), Value(), Value()}));
}

// Products of queries and keys, softmax, product with the values; a projection behind.
TEST(Recomputation, OfTheCoreOfAttention) {
  StepByOps step;
  for (const char* name : {"input:q", "input:k", "input:v"}) step.Input(name, TensorKind::kInput);
  step.Input("param:w", TensorKind::kParameter);
  step.In(Phase::kForward, "attention").Op("scores", "bmm.default", {"input:q", "input:k"});
  step.Op("scaled", "mul.Scalar", {"scores"});
  step.Op("weights", "_softmax.default", {"scaled"});
  step.Op("context", "bmm.default", {"weights", "input:v"});
  step.In(Phase::kForward, "attention.out").Op("y", "mm.default", {"context", "param:w"});
  step.In(Phase::kForward, "").Op("loss", "mean.default", {"y"});
  step.In(Phase::kBackward, "").Op("g", "ones_like.default", {"loss"});
  step.In(Phase::kBackward, "attention.out").Op("dw", "mm.default", {"context", "g"});
  step.In(Phase::kBackward, "attention").Op("dv", "bmm.default", {"weights", "g"});
  step.Op("dweights", "_softmax_backward_data.default", {"g", "weights"});
  EXPECT_THAT(Rewritten(step.Build({"loss"}), {"megatron"}), HasSubstr(R"(
b dw = context g
b scores@recompute = input:q input:k after g
b scaled@recompute = scores@recompute
b weights@recompute = scaled@recompute
b dv = weights@recompute g
)"));
}

// A module that draws a mask; its backward pass reads the mask.
Graph Drawing() {
  StepByOps step;
  step.Input("input:x", TensorKind::kInput);
  step.In(Phase::kForward, "drop").Op("empty", "empty_like.default", {"input:x"});
  step.Op("mask", "bernoulli_.float", {"empty"}, AliasKind::kInPlace);
  step.Op("out", "mul.Tensor", {"input:x", "mask"});
  step.In(Phase::kForward, "").Op("loss", "mean.default", {"out"});
  step.In(Phase::kBackward, "").Op("g", "ones_like.default", {"loss"});
  step.In(Phase::kBackward, "drop").Op("dx", "mul.Tensor", {"g", "mask"});
  return step.Build({"loss"});
}

TEST(Recomputation, KeepsTheNumberOfADraw) {
  const auto counted = WithCountedDraws(Drawing(), 5).Take();
  const auto made = WithRecomputation(*counted, {"drop"}).Take();
  const Op& copy = made->op(made->FindOp("mask@recompute"));
  EXPECT_EQ(copy.type, "placewright.counter_bernoulli_.default");
  EXPECT_EQ(copy.args, made->op(made->FindOp("mask")).args);
  EXPECT_EQ(made->op(made->FindOp("dx")).inputs[1], copy.outputs[0]);
}

TEST(Recomputation, RefusesWhatItCannotRepeat) {
  const auto expect = [](const Graph& step, ErrorCode code, const std::string& set,
                         const std::string& message) {
    const auto made = WithRecomputation(step, {set});
    ASSERT_FALSE(made.ok()) << set;
    EXPECT_EQ(made.error().code, code) << set;
    EXPECT_THAT(made.error().message, HasSubstr(message));
    EXPECT_EQ(made.error().place, "recompute");
    EXPECT_FALSE(made.error().remedy.empty());
  };
  expect(Drawing(), ErrorCode::kTransform, "drop",
         "mask (aten.bernoulli_.float) draws from a generator");
  expect(TwoBlocks(), ErrorCode::kUnknownName, "layer", "\"layer\" matches no module");
  expect(TwoBlocks(), ErrorCode::kTransform, "megatron", "no attention");
  expect(Drawing(), ErrorCode::kTransform, "full", "no layers");

  // `x` is overwritten behind the module that has read it.
  const auto overwriting = [](bool by_module) {
    StepByOps step;
    step.Input("buffer:b", TensorKind::kBuffer);
    step.In(Phase::kForward, "m");
    if (by_module) {
      step.Op("a", "observe.default", {"buffer:b"}, AliasKind::kFresh, {0});
    } else {
      step.Op("a", "tanh.default", {"buffer:b"});
    }
    step.In(Phase::kForward, "");
    if (!by_module) step.Op("write", "add_.Scalar", {"buffer:b"}, AliasKind::kInPlace);
    step.Op("loss", "mean.default", {"a"});
    step.In(Phase::kBackward, "").Op("g", "ones_like.default", {"loss"});
    step.In(Phase::kBackward, "m").Op("da", "tanh_backward.default", {"g", "a"});
    return step.Build({"loss"});
  };
  expect(overwriting(false), ErrorCode::kTransform, "m",
         "a reads buffer:b, which write overwrites before the backward pass");
  expect(overwriting(true), ErrorCode::kTransform, "m", "a (aten.observe.default) writes buffer:b");
}

TEST(Recomputation, OfAForwardPassChangesNothing) {
  StepByOps step;
  step.Input("input:x", TensorKind::kInput);
  step.In(Phase::kForward, "m").Op("a", "tanh.default", {"input:x"});
  EXPECT_EQ(Rewritten(step.Build({"a"}), {"m"}), "as it was");
}

}  // namespace
}  // namespace placewright
