#include <cmath>

#include "capture/onnx/operators/operator_examples.h"

namespace placewright::lowering {

std::vector<Example> ReductionExamples() {
  const Given square = F({2, 2}, {1, 2, 3, 4});
  const Attributes last = {{"axes", IntList({-1})}, {"keepdims", Int(0)}};
  const Attributes drop = {{"keepdims", Int(0)}};
  const auto over_columns = [&](const char* type, double a, double b) {
    return Example{type, {square}, {F({2}, {a, b})}, last};
  };
  return {
      over_columns("ReduceMax", 2, 4),
      over_columns("ReduceMin", 1, 3),
      over_columns("ReduceMean", 1.5, 3.5),
      over_columns("ReduceProd", 2, 12),
      over_columns("ReduceL1", 3, 7),
      over_columns("ReduceL2", std::sqrt(5.0), 5),
      over_columns("ReduceLogSum", std::log(3.0), std::log(7.0)),
      over_columns("ReduceLogSumExp", std::log(std::exp(1.0) + std::exp(2.0)),
                   std::log(std::exp(3.0) + std::exp(4.0))),
      over_columns("ReduceSumSquare", 5, 25),
      // Axes are an input since operator set 13 (sums) and 18 (all others).
      {"ReduceSum", {square, KI({1})}, {F({2, 1}, {3, 7})}},
      {"ReduceSum", {square}, {F({2}, {3, 7})}, last, 11},
      {"ReduceSum", {square}, {F({1, 1}, {10})}},
      {"ReduceSum", {square, KI({})}, {square}, {{"noop_with_empty_axes", Int(1)}}},
      {"ReduceProd", {square}, {F({}, {24})}, drop},
      {"ReduceMax", {I({2}, {3, 5}), KI({0})}, {I({1}, {5})}, {}, 18},
      {"ReduceMean", {square, KI({0, 1})}, {F({}, {2.5})}, drop, 18},
      {"ArgMax", {square}, {I({1, 2}, {1, 1})}},
      {"ArgMax",
       {F({1, 3}, {5, 5, 1})},
       {I({1}, {1})},
       {{"axis", Int(1)}, {"keepdims", Int(0)}, {"select_last_index", Int(1)}}},
      {"ArgMin", {square}, {I({2}, {0, 0})}, {{"axis", Int(-1)}, {"keepdims", Int(0)}}},
      {"CumSum", {F({3}, {1, 2, 3}), Known(I({}, {0}))}, {F({3}, {1, 3, 6})}},
      {"CumSum",
       {F({3}, {1, 2, 3}), Known(I({}, {0}))},
       {F({3}, {5, 3, 0})},
       {{"exclusive", Int(1)}, {"reverse", Int(1)}}},
      {"CumProd", {F({3}, {1, 2, 3}), Known(I({}, {0}))}, {F({3}, {1, 2, 6})}},
      {"TopK", {F({3}, {1, 3, 2}), KI({2})}, {F({2}, {3, 2}), I({2}, {1, 2})}},
      {"TopK", {F({3}, {1, 3, 2})}, {F({1}, {3}), I({1}, {1})}, {{"k", Int(1)}}, 1},
      {"TopK", {F({3}, {1, 3, 2}), KI({1})}, {F({1}, {1}), I({1}, {0})}, {{"largest", Int(0)}}},
  };
}

}  // namespace placewright::lowering
