// Tasks of a device that may run, in the order in which they are to.
#ifndef PLACEWRIGHT_RUNTIME_EXECUTOR_READY_QUEUE_H_
#define PLACEWRIGHT_RUNTIME_EXECUTOR_READY_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "plan/schedule.h"
#include "runtime/executor/executable.h"

namespace placewright {

class ReadyQueue {
 public:
  // `paths` [task], of critical path alone.
  ReadyQueue(SchedulingPolicy policy, const IdVector<TaskId, int64_t>& paths)
      : by_path_(policy == SchedulingPolicy::kCriticalPath), paths_(paths) {}

  void Clear() {
    items_.clear();
    first_ = 0;
  }
  bool empty() const { return first_ == items_.size(); }
  // Of tasks that become ready at once, those of smaller numbers first.
  void Push(TaskId task) {
    if (by_path_) {
      items_.push_back({-paths_[task], task});
      std::push_heap(items_.begin(), items_.end(), std::greater<>());
    } else {
      items_.push_back({0, task});
    }
  }
  TaskId Pop() {
    if (!by_path_) return items_[first_++].second;
    std::pop_heap(items_.begin(), items_.end(), std::greater<>());
    const TaskId task = items_.back().second;
    items_.pop_back();
    return task;
  }

 private:
  const bool by_path_;
  const IdVector<TaskId, int64_t>& paths_;
  std::vector<std::pair<int64_t, TaskId>> items_;
  size_t first_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_EXECUTOR_READY_QUEUE_H_
