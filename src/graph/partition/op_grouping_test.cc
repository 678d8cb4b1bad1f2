#include "graph/partition/op_grouping.h"

#include <gmock/gmock.h>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

struct TimedGraph {
  Graph graph;
  IdVector<OpId, Nanos> times;
};

struct TimedOp {
  std::string name;
  int64_t time = 0;
  std::vector<std::string> reads;
  std::vector<std::pair<std::string, int64_t>> makes;  // tensors and their bytes
};

TimedGraph Make(const std::vector<TimedOp>& ops) {
  GraphBuilder builder("test", "costgraph");
  for (const TimedOp& op : ops) {
    OpSpec spec;
    spec.name = op.name;
    spec.type = "op";
    for (const std::string& name : op.reads) spec.inputs.push_back(builder.Find(name).Take());
    for (const auto& [name, bytes] : op.makes) {
      OutputSpec output;
      output.name = name;
      output.dtype = DType::kOpaque;
      output.opaque_bytes = Bytes(bytes);
      spec.outputs.push_back(output);
    }
    EXPECT_TRUE(builder.AddOp(std::move(spec)).ok());
  }
  TimedGraph made{std::move(builder).Build().Take(), {}};
  for (const TimedOp& op : ops) made.times.push_back(Nanos(op.time));
  return made;
}

// a -10 B-> b -1 B-> c -10 B-> d, 100 ns each: halves of 200 ns with one byte between them.
TEST(OpGrouping, CutsAChainAtItsSmallestTensor) {
  const TimedGraph chain = Make({{"a", 100, {}, {{"x", 10}}},
                                 {"b", 100, {"x"}, {{"y", 1}}},
                                 {"c", 100, {"y"}, {{"z", 10}}},
                                 {"d", 100, {"z"}, {}}});
  for (GroupingMethod method : kGroupingMethods) {
    if (method == GroupingMethod::kTag) continue;  // half of 400 ns may be twice its share: all
    const auto grouping = GroupOps(chain.graph, chain.times, method, 2);
    ASSERT_TRUE(grouping.ok());
    const OpGrouping& g = grouping.value();
    EXPECT_EQ(g.cut, Bytes(1)) << ToString(method);
    EXPECT_TRUE(g.acyclic);
    EXPECT_EQ(g.parts[0].ops, 2);
    EXPECT_EQ(g.parts[1].time, Nanos(200));
    if (method == GroupingMethod::kAcyclic) {
      EXPECT_THAT(g.part_of.raw(), ElementsAre(0, 0, 1, 1));
    }
  }
}

// a -1 B-> b -1 B-> c and a -1000 B-> c, of 50, 100 and 50 ns. Balanced are {a, c} and {b} alone,
// with 2 B between them, but {b} is before and after the other. Without that, a or c is apart from
// the rest: 1,001 B.
TEST(OpGrouping, OnlyTheAcyclicOneKeepsTheOrderOfGroups) {
  const TimedGraph loop = Make({{"a", 50, {}, {{"x", 1}, {"big", 1000}}},
                                {"b", 100, {"x"}, {{"y", 1}}},
                                {"c", 50, {"y", "big"}, {}}});
  const auto metis = GroupOps(loop.graph, loop.times, GroupingMethod::kMetis, 2);
  ASSERT_TRUE(metis.ok());
  EXPECT_EQ(metis.value().cut, Bytes(2));
  EXPECT_FALSE(metis.value().acyclic);
  const auto acyclic = GroupOps(loop.graph, loop.times, GroupingMethod::kAcyclic, 2);
  ASSERT_TRUE(acyclic.ok());
  EXPECT_EQ(acyclic.value().cut, Bytes(1001));
  EXPECT_TRUE(acyclic.value().acyclic);
}

// c overwrites what b reads, and nothing else joins them: b's group may not come after c's.
TEST(OpGrouping, WritesComeAfterReads) {
  GraphBuilder builder("test", "costgraph");
  const TensorId w =
      builder.AddInput("w", TensorKind::kParameter, DType::kOpaque, {}, Bytes(8)).Take();
  OpSpec read;
  read.name = "z", read.type = "op", read.inputs = {w};
  ASSERT_TRUE(builder.AddOp(read).ok());
  OpSpec write;
  write.name = "c", write.type = "op", write.inputs = {w};
  OutputSpec output;
  output.name = "new", output.dtype = DType::kOpaque;
  output.alias = AliasKind::kInPlace, output.alias_of = 0;
  write.outputs = {output};
  ASSERT_TRUE(builder.AddOp(write).ok());
  const Graph graph = std::move(builder).Build().Take();
  ASSERT_EQ(graph.order_edges().size(), 1u);
  const IdVector<OpId, Nanos> times(2, Nanos(10));
  const auto grouping = GroupOps(graph, times, GroupingMethod::kAcyclic, 2);
  ASSERT_TRUE(grouping.ok());
  EXPECT_THAT(grouping.value().part_of.raw(), ElementsAre(0, 1));
}

TEST(OpGrouping, RejectsWhatWouldNotFitInMemory) {
  std::vector<TimedOp> ops(40'000);
  for (size_t i = 0; i < ops.size(); ++i) ops[i].name = "op" + std::to_string(i);
  const TimedGraph many = Make(ops);
  // 40,000 * 1,024 > 2^25.
  const auto refused = GroupOps(many.graph, many.times, GroupingMethod::kAcyclic, 1024);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace placewright
