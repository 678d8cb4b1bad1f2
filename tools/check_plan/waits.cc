#include "check_plan/waits.h"

#include <algorithm>
#include <numeric>

namespace placewright::check {
namespace {

// True if the view op gives a name to bytes of `storage`.
bool Shows(const Graph& graph, OpId view, StorageId storage) {
  const std::vector<TensorId>& outputs = graph.op(view).outputs;
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](TensorId id) { return graph.tensor(id).storage == storage; });
}

}  // namespace

Waits::Waits(const Step& step)
    : ops_(static_cast<int32_t>(step.graph().op_count())),
      crossings_(static_cast<int32_t>(step.crossings().size())) {
  for (OpId op : step.graph().ops()) {
    AddReads(step, op);
    AddNames(step, op);
  }
  for (size_t i = 0; i < step.crossings().size(); ++i) {
    const OpId writer = step.WriterOf(step.slices()[step.crossings()[i].slice]);
    if (writer.valid()) edges_.push_back({NodeOf(writer), NodeOfCrossing(static_cast<int32_t>(i))});
  }
  AddInPlace(step);
  JoinMembers(step);
  Sort(ops_ + crossings_ + static_cast<int32_t>(step.graph().collective_count()));
}

void Waits::JoinMembers(const Step& step) {
  const Graph& graph = step.graph();
  if (graph.collective_count() == 0) return;
  for (Edge& edge : edges_) {
    if (!IsOp(edge.to) || !graph.collective_of(OpOf(edge.to)).valid()) continue;
    edge.to = NodeOf(graph.collective_of(OpOf(edge.to)));
  }
  for (const CollectiveId id : graph.collectives()) {
    for (const OpId member : graph.collective(id).members) {
      edges_.push_back({NodeOf(id), NodeOf(member)});
    }
  }
}

// The content that the op reads must have arrived.
void Waits::AddReads(const Step& step, OpId op) {
  for (int32_t index : step.slices_of(op)) {
    const Slice& slice = step.slices()[index];
    const int32_t crossing = step.FindCrossing(index, step.placement()[op]);
    const OpId writer = step.WriterOf(slice);
    if (crossing >= 0) {
      edges_.push_back({NodeOfCrossing(crossing), NodeOf(op)});
    } else if (writer.valid()) {
      edges_.push_back({NodeOf(writer), NodeOf(op)});
    }
  }
}

// The names by which it reads must exist: a view, or an op that hands out a view, may end later
// than the content is written. A view also comes after the content that it shows; inputs that only
// give its shape do not count.
void Waits::AddNames(const Step& step, OpId op) {
  const Graph& graph = step.graph();
  for (size_t i = 0; i < graph.op(op).inputs.size(); ++i) {
    const Tensor& tensor = graph.tensor(graph.op(op).inputs[i]);
    const std::vector<Version>& versions = graph.storage(tensor.storage).versions;
    if (graph.op(op).is_view) {
      if (!Shows(graph, op, tensor.storage)) continue;
      const OpId writer = versions[ContentRead(graph, op, i).second].writer;
      if (writer.valid()) edges_.push_back({NodeOf(writer), NodeOf(op)});
    }
    // An op that wrote the content it names has ended before any later content is written.
    const bool wrote_it = versions[tensor.version].writer == tensor.producer;
    if (tensor.producer.valid() && !wrote_it) {
      edges_.push_back({NodeOf(tensor.producer), NodeOf(op)});
    }
  }
  for (OpId earlier : graph.op(op).after) edges_.push_back({NodeOf(earlier), NodeOf(op)});
}

void Waits::AddInPlace(const Step& step) {
  // slices() is sorted by storage and version, so each version's slices are one run.
  const auto replaced_by = [&step](const Slice& slice) {
    const auto& versions = step.graph().storage(slice.storage).versions;
    const size_t next = static_cast<size_t>(slice.version) + 1;
    return next < versions.size() ? versions[next].writer : OpId();
  };
  for (const Slice& slice : step.slices()) {
    const OpId writer = replaced_by(slice);
    if (!writer.valid()) continue;
    for (OpId reader : slice.readers) {
      const bool local = step.placement()[reader] == step.home(slice.storage);
      if (local && reader != writer) edges_.push_back({NodeOf(reader), NodeOf(writer)});
    }
  }
  for (size_t i = 0; i < step.crossings().size(); ++i) {
    const OpId writer = replaced_by(step.slices()[step.crossings()[i].slice]);
    if (writer.valid()) edges_.push_back({NodeOfCrossing(static_cast<int32_t>(i)), NodeOf(writer)});
  }
}

void Waits::Sort(int32_t nodes) {
  waiters_offset_.assign(nodes + 1, 0);
  wait_count_.assign(nodes, 0);
  for (const Edge& edge : edges_) {
    ++waiters_offset_[edge.from + 1];
    ++wait_count_[edge.to];
  }
  std::partial_sum(waiters_offset_.begin(), waiters_offset_.end(), waiters_offset_.begin());
  std::vector<int32_t> next(waiters_offset_.begin(), waiters_offset_.end() - 1);
  waiters_.resize(edges_.size());
  for (const Edge& edge : edges_) waiters_[next[edge.from]++] = edge.to;
  edges_ = {};
}

std::vector<int32_t> Waits::TopologicalOrder() const {
  std::vector<int32_t> left = wait_count_, order;
  order.reserve(left.size());
  for (int32_t node = 0; node < node_count(); ++node) {
    if (left[node] == 0) order.push_back(node);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (int32_t waiter : WaitersOf(order[i])) {
      if (--left[waiter] == 0) order.push_back(waiter);
    }
  }
  return order;
}

std::vector<Nanos> PathsOf(const Step& step, const Waits& waits) {
  std::vector<Nanos> path(waits.node_count());
  const std::vector<int32_t> order = waits.TopologicalOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    Nanos longest;
    for (int32_t waiter : waits.WaitersOf(*it)) longest = std::max(longest, path[waiter]);
    Nanos min;
    if (waits.IsCollective(*it)) min = step.cost(waits.CollectiveOf(*it)).time;
    if (waits.IsOp(*it) && !step.graph().op(waits.OpOf(*it)).is_view) {
      min = std::max(step.costs().MinTime(waits.OpOf(*it)), Nanos(0));
    }
    path[*it] = Nanos(SaturatingAdd(min.count, longest.count));
  }
  return path;
}

}  // namespace placewright::check
