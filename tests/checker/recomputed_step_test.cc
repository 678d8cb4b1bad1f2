// The proof that a step with recomputation computes what the step did, and what it names where one place of it is
// another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "check_plan/transforms/congruence.h"
#include "graph/test_graphs.h"
#include "transforms/counter_draws.h"
#include "transforms/recompute.h"
#include "transforms/split_backward.h"
#include "transforms/test_batched_steps.h"
#include "transforms/test_recorded_steps.h"

namespace placewright::check {
namespace {

using ::testing::HasSubstr;

Graph Again(const Graph& step, const std::string& set) {
  return std::move(*WithRecomputation(step, {set}).Take());
}

void ExpectViolation(const Graph& original, const Graph& step, ViolationKind kind,
                     const std::string& message) {
  const MaybeViolation violation = CheckCongruence(original, step);
  ASSERT_TRUE(violation) << message;
  EXPECT_EQ(ToString(violation->kind), ToString(kind)) << violation->message;
  EXPECT_THAT(violation->message, HasSubstr(message));
}

// `op` of the step, to be changed.
Op& Edit(Graph& step, const std::string& op) {
  return GraphTestPeer::Data(step).ops[step.FindOp(op)];
}

// Two masks drawn for two products, of which the backward pass reads both.
Graph TwoMasks() {
  StepByOps step;
  step.Input("input:x", TensorKind::kInput);
  step.In(Phase::kForward, "drop");
  for (const char* n : {"0", "1"}) {
    const std::string i(n);
    step.Op("empty" + i, "empty_like.default", {"input:x"});
    step.Op("mask" + i, "bernoulli_.float", {"empty" + i}, AliasKind::kInPlace);
    step.Op("out" + i, "mul.Tensor", {"input:x", "mask" + i});
  }
  step.In(Phase::kForward, "").Op("loss", "add.Tensor", {"out0", "out1"});
  step.In(Phase::kBackward, "").Op("g", "ones_like.default", {"loss"});
  step.In(Phase::kBackward, "drop");
  step.Op("dx0", "mul.Tensor", {"g", "mask0"});
  step.Op("dx1", "mul.Tensor", {"g", "mask1"});
  return step.Build({"loss", "dx0", "dx1"});
}

TEST(Congruence, HoldsForWhatTheTransformMakes) {
  const Graph blocks = TwoBlocks();
  EXPECT_FALSE(CheckCongruence(blocks, blocks));
  for (const char* set : {"full", "selective", "layers.1.norm"}) {
    const MaybeViolation violation = CheckCongruence(blocks, Again(blocks, set));
    EXPECT_FALSE(violation) << violation->message;
  }
  const auto masks = WithCountedDraws(TwoMasks(), 5).Take();
  const MaybeViolation violation = CheckCongruence(*masks, Again(*masks, "drop"));
  EXPECT_FALSE(violation) << violation->message;
}

// The second mask's copy draws as the first one does.
TEST(Congruence, NamesAnotherDraw) {
  const auto masks = WithCountedDraws(TwoMasks(), 5).Take();
  Graph step = Again(*masks, "drop");
  Edit(step, "mask1@recompute").args[3] = Value(int64_t{7});
  ExpectViolation(*masks, step, ViolationKind::kWrongArgument,
                  "mask1@recompute draws as number 7, the original as number 1");
}

// Number 0 is drawn for the same tensor in the original, too: what reads it is wrong, not the draw.
TEST(Congruence, NamesWhatReadsAnotherMask) {
  const auto masks = WithCountedDraws(TwoMasks(), 5).Take();
  Graph step = Again(*masks, "drop");
  Edit(step, "mask1@recompute").args[3] = Value(int64_t{0});
  ExpectViolation(*masks, step, ViolationKind::kWrongInput,
                  "dx1 reads mask1@recompute, which is not what mask1 holds");
}

// A sequence goes on: the second draw of a mask is another one.
TEST(Congruence, NamesADrawFromASequence) {
  const auto drawing = [](bool again) {
    StepByOps step;
    step.Input("input:x", TensorKind::kInput);
    step.In(Phase::kForward, "drop").Op("mask", "bernoulli.default", {"input:x"});
    if (again) step.Op("mask@recompute", "bernoulli.default", {"input:x"});
    return step.Build({"mask"});
  };
  ExpectViolation(drawing(false), drawing(true), ViolationKind::kWrongArgument,
                  "mask@recompute makes what no op of the original makes");
}

TEST(Congruence, NamesAnotherOperatorAndAMissingOp) {
  const Graph blocks = TwoBlocks();
  Graph step = Again(blocks, "full");
  Edit(step, "up1@recompute").type = "aten.mul.Tensor";
  ExpectViolation(blocks, step, ViolationKind::kWrongArgument, "aten.mul.Tensor");
  StepByOps less;
  less.Input("param:w", TensorKind::kParameter);
  less.Input("input:x", TensorKind::kInput);
  ExpectViolation(blocks, less.Build(), ViolationKind::kMissingOp, "the step has no op norm0");
}

// Every input of every copy, and every one that reads a copy, is taken from another tensor of the same size.
TEST(Congruence, NamesEveryOtherInput) {
  const Graph blocks = TwoBlocks();
  const Graph whole = Again(blocks, "full");
  int changed = 0;
  for (const OpId id : whole.ops()) {
    for (size_t i = 0; i < whole.op(id).inputs.size(); ++i) {
      for (const TensorId other : whole.tensors()) {
        const OpId producer = whole.tensor(other).producer;
        if (producer.valid() && producer >= id) continue;
        const std::string name = whole.tensor(other).name;
        const std::string due = whole.tensor(whole.op(id).inputs[i]).name;
        // A copy holds what its original does.
        const auto plain = [](std::string text) {
          const size_t at = text.find("@recompute");
          return at == std::string::npos ? text : text.erase(at, std::string("@recompute").size());
        };
        if (plain(name) == plain(due)) continue;
        Graph step = Again(blocks, "full");
        Edit(step, whole.op(id).name).inputs[i] = other;
        const MaybeViolation violation = CheckCongruence(blocks, step);
        ASSERT_TRUE(violation) << whole.op(id).name << " reads " << name;
        EXPECT_EQ(violation->kind, ViolationKind::kWrongInput) << violation->message;
        ++changed;
      }
    }
  }
  EXPECT_GT(changed, 400);
}

// A copy that reads a buffer before it was overwritten, where the original reads it behind.
TEST(Congruence, NamesAStaleValue) {
  StepByOps step;
  step.Input("input:x", TensorKind::kInput);
  step.In(Phase::kForward, "m").Op("a", "neg.default", {"input:x"});
  step.Op("b", "relu_.default", {"a"}, AliasKind::kInPlace);
  step.Op("out", "neg.default", {"a"});
  step.In(Phase::kForward, "").Op("loss", "mean.default", {"out"});
  step.In(Phase::kBackward, "").Op("g", "ones_like.default", {"loss"});
  step.In(Phase::kBackward, "m").Op("da", "tanh_backward.default", {"g", "out"});
  const Graph original = step.Build({"loss", "da"});
  Graph again = Again(original, "m");
  EXPECT_FALSE(CheckCongruence(original, again));
  Edit(again, "out@recompute").input_versions[0] = 0;
  ExpectViolation(original, again, ViolationKind::kStaleParameter,
                  "out@recompute reads a@recompute at version 0, where version 1 is due");
}

// Running statistics move once a step.
TEST(Congruence, NamesASecondUpdateOfRunningStatistics) {
  const auto norm = [](bool again) {
    StepByOps step;
    for (const char* name : {"buffer:mean", "buffer:var"}) step.Input(name, TensorKind::kBuffer);
    step.Input("input:x", TensorKind::kInput);
    const std::vector<std::string> inputs = {"input:x", "input:x", "input:x", "buffer:mean",
                                             "buffer:var"};
    step.In(Phase::kForward, "m")
        .Op("norm", "native_batch_norm.default", inputs, AliasKind::kFresh, {3, 4}, 3);
    if (again) {
      step.In(Phase::kBackward, "m")
          .Op("norm@recompute", "native_batch_norm.default", inputs, AliasKind::kFresh, {3, 4}, 3);
    }
    return step.Build({"norm:0"});
  };
  ExpectViolation(norm(false), norm(true), ViolationKind::kDoubledSample,
                  "norm@recompute writes buffer:mean a second time");
}

// One backward op makes all gradients, or one those of the input and one the others.
TEST(Congruence, OfGradientsThatTwoOpsMake) {
  const Graph whole = ConvolutionStep();
  Graph step = std::move(*WithSplitBackward(whole).Take());
  const MaybeViolation violation = CheckCongruence(whole, step);
  EXPECT_FALSE(violation) << violation->message;
  const auto mask = [](bool input, bool weight) {
    return Value(Value::List{Value(input), Value(weight), Value(weight)});
  };
  Edit(step, "back.weights").args[10] = mask(true, false);
  ExpectViolation(whole, step, ViolationKind::kWrongArgument,
                  "back.weights makes results that its mask leaves out");
  Edit(step, "back.weights").args[10] = mask(false, true);
  Edit(step, "back.weights").args[4] = Value(Value::List{Number(2), Number(1)});
  ExpectViolation(whole, step, ViolationKind::kWrongArgument,
                  "back.weights makes what no op of the original makes");
}

}  // namespace
}  // namespace placewright::check
