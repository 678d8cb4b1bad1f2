#include "runtime/executor/executable.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "runtime/executor/collective_specs.h"

namespace placewright {
namespace {

// In the order of the graph, which is topological: a tensor comes after what made it, a write after all
// readers of what it replaces.
class Maker {
 public:
  Maker(const Graph& graph, const Placement& placement, size_t devices,
        const IdVector<OpId, bool>& random)
      : graph_(graph),
        placement_(placement),
        random_(random),
        cells_(graph.tensor_count() * devices),
        root_(graph.tensor_count()),
        task_of_(graph.op_count()),
        views_(graph.op_count()),
        readers_(graph.storage_count()),
        copies_of_(graph.storage_count()),
        held_(graph.storage_count()) {
    made_.devices = IdVector<DeviceId, Executable::OnDevice>(devices);
  }

  Result<Executable> Make(const std::vector<TensorId>& keep, const Sequences& sequences) {
    for (const OpId op : graph_.topological_order()) {
      if (graph_.op(op).is_view && IsBehindOne(op)) {
        AddView(op);
        continue;
      }
      if (!DeviceOf(op).valid()) {
        return MakeError(ErrorCode::kField, "it has no device",
                         "op " + Printable(graph_.op(op).name, 80));
      }
      AddTask(op);
    }
    PW_RETURN_IF_ERROR(AddCollectives());
    std::vector<TensorId> outputs(graph_.outputs().begin(), graph_.outputs().end());
    outputs.insert(outputs.end(), keep.begin(), keep.end());
    for (const TensorId output : outputs) {
      const StorageId storage = graph_.tensor(output).storage;
      if (IsInput(storage)) Hold(storage, HomeOf(output));
      const CellId cell = CellOf(output, HomeOf(output));
      made_.outputs.push_back(cell);
      made_.uses[cell] = Executable::kKept;
      if (root_[output].valid()) made_.reset.push_back(cell);
    }
    for (const std::optional<std::vector<OpId>>& sequence : sequences) {
      if (sequence) AddSequence(*sequence);
    }
    PW_RETURN_IF_ERROR(CheckAllMayRun());
    AddInputs();
    AddViewsOfResults();
    for (const TaskId task : IdRange<TaskId>(made_.tasks.size())) Finish(task);
    for (const CopyId copy : IdRange<CopyId>(made_.copies.size())) {
      Executable::Copy& one = made_.copies[copy];
      if (one.waits == 0) made_.devices[one.from].copies.push_back(copy);
    }
    return std::move(made_);
  }

 private:
  using Slice = std::tuple<int32_t, Bytes, Bytes, DeviceId>;  // version, offset, length, to
  struct Reader {
    int32_t version;
    TaskId task;
  };

  bool IsInput(StorageId id) const {
    const Storage& storage = graph_.storage(id);
    return !storage.versions.front().writer.valid() && storage.kind == TensorKind::kInput &&
           storage.versions.size() == 1;
  }

  DeviceId HomeOf(TensorId tensor) const {
    const StorageId storage = graph_.tensor(tensor).storage;
    const OpId maker = graph_.storage(storage).versions.front().writer;
    const OpId at = maker.valid() ? maker : graph_.home_op(storage);
    return at.valid() ? placement_[at] : DeviceId(0);
  }

  DeviceId DeviceOf(OpId op) const {
    const Op& one = graph_.op(op);
    return one.is_view ? HomeOf(one.outputs.front()) : placement_[op];
  }

  CellId CellOf(TensorId tensor, DeviceId device) {
    CellId& cell = cells_[tensor.index() * made_.devices.size() + device.index()];
    if (!cell.valid()) {
      cell = made_.device_of.push_back(device);
      made_.uses.push_back(0);
    }
    return cell;
  }

  // In which another device than its home has a copy of that content: beside a copy of another version, as one may be
  // there before all readers of the other have run.
  CellId CopiedCellOf(TensorId tensor, int32_t version, DeviceId device) {
    if (version == graph_.tensor(tensor).version) return CellOf(tensor, device);
    CellId& cell = later_cells_[{tensor, version, device}];
    if (!cell.valid()) {
      cell = made_.device_of.push_back(device);
      made_.uses.push_back(0);
    }
    return cell;
  }

  // Whether all that a view needs is made by one task, or before the step.
  bool IsBehindOne(OpId op) const {
    const Op& view = graph_.op(op);
    return std::all_of(view.inputs.begin(), view.inputs.end(),
                       [&](TensorId input) { return root_[input] == root_[view.inputs.front()]; });
  }

