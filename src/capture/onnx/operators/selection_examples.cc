#include "capture/onnx/operators/operator_examples.h"

namespace placewright::lowering {
namespace {

std::vector<Example> Gathers() {
  const Given square = F({2, 2}, {1, 2, 3, 4});
  return {
      {"Gather", {square, I({2}, {1, 0})}, {F({2, 2}, {3, 4, 1, 2})}},
      {"Gather", {square, I({1, 2}, {1, 0})}, {F({2, 1, 2}, {2, 1, 4, 3})}, {{"axis", Int(1)}}},
      {"Gather", {square, Known(I({}, {-1}))}, {F({2}, {3, 4})}},
      {"Gather", {square, KI({-1})}, {F({1, 2}, {3, 4})}},
      {"Gather", {I({2}, {5, 6}), I({}, {1})}, {I({}, {6})}},
      {"GatherElements", {square, I({2, 1}, {1, 0})}, {F({2, 1}, {2, 3})}, {{"axis", Int(1)}}},
      {"GatherND", {square, I({2, 2}, {0, 0, 1, 1})}, {F({2}, {1, 4})}},
      {"GatherND", {square, I({1, 1}, {1})}, {F({1, 2}, {3, 4})}},
      {"GatherND", {square, I({2, 1}, {1, 0})}, {F({2}, {2, 3})}, {{"batch_dims", Int(1)}}},
      {"NonZero", {Known(F({2, 2}, {1, 0, 0, 4}))}, {I({2, 2}, {0, 1, 0, 1})}},
      {"Compress", {square, Known(B({2}, {0, 1}))}, {F({2, 1}, {2, 4})}, {{"axis", Int(1)}}},
      {"Compress", {square, Known(B({3}, {0, 1, 1}))}, {F({2}, {2, 3})}},
      // The first sequence of two steps, the second of three.
      {"ReverseSequence",
       {F({3, 2}, {1, 2, 3, 4, 5, 6}), I({2}, {2, 3})},
       {F({3, 2}, {3, 6, 1, 4, 5, 2})}},
  };
}

std::vector<Example> Scatters() {
  const Given square = F({2, 2}, {1, 2, 3, 4});
  return {
      {"ScatterElements",
       {square, I({1, 2}, {1, 0}), F({1, 2}, {8, 9})},
       {F({2, 2}, {1, 9, 8, 4})}},
      {"Scatter", {square, I({1, 2}, {1, 0}), F({1, 2}, {8, 9})}, {F({2, 2}, {1, 9, 8, 4})}, {}, 9},
      {"ScatterElements",
       {square, I({1, 2}, {1, 0}), F({1, 2}, {8, 9})},
       {F({2, 2}, {1, 11, 11, 4})},
       {{"reduction", Word("add")}},
       16},
      {"ScatterElements",
       {square, I({1, 2}, {1, 0}), F({1, 2}, {2, 9})},
       {F({2, 2}, {1, 9, 3, 4})},
       {{"reduction", Word("max")}},
       18},
      {"ScatterND", {square, I({1, 1}, {1}), F({1, 2}, {8, 9})}, {F({2, 2}, {1, 2, 8, 9})}},
      {"ScatterND",
       {square, I({2, 2}, {0, 1, 1, 0}), F({2}, {8, 9})},
       {F({2, 2}, {1, 10, 12, 4})},
       {{"reduction", Word("add")}},
       16},
  };
}

}  // namespace

std::vector<Example> SelectionExamples() {
  std::vector<Example> all = Gathers();
  for (const Example& example : Scatters()) all.push_back(example);
  return all;
}

}  // namespace placewright::lowering
