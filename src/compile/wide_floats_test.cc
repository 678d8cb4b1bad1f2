#include "compile/wide_floats.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

// x of 2 x 3 float32, halved in a view's place and made float32 once more; its indices stay integers.
TEST(WideFloats, WidensTensorsAndWhatArgumentsSay) {
  GraphBuilder builder("step", "aten");
  const TensorId x = builder.AddInput("x", TensorKind::kInput, DType::kF32, {2, 3}).Take();
  const TensorId indices = builder.AddInput("i", TensorKind::kInput, DType::kI64, {2}).Take();
  builder.SetBelow(indices, 7);
  OpSpec view{.name = "view", .type = "aten.view.default", .inputs = {x}};
  view.args = {Value(InputRef{0}), Value(Value::List{Value(int64_t{6})})};
  view.outputs = {{.name = "view", .shape = {6}, .alias = AliasKind::kView, .alias_of = 0}};
  const TensorId flat = builder.AddOp(view).Take()[0];
  OpSpec copy{.name = "copy", .type = "aten._to_copy.default", .inputs = {flat}};
  copy.args = {Value(InputRef{0})};
  copy.attributes = {{"dtype", Value(std::string("torch.float32"))},
                     {"layout", Value(std::string("torch.strided"))}};
  copy.outputs = {{.name = "copy", .shape = {6}}};
  builder.SetOutputs({builder.AddOp(copy).Take()[0]});
  ASSERT_TRUE(builder.AddCollective("both", {OpId(1)}).ok());
  const Graph graph = std::move(builder).Build().Take();

  const Graph wide = WithWideFloats(graph).Take();
  EXPECT_EQ(wide.tensor(x).dtype, DType::kF64);
  EXPECT_EQ(wide.tensor(x).bytes, Bytes(48));  // 2 x 3 of 8 bytes
  EXPECT_EQ(wide.tensor(indices).dtype, DType::kI64);
  EXPECT_EQ(wide.tensor(indices).below, 7);
  EXPECT_TRUE(wide.op(OpId(0)).is_view);
  EXPECT_EQ(wide.tensor(flat).storage, wide.tensor(x).storage);
  EXPECT_EQ(wide.op(OpId(1)).attributes[0].value, Value(std::string("torch.float64")));
  EXPECT_EQ(wide.op(OpId(1)).attributes[1].value, Value(std::string("torch.strided")));
  EXPECT_EQ(wide.tensor(wide.outputs()[0]).dtype, DType::kF64);
  EXPECT_EQ(wide.collective(CollectiveId(0)).members, std::vector<OpId>{OpId(1)});
}

}  // namespace
}  // namespace placewright
