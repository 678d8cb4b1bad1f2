#include "capture/onnx/operators/operator_examples.h"

namespace placewright::lowering {
namespace {

std::vector<Example> Matrices() {
  return {
      // [1 2; 3 4] [5 6; 7 8] = [19 22; 43 50]
      {"MatMul", {F({2, 2}, {1, 2, 3, 4}), F({2, 2}, {5, 6, 7, 8})}, {F({2, 2}, {19, 22, 43, 50})}},
      {"MatMul", {F({2}, {1, 2}), F({2, 2}, {5, 6, 7, 8})}, {F({2}, {19, 22})}},
      {"MatMul", {F({2, 2}, {1, 2, 3, 4}), F({2}, {5, 7})}, {F({2}, {19, 43})}},
      {"MatMul", {F({2}, {1, 2}), F({2}, {5, 7})}, {F({}, {19})}},
      {"MatMul", {F({2, 1, 1}, {2, 3}), F({1, 2}, {5, 7})}, {F({2, 1, 2}, {10, 14, 15, 21})}},
      {"MatMulInteger",
       {I({1, 2}, {5, 6}), I({2, 1}, {1, 2}), Known(I({}, {1})), None()},
       {{at::kInt, {1, 1}, {14}}}},
      {"com.microsoft.FusedMatMul",
       {F({2, 1}, {1, 2}), F({2, 1}, {5, 7})},
       {F({1, 1}, {9.5})},
       {{"transA", Int(1)}, {"alpha", Real(0.5)}},
       1},
      // 2 [1 2] [5; 7] + 3 * 1
      {"Gemm",
       {F({1, 2}, {1, 2}), F({1, 2}, {5, 7}), F({1}, {1})},
       {F({1, 1}, {41})},
       {{"transB", Int(1)}, {"alpha", Real(2)}, {"beta", Real(3)}}},
      {"Gemm", {F({2, 1}, {1, 2}), F({2, 1}, {5, 7})}, {F({1, 1}, {19})}, {{"transA", Int(1)}}},
      {"Einsum",
       {F({2, 2}, {1, 2, 3, 4}), F({2, 2}, {5, 6, 7, 8})},
       {F({2, 2}, {17, 39, 23, 53})},
       {{"equation", Word("ik, jk -> ji")}}},
  };
}

std::vector<Example> Convolutions() {
  const Attributes uneven = {{"pads", IntList({1, 0})}};
  return {
      // 1*1+2*10, 2*1+3*10; the bias is 100.
      {"Conv",
       {F({1, 1, 3}, {1, 2, 3}), F({1, 1, 2}, {1, 10}), F({1}, {100})},
       {F({1, 1, 2}, {121, 132})}},
      // One 0 in front only.
      {"Conv", {F({1, 1, 2}, {1, 2}), F({1, 1, 2}, {1, 10})}, {F({1, 1, 2}, {10, 21})}, uneven},
      // Three in, stride 2: two out, one 0 too many, which stands behind.
      {"Conv",
       {F({1, 1, 3}, {1, 2, 3}), F({1, 1, 2}, {1, 10})},
       {F({1, 1, 2}, {21, 3})},
       {{"auto_pad", Word("SAME_UPPER")}, {"strides", IntList({2})}}},
      {"Conv",
       {F({1, 1, 3}, {1, 2, 3}), F({1, 1, 2}, {1, 10})},
       {F({1, 1, 2}, {10, 32})},
       {{"auto_pad", Word("SAME_LOWER")}, {"strides", IntList({2})}}},
      // Each channel by itself, taps two apart.
      {"Conv",
       {F({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6}), F({2, 1, 1, 2}, {1, 1, 1, 10})},
       {F({1, 2, 1, 1}, {4, 64})},
       {{"group", Int(2)}, {"dilations", IntList({1, 2})}}},
      {"com.microsoft.FusedConv",
       {F({1, 1, 2}, {1, -2}), F({1, 1, 1}, {3})},
       {F({1, 1, 2}, {3, 0})},
       {{"activation", Word("Relu")}},
       1},
      // 1 and 2 spread [1 10] with stride 1: 1, 10+2, 20.
      {"ConvTranspose", {F({1, 1, 2}, {1, 2}), F({1, 1, 2}, {1, 10})}, {F({1, 1, 3}, {1, 12, 20})}},
      {"ConvTranspose",
       {F({1, 1, 2}, {1, 2}), F({1, 1, 2}, {1, 10}), F({1}, {100})},
       {F({1, 1, 5}, {101, 110, 102, 120, 100})},
       {{"strides", IntList({2})}, {"output_padding", IntList({1})}}},
      // One cut off in front only.
      {"ConvTranspose",
       {F({1, 1, 2}, {1, 2}), F({1, 1, 2}, {1, 10}), F({1}, {100})},
       {F({1, 1, 2}, {112, 120})},
       uneven},
      // Asked for two of three: SAME_UPPER cuts behind, else in front.
      {"ConvTranspose",
       {F({1, 1, 2}, {1, 2}), F({1, 1, 2}, {1, 10})},
       {F({1, 1, 2}, {1, 12})},
       {{"auto_pad", Word("SAME_UPPER")}}},
      {"ConvTranspose",
       {F({1, 1, 2}, {1, 2}), F({1, 1, 2}, {1, 10})},
       {F({1, 1, 2}, {12, 20})},
       {{"output_shape", IntList({2})}}},
  };
}

std::vector<Example> Pooling() {
  const Given row = F({1, 1, 5}, {1, 5, 2, 4, 3});
  const Given square = F({1, 1, 2, 2}, {1, 2, 3, 4});
  const Attributes two = {{"kernel_shape", IntList({2})}, {"strides", IntList({2})}};
  const auto with = [](Attributes base, const char* name, ImportedAttribute value) {
    base[name] = std::move(value);
    return base;
  };
  return {
      {"MaxPool", {row}, {F({1, 1, 2}, {5, 4})}, two},
      {"MaxPool", {row}, {F({1, 1, 3}, {5, 4, 3})}, with(two, "ceil_mode", Int(1))},
      {"MaxPool", {row}, {F({1, 1, 3}, {1, 5, 4})}, with(two, "pads", IntList({1, 0}))},
      // Padding of more than half a kernel: only -infinity, and 1, in the first window.
      {"MaxPool",
       {F({1, 1, 2}, {1, 5})},
       {F({1, 1, 3}, {1, 5, 5})},
       {{"kernel_shape", IntList({3})}, {"pads", IntList({2, 1})}}},
      {"MaxPool",
       {square},
       {F({1, 1, 1, 1}, {4}), I({1, 1, 1, 1}, {3})},
       {{"kernel_shape", IntList({2, 2})}}},
      // Positions count through images: the second one begins at 4.
      {"MaxPool",
       {F({1, 2, 2, 2}, {1, 2, 3, 4, 8, 7, 6, 5})},
       {F({1, 2, 1, 1}, {4, 8}), I({1, 2, 1, 1}, {3, 4})},
       {{"kernel_shape", IntList({2, 2})}}},
      {"MaxPool",
       {F({1, 1, 1, 2, 2}, {1, 2, 3, 4})},
       {F({1, 1, 1, 1, 1}, {4})},
       {{"kernel_shape", IntList({1, 2, 2})}}},
      {"AveragePool", {row}, {F({1, 1, 2}, {3, 3})}, two},
      // What the ceiling adds is not counted: the last window holds 3 alone.
      {"AveragePool", {row}, {F({1, 1, 3}, {3, 3, 3})}, with(two, "ceil_mode", Int(1))},
      // A 0 in front, not counted, and counted.
      {"AveragePool", {row}, {F({1, 1, 3}, {1, 3.5, 3.5})}, with(two, "pads", IntList({1, 0}))},
      {"AveragePool",
       {row},
       {F({1, 1, 3}, {0.5, 3.5, 3.5})},
       with(with(two, "pads", IntList({1, 0})), "count_include_pad", Int(1))},
      {"AveragePool", {square}, {F({1, 1, 1, 1}, {2.5})}, {{"kernel_shape", IntList({2, 2})}}},
      {"AveragePool",
       {square},
       {F({1, 1, 2, 2}, {2.5, 3, 3.5, 4})},
       {{"kernel_shape", IntList({2, 2})}, {"auto_pad", Word("SAME_UPPER")}}},
      // sqrt(1 + 4 + 9 + 16)
      {"LpPool", {square}, {F({1, 1, 1, 1}, {5.477226})}, {{"kernel_shape", IntList({2, 2})}}},
      {"GlobalAveragePool", {square}, {F({1, 1, 1, 1}, {2.5})}},
      {"GlobalMaxPool", {square}, {F({1, 1, 1, 1}, {4})}},
      {"GlobalLpPool", {square}, {F({1, 1, 1, 1}, {10})}, {{"p", Int(1)}}},
  };
}

std::vector<Example> Resizing() {
  const Given row = F({1, 1, 1, 2}, {1, 3});
  const Given twice = KF({1, 1, 1, 2});
  const auto mode = [](const char* name, const char* coordinates) {
    return Attributes{{"mode", Word(name)}, {"coordinate_transformation_mode", Word(coordinates)}};
  };
  Attributes floor = mode("nearest", "asymmetric");
  floor["nearest_mode"] = Word("floor");
  return {
      {"Resize", {row, None(), twice}, {F({1, 1, 1, 4}, {1, 1, 3, 3})}, floor},
      // Places -1/4, 1/4, 3/4, 5/4, held within the image.
      {"Resize",
       {row, None(), twice},
       {F({1, 1, 1, 4}, {1, 1.5, 2.5, 3})},
       mode("linear", "half_pixel")},
      {"Resize",
       {row, None(), None(), KI({1, 1, 1, 3})},
       {F({1, 1, 1, 3}, {1, 2, 3})},
       mode("linear", "align_corners")},
      // Places 0, 1/2, 1, 3/2; halves go down.
      {"Resize",
       {row, None(), twice},
       {F({1, 1, 1, 4}, {1, 1, 3, 3})},
       mode("nearest", "asymmetric")},
      {"Resize",
       {row, None(), twice},
       {F({1, 1, 1, 4}, {1, 2, 3, 3})},
       mode("linear", "asymmetric")},
      {"Resize",
       {F({3}, {1, 2, 4}), None(), None(), KI({2})},
       {F({2}, {1.25, 3.5})},
       mode("linear", "half_pixel")},
      // Cubic with a = -3/4 at 1/4 behind the first of two: weights -0.1055, 0.8789, 0.2617,
      // -0.0352 of 1, 1, 3, 3; at 5/4 mirrored.
      {"Resize",
       {row, None(), twice},
       {F({1, 1, 1, 4}, {0.789062, 1.453125, 2.546875, 3.210938})},
       mode("cubic", "half_pixel")},
      {"Upsample", {row, twice}, {F({1, 1, 1, 4}, {1, 1, 3, 3})}, {}, 9},
      {"Upsample", {row}, {F({1, 1, 1, 4}, {1, 1, 3, 3})}, {{"scales", RealList({1, 1, 1, 2})}}, 7},
      // The middle of the image, with corners at -1 and 1.
      {"GridSample",
       {F({1, 1, 2, 2}, {1, 2, 3, 4}), F({1, 1, 1, 2}, {0, 0})},
       {F({1, 1, 1, 1}, {2.5})},
       {{"align_corners", Int(1)}}},
  };
}

}  // namespace

std::vector<Example> ProductExamples() {
  std::vector<Example> all = Matrices();
  for (const auto& more : {Convolutions(), Pooling(), Resizing()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace placewright::lowering
