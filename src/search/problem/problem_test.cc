// Constraints and the errors of building a problem.
#include "search/problem/problem.h"

#include <gtest/gtest.h>

#include "search/test_problems.h"

namespace placewright {
namespace {

TestSpec TwoModules() {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.inputs = {{"w", 700}};
  spec.ops = {{"a", {5, 5}, {"w"}, {64}, "", Phase::kForward, "m.encoder.layer"},
              {"b", {5, 5}, {"a"}, {64}, "", Phase::kForward, "m.decoder"},
              {"update", {5, 5}, {"b"}, {}, "w", Phase::kOptimizer, "m.encoder"}};
  return spec;
}

// w's 700 B take 1,024 at home, which follows its writer, `update`.
TEST(BuildProblem, GroupsAreColocationGroups) {
  const auto test = MakeTestProblem(TwoModules());
  const Problem& problem = test->problem;
  ASSERT_EQ(problem.groups.size(), 3u);
  EXPECT_EQ(problem.groups[ColocationGroupId(2)].persistent, Bytes(1024));
  EXPECT_EQ(problem.groups[ColocationGroupId(0)].persistent, Bytes(0));
  EXPECT_EQ(problem.groups[ColocationGroupId(0)].allowed,
            (std::vector<DeviceId>{DeviceId(0), DeviceId(1)}));
}

TEST(BuildProblem, ColocateJoinsModulesAndPinMeansSubModules) {
  TestSpec spec = TwoModules();
  spec.constraints.colocate = {"m.*coder"};
  spec.constraints.pins = {{"m.encoder", "d1"}};
  const auto test = MakeTestProblem(spec);
  ASSERT_EQ(test->problem.groups.size(), 1u);
  EXPECT_EQ(test->problem.groups[ColocationGroupId(0)].ops.size(), 3u);
  EXPECT_EQ(test->problem.groups[ColocationGroupId(0)].allowed, std::vector<DeviceId>{DeviceId(1)});
}

TEST(BuildProblem, DevicesMayBeGlobs) {
  TestSpec spec = TwoModules();
  spec.constraints.pins = {{"m.decoder", "d[01]"}};
  spec.constraints.forbids = {{"m.*", "d0"}};
  const auto test = MakeTestProblem(spec);
  for (const ColocationGroup& group : test->problem.groups) {
    EXPECT_EQ(group.allowed, std::vector<DeviceId>{DeviceId(1)});
  }
}

// Two layers of two modules each, and an op that lies in none.
TestSpec TwoLayers() {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.ops = {{"a", {5, 5}, {}, {64}, "", Phase::kForward, "m.layers.0.attn"},
              {"b", {5, 5}, {"a"}, {64}, "", Phase::kForward, "m.layers.0.mlp"},
              {"c", {5, 5}, {"b"}, {64}, "", Phase::kForward, "m.layers.10.attn"},
              {"d", {5, 5}, {"c"}, {64}, "", Phase::kForward, "m.layers.10"},
              {"e", {5, 5}, {"d"}, {64}, "", Phase::kForward, "m.norm"}};
  return spec;
}

std::vector<int32_t> GroupsUnderEach(const std::vector<std::string>& globs) {
  TestSpec spec = TwoLayers();
  spec.constraints.colocate_each = globs;
  const auto test = MakeTestProblem(spec);
  std::vector<int32_t> groups;
  for (size_t op = 0; op < 5; ++op) groups.push_back(test->problem.group_of[OpId(op)].value());
  return groups;
}

// A glob's '*' matches dots: of nested matches the outermost counts, which is the layer.
TEST(BuildProblem, ColocateEachKeepsEachMatchTogether) {
  EXPECT_EQ(GroupsUnderEach({"m.layers.*"}), (std::vector<int32_t>{0, 0, 1, 1, 2}));
  EXPECT_EQ(GroupsUnderEach({"*.attn"}), (std::vector<int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(GroupsUnderEach({"m.*"}), (std::vector<int32_t>{0, 0, 0, 0, 1}));  // layers, norm
  EXPECT_EQ(GroupsUnderEach({"*"}), (std::vector<int32_t>{0, 0, 0, 0, 0}));    // m
  EXPECT_EQ(GroupsUnderEach({"m.layers.?", "m.layers.??"}), (std::vector<int32_t>{0, 0, 1, 1, 2}));
}

void ExpectError(const TestSpec& spec, ErrorCode code, const std::vector<std::string>& parts) {
  const Error error = TestProblemError(spec);
  EXPECT_EQ(error.code, code);
  for (const std::string& part : parts) {
    EXPECT_NE(error.message.find(part), std::string::npos) << part << " in " << error.message;
  }
}

TEST(BuildProblem, GlobWithoutMatch) {
  TestSpec spec = TwoModules();
  spec.constraints.forbids = {{"m.decoderr", "d0"}};
  ExpectError(spec, ErrorCode::kConstraint, {"--forbid", "m.decoderr", "did you mean m.decoder"});
  spec.constraints = {};
  spec.constraints.colocate = {"nothing*"};
  ExpectError(spec, ErrorCode::kConstraint, {"--colocate", "nothing*"});
  spec.constraints.colocate.clear();
  spec.constraints.colocate_each = {"m.encode"};
  ExpectError(spec, ErrorCode::kConstraint,
              {"--colocate-each m.encode matches no module", "did you mean m.encoder"});
}

TEST(BuildProblem, UnknownDevice) {
  TestSpec spec = TwoModules();
  spec.constraints.pins = {{"m.decoder", "d7"}};
  ExpectError(spec, ErrorCode::kConstraint, {"no device d7", "d0"});
  spec.constraints.pins = {{"m.decode", "d7"}};  // both mistakes at once
  ExpectError(spec, ErrorCode::kConstraint,
              {"matches no module (did you mean m.decoder?), and the cluster", "no device d7"});
}

TEST(BuildProblem, ContradictoryPins) {
  TestSpec spec = TwoModules();
  spec.constraints.pins = {{"m.decoder", "d0"}, {"m.decoder", "d1"}};
  ExpectError(
      spec, ErrorCode::kConstraint,
      {"--pin m.decoder=d1 leaves no device", "op b", "held already by --pin m.decoder=d0"});
  spec.constraints.pins = {{"m.decoder", "d0"}};
  spec.constraints.forbids = {{"m.decoder", "d0"}};
  ExpectError(spec, ErrorCode::kConstraint,
              {"--forbid", "leaves no device", "held already by --pin m.decoder=d0"});
}

// c views what b made, and so lies with it, though it is of another module: what is said of c's
// module does not hold b there. Only what names nothing but views does.
TEST(BuildProblem, ViewsDoNotPinWhatTheyView) {
  TestSpec spec = TwoModules();
  TestOp view{"c", {0, 0}, {"b"}, {64}, "", Phase::kForward, "m.next"};
  view.view = true;
  spec.ops.insert(spec.ops.begin() + 2,
                  {view, {"d", {5, 5}, {"c"}, {64}, "", Phase::kForward, "m.next"}});
  spec.constraints.pins = {{"m.decoder", "d0"}, {"m.next", "d1"}};
  const auto test = MakeTestProblem(spec);
  const Problem& problem = test->problem;
  const auto allowed = [&](size_t op) {
    return problem.groups[problem.group_of[OpId(op)]].allowed;
  };
  EXPECT_EQ(problem.group_of[OpId(1)], problem.group_of[OpId(2)]);
  EXPECT_EQ(allowed(1), std::vector<DeviceId>{DeviceId(0)});
  EXPECT_EQ(allowed(3), std::vector<DeviceId>{DeviceId(1)});
  // Nor does --colocate join d to b.
  spec.constraints.colocate = {"m.next"};
  EXPECT_EQ(MakeTestProblem(spec)->problem.groups.size(), problem.groups.size());
  spec.constraints.colocate = {};
  spec.ops.erase(spec.ops.begin() + 3);
  ExpectError(
      spec, ErrorCode::kConstraint,
      {"--pin m.next=d1 leaves no device for op c", "held already by --pin m.decoder=d0 (op b)"});
}

// Inference: the only op that shares storage with the weight is a view of it, which is its home. A
// mask that both modules view is held by neither.
TEST(BuildProblem, ViewsOfParametersAreHeldViewsOfInputsAreNot) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.inputs = {{"w", 512}, {"mask", 512, TensorKind::kInput}};
  TestOp t{"t", {0, 0}, {"w"}, {512}, "", Phase::kForward, "m.a"};
  TestOp here{"here", {0, 0}, {"mask"}, {512}, "", Phase::kForward, "m.a"};
  TestOp there{"there", {0, 0}, {"mask"}, {512}, "", Phase::kForward, "m.b"};
  t.view = here.view = there.view = true;
  spec.ops = {t,
              here,
              there,
              {"x", {5, 5}, {"t", "here"}, {64}, "", Phase::kForward, "m.a"},
              {"y", {5, 5}, {"x", "there"}, {64}, "", Phase::kForward, "m.b"}};
  spec.constraints.pins = {{"m.a", "d1"}, {"m.b", "d0"}};
  const auto test = MakeTestProblem(spec);
  const Problem& problem = test->problem;
  const auto allowed = [&](size_t op) {
    return problem.groups[problem.group_of[OpId(op)]].allowed;
  };
  EXPECT_EQ(allowed(0), std::vector<DeviceId>{DeviceId(1)});  // t, and so w
  EXPECT_EQ(allowed(1).size(), 2u);
  EXPECT_EQ(allowed(3), std::vector<DeviceId>{DeviceId(1)});
  EXPECT_EQ(allowed(4), std::vector<DeviceId>{DeviceId(0)});
  spec.constraints = {};
  spec.constraints.colocate = {"m.a"};
  const auto together = MakeTestProblem(spec);
  EXPECT_EQ(together->problem.group_of[OpId(0)], together->problem.group_of[OpId(3)]);
}

// Nothing was said before that it could contradict.
TEST(BuildProblem, ForbidEveryDevice) {
  TestSpec spec = TwoModules();
  spec.constraints.forbids = {{"*", "d*"}};
  ExpectError(spec, ErrorCode::kConstraint, {"--forbid *=d*", "forbids every device"});
}

// The root module's path is empty, which is no name to suggest: within two edits of "[".
TEST(BuildProblem, SuggestsNoEmptyName) {
  TestSpec spec = TwoModules();
  spec.constraints.pins = {{"[", "d0"}};
  EXPECT_EQ(TestProblemError(spec).ToString().find("did you mean"), std::string::npos);
}

// b runs only on d0, c only on d1, and they must lie together.
TEST(BuildProblem, NoDeviceRunsTheGroup) {
  TestSpec spec = TwoModules();
  spec.ops[0].time_ns = {5, -1};
  spec.ops[1].time_ns = {-1, 5};
  spec.constraints.colocate = {"m.*"};
  ExpectError(spec, ErrorCode::kInfeasible,
              {"no device can run the colocation group of op a", "d0 does not support",
               "d1 does not support", "op b"});
}

TEST(BuildProblem, PinToADeviceThatCannotRunIt) {
  TestSpec spec = TwoModules();
  spec.ops[0].time_ns = {5, -1};
  spec.constraints.pins = {{"m.encoder", "d1"}};
  ExpectError(spec, ErrorCode::kInfeasible, {"op a", "d0 is ruled out", "d1 does not support"});
}

}  // namespace
}  // namespace placewright
