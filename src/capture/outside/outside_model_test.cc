// Losses of models that bring none, against numbers worked out by hand.
#include "capture/outside/outside_model.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "aten/failure.h"
#include "capture/meta/meta_run.h"

namespace placewright {
namespace {

using testing::HasSubstr;

// Gives what the function makes of a parameter of one element and of the input.
class Given : public OutsideModel {
 public:
  using Body = std::function<Model::Tensors(const at::Tensor& w, const at::Tensor& x)>;
  Given(LossKind loss, double w, Body body) : OutsideModel(loss), body_(std::move(body)) {
    register_parameter("w", at::full({}, w));
  }
  std::vector<NamedTensor> MakeInputs() const override { return {{"x", at::full({2}, 1.0)}}; }

 protected:
  Model::Tensors RunModel(const Model::Tensors& inputs) override {
    return body_(named_parameters()["w"], inputs.at(0));
  }

 private:
  Body body_;
};

struct Step {
  std::vector<std::string> targets;
  Model::Tensors inputs, outputs;
};

Step Prepare(Given& model) {
  Step step;
  step.inputs = {model.MakeInputs()[0].tensor};
  for (NamedTensor& target : model.MakeTargets(step.inputs)) {
    step.targets.push_back(target.name);
    step.inputs.push_back(target.tensor);
  }
  step.outputs = model.Forward(step.inputs);
  return step;
}

double LossOf(Given& model, const Step& step) {
  const at::Tensor loss = model.Loss(step.outputs, step.inputs);
  EXPECT_EQ(loss.dim(), 0);
  EXPECT_TRUE(loss.requires_grad());
  return loss.item<double>();
}

Error ErrorOf(Given& model) {
  const Status status = CatchFailure([&] {
    const Step step = Prepare(model);
    model.Loss(step.outputs, step.inputs);
  });
  EXPECT_FALSE(status.ok());
  return status.ok() ? Error{} : status.error();
}

TEST(OutsideModel, MeanIsThatOfEveryOutputOfFloats) {
  // 2 (1 + 2 + 3) / 3 = 4, and 2 x 5 = 10 of one element; the integers do not count.
  Given model(LossKind::kMean, 2, [](const at::Tensor& w, const at::Tensor&) {
    return Model::Tensors{w * at::arange(1, 4), at::ones({7}, at::kLong), (w * 5).reshape({1, 1})};
  });
  const Step step = Prepare(model);
  EXPECT_TRUE(step.targets.empty());
  EXPECT_DOUBLE_EQ(LossOf(model, step), 14);
}

TEST(OutsideModel, MeanSquaredDifferenceFromItsTarget) {
  Given model(LossKind::kMeanSquared, 3,
              [](const at::Tensor& w, const at::Tensor& x) { return Model::Tensors{w * x}; });
  Step step = Prepare(model);
  EXPECT_EQ(step.targets, std::vector<std::string>{"target"});
  EXPECT_EQ(step.inputs[1].sizes(), at::IntArrayRef({2}));
  step.inputs[1] = at::arange(1, 3).to(at::kFloat);
  // (3 - 1)^2 = 4 and (3 - 2)^2 = 1: 2.5.
  EXPECT_DOUBLE_EQ(LossOf(model, step), 2.5);
}

TEST(OutsideModel, CrossEntropyTakesTheLastDimensionOfUpToThreeElseTheSecond) {
  // Three classes with weights 1, 2, 3 of 6: class t costs ln(6 / (t + 1)). Targets t = 0, 1, 2 in
  // turn, so that a wrong dimension gives another number or other sizes.
  struct Row {
    std::vector<int64_t> output, target;
    int64_t classes;
  };
  const Row rows[] = {{{3}, {}, 0},
                      {{6, 3}, {6}, 1},
                      {{2, 6, 3}, {2, 6}, 2},
                      {{2, 3, 3, 6}, {2, 3, 6}, 1},
                      {{1, 3, 2, 2, 3}, {1, 2, 2, 3}, 1}};
  for (const Row& row : rows) {
    Given model(LossKind::kCrossEntropy, 1, [&](const at::Tensor& w, const at::Tensor&) {
      std::vector<int64_t> shape(row.output.size(), 1);
      shape[static_cast<size_t>(row.classes)] = 3;
      const at::Tensor logits = at::log(at::arange(1, 4).to(at::kFloat)).view(shape);
      return Model::Tensors{w * logits.expand(row.output).contiguous()};
    });
    Step step = Prepare(model);
    ASSERT_EQ(step.inputs.size(), 2u);
    at::Tensor& target = step.inputs[1];
    EXPECT_EQ(target.sizes(), at::IntArrayRef(row.target));
    EXPECT_EQ(target.scalar_type(), at::kLong);
    EXPECT_TRUE(((target >= 0) & (target < 3)).all().item<bool>());
    target = (at::arange(target.numel()) % 3).view(row.target);
    const double all = (std::log(6.0) + std::log(3.0) + std::log(2.0)) / 3;
    EXPECT_NEAR(LossOf(model, step), row.target.empty() ? std::log(6.0) : all, 1e-6)
        << row.output.size();
  }
}

TEST(OutsideModel, TargetsAreNamedByTheirOutputs) {
  Given model(LossKind::kCrossEntropy, 0, [](const at::Tensor& w, const at::Tensor&) {
    return Model::Tensors{w * at::ones({2, 4}), at::ones({2}, at::kLong), w * at::ones({2, 8})};
  });
  const Step step = Prepare(model);
  EXPECT_EQ(step.targets, (std::vector<std::string>{"target0", "target2"}));
  // Equal classes: ln 4 + ln 8.
  EXPECT_NEAR(LossOf(model, step), std::log(32.0), 1e-6);
}

TEST(OutsideModel, OutputsThatDependOnNoParameterAreLeftOut) {
  Given model(LossKind::kMeanSquared, 3, [](const at::Tensor& w, const at::Tensor& x) {
    return Model::Tensors{x * 2, w * x};
  });
  Step step = Prepare(model);
  ASSERT_EQ(step.inputs.size(), 3u);
  step.inputs[2] = at::full({2}, 1.0);
  EXPECT_DOUBLE_EQ(LossOf(model, step), 4);  // (3 - 1)^2
}

TEST(OutsideModel, TheFirstOutputMayBeTheLoss) {
  Given model(LossKind::kOutput, 3, [](const at::Tensor& w, const at::Tensor& x) {
    return Model::Tensors{at::ones({}, at::kLong), (w * 2).reshape({1, 1}), w * x};
  });
  const Step step = Prepare(model);
  EXPECT_TRUE(step.targets.empty());
  EXPECT_DOUBLE_EQ(LossOf(model, step), 6);
}

TEST(OutsideModel, NothingToTrainIsNamed) {
  const auto fixed = [](const at::Tensor&, const at::Tensor& x) { return Model::Tensors{x}; };
  for (const LossKind loss :
       {LossKind::kMean, LossKind::kMeanSquared, LossKind::kCrossEntropy, LossKind::kOutput}) {
    Given model(loss, 1, fixed);
    const Error error = ErrorOf(model);
    EXPECT_EQ(error.code, ErrorCode::kNotRecordable);
    EXPECT_THAT(error.ToString(), HasSubstr(std::string(ToString(loss))));
    EXPECT_THAT(error.remedy, HasSubstr("--train none"));
  }
  Given whole(LossKind::kMean, 1, [](const at::Tensor&, const at::Tensor& x) {
    return Model::Tensors{x.to(at::kLong)};
  });
  EXPECT_EQ(ErrorOf(whole).code, ErrorCode::kNotRecordable);
  Given vector(LossKind::kOutput, 1, [](const at::Tensor& w, const at::Tensor& x) {
    return Model::Tensors{w * x, w};
  });
  EXPECT_THAT(ErrorOf(vector).remedy, HasSubstr("one element"));
  Given single(LossKind::kCrossEntropy, 1,
               [](const at::Tensor& w, const at::Tensor&) { return Model::Tensors{w * 2}; });
  EXPECT_EQ(ErrorOf(single).code, ErrorCode::kNotRecordable);
}

TEST(OutsideModel, WithoutMemoryTheShapesAreTheSame) {
  for (const LossKind loss : {LossKind::kMean, LossKind::kMeanSquared, LossKind::kCrossEntropy}) {
    const Status status = OnMeta([&] {
      Given model(loss, 1, [](const at::Tensor& w, const at::Tensor&) {
        return Model::Tensors{w * at::ones({3}), w * at::ones({2, 3}), w * at::ones({2, 5, 3}),
                              w * at::ones({2, 5, 3, 4})};
      });
      const Step step = Prepare(model);
      const at::Tensor total = model.Loss(step.outputs, step.inputs);
      EXPECT_TRUE(total.is_meta());
      EXPECT_EQ(total.dim(), 0);
      EXPECT_EQ(step.targets.size(), loss == LossKind::kMean ? 0u : 4u);
      if (loss == LossKind::kCrossEntropy) {
        EXPECT_EQ(step.inputs[4].sizes(), at::IntArrayRef({2, 3, 4}));
      }
      total.backward();
    });
    EXPECT_TRUE(status.ok()) << ToString(loss) << ": " << status.error().ToString();
  }
}

}  // namespace
}  // namespace placewright
