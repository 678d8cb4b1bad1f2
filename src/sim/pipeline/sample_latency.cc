#include "sim/pipeline/sample_latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/pipeline/node_graph.h"

namespace placewright {
namespace {

constexpr int32_t kUnlisted = -1;
constexpr int32_t kCpu = 0;
// Steps of finding pieces, some seconds' work: only files made for it need more.
constexpr int64_t kMaxSteps = int64_t{1} << 32;

// Nodes, their devices and slices. A slice is a piece or a CPU node.
class Evaluation {
 public:
  Evaluation(const PipelineWorkload& workload, const Split& split)
      : workload_(workload),
        split_(split),
        successors_(RowsOf(workload, false)),
        predecessors_(RowsOf(workload, true)) {}

  Result<SampleLatencyResult> Run() {
    PW_ASSIGN(order_, OrderOf(workload_, successors_));
    PW_RETURN_IF_ERROR(AssignDevices());
    PW_RETURN_IF_ERROR(FindSlices());
    PW_ASSIGN(const std::vector<int32_t> slice_order, OrderSlices());
    result_.finish.assign(workload_.nodes.size(), 0);
    for (const int32_t slice : slice_order) Finish(members_[slice]);
    for (const double finish : result_.finish) result_.value = std::max(result_.value, finish);
    return std::move(result_);
  }

 private:
  Status AssignDevices();
  Status Assign(const std::vector<int64_t>& ids, int32_t device,
                const std::unordered_map<int64_t, size_t>& positions);
  Status CheckAllListed() const;
  Status FindSlices();
  void FindPieces(const std::vector<int32_t>& nodes, std::vector<int32_t>& levels);
  Result<std::vector<int32_t>> OrderSlices() const;
  void Finish(const std::vector<int32_t>& nodes);

  int32_t NewSlice() {
    members_.emplace_back();
    return static_cast<int32_t>(members_.size()) - 1;
  }
  void Join(int32_t node, int32_t slice) {
    slice_of_[node] = slice;
    members_[slice].push_back(node);
  }

