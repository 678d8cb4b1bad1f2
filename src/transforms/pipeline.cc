#include "transforms/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "cost/work.h"
#include "transforms/accumulate.h"
#include "transforms/layers.h"
#include "transforms/pipeline_schedule.h"
#include "transforms/reorder.h"

namespace placewright {
namespace {

constexpr int32_t kNone = -1;

// Where the rooflines of today's GPUs bend: products of 16 bits, and others.
double FlopsPerByte(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? 160 : 15;
}

// Layers, and for every op the layer that it goes with.
class LayerFinder {
 public:
  explicit LayerFinder(const Graph& step)
      : step_(step), layers_(LayersOf(step)), of_op_(step.op_count(), kNone) {}

  // By module; else forward ops go with the last layer that they read of, backward ops with the first, and what reads of
  // none with the first that reads it.
  IdVector<OpId, int32_t> Find() {
    for (const OpId op : step_.topological_order()) {
      const int32_t stated = layers_.of_module[step_.op(op).module];
      of_op_[op] = stated != kNone ? stated : OfProducers(op);
    }
    const auto order = step_.topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op) {
      if (of_op_[*op] == kNone) of_op_[*op] = OfConsumers(*op);
    }
    for (const OpId op : step_.ops()) of_op_[op] = std::max(of_op_[op], 0);
    return std::move(of_op_);
  }
  int32_t count() const { return static_cast<int32_t>(layers_.names.size()); }

 private:
  int32_t OfProducers(OpId op) const {
    const bool forward = step_.op(op).phase == Phase::kForward;
    int32_t layer = kNone;
    for (const OpId producer : step_.producers(op)) {
      const int32_t other = of_op_[producer];
      if (other == kNone) continue;
      const bool better = layer == kNone || (forward ? other > layer : other < layer);
      if (better) layer = other;
    }
    return layer;
  }
  int32_t OfConsumers(OpId op) const {
    int32_t layer = kNone;
    for (const OpId consumer : step_.consumers(op)) {
      const int32_t other = of_op_[consumer];
      if (other != kNone && (layer == kNone || other < layer)) layer = other;
    }
    return layer;
  }

