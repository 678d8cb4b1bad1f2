// What crosses between processes in the steps of one rank: two threads, one that sends and one that
// receives, each of which works through its part of the order (crossing_order.h), one crossing after the
// other.
//
// A copy is one message, a signal one without tensors or with the state of the random generator. The
// members of a collective give their tensors to the rank of the first one (of a broadcast: of the
// root), in the members' order; there all of it is put together by the arithmetic of collectives within
// a process (transport/combine.h), so that the bits are the same, and goes back: once to each rank where
// all get alike.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_CROSSINGS_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_CROSSINGS_H_

#include <ATen/core/Tensor.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/executor/worker.h"
#include "runtime/process/channel.h"
#include "runtime/process/crossing_order.h"
#include "runtime/process/device_link.h"
#include "runtime/process/message.h"

namespace placewright {

class Crossings {
 public:
  // `step` has the devices of this rank; the others' are nullptr. `step`, `channel` and `links` outlive it.
  // `links`: of GPUs, beside the channel; or nullptr.
  Crossings(SharedStep& step, Channel& channel, DeviceLinks* links,
            IdVector<DeviceId, int32_t> rank_of, const std::vector<Crossing>& order);
  ~Crossings();
  Crossings(const Crossings&) = delete;
  Crossings& operator=(const Crossings&) = delete;

  bool IsHere(DeviceId device) const { return rank_of_[device] == channel_.rank(); }
  bool Crosses(CopyId copy) const { return copy_at_[copy] >= 0; }
  bool Crosses(CollectiveId collective) const { return collective_at_[collective] >= 0; }

  void BeginStep();
  // From the source's worker, or that of the member; what comes of it goes to the mailboxes of this
  // rank's devices. A failure ends the step.
  void Copy(CopyId copy, std::vector<at::Tensor> tensors);
  void Enter(TaskId member, std::vector<at::Tensor> tensors);
  void Signal(TaskId from, TaskId to);
  // When the workers have ended: returns when the rank's crossings have. Of a step that has failed
  // nothing waits any longer, and the channel is of no more use.
  void EndStep();

 private:
  enum class Direction : uint8_t { kSend, kReceive };
  // One that this rank takes part in.
  struct Own {
    Crossing crossing;
    int64_t item = 0;  // its place in the order of all
    size_t gives = 0;  // how often workers of this rank hand something over
    // Which of the threads have a part in it. A collective's home, the rank that puts it together, does so
    // on the thread that sends.
    bool sends = false, receives = false;
    int32_t home = -1;     // kCollective
    bool gathers = false;  // kCollective: home gets tensors of other ranks
  };
  // In a step: what workers have handed over, and at home what other ranks have.
  struct Given {
    size_t times = 0;
    std::vector<std::pair<TaskId, std::vector<at::Tensor>>> tensors;  // task: a member
    std::vector<std::vector<at::Tensor>> received;                    // [member]
    bool gathered = false;
    Clock::time_point last;  // when the last of it came
  };

  Own OwnOf(const Crossing& crossing, int64_t item) const;
  void Give(size_t own, TaskId member, std::vector<at::Tensor> tensors);
  void Serve(Direction direction);
  void WorkThrough(Direction direction);
  // Waits until all is there that the thread needs for it; whether the step goes on.
  bool Await(size_t own, Direction direction);
  // Both with the mutex: whether all of that is there; for which threads that wait for it [direction].
  bool IsReady(size_t own, Direction direction) const;
  std::array<bool, 2> WaitingAndReady(size_t own) const;
  void Wake(std::array<bool, 2> directions);
  Status Send(size_t own);
  Status Receive(size_t own);
  Status SendSignal(const Own& own);
  Status ReceiveSignal(const Own& own);
  Status ReceiveCopy(const Own& own);
  Status GatherHere(size_t own);
  Status CombineHere(size_t own);
  Status GiveElsewhere(size_t own);
  Status ReceiveCombined(size_t own);
  // `results` [member]: any of other ranks' members.
  void HandOut(const Own& own, Clock::time_point ready,
               std::vector<std::vector<at::Tensor>> results);
  // [member]: what workers of this rank have given.
  std::vector<std::vector<at::Tensor>> TakeGiven(size_t own);
  // The tensors of a collective between two of its members, of which one is on rank `other`: a message each.
  Status SendAll(const Own& own, int32_t other, std::span<const at::Tensor> tensors, DeviceId from,
                 DeviceId to);
  Result<std::vector<at::Tensor>> ReceiveAll(const Own& own, int32_t other, RuntimeDevice* device,
                                             DeviceId from, DeviceId to);

  MessageWays WaysBetween(DeviceId from, DeviceId to);
  // Where a collective is put together.
  DeviceId HomeOf(CollectiveId collective) const;
  int32_t RankOf(TaskId task) const { return rank_of_[step_.executable.tasks[task].device]; }
  std::string NameOf(const Crossing& crossing) const;

  SharedStep& step_;
  Channel& channel_;
  DeviceLinks* const links_;
  const IdVector<DeviceId, int32_t> rank_of_;
  std::vector<Own> own_;  // in the order
  // Places in `own_`; -1: it crosses nowhere.
  IdVector<CopyId, int32_t> copy_at_;
  IdVector<CollectiveId, int32_t> collective_at_;
  std::vector<std::pair<std::pair<TaskId, TaskId>, size_t>>
      signals_;  // sorted; those that start here

  MessageLengths lengths_;  // each thread has its half

  std::mutex mutex_;
  // In a step a thread is woken only where it can go on: by that, the op on its core is interrupted.
  std::array<std::condition_variable, 2> may_go_on_;  // [direction]
  std::array<std::optional<size_t>, 2> awaited_;      // [direction], in `own_`
  std::condition_variable step_ended_;
  std::vector<Given> given_;  // by `own_`
  uint64_t step_number_ = 0;
  int busy_ = 0;  // threads
  bool ended_ = false;
  std::thread sending_, receiving_;  // last: they use the others
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_CROSSINGS_H_