  const PipelineWorkload& workload_;
  const Split& split_;
  const NodeRows successors_, predecessors_;
  std::vector<int32_t> order_;     // topological
  std::vector<int32_t> devices_;   // by node: kUnlisted, kCpu, or entry of the split from 1
  std::vector<int32_t> slice_of_;  // by node: kUnlisted, or a position in members_
  std::vector<std::vector<int32_t>> members_;
  SampleLatencyResult result_;
};

Status Evaluation::Assign(const std::vector<int64_t>& ids, int32_t device,
                          const std::unordered_map<int64_t, size_t>& positions) {
  for (const int64_t id : ids) {
    const auto it = positions.find(id);
    if (it == positions.end()) {
      return MakeError(ErrorCode::kSplitIncomplete,
                       fmt::format("the split lists node {}, which the workload lacks", id));
    }
    if (devices_[it->second] != kUnlisted) {
      return MakeError(ErrorCode::kSplitIncomplete,
                       fmt::format("the split lists node {} twice", id));
    }
    devices_[it->second] = device;
  }
  return Ok();
}

Status Evaluation::AssignDevices() {
  std::unordered_map<int64_t, size_t> positions;
  for (size_t i = 0; i < workload_.nodes.size(); ++i) positions.emplace(workload_.nodes[i].id, i);
  devices_.assign(workload_.nodes.size(), kUnlisted);
  for (const auto& ids : split_.cpus) PW_RETURN_IF_ERROR(Assign(ids, kCpu, positions));
  for (size_t i = 0; i < split_.accelerators.size(); ++i) {
    PW_RETURN_IF_ERROR(Assign(split_.accelerators[i], static_cast<int32_t>(i) + 1, positions));
    SampleLatencyResult::Accelerator& accelerator = result_.accelerators.emplace_back();
    for (const int64_t id : split_.accelerators[i]) {
      ++accelerator.nodes;
      accelerator.size += workload_.nodes[positions.at(id)].size;
    }
    result_.memory_ok = result_.memory_ok && accelerator.size <= workload_.accelerator_memory;
  }
  return CheckAllListed();
}

Status Evaluation::CheckAllListed() const {
  for (size_t i = 0; i < devices_.size(); ++i) {
    const auto node = static_cast<int32_t>(i);
    if (devices_[i] != kUnlisted || (successors_[node].empty() && predecessors_[node].empty())) {
      continue;
    }
    return MakeError(ErrorCode::kSplitIncomplete,
                     fmt::format("the split does not list node {}", workload_.nodes[i].id));
  }
  return Ok();
}

Status Evaluation::FindSlices() {
  slice_of_.assign(workload_.nodes.size(), kUnlisted);
  std::vector<std::vector<int32_t>> nodes_of(split_.accelerators.size());
  for (size_t i = 0; i < devices_.size(); ++i) {
    const auto node = static_cast<int32_t>(i);
    if (devices_[i] == kCpu) Join(node, NewSlice());
    if (devices_[i] > kCpu) nodes_of[devices_[i] - 1].push_back(node);
  }
  // One node is one piece; only sets of several need the pass over the whole graph.
  const int64_t passes = std::count_if(nodes_of.begin(), nodes_of.end(),
                                       [](const auto& nodes) { return nodes.size() > 1; });
  const auto pass = static_cast<int64_t>(workload_.nodes.size() + workload_.edges.size());
  if (passes > kMaxSteps / std::max<int64_t>(pass, 1)) {
    return MakeError(ErrorCode::kFileTooLarge,
                     fmt::format("{} accelerators and {} nodes and edges are more than this "
                                 "objective is worked out for",
                                 passes, pass),
                     "", "Use fewer accelerators.");
  }
  std::vector<int32_t> levels;
  for (size_t i = 0; i < nodes_of.size(); ++i) {
    const auto before = members_.size();
    if (nodes_of[i].size() == 1) {
      Join(nodes_of[i].front(), NewSlice());
    } else if (!nodes_of[i].empty()) {
      FindPieces(nodes_of[i], levels);
    }
    result_.accelerators[i].pieces = static_cast<int32_t>(members_.size() - before);
  }
  return Ok();
}

void Evaluation::FindPieces(const std::vector<int32_t>& nodes, std::vector<int32_t>& levels) {
  const int32_t device = devices_[nodes.front()];
  levels.assign(workload_.nodes.size(), 0);
  int32_t pieces = 0;
  for (const int32_t node : order_) {
    const bool inside = devices_[node] == device;
    int32_t level = inside ? 1 : 0;
    for (const int32_t before : predecessors_[node]) {
      const bool enters = inside && devices_[before] != device;
      level = std::max(level, levels[before] + (enters ? 1 : 0));
    }
    levels[node] = level;
    if (inside) pieces = std::max(pieces, level);
  }
  const auto first = static_cast<int32_t>(members_.size());
  for (int32_t piece = 0; piece < pieces; ++piece) NewSlice();
  for (const int32_t node : nodes) Join(node, first + levels[node] - 1);
}

Result<std::vector<int32_t>> Evaluation::OrderSlices() const {
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (const WorkloadEdge& edge : workload_.edges) {
    const int32_t from = slice_of_[edge.from], to = slice_of_[edge.to];
    if (from != to) pairs.emplace_back(from, to);
  }
  const std::vector<int32_t> order =
      OrderOf(members_.size(), NodeRows(members_.size(), std::move(pairs)));
  if (order.size() == members_.size()) return order;
  return MakeError(
      ErrorCode::kSplitCyclic,
      fmt::format("{} pieces and CPU nodes wait for one another", members_.size() - order.size()));
}

void Evaluation::Finish(const std::vector<int32_t>& nodes) {
  const int32_t slice = slice_of_[nodes.front()];
  std::vector<int32_t> inputs;
  double compute = 0, written = 0, read = 0, start = 0;
  for (const int32_t node : nodes) {
    for (const int32_t before : predecessors_[node]) {
      if (slice_of_[before] != slice) inputs.push_back(before);
    }
    const auto next = successors_[node];
    const bool leaves =
        std::any_of(next.begin(), next.end(), [&](int32_t to) { return slice_of_[to] != slice; });
    if (leaves) written += workload_.output_cost[node];
    compute += workload_.nodes[node].accelerator_time;
  }
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  for (const int32_t input : inputs) {
    start = std::max(start, result_.finish[input]);
    read += workload_.output_cost[input];
  }
  const bool cpu = devices_[nodes.front()] == kCpu;
  const double end =
      cpu ? start + workload_.nodes[nodes.front()].cpu_time : start + read + compute + written;
  for (const int32_t node : nodes) result_.finish[node] = end;
}

}  // namespace

Result<SampleLatencyResult> SampleLatency(const PipelineWorkload& workload, const Split& split) {
  return Evaluation(workload, split).Run();
}

}  // namespace placewright
