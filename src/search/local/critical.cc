#include "search/local/critical.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace placewright {
namespace {

class ChainFinder {
 public:
  ChainFinder(const Problem& problem, const OpGraph& graph, const std::vector<int32_t>& device_of,
              const Schedule& schedule)
      : problem_(problem), graph_(graph), device_of_(device_of), schedule_(schedule) {
    IndexTransfers();
    IndexDevices();
  }

  CriticalView Find() const;

 private:
  // What a link of the chain is, in one number: an exec op, a transfer, or nothing.
  static constexpr int32_t kNothing = -1;
  static int32_t Transfer(int32_t index) { return -2 - index; }
  static int32_t TransferIndex(int32_t link) { return -2 - link; }

  using Key = std::tuple<int32_t, int32_t, int64_t, int64_t, int32_t>;

  const OpSpan& Span(int32_t op) const { return schedule_.ops[problem_.sim_graph.op_of[op]]; }
  int32_t DeviceOf(int32_t op) const { return device_of_[graph_.group_of[op]]; }
  void IndexTransfers();
  void IndexDevices();
  int32_t TransferOf(const OpInput& input, int32_t device) const;
  // What made the op ready last.
  int32_t LastCause(int32_t op, int64_t& ready) const;
  int32_t ReaderOf(int32_t version, int32_t device) const;
  // Of a wide graph on one device every op waits for all before it: a bound keeps that linear.
  size_t MaxBlockers() const { return CriticalView::kBlockersPerOp * size_t(graph_.ops); }
  void AddBlockers(int32_t op, std::vector<int32_t>& blockers) const;
  CriticalLink OpLink(int32_t op, int32_t& before) const;
  CriticalLink TransferLink(int32_t transfer, int32_t& before) const;
  int32_t RunningBefore(int32_t op) const;  // the op that ended on its device when it started
  int32_t CrossingBefore(int32_t transfer) const;

