#include "graph/aliasing/view_geometry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "graph/test_graphs.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

// One view op on a contiguous f32 base.
struct Case {
  std::string type;
  std::vector<int64_t> base;
  std::vector<Value> args;  // behind the viewed tensor
  std::vector<int64_t> shape;
  int32_t output = 0;
  DType dtype = DType::kF32;
};

std::optional<StridedLayout> Derive(const Case& c, DType base_dtype = DType::kF32) {
  Op op;
  op.type = c.type;
  op.args = c.args;
  op.args.insert(op.args.begin(), Ref(0));
  Tensor output;
  output.shape = c.shape;
  output.dtype = c.dtype;
  output.output_index = c.output;
  return DeriveView(op, ContiguousLayout(base_dtype, c.base), output);
}

// "offset; strides; hull in bytes", or "none".
std::string Describe(const std::optional<StridedLayout>& layout) {
  if (!layout) return "none";
  std::string text = std::to_string(layout->offset) + ";";
  for (int64_t stride : layout->strides) text += " " + std::to_string(stride);
  const std::optional<ByteRange> hull = HullOf(*layout);
  if (!hull) return text + "; too large";
  return text + "; [" + std::to_string(hull->offset.count) + "," +
         std::to_string(hull->offset.count + hull->length.count) + ")";
}

Value None() { return Value(); }

