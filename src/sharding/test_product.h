// A graph of one product for tests: y = x w, of 64 x 32 and 32 x 64.
#ifndef PLACEWRIGHT_SHARDING_TEST_PRODUCT_H_
#define PLACEWRIGHT_SHARDING_TEST_PRODUCT_H_

#include <utility>

#include "graph/graph_builder.h"

namespace placewright {

inline Graph GraphOfOneProduct() {
  GraphBuilder builder("one-product", "aten");
  const TensorId x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {64, 32}).Take();
  const TensorId w =
      builder.AddInput("param:w", TensorKind::kParameter, DType::kF32, {32, 64}).Take();
  OpSpec op{.name = "mm", .type = "aten.mm.default"};
  op.inputs = {x, w};
  op.args = {Value(InputRef{0}), Value(InputRef{1})};
  op.outputs = {{.name = "y", .dtype = DType::kF32, .shape = {64, 64}}};
  builder.SetOutputs({builder.AddOp(std::move(op)).Take()[0]});
  return std::move(builder).Build().Take();
}

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_TEST_PRODUCT_H_
