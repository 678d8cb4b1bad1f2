// A case of Placeto's simulator compiled into dense arrays, independent of the placement: names
// have become ranks, edges rows.
#ifndef PLACEWRIGHT_SIM_PLACETO_SIM_GRAPH_H_
#define PLACEWRIGHT_SIM_PLACETO_SIM_GRAPH_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "plan/placeto_case.h"

namespace placewright {

// The children of an op that read one of its outputs: what one transfer serves.
struct PlacetoGroup {
  double delay;        // us on the bus
  int32_t begin, end;  // row of `children`, in the order of the names
};

struct PlacetoSimGraph {
  struct Op {
    double cost;                  // us
    double delay;                 // of the only group; unused if there are several
    int32_t begin = 0, end = 0;   // row of `children`: all of them in the order of the names
    uint32_t name_rank : 31 = 0;  // among all ops, byte by byte
    uint32_t no_rest : 1 = 0;     // delta1 does not follow
    int32_t fan = -1;             // of an op with several groups: its entry in `fans`
  };
  // An op that sends several outputs: its children in the order of their first edges.
  struct Fan {
    int32_t begin, end;  // row of `fan_children`
    int32_t groups;      // how many
  };
  struct FanChild {
    int32_t child;
    int32_t group;  // in `groups`
  };

  double delta1 = 0, delta2 = 0, init_offset = 0;  // us
  std::vector<Op> ops;
  std::vector<int32_t> children;
  std::vector<Fan> fans;
  std::vector<FanChild> fan_children;
  std::vector<PlacetoGroup> groups;  // of all fans
  std::vector<int32_t> parents;      // by op: how many distinct ones
  std::vector<int32_t> device_rank;  // by device: of its name, byte by byte
};

// Errors: kGraphCycle, naming ops on one. Precondition: the case's invariants.
// Complexity: O(edges + ops log ops).
Result<PlacetoSimGraph> CompilePlacetoCase(const PlacetoCase& problem);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_PLACETO_SIM_GRAPH_H_