// Strides of a contiguous [2,3,4] are 12 4 1; it has 24 elements, 96 bytes.
TEST(ViewGeometry, EveryViewOp) {
  const std::vector<int64_t> base{2, 3, 4};
  const std::pair<Case, const char*> cases[] = {
      {{"aten.view.default", base, {Ints({6, -1})}, {6, 4}}, "0; 4 1; [0,96)"},
      {{"aten._unsafe_view.default", base, {Ints({24})}, {24}}, "0; 1; [0,96)"},
      {{"aten._reshape_alias.default", base, {Ints({4, 6}), Ints({6, 1})}, {4, 6}},
       "0; 6 1; [0,96)"},
      {{"aten.flatten.using_ints", base, {Int(0), Int(1)}, {6, 4}}, "0; 4 1; [0,96)"},
      {{"aten.unflatten.int", base, {Int(2), Ints({2, 2})}, {2, 3, 2, 2}}, "0; 12 4 2 1; [0,96)"},
      {{"aten.alias.default", base, {}, base}, "0; 12 4 1; [0,96)"},
      {{"aten.detach.default", base, {}, base}, "0; 12 4 1; [0,96)"},
      {{"aten.t.default", {3, 4}, {}, {4, 3}}, "0; 1 4; [0,48)"},
      {{"aten.t.default", {3}, {}, {3}}, "0; 1; [0,12)"},
      {{"aten.numpy_T.default", base, {}, {4, 3, 2}}, "0; 1 4 12; [0,96)"},
      {{"aten.mT.default", base, {}, {2, 4, 3}}, "0; 12 1 4; [0,96)"},
      {{"aten.transpose.int", base, {Int(0), Int(-1)}, {4, 3, 2}}, "0; 1 4 12; [0,96)"},
      {{"aten.swapaxes.default", base, {Int(0), Int(1)}, {3, 2, 4}}, "0; 4 12 1; [0,96)"},
      {{"aten.permute.default", base, {Ints({2, 0, 1})}, {4, 2, 3}}, "0; 1 12 4; [0,96)"},
      {{"aten.movedim.int", base, {Int(0), Int(2)}, {3, 4, 2}}, "0; 4 1 12; [0,96)"},
      {{"aten.movedim.intlist", base, {Ints({2, 0}), Ints({0, 1})}, {4, 2, 3}},
       "0; 1 12 4; [0,96)"},
      {{"aten.expand.default", {3, 1}, {Ints({2, 3, 5})}, {2, 3, 5}}, "0; 0 1 0; [0,12)"},
      // element 1 of dimension 0 starts at 12: bytes 48 to 96
      {{"aten.select.int", base, {Int(0), Int(-1)}, {3, 4}}, "12; 4 1; [48,96)"},
      // column 3: elements 3, 7, ..., 23
      {{"aten.select.int", base, {Int(2), Int(3)}, {2, 3}}, "3; 12 4; [12,96)"},
      {{"aten.slice.Tensor", base, {Int(1), Int(1), Int(INT64_MAX)}, {2, 2, 4}},
       "4; 12 4 1; [16,96)"},
      {{"aten.slice.Tensor", base, {Int(2), Int(0), Int(-1), Int(2)}, {2, 3, 2}},
       "0; 12 4 2; [0,92)"},
      {{"aten.slice.Tensor", base, {Int(0), None(), None()}, base}, "0; 12 4 1; [0,96)"},
      {{"aten.slice.Tensor", base, {Int(1), Int(3), Int(3)}, {2, 0, 4}}, "0; 12 4 1; [0,0)"},
      {{"aten.narrow.default", base, {Int(1), Int(1), Int(2)}, {2, 2, 4}}, "4; 12 4 1; [16,96)"},
      {{"aten.split.Tensor", base, {Int(3), Int(2)}, {2, 3, 1}, 1}, "3; 12 4 1; [12,96)"},
      {{"aten.split.sizes", base, {Ints({1, 2}), Int(1)}, {2, 2, 4}, 1}, "4; 12 4 1; [16,96)"},
      {{"aten.split_with_sizes.default", base, {Ints({1, 2}), Int(1)}, {2, 1, 4}, 0},
       "0; 12 4 1; [0,64)"},
      {{"aten.unsafe_split.Tensor", base, {Int(1), Int(0)}, {1, 3, 4}, 1}, "12; 12 4 1; [48,96)"},
      // 4 columns in 3 chunks: ceil(4/3) = 2 each, so the second is columns 2 and 3
      {{"aten.chunk.default", base, {Int(3), Int(2)}, {2, 3, 2}, 1}, "2; 12 4 1; [8,96)"},
      // 4 columns in 3 sections: sizes 2, 1, 1
      {{"aten.tensor_split.sections", base, {Int(3), Int(2)}, {2, 3, 1}, 1}, "2; 12 4 1; [8,92)"},
      {{"aten.tensor_split.indices", base, {Ints({1, 3}), Int(2)}, {2, 3, 2}, 1},
       "1; 12 4 1; [4,92)"},
      {{"aten.unbind.int", base, {Int(1)}, {2, 4}, 2}, "8; 12 1; [32,96)"},
      {{"aten.squeeze.dim", {2, 1, 4}, {Int(1)}, {2, 4}}, "0; 4 1; [0,32)"},
      {{"aten.unsqueeze.default", {2, 4}, {Int(1)}, {2, 1, 4}}, "0; 4 4 1; [0,32)"},
      {{"aten.as_strided.default", {24}, {Ints({2, 3}), Ints({5, 1}), Int(7)}, {2, 3}},
       "7; 5 1; [28,60)"},
      // the diagonal above the main one of [3,4]: (0,1), (1,2), (2,3)
      {{"aten.diagonal.default", {3, 4}, {Int(1)}, {3}}, "1; 5; [4,48)"},
      {{"aten.diagonal.default", {3, 4}, {Int(-1)}, {2}}, "4; 5; [16,40)"},
      // windows of 2, 2 apart, over 5: starts 0 and 2
      {{"aten.unfold.default", {5}, {Int(0), Int(2), Int(2)}, {2, 2}}, "0; 2 1; [0,16)"},
      {{"aten.squeeze_.dim", {2, 1, 4}, {Int(1)}, {2, 4}}, "0; 4 1; [0,32)"},
      // another format: a reshape
      {{"Reshape", base, {}, {6, 4}}, "0; 4 1; [0,96)"},
  };
  for (const auto& [c, expected] : cases) EXPECT_EQ(Describe(Derive(c)), expected) << c.type;
}

