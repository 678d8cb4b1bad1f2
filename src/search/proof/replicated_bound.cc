#include "search/proof/replicated_bound.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "search/floors/part_floors.h"
#include "search/problem/layout_problem.h"
#include "search/proof/work_bound.h"

namespace placewright {
namespace {

class ReplicatedBounder {
 public:
  explicit ReplicatedBounder(const Problem& problem)
      : problem_(problem), graph_(problem.layouts->graph), floors_(*problem.layouts) {
    ListSorts();
    FindAllowed();
    FindSums();
  }

  int64_t Work() const;
  int64_t Path() const;

 private:
  // Groups that --colocate joins are one; the op that draws are counted by has a group that the problem lacks.
  size_t RowOf(OpId op) const {
    const bool known = op.index() < problem_.group_of.size();
    return known ? problem_.group_of[op].index()
                 : problem_.groups.size() + graph_.group(op).index();
  }
  void ListSorts();
  void FindAllowed();
  void FindSums();
  bool MakesSum(OpId op, size_t output) const;
  bool IsWritten(const Op& op, TensorId output) const;
  int64_t SmallestPart(OpId op) const;
  int64_t LargestPart(OpId op) const;
  bool Allowed(OpId op, size_t sort) const { return allowed_[RowOf(op) * firsts_.size() + sort]; }

