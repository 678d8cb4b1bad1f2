#include "capture/autocast/autocast.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "aten/failure.h"
#include "capture/step/model_step.h"
#include "capture/step/tiny_models.h"

namespace placewright {
namespace {

// What torch.autocast documents of operators of each kind.
TEST(Autocast, CastsWhatOperatorsWant) {
  const at::Tensor a = at::randn({4, 4}), b = at::randn({4, 4});
  const AutocastScope scope(at::kBFloat16);
  const at::Tensor narrow = at::mm(a, b);
  EXPECT_EQ(narrow.scalar_type(), at::kBFloat16);
  EXPECT_EQ(at::linear(a, b, at::randn({4})).scalar_type(), at::kBFloat16);
  EXPECT_EQ(at::matmul(narrow, b).scalar_type(), at::kBFloat16);
  EXPECT_EQ(at::softmax(narrow, 1).scalar_type(), at::kFloat);
  EXPECT_EQ(at::sum(narrow).scalar_type(), at::kFloat);
  EXPECT_EQ(at::exp(narrow).scalar_type(), at::kFloat);
  EXPECT_EQ(at::relu(narrow).scalar_type(), at::kBFloat16);
  EXPECT_EQ(at::add(narrow, a).scalar_type(), at::kFloat);
  EXPECT_EQ(at::addcmul(a, narrow, narrow).scalar_type(), at::kFloat);
  EXPECT_EQ(at::cat({narrow, narrow}).scalar_type(), at::kBFloat16);
  EXPECT_EQ(at::mm(a.to(at::kDouble), b.to(at::kDouble)).scalar_type(), at::kDouble);
  EXPECT_EQ(at::norm(narrow).scalar_type(), at::kFloat);
  EXPECT_EQ(at::layer_norm(narrow, {4}).scalar_type(), at::kFloat);
  EXPECT_EQ(at::bmm(a.unsqueeze(0), b.unsqueeze(0)).scalar_type(), at::kBFloat16);
  EXPECT_EQ(at::nll_loss(narrow, at::zeros({4}, at::kLong)).scalar_type(), at::kFloat);
  // Its log_softmax is asked for the type of the input, which stays.
  EXPECT_EQ(at::cross_entropy_loss(narrow, at::zeros({4}, at::kLong)).scalar_type(), at::kFloat);
  // What is written into is left as it is.
  at::Tensor out = at::zeros({4, 4});
  at::mm_out(out, a, b);
  EXPECT_GT(out.abs().sum().item<float>(), 0);
  EXPECT_THROW(at::binary_cross_entropy(at::sigmoid(narrow), at::ones({4, 4})), TorchFailure);
}

TEST(Autocast, EndsWithItsScope) {
  const at::Tensor a = at::randn({2, 2});
  {
    const AutocastScope none(std::nullopt);
    EXPECT_EQ(at::mm(a, a).scalar_type(), at::kFloat);
  }
  { const AutocastScope scope(at::kBFloat16); }
  EXPECT_EQ(at::mm(a, a).scalar_type(), at::kFloat);
}

TEST(Autocast, GradientsComeBackInTheTypeOfTheParameter) {
  at::Tensor w = at::randn({3, 3}).requires_grad_(true);
  const at::Tensor x = at::randn({2, 3});
  at::Tensor loss;
  {
    const AutocastScope scope(at::kBFloat16);
    loss = at::mse_loss(at::mm(at::mm(x, w), w), at::zeros({2, 3}));
  }
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  loss.backward();
  EXPECT_EQ(w.grad().scalar_type(), at::kFloat);
  EXPECT_GT(w.grad().abs().sum().item<float>(), 0);
}

// A step of a perceptron: two layers, so that four parameters are cast once each beside the input; in
// f16 the backward pass begins with the scale, and every gradient is divided by it.
TEST(Autocast, StepsHaveEachCastOnceAndF16ItsScale) {
  for (const CapturePrecision precision : {CapturePrecision::kBf16, CapturePrecision::kF16}) {
    CaptureRequest request{"mlp", Training::kSgd, kTinyMlp};
    request.values["dropout"] = 0;
    request.precision = precision;
    Result<ModelStep> step = ModelStep::Build(request, true);
    ASSERT_TRUE(step.ok()) << step.error().ToString();
    const Result<ModelStep::Recording> recording = step.value().Record();
    ASSERT_TRUE(recording.ok()) << recording.error().ToString();
    const Graph& graph = recording.value().step.graph;
    const bool f16 = precision == CapturePrecision::kF16;
    size_t parameters_cast = 0, scaled = 0, starts = 0, products = 0;
    for (const OpId id : graph.ops()) {
      const Op& op = graph.op(id);
      const bool cast = op.type == "aten._to_copy.default" && op.phase == Phase::kForward;
      parameters_cast += cast && graph.tensor(op.inputs[0]).kind == TensorKind::kParameter ? 1 : 0;
      const auto is = [&](const char* type, double number) {
        return op.type == type &&
               std::find(op.args.begin(), op.args.end(), Value(number)) != op.args.end();
      };
      scaled += is("aten.mul_.Tensor", 1 / ModelStep::kLossScale) ||
                        is("aten.mul_.Scalar", 1 / ModelStep::kLossScale)
                    ? 1
                    : 0;
      starts += op.type == "aten.full_like.default" ? 1 : 0;
      if (op.type != "aten.addmm.default") continue;
      ++products;
      EXPECT_EQ(graph.tensor(op.outputs[0]).dtype, f16 ? DType::kF16 : DType::kBF16);
    }
    EXPECT_EQ(parameters_cast, 2 * products);
    EXPECT_EQ(parameters_cast, step.value().parameters().size());
    EXPECT_EQ(scaled, f16 ? parameters_cast : 0);
    EXPECT_EQ(starts, f16 ? 1u : 0u);
  }
}

}  // namespace
}  // namespace placewright
