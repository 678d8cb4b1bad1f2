#include "compile/compiler.h"

#include <utility>

#include "compile/graph_emitter.h"
#include "compile/layout_check.h"
#include "compile/rewrites/fuse_all_reduces.h"
#include "compile/rewrites/separate_gradients.h"
#include "compile/step_writer.h"

namespace placewright {

Result<DistributedStep> Compile(const Graph& graph, const NamedAxes& axes, const Layouts& layouts,
                                const Cluster& cluster, const CompileOptions& options) {
  PW_RETURN_IF_ERROR(CheckLayouts(graph, axes, layouts, cluster));
  GraphEmitter emitter(graph, cluster);
  FetchStore store(graph.tensor_count(), /*keeps_users=*/false);
  StepWriter writer(graph, axes, options, emitter, store);
  writer.SetLayouts(layouts);
  PW_ASSIGN(std::vector<TensorId> outputs, writer.Write());
  PW_ASSIGN(DistributedStep step, std::move(emitter).Finish(std::move(outputs)));
  if (options.switches.gradients_apart.value_or(true)) {
    PW_ASSIGN(step, SeparateGradients(std::move(step)));
  }
  if (options.switches.fusion <= Bytes(0)) return step;
  return FuseAllReduces(std::move(step), options.switches.fusion);
}

}  // namespace placewright
