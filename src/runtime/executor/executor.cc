#include "runtime/executor/executor.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "aten/dtype_names.h"
#include "aten/failure.h"
#include "base/text.h"
#include "runtime/device/copy_slice.h"
#include "runtime/executor/collectives.h"
#include "runtime/executor/copy_lanes.h"
#include "runtime/executor/team.h"
#include "runtime/executor/worker.h"
#include "runtime/ops/attention_ops.h"
#include "runtime/ops/newer_ops.h"
#include "runtime/ops/part_ops.h"
#include "runtime/ops/random_ops.h"
#include "runtime/ops/routing_ops.h"
#include "runtime/ops/vocabulary_ops.h"
#include "runtime/process/crossings.h"

namespace placewright {
namespace {

Error AsExecution(Error error) {
  if (error.code != ErrorCode::kDeviceMemory) error.code = ErrorCode::kExecution;
  return error;
}

// A view whose storage is not written any more holds the same where it is a copy.
bool MayCopy(const Graph& graph, const Op& op) {
  if (op.type != "aten.view.default" || op.outputs.size() != 1 || op.inputs.size() != 1)
    return false;
  const Tensor& tensor = graph.tensor(op.outputs[0]);
  const Storage& storage = graph.storage(tensor.storage);
  return tensor.version + 1 == static_cast<int32_t>(storage.versions.size());
}

Result<BoxedCall> CallOf(const Op& op, bool may_copy) {
  if (!may_copy) return BoxedCall::Create(op);
  Op reshapes = op;
  reshapes.type = "aten.reshape.default";
  return BoxedCall::Create(reshapes);
}

}  // namespace

class Executor::Run {
 public:
  Status Prepare(const Graph& graph, const Placement& placement,
                 std::vector<std::unique_ptr<RuntimeDevice>> devices,
                 const ExecutorOptions& options) {
    RegisterNewerOps();
    RegisterAttentionOps();
    RegisterPartOps();
    RegisterRandomOps();
    RegisterVocabularyOps();
    RegisterRoutingOps();
    step_.graph = &graph;
    step_.policy = options.policy;
    step_.measures_workspace = options.measure_workspace;
    step_.calls = IdVector<OpId, std::optional<BoxedCall>>(graph.op_count());
    IdVector<OpId, bool> random(graph.op_count(), false);
    for (const OpId op : graph.ops()) {
      step_.may_copy.push_back(MayCopy(graph, graph.op(op)));
      if (graph.collective_of(op).valid()) continue;  // carried out by no operator
      PW_ASSIGN(BoxedCall call, CallOf(graph.op(op), step_.may_copy[op]));
      random[op] = call.draws_random();
      if (placement[op].valid() && placement[op].index() < devices.size() &&
          devices[placement[op].index()] != nullptr) {
        call.SetDevice(devices[placement[op].index()]->torch_device());
      }
      step_.calls[op] = std::move(call);
    }
    PW_ASSIGN(step_.executable, MakeExecutable(graph, placement, devices.size(), random,
                                               options.keep, options.sequences));
    for (const Executable::Task& task : step_.executable.tasks) {
      step_.paths.push_back(options.paths.empty() ? 0 : options.paths[task.call.op]);
    }
    for (std::unique_ptr<RuntimeDevice>& device : devices) {
      step_.devices.push_back(std::move(device));
      step_.mailboxes.push_back(std::make_unique<Mailbox>());
    }
    step_.cells.resize(step_.executable.uses.size());
    step_.task_spans = IdVector<TaskId, TaskSpan>(step_.executable.tasks.size());
    step_.copy_spans = IdVector<CopyId, CopySpan>(step_.executable.copies.size());
    step_.collective_spans =
        IdVector<CollectiveId, CollectiveTimes>(step_.executable.collectives.size());
    if (options.channel != nullptr) MakeCrossings(options, random);
    if (!step_.executable.collectives.empty()) {
      collectives_ = std::make_unique<Collectives>(step_);
      step_.enter = [this](TaskId member, std::vector<at::Tensor> tensors) {
        const CollectiveId id = step_.executable.tasks[member].collective;
        if (crossings_ != nullptr && crossings_->Crosses(id)) {
          crossings_->Enter(member, std::move(tensors));
        } else {
          collectives_->Enter(member, std::move(tensors));
        }
      };
    }
    inputs_ = IdVector<TensorId, const Executable::Input*>(graph.tensor_count(), nullptr);
    for (const Executable::Input& input : step_.executable.inputs) inputs_[input.tensor] = &input;
    lanes_ = std::make_unique<CopyLanes>(step_);
    const CopyId left_out(options.left_out);
    step_.copy = [this, left_out](CopyId copy, std::vector<at::Tensor> tensors) {
      if (copy == left_out) {
        const DeviceId to = step_.executable.copies[copy].to;
        step_.mailboxes[to]->Put({Message::Kind::kCopied, copy, {}, std::move(tensors)});
      } else if (crossings_ != nullptr && crossings_->Crosses(copy)) {
        crossings_->Copy(copy, std::move(tensors));
      } else {
        lanes_->Copy(copy, std::move(tensors));
      }
    };
    std::vector<std::function<void()>> members;
    for (const DeviceId device : IdRange<DeviceId>(step_.devices.size())) {
      if (step_.devices[device] == nullptr) continue;
      workers_.push_back(std::make_unique<Worker>(step_, device));
      members.emplace_back([worker = workers_.back().get()] { worker->Step(); });
    }
    if (members.size() > 1) team_ = std::make_unique<Team>(std::move(members));
    return Ok();
  }