  void AddView(OpId op) {
    const Op& view = graph_.op(op);
    const OpId root = view.inputs.empty() ? OpId() : root_[view.inputs.front()];
    for (const TensorId output : view.outputs) root_[output] = root;
    if (root.valid()) {
      views_[root].push_back(op);
    } else {
      views_of_inputs_.push_back(op);
    }
  }

  void AddTask(OpId op) {
    const Op& one = graph_.op(op);
    const TaskId id = made_.tasks.push_back({});
    task_of_[op] = id;
    const DeviceId device = DeviceOf(op);
    made_.tasks[id].device = device;
    made_.tasks[id].call.op = op;
    std::vector<TaskId> before;
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      made_.tasks[id].call.inputs.push_back(
          Read(id, one.inputs[i], one.input_versions[i], device, before).value());
    }
    for (const TensorId written : one.writes) Overwrite(id, written, before);
    for (const OpId earlier : one.after) AddTasksOf(earlier, before);
    if (random_[op]) {
      if (last_random_.valid()) before.push_back(last_random_);
      last_random_ = id;
    }
    for (const TensorId output : one.outputs) {
      root_[output] = op;
      made_.tasks[id].call.outputs.push_back(
          {graph_.tensor(output).output_index, CellOf(output, device)});
    }
    Wait(id, before);
  }

  // The cell in which the task finds the tensor.
  CellId Read(TaskId id, TensorId tensor, int32_t version, DeviceId device,
              std::vector<TaskId>& before) {
    const Tensor& of = graph_.tensor(tensor);
    const DeviceId home = HomeOf(tensor);
    const bool copied = home != device && !IsInput(of.storage);
    const CellId cell = copied ? CopiedCellOf(tensor, version, device) : CellOf(tensor, device);
    std::vector<CellId>& reads = made_.tasks[id].reads;
    const bool again = std::find(reads.begin(), reads.end(), cell) != reads.end();
    if (!again) reads.push_back(cell);
    if (IsInput(of.storage)) {
      Hold(of.storage, device);
      return cell;
    }
    if (copied) {
      // A task reads a copy once, however many of its tensors it names.
      const CopyId copy = CopyOf(tensor, version, home, device);
      std::vector<TaskId>& readers = made_.copies[copy].readers;
      if (readers.empty() || readers.back() != id) {
        readers.push_back(id);
        ++made_.tasks[id].waits;
      }
      return cell;
    }
    AddMakers(tensor, version, before);
    readers_[of.storage].push_back({version, id});
    return cell;
  }

  // The tasks after which a tensor has that content.
  void AddMakers(TensorId tensor, int32_t version, std::vector<TaskId>& before) const {
    const Storage& storage = graph_.storage(graph_.tensor(tensor).storage);
    const OpId writer = storage.versions[static_cast<size_t>(version)].writer;
    if (writer.valid()) before.push_back(task_of_[writer]);
    if (root_[tensor].valid()) before.push_back(task_of_[root_[tensor]]);
  }

  void AddTasksOf(OpId op, std::vector<TaskId>& before) const {
    if (task_of_[op].valid()) {
      before.push_back(task_of_[op]);
      return;
    }
    const OpId root = root_[graph_.op(op).outputs.front()];
    if (root.valid()) before.push_back(task_of_[root]);
  }

  CopyId CopyOf(TensorId tensor, int32_t version, DeviceId from, DeviceId to) {
    const Tensor& of = graph_.tensor(tensor);
    const auto [found, is_new] =
        copies_of_[of.storage].try_emplace(Slice{version, of.offset, of.length, to}, CopyId());
    if (is_new) {
      found->second = made_.copies.push_back(
          {from, to, of.storage, version, of.offset, of.length, {}, 0, {}, {}});
    }
    const CopyId id = found->second;
    const CellId source = CellOf(tensor, from), copied = CopiedCellOf(tensor, version, to);
    std::vector<Executable::Copy::Made>& made = made_.copies[id].made;
    const bool known =
        std::any_of(made.begin(), made.end(), [&](const auto& one) { return one.from == source; });
    if (known) return id;
    made.push_back({source, copied});
    ++made_.uses[source];
    // Two tasks may have made it: the tensor one, its newest content another.
    std::vector<TaskId> before;
    AddMakers(tensor, version, before);
    for (const TaskId task : before) {
      std::vector<CopyId>& copies = made_.tasks[task].copies;
      if (std::find(copies.begin(), copies.end(), id) != copies.end()) continue;
      copies.push_back(id);
      ++made_.copies[id].waits;
    }
    return id;
  }

