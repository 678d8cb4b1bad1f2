// The proof that a step in micro-batches computes what the step did, and what it names where one place of it is
// another.
#include "check_plan/transforms/micro_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "changed_step.h"
#include "transforms/accumulate.h"
#include "transforms/test_batched_steps.h"

namespace placewright::check {
namespace {

using ::testing::HasSubstr;

// A perceptron of 6 samples in three micro-batches, in which a test changes something.
class ThreeMicroBatches : public ChangedStep {
 protected:
  ThreeMicroBatches() : ChangedStep(std::move(*WithAccumulation(Perceptron(6), 3).Take())) {}
  MaybeViolation Check() const override { return CheckMicroBatches(original_, step_, 3); }

  const Graph original_ = Perceptron(6);
};

TEST_F(ThreeMicroBatches, HoldForWhatTheTransformMakes) {
  const MaybeViolation violation = CheckMicroBatches(original_, step_, 3);
  EXPECT_FALSE(violation) << violation->place << ": " << violation->message;
  EXPECT_TRUE(CheckMicroBatches(original_, step_, 2));
}

TEST_F(ThreeMicroBatches, AnIntervalTwice) {
  Edit("input:x@2").args[2] = Number(0);
  Edit("input:x@2").args[3] = Number(2);
  ExpectViolation(ViolationKind::kWrongPart, "p@2 reads samples [0, 2) of input:x");
}

TEST_F(ThreeMicroBatches, AnIntervalThatIsNoMicroBatch) {
  Edit("input:x@2").args[2] = Number(1);
  Edit("input:x@2").args[3] = Number(3);
  ExpectViolation(ViolationKind::kWrongPart, "input:x@2 cuts [1, 3), which is no micro-batch");
}

TEST_F(ThreeMicroBatches, AShareTwice) {
  Edit("gw.sum@3").inputs[1] = Tensor("gw@2");
  ExpectViolation(ViolationKind::kDoubledSum,
                  "gw.sum@3 adds what samples [2, 4) give of gw to what samples [0, 4) give of gw");
}

TEST_F(ThreeMicroBatches, AShareLeftOut) {
  Edit("gw.sum@3").inputs[0] = Tensor("gw@1");
  ExpectViolation(ViolationKind::kMissingSample, "gw.sum@3 leaves out samples [2, 4)");
}

TEST_F(ThreeMicroBatches, ASumThatIsNotComplete) {
  Edit("next").inputs[1] = Tensor("gw.sum@2");
  ExpectViolation(ViolationKind::kLostSum, "next reads what samples [0, 4) give of gw");
}

TEST_F(ThreeMicroBatches, AMeanOfAMicroBatch) {
  Edit("loss@2.mean").args[1] = Number(10);
  ExpectViolation(ViolationKind::kLocalDivisor, "loss@2.mean does not divide");
}

TEST_F(ThreeMicroBatches, OtherSizes) {
  Edit("gp@2").args[3] = Number(1);  // a mean of the part
  ExpectViolation(ViolationKind::kWrongArgument, "gp@2 is not gp of samples [2, 4)");
}

// Every input of every op is taken from every other tensor that is there before.
TEST_F(ThreeMicroBatches, NameEveryOtherInput) {
  const Graph whole = std::move(*WithAccumulation(original_, 3).Take());
  int changed = 0;
  for (const OpId id : whole.ops()) {
    if (whole.op(id).name == "one") continue;  // of the loss it takes the type
    for (size_t i = 0; i < whole.op(id).inputs.size(); ++i) {
      for (const TensorId other : whole.tensors()) {
        const OpId producer = whole.tensor(other).producer;
        if ((producer.valid() && producer >= id) || other == whole.op(id).inputs[i]) continue;
        Op& op = GraphTestPeer::Data(step_).ops[id];
        const TensorId due = std::exchange(op.inputs[i], other);
        EXPECT_TRUE(CheckMicroBatches(original_, step_, 3))
            << op.name << " reads " << whole.tensor(other).name;
        op.inputs[i] = due;
        ++changed;
      }
    }
  }
  EXPECT_GT(changed, 900);
}

}  // namespace
}  // namespace placewright::check
