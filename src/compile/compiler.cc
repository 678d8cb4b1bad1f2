#include "compile/compiler.h"

#include "compile/array_changes.h"
#include "compile/array_writer.h"
#include "compile/graph_printer.h"
#include "compile/part_prices.h"
#include "compile/rewrites/flat_copies.h"
#include "compile/rewrites/fuse_all_reduces.h"
#include "compile/rewrites/prefetch.h"
#include "compile/rewrites/separate_gradients.h"
#include "sharding/layout_check.h"

namespace placewright {

Result<DistributedStep> Compile(const Graph& graph, const NamedAxes& axes, const Layouts& layouts,
                                const Cluster& cluster, const CompileOptions& options) {
  PW_RETURN_IF_ERROR(CheckLayouts(graph, axes, layouts, cluster));
  PartPrices parts(cluster, {}, graph.batch(), /*by_arguments=*/true);
  ArrayWriter writer(graph, axes, options, parts, /*once=*/true);
  PW_RETURN_IF_ERROR(writer.Write(layouts));
  writer.Finish();
  GraphPrinter printer(graph, parts, writer);
  ArrayChanges changes(writer);
  if (options.switches.gradients_apart.value_or(true)) SeparateGradients(parts, writer, changes);
  if (options.switches.fusion > Bytes(0)) {
    FuseAllReduces(options.switches.fusion, parts, writer, changes);
  }
  if (options.switches.prefetch) {
    DelayFetches(*options.switches.prefetch, graph, writer, changes);
    CopyFlatBuffers(graph, writer, changes);
  }
  return std::move(printer).Print();
}

}  // namespace placewright