  void Overwrite(TaskId id, TensorId written, std::vector<TaskId>& before) {
    const OpId op = made_.tasks[id].call.op;
    const StorageId storage = graph_.tensor(written).storage;
    const std::vector<Version>& versions = graph_.storage(storage).versions;
    for (size_t version = 1; version < versions.size(); ++version) {
      if (versions[version].writer != op) continue;
      // All readers of the old version come before the write in the graph's order: they are known.
      const auto old = static_cast<int32_t>(version) - 1;
      if (versions[version - 1].writer.valid()) {
        before.push_back(task_of_[versions[version - 1].writer]);
      }
      for (const Reader& reader : readers_[storage]) {
        if (reader.version == old && reader.task != id) before.push_back(reader.task);
      }
      for (const auto& [slice, copy] : copies_of_[storage]) {
        if (std::get<0>(slice) != old) continue;
        std::vector<TaskId>& writers = made_.copies[copy].writers;
        if (!writers.empty() && writers.back() == id) continue;
        writers.push_back(id);
        ++made_.tasks[id].waits;
      }
    }
  }

  void Wait(TaskId id, std::vector<TaskId>& before) {
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const TaskId earlier : before) {
      if (earlier == id) continue;
      Executable::Task& task = made_.tasks[earlier];
      (task.device == made_.tasks[id].device ? task.next : task.elsewhere).push_back(id);
      ++made_.tasks[id].waits;
    }
  }

  Status AddCollectives() {
    for (const CollectiveId id : graph_.collectives()) {
      PW_ASSIGN(CollectiveSpec spec, SpecOf(graph_, placement_, id));
      made_.collectives.push_back({std::move(spec), {}});
      for (const OpId member : graph_.collective(id).members) {
        made_.collectives[id].members.push_back(task_of_[member]);
        made_.tasks[task_of_[member]].collective = id;
      }
    }
    return Ok();
  }

  void AddSequence(const std::vector<OpId>& sequence) {
    for (size_t i = 1; i < sequence.size(); ++i) {
      const TaskId id = task_of_[sequence[i]], before = task_of_[sequence[i - 1]];
      std::vector<TaskId>& next = made_.tasks[before].next;
      if (std::find(next.begin(), next.end(), id) != next.end()) continue;
      next.push_back(id);
      ++made_.tasks[id].waits;
    }
  }

  // A step whose tasks wait for one another would never end. Only sequences can make them.
  Status CheckAllMayRun() const {
    IdVector<TaskId, int32_t> waits;
    IdVector<CopyId, int32_t> copy_waits;
    for (const Executable::Task& task : made_.tasks) waits.push_back(task.waits);
    for (const Executable::Copy& copy : made_.copies) copy_waits.push_back(copy.waits);
    IdVector<CollectiveId, size_t> missing;
    for (const Executable::Collective& one : made_.collectives)
      missing.push_back(one.members.size());
    std::vector<TaskId> ended;
    const auto may_run = [&](TaskId task) {
      const CollectiveId collective = made_.tasks[task].collective;
      if (!collective.valid()) {
        ended.push_back(task);
      } else if (--missing[collective] == 0) {
        const std::vector<TaskId>& members = made_.collectives[collective].members;
        ended.insert(ended.end(), members.begin(), members.end());
      }
    };
    const auto one_less = [&](TaskId task) {
      if (--waits[task] == 0) may_run(task);
    };
    const auto arrive = [&](CopyId copy) {
      for (const TaskId reader : made_.copies[copy].readers) one_less(reader);
      for (const TaskId writer : made_.copies[copy].writers) one_less(writer);
    };
    for (const TaskId task : IdRange<TaskId>(waits.size())) {
      if (waits[task] == 0) may_run(task);
    }
    for (const CopyId copy : IdRange<CopyId>(copy_waits.size())) {
      if (copy_waits[copy] == 0) arrive(copy);
    }
    for (size_t i = 0; i < ended.size(); ++i) {
      const Executable::Task& task = made_.tasks[ended[i]];
      for (const TaskId next : task.next) one_less(next);
      for (const TaskId next : task.elsewhere) one_less(next);
      for (const CopyId copy : task.copies) {
        if (--copy_waits[copy] == 0) arrive(copy);
      }
    }
    for (const TaskId task : IdRange<TaskId>(waits.size())) {
      if (waits[task] == 0) continue;
      return MakeError(
          ErrorCode::kPlanInvalid,
          "it never gets its turn: the sequences make ops wait for one another, or let "
          "ops that draw random numbers come in another order than the graph's",
          "op " + Printable(graph_.op(made_.tasks[task].call.op).name, 80),
          "List ops behind those of other devices that they wait for.");
    }
    return Ok();
  }

