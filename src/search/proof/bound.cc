// LowerBound: three arguments, each valid for every placement, and the best of them.
//
// Critical path.  head(i) = the earliest time at which op i can end: every op on its fastest
// allowed device, no transfer; tail(i) likewise from its start to the end of the step. Bound: max
// head.
//
// Work.  For any weights w_d >= 0:  T * sum_d w_d >= sum_u min over allowed d of w_d * t(u, d),
// because device d computes for at most T (work_bound.h).
//
// Crossing.  Suppose the step takes at most T. A group's result that goes from i to j over a link
// costs at least head(i) + minimum transfer + tail(j); where this exceeds T, both ends share a
// device. Join such groups. Every joined set then needs a device that may hold all of it: whose
// time for the set, from the earliest release and to the shortest tail of its ops (one-machine
// bound), is at most T, and ("memory spread") whose memory holds its persistent bytes and what of
// an unavoidable cut lies between its members. If some set has none, the step takes more than T.
// Bisection over T.
#include "search/proof/bound.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "graph/ownership/union_find.h"
#include "search/problem/candidate_devices.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"
#include "search/proof/memory_cut.h"
#include "search/proof/work_bound.h"

namespace placewright {
namespace {

class Bounder {
 public:
  explicit Bounder(const Problem& problem)
      : problem_(problem),
        graph_(BuildOpGraph(problem)),
        capacity_(TensorCapacity(problem.sim_graph)) {
    ListSorts();
    SumGroupTimes();
    FindPaths();
    ListRoutes();
    ListCrossings();
  }

  int64_t CriticalPath() const {
    return end_.empty() ? 0 : *std::max_element(end_.begin(), end_.end());
  }
  int64_t Work() const { return WorkBound(group_time_, counts_); }
  // Raises `bound` as far as the crossing argument goes, with or without memory.
  int64_t Crossing(int64_t bound, bool memory);

 private:
  struct Crossed {
    int64_t min;  // step time if it crosses
    ColocationGroupId a, b;
  };

  void ListSorts();
  void SumGroupTimes();
  void FindPaths();
  void ListRoutes();
  void ListCrossings();
  int64_t MinTransfer(int64_t bytes) const;
  bool Contradicts(int64_t step, bool memory);
  bool FitsOneDevice(std::span<const ExecOpId> ops, int64_t step, int64_t joined_bytes);
  bool FitsInTime(std::span<const ExecOpId> ops, DeviceId device, int64_t step) const;
  int64_t& GroupTime(ColocationGroupId group, size_t sort) {
    return group_time_[group.index() * firsts_.size() + sort];
  }