TEST(ViewGeometry, OtherElementTypes) {
  // 3 complex numbers are 6 floats
  EXPECT_EQ(Describe(Derive({"aten.view_as_real.default", {3}, {}, {3, 2}}, DType::kC64)),
            "0; 2 1; [0,24)");
  EXPECT_EQ(Describe(Derive({"aten.imag.default", {3}, {}, {3}}, DType::kC64)), "1; 2; [4,24)");
  EXPECT_EQ(Describe(Derive({"aten.view_as_complex.default", {3, 2}, {}, {3}, 0, DType::kC64})),
            "0; 1; [0,24)");
  // [2,4] f32 as i64 is [2,2]; as i16 it is [2,8]
  EXPECT_EQ(Describe(Derive({"aten.view.dtype", {2, 4}, {}, {2, 2}, 0, DType::kI64})),
            "0; 2 1; [0,32)");
  EXPECT_EQ(Describe(Derive({"aten.view.dtype", {2, 4}, {}, {2, 8}, 0, DType::kI16})),
            "0; 8 1; [0,32)");
  EXPECT_EQ(Describe(Derive({"aten.view.dtype", {2, 3}, {}, {2, 2}, 0, DType::kI64})), "none");
}

TEST(ViewGeometry, WhatCannotBeIsNotDerived) {
  const std::vector<int64_t> base{2, 3, 4};
  const Case cases[] = {
      {"aten.view.default", base, {}, {5, 5}},
      {"aten.select.int", base, {Int(3), Int(0)}, {2, 3}},
      {"aten.select.int", base, {Int(0), Int(2)}, {3, 4}},
      {"aten.slice.Tensor", base, {Int(0), Int(0), Int(1), Int(0)}, {1, 3, 4}},
      {"aten.slice.Tensor", base, {Int(0), Int(0), Int(1)}, {2, 3, 4}},  // shape says otherwise
      {"aten.permute.default", base, {Ints({0, 0, 1})}, {2, 2, 3}},
      {"aten.split.Tensor", base, {Int(0), Int(1)}, {2, 0, 4}},
      {"aten.split_with_sizes.default", base, {Ints({4, -1}), Int(1)}, {2, 4, 4}},
      {"aten.unbind.int", base, {Int(0)}, {3, 4}, 7},
      {"aten.expand.default", base, {}, {2, 3, 5}},
      {"aten.as_strided.default", base, {Ints({2}), Ints({-1})}, {2}},
      {"aten.as_strided.default", base, {Ints({2}), Ints({1, 1})}, {2}},
      {"aten.chunk.default", base, {Int(INT64_MIN), Int(0)}, {2, 3, 4}},
      {"aten.transpose.int", base, {Int(INT64_MIN), Int(INT64_MAX)}, base},
      {"aten.movedim.intlist", base, {Ints({0, 0}), Ints({1, 2})}, base},
      {"aten.unfold.default", base, {Int(0), Int(3), Int(1)}, {1, 3, 4, 3}},
      {"aten.diagonal.default", base, {Int(0), Int(1), Int(1)}, {2, 3}},
  };
  for (const Case& c : cases) EXPECT_EQ(Describe(Derive(c)), "none") << c.type;
}

TEST(ViewGeometry, HugeArgumentsDoNotOverflow) {
  const int64_t huge = INT64_MAX;
  const std::optional<StridedLayout> layout = Derive(
      {"aten.as_strided.default", {4}, {Ints({3, 3}), Ints({huge, huge}), Int(huge)}, {3, 3}});
  ASSERT_TRUE(layout.has_value());
  EXPECT_FALSE(HullOf(*layout).has_value());
  EXPECT_EQ(Describe(Derive(
                {"aten.slice.Tensor", {4}, {Int(0), Int(INT64_MIN), Int(huge), Int(huge)}, {1}})),
            "0; 1; [0,4)");
}

