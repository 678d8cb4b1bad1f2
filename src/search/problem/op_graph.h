// The dependencies of one problem between exec ops (ops that are no views), as planners and bounds
// see them: what an op reads, who made it, where content from before the step lives.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_OP_GRAPH_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_OP_GRAPH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "search/problem/problem.h"

namespace placewright {

// One (storage, version, byte range) that an op reads. Exactly one of the four origins holds:
// made by `producer`; at home with `home_group`; at home on `home_device`; resident everywhere.
struct OpInput {
  int32_t crossing;          // group of SimGraph: what crosses to a device once
  int32_t producer = -1;     // exec op
  int32_t home_group = -1;   // colocation group whose device is home
  int32_t home_device = -1;  // home that the file gives
  int64_t length = 0;        // bytes that move
  int64_t bytes = 0;         // that a copy occupies
};

struct OpGraph {
  int32_t ops = 0, devices = 0;
  std::vector<int32_t> group_of;  // exec op -> colocation group
  std::vector<Phase> phase;       // of the exec op
  std::vector<int32_t> order;     // exec ops, topological
  std::vector<int32_t> input_offset;
  std::vector<OpInput> input_items;
  std::vector<int32_t> before_offset;  // ops that must end first without giving data: `after`, and
  std::vector<int32_t> before_items;   // write-after-read within one colocation group
  std::vector<int32_t> reader_offset;  // all ops that wait for this one, ascending, distinct
  std::vector<int32_t> reader_items;

  std::span<const OpInput> Inputs(int32_t op) const {
    return {input_items.data() + input_offset[op],
            static_cast<size_t>(input_offset[op + 1] - input_offset[op])};
  }
  std::span<const int32_t> Before(int32_t op) const {
    return {before_items.data() + before_offset[op],
            static_cast<size_t>(before_offset[op + 1] - before_offset[op])};
  }
  std::span<const int32_t> Followers(int32_t op) const {
    return {reader_items.data() + reader_offset[op],
            static_cast<size_t>(reader_offset[op + 1] - reader_offset[op])};
  }
};

// O(ops + edges).
OpGraph BuildOpGraph(const Problem& problem);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_OP_GRAPH_H_
