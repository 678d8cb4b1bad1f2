#include "plan/sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "cluster/cluster_builder.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

// a and b on d0, c and d on d1; v is a view on d0; m and n are the members of a collective.
struct Example {
  Example() {
    GraphBuilder builder("example", "aten");
    TensorId made;
    for (const char* name : {"a", "b", "c", "d", "m", "n"}) {
      OpSpec op{.name = name, .type = "test.op"};
      op.outputs = {{.name = name, .shape = {4}}};
      const TensorId output = builder.AddOp(op).Take()[0];
      if (op.name == "a") made = output;
    }
    OpSpec view{.name = "v", .type = "aten.view.default"};
    view.inputs = {made};
    view.outputs = {{.name = "v", .shape = {4}, .alias = AliasKind::kView, .alias_of = 0}};
    (void)builder.AddOp(view).Take();
    EXPECT_TRUE(builder.AddCollective("ar", {OpId(4), OpId(5)}).ok());
    graph = std::make_unique<Graph>(std::move(builder).Build().Take());
    ClusterBuilder devices("pair");
    const int32_t kind = devices.AddKind({.name = "K"}).Take();
    for (const char* name : {"d0", "d1"}) {
      (void)devices.AddDevice({.name = name, .kind = kind, .capacity = Bytes(1 << 20)}).Take();
    }
    cluster = std::make_unique<Cluster>(std::move(devices).Build().Take());
    for (const int device : {0, 0, 1, 1, 0, 1, 0}) placement.push_back(DeviceId(device));
  }

  Result<Sequences> Resolve(const NamedSequences& named) const {
    return ResolveSequences(named, *graph, *cluster, placement);
  }
  std::string ErrorOf(const NamedSequences& named) const {
    const Result<Sequences> result = Resolve(named);
    EXPECT_FALSE(result.ok());
    return result.ok() ? "" : result.error().ToString();
  }

  std::unique_ptr<Graph> graph;
  std::unique_ptr<Cluster> cluster;
  Placement placement;
};

TEST(Sequences, DevicesMayBeLeftOut) {
  const Example example;
  EXPECT_TRUE(example.Resolve({}).Take().empty());
  const Sequences sequences = example.Resolve({{"d1", {"d", "c"}}}).Take();
  ASSERT_EQ(sequences.size(), 2u);
  EXPECT_FALSE(sequences[DeviceId(0)]);
  EXPECT_EQ(*sequences[DeviceId(1)], (std::vector<OpId>{OpId(3), OpId(2)}));
}

TEST(Sequences, ListWhatADeviceRunsAndNothingElse) {
  const Example example;
  EXPECT_THAT(example.ErrorOf({{"d2", {}}}), HasSubstr("no device is called \"d2\""));
  EXPECT_THAT(example.ErrorOf({{"d0", {"a", "x"}}}), HasSubstr("sequence.d0[1]"));
  EXPECT_THAT(example.ErrorOf({{"d0", {"a", "a"}}}), HasSubstr("listed twice"));
  EXPECT_THAT(example.ErrorOf({{"d0", {"a", "b"}}, {"d0", {}}}), HasSubstr("two sequences"));
  EXPECT_THAT(example.ErrorOf({{"d0", {"a", "c"}}}), HasSubstr("\"c\" lies on d1"));
  EXPECT_THAT(example.ErrorOf({{"d0", {"a"}}}), HasSubstr("\"b\" lies on the device and is not"));
  EXPECT_THAT(example.ErrorOf({{"d0", {"a", "v", "b"}}}), HasSubstr("a view"));
  EXPECT_THAT(example.ErrorOf({{"d0", {"a", "m", "b"}}}), HasSubstr("a member of a collective"));
}

TEST(Sequences, ADeadlockNamesItsOpAndDevice) {
  const Example example;
  const Error error =
      SequenceDeadlock(*example.graph, *example.cluster, example.placement, OpId(2));
  EXPECT_EQ(error.code, ErrorCode::kPlanInvalid);
  EXPECT_THAT(error.ToString(), HasSubstr("op \"c\" on d1, which never becomes ready"));
}

}  // namespace
}  // namespace placewright
