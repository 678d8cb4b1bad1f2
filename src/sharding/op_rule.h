// One rule for an operator, in axes of its own: which runs of elements of its inputs and outputs are
// one. From it follow all ways to compute the op in parts (docs/sharding.md).
//
// Written like a product of matrices in Einstein's notation, "mk,kn->mn": m and n are in the output,
// so that parts of them give parts of it; k is not, and the output is the sum over its parts. A
// dimension may hold several axes, the outermost first: "[b s] h" is a tensor of samples and tokens
// that has been flattened, and can still be split by its samples.
//
// Source: the notation of XLA's Shardy (op sharding rules) and DTensor's single-dimension strategies;
// TAG, section 4.1.1, is the projection on the batch. Ours are the factors that a rule finds itself,
// and sizes that follow uneven parts.
#ifndef PLACEWRIGHT_SHARDING_OP_RULE_H_
#define PLACEWRIGHT_SHARDING_OP_RULE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"

namespace placewright {

using RuleAxisId = Id<struct RuleAxisTag>;

// How an op can be computed in parts of an axis.
enum class Parts : uint8_t {
  kSplit,  // each part by itself; an output without the axis comes out the same in every part
  kSum,    // each part by itself; an output without the axis is the sum of what the parts give
  // Each part by itself once sums over all parts are known (the statistics of a batch norm); an
  // output without the axis comes out the same in every part.
  kSynchronised,
  kWhole  // not at all
};

// What computes a part, beyond the op itself with the sizes of the part.
enum class PartForm : uint8_t {
  kSameOp,
  kMean,  // a sum (result 0), divided by `divisor`; of a gradient, a part of the sum's gradient
  kWeightedMean,  // a loss that is a mean with weights: a sum, divided by the weight of all parts
  kBatchNorm,     // statistics of all parts together (Chan's formula)
  kBatchNormBackward
};

struct RuleAxis {
  int64_t size = 1;
  Parts parts = Parts::kWhole;
};

// The axes of every dimension of a tensor, the outermost first; their sizes multiply to its size. A
// dimension of size 1 may have none.
using TensorAxes = std::vector<std::vector<RuleAxisId>>;

// A number among the op's arguments that follows the size of parts: multiplier times the sizes of
// the axes there.
struct SizeArgument {
  int32_t number = 0;  // as VisitNumbers counts
  int64_t multiplier = 1;
  std::vector<RuleAxisId> axes;
};

// Where one op computes the parts of one axis, and the op itself those of the others: `type` with the first
// `args` arguments and, behind them, the part's place: a list [dimension, outer, size, from, to], as the
// axis lies in the tensor that has it. An argument that the op lacks is the sizes of output 0.
struct AxisPartOp {
  RuleAxisId axis;
  std::string type;
  int32_t args = 0;
  bool of_output = false;  // that tensor is output 0; else input 0
  bool keywords = false;   // it takes the op's keyword arguments
  bool uneven = false;     // what a part takes is not in proportion to its size
};

// at::Reduction::Sum, as the losses of ATen take it.
inline constexpr int64_t kReductionSum = 2;

struct OpRule {
  IdVector<RuleAxisId, RuleAxis> axes;
  std::vector<TensorAxes> inputs, outputs;  // parallel to Op::inputs and Op::outputs
  std::vector<SizeArgument> sizes;
  // Inputs that enter an output that is a sum by themselves: one part alone takes them (the bias of
  // a product whose inner axis is split); for the others they are zero.
  std::vector<std::pair<RuleAxisId, int32_t>> once;
  // Sets of inputs such that the op is linear in them together: where all of them are partial sums
  // and the other inputs are whole, the outputs are partial sums.
  std::vector<std::vector<int32_t>> linear;
  // Inputs whose values do not count (new_zeros: of its input it takes the dtype): any piece will do.
  std::vector<int32_t> unread;
  // The op that computes a part, where it is another one: `type` with the first `args` arguments.
  std::string part_type;
  int32_t part_args = 0;
  // Behind these arguments it takes the sizes of output 0; and it stands for parts alone, not for an op that
  // reads what has been put together anew.
  bool part_takes_sizes = false;
  PartForm form = PartForm::kSameOp;
  // Of means: the argument that says how the op reduces, which for a part is kReductionSum; -1: the part is
  // computed by another operator, that sums (aten.mean: aten.sum).
  int32_t reduction_argument = -1;
  int64_t divisor = 1;        // of kMean: by how much result 0 of a part is divided
  bool draws_random = false;  // from a generator: parts would draw other numbers than the whole
  // The argument that says which part of the whole an op draws that counts (transforms/counter_draws.h): a list,
  // empty for the whole, else [dimension, outer, size, from, to] as an axis lies in the outputs; or -1.
  int32_t place_argument = -1;
  std::vector<AxisPartOp> axis_parts;
};

// Whether parts of that axis are uneven (AxisPartOp): the op is then split by its outermost factor alone.
inline bool HasUnevenParts(const OpRule& rule, RuleAxisId axis) {
  return std::any_of(rule.axis_parts.begin(), rule.axis_parts.end(),
                     [&](const AxisPartOp& part) { return part.axis == axis && part.uneven; });
}
// Whether a tensor of these axes has `axis`.
bool Holds(const TensorAxes& tensor, RuleAxisId axis);
bool IsUnread(const OpRule& rule, size_t input);

// What one output is in a part of an axis.
enum class PartVerdict : uint8_t {
  kConcat,  // a part of it: together they are the whole
  kSum,     // a partial sum
  kWhole    // all of it, in every part; or the axis cannot be split
};
std::string_view ToString(PartVerdict verdict);  // "concat", "sum", "whole"
PartVerdict VerdictOf(const OpRule& rule, RuleAxisId axis, size_t output);

// The rule of an op of an ATen or ONNX graph; nothing where none is known: the op is whole. Shapes and
// arguments must be those of its operator; where they cannot be (a file of somebody's), nothing, too.
std::optional<OpRule> RuleOf(const Graph& graph, OpId op);

// A type has a rule at all in graphs of that format ("aten", "onnx"), whatever its arguments.
bool HasRule(std::string_view format, std::string_view type);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_OP_RULE_H_