  const Problem& problem_;
  const OpGraph graph_;
  const IdVector<DeviceId, int64_t> capacity_;
  // Devices that are alike in times, memory and what may lie there: of each sort its first one, and how many there are.
  std::vector<DeviceId> firsts_;
  std::vector<size_t> counts_;
  std::vector<int64_t> group_time_;  // [group * sorts + sort], -1: not allowed
  IdVector<ExecOpId, int64_t> min_;  // minimum time over allowed devices
  IdVector<ExecOpId, int64_t> end_, tail_;
  std::vector<ExecOpId> by_release_;                 // by earliest start
  std::vector<std::pair<int64_t, int64_t>> routes_;  // (latency, bandwidth), undominated
  std::vector<Crossed> crossings_;                   // by `min`, descending
  std::vector<MemoryCut> cuts_;
};

void Bounder::ListSorts() {
  const SimGraph& graph = problem_.sim_graph;
  IdVector<DeviceId, std::vector<int64_t>> signatures(static_cast<size_t>(graph.devices));
  for (const DeviceId d : graph.device_ids()) {
    const int64_t column = graph.only.empty() ? graph.time_column[d] : d.value();
    signatures[d] = {column, capacity_[d]};
  }
  // Few groups may not be everywhere.
  std::set<std::vector<DeviceId>> known;
  for (const ColocationGroupId u : problem_.group_ids()) {
    const std::vector<DeviceId>& allowed = problem_.groups[u].allowed;
    if (allowed.size() == signatures.size() || !known.insert(allowed).second) continue;
    for (const DeviceId d : allowed) signatures[d].push_back(u.value());
  }
  std::map<std::vector<int64_t>, size_t> sorts;
  for (const DeviceId d : graph.device_ids()) {
    const auto [at, fresh] = sorts.try_emplace(std::move(signatures[d]), firsts_.size());
    if (fresh) {
      firsts_.push_back(d);
      counts_.push_back(0);
    }
    ++counts_[at->second];
  }
}

void Bounder::SumGroupTimes() {
  group_time_.assign(problem_.groups.size() * firsts_.size(), -1);
  for (ColocationGroupId u : problem_.group_ids()) {
    const std::vector<DeviceId>& allowed = problem_.groups[u].allowed;
    for (size_t sort = 0; sort < firsts_.size(); ++sort) {
      if (std::binary_search(allowed.begin(), allowed.end(), firsts_[sort])) GroupTime(u, sort) = 0;
    }
  }
  min_.assign(graph_.ops, 0);
  for (ExecOpId op : graph_.exec_ops()) {
    int64_t min = -1;
    for (size_t sort = 0; sort < firsts_.size(); ++sort) {
      int64_t& sum = GroupTime(graph_.group_of[op], sort);
      if (sum < 0) continue;
      const int64_t time = problem_.sim_graph.Time(op, firsts_[sort]);
      sum = SaturatingAdd(sum, time);
      if (min < 0 || time < min) min = time;
    }
    min_[op] = min;
  }
}

void Bounder::FindPaths() {
  end_.assign(graph_.ops, 0);
  tail_.assign(graph_.ops, 0);
  for (ExecOpId op : graph_.order) {
    for (const OpInput& input : graph_.Inputs(op)) {
      if (input.producer.valid()) end_[op] = std::max(end_[op], end_[input.producer]);
    }
    for (ExecOpId first : graph_.Before(op)) end_[op] = std::max(end_[op], end_[first]);
    end_[op] = SaturatingAdd(end_[op], min_[op]);
  }
  for (auto it = graph_.order.rbegin(); it != graph_.order.rend(); ++it) {
    for (ExecOpId next : graph_.Successors(*it)) tail_[*it] = std::max(tail_[*it], tail_[next]);
    tail_[*it] = SaturatingAdd(tail_[*it], min_[*it]);
  }
  for (ExecOpId op : graph_.exec_ops()) by_release_.push_back(op);
  std::stable_sort(by_release_.begin(), by_release_.end(),
                   [&](ExecOpId a, ExecOpId b) { return end_[a] - min_[a] < end_[b] - min_[b]; });
}

void Bounder::ListRoutes() {
  const Cluster& cluster = *problem_.cluster;
  for (DeviceId from : cluster.devices()) {
    for (DeviceId to : cluster.devices()) {
      if (from == to || !cluster.Connected(from, to)) continue;
      const std::pair<int64_t, int64_t> route = {cluster.route(from, to).latency.count,
                                                 -cluster.route(from, to).bandwidth.count};
      if (routes_.empty() || routes_.back() != route) routes_.push_back(route);  // most are alike
    }
  }
  std::sort(routes_.begin(), routes_.end());
  std::vector<std::pair<int64_t, int64_t>> kept;
  for (const auto& [latency, bandwidth] : routes_) {
    if (kept.empty() || -bandwidth > kept.back().second) kept.emplace_back(latency, -bandwidth);
  }
  routes_ = std::move(kept);
}

int64_t Bounder::MinTransfer(int64_t bytes) const {
  int64_t min = kMaxQuantity;
  for (const auto& [latency, bandwidth] : routes_) {
    const Nanos time = TransferTime(Bytes(bytes), BytesPerSecond(bandwidth));
    min = std::min(min, SaturatingAdd(latency, time.count));
  }
  return min;
}

void Bounder::ListCrossings() {
  for (ExecOpId op : graph_.exec_ops()) {
    for (const OpInput& input : graph_.Inputs(op)) {
      const ColocationGroupId from = graph_.SourceOf(input);
      if (!from.valid() || from == graph_.group_of[op]) continue;
      const int64_t begin = input.producer.valid() ? end_[input.producer] : 0;
      crossings_.push_back(
          {SaturatingAdd(SaturatingAdd(begin, MinTransfer(input.length)), tail_[op]), from,
           graph_.group_of[op]});
    }
  }
  std::stable_sort(crossings_.begin(), crossings_.end(),
                   [](const Crossed& x, const Crossed& y) { return x.min > y.min; });
}

// One-machine bound of the ops, which are sorted by release.
bool Bounder::FitsInTime(std::span<const ExecOpId> ops, DeviceId device, int64_t step) const {
  int64_t work = 0, min_after = kMaxQuantity;
  for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
    const ExecOpId op = *it;
    work = SaturatingAdd(work, problem_.sim_graph.Time(op, device));
    min_after = std::min(min_after, tail_[op] - min_[op]);
    if (SaturatingAdd(SaturatingAdd(end_[op] - min_[op], work), min_after) > step) return false;
  }
  return true;
}

bool Bounder::FitsOneDevice(std::span<const ExecOpId> ops, int64_t step, int64_t joined_bytes) {
  std::vector<char> may(firsts_.size(), 1);
  for (ExecOpId op : ops) {
    const ColocationGroupId group = graph_.group_of[op];
    for (size_t sort = 0; sort < may.size(); ++sort) {
      may[sort] = may[sort] && GroupTime(group, sort) >= 0;
    }
  }
  for (size_t sort = 0; sort < may.size(); ++sort) {
    const DeviceId d = firsts_[sort];
    if (may[sort] && joined_bytes <= capacity_[d] && FitsInTime(ops, d, step)) return true;
  }
  return false;
}

bool Bounder::Contradicts(int64_t step, bool memory) {
  UnionFind<ColocationGroupId> joined(problem_.groups.size());
  for (const Crossed& crossing : crossings_) {
    if (crossing.min <= step) break;
    joined.Join(crossing.a, crossing.b);
  }
  // Ops of every set, by release.
  Csr<ColocationGroupId, ExecOpId> sets;
  std::vector<int32_t>& offset = sets.offsets;
  offset.assign(problem_.groups.size() + 1, 0);
  sets.items.resize(graph_.group_of.size());
  for (ExecOpId op : graph_.exec_ops()) ++offset[joined.Find(graph_.group_of[op]).index() + 1];
  for (size_t u = 1; u < offset.size(); ++u) offset[u] += offset[u - 1];
  std::vector<int32_t> next(offset.begin(), offset.end() - 1);
  for (ExecOpId op : by_release_) sets.items[next[joined.Find(graph_.group_of[op]).index()]++] = op;
  std::vector<IdVector<ColocationGroupId, int64_t>> bytes;  // per cut
  if (memory) {
    IdVector<ColocationGroupId, int64_t> persistent(problem_.groups.size(), 0);
    for (ColocationGroupId u : problem_.group_ids()) {
      int64_t& sum = persistent[joined.Find(u)];
      sum = SaturatingAdd(sum, problem_.groups[u].persistent.count);
    }
    for (const MemoryCut& cut : cuts_) {
      bytes.push_back(persistent);
      for (const LiveStorage& live : cut.live) {
        const ColocationGroupId set = joined.Find(live.group);
        const bool read_beside =
            std::any_of(live.reader_groups.begin(), live.reader_groups.end(),
                        [&](ColocationGroupId reader) { return joined.Find(reader) == set; });
        if (read_beside) bytes.back()[set] = SaturatingAdd(bytes.back()[set], live.bytes);
      }
    }
  }
  for (ColocationGroupId set : problem_.group_ids()) {
    int64_t max = 0;
    for (const auto& of_cut : bytes) max = std::max(max, of_cut[set]);
    if (!sets[set].empty() && !FitsOneDevice(sets[set], step, max)) return true;
  }
  return false;
}

int64_t Bounder::Crossing(int64_t bound, bool memory) {
  if (graph_.ops == 0) return bound;
  if (memory) cuts_ = LargestCuts(problem_, graph_, 16, 4);
  // Beyond `high` nothing is joined by time any more; what still contradicts is infeasible.
  int64_t high = std::max(bound, crossings_.empty() ? bound : crossings_.front().min);
  for (int64_t guess = bound; guess < high; guess = SaturatingAdd(guess, guess / 4 + 1)) {
    if (!Contradicts(guess, memory)) {
      high = guess;
      break;
    }
    bound = guess + 1;
  }
  while (bound < high) {
    const int64_t middle = bound + (high - bound) / 2;
    if (Contradicts(middle, memory)) {
      bound = middle + 1;
    } else {
      high = middle;
    }
  }
  return bound;
}

}  // namespace

namespace {

Bound OwnBound(const Problem& problem) {
  Bounder bounder(problem);
  Bound bound{Nanos(bounder.CriticalPath()), "critical path"};
  const auto raise = [&](int64_t value, const char* argument) {
    value = std::min(value, kMaxQuantity);  // where the clock of a step stops
    if (value > bound.value.count) bound = {Nanos(value), argument};
  };
  raise(bounder.Work(), "work");
  raise(bounder.Crossing(bound.value.count, false), "crossing");
  raise(bounder.Crossing(bound.value.count, true), "memory spread");
  return bound;
}

}  // namespace

Bound LowerBound(const Problem& problem) {
  Bound bound = OwnBound(problem);
  if (problem.constraints.Empty()) return bound;
  // A plan under constraints is one without them. The arguments may still say less of it: the
  // weights of "work" are found on fewer groups.
  const Result<Problem> free =
      BuildProblem(*problem.graph, *problem.cluster, *problem.costs, {}, problem.policy);
  if (!free.ok()) return bound;
  Bound of_all = OwnBound(free.value());
  return of_all.value > bound.value ? of_all : bound;
}

}  // namespace placewright
