#include "search/proof/replicated_bound.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "search/floors/part_floors.h"
#include "search/problem/layout_problem.h"
#include "search/proof/work_bound.h"

namespace placewright {
namespace {

class ReplicatedBounder {
 public:
  explicit ReplicatedBounder(const Problem& problem)
      : problem_(problem),
        graph_(problem.layouts->graph),
        devices_(problem.layouts->cluster.device_count()),
        floors_(*problem.layouts) {
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
  void FindAllowed();
  void FindSums();
  bool MakesSum(OpId op, size_t output) const;
  bool IsWritten(const Op& op, TensorId output) const;
  int64_t SmallestPart(OpId op) const;
  int64_t LargestPart(OpId op) const;
  bool Allowed(OpId op, DeviceId device) const {
    return allowed_[RowOf(op) * devices_ + device.index()];
  }

  const Problem& problem_;
  const Graph& graph_;
  const size_t devices_;
  const PartFloors floors_;
  std::vector<bool> allowed_;            // by row and device
  IdVector<TensorId, bool> may_be_sum_;  // on some layout, of parts
};

void ReplicatedBounder::FindAllowed() {
  const size_t rows = problem_.groups.size() + graph_.group_count();
  allowed_.assign(rows * devices_, true);
  for (const OpId op : graph_.ops()) {
    for (const DeviceId device : problem_.layouts->cluster.devices()) {
      if (floors_.Whole(op, device) < 0) allowed_[RowOf(op) * devices_ + device.index()] = false;
    }
  }
  if (problem_.constraints.Empty()) return;
  for (const ColocationGroupId id : problem_.group_ids()) {
    const std::vector<DeviceId>& devices = problem_.groups[id].allowed;
    for (const DeviceId device : problem_.layouts->cluster.devices()) {
      const bool may = std::binary_search(devices.begin(), devices.end(), device);
      if (!may) allowed_[id.index() * devices_ + device.index()] = false;
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
  const size_t rows = problem_.groups.size() + graph_.group_count();
  std::vector<int64_t> times(rows * devices_, 0);
  for (const OpId op : graph_.ops()) {
    for (const DeviceId device : problem_.layouts->cluster.devices()) {
      int64_t& time = times[RowOf(op) * devices_ + device.index()];
      time = SaturatingAdd(time, std::max<int64_t>(0, floors_.Whole(op, device)));
    }
  }
  for (size_t i = 0; i < times.size(); ++i) {
    if (!allowed_[i]) times[i] = -1;
  }
  return WorkBound(times, devices_);
}

int64_t ReplicatedBounder::SmallestPart(OpId op) const {
  int64_t smallest = kMaxQuantity;
  for (const DeviceId device : problem_.layouts->cluster.devices()) {
    if (Allowed(op, device)) smallest = std::min(smallest, floors_.Part(op, device));
  }
  return smallest == kMaxQuantity ? 0 : smallest;
}

// Shared out among the fastest devices so that all take as long. 0 where several ops compute a part: some of them
// may begin before all that the op reads is there.
int64_t ReplicatedBounder::LargestPart(OpId op) const {
  if (SmallestPart(op) == 0) return 0;
  std::vector<int64_t> times;
  for (const DeviceId device : problem_.layouts->cluster.devices()) {
    if (Allowed(op, device)) times.push_back(floors_.Whole(op, device));
  }
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  if (times.front() <= 0 || floors_.parts(op) == 1) return std::max<int64_t>(0, times.front());
  const size_t count =
      static_cast<size_t>(std::min(static_cast<int64_t>(times.size()), floors_.parts(op)));
  double speed = 0;
  for (size_t i = 0; i < count; ++i) speed += 1 / static_cast<double>(times[i]);
  return static_cast<int64_t>((1 - 1e-12) / speed);
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