  // An input that no op writes lies on every device that reads it.
  void Hold(StorageId storage, DeviceId device) {
    std::vector<DeviceId>& devices = held_[storage];
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
      devices.push_back(device);
    }
  }

  void AddInputs() {
    for (const TensorId tensor : graph_.tensors()) {
      const Tensor& of = graph_.tensor(tensor);
      if (of.producer.valid()) continue;
      Executable::Input input{tensor, {}};
      if (!IsInput(of.storage)) Hold(of.storage, HomeOf(tensor));
      for (const DeviceId device : held_[of.storage]) input.cells.push_back(CellOf(tensor, device));
      for (const CellId cell : input.cells) made_.uses[cell] = Executable::kKept;
      made_.inputs.push_back(std::move(input));
    }
    for (const OpId op : views_of_inputs_) {
      const Op& view = graph_.op(op);
      if (view.inputs.empty()) continue;
      for (const DeviceId device : held_[graph_.tensor(view.inputs.front()).storage]) {
        Executable::Call call = ViewOn(op, device);
        for (const Executable::Call::Output& output : call.outputs) {
          made_.uses[output.cell] = Executable::kKept;
        }
        made_.devices[device].views.push_back(std::move(call));
      }
    }
  }

  Executable::Call ViewOn(OpId op, DeviceId device) {
    Executable::Call call{op, {}, {}};
    for (const TensorId input : graph_.op(op).inputs) {
      call.inputs.push_back(CellOf(input, device).value());
    }
    for (const TensorId output : graph_.op(op).outputs) {
      call.outputs.push_back({graph_.tensor(output).output_index, CellOf(output, device)});
    }
    return call;
  }

  void AddViewsOfResults() {
    for (const TaskId task : IdRange<TaskId>(made_.tasks.size())) {
      const OpId op = made_.tasks[task].call.op;
      for (const OpId view : views_[op]) {
        made_.tasks[task].views.push_back(ViewOn(view, made_.tasks[task].device));
      }
    }
  }

  void Finish(TaskId id) {
    Executable::Task& task = made_.tasks[id];
    for (const CellId cell : task.reads) {
      if (made_.uses[cell] != Executable::kKept) ++made_.uses[cell];
    }
    std::sort(task.next.begin(), task.next.end());
    Executable::OnDevice& on_device = made_.devices[task.device];
    ++on_device.tasks;
    if (task.waits == 0) on_device.first.push_back(id);
  }

  const Graph& graph_;
  const Placement& placement_;
  const IdVector<OpId, bool>& random_;
  Executable made_;
  std::vector<CellId> cells_;  // [tensor * devices + device]
  std::map<std::tuple<TensorId, int32_t, DeviceId>, CellId> later_cells_;  // of copies
  IdVector<TensorId, OpId> root_;   // whose task makes it, itself or as a view; none: an input's
  IdVector<OpId, TaskId> task_of_;  // none for views behind one
  IdVector<OpId, std::vector<OpId>> views_;  // behind it
  std::vector<OpId> views_of_inputs_;
  IdVector<StorageId, std::vector<Reader>> readers_;  // at home
  IdVector<StorageId, std::map<Slice, CopyId>> copies_of_;
  IdVector<StorageId, std::vector<DeviceId>> held_;
  TaskId last_random_;
};

// Views that nothing uses are not made; cells that only views look at are forgotten once these are made.
void Prune(Executable& made) {
  IdVector<CellId, bool> wanted(made.uses.size());
  for (const CellId cell : IdRange<CellId>(made.uses.size())) wanted[cell] = made.uses[cell] != 0;
  for (Executable::Task& task : made.tasks) {
    std::vector<Executable::Call> kept;
    for (auto view = task.views.rbegin(); view != task.views.rend(); ++view) {
      const bool used = std::any_of(view->outputs.begin(), view->outputs.end(),
                                    [&](const auto& output) { return wanted[output.cell]; });
      if (!used) continue;
      for (const int32_t input : view->inputs) wanted[CellId(input)] = true;
      kept.push_back(std::move(*view));
    }
    std::reverse(kept.begin(), kept.end());
    task.views = std::move(kept);
    const auto forget = [&](const Executable::Call& call) {
      for (const Executable::Call::Output& output : call.outputs) {
        if (made.uses[output.cell] == 0) task.unread.push_back(output.cell);
      }
    };
    forget(task.call);
    for (const Executable::Call& view : task.views) forget(view);
  }
}

}  // namespace

Result<Executable> MakeExecutable(const Graph& graph, const Placement& placement, size_t devices,
                                  const IdVector<OpId, bool>& random,
                                  const std::vector<TensorId>& keep, const Sequences& sequences) {
  PW_ASSIGN(Executable made, Maker(graph, placement, devices, random).Make(keep, sequences));
  Prune(made);
  return made;
}

}  // namespace placewright
