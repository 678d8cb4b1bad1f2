#include "graph/aliasing/op_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/test_graphs.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using View = AliasSchema::View;

Value Refs(const std::vector<int32_t>& indices) {
  Value::List list;
  for (int32_t index : indices) list.push_back(Ref(index));
  return Value(std::move(list));
}

TEST(OpSchema, NamesAndOverloads) {
  EXPECT_EQ(AtenBaseName("aten.add_.Tensor"), "add_");
  EXPECT_EQ(AtenOverload("aten.add_.Tensor"), "Tensor");
  EXPECT_EQ(AtenBaseName("aten.add"), "add");
  EXPECT_EQ(AtenOverload("aten.add"), "");
  EXPECT_EQ(AtenBaseName("Conv"), "");
  EXPECT_EQ(AtenBaseName("prims.view"), "");
}

TEST(OpSchema, ViewsWithoutAMark) {
  for (const char* type : {"aten._unsafe_view.default", "aten.unsafe_split.Tensor",
                           "aten.unsafe_split_with_sizes.default", "aten.t.default",
                           "aten.view_as_complex.default", "aten.squeeze_.dim"}) {
    const AliasSchema schema = AliasOf(type, {Ref(1)}, {}, 2);
    EXPECT_EQ(schema.view, View::kYes) << type;
    EXPECT_EQ(schema.view_of, 1) << type;
    EXPECT_THAT(schema.writes, IsEmpty()) << type;
  }
  EXPECT_EQ(AliasOf("aten.reshape.default", {Ref(0)}, {}, 1).view, View::kIfPossible);
  for (const char* type : {"aten.add.Tensor", "aten.clone.default", "aten.view_copy.default",
                           "aten.slice_backward.default", "Reshape"}) {
    EXPECT_EQ(AliasOf(type, {Ref(0)}, {}, 1).view, View::kNo) << type;
  }
}

TEST(OpSchema, TrailingUnderscoreWritesTheFirstArgument) {
  const AliasSchema schema = AliasOf("aten.addcmul_.default", {Ref(2), Ref(0), Ref(1)}, {}, 3);
  EXPECT_THAT(schema.writes, ElementsAre(2));
  EXPECT_THAT(schema.returned, ElementsAre(2));
  EXPECT_THAT(AliasOf("aten.__iand__.Tensor", {Ref(0), Ref(1)}, {}, 2).writes, ElementsAre(0));
  EXPECT_THAT(AliasOf("aten.__and__.Tensor", {Ref(0), Ref(1)}, {}, 2).writes, IsEmpty());
}

TEST(OpSchema, ForeachWritesEveryTensorOfTheList) {
  const AliasSchema schema =
      AliasOf("aten._foreach_add_.List", {Refs({0, 1}), Refs({2, 3})}, {}, 4);
  EXPECT_THAT(schema.writes, ElementsAre(0, 1));
  EXPECT_THAT(schema.returned, ElementsAre(0, 1));
  EXPECT_THAT(AliasOf("aten._foreach_add.List", {Refs({0, 1})}, {}, 2).writes, IsEmpty());
}

TEST(OpSchema, OutVariantsWriteTheirOutArguments) {
  const AliasSchema schema = AliasOf("aten.mm.out", {Ref(0), Ref(1)}, {{"out", Ref(2)}}, 3);
  EXPECT_THAT(schema.writes, ElementsAre(2));
  EXPECT_THAT(schema.returned, ElementsAre(2));
  const AliasSchema two =
      AliasOf("aten.max.dim_out", {Ref(0), Int(1)}, {{"max", Ref(2)}, {"max_values", Ref(1)}}, 3);
  EXPECT_THAT(two.writes, ElementsAre(1, 2));
  EXPECT_THAT(two.returned, ElementsAre(2, 1));
}

TEST(OpSchema, BatchNormWritesItsRunningBuffersInTrainingOnly) {
  const std::vector<Value> training{Ref(0), Ref(1), Ref(2), Ref(3), Ref(4), Value(true)};
  const std::vector<Value> inference{Ref(0), Ref(1), Ref(2), Ref(3), Ref(4), Value(false)};
  const std::vector<Value> without{Ref(0), Ref(1), Ref(2), Value(), Value(), Value(true)};
  for (const char* type : {"aten.native_batch_norm.default", "aten.cudnn_batch_norm.default",
                           "aten._native_batch_norm_legit.default"}) {
    EXPECT_THAT(AliasOf(type, training, {}, 5).writes, ElementsAre(3, 4)) << type;
    EXPECT_THAT(AliasOf(type, training, {}, 5).returned, IsEmpty()) << type;
    EXPECT_THAT(AliasOf(type, inference, {}, 5).writes, IsEmpty()) << type;
    EXPECT_THAT(AliasOf(type, without, {}, 3).writes, IsEmpty()) << type;
  }
}

TEST(OpSchema, FusedOptimizersWriteParametersAndState) {
  const AliasSchema schema =
      AliasOf("aten._fused_adam_.default",
              {Refs({0, 1}), Refs({2, 3}), Refs({4, 5}), Refs({6, 7}), Refs({}), Refs({8})}, {}, 9);
  EXPECT_THAT(schema.writes, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));  // not the step counts
}

TEST(OpSchema, ReferencesOutOfRangeAreIgnored) {
  EXPECT_THAT(AliasOf("aten.add_.Tensor", {Ref(7)}, {}, 1).writes, IsEmpty());
  EXPECT_THAT(AliasOf("aten.add_.Tensor", {}, {}, 0).writes, IsEmpty());
}

}  // namespace
}  // namespace placewright
