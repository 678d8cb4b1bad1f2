// The sizes of a step at another batch than the one it was recorded at, by its proven laws.
#ifndef PLACEWRIGHT_GRAPH_BATCH_AT_BATCH_H_
#define PLACEWRIGHT_GRAPH_BATCH_AT_BATCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/batch/numbers.h"
#include "graph/graph.h"

namespace placewright {

// Whether a step of batch `from` (0: not stated) can be taken at batch `to`. Errors: kBatchScaling
// where `laws` is nullptr, or with the reason why it is valid for its batch only.
Status CheckBatchAllowed(const BatchScaling* laws, int64_t from, int64_t to);

// value + slope * (to - from); nullopt where that is no int64_t.
std::optional<int64_t> LinearAt(int64_t value, int64_t slope, int64_t from, int64_t to);

// `number` (of batch `from` >= 1) at batch `to` >= 1: of the same type. nullopt where the type
// cannot hold it, or the law is not one for such a number.
std::optional<Value> NumberAt(const Value& number, const ArgumentLaw& law, int64_t from,
                              int64_t to);

// The tensor's shape at batch `to`. Errors: those of CheckBatchAllowed; kBatchScaling for a size
// outside [0, kMaxQuantity].
Result<std::vector<int64_t>> ShapeAt(const Graph& graph, TensorId tensor, int64_t to);
// The same for a shape outside of a graph.
Result<std::vector<int64_t>> ShapeAt(std::vector<int64_t> shape,
                                     std::span<const DimensionLaw> slopes, int64_t from,
                                     int64_t to);

struct OpArguments {
  std::vector<Value> args;
  std::vector<NamedValue> attributes;
};
// The op's arguments at batch `to`. Errors: as ShapeAt; kBatchScaling for a number that its type
// cannot hold.
Result<OpArguments> ArgumentsAt(const Graph& graph, OpId op, int64_t to);
Result<OpArguments> ArgumentsAt(OpArguments arguments, std::span<const ArgumentLaw> laws,
                                int64_t from, int64_t to);

// Calls visit for every law of the op's arguments, with the place of its number.
void VisitLaws(const Op& op, std::span<const ArgumentLaw> laws,
               const std::function<void(const NumberPlace&, const ArgumentLaw&)>& visit);

// The graph with laws. Errors: kGraphInconsistent for laws that are not ones of this graph: rows
// of another length, no such dimension or number, not ascending, a law without a slope or of no
// use to its number.
Result<Graph> WithBatchScaling(Graph graph, BatchScaling laws);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_BATCH_AT_BATCH_H_
