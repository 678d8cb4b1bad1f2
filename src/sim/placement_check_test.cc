#include "sim/placement_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/simulator.h"
#include "sim/tiny_step.h"

namespace placewright {
namespace {

using testing::HasSubstr;

Status Verify(const TinyProblem& problem) {
  return CheckPlacementLegal(problem.sim_graph, problem.graph, problem.cluster, problem.placement);
}

TEST(CheckPlacementLegal, NamesAnUnsupportedOp) {
  TinyStep step(2);
  step.ConnectAll();
  step.Op("a", 1, 5, {}, {}, {.times = {5, -1}});
  const Status status = Verify(step.Build());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kField);
  EXPECT_THAT(status.error().message, HasSubstr("'a'"));
  EXPECT_THAT(status.error().message, HasSubstr("'d1'"));
  EXPECT_EQ(status.error().place, "op a");
}

TEST(CheckPlacementLegal, NamesABrokenGroup) {
  TinyStep step(2);
  step.ConnectAll();
  const TensorId x = step.Op("a", 0, 5, {}, {100})[0];
  step.InPlace("write", 1, 5, {x});
  const Status status = Verify(step.Build());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kPlanInvalid);
  EXPECT_THAT(status.error().message, HasSubstr("'a'"));
  EXPECT_THAT(status.error().message, HasSubstr("'write'"));
  EXPECT_EQ(status.error().place, "op write");
  EXPECT_THAT(std::string(status.error().Remedy()), HasSubstr("on one device"));
}

TEST(CheckPlacementLegal, NamesAReaderThatAParameterCannotReach) {
  TinyStep step(2);
  step.Route(1, 0, {step.Link(1'000'000'000, 0)});
  const TensorId w = step.Input("w", TensorKind::kParameter, 100);
  step.Op("home", 0, 5, {w}, {});
  step.Op("far", 1, 5, {w}, {});
  const Status status = Verify(step.Build());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnreachable);
  EXPECT_THAT(status.error().message, HasSubstr("'far'"));
  EXPECT_THAT(status.error().message, HasSubstr("'w'"));
  EXPECT_EQ(status.error().place, "op far");
}

TEST(CheckPlacementLegal, AcceptsInputsAndExplicitOrderWithoutRoutes) {
  TinyStep step(2);
  const TensorId x = step.Input("x", TensorKind::kInput, 100);
  step.Op("a", 0, 5, {x}, {});
  step.Op("b", 1, 5, {x}, {}, {.after = {"a"}});
  EXPECT_TRUE(Verify(step.Build()).ok());
}

TEST(CheckPlacementLegal, RejectsAPlacementOfAnotherLength) {
  TinyStep step(1);
  step.Op("a", 0, 5, {}, {});
  TinyProblem problem = step.Build();
  problem.placement = Placement(2, DeviceId(0));
  EXPECT_EQ(Verify(problem).error().code, ErrorCode::kPlanMismatch);
  problem.placement = Placement(1, DeviceId(7));
  EXPECT_EQ(Verify(problem).error().code, ErrorCode::kPlanInvalid);
}

}  // namespace
}  // namespace placewright
