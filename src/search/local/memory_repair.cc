#include "search/local/memory_repair.h"

#include <algorithm>
#include <vector>

namespace placewright {
namespace {

int64_t BytesOf(const GroupInfo& group) {
  return SaturatingAdd(group.persistent, group.live_at_peak);
}

// Mean position of what lies on each device; that of no group on an empty one.
IdVector<DeviceId, double> MeanPositions(const GroupInfos& groups, const GroupPlacement& placement,
                                         size_t devices) {
  IdVector<DeviceId, double> sum(devices, 0), count(devices, 0);
  for (const ColocationGroupId group : IdsOf(groups)) {
    sum[placement[group]] += groups[groups[group].leader].position;
    count[placement[group]] += 1;
  }
  for (const DeviceId device : IdRange<DeviceId>(sum.size())) {
    sum[device] = count[device] > 0 ? sum[device] / count[device] : 0;
  }
  return sum;
}

class Repair {
 public:
  Repair(const Problem& problem, const CandidateDevices& candidates, const GroupInfos& groups)
      : problem_(problem), candidates_(candidates), groups_(groups) {
    targets_ = candidates.accelerators;
    for (const DeviceId device : problem.cluster->devices()) {
      const bool listed = std::find(targets_.begin(), targets_.end(), device) != targets_.end();
      if (!listed) targets_.push_back(device);
    }
  }

  // Hands on what devices are over, `margin` times as much. False where nothing can be handed on.
  bool Round(const Evaluation& evaluation, double margin, GroupPlacement& placement) {
    IdVector<DeviceId, int64_t> room(targets_.size(), 0);
    for (const DeviceId device : problem_.cluster->devices()) {
      const Evaluation::Device& used = evaluation.devices[device.index()];
      room[device] = problem_.cluster->device(device).capacity.count - used.peak.count;
    }
    bool moved = false;
    const IdVector<DeviceId, double> mean = MeanPositions(groups_, placement, targets_.size());
    for (const DeviceId from : problem_.cluster->devices()) {
      auto left = static_cast<int64_t>(static_cast<double>(-room[from]) * margin);
      while (left > 0) {
        const DeviceId to = Roomiest(room, candidates_.accelerators);
        const DeviceId target = to.valid() ? to : Roomiest(room, targets_);
        if (!target.valid()) return moved;
        const int64_t gone = HandOn(from, target, std::min(left, room[target]),
                                    mean[target] > mean[from], placement);
        // What takes nothing is not asked again; the static estimate errs, so that what is left
        // counts half.
        room[target] = gone == 0 ? 0 : (room[target] - gone) / 2;
        left -= gone;
        moved |= gone > 0;
      }
    }
    return moved;
  }

 private:
  static DeviceId Roomiest(const IdVector<DeviceId, int64_t>& room,
                           const std::vector<DeviceId>& among) {
    DeviceId best;
    for (const DeviceId device : among) {
      if (room[device] > (best.valid() ? room[best] : 0)) best = device;
    }
    return best;
  }

  // Moves leaders with what follows them until `bytes` have gone; returns how many did.
  int64_t HandOn(DeviceId from, DeviceId to, int64_t bytes, bool last_first,
                 GroupPlacement& placement) const {
    std::vector<ColocationGroupId> here;
    for (const ColocationGroupId group : IdsOf(groups_)) {
      const std::vector<DeviceId>& allowed = candidates_.any[group];
      if (placement[group] == from && std::binary_search(allowed.begin(), allowed.end(), to)) {
        here.push_back(group);
      }
    }
    const auto position = [&](ColocationGroupId group) {
      return groups_[groups_[group].leader].position;
    };
    std::stable_sort(here.begin(), here.end(), [&](ColocationGroupId a, ColocationGroupId b) {
      return last_first ? position(a) > position(b) : position(a) < position(b);
    });
    int64_t gone = 0;
    for (size_t i = 0; i < here.size(); ++i) {
      const bool with_last = i > 0 && groups_[here[i]].leader == groups_[here[i - 1]].leader;
      if (gone >= bytes && !with_last) break;
      placement[here[i]] = to;
      gone = SaturatingAdd(gone, BytesOf(groups_[here[i]]));
    }
    return gone;
  }

  const Problem& problem_;
  const CandidateDevices& candidates_;
  const GroupInfos& groups_;
  std::vector<DeviceId> targets_;  // accelerators first
};

}  // namespace

MemoryRepair RepairMemory(const Problem& problem, const CandidateDevices& candidates,
                          const GroupInfos& groups, Evaluator& evaluator,
                          const GroupPlacement& wanted, const Budget& budget) {
  constexpr int kRounds = 12;
  Repair repair(problem, candidates, groups);
  MemoryRepair best{wanted, evaluator.EvaluateOne(ExpandGroups(problem, wanted)), 0};
  GroupPlacement devices = wanted;
  Evaluation evaluation = best.evaluation;
  for (int round = 0; round < kRounds && !best.evaluation.feasible; ++round) {
    if (budget.Expired() || !repair.Round(evaluation, 1 + 0.1 * round, devices)) break;
    evaluation = evaluator.EvaluateOne(ExpandGroups(problem, devices));
    if (evaluation.score() < best.evaluation.score()) best = {devices, evaluation, 0};
  }
  for (const ColocationGroupId group : IdsOf(wanted)) {
    best.moved += best.devices[group] != wanted[group] ? 1 : 0;
  }
  return best;
}

}  // namespace placewright