  Status SetInput(TensorId id, const at::Tensor& value) {
    const Tensor& declared = step_.graph->tensor(id);
    if (inputs_[id] == nullptr || value.sizes() != at::IntArrayRef(declared.shape) ||
        DTypeOf(value.scalar_type()) != declared.dtype) {
      return MakeError(
          ErrorCode::kField,
          fmt::format("it is no input of shape [{}] and dtype {}", fmt::join(value.sizes(), ", "),
                      c10::toString(value.scalar_type())),
          "tensor " + Printable(declared.name, 80));
    }
    views_made_ = false;
    Status status = CatchFailure([&] {
      const at::AutoDispatchBelowADInplaceOrView below_autograd;
      for (const CellId cell : inputs_[id]->cells) {
        if (!IsHere(cell)) continue;
        RuntimeDevice& device = *step_.devices[step_.executable.device_of[cell]];
        at::Tensor& held = step_.cells[cell.index()];
        held.reset();
        held = CopySlice(std::span(&value, 1), device).front();
      }
    });
    if (status.ok()) return status;
    status.error().place = "tensor " + Printable(declared.name, 80);
    return AsExecution(std::move(status.error()));
  }

  at::Tensor Input(TensorId id) const {
    if (inputs_[id] == nullptr) return {};
    for (const CellId cell : inputs_[id]->cells) {
      if (IsHere(cell)) return step_.cells[cell.index()];
    }
    return {};
  }

  Status Step() {
    for (const CellId cell : step_.executable.reset) step_.cells[cell.index()].reset();
    if (!views_made_) PW_RETURN_IF_ERROR(MakeViews());
    if (crossings_ != nullptr) crossings_->BeginStep();
    step_.copied_views = 0;
    step_.copied_bytes = 0;
    step_.begin = Clock::now();
    if (team_ != nullptr) {
      team_->Go();
    } else {
      const int threads = at::get_num_threads();
      workers_.front()->Step();
      if (at::get_num_threads() != threads) at::set_num_threads(threads);
    }
    // Copies that are under way still read the step's tensors; one that has failed is known behind that.
    lanes_->Drain();
    if (crossings_ != nullptr) crossings_->EndStep();
    if (collectives_ != nullptr) collectives_->EndStep();
    for (const auto& mailbox : step_.mailboxes) mailbox->Take(/*wait=*/false);
    std::optional<Error> failure = step_.TakeFailure();
    if (!failure) return Ok();
    // What the step has left behind.
    for (at::Tensor& cell : step_.cells) cell.reset();
    views_made_ = false;
    return std::move(*failure);
  }

  at::Tensor Output(size_t index) const {
    return step_.cells[step_.executable.outputs.at(index).index()];
  }

  const RuntimeDevice& device(DeviceId id) const { return *step_.devices[id]; }
  Schedule LastSchedule() const {
    const auto at = [&](Clock::time_point time) {
      return Nanos(
          std::chrono::duration_cast<std::chrono::nanoseconds>(time - step_.begin).count());
    };
    Schedule schedule;
    schedule.ops = IdVector<OpId, OpSpan>(step_.graph->op_count(), {Nanos(0), Nanos(0)});
    for (const TaskId task : IdRange<TaskId>(step_.task_spans.size())) {
      const TaskSpan& span = step_.task_spans[task];
      const Executable::Task& of = step_.executable.tasks[task];
      if (step_.devices[of.device] == nullptr) continue;  // another rank's, which says so itself
      schedule.ops[of.call.op] = {at(span.start), at(span.end)};
      for (const Executable::Call& view : of.views) {
        schedule.ops[view.op] = {at(span.end), at(span.end)};
      }
    }
    for (const CopyId id : IdRange<CopyId>(step_.copy_spans.size())) {
      const CopySpan& span = step_.copy_spans[id];
      const Executable::Copy& copy = step_.executable.copies[id];
      if (step_.devices[copy.to] == nullptr) continue;
      schedule.transfers.push_back({copy.storage, copy.version, copy.offset, copy.length, copy.from,
                                    copy.to, at(span.ready), at(span.start), at(span.end)});
    }
    for (const CollectiveTimes& times : step_.collective_spans) {
      const bool here = times.end >= step_.begin;  // a member is
      schedule.collectives.push_back(
          here ? CollectiveSpan{at(times.ready), at(times.start), at(times.end)}
               : CollectiveSpan{Nanos(0), Nanos(0), Nanos(0)});
    }
    std::sort(schedule.transfers.begin(), schedule.transfers.end(),
              [](const TransferSpan& a, const TransferSpan& b) {
                return std::tie(a.start, a.storage, a.version, a.offset, a.length, a.to) <
                       std::tie(b.start, b.storage, b.version, b.offset, b.length, b.to);
              });
    return schedule;
  }

