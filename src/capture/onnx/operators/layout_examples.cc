#include "capture/onnx/operators/operator_examples.h"

namespace placewright::lowering {
namespace {

std::vector<Example> Shapes() {
  const Given six = F({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto six_as = [](std::vector<int64_t> shape) { return F(shape, {1, 2, 3, 4, 5, 6}); };
  return {
      {"Reshape", {six, KI({3, -1})}, {six_as({3, 2})}},
      {"Reshape", {six, KI({0, 1, 3})}, {six_as({2, 1, 3})}},
      {"Reshape", {F({0, 2}, {}), KI({2, 0})}, {F({2, 0}, {})}, {{"allowzero", Int(1)}}},
      {"Reshape", {six}, {six_as({6})}, {{"shape", IntList({6})}}, 1},
      {"Flatten", {F({1, 2, 3}, {1, 2, 3, 4, 5, 6})}, {six_as({1, 6})}},
      {"Flatten", {six}, {six_as({6, 1})}, {{"axis", Int(2)}}},
      {"Squeeze", {F({1, 2, 1}, {1, 2}), KI({-1})}, {F({1, 2}, {1, 2})}},
      {"Squeeze", {F({1, 2, 1}, {1, 2})}, {F({2}, {1, 2})}},
      {"Squeeze", {F({1, 2, 1}, {1, 2})}, {F({2}, {1, 2})}, {{"axes", IntList({0, 2})}}, 11},
      {"Unsqueeze", {F({2}, {1, 2}), KI({0, -1})}, {F({1, 2, 1}, {1, 2})}},
      {"Unsqueeze", {F({2}, {1, 2})}, {F({2, 1}, {1, 2})}, {{"axes", IntList({1})}}, 11},
      {"Transpose", {six}, {F({3, 2}, {1, 4, 2, 5, 3, 6})}},
      {"Transpose",
       {F({1, 2, 3}, {1, 2, 3, 4, 5, 6})},
       {F({2, 1, 3}, {1, 2, 3, 4, 5, 6})},
       {{"perm", IntList({1, 0, 2})}}},
      {"Concat", {F({1, 2}, {1, 2}), F({1, 1}, {3})}, {F({1, 3}, {1, 2, 3})}, {{"axis", Int(-1)}}},
      {"Split", {F({3}, {1, 2, 3}), KI({1, 2})}, {F({1}, {1}), F({2}, {2, 3})}},
      {"Split",
       {F({3}, {1, 2, 3})},
       {F({1}, {1}), F({2}, {2, 3})},
       {{"split", IntList({1, 2})}},
       11},
      // Two parts of three: 2 and 1.
      {"Split", {F({3}, {1, 2, 3})}, {F({2}, {1, 2}), F({1}, {3})}, {{"num_outputs", Int(2)}}, 18},
      {"Expand", {F({2, 1}, {1, 2}), KI({1, 1, 3})}, {F({1, 2, 3}, {1, 1, 1, 2, 2, 2})}},
      {"Expand", {F({2, 1}, {1, 2}), KI({1})}, {F({2, 1}, {1, 2})}},
      {"Tile", {F({1, 2}, {1, 2}), KI({2, 2})}, {F({2, 4}, {1, 2, 1, 2, 1, 2, 1, 2})}},
      // Channel 4 i + j of one pixel becomes row i, column j (DCR); the block is last in CRD.
      {"DepthToSpace",
       {F({1, 4, 1, 1}, {1, 2, 3, 4})},
       {F({1, 1, 2, 2}, {1, 2, 3, 4})},
       {{"blocksize", Int(2)}}},
      {"DepthToSpace",
       {F({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8})},
       {F({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
       {{"blocksize", Int(2)}, {"mode", Word("CRD")}}},
      {"DepthToSpace",
       {F({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8})},
       {F({1, 2, 2, 2}, {1, 3, 5, 7, 2, 4, 6, 8})},
       {{"blocksize", Int(2)}}},
      {"SpaceToDepth",
       {F({1, 1, 2, 2}, {1, 2, 3, 4})},
       {F({1, 4, 1, 1}, {1, 2, 3, 4})},
       {{"blocksize", Int(2)}}},
  };
}

std::vector<Example> Slices() {
  const Given five = F({5}, {0, 1, 2, 3, 4});
  return {
      {"Slice", {five, KI({1}), KI({3})}, {F({2}, {1, 2})}},
      {"Slice", {five, KI({-2}), KI({9007199254740992.0}), KI({0})}, {F({2}, {3, 4})}},
      {"Slice", {five, KI({0}), KI({5}), KI({0}), KI({2})}, {F({3}, {0, 2, 4})}},
      // Backwards from 4 down to, and without, 0; and to the very front.
      {"Slice", {five, KI({-1}), KI({0}), KI({0}), KI({-2})}, {F({2}, {4, 2})}},
      {"Slice", {five, KI({4}), KI({-9}), KI({0}), KI({-2})}, {F({3}, {4, 2, 0})}},
      {"Slice", {five, KI({3}), KI({1})}, {F({0}, {})}},
      {"Slice",
       {five},
       {F({2}, {1, 2})},
       {{"starts", IntList({1})}, {"ends", IntList({3})}, {"axes", IntList({0})}},
       1},
  };
}

std::vector<Example> Made() {
  const Given square = F({2, 2}, {1, 2, 3, 4});
  const Attributes reflect = {{"mode", Word("reflect")}}, edge = {{"mode", Word("edge")}},
                   wrap = {{"mode", Word("wrap")}};
  const Given three = F({3}, {1, 2, 3});
  return {
      {"Constant", {}, {F({2}, {1, 2})}, {{"value", TensorOf(F({2}, {1, 2}))}}},
      {"Constant", {}, {I({2}, {1, 2})}, {{"value_ints", IntList({1, 2})}}},
      {"Constant", {}, {I({}, {3})}, {{"value_int", Int(3)}}},
      {"Constant", {}, {F({2}, {0.5, 2})}, {{"value_floats", RealList({0.5, 2})}}},
      {"Constant", {}, {F({}, {0.5})}, {{"value_float", Real(0.5)}}},
      {"ConstantOfShape", {KI({2, 1})}, {F({2, 1}, {0, 0})}},
      {"ConstantOfShape", {KI({2})}, {I({2}, {7, 7})}, {{"value", TensorOf(I({1}, {7}))}}},
      {"Shape", {square}, {I({2}, {2, 2})}},
      {"Shape",
       {F({2, 1, 3}, {1, 2, 3, 4, 5, 6})},
       {I({1}, {1})},
       {{"start", Int(1)}, {"end", Int(-1)}}},
      {"Size", {square}, {I({}, {4})}},
      {"Range", {Known(I({}, {1})), Known(I({}, {6})), Known(I({}, {2}))}, {I({3}, {1, 3, 5})}},
      {"Range",
       {Known(F({}, {2})), Known(F({}, {0})), Known(F({}, {-0.5}))},
       {F({4}, {2, 1.5, 1, 0.5})}},
      {"EyeLike", {square}, {F({2, 2}, {0, 1, 0, 0})}, {{"k", Int(1)}}},
      {"Trilu", {square}, {F({2, 2}, {1, 2, 0, 4})}},
      {"Trilu", {square, Known(I({}, {-1}))}, {F({2, 2}, {0, 0, 3, 0})}, {{"upper", Int(0)}}},
      // -1 is the last of three.
      {"OneHot",
       {I({2}, {1, -1}), Known(I({}, {3})), F({2}, {5, 9})},
       {F({2, 3}, {5, 9, 5, 5, 5, 9})}},
      {"Pad", {F({2}, {1, 2}), KI({1, 2})}, {F({5}, {0, 1, 2, 0, 0})}},
      {"Pad", {square, KI({0, 1, 0, 0}), Known(F({}, {9}))}, {F({2, 3}, {9, 1, 2, 9, 3, 4})}},
      {"Pad", {square, KI({-1, 0}), None(), KI({0})}, {F({1, 2}, {3, 4})}, {}, 18},
      {"Pad", {F({1}, {1})}, {F({2}, {7, 1})}, {{"pads", IntList({1, 0})}, {"value", Real(7)}}, 2},
      {"Pad", {three, KI({2, 1})}, {F({6}, {3, 2, 1, 2, 3, 2})}, reflect},
      {"Pad", {three, KI({2, 1})}, {F({6}, {1, 1, 1, 2, 3, 3})}, edge},
      {"Pad", {three, KI({2, 1})}, {F({6}, {2, 3, 1, 2, 3, 1})}, wrap, 19},
      {"RandomNormal", {}, {F({2, 3}, {0, 0, 0, 0, 0, 0})}, {{"shape", IntList({2, 3})}}, 17, true},
      {"RandomUniform", {}, {F({2}, {0, 0})}, {{"shape", IntList({2})}}, 17, true},
      {"RandomNormalLike", {square}, {F({2, 2}, {0, 0, 0, 0})}, {}, 17, true},
      {"RandomUniformLike", {square}, {F({2, 2}, {0, 0, 0, 0})}, {}, 17, true},
      {"Bernoulli", {F({2}, {0, 1})}, {F({2}, {0, 1})}},
  };
}

}  // namespace

std::vector<Example> LayoutExamples() {
  std::vector<Example> all = Shapes();
  for (const auto& more : {Slices(), Made()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace placewright::lowering