// A transposed [2,3] has strides 1 3: [3,2] cannot be flattened, but a dimension can be added.
TEST(ViewGeometry, ReshapesOfStridedLayouts) {
  StridedLayout transposed{DType::kF32, {3, 2}, {1, 3}, 0};
  EXPECT_FALSE(ReshapeLayout(transposed, {6}).has_value());
  EXPECT_FALSE(ReshapeLayout(transposed, {2, 3}).has_value());
  const std::optional<StridedLayout> added = ReshapeLayout(transposed, {3, 1, 2});
  ASSERT_TRUE(added.has_value());
  EXPECT_EQ(added->strides[0], 1);
  EXPECT_EQ(added->strides[2], 3);
  // [4,6] with rows 8 apart: rows can be grouped, columns split, but rows and columns not merged
  const StridedLayout padded{DType::kF32, {4, 6}, {8, 1}, 5};
  const std::optional<StridedLayout> split = ReshapeLayout(padded, {2, 2, 3, 2});
  ASSERT_TRUE(split.has_value());
  EXPECT_THAT(split->strides, ElementsAre(16, 8, 2, 1));
  EXPECT_EQ(split->offset, 5);
  EXPECT_FALSE(ReshapeLayout(padded, {24}).has_value());
  EXPECT_FALSE(ReshapeLayout(padded, {4, 5}).has_value());
  EXPECT_FALSE(ReshapeLayout(padded, {4, 6, 2}).has_value());
}

// In a graph: a view that cannot be derived covers its input's bytes, and so do its views.
TEST(ViewGeometry, FallsBackToTheInputsBytes) {
  TinyGraph tiny;
  const TensorId x = tiny.Input("x", TensorKind::kInput, {4, 4});
  const TensorId half = tiny.View("half", "aten.slice.Tensor", x, {2, 4}, {Int(0), Int(2), Int(4)});
  const TensorId odd = tiny.View("odd", "aten.some_new_view.default", half, {7});
  tiny.View("more", "aten.select.int", odd, {}, {Int(0), Int(3)});
  tiny.View("larger", "aten.as_strided.default", x, {5, 5}, {Ints({5, 5}), Ints({5, 1})});
  const Graph graph = tiny.Build();
  for (const char* name : {"half", "odd", "more"}) {
    const Tensor& tensor = graph.tensor(graph.FindTensor(name));
    EXPECT_EQ(tensor.offset, Bytes(32)) << name;  // rows 2 and 3 of 16 bytes each
    EXPECT_EQ(tensor.length, Bytes(32)) << name;
  }
  // 25 elements do not fit a storage of 16
  EXPECT_EQ(graph.tensor(graph.FindTensor("larger")).length, Bytes(64));
}

TEST(ViewGeometry, ReshapeIsAViewWhereItCanBe) {
  TinyGraph tiny;
  const TensorId x = tiny.Input("x", TensorKind::kInput, {2, 3});
  const TensorId t = tiny.View("t", "aten.t.default", x, {3, 2});
  for (const auto& [name, base] : {std::pair{"of_x", x}, std::pair{"of_t", t}}) {
    OpSpec spec;
    spec.name = name;
    spec.type = "aten.reshape.default";
    spec.inputs = {base};
    spec.outputs = {OutputSpec()};
    spec.outputs[0].name = name;
    spec.outputs[0].shape = {6};
    spec.outputs[0].alias = AliasKind::kViewIfPossible;
    spec.outputs[0].alias_of = 0;
    ASSERT_TRUE(tiny.builder().AddOp(spec).ok());
  }
  const Graph graph = tiny.Build();
  EXPECT_TRUE(graph.op(graph.FindOp("of_x")).is_view);
  EXPECT_FALSE(graph.op(graph.FindOp("of_t")).is_view);  // must copy
}

}  // namespace
}  // namespace placewright
