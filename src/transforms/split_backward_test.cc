#include "transforms/split_backward.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "transforms/test_batched_steps.h"

namespace placewright {
namespace {

// Of y = conv(x, w): gradients of x, of w and of the bias, which other ops read.
Graph ConvolutionStep() {
  BatchedStepWriter step(2);
  const TensorId g = step.Input("input:g", {2, 6, 3, 3}), x = step.Input("input:x", {2, 2, 5, 5});
  const TensorId w = step.Input("param:w", {6, 2, 3, 3});
  step.Begin(Phase::kBackward);
  const auto numbers = [](int64_t a, int64_t b) {
    return Value(Value::List{Number(a), Number(b)});
  };
  const std::vector<TensorId> made = step.Ops(
      "back", "convolution_backward.default", {g, x, w}, {{2, 2, 5, 5}, {6, 2, 3, 3}, {6}},
      {Value(Value::List{Number(6)}), numbers(1, 1), numbers(0, 0), numbers(1, 1), Value(false),
       numbers(0, 0), Number(1), Value(Value::List{Value(true), Value(true), Value(true)})});
  step.Op("gx", "relu.default", {made[0]}, {2, 2, 5, 5});
  step.Begin(Phase::kOptimizer);
  step.Op("next", "sub_.Tensor", {w, made[1]}, {6, 2, 3, 3}, {}, AliasKind::kInPlace);
  return step.Build({});
}

TEST(SplitBackward, OfAConvolution) {
  const auto made = WithSplitBackward(ConvolutionStep()).Take();
  ASSERT_NE(made, nullptr);
  const OpId of_input = made->FindOp("back"), of_weights = made->FindOp("back.weights");
  ASSERT_TRUE(of_input.valid() && of_weights.valid());
  ASSERT_EQ(made->op(of_input).outputs.size(), 1);
  ASSERT_EQ(made->op(of_weights).outputs.size(), 2);
  EXPECT_EQ(made->tensor(made->op(of_input).outputs[0]).name, "back:0");
  EXPECT_EQ(made->tensor(made->op(of_weights).outputs[0]).name, "back:1");
  EXPECT_EQ(made->op(of_input).args.back(),
            Value(Value::List{Value(true), Value(false), Value(false)}));
  EXPECT_EQ(made->op(of_weights).args.back(),
            Value(Value::List{Value(false), Value(true), Value(true)}));
  EXPECT_EQ(made->op(of_input).inputs, made->op(of_weights).inputs);
  EXPECT_EQ(made->group(of_input), made->group(of_weights));
  EXPECT_EQ(made->tensor(made->op(made->FindOp("next")).inputs[1]).producer, of_weights);
  EXPECT_EQ(made->tensor(made->op(made->FindOp("gx")).inputs[0]).producer, of_input);
}

TEST(SplitBackward, OfNothing) { EXPECT_EQ(WithSplitBackward(Perceptron(4)).Take(), nullptr); }

}  // namespace
}  // namespace placewright
