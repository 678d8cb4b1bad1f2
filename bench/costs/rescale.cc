#include "bench/costs/rescale.h"

#include <algorithm>
#include <vector>

namespace placewright::bench {
namespace {

bool GrowsWithBatch(const Tensor& tensor) {
  return tensor.kind == TensorKind::kActivation || tensor.kind == TensorKind::kInput;
}

// The share of the tensors' bytes that grows with the batch.
double GrowingShare(const Graph& graph, const std::vector<TensorId>& tensors) {
  double growing = 0, total = 0;
  for (TensorId id : tensors) {
    const Tensor& tensor = graph.tensor(id);
    const double bytes = static_cast<double>(std::min(tensor.bytes, tensor.length).count);
    total += bytes;
    if (GrowsWithBatch(tensor)) growing += bytes;
  }
  return total > 0 ? growing / total : 0;
}

Bytes Scaled(Bytes bytes, double share, double factor) {
  return Bytes(
      static_cast<int64_t>(static_cast<double>(bytes.count) * (1 - share + share * factor)));
}

}  // namespace

Work RescaledWork(const Graph& graph, OpId id, double factor) {
  Work work = WorkOf(graph, id);
  const Op& op = graph.op(id);
  if (op.phase == Phase::kOptimizer || factor == 1) return work;
  work.flops *= factor;
  work.bytes_read = Scaled(work.bytes_read, GrowingShare(graph, op.inputs), factor);
  work.bytes_written = Scaled(work.bytes_written, GrowingShare(graph, op.outputs), factor);
  return work;
}

Nanos StepTime(const Graph& graph, const DeviceKind& kind, double factor,
               FloatPrecision precision) {
  Nanos sum(0);
  for (OpId op : graph.ops()) {
    const Nanos time =
        RooflineTime(RescaledWork(graph, op, factor), ComputeDType(graph, op), kind, precision);
    if (time != CostTable::kUnsupported) sum = Nanos(SaturatingAdd(sum.count, time.count));
  }
  return sum;
}

}  // namespace placewright::bench
