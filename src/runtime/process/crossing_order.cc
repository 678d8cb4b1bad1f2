#include "runtime/process/crossing_order.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace placewright {
namespace {

class OrderMaker {
 public:
  OrderMaker(const Executable& executable, const IdVector<DeviceId, int32_t>& rank_of,
             const IdVector<TaskId, bool>& random, const Schedule* predicted)
      : executable_(executable), rank_of_(rank_of), random_(random), predicted_(predicted) {
    for (const Executable::Task& task : executable.tasks) waits_.push_back(task.waits);
    for (const Executable::Copy& copy : executable.copies) copy_waits_.push_back(copy.waits);
    for (const Executable::Collective& one : executable.collectives) {
      missing_.push_back(one.members.size());
    }
    TaskId last;
    before_ = IdVector<TaskId, TaskId>(executable.tasks.size());
    for (const TaskId task : IdRange<TaskId>(executable.tasks.size())) {
      if (!random[task]) continue;
      before_[task] = last;
      last = task;
    }
    if (predicted == nullptr) return;
    for (const TransferSpan& span : predicted->transfers) {
      transfers_[{span.storage, span.version, span.offset, span.length, span.to}] =
          span.start.count;
    }
  }

  std::vector<Crossing> Make() {
    for (const TaskId task : IdRange<TaskId>(waits_.size())) {
      if (waits_[task] == 0) MayRun(task);
    }
    for (const CopyId copy : IdRange<CopyId>(copy_waits_.size())) {
      if (copy_waits_[copy] == 0) MayCopy(copy);
    }
    while (true) {
      EndTasks();
      if (ready_.empty()) break;
      const Crossing next = waiting_[static_cast<size_t>(std::get<4>(ready_.top()))];
      ready_.pop();
      End(next);
      order_.push_back(next);
    }
    // MakeExecutable has seen to it that all may run.
    PW_CHECK_EQ(order_.size(), waiting_.size());
    return std::move(order_);
  }

 private:
  using Slice = std::tuple<StorageId, int32_t, Bytes, Bytes, DeviceId>;
  // start, first waiting task, kind, number; place in `waiting_`
  using Key = std::tuple<int64_t, int32_t, int32_t, int32_t, int32_t>;

  int32_t RankOf(TaskId task) const { return rank_of_[executable_.tasks[task].device]; }

  void Push(Crossing crossing, int64_t start, TaskId first, int32_t number) {
    std::sort(crossing.ranks.begin(), crossing.ranks.end());
    crossing.ranks.erase(std::unique(crossing.ranks.begin(), crossing.ranks.end()),
                         crossing.ranks.end());
    const auto kind = static_cast<int32_t>(crossing.kind);
    ready_.emplace(start, first.value(), kind, number, static_cast<int32_t>(waiting_.size()));
    waiting_.push_back(std::move(crossing));
  }

  void OneLess(TaskId task) {
    if (--waits_[task] == 0) MayRun(task);
  }

  void MayRun(TaskId task) {
    const CollectiveId id = executable_.tasks[task].collective;
    if (!id.valid()) {
      ended_.push_back(task);
      return;
    }
    if (--missing_[id] > 0) return;
    const std::vector<TaskId>& members = executable_.collectives[id].members;
    Crossing crossing{Crossing::Kind::kCollective, {}, {}, {}, false, id, {}};
    for (const TaskId member : members) crossing.ranks.push_back(RankOf(member));
    const auto [min, max] = std::minmax_element(crossing.ranks.begin(), crossing.ranks.end());
    if (*min == *max) {
      End(crossing);
      return;
    }
    const int64_t start = predicted_ == nullptr ? 0 : predicted_->collectives[id].start.count;
    Push(std::move(crossing), start, *std::min_element(members.begin(), members.end()), id.value());
  }

  void MayCopy(CopyId id) {
    const Executable::Copy& copy = executable_.copies[id];
    const Crossing crossing{
        Crossing::Kind::kCopy, id, {}, {}, false, {}, {rank_of_[copy.from], rank_of_[copy.to]}};
    if (crossing.ranks[0] == crossing.ranks[1]) {
      End(crossing);
      return;
    }
    const auto found =
        transfers_.find({copy.storage, copy.version, copy.offset, copy.length, copy.to});
    const TaskId first = copy.readers.empty() ? TaskId(0) : copy.readers.front();
    Push(crossing, found == transfers_.end() ? 0 : found->second, first, id.value());
  }

  void EndTasks() {
    while (!ended_.empty()) {
      const TaskId id = ended_.back();
      ended_.pop_back();
      const Executable::Task& task = executable_.tasks[id];
      for (const TaskId next : task.next) OneLess(next);
      for (const TaskId next : task.elsewhere) Signal(id, next);
      for (const CopyId copy : task.copies) {
        if (--copy_waits_[copy] == 0) MayCopy(copy);
      }
    }
  }

  void Signal(TaskId from, TaskId to) {
    const bool random = random_[from] && random_[to] && before_[to] == from;
    Crossing crossing{Crossing::Kind::kSignal,   {}, from, to, random, {},
                      {RankOf(from), RankOf(to)}};
    if (crossing.ranks[0] == crossing.ranks[1]) {
      OneLess(to);
      return;
    }
    const OpId op = executable_.tasks[from].call.op;
    Push(std::move(crossing), predicted_ == nullptr ? 0 : predicted_->ops[op].end.count, to,
         from.value());
  }

  void End(const Crossing& crossing) {
    switch (crossing.kind) {
      case Crossing::Kind::kSignal: OneLess(crossing.to); return;
      case Crossing::Kind::kCollective:
        for (const TaskId member : executable_.collectives[crossing.collective].members) {
          ended_.push_back(member);
        }
        return;
      case Crossing::Kind::kCopy:
        for (const TaskId task : executable_.copies[crossing.copy].readers) OneLess(task);
        for (const TaskId task : executable_.copies[crossing.copy].writers) OneLess(task);
        return;
    }
  }

  const Executable& executable_;
  const IdVector<DeviceId, int32_t>& rank_of_;
  const IdVector<TaskId, bool>& random_;
  const Schedule* const predicted_;
  std::map<Slice, int64_t> transfers_;
  IdVector<TaskId, TaskId> before_;  // of those that draw random numbers
  IdVector<TaskId, int32_t> waits_;
  IdVector<CopyId, int32_t> copy_waits_;
  IdVector<CollectiveId, size_t> missing_;
  std::vector<TaskId> ended_;  // what waits for them has not been looked at
  std::vector<Crossing> waiting_, order_;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready_;
};

}  // namespace

std::vector<Crossing> CrossingOrder(const Executable& executable,
                                    const IdVector<DeviceId, int32_t>& rank_of,
                                    const IdVector<TaskId, bool>& random,
                                    const Schedule* predicted) {
  return OrderMaker(executable, rank_of, random, predicted).Make();
}

}  // namespace placewright
