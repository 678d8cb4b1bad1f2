// Rows that are sorted before they are computed: tokens by the expert that they are routed to.
//
// A step sorts rows by a key, computes on them group by group, and puts the results back where the rows came
// from, or adds them up (Gale et al. 2022, MegaBlocks; `_grouped_mm` in ATen). The order of the whole is another
// one than the orders of its parts, so that no rule of a single op can split such rows. But what leaves depends
// on no order: each part of the batch may sort its own rows, count its own groups, and put its own rows back.
//
// Found are regions that begin with a sort of one key a row and end with every row back at its place: of their
// ops each has a rule in which the sorted dimension is "[b r]", of which b, the batch, can be split. A part of a
// tensor in between holds the rows of its samples, in an order of its own: it follows from the interval alone,
// but two parts beside one another are not a part of the whole. What reads such a tensor is in the region, or
// reads sums over its rows.
//
// Rows of a key lie behind one another: where what each op of a region does can be done for some of the keys, rows are
// "[b g r]", and g, the keys, can be split, too. A part of it has the rows of its keys, of whose number r states an equal
// share for each key; how many there are is known when the step runs (Gale et al., sec. 5: experts apart).
//
// A sort of the same keys, as of what is computed again for the backward pass, is of the region of the first.
//
// Our own; a mixture of experts in parts is executed (tests/python/compiled_steps_test.py), and the independent
// checker lets no op join or cut such rows, nor read the counts of other rows than its own.
#ifndef PLACEWRIGHT_SHARDING_ROUTING_H_
#define PLACEWRIGHT_SHARDING_ROUTING_H_

#include <map>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "sharding/op_rule.h"

namespace placewright {

struct RoutedRows {
  std::map<OpId, OpRule> rules;            // of all ops of regions, in place of RuleOf
  std::vector<std::vector<OpId>> regions;  // ascending each
  IdVector<TensorId, bool> tensors;        // whose parts are in an order of their own
};

// With regions of embedding bags (bags.h). None where the graph does not prove how it follows its batch.
// Complexity: O(ops + edges).
RoutedRows FindRoutedRows(const Graph& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_ROUTING_H_
