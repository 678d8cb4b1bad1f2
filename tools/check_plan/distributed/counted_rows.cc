#include "check_plan/distributed/counted_rows.h"

namespace placewright::check {

Part RowsCounted(const Graph& original, const DistributedStep& step, const Facets& facets,
                 const Contents& contents, TensorId counts) {
  OpId maker = step.graph.tensor(counts).producer;
  while (maker.valid()) {
    const Op& op = step.graph.op(maker);
    const OpId origin = step.origin[maker];
    if (!origin.valid() || op.inputs.size() != 1) break;
    if (!facets.Counts(original.op(origin).inputs[0])) return contents.Read(maker, 0).part;
    maker = step.graph.tensor(op.inputs[0]).producer;
  }
  return {};
}

}  // namespace placewright::check