  const Problem& problem_;
  const Graph& graph_;
  const PartFloors floors_;
  // Devices that are alike in floors and constraints: of each sort its first device and how many there are.
  std::vector<DeviceId> firsts_;
  std::vector<size_t> counts_;
  std::vector<bool> allowed_;  // by row and sort
  // What so many parts of an op come to on devices of these floors: ops of many layers and micro-batches are alike.
  mutable std::map<std::vector<int64_t>, int64_t> shared_out_;
  IdVector<TensorId, bool> may_be_sum_;  // on some layout, of parts
};

// Where there are constraints each device is a sort.
void ReplicatedBounder::ListSorts() {
  for (const DeviceId device : problem_.layouts->cluster.devices()) {
    const size_t sort =
        problem_.constraints.Empty() ? floors_.sort(device) : static_cast<size_t>(device.index());
    if (sort == firsts_.size()) {
      firsts_.push_back(device);
      counts_.push_back(0);
    }
    ++counts_[sort];
  }
}

void ReplicatedBounder::FindAllowed() {
  const size_t rows = problem_.groups.size() + graph_.group_count(), sorts = firsts_.size();
  allowed_.assign(rows * sorts, true);
  for (const OpId op : graph_.ops()) {
    for (size_t sort = 0; sort < sorts; ++sort) {
      if (floors_.Whole(op, firsts_[sort]) < 0) allowed_[RowOf(op) * sorts + sort] = false;
    }
  }
  if (problem_.constraints.Empty()) return;
  for (const ColocationGroupId id : problem_.group_ids()) {
    const std::vector<DeviceId>& devices = problem_.groups[id].allowed;
    for (size_t sort = 0; sort < sorts; ++sort) {
      const bool may = std::binary_search(devices.begin(), devices.end(), firsts_[sort]);
      if (!may) allowed_[id.index() * sorts + sort] = false;
    }
  }
}

bool ReplicatedBounder::IsWritten(const Op& op, TensorId output) const {
  return std::any_of(op.writes.begin(), op.writes.end(), [&](TensorId written) {
    return graph_.tensor(written).storage == graph_.tensor(output).storage;
  });
}

bool ReplicatedBounder::MakesSum(OpId id, size_t output) const {
  const Op& op = graph_.op(id);
  const OpRule* const rule = problem_.layouts->axes.rule(id);
  for (const TensorId written : op.writes) {
    const bool same = graph_.tensor(written).storage == graph_.tensor(op.outputs[output]).storage;
    if (same && may_be_sum_[written]) return true;
  }
  if (rule == nullptr) return false;
  for (size_t i = 0; i < rule->axes.size(); ++i) {
    if (VerdictOf(*rule, RuleAxisId(i), output) == PartVerdict::kSum) return true;
  }
  // With statistics of each part it makes sums, too.
  if (rule->form == PartForm::kBatchNormBackward) return true;
  return std::any_of(rule->linear.begin(), rule->linear.end(), [&](const auto& together) {
    return !together.empty() && std::all_of(together.begin(), together.end(), [&](int32_t input) {
      return may_be_sum_[op.inputs[static_cast<size_t>(input)]];
    });
  });
}

void ReplicatedBounder::FindSums() {
  may_be_sum_ = IdVector<TensorId, bool>(graph_.tensor_count(), false);
  for (const OpId op : graph_.topological_order()) {
    const std::vector<TensorId>& outputs = graph_.op(op).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) may_be_sum_[outputs[i]] = MakesSum(op, i);
  }
}

int64_t ReplicatedBounder::Work() const {
  const size_t rows = problem_.groups.size() + graph_.group_count(), sorts = firsts_.size();
  std::vector<int64_t> times(rows * sorts, 0);
  for (const OpId op : graph_.ops()) {
    for (size_t sort = 0; sort < sorts; ++sort) {
      int64_t& time = times[RowOf(op) * sorts + sort];
      time = SaturatingAdd(time, std::max<int64_t>(0, floors_.Whole(op, firsts_[sort])));
    }
  }
  for (size_t at = 0; at < times.size(); ++at) {
    if (!allowed_[at]) times[at] = -1;
  }
  return WorkBound(times, counts_);
}

int64_t ReplicatedBounder::SmallestPart(OpId op) const {
  int64_t smallest = kMaxQuantity;
  for (size_t sort = 0; sort < firsts_.size(); ++sort) {
    if (Allowed(op, sort)) smallest = std::min(smallest, floors_.Part(op, firsts_[sort]));
  }
  return smallest == kMaxQuantity ? 0 : smallest;
}

// Shared out among the fastest devices so that all take as long. 0 where several ops compute a part: some of them
// may begin before all that the op reads is there.
int64_t ReplicatedBounder::LargestPart(OpId op) const {
  if (SmallestPart(op) == 0) return 0;
  std::vector<std::pair<int64_t, int64_t>> times;  // and of how many devices
  for (size_t sort = 0; sort < firsts_.size(); ++sort) {
    if (!Allowed(op, sort)) continue;
    times.emplace_back(floors_.Whole(op, firsts_[sort]), static_cast<int64_t>(counts_[sort]));
  }
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  const int64_t fastest = times.front().first;
  if (fastest <= 0 || floors_.parts(op) == 1) return std::max<int64_t>(0, fastest);
  std::vector<int64_t> key = {floors_.parts(op)};
  for (const auto& [time, count] : times) key.insert(key.end(), {time, count});
  const auto [known, is_new] = shared_out_.try_emplace(std::move(key));
  if (!is_new) return known->second;
  double speed = 0;
  int64_t left = floors_.parts(op);
  for (const auto& [time, count] : times) {
    for (int64_t i = 0; i < count && left > 0; ++i, --left) speed += 1 / static_cast<double>(time);
  }
  return known->second = static_cast<int64_t>((1 - 1e-12) / speed);
}

int64_t ReplicatedBounder::Path() const {
  IdVector<OpId, int64_t> head(graph_.op_count(), 0);
  int64_t bound = 0;
  for (const OpId id : graph_.topological_order()) {
    int64_t start = 0;
    for (const TensorId input : graph_.op(id).inputs) {
      const OpId maker = graph_.tensor(input).producer;
      if (!maker.valid()) continue;
      if (may_be_sum_[input] && IsWritten(graph_.op(maker), input)) continue;
      start = std::max(start, head[maker]);
    }
    head[id] = SaturatingAdd(start, SmallestPart(id));
    bound = std::max({bound, head[id], SaturatingAdd(start, LargestPart(id))});
  }
  return bound;
}

}  // namespace

std::optional<Bound> ReplicatedLowerBound(const Problem& problem) {
  if (problem.layouts == nullptr) return std::nullopt;
  const ReplicatedBounder bounder(problem);
  const int64_t path = std::min(bounder.Path(), kMaxQuantity);
  const int64_t work = std::min(bounder.Work(), kMaxQuantity);
  if (path >= work) return Bound{Nanos(path), "critical path", PlanSpace::kReplicated};
  return Bound{Nanos(work), "work", PlanSpace::kReplicated};
}

}  // namespace placewright
