// What a placer sees of groups of units (EAGLE sec. III-B, as in the Hierarchical Planner): how many
// ops of each type a group has, the summed shapes of their outputs, and which groups it exchanges
// data with.
//
// Deviations: counts and sums are compressed by log(1 + x), adjacency is 0 or 1 in both directions;
// the Hierarchical Planner's public code adds shapes onto the columns of types, and gives all
// samples of a batch the grouping of the first. Groups come in the order of the mean place of their
// units in the graph's topological order, those without units last; the papers leave them in the
// order of their numbers.
#ifndef PLACEWRIGHT_LEARN_GROUPER_GROUP_EMBEDDING_H_
#define PLACEWRIGHT_LEARN_GROUPER_GROUP_EMBEDDING_H_

#include <ATen/core/Tensor.h>

#include "learn/units/unit_tensors.h"

namespace placewright {

// Of units, on one device.
struct UnitTotals {
  at::Tensor totals;    // [N, types + dimensions]: ops of each type, summed output dimensions
  at::Tensor from, to;  // [edges]: data between units

  int64_t units() const { return totals.size(0); }
};

UnitTotals TotalsOfUnits(const Problem& problem, const PlacementUnits& units,
                         const at::TensorOptions& options);

struct EmbeddedGroups {
  at::Tensor order;      // [K, G]: the groups in the order in which placers see them
  at::Tensor filled;     // [K, G], in that order: whether the group has units
  at::Tensor totals;     // [K, G, types + dimensions], in that order
  at::Tensor adjacency;  // [K, G, G], in that order: 0 or 1, 0 on the diagonal
};

// Of K groupings: group_of [K, N], numbers below `groups`. No gradients pass.
EmbeddedGroups EmbedGroups(const UnitTotals& units, const at::Tensor& group_of, int64_t groups);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_GROUPER_GROUP_EMBEDDING_H_
