#include "cost/signature.h"

#include <gtest/gtest.h>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

// y = addmm(b, x, wT) with x [batch, 3], at a batch of 4; z = narrow of y by an argument that follows
// the batch.
Graph Product(int64_t batch, bool scales) {
  GraphBuilder builder("product", "aten");
  builder.set_batch(batch);
  const TensorId b = builder.AddInput("param:b", TensorKind::kParameter, DType::kF32, {5}).Take();
  const TensorId x =
      builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {batch, 3}).Take();
  const TensorId w =
      builder.AddInput("param:w", TensorKind::kParameter, DType::kF32, {3, 5}).Take();
  OpSpec op;
  op.name = "y";
  op.type = "aten.addmm.default";
  op.args = {Value(InputRef{0}), Value(InputRef{1}), Value(InputRef{2})};
  op.attributes = {{"beta", Value(int64_t{2})}};
  op.inputs = {b, x, w};
  op.outputs = {{"y", DType::kF32, {batch, 5}, OutputSpec::Alias::kFresh}};
  const TensorId y = builder.AddOp(std::move(op)).Take().front();
  OpSpec roll;
  roll.name = "z";
  roll.type = "aten.roll.default";
  roll.args = {Value(InputRef{0}), Value(Value::List{Value(int64_t{batch + 1}), Value(true)})};
  roll.inputs = {y};
  roll.outputs = {{"z", DType::kF32, {batch, 5}, OutputSpec::Alias::kFresh}};
  builder.AddOp(std::move(roll)).Take();
  if (scales) {
    BatchScaling scaling;
    scaling.sizes = {batch, batch + 1, 2 * batch};
    scaling.dimensions = Csr<TensorId, DimensionLaw>{{0, 0, 1, 1, 2, 3}, {{0, 1}, {0, 1}, {0, 1}}};
    scaling.arguments = Csr<OpId, ArgumentLaw>{{0, 0, 1}, {{0, 1}}};
    return WithBatchScaling(std::move(builder).Build().Take(), std::move(scaling)).Take();
  }
  return std::move(builder).Build().Take();
}

TEST(Signature, SaysWhatTheTimeDependsOn) {
  const Graph graph = Product(4, false);
  const Signature product = SignatureOf(graph, OpId(0));
  EXPECT_EQ(product.text, "aten.addmm.default(f32[5], f32[4,3], f32[3,5], beta=2)");
  EXPECT_EQ(product.family, "");
  EXPECT_EQ(SignatureOf(graph, OpId(1)).text, "aten.roll.default(f32[4,5], [5,true])");
}

TEST(Signature, FamiliesAreOneForAllBatches) {
  const Graph four = Product(4, true), nine = Product(9, true);
  EXPECT_EQ(SignatureOf(four, OpId(0)).family,
            "aten.addmm.default(f32[5], f32[1n,3], f32[3,5], beta=2)");
  EXPECT_EQ(SignatureOf(four, OpId(1)).family, "aten.roll.default(f32[1n,5], [1+1n,true])");
  for (const OpId op : four.ops()) {
    EXPECT_EQ(SignatureOf(four, op).family, SignatureOf(nine, op).family);
    EXPECT_NE(SignatureOf(four, op).text, SignatureOf(nine, op).text);
  }
}

}  // namespace
}  // namespace placewright
