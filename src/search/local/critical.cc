#include "search/local/critical.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace placewright {
namespace {

class ChainFinder {
 public:
  ChainFinder(const Problem& problem, const OpGraph& graph, const GroupPlacement& device_of,
              const Schedule& schedule)
      : problem_(problem), graph_(graph), device_of_(device_of), schedule_(schedule) {
    IndexTransfers();
    IndexDevices();
  }

  CriticalView Find() const;

 private:
  using SpanId = Id<struct TransferSpanTag>;  // in Schedule::transfers
  // What a link of the chain is: an exec op, a transfer, or nothing.
  struct Cause {
    ExecOpId op;
    SpanId transfer;
    bool none() const { return !op.valid() && !transfer.valid(); }
  };

  using Key = std::tuple<StorageId, int32_t, int64_t, int64_t, DeviceId>;

  const OpSpan& Span(ExecOpId op) const { return schedule_.ops[problem_.sim_graph.op_of[op]]; }
  const TransferSpan& Span(SpanId id) const { return schedule_.transfers[id.index()]; }
  DeviceId DeviceOf(ExecOpId op) const { return device_of_[graph_.group_of[op]]; }
  void IndexTransfers();
  void IndexDevices();
  SpanId TransferOf(const OpInput& input, DeviceId device) const;
  // What made the op ready last.
  Cause LastCause(ExecOpId op, int64_t& ready) const;
  ExecOpId ReaderOf(VersionId version, DeviceId device) const;
  // Of a wide graph on one device every op waits for all before it: a bound keeps that linear.
  size_t MaxBlockers() const { return CriticalView::kBlockersPerOp * size_t(graph_.ops); }
  void AddBlockers(ExecOpId op, std::vector<ExecOpId>& blockers) const;
  CriticalLink OpLink(ExecOpId op, Cause& before) const;
  CriticalLink TransferLink(SpanId transfer, Cause& before) const;
  ExecOpId RunningBefore(ExecOpId op) const;  // the op that ended on its device when it started
  SpanId CrossingBefore(SpanId transfer) const;

