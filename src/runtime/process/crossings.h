// What crosses between processes in the steps of one rank: a thread that works through its part of the
// order (crossing_order.h), one crossing after the other.
//
// A copy is one message, a signal one without tensors or with the state of the random generator. The
// members of a collective give their tensors to the rank of the first one (of a broadcast: of the
// root), in the members' order; there all of it is put together by the arithmetic of collectives within
// a process (transport/combine.h), so that the bits are the same, and goes back: once to each rank where
// all get alike.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_CROSSINGS_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_CROSSINGS_H_

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/executor/worker.h"
#include "runtime/process/channel.h"
#include "runtime/process/crossing_order.h"
#include "runtime/process/message.h"

namespace placewright {

class Crossings {
 public:
  // `step` has the devices of this rank; the others' are nullptr. `step` and `channel` outlive it.
  Crossings(SharedStep& step, Channel& channel, IdVector<DeviceId, int32_t> rank_of,
            const std::vector<Crossing>& order);
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
  void Enter(TaskId member, at::Tensor tensor);
  void Signal(TaskId from, TaskId to);
  // When the workers have ended: returns when the rank's crossings have. Of a step that has failed
  // nothing waits any longer, and the channel is of no more use.
  void EndStep();

 private:
  // One that this rank takes part in.
  struct Own {
    Crossing crossing;
    int64_t item = 0;  // its place in the order of all
    size_t gives = 0;  // how often workers of this rank hand something over
  };
  // In a step: what they have handed over.
  struct Given {
    std::vector<std::pair<TaskId, std::vector<at::Tensor>>> tensors;  // task: a member
  };

  void Give(size_t own, TaskId member, std::vector<at::Tensor> tensors);
  void Serve();
  void WorkThrough();
  Status CarryOut(const Own& own, Given given);
  Status CarryOutCopy(const Own& own, const Given& given);
  Status CarryOutSignal(const Own& own);
  Status CarryOutCollective(const Own& own, Given given);
  // [member]: what each gets; undefined of other ranks' members. Home: the rank that puts it together.
  Result<std::vector<at::Tensor>> CombineHere(const Own& own, std::vector<at::Tensor> inputs);
  Result<std::vector<at::Tensor>> CombineElsewhere(const Own& own, int32_t home,
                                                   std::vector<at::Tensor> inputs);

  int32_t RankOf(TaskId task) const { return rank_of_[step_.executable.tasks[task].device]; }
  std::string NameOf(const Crossing& crossing) const;

  SharedStep& step_;
  Channel& channel_;
  const IdVector<DeviceId, int32_t> rank_of_;
  std::vector<Own> own_;  // in the order
  // Places in `own_`; -1: it crosses nowhere.
  IdVector<CopyId, int32_t> copy_at_;
  IdVector<CollectiveId, int32_t> collective_at_;
  std::vector<std::pair<std::pair<TaskId, TaskId>, size_t>>
      signals_;  // sorted; those that start here

  MessageLengths lengths_;  // of the thread alone

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Given> given_;  // by `own_`
  uint64_t step_number_ = 0;
  bool busy_ = false, ended_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_CROSSINGS_H_
