#include "sim/placeto/sim_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "base/text.h"

namespace placewright {
namespace {

using Edges = std::vector<PlacetoEdge>;

// Positions of the items' names in their sorted order.
template <class Items, class Name>
std::vector<int32_t> RanksByName(const Items& items, const Name& name) {
  std::vector<int32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return name(items[static_cast<size_t>(a)]) < name(items[static_cast<size_t>(b)]);
  });
  std::vector<int32_t> ranks(items.size());
  for (size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<int32_t>(i);
  return ranks;
}

// Sorted by `key`, an op; equal ones stay in their order. Returns where each op's row begins.
template <class Key>
std::vector<int32_t> SortIntoRows(Edges& edges, size_t ops, const Key& key) {
  std::vector<int32_t> offsets(ops + 1);
  for (const PlacetoEdge& edge : edges) ++offsets[key(edge) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<int32_t> next(offsets.begin(), offsets.end() - 1);
  Edges sorted(edges.size());
  for (const PlacetoEdge& edge : edges) sorted[next[key(edge)]++] = edge;
  edges = std::move(sorted);
  return offsets;
}

// Each pair of ops once, where its first edge stands, with the output of its last. The consumers
// come in the order of the ops, each one's inputs in the order of the file.
Edges DistinctEdges(const PlacetoCase& problem) {
  Edges edges = problem.edges;
  SortIntoRows(edges, problem.ops.size(), [](const PlacetoEdge& edge) { return edge.to; });
  Edges distinct;
  distinct.reserve(edges.size());
  std::vector<int32_t> newest(problem.ops.size(), -1);  // by parent: its newest in `distinct`
  for (const PlacetoEdge& edge : edges) {
    int32_t& position = newest[edge.from];
    if (position >= 0 && distinct[position].to == edge.to) {
      distinct[position].output = edge.output;
      continue;
    }
    position = static_cast<int32_t>(distinct.size());
    distinct.push_back(edge);
  }
  return distinct;
}

class Compiler {
 public:
  explicit Compiler(const PlacetoCase& problem)
      : problem_(problem), edges_(DistinctEdges(problem)) {}

  Result<PlacetoSimGraph> Compile() {
    const size_t ops = problem_.ops.size();
    const PlacetoParams& params = problem_.params;
    sim_graph_.delta1 = params.delta1;
    sim_graph_.delta2 = params.delta2;
    sim_graph_.init_offset = params.init_offset;
    sim_graph_.device_rank = RanksByName(
        problem_.devices, [](const std::string& device) { return std::string_view(device); });
    rank_ =
        RanksByName(problem_.ops, [](const PlacetoOp& op) { return std::string_view(op.name); });
    rows_ = SortIntoRows(edges_, ops, [](const PlacetoEdge& edge) { return edge.from; });
    sim_graph_.parents.assign(ops, 0);
    for (const PlacetoEdge& edge : edges_) ++sim_graph_.parents[edge.to];
    PW_RETURN_IF_ERROR(RejectCycle());
    sim_graph_.ops.resize(ops);
    sim_graph_.children.reserve(edges_.size());
    for (size_t op = 0; op < ops; ++op) AddOp(op);
    return std::move(sim_graph_);
  }

 private:
  Status RejectCycle() const;
  Error CycleThrough(int32_t op, const std::vector<int32_t>& waiting) const;
  void AddOp(size_t index);
  void AddFan(size_t index);
  double Delay(size_t op, int32_t output) const {
    const std::vector<double>& bytes = problem_.ops[op].output_bytes;
    const bool listed = static_cast<size_t>(output) < bytes.size();
    return listed ? bytes[static_cast<size_t>(output)] / problem_.params.transfer_speed : 0;
  }
  // Appends the children of [begin, end) in edges_ to program_.children, by name.
  void AddChildren(const PlacetoEdge* begin, const PlacetoEdge* end) {
    std::vector<int32_t>& children = sim_graph_.children;
    const auto first = static_cast<std::ptrdiff_t>(children.size());
    for (const PlacetoEdge* edge = begin; edge != end; ++edge) children.push_back(edge->to);
    std::sort(children.begin() + first, children.end(),
              [&](int32_t a, int32_t b) { return rank_[a] < rank_[b]; });
  }

  const PlacetoCase& problem_;
  Edges edges_;  // distinct; sorted by parent once rows_ is set
  std::vector<int32_t> rows_, rank_;
  PlacetoSimGraph sim_graph_;
};

Status Compiler::RejectCycle() const {
  std::vector<int32_t> waiting = sim_graph_.parents;
  std::vector<int32_t> ready;
  for (size_t op = 0; op < waiting.size(); ++op) {
    if (waiting[op] == 0) ready.push_back(static_cast<int32_t>(op));
  }
  for (size_t done = 0; done < ready.size(); ++done) {
    const int32_t op = ready[done];
    for (int32_t e = rows_[op]; e < rows_[op + 1]; ++e) {
      if (--waiting[edges_[e].to] == 0) ready.push_back(edges_[e].to);
    }
  }
  if (ready.size() == waiting.size()) return Ok();
  const auto stuck = std::find_if(waiting.begin(), waiting.end(), [](int32_t n) { return n > 0; });
  return CycleThrough(static_cast<int32_t>(stuck - waiting.begin()), waiting);
}

// Every op that still waits has a parent that still waits: going back from one leads into a cycle.
Error Compiler::CycleThrough(int32_t op, const std::vector<int32_t>& waiting) const {
  std::vector<int32_t> parent(waiting.size(), -1);
  for (const PlacetoEdge& edge : edges_) {
    if (waiting[edge.from] > 0) parent[edge.to] = edge.from;
  }
  for (size_t step = 0; step < waiting.size(); ++step) op = parent[op];
  constexpr int kMaxNames = 8;
  const int32_t start = op;
  std::string names;
  int named = 0;
  do {
    names = fmt::format("{}{}{}", Printable(problem_.ops[op].name, 80), names.empty() ? "" : " -> ",
                        names);
    op = parent[op];
  } while (op != start && ++named < kMaxNames);
  names = (op == start ? Printable(problem_.ops[start].name, 80) : "...") + " -> " + names;
  return MakeError(ErrorCode::kGraphCycle, "these ops wait for each other: " + names, "edges");
}

void Compiler::AddOp(size_t index) {
  PlacetoSimGraph::Op& op = sim_graph_.ops[index];
  op.cost = problem_.ops[index].cost_us;
  op.no_rest = problem_.ops[index].no_rest;
  op.name_rank = static_cast<uint32_t>(rank_[index]);
  op.begin = static_cast<int32_t>(sim_graph_.children.size());
  const PlacetoEdge* const begin = edges_.data() + rows_[index];
  const PlacetoEdge* const end = edges_.data() + rows_[index + 1];
  AddChildren(begin, end);
  op.end = static_cast<int32_t>(sim_graph_.children.size());
  op.delay = begin == end ? 0 : Delay(index, begin->output);
  const auto same = [&](const PlacetoEdge& edge) { return edge.output == begin->output; };
  if (!std::all_of(begin, end, same)) AddFan(index);
}

void Compiler::AddFan(size_t index) {
  std::vector<PlacetoEdge> row(edges_.begin() + rows_[index], edges_.begin() + rows_[index + 1]);
  std::vector<int32_t> outputs;
  for (const PlacetoEdge& edge : row) outputs.push_back(edge.output);
  std::sort(outputs.begin(), outputs.end());
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  const auto first_group = static_cast<int32_t>(sim_graph_.groups.size());
  PlacetoSimGraph::Fan fan;
  fan.begin = static_cast<int32_t>(sim_graph_.fan_children.size());
  for (const PlacetoEdge& edge : row) {
    const auto at = std::lower_bound(outputs.begin(), outputs.end(), edge.output);
    const auto group = first_group + static_cast<int32_t>(at - outputs.begin());
    sim_graph_.fan_children.push_back({edge.to, group});
  }
  fan.end = static_cast<int32_t>(sim_graph_.fan_children.size());
  fan.groups = static_cast<int32_t>(outputs.size());
  std::stable_sort(row.begin(), row.end(),
                   [](const PlacetoEdge& a, const PlacetoEdge& b) { return a.output < b.output; });
  for (auto begin = row.begin(); begin != row.end();) {
    const auto end = std::find_if(
        begin, row.end(), [&](const PlacetoEdge& edge) { return edge.output != begin->output; });
    PlacetoGroup group{Delay(index, begin->output),
                       static_cast<int32_t>(sim_graph_.children.size()), 0};
    AddChildren(&*begin, &*begin + (end - begin));
    group.end = static_cast<int32_t>(sim_graph_.children.size());
    sim_graph_.groups.push_back(group);
    begin = end;
  }
  sim_graph_.ops[index].fan = static_cast<int32_t>(sim_graph_.fans.size());
  sim_graph_.fans.push_back(fan);
}

}  // namespace

Result<PlacetoSimGraph> CompilePlacetoCase(const PlacetoCase& problem) {
  return Compiler(problem).Compile();
}

}  // namespace placewright
