#include "compile/step_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "compile/host_memory.h"
#include "compile/instances.h"
#include "compile/rewrites/batch_norm.h"
#include "compile/rewrites/rewrites.h"
#include "graph/module_globs.h"
#include "sharding/axis_places.h"
#include "sharding/unsplit_writes.h"
#include "transforms/accumulate.h"

namespace placewright {

StepWriter::StepWriter(const Graph& graph, const NamedAxes& axes, const CompileOptions& options,
                       Emitter& emitter, FetchStore& store)
    : graph_(graph),
      axes_(axes),
      options_(options),
      emitter_(emitter),
      store_(store),
      fetcher_(graph, axes, emitter, store, options.collectives, options.switches) {
  for (const OpId op : graph.ops()) {
    const OpRule* const rule = axes.rule(op);
    if (rule != nullptr && rule->draws_random) draws_.push_back(op);
    if (const HostCopy copy = HostCopyOf(graph.op(op)); copy != HostCopy::kNone) {
      if (host_copies_.empty()) host_copies_.assign(graph.op_count(), HostCopy::kNone);
      host_copies_[op] = copy;
    }
    for (size_t i = 0; i < graph.op(op).inputs.size(); ++i) {
      AddOlderRead(graph.op(op).inputs[i], graph.op(op).input_versions[i]);
    }
  }
  FindRegathered();
  for (const TensorId id : graph.outputs()) {
    const size_t versions = graph.storage(graph.tensor(id).storage).versions.size();
    AddOlderRead(id, static_cast<int32_t>(versions) - 1);
  }
}

void StepWriter::FindRegathered() {
  if (options_.switches.regather.empty()) return;
  IdVector<GroupId, char> named(graph_.group_count(), 0);
  const NamedGroups groups(graph_);
  for (const std::string& glob : options_.switches.regather) {
    for (const GroupId group : groups.By(glob)) named[group] = 1;
  }
  IdVector<TensorId, char> regathered(graph_.tensor_count(), 0);
  for (const TensorId id : graph_.tensors()) {
    const Storage& storage = graph_.storage(graph_.tensor(id).storage);
    const OpId home = graph_.home_op(graph_.tensor(id).storage);
    const bool parameter = storage.kind == TensorKind::kParameter;
    const bool activation = storage.kind == TensorKind::kActivation && storage.versions.size() == 1;
    const bool kept = (parameter || activation) && home.valid();
    regathered[id] = kept && named[graph_.group(home)] != 0;
  }
  store_.SetRegathered(std::move(regathered));
  // An epoch for each pass of each micro-batch; what is computed again is of the backward pass.
  for (const OpId op : graph_.ops()) {
    const bool forward = graph_.op(op).phase == Phase::kForward;
    epoch_of_.push_back(2 * MicroBatchOf(graph_.op(op)) + (forward ? 0 : 1));
  }
}

void StepWriter::AddOlderRead(TensorId id, int32_t read) {
  const Tensor& tensor = graph_.tensor(id);
  if (tensor.version < read) memory_.older_reads[tensor.storage].push_back({tensor.version, read});
}

void StepWriter::SetLayouts(const Layouts& layouts) {
  layouts_ = &layouts;
  memory_.boxes_of_splits.clear();
  std::set<AxisId> axes;
  for (; looked_at_ < layouts.layouts.size(); ++looked_at_) {
    const Layout& layout = layouts.layouts[looked_at_];
    if (!layout.IsSplit()) continue;
    for (const auto& [axis, interval] : layout.shares.front().box) {
      if (!unsplit_.contains(axis)) axes.insert(axis);
    }
  }
  if (!axes.empty()) unsplit_.merge(FindUnsplitWrites(graph_, axes_, axes));
  FindSingle();
}

// Random numbers are drawn once, by the first device of a layout: the others fetch them.
void StepWriter::FindSingle() {
  single_.assign(graph_.group_count(), std::nullopt);
  for (const OpId op : draws_) {
    const Layout& layout = layouts_->Of(graph_.group(op));
    if (layout.shares.size() < 2) continue;
    single_[graph_.group(op)] = PlacedOn(layout.shares.front().device);
  }
}

SmallVector<AxisId> StepWriter::SplitBy(GroupId group) const {
  const Layout& layout = LayoutOf(group);
  if (!layout.IsSplit()) return {};
  const Box& box = layout.shares.front().box;
  const auto splits = [&](const AxisInterval& one) { return !unsplit_.at(one.axis)[group]; };
  if (box.size() == 1) {
    return splits(box.front()) ? SmallVector<AxisId>{box.front().axis} : SmallVector<AxisId>();
  }
  std::vector<AxisId> by;
  for (const AxisInterval& one : box) {
    if (splits(one)) by.push_back(one.axis);
  }
  return {by.begin(), by.end()};
}

bool StepWriter::MayRepeat(OpId op) const {
  const bool copies = !host_copies_.empty() && host_copies_[op] != HostCopy::kNone;
  return !copies && !options_.switches.local_batch_norm;
}

void StepWriter::AddOlderReads(StorageId storage, std::vector<int64_t>& numbers) const {
  const auto older = memory_.older_reads.find(storage);
  numbers.push_back(older == memory_.older_reads.end() ? 0 : std::ssize(older->second));
  if (older == memory_.older_reads.end()) return;
  for (const InstanceMemory::OlderRead& one : older->second) {
    numbers.insert(numbers.end(), {one.tensor, one.read});
  }
}

Status StepWriter::WriteOp(OpId op) {
  if (!host_copies_.empty() && host_copies_[op] != HostCopy::kNone) return WriteHostCopy(op);
  const GroupId group = graph_.group(op);
  if (!epoch_of_.empty()) store_.SetEpoch(epoch_of_[op]);
  InstanceMaker maker(graph_, axes_, op, LayoutOf(group), SplitBy(group), emitter_, fetcher_,
                      memory_);
  if (options_.switches.local_batch_norm && MayBeLocal(op)) maker.UseOwnStatistics();
  return maker.Make();
}

// Piece by piece, whatever is split: to the memory of the host, and back to where the piece was. What is on a CPU is there.
Status StepWriter::WriteHostCopy(OpId op) {
  const bool out = host_copies_[op] == HostCopy::kToHost;
  const TensorId read = graph_.op(op).inputs.front();
  const TensorId original = out ? read : graph_.op(graph_.tensor(read).producer).inputs.front();
  TensorState copied = store_.state(read);
  for (size_t i = 0; i < copied.pieces.size(); ++i) {
    Piece& piece = copied.pieces[i];
    DeviceId to = store_.state(original).pieces[i].device;
    if (out) {
      PW_ASSIGN(to, HostMemoryOf(emitter_.cluster(), to));
    }
    if (to != piece.device) piece = EmitBroadcast(emitter_, piece, {to}).front();
  }
  store_.MutableState(graph_.op(op).outputs.front()) = std::move(copied);
  return Ok();
}

Result<std::vector<TensorId>> StepWriter::WriteOutputs() {
  PW_RETURN_IF_ERROR(CheckKept());
  std::vector<TensorId> outputs;
  for (const TensorId id : graph_.outputs()) AddOutput(id, outputs);
  return outputs;
}

bool StepWriter::IsSynchronised(OpId op) const {
  if (!BatchNormCallOf(graph_.op(op))) return false;
  const SmallVector<AxisId> by = SplitBy(graph_.group(op));
  return std::any_of(by.begin(), by.end(), [&](AxisId axis) {
    const RuleAxisId split = axes_.SplitBy(op, axis);
    return split.valid() && axes_.rule(op)->axes[split].parts == Parts::kSynchronised;
  });
}

// A batch norm that may have statistics of each part: what reads them is its backward in the same parts.
bool StepWriter::MayBeLocal(OpId op) const {
  if (!IsSynchronised(op) || BatchNormCallOf(graph_.op(op))->backward) return false;
  const Layout& layout = LayoutOf(graph_.group(op));
  const auto outputs = graph_.outputs();
  const auto is_statistic = [&](TensorId id) {
    return graph_.tensor(id).producer == op && graph_.tensor(id).output_index > 0;
  };
  if (std::any_of(outputs.begin(), outputs.end(), is_statistic)) return false;
  for (const OpId reader : graph_.consumers(op)) {
    const std::vector<TensorId>& inputs = graph_.op(reader).inputs;
    if (std::none_of(inputs.begin(), inputs.end(), is_statistic)) continue;
    if (!IsSynchronised(reader) || !BatchNormCallOf(graph_.op(reader))->backward) return false;
    if (!(LayoutOf(graph_.group(reader)) == layout)) return false;
  }
  return HasEnoughForEach(op);
}

// An unbiased variance is of two elements or more.
bool StepWriter::HasEnoughForEach(OpId op) const {
  const Tensor& x =
      graph_.tensor(graph_.op(op).inputs[static_cast<size_t>(BatchNormCallOf(graph_.op(op))->x)]);
  int64_t elements = 1;
  for (size_t d = 0; d < x.shape.size(); ++d) elements *= d == 1 ? 1 : x.shape[d];
  const GroupId group = graph_.group(op);
  const SmallVector<AxisId> by = SplitBy(group);
  const std::vector<Share>& shares = LayoutOf(group).shares;
  return std::all_of(shares.begin(), shares.end(), [&](const Share& share) {
    int64_t own = elements;
    for (const AxisId axis : by) {
      const RuleAxisId split = axes_.SplitBy(op, axis);
      const bool over = split.valid() && axes_.rule(op)->axes[split].parts == Parts::kSynchronised;
      if (over) own = own / axes_.axis(axis).size * share.Along(axis).length();
    }
    return own > 1;
  });
}

PieceBoxes StepWriter::BoxesOfInput(TensorId id, const Layout& layout,
                                    const SmallVector<AxisId>& by) {
  std::vector<std::pair<AxisId, AxisPlace>> along;
  for (const AxisId axis : by) {
    const AxisPlace place = PlaceInTensor(graph_, axes_, id, axis);
    if (place.dimension >= 0) along.emplace_back(axis, place);
  }
  const auto [at, fresh] =
      memory_.boxes_of_splits.try_emplace({&layout, {along.begin(), along.end()}});
  if (!fresh) return at->second;
  std::vector<TensorBox> boxes;
  for (const Share& share : layout.shares) {
    std::vector<AxisPart> parts;
    for (const auto& [axis, place] : along) parts.push_back({place, share.Along(axis)});
    boxes.push_back(BoxOf(std::move(parts)));
  }
  return at->second = std::move(boxes);
}

// What is there before the step: parameters, state and buffers as their group's layout has them, inputs
// whole, of which parts are made as they are needed.
void StepWriter::WriteInput(TensorId id) {
  const Tensor& tensor = graph_.tensor(id);
  TensorState& state = store_.MutableState(id);
  state = {};
  const Storage& storage = graph_.storage(tensor.storage);
  const bool input = storage.kind == TensorKind::kInput && storage.versions.size() == 1;
  const OpId home = graph_.home_op(tensor.storage);
  if (input || !home.valid()) {
    const TensorId whole = emitter_.AddInput(id, DeviceId());
    state.pieces.push_back({DeviceId(), whole});
    return;
  }
  const Layout& layout = LayoutOf(graph_.group(home));
  const GroupId group = graph_.group(home);
  const SmallVector<AxisId> by = layout.shares.size() > 1 ? SplitBy(group) : SmallVector<AxisId>();
  const PieceBoxes boxes = BoxesOfInput(id, layout, by);
  for (const Share& share : layout.shares) {
    const DeviceId device = layout.shares.size() == 1 ? DeviceId() : share.device;
    const TensorId piece = emitter_.AddInput(id, device, boxes[state.pieces.size()], share.device);
    state.pieces.push_back({share.device, piece});
  }
  const bool split =
      std::any_of(boxes.begin(), boxes.end(), [](const TensorBox& box) { return !box.empty(); });
  if (split) state.boxes = boxes;
}

// What a step leaves behind is in the pieces, not in copies of them.
Status StepWriter::CheckKept() const {
  if (!store_.any_stale()) return Ok();
  const auto check = [&](TensorId id) -> Status {
    const StorageId storage = graph_.tensor(id).storage;
    if (!store_.IsStale(storage) || store_.state(id).of_copies) return Ok();
    return MakeError(ErrorCode::kField,
                     "it was written in place through a view that the layout does not split",
                     "tensor " + Printable(graph_.tensor(id).name, 80),
                     "Give its colocation group one device, or split another axis.");
  };
  for (const TensorId id : graph_.outputs()) PW_RETURN_IF_ERROR(check(id));
  for (const TensorId id : graph_.tensors()) {
    if (!graph_.tensor(id).producer.valid()) PW_RETURN_IF_ERROR(check(id));
  }
  return Ok();
}

// A partial sum is completed; of all else every piece is an output.
void StepWriter::AddOutput(TensorId id, std::vector<TensorId>& outputs) {
  const TensorState& state = store_.state(id);
  if (state.IsPartial()) {
    const int32_t version =
        static_cast<int32_t>(graph_.storage(graph_.tensor(id).storage).versions.size()) - 1;
    const TensorId whole = fetcher_.Whole(id, version, state.pieces.front().device);
    outputs.push_back(whole);
    return;
  }
  for (const Piece& piece : state.pieces) outputs.push_back(piece.tensor);
}

}  // namespace placewright
