#include "graph/graph_builder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/edges.h"

namespace placewright {
namespace {

TEST(GraphBuilder, InPlaceWriteMakesAVersionAndWaitsForReaders) {
  GraphBuilder builder("tiny", "aten");
  const TensorId w =
      builder.AddInput("param:fc.w", TensorKind::kParameter, DType::kF32, {4, 4}).Take();
  OpSpec read{.name = "mm", .type = "aten.mm.default", .inputs = {w, w}};
  read.outputs = {{.name = "mm", .shape = {4, 4}}};
  ASSERT_TRUE(builder.AddOp(read).ok());
  OpSpec write{.name = "mul_", .type = "aten.mul_.Tensor", .phase = Phase::kOptimizer};
  write.inputs = {w};
  write.outputs = {{.name = "mul_", .shape = {4, 4}, .alias = AliasKind::kInPlace, .alias_of = 0}};
  ASSERT_TRUE(builder.AddOp(write).ok());
  Result<Graph> built = std::move(builder).Build();
  ASSERT_TRUE(built.ok()) << built.error().ToString();
  const Graph& graph = built.value();
  EXPECT_EQ(graph.edge_count(), 0u);  // neither op reads what the other made
  const std::vector<OrderEdge> expected{{OpId(0), OpId(1), OrderKind::kWriteAfterRead}};
  EXPECT_TRUE(std::ranges::equal(graph.order_edges(), expected));
  EXPECT_EQ(graph.storage(StorageId(0)).versions.size(), 2u);
  EXPECT_EQ(graph.tensor(graph.FindTensor("mul_")).version, 1);
}

}  // namespace
}  // namespace placewright
