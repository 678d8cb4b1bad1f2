#include "transforms/split_backward.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "transforms/test_batched_steps.h"

namespace placewright {
namespace {

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