  const Problem& problem_;
  const OpGraph& graph_;
  const std::vector<int32_t>& device_of_;
  const Schedule& schedule_;
  std::vector<std::pair<Key, int32_t>> transfers_;                   // sorted
  std::vector<std::vector<std::pair<int64_t, int32_t>>> ends_;       // [device] (end, op), sorted
  std::vector<std::vector<std::pair<int64_t, int32_t>>> link_ends_;  // [link] (end, transfer)
};

void ChainFinder::IndexTransfers() {
  link_ends_.resize(problem_.sim_graph.links);
  for (size_t i = 0; i < schedule_.transfers.size(); ++i) {
    const TransferSpan& span = schedule_.transfers[i];
    transfers_.emplace_back(Key{span.storage.value(), span.version, span.offset.count,
                                span.length.count, span.to.value()},
                            static_cast<int32_t>(i));
    for (LinkId link : problem_.cluster->route(span.from, span.to).links) {
      link_ends_[link.index()].emplace_back(span.end.count, static_cast<int32_t>(i));
    }
  }
  std::sort(transfers_.begin(), transfers_.end());
  for (auto& ends : link_ends_) std::sort(ends.begin(), ends.end());
}

void ChainFinder::IndexDevices() {
  ends_.resize(graph_.devices);
  for (int32_t op = 0; op < graph_.ops; ++op) {
    if (Span(op).end > Span(op).start) ends_[DeviceOf(op)].emplace_back(Span(op).end.count, op);
  }
  for (auto& ends : ends_) std::sort(ends.begin(), ends.end());
}

int32_t ChainFinder::TransferOf(const OpInput& input, int32_t device) const {
  const SimGraph& sim_graph = problem_.sim_graph;
  const int32_t version = sim_graph.slice_version[input.crossing];
  const int32_t storage = sim_graph.version_storage[version];
  const int32_t number = version - sim_graph.storage_versions.offsets[storage];
  const Key key{storage, number, sim_graph.slice_offset[input.crossing],
                sim_graph.slice_length[input.crossing], device};
  const auto it = std::lower_bound(transfers_.begin(), transfers_.end(), std::pair(key, -1));
  return it != transfers_.end() && it->first == key ? it->second : -1;
}

int32_t ChainFinder::LastCause(int32_t op, int64_t& ready) const {
  int32_t cause = kNothing;
  ready = 0;
  const auto consider = [&](int64_t at, int32_t what) {
    if (at < ready || (at == ready && cause != kNothing)) return;
    ready = at;
    cause = what;
  };
  for (int32_t first : graph_.Before(op)) consider(Span(first).end.count, first);
  for (const OpInput& input : graph_.Inputs(op)) {
    const int32_t from = input.producer >= 0      ? DeviceOf(input.producer)
                         : input.home_device >= 0 ? input.home_device
                         : input.home_group >= 0  ? device_of_[input.home_group]
                                                  : DeviceOf(op);
    if (from == DeviceOf(op)) {
      if (input.producer >= 0) consider(Span(input.producer).end.count, input.producer);
      continue;
    }
    const int32_t transfer = TransferOf(input, DeviceOf(op));
    if (transfer >= 0) {
      consider(schedule_.transfers[transfer].end.count, Transfer(transfer));
    }
  }
  return cause;
}

int32_t ChainFinder::RunningBefore(int32_t op) const {
  const auto& ends = ends_[DeviceOf(op)];
  const int64_t start = Span(op).start.count;
  const auto it =
      std::lower_bound(ends.begin(), ends.end(), std::pair<int64_t, int32_t>(start, -1));
  return it != ends.end() && it->first == start && it->second != op ? it->second : -1;
}

int32_t ChainFinder::CrossingBefore(int32_t transfer) const {
  const TransferSpan& span = schedule_.transfers[transfer];
  for (LinkId link : problem_.cluster->route(span.from, span.to).links) {
    const auto& ends = link_ends_[link.index()];
    const auto it = std::lower_bound(ends.begin(), ends.end(),
                                     std::pair<int64_t, int32_t>(span.start.count, -1));
    if (it != ends.end() && it->first == span.start.count && it->second != transfer) {
      return it->second;
    }
  }
  return -1;
}

// An op of the chain: what held it back last.
CriticalLink ChainFinder::OpLink(int32_t op, int32_t& before) const {
  CriticalLink link;
  link.op = op;
  link.duration = (Span(op).end - Span(op).start).count;
  int64_t ready = 0;
  before = LastCause(op, ready);
  if (Span(op).start.count > ready) {
    link.waits_in_queue = true;
    before = RunningBefore(op);
  }
  return link;
}

CriticalLink ChainFinder::TransferLink(int32_t transfer, int32_t& before) const {
  const TransferSpan& span = schedule_.transfers[transfer];
  const SimGraph& sim_graph = problem_.sim_graph;
  const int32_t version = sim_graph.storage_versions.offsets[span.storage.index()] + span.version;
  CriticalLink link;
  link.transfer = true;
  link.op = ReaderOf(version, span.to.value());
  link.duration = (span.end - span.start).count;
  link.producer = sim_graph.version_writer[version];
  const int32_t home = sim_graph.home_op[span.storage.index()];
  if (link.producer < 0 && home >= 0) link.home_group = problem_.group_of[OpId(home)];
  before = link.producer >= 0 ? link.producer : kNothing;
  if (span.start > span.ready) {
    link.waits_in_queue = true;
    const int32_t blocker = CrossingBefore(transfer);
    before = blocker >= 0 ? Transfer(blocker) : kNothing;
  }
  return link;
}

void ChainFinder::AddBlockers(int32_t op, std::vector<int32_t>& blockers) const {
  int64_t ready = 0;
  LastCause(op, ready);
  const auto& ends = ends_[DeviceOf(op)];
  const auto first =
      std::upper_bound(ends.begin(), ends.end(),
                       std::pair<int64_t, int32_t>(ready, std::numeric_limits<int32_t>::max()));
  const size_t max = MaxBlockers();
  for (auto it = first; it != ends.end() && it->first <= Span(op).start.count; ++it) {
    if (blockers.size() >= max) return;
    blockers.push_back(it->second);
  }
}

// The last op on the device that reads the version.
int32_t ChainFinder::ReaderOf(int32_t version, int32_t device) const {
  const SimGraph& sim_graph = problem_.sim_graph;
  int32_t reader = -1;
  for (int32_t u = sim_graph.version_slices_offset[version];
       u < sim_graph.version_slices_offset[version + 1]; ++u) {
    const int32_t group = sim_graph.version_slices[u];
    for (int32_t i = sim_graph.slice_readers_offset[group];
         i < sim_graph.slice_readers_offset[group + 1]; ++i) {
      if (DeviceOf(sim_graph.slice_readers[i]) == device) reader = sim_graph.slice_readers[i];
    }
  }
  return reader;
}

CriticalView ChainFinder::Find() const {
  CriticalView view;
  std::vector<CriticalLink>& chain = view.chain;
  int32_t at = kNothing;
  int64_t latest = -1;
  for (int32_t op = 0; op < graph_.ops; ++op) {
    if (Span(op).end.count > latest) latest = Span(op).end.count, at = op;
  }
  const size_t limit = static_cast<size_t>(graph_.ops) + schedule_.transfers.size();
  while (at != kNothing && chain.size() < limit) {
    int32_t before = kNothing;
    chain.push_back(at >= 0 ? OpLink(at, before) : TransferLink(TransferIndex(at), before));
    if (at >= 0 && chain.back().waits_in_queue) AddBlockers(at, view.blockers);
    at = before;
  }
  return view;
}

}  // namespace

CriticalView CriticalChain(const Problem& problem, const OpGraph& graph,
                           const std::vector<int32_t>& device_of, const Schedule& schedule) {
  if (graph.ops == 0) return {};
  return ChainFinder(problem, graph, device_of, schedule).Find();
}

}  // namespace placewright
