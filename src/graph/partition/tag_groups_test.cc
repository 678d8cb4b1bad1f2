#include "graph/partition/tag_groups.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

using ::testing::Each;
using ::testing::Ge;

// Ops of opaque tensors of `bytes` each, named after them.
class TagGroupsTest : public ::testing::Test {
 protected:
  TensorId Add(const std::string& name, std::vector<TensorId> inputs, int64_t time, int64_t bytes,
               Phase phase = Phase::kForward, const std::string& type = "op") {
    OpSpec spec;
    spec.name = name;
    spec.type = type;
    spec.phase = phase;
    spec.inputs = std::move(inputs);
    spec.outputs = {{.name = name, .dtype = DType::kOpaque, .opaque_bytes = Bytes(bytes)}};
    times_.push_back(Nanos(time));
    return builder_.AddOp(std::move(spec)).Take()[0];
  }
  void Write(const std::string& name, std::vector<TensorId> inputs, int64_t time) {
    OpSpec spec;
    spec.name = name;
    spec.type = "op_";
    spec.phase = Phase::kOptimizer;
    spec.inputs = std::move(inputs);
    spec.writes = {0};
    times_.push_back(Nanos(time));
    ASSERT_TRUE(builder_.AddOp(std::move(spec)).ok());
  }
  TensorId Parameter(const std::string& name) {
    return builder_.AddInput(name, TensorKind::kParameter, DType::kOpaque, {}, Bytes(8)).Take();
  }
  TagGrouping Group(int parts) {
    graph_.emplace(std::move(builder_).Build().Take());
    return TagGroups(*graph_, times_, parts).Take();
  }
  int32_t PartOf(const TagGrouping& groups, const std::string& op) const {
    return groups.part_of[graph_->group(graph_->FindOp(op))];
  }

  GraphBuilder builder_{"test", "costgraph"};
  IdVector<OpId, Nanos> times_;
  std::optional<Graph> graph_;
};

// 100 ns each in a chain: a -1000 B-> b -1 B-> c -1000 B-> d -1 B-> e -1000 B-> f. Thirds of 200 ns
// with the smallest tensors between them are the pairs.
TEST_F(TagGroupsTest, KeepsTogetherWhatExchangesMuch) {
  const TensorId a = Add("a", {}, 100, 1000);
  const TensorId b = Add("b", {a}, 100, 1);
  const TensorId c = Add("c", {b}, 100, 1000);
  const TensorId d = Add("d", {c}, 100, 1);
  const TensorId e = Add("e", {d}, 100, 1000);
  Add("f", {e}, 100, 1);
  const TagGrouping groups = Group(3);
  EXPECT_EQ(groups.parts, 3);
  EXPECT_EQ(PartOf(groups, "a"), PartOf(groups, "b"));
  EXPECT_EQ(PartOf(groups, "c"), PartOf(groups, "d"));
  EXPECT_EQ(PartOf(groups, "e"), PartOf(groups, "f"));
  EXPECT_EQ(groups.dropped, 0);
}

// The update of w needs x alone. `waste` and what reads it are dropped, `same` hands x on,
// `nothing` does nothing: no weight, and they lie with what they read.
TEST_F(TagGroupsTest, DropsWhatNoUpdateNeeds) {
  const TensorId w = Parameter("w");
  const TensorId x = Add("x", {w}, 100, 1000);
  const TensorId same = Add("same", {x}, 1'000'000, 1000, Phase::kForward, "Identity");
  const TensorId waste = Add("waste", {x}, 1'000'000, 1);
  Add("waste more", {waste}, 1'000'000, 1);
  OpSpec nothing;
  nothing.name = "nothing";
  nothing.type = "NoOp";
  nothing.after = {"waste"};
  times_.push_back(Nanos(5));
  ASSERT_TRUE(builder_.AddOp(nothing).ok());
  const TensorId y = Add("y", {same}, 100, 1);
  Write("update", {w, y}, 100);
  const TagGrouping groups = Group(60);
  EXPECT_EQ(groups.dropped, 4);
  EXPECT_EQ(PartOf(groups, "same"), PartOf(groups, "x"));
  EXPECT_EQ(PartOf(groups, "waste"), PartOf(groups, "x"));
  EXPECT_EQ(PartOf(groups, "waste more"), PartOf(groups, "x"));
  EXPECT_EQ(PartOf(groups, "nothing"), PartOf(groups, "x"));
}

// x -1000 B-> same -> y and x -1 B-> z -> y: without the identity's node, y is x's neighbour by
// 1,000 B.
TEST_F(TagGroupsTest, PassesIdentitiesBy) {
  const TensorId x = Add("x", {}, 100, 1000);
  const TensorId same = Add("same", {x}, 0, 1000, Phase::kForward, "Identity");
  Add("y", {same}, 100, 1);
  const TensorId p = Add("p", {}, 100, 1000);
  Add("q", {p}, 100, 1);
  const TensorId r = Add("r", {}, 100, 1000);
  Add("s", {r}, 100, 1);
  const TagGrouping groups = Group(3);
  EXPECT_EQ(groups.parts, 3);
  EXPECT_EQ(PartOf(groups, "x"), PartOf(groups, "y"));
  EXPECT_EQ(groups.dropped, 1);
}

// A chain of 1,200 equal ops: at most 60 parts, none with more than twice its share of 20, and as a
// chain is cut, contiguous ones.
TEST_F(TagGroupsTest, HasAtMostSixtyBalancedParts) {
  TensorId last = Add("op0", {}, 100, 10);
  for (int i = 1; i < 1200; ++i) last = Add("op" + std::to_string(i), {last}, 100, 10);
  const TagGrouping groups = Group(kTagParts);
  EXPECT_LE(groups.parts, 60);
  EXPECT_GT(groups.parts, 30);
  std::vector<int> sizes(static_cast<size_t>(groups.parts), 0);
  for (OpId op : graph_->ops()) ++sizes[groups.part_of[graph_->group(op)]];
  EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()), 40);
  EXPECT_THAT(sizes, Each(Ge(1)));
}

TEST_F(TagGroupsTest, TakesGraphsOfNothing) {
  const TagGrouping groups = Group(60);
  EXPECT_EQ(groups.parts, 0);
  EXPECT_EQ(groups.part_of.size(), 0u);
}

}  // namespace
}  // namespace placewright
