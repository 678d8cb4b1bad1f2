// ONNX: ops that take element by element what they read, broadcast to one shape.
#include "sharding/rules/forms.h"

namespace placewright {
namespace {

// Before operator set 7 an attribute said where the smaller tensor's dimensions are.
void OnnxBroadcast(RuleMaker& maker, RuleFunction form) {
  if (maker.Argument(kByName, "broadcast") != nullptr) return maker.Fail();
  form(maker);
}

void OnnxPlain(RuleMaker& maker) { OnnxBroadcast(maker, Elementwise); }
void OnnxAddition(RuleMaker& maker) { OnnxBroadcast(maker, LinearTogether); }
void OnnxMultiplication(RuleMaker& maker) { OnnxBroadcast(maker, LinearInEach); }
void OnnxDivision(RuleMaker& maker) { OnnxBroadcast(maker, LinearInFirst); }

// In inference a Dropout gives what it reads; in training its numbers follow the element.
void OnnxDropout(RuleMaker& maker) {
  LinearInFirst(maker);
  maker.rule().draws_random = !maker.op().is_view;
}

void OnnxRandomLike(RuleMaker& maker) {
  Elementwise(maker);
  maker.rule().draws_random = true;
}

}  // namespace

std::vector<RuleRow> OnnxElementwiseRules() {
  return {{"Abs Acos Acosh And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr "
           "BitwiseXor Ceil Celu Clip Cos Cosh Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual "
           "HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Min Mish Mod Not "
           "Or PRelu Pow Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign "
           "Sqrt Tan Tanh ThresholdedRelu Where Xor",
           OnnxPlain},
          {"Add Cast Identity Mean Neg Sub Sum", OnnxAddition},
          {"Mul", OnnxMultiplication},
          {"Div", OnnxDivision},
          {"Dropout", OnnxDropout},
          {"Bernoulli RandomNormalLike RandomUniformLike", OnnxRandomLike}};
}

}  // namespace placewright
