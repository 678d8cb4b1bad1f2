// Which layers of a model run where: its module tree folded to a table of a dozen or two of lines.
//
// A row is a module, or a run of sibling modules whose names differ by consecutive numbers alone
// ("encoder.layer.0-11"), with the devices that run its ops or hold its memory.
// The tree is opened where that separates devices, siblings of one numbering together, those
// nearest to the root first, down to the layers (modules whose names end in a number and that hold
// no other such), as long as the table keeps to its rows. Neighbours of one numbering are one row
// where they use the same devices; where the table would be too long, where they spend most time on
// the same one, if possible without those that lie on one device whole.
#ifndef PLACEWRIGHT_REPORT_LAYER_TABLE_H_
#define PLACEWRIGHT_REPORT_LAYER_TABLE_H_

#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "report/table.h"

namespace placewright {

// What one device does for a row.
struct LayerShare {
  DeviceId device;
  int64_t ops = 0;  // views not counted
  Nanos time;       // of these ops in one step, summed: forward, backward and update
  Bytes memory;     // parameters, optimizer state, buffers, constants: there for the whole step
};

struct LayerRow {
  std::string name;  // "encoder.layer.0-11", "encoder (itself)", "(no module)", "9 other modules"
  std::vector<std::string> modules;  // paths; "" is the root
  std::vector<LayerShare> shares;    // largest time, then largest memory, then device
};

// None where the graph names no modules. The shares of all rows sum to those of the whole step.
// At most `max` rows; where the top level alone has more, the modules with most time and the
// others as one row. Complexity: O(ops * depth + rows * modules shown * devices).
std::vector<LayerRow> LayersByDevice(const Graph& graph, const Placement& placement,
                                     const Schedule& schedule, size_t max = 24);

// A line for each row: "host0/gpu0 81%, host0/gpu1 13%, 2 more 6%", of the op time, or of the
// memory where no op runs; an empty list gives an empty text.
std::string DescribeShares(const std::vector<LayerShare>& shares, const Cluster& cluster);
std::string RenderLayers(const std::vector<LayerRow>& rows, const Cluster& cluster,
                         const Style& style);

// What the columns mean, in a sentence.
inline constexpr std::string_view kLayerColumns =
    "runs on: with shares of the op time; op time: of the module's ops in one step (forward, "
    "backward, update), summed over its devices; parameters: with optimizer state and buffers";

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_LAYER_TABLE_H_
