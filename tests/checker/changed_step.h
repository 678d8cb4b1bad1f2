// For tests: a step that a transform made, in which a test changes something that the checker has to name.
#ifndef PLACEWRIGHT_TESTS_CHECKER_CHANGED_STEP_H_
#define PLACEWRIGHT_TESTS_CHECKER_CHANGED_STEP_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "check_plan/violation.h"
#include "graph/test_graphs.h"

namespace placewright::check {

class ChangedStep : public ::testing::Test {
 protected:
  explicit ChangedStep(Graph step) : step_(std::move(step)) {}
  virtual MaybeViolation Check() const = 0;

  Op& Edit(const std::string& op) { return GraphTestPeer::Data(step_).ops[step_.FindOp(op)]; }
  TensorId Tensor(const char* name) const { return step_.FindTensor(name); }
  void ExpectViolation(ViolationKind kind, const std::string& message) const {
    const MaybeViolation violation = Check();
    ASSERT_TRUE(violation) << message;
    EXPECT_EQ(ToString(violation->kind), ToString(kind)) << violation->message;
    EXPECT_THAT(violation->message, ::testing::HasSubstr(message));
  }

  Graph step_;
};

}  // namespace placewright::check

#endif  // PLACEWRIGHT_TESTS_CHECKER_CHANGED_STEP_H_