  const Problem& problem_;
  const OpGraph& graph_;
  const GroupPlacement& device_of_;
  const Schedule& schedule_;
  std::vector<std::pair<Key, SpanId>> transfers_;                        // sorted
  IdVector<DeviceId, std::vector<std::pair<int64_t, ExecOpId>>> ends_;   // sorted
  IdVector<LinkId, std::vector<std::pair<int64_t, SpanId>>> link_ends_;  // sorted
};

void ChainFinder::IndexTransfers() {
  link_ends_.resize(problem_.sim_graph.links);
  for (SpanId id : IdRange<SpanId>(schedule_.transfers.size())) {
    const TransferSpan& span = Span(id);
    transfers_.emplace_back(
        Key{span.storage, span.version, span.offset.count, span.length.count, span.to}, id);
    for (LinkId link : problem_.cluster->route(span.from, span.to).links) {
      link_ends_[link].emplace_back(span.end.count, id);
    }
  }
  std::sort(transfers_.begin(), transfers_.end());
  for (auto& ends : link_ends_) std::sort(ends.begin(), ends.end());
}

void ChainFinder::IndexDevices() {
  ends_.resize(graph_.devices);
  for (ExecOpId op : graph_.exec_ops()) {
    if (Span(op).end > Span(op).start) ends_[DeviceOf(op)].emplace_back(Span(op).end.count, op);
  }
  for (auto& ends : ends_) std::sort(ends.begin(), ends.end());
}

ChainFinder::SpanId ChainFinder::TransferOf(const OpInput& input, DeviceId device) const {
  const SimGraph& sim_graph = problem_.sim_graph;
  const Key key{sim_graph.slice_storage[input.crossing],
                sim_graph.NumberOf(sim_graph.slice_version[input.crossing]),
                sim_graph.slice_offset[input.crossing], sim_graph.slice_length[input.crossing],
                device};
  const auto it = std::lower_bound(transfers_.begin(), transfers_.end(), std::pair(key, SpanId()));
  return it != transfers_.end() && it->first == key ? it->second : SpanId();
}

ChainFinder::Cause ChainFinder::LastCause(ExecOpId op, int64_t& ready) const {
  Cause cause;
  ready = 0;
  const auto consider = [&](int64_t at, const Cause& what) {
    if (at < ready || (at == ready && !cause.none())) return;
    ready = at;
    cause = what;
  };
  for (ExecOpId first : graph_.Before(op)) consider(Span(first).end.count, {first, {}});
  for (const OpInput& input : graph_.Inputs(op)) {
    const DeviceId from = input.producer.valid()      ? DeviceOf(input.producer)
                          : input.home_device.valid() ? input.home_device
                          : input.home_group.valid()  ? device_of_[input.home_group]
                                                      : DeviceOf(op);
    if (from == DeviceOf(op)) {
      if (input.producer.valid()) consider(Span(input.producer).end.count, {input.producer, {}});
      continue;
    }
    const SpanId transfer = TransferOf(input, DeviceOf(op));
    if (transfer.valid()) consider(Span(transfer).end.count, {{}, transfer});
  }
  return cause;
}

ExecOpId ChainFinder::RunningBefore(ExecOpId op) const {
  const auto& ends = ends_[DeviceOf(op)];
  const int64_t start = Span(op).start.count;
  const auto it = std::lower_bound(ends.begin(), ends.end(), std::pair(start, ExecOpId()));
  return it != ends.end() && it->first == start && it->second != op ? it->second : ExecOpId();
}

ChainFinder::SpanId ChainFinder::CrossingBefore(SpanId transfer) const {
  const TransferSpan& span = Span(transfer);
  for (LinkId link : problem_.cluster->route(span.from, span.to).links) {
    const auto& ends = link_ends_[link];
    const auto it =
        std::lower_bound(ends.begin(), ends.end(), std::pair(span.start.count, SpanId()));
    if (it != ends.end() && it->first == span.start.count && it->second != transfer) {
      return it->second;
    }
  }
  return {};
}

// An op of the chain: what held it back last.
CriticalLink ChainFinder::OpLink(ExecOpId op, Cause& before) const {
  CriticalLink link;
  link.op = op;
  link.duration = (Span(op).end - Span(op).start).count;
  int64_t ready = 0;
  before = LastCause(op, ready);
  if (Span(op).start.count > ready) {
    link.waits_in_queue = true;
    before = {RunningBefore(op), {}};
  }
  return link;
}

CriticalLink ChainFinder::TransferLink(SpanId transfer, Cause& before) const {
  const TransferSpan& span = Span(transfer);
  const SimGraph& sim_graph = problem_.sim_graph;
  const VersionId version = sim_graph.VersionOf(span.storage, span.version);
  CriticalLink link;
  link.transfer = true;
  link.op = ReaderOf(version, span.to);
  link.duration = (span.end - span.start).count;
  link.producer = sim_graph.version_writer[version];
  const OpId home = sim_graph.home_op[span.storage];
  if (!link.producer.valid() && home.valid()) link.home_group = problem_.group_of[home];
  before = {link.producer, {}};
  if (span.start > span.ready) {
    link.waits_in_queue = true;
    before = {{}, CrossingBefore(transfer)};
  }
  return link;
}

void ChainFinder::AddBlockers(ExecOpId op, std::vector<ExecOpId>& blockers) const {
  int64_t ready = 0;
  LastCause(op, ready);
  const auto& ends = ends_[DeviceOf(op)];
  constexpr ExecOpId kLast(std::numeric_limits<int32_t>::max());
  const auto first = std::upper_bound(ends.begin(), ends.end(), std::pair(ready, kLast));
  const size_t max = MaxBlockers();
  for (auto it = first; it != ends.end() && it->first <= Span(op).start.count; ++it) {
    if (blockers.size() >= max) return;
    blockers.push_back(it->second);
  }
}

// The last op on the device that reads the version.
ExecOpId ChainFinder::ReaderOf(VersionId version, DeviceId device) const {
  const SimGraph& sim_graph = problem_.sim_graph;
  ExecOpId reader;
  for (SliceId slice : sim_graph.version_slices[version]) {
    for (ExecOpId op : sim_graph.slice_readers[slice]) {
      if (DeviceOf(op) == device) reader = op;
    }
  }
  return reader;
}

CriticalView ChainFinder::Find() const {
  CriticalView view;
  std::vector<CriticalLink>& chain = view.chain;
  Cause at;
  int64_t latest = -1;
  for (ExecOpId op : graph_.exec_ops()) {
    if (Span(op).end.count > latest) latest = Span(op).end.count, at.op = op;
  }
  const size_t limit = static_cast<size_t>(graph_.ops) + schedule_.transfers.size();
  while (!at.none() && chain.size() < limit) {
    Cause before;
    chain.push_back(at.op.valid() ? OpLink(at.op, before) : TransferLink(at.transfer, before));
    if (at.op.valid() && chain.back().waits_in_queue) AddBlockers(at.op, view.blockers);
    at = before;
  }
  return view;
}

}  // namespace

CriticalView CriticalChain(const Problem& problem, const OpGraph& graph,
                           const GroupPlacement& device_of, const Schedule& schedule) {
  if (graph.ops == 0) return {};
  return ChainFinder(problem, graph, device_of, schedule).Find();
}

}  // namespace placewright
