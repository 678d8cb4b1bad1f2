#include "compile/compiler.h"

#include <utility>

#include "compile/array_changes.h"
#include "compile/array_writer.h"
#include "compile/graph_printer.h"
#include "compile/lane_links.h"
#include "compile/part_prices.h"
#include "compile/rewrites/fetching.h"
#include "compile/rewrites/fuse_all_reduces.h"
#include "compile/rewrites/separate_gradients.h"
#include "sharding/layout_check.h"

namespace placewright {
namespace {

void PassOver(const StepSwitches& switches, const Graph& graph, PartPrices& parts,
              ArrayWriter& writer, ArrayChanges& changes) {
  if (switches.gradients_apart.value_or(true)) SeparateGradients(parts, writer, changes);
  if (switches.fusion > Bytes(0)) FuseAllReduces(switches.fusion, parts, writer, changes);
  PassOverFetching(switches, graph, parts, writer, changes);
}

StepLanes LanesOf(const LaneClasses& classes) {
  StepLanes lanes;
  lanes.first = classes.first;
  lanes.members.resize(classes.first.size());
  for (const DeviceId device : IdRange<DeviceId>(classes.first.size())) {
    lanes.members[classes.first[device]].push_back(device);
  }
  return lanes;
}

}  // namespace

Result<DistributedStep> Compile(const Graph& graph, const NamedAxes& axes, const Layouts& layouts,
                                const Cluster& cluster, const CompileOptions& options) {
  PW_RETURN_IF_ERROR(CheckLayouts(graph, axes, layouts, cluster));
  PartPrices parts(cluster, {}, graph.batch(), /*by_arguments=*/true);
  ArrayWriter writer(graph, axes, options, parts, /*once=*/true);
  PW_RETURN_IF_ERROR(writer.Write(layouts));
  writer.Finish();
  GraphPrinter printer(graph, parts, writer);
  ArrayChanges changes(writer);
  PassOver(options.switches, graph, parts, writer, changes);
  return printer.Print();
}

Result<StepInLanes> PrintInLanes(const Graph& graph, const StepSwitches& switches,
                                 PartPrices& parts, ArrayWriter& writer) {
  GraphPrinter printer(graph, parts, writer);
  ArrayChanges changes(writer);
  PassOver(switches, graph, parts, writer, changes);
  const StepArrays& arrays = writer.arrays();
  PW_ASSIGN(LaneLinks links, FindLaneLinks(arrays, parts.communication()));
  StepInLanes made;
  PW_ASSIGN(made.step, printer.Print());
  made.lanes = LanesOf(*arrays.lanes);
  made.lanes.held = std::move(links.held);
  made.lanes.taken = std::move(links.taken);
  made.lanes.sets = arrays.over;
  IdVector<CollectiveId, size_t> row(arrays.collectives.size(), 0);  // by collective of the arrays
  for (size_t i = 0; i < arrays.joined.size(); ++i) row[arrays.joined[i]] = i;
  for (const CollectiveId id : printer.collectives()) {
    const int32_t over = arrays.collectives[id].over;
    LaneCollective& held = links.collectives[row[id]];
    made.collectives.push_back({held.time, std::move(held.links), held.algorithm, held.source});
    made.lanes.communicator.push_back(over);
    made.lanes.stands_for.push_back(
        static_cast<int32_t>(arrays.over[static_cast<size_t>(over)].size()));
  }
  return made;
}

}  // namespace placewright
