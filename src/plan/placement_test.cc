#include "plan/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cluster/cluster_builder.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

Cluster TwoDevices() {
  ClusterBuilder builder("pair");
  const int32_t kind = builder.AddKind({.name = "K"}).Take();
  for (const char* name : {"d0", "d1"}) {
    (void)builder.AddDevice({.name = name, .kind = kind, .capacity = Bytes(1 << 20)}).Take();
  }
  return std::move(builder).Build().Take();
}

// mm reads w through the view `t`; `flat` is a view of mm's result that `relu` reads; `seen` is a
// view of the input x without readers.
Graph SmallGraph() {
  GraphBuilder builder("small", "aten");
  const TensorId w = builder.AddInput("w", TensorKind::kParameter, DType::kF32, {4, 4}).Take();
  const TensorId x = builder.AddInput("x", TensorKind::kInput, DType::kF32, {4, 4}).Take();
  const auto add = [&](const std::string& name, std::vector<TensorId> inputs, bool view) {
    OpSpec op{.name = name, .type = view ? "aten.view.default" : "aten.mm.default"};
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = {4, 4}}};
    if (view) {
      op.outputs[0].alias = AliasKind::kView;
      op.outputs[0].alias_of = 0;
    }
    return builder.AddOp(op).Take()[0];
  };
  const TensorId t = add("t", {w}, true);
  const TensorId mm = add("mm", {x, t}, false);
  const TensorId flat = add("flat", {mm}, true);
  add("relu", {flat}, false);
  add("seen", {x}, true);
  return std::move(builder).Build().Take();
}

std::string DeviceOf(const Graph& graph, const Cluster& cluster, const Placement& placement,
                     std::string_view op) {
  return cluster.device(placement[graph.FindOp(op)]).name;
}

TEST(ResolvePlacement, LeftOutViewsFollowTheirGroupOrTheirReader) {
  const Graph graph = SmallGraph();
  const Cluster cluster = TwoDevices();
  const auto placed = ResolvePlacement({{"relu", "d0"}, {"mm", "d1"}}, graph, cluster);
  ASSERT_TRUE(placed.ok()) << placed.error().ToString();
  // `flat` shares mm's storage, hence its group. `t` is alone in its group; its storage's first
  // placed reader is mm... through t itself, so the parameter lives where mm is.
  EXPECT_EQ(DeviceOf(graph, cluster, placed.value(), "flat"), "d1");
  EXPECT_EQ(DeviceOf(graph, cluster, placed.value(), "t"), "d1");
  // `seen` shows x, whose first reader is mm.
  EXPECT_EQ(DeviceOf(graph, cluster, placed.value(), "seen"), "d1");
}

TEST(ResolvePlacement, GivenViewsStayWhereTheyArePut) {
  const Graph graph = SmallGraph();
  const Cluster cluster = TwoDevices();
  const auto placed = ResolvePlacement({{"t", "d0"}, {"relu", "d0"}, {"mm", "d1"}}, graph, cluster);
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(DeviceOf(graph, cluster, placed.value(), "t"), "d0");
}

TEST(ResolvePlacement, NamesRoundTrip) {
  const Graph graph = SmallGraph();
  const Cluster cluster = TwoDevices();
  const Placement placement =
      ResolvePlacement({{"mm", "d1"}, {"relu", "d0"}}, graph, cluster).Take();
  const NamedPlacement named = NamePlacement(placement, graph, cluster);
  EXPECT_EQ(named.size(), graph.op_count());
  EXPECT_EQ(ResolvePlacement(named, graph, cluster).Take(), placement);
}

TEST(ResolvePlacement, RejectsWhatItCannotResolve) {
  const Graph graph = SmallGraph();
  const Cluster cluster = TwoDevices();
  const auto error = [&](const NamedPlacement& named) {
    auto result = ResolvePlacement(named, graph, cluster);
    return result.ok() ? Error{} : result.error();
  };
  const Error op = error({{"mn", "d1"}, {"relu", "d0"}});
  EXPECT_EQ(op.code, ErrorCode::kUnknownName);
  EXPECT_THAT(op.message, HasSubstr("\"mn\""));
  EXPECT_THAT(op.message, HasSubstr("did you mean mm"));
  const Error device = error({{"mm", "d2"}});
  EXPECT_EQ(device.code, ErrorCode::kUnknownName);
  EXPECT_THAT(device.message, HasSubstr("\"d2\""));
  EXPECT_EQ(device.place, "placement[\"mm\"]");
  EXPECT_EQ(error({{"mm", "d1"}, {"mm", "d1"}}).code, ErrorCode::kDuplicateName);
  const Error missing = error({{"mm", "d1"}});
  EXPECT_EQ(missing.code, ErrorCode::kPlanMismatch);
  EXPECT_THAT(missing.message, HasSubstr("\"relu\""));
}

TEST(ResolvePlacement, ListsAFewOffendersAndCountsTheRest) {
  const Cluster cluster = TwoDevices();
  const Graph graph = SmallGraph();
  const auto result = ResolvePlacement(
      {{"a1", "d0"}, {"a2", "d0"}, {"a3", "d0"}, {"a4", "d0"}, {"a5", "d0"}}, graph, cluster);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("5 ops"));
  EXPECT_THAT(result.error().message, HasSubstr("\"a3\" and 2 more"));
}

}  // namespace
}  // namespace placewright
