// Forms that rules of several operators have in common, whatever set of operators they are of.
#ifndef PLACEWRIGHT_SHARDING_RULES_FORMS_H_
#define PLACEWRIGHT_SHARDING_RULES_FORMS_H_

#include <cstdint>
#include <vector>

#include "sharding/rules/rule_maker.h"

namespace placewright {

// "...,...->...": every output has the broadcast shape. In-place ops keep that of their first input.
void Elementwise(RuleMaker& maker);
// The same, linear in all inputs together (a + b, a - b, copies), in each by itself (a * b), in the first.
void LinearTogether(RuleMaker& maker);
void LinearInEach(RuleMaker& maker);
void LinearInFirst(RuleMaker& maker);

// What moves elements is linear in all that it moves.
void LinearInAll(RuleMaker& maker);
// One input and one output, else Fail.
bool IsUnary(RuleMaker& maker);
// So many inputs or more, and one output, else Fail.
bool HasOneResult(RuleMaker& maker, size_t inputs);
// Inputs from `first` on are settings: small, and needed whole.
void WholeFrom(RuleMaker& maker, size_t first);

// The factors that two shapes of the same elements have in common, from the outermost in: "[b s] h" and
// "b s h". Where the bounds of dimensions do not divide one another, a run of dimensions is whole. Fails for
// shapes of different numbers of elements.
struct Regrouped {
  TensorAxes from, to;
};
Regrouped Regroup(RuleMaker& maker, const std::vector<int64_t>& from,
                  const std::vector<int64_t>& to);

// A tensor without dimension `dim`, and the rest of its axes.
TensorAxes Without(TensorAxes axes, size_t dim);

// Output dimension i is input dimension order[i].
void Reorder(RuleMaker& maker, const std::vector<size_t>& order);

// A piece of a dimension: [start, start + length) of `size`. If all pieces of this length fill it, the
// dimension is "[pieces inner]", of which the inner axis can be split: the gates of an LSTM.
struct DimensionPiece {
  std::vector<RuleAxisId> whole, piece;
  bool even = false;  // [pieces inner]
};
DimensionPiece PieceOf(RuleMaker& maker, int64_t size, int64_t start, int64_t length);

// Split: the outputs are pieces of input 0 along `dim`, among pieces of these shapes. Their sizes stand at
// argument `sizes_at`, or are called `sizes_name`: one for all, or one for each.
void TakeApart(RuleMaker& maker, size_t dim, const std::vector<std::vector<int64_t>>& shapes,
               size_t sizes_at, std::string_view sizes_name);
// Concatenation: output 0 is these inputs, one after the other along `dim`.
void PutTogether(RuleMaker& maker, size_t dim, const std::vector<size_t>& inputs);

// x [...] -> outputs without the reduced dimensions, or with size 1 there. `parts`: of these axes.
void ReduceDimensions(RuleMaker& maker, const std::vector<bool>& reduced, Parts parts);

// What is added to a product: broadcast to it, and taken once where the inner axis is split.
void AddOnce(RuleMaker& maker, size_t added);

// The axes of a convolution. Where its spatial dimensions are: whole, since their parts overlap.
struct ConvolutionAxes {
  RuleAxisId batch, group, in, out;  // channels are [group in] and [group out]
  TensorAxes input, weight, output;
};
// `x`, `w`, `y`: shapes; the number of groups stands at argument `groups_at`, or is called `groups_name`.
ConvolutionAxes Convolve(RuleMaker& maker, const std::vector<int64_t>& x,
                         const std::vector<int64_t>& w, const std::vector<int64_t>& y,
                         bool transposed, size_t groups_at, std::string_view groups_name);
// (x, w, bias?) -> y
void ConvolutionWithBias(RuleMaker& maker, bool transposed, size_t groups_at,
                         std::string_view groups_name);

// Of a tensor in which elements are looked up along `dim`, and of the indices: dimensions in which both are
// as long can be split together; along `dim` the index's own, which is `along`.
struct Lookup {
  TensorAxes table, index;
};
Lookup LookUp(RuleMaker& maker, const std::vector<int64_t>& table,
              const std::vector<int64_t>& index, size_t dim, Parts along);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_RULES_FORMS_H_