  IdVector<OpId, int64_t> LastWorkspaces() const {
    IdVector<OpId, int64_t> workspaces(step_.graph->op_count(), 0);
    for (const TaskId task : IdRange<TaskId>(step_.task_spans.size())) {
      workspaces[step_.executable.tasks[task].call.op] = step_.task_spans[task].workspace;
    }
    return workspaces;
  }
  CopiedViews LastCopiedViews() const { return {step_.copied_views, step_.copied_bytes}; }
  size_t transfers() const { return step_.executable.copies.size(); }
  int32_t random_rank() const { return random_rank_; }
  int32_t input_rank(TensorId id) const {
    if (rank_of_.empty() || inputs_[id] == nullptr || inputs_[id]->cells.empty()) return -1;
    return rank_of_[step_.executable.device_of[inputs_[id]->cells.front()]];
  }

 private:
  bool IsHere(CellId cell) const {
    return step_.devices[step_.executable.device_of[cell]] != nullptr;
  }

  void MakeCrossings(const ExecutorOptions& options, const IdVector<OpId, bool>& random) {
    rank_of_ = options.rank_of;
    IdVector<TaskId, bool> draws;
    for (const Executable::Task& task : step_.executable.tasks) {
      draws.push_back(random[task.call.op]);
      // Tasks are in the order of the graph, in which random ops draw: the last one's rank stays.
      if (random[task.call.op]) random_rank_ = options.rank_of[task.device];
    }
    crossings_ = std::make_unique<Crossings>(
        step_, *options.channel, options.links, options.rank_of,
        CrossingOrder(step_.executable, options.rank_of, draws, options.predicted));
    step_.signal = [this](TaskId from, TaskId to) { crossings_->Signal(from, to); };
  }

  // Of inputs: they stay as long as these.
  Status MakeViews() {
    Status status = CatchFailure([&] {
      const at::AutoDispatchBelowADInplaceOrView below_autograd;
      std::vector<at::Tensor> results;
      for (const DeviceId device : IdRange<DeviceId>(step_.devices.size())) {
        if (step_.devices[device] == nullptr) continue;
        for (const Executable::Call& view : step_.executable.devices[device].views) {
          step_.calls[view.op]->Run(step_.cells, view.inputs, results);
          for (const Executable::Call::Output& output : view.outputs) {
            step_.cells[output.cell.index()] = results.at(static_cast<size_t>(output.result));
          }
        }
      }
    });
    views_made_ = status.ok();
    if (status.ok()) return status;
    return AsExecution(std::move(status.error()));
  }

  SharedStep step_;
  IdVector<TensorId, const Executable::Input*> inputs_;
  std::unique_ptr<CopyLanes> lanes_;
  std::unique_ptr<Crossings> crossings_;      // none of one process
  std::unique_ptr<Collectives> collectives_;  // none without collectives
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Team> team_;
  bool views_made_ = false;
  IdVector<DeviceId, int32_t> rank_of_;  // empty: one process
  int32_t random_rank_ = -1;
};

Result<std::unique_ptr<Executor>> Executor::Create(
    const Graph& graph, const Placement& placement,
    std::vector<std::unique_ptr<RuntimeDevice>> devices, ExecutorOptions options) {
  auto run = std::make_unique<Run>();
  PW_RETURN_IF_ERROR(run->Prepare(graph, placement, std::move(devices), options));
  return std::unique_ptr<Executor>(new Executor(std::move(run)));
}

Executor::Executor(std::unique_ptr<Run> run) : run_(std::move(run)) {}
Executor::~Executor() = default;
Status Executor::SetInput(TensorId input, const at::Tensor& value) {
  return run_->SetInput(input, value);
}
at::Tensor Executor::Input(TensorId input) const { return run_->Input(input); }
Status Executor::Step() { return run_->Step(); }
at::Tensor Executor::Output(size_t index) const { return run_->Output(index); }
const RuntimeDevice& Executor::device(DeviceId id) const { return run_->device(id); }
Schedule Executor::LastSchedule() const { return run_->LastSchedule(); }
IdVector<OpId, int64_t> Executor::LastWorkspaces() const { return run_->LastWorkspaces(); }
CopiedViews Executor::LastCopiedViews() const { return run_->LastCopiedViews(); }
size_t Executor::transfers() const { return run_->transfers(); }
int32_t Executor::input_rank(TensorId input) const { return run_->input_rank(input); }
int32_t Executor::random_rank() const { return run_->random_rank(); }

}  // namespace placewright
