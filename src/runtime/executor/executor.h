// Executes a placed step: one worker thread for each device, which calls its ops as they become ready,
// and copies and collectives between devices beside them.
#ifndef PLACEWRIGHT_RUNTIME_EXECUTOR_EXECUTOR_H_
#define PLACEWRIGHT_RUNTIME_EXECUTOR_EXECUTOR_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "plan/sequence.h"
#include "runtime/device/device.h"
#include "torch_api/execution_service.h"

namespace placewright {

class Channel;      // runtime/process/channel.h
class DeviceLinks;  // runtime/process/device_link.h

struct ExecutorOptions {
  // Of ready ops: first come, first served, or by `paths` [op], longest first. Ties by op id.
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
  IdVector<OpId, int64_t> paths;
  std::vector<TensorId> keep;  // beyond the graph's outputs
  bool measure_workspace = false;
  // Of the transfers, by number: one that is not made, so that its readers find the tensors of its
  // source. For tests: no step that leaves out a transfer may end well.
  int32_t left_out = -1;
  Sequences sequences{};  // of the placement; they come before the policy
  // Of a step over several processes: what leads to the others, from GPU to GPU, too, where links are given, and whose
  // each device is. Devices of other
  // ranks are nullptr; of what they do and hold this rank's Executor says nothing. `predicted`: the order in
  // which things cross (process/crossing_order.h), alike on all ranks; or nullptr.
  Channel* channel = nullptr;
  DeviceLinks* links = nullptr;
  IdVector<DeviceId, int32_t> rank_of{};
  const Schedule* predicted = nullptr;
};

class Executor {
 public:
  // `graph` must outlive it; devices as `placement` numbers them. Errors: kUnknownName (this LibTorch has
  // no such operator), kPlanInvalid (sequences that make ops wait for one another), kField (arguments that do not fit it; an op without a device).
  static Result<std::unique_ptr<Executor>> Create(
      const Graph& graph, const Placement& placement,
      std::vector<std::unique_ptr<RuntimeDevice>> devices, ExecutorOptions options = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Copies an input of the graph to where it is read; it stays there from step to step, with what ops
  // write in it. Of devices of other ranks nothing happens. Errors: kDeviceMemory, kField (another shape or
  // dtype than the graph states).
  Status SetInput(TensorId input, const at::Tensor& value);
  // What an input holds now; undefined where no op reads it.
  at::Tensor Input(TensorId input) const;

  // One step. All inputs must be set. After an error, set them anew. Errors: kExecution (LibTorch
  // refuses an op, or the device does), kDeviceMemory. Behind an error of a step over several processes there
  // is no other one: the channel has been aborted.
  Status Step();
  // Of the last step, by Graph::outputs and then ExecutorOptions::keep; until the next one.
  at::Tensor Output(size_t index) const;

  const RuntimeDevice& device(DeviceId id) const;
  // Of the last step, in nanoseconds from its begin, by this machine's clock: ops with the views
  // behind them and what left memory with them, transfers with their allocation. Members of a collective
  // run while it does; it is ready when the last of them is.
  Schedule LastSchedule() const;
  // Of each op: bytes in use while it was called in the last step, beyond those before and after. 0
  // without ExecutorOptions::measure_workspace.
  IdVector<OpId, int64_t> LastWorkspaces() const;
  // Of the last step: views that were copies. Where parts were put together anew, what is viewed may lie otherwise in
  // memory than the step expects; that is the same to its readers, and takes memory and time that nothing predicts. A
  // view of what is written later is never one: it fails.
  CopiedViews LastCopiedViews() const;
  size_t transfers() const;  // in a step
  // The rank that Input of an input of a step over several processes is defined on, or one of them; -1: no op
  // reads it, or there is one process.
  int32_t input_rank(TensorId input) const;
  // The rank whose generator of random numbers is that of the step behind it, as the last one that drew from
  // it; -1: none does, or there is one process.
  int32_t random_rank() const;

 private:
  class Run;
  explicit Executor(std::unique_ptr<Run> run);

  std::unique_ptr<Run> run_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_EXECUTOR_EXECUTOR_H_