  const Graph& step_;
  const StepLayers layers_;
  IdVector<OpId, int32_t> of_op_;
};

std::vector<int64_t> WorkByLayer(const Graph& step, const IdVector<OpId, int32_t>& layer_of,
                                 int32_t layers) {
  std::vector<int64_t> work(static_cast<size_t>(layers));
  for (const OpId op : step.ops()) {
    if (step.op(op).is_view) continue;
    const Work one = WorkOf(step, op);
    work[static_cast<size_t>(layer_of[op])] +=
        static_cast<int64_t>(one.flops / FlopsPerByte(ComputeDType(step, op))) +
        one.bytes_read.count + one.bytes_written.count;
  }
  return work;
}

// The first layer of each chunk: contiguous, of each one or more, so that the largest is as small as can be.
std::vector<int32_t> Cut(const std::vector<int64_t>& work, int32_t chunks) {
  const auto n = static_cast<int32_t>(work.size());
  std::vector<int64_t> before(work.size() + 1);
  for (size_t i = 0; i < work.size(); ++i) before[i + 1] = before[i] + work[i];
  const auto at = [n](int32_t chunk, int32_t end) {
    return static_cast<size_t>(chunk * (n + 1) + end);
  };
  // [chunks so far][layers in them]: the largest chunk, and where the last one begins.
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> largest(at(chunks, n) + 1, kNever);
  std::vector<int32_t> begin(largest.size());
  largest[at(0, 0)] = 0;
  for (int32_t chunk = 1; chunk <= chunks; ++chunk) {
    for (int32_t end = chunk; end <= n; ++end) {
      for (int32_t from = chunk - 1; from < end; ++from) {
        const int64_t earlier = largest[at(chunk - 1, from)];
        if (earlier == kNever) continue;
        const int64_t size = before[static_cast<size_t>(end)] - before[static_cast<size_t>(from)];
        const int64_t with = std::max(earlier, size);
        if (with >= largest[at(chunk, end)]) continue;
        largest[at(chunk, end)] = with;
        begin[at(chunk, end)] = from;
      }
    }
  }
  std::vector<int32_t> first(static_cast<size_t>(chunks));
  for (int32_t chunk = chunks, end = n; chunk > 0; --chunk) {
    end = begin[at(chunk, end)];
    first[static_cast<size_t>(chunk - 1)] = end;
  }
  return first;
}

// What is stated of the layers of each chunk, if anything is.
Status CheckLayers(const Graph& step, const Transform& pipeline, int32_t layers) {
  if (pipeline.layers.empty()) return Ok();
  const auto chunks = static_cast<size_t>(pipeline.stages * pipeline.chunks);
  const int64_t sum =
      std::accumulate(pipeline.layers.begin(), pipeline.layers.end(), int64_t{0}, SaturatingAdd);
  const bool all_have_some = std::all_of(pipeline.layers.begin(), pipeline.layers.end(),
                                         [](int64_t of_one) { return of_one > 0; });
  if (pipeline.layers.size() == chunks && sum == layers && all_have_some) return Ok();
  return MakeError(
      ErrorCode::kTransform,
      fmt::format("{} layers are stated of {} chunks of a pipeline, and {} has {} layers for {}",
                  fmt::join(pipeline.layers, ","), pipeline.layers.size(),
                  Printable(step.name(), 80), layers, chunks),
      "pipeline",
      fmt::format("Give the layers of each chunk, {} numbers from 1 on that add up to {} "
                  "(--stage-layers), or leave them out.",
                  chunks, layers));
}

// The ops of a step in the order of a merged schedule.
class PipelineOrder {
 public:
  // `accumulates`: the step is in micro-batches, which names of ops state.
  PipelineOrder(const Graph& step, const IdVector<OpId, int32_t>& chunk_of, bool accumulates,
                bool weights_apart)
      : step_(step),
        chunk_of_(chunk_of),
        accumulates_(accumulates),
        before_(step.op_count()),
        emitted_(step.op_count(), false) {
    for (const OrderEdge& edge : step_.order_edges()) before_[edge.to].push_back(edge.from);
    if (weights_apart) FindWeightGradients();
  }

  std::vector<OpId> Make(const std::vector<PipelineItem>& items) {
    std::map<PipelineItem, std::vector<OpId>> ops_of;
    for (const OpId op : step_.ops()) {
      const int32_t micro_batch = MicroBatch(op);
      if (micro_batch == 0 || step_.op(op).phase == Phase::kOptimizer) continue;
      ops_of[{chunk_of_[op], micro_batch - 1, PassOf(op)}].push_back(op);
    }
    for (const PipelineItem& item : items) {
      for (const OpId op : ops_of[item]) Emit(op);
    }
    for (const OpId op : step_.ops()) Emit(op);
    return std::move(order_);
  }

 private:
  // From 1; 0: it is done once.
  int32_t MicroBatch(OpId op) const { return accumulates_ ? MicroBatchOf(step_.op(op)) : 1; }
  PipelinePass PassOf(OpId op) const {
    if (step_.op(op).phase == Phase::kForward) return PipelinePass::kForward;
    const bool apart = !of_weights_.empty() && of_weights_[op];
    return apart ? PipelinePass::kWeights : PipelinePass::kBackward;
  }

  // What is made once, or belongs to another chunk by an odd path, comes before what reads it.
  void Emit(OpId op) {
    std::vector<std::pair<OpId, bool>> stack = {{op, false}};
    while (!stack.empty()) {
      const auto [next, ready] = stack.back();
      stack.pop_back();
      if (emitted_[next]) continue;
      if (ready) {
        emitted_[next] = true;
        order_.push_back(next);
        continue;
      }
      stack.emplace_back(next, true);
      for (const OpId earlier : before_[next]) stack.emplace_back(earlier, false);
      for (const OpId earlier : step_.producers(next)) stack.emplace_back(earlier, false);
    }
  }

