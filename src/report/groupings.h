// The ops of a graph in groups of like time with little data between them: METIS, Scotch, or an
// acyclic partitioning (graph/partition/partition.h).
//
//   nodes  ops, views included; weight: time on one device (one_device.h), 1 where it is unknown
//   edges  data, weighted by the bytes that the consumer reads; explicit and write-after-read
//          orders, without weight
//
// Colocation is not looked at: groups are a picture of the flow, not a placement.
#ifndef PLACEWRIGHT_REPORT_GROUPINGS_H_
#define PLACEWRIGHT_REPORT_GROUPINGS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "cost/cost_table.h"
#include "graph/graph.h"
#include "report/table.h"

namespace placewright {

enum class GroupingMethod : uint8_t { kAcyclic, kMetis, kScotch };
inline constexpr std::array<GroupingMethod, 3> kGroupingMethods = {
    GroupingMethod::kAcyclic, GroupingMethod::kMetis, GroupingMethod::kScotch};
std::string_view ToString(GroupingMethod method);  // "acyclic", "metis", "scotch"

struct Grouping {
  struct Part {
    int64_t ops = 0;
    Nanos time;
  };
  IdVector<OpId, int32_t> part_of;
  std::vector<Part> parts;
  // Whose times these are: "A100-40GB", modelled; "file", the minimum over its devices; "none": not
  // known, so that each op counts 1 ns.
  std::string times_of;
  Bytes cut;             // weight of the edges between parts
  bool acyclic = false;  // the graph of parts has no cycle; always for kAcyclic
};

// `costs` as in SimulateOnOneDevice. Errors: kUsage (more than 2^25 parts times ops), kInternal (a
// library failed).
Result<Grouping> GroupOps(const Graph& graph, const CostTable* costs, GroupingMethod method,
                          int parts);

std::string RenderGrouping(const Grouping& grouping, const Style& style);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_GROUPINGS_H_
