// The proof that a step with parameters of a wider type computes what the step did, and what it names where one place of it
// is another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "changed_step.h"
#include "check_plan/transforms/precision.h"
#include "transforms/precision.h"
#include "transforms/test_batched_steps.h"

namespace placewright::check {
namespace {

using ::testing::HasSubstr;

// Masters of 64 bits; gradients are summed in 16.
class WiderParameters : public ChangedStep {
 protected:
  WiderParameters() : ChangedStep(std::move(*WithPrecision(Perceptron(4), Words()).Take())) {}
  static std::vector<std::string> Words() { return {"param=f32 reduce=bf16 master=f64"}; }
  MaybeViolation Check() const override { return CheckPrecision(original_, step_, words_); }

  const std::vector<std::string> words_ = Words();
  const Graph original_ = Perceptron(4);
};

TEST_F(WiderParameters, HoldForWhatTheTransformMakes) {
  const MaybeViolation violation = CheckPrecision(original_, step_, words_);
  EXPECT_FALSE(violation) << violation->place << ": " << violation->message;
  EXPECT_FALSE(CheckPrecision(original_, original_, words_));
  // Other types are stated than those of the step.
  EXPECT_TRUE(CheckPrecision(original_, step_, {"reduce=f64", "master=f64"}));
  EXPECT_TRUE(CheckPrecision(original_, step_, {"reduce=bf16", "master=f32"}));
  EXPECT_TRUE(CheckPrecision(original_, step_, {"reduced=bf16"}));
}

TEST_F(WiderParameters, WhatIsComputedInTheirType) {
  Edit("wt").inputs[0] = Tensor("param:w");
  ExpectViolation(ViolationKind::kWrongInput, "wt has param:w in f64, where f32 is due");
}

TEST_F(WiderParameters, AGradientThatIsNotCast) {
  Edit("next").inputs[1] = Tensor("gw");
  ExpectViolation(ViolationKind::kWrongInput, "next reads gw, which was not summed in bf16");
}

TEST_F(WiderParameters, AnUpdateOfACast) {
  Edit("next").inputs[0] = Tensor("w.cast");
  ExpectViolation(ViolationKind::kWrongInput, "next reads w.cast, a cast of what it updates");
}

TEST_F(WiderParameters, AnotherTypeOfASum) {
  Edit("gw.cast").attributes[0].value = Value(std::string("torch.float16"));
  ExpectViolation(ViolationKind::kWrongArgument, "gw.cast casts gw to torch.float16");
}

TEST_F(WiderParameters, ACastOfWhatTheUpdateLeaves) {
  Edit("w.cast").input_versions[0] = 1;
  ExpectViolation(ViolationKind::kWrongArgument, "w.cast casts param:w to torch.float32");
}

TEST_F(WiderParameters, AnotherVersion) {
  Edit("next").input_versions[0] = 1;
  ExpectViolation(ViolationKind::kStaleParameter, "next reads param:w at version 1");
}

TEST_F(WiderParameters, AnotherOp) {
  Edit("w.cast").type = "aten.neg.default";
  ExpectViolation(ViolationKind::kWrongArgument, "w.cast makes what no op of the original makes");
}

// Every input of every op is taken from every other tensor that is there before.
TEST_F(WiderParameters, NameEveryOtherInput) {
  const Graph whole = std::move(*WithPrecision(original_, words_).Take());
  int changed = 0;
  for (const OpId id : whole.ops()) {
    for (size_t i = 0; i < whole.op(id).inputs.size(); ++i) {
      for (const TensorId other : whole.tensors()) {
        const OpId producer = whole.tensor(other).producer;
        if ((producer.valid() && producer >= id) || other == whole.op(id).inputs[i]) continue;
        Op& op = GraphTestPeer::Data(step_).ops[id];
        const TensorId due = std::exchange(op.inputs[i], other);
        EXPECT_TRUE(CheckPrecision(original_, step_, words_))
            << op.name << " reads " << whole.tensor(other).name;
        op.inputs[i] = due;
        ++changed;
      }
    }
  }
  EXPECT_GT(changed, 100);
}

}  // namespace
}  // namespace placewright::check