  // Backward ops that nothing but sums over micro-batches and the update read, behind views and casts.
  void FindWeightGradients() {
    IdVector<OpId, bool> leads(step_.op_count(), false);  // to sums alone
    of_weights_.assign(step_.op_count(), false);
    const auto order = step_.topological_order();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const Op& op = step_.op(*it);
      const auto readers = step_.consumers(*it);
      if (op.phase == Phase::kForward) continue;
      if (op.phase == Phase::kOptimizer || MicroBatch(*it) == 0 || IsMicroBatchSum(op)) {
        leads[*it] = true;
      } else {
        const bool read =
            !readers.empty() &&
            std::all_of(readers.begin(), readers.end(), [&](OpId reader) { return leads[reader]; });
        of_weights_[*it] = read;
        leads[*it] = read && (op.is_view || op.type.starts_with("aten._to_copy"));
      }
      if (IsMicroBatchSum(op)) of_weights_[*it] = true;
    }
  }

  const Graph& step_;
  const IdVector<OpId, int32_t>& chunk_of_;
  const bool accumulates_;
  IdVector<OpId, std::vector<OpId>> before_;  // by order edges
  IdVector<OpId, bool> emitted_;
  IdVector<OpId, bool> of_weights_;  // empty: gradients of weights are not apart
  std::vector<OpId> order_;
};

}  // namespace

Result<IdVector<OpId, int32_t>> PipelineChunks(const Graph& step, const Transform& pipeline) {
  const auto chunks = static_cast<int32_t>(pipeline.stages * pipeline.chunks);
  LayerFinder finder(step);
  if (finder.count() < chunks) {
    return MakeError(
        ErrorCode::kTransform,
        fmt::format("{} stages of {} need as many layers, and {} has {}", pipeline.stages,
                    pipeline.chunks == 1 ? "one chunk" : fmt::format("{} chunks", pipeline.chunks),
                    Printable(step.name(), 80), finder.count()),
        "pipeline",
        pipeline.chunks == 1 ? "Take fewer stages (--stages)."
                             : "Take fewer stages (--stages) or chunks (--chunks), or 1f1b.");
  }
  PW_RETURN_IF_ERROR(CheckLayers(step, pipeline, finder.count()));
  IdVector<OpId, int32_t> chunk_of = finder.Find();
  std::vector<int32_t> first = {0};
  for (const int64_t layers : pipeline.layers) {
    first.push_back(first.back() + static_cast<int32_t>(layers));
  }
  first.pop_back();
  if (pipeline.layers.empty()) {
    first = Cut(WorkByLayer(step, chunk_of, finder.count()), chunks);
  }
  for (const OpId op : step.ops()) {
    const auto behind = std::upper_bound(first.begin(), first.end(), chunk_of[op]);
    chunk_of[op] = static_cast<int32_t>(behind - first.begin()) - 1;
  }
  return chunk_of;
}

Result<std::unique_ptr<Graph>> WithPipeline(const Graph& step, const Transform& pipeline) {
  int64_t micro_batches = 1;
  for (const Transform& earlier : step.transforms()) {
    if (earlier.kind == Transform::kAccumulate) micro_batches = earlier.micro_batches;
  }
  const PipelineShape shape = {static_cast<int32_t>(pipeline.stages),
                               static_cast<int32_t>(pipeline.chunks),
                               static_cast<int32_t>(micro_batches)};
  PW_ASSIGN(const auto sequences, PipelineSequences(pipeline.schedule, shape));
  PW_ASSIGN(const std::vector<PipelineItem> items, MergeSequences(sequences, shape));
  PW_ASSIGN(const auto chunk_of, PipelineChunks(step, pipeline));
  PipelineOrder order(step, chunk_of, micro_batches > 1, pipeline.schedule == "zb-h1");
  PW_ASSIGN(Graph made, WithOrder(step, order.Make(items)));
  return std::make_unique<Graph>(std::move(made));
}

}  // namespace placewright
