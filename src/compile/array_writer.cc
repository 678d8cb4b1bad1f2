#include "compile/array_writer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compile/op_kinds.h"

namespace placewright {
namespace {

// Rows of (row, item) in the order in which they come.
template <class Row, class Item>
Csr<Row, Item> RowsOf(size_t rows, const std::vector<std::pair<Row, Item>>& pairs) {
  Csr<Row, Item> csr;
  csr.offsets.assign(rows + 1, 0);
  for (const auto& [row, item] : pairs) ++csr.offsets[row.index() + 1];
  for (size_t i = 1; i <= rows; ++i) csr.offsets[i] += csr.offsets[i - 1];
  csr.items.resize(pairs.size());
  std::vector<int32_t> next(csr.offsets.begin(), csr.offsets.end());
  for (const auto& [row, item] : pairs) csr.items[static_cast<size_t>(next[row.index()]++)] = item;
  return csr;
}

// All where there are none.
size_t Differing(const IdVector<GroupId, LayoutId>& from, const Layouts& layouts) {
  if (from.empty()) return layouts.of_group.size();
  size_t differ = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    differ += layouts.of_group[GroupId(i)] != from[GroupId(i)];
  }
  return differ;
}

Status DevicesDiffer(const std::string& at) {
  return MakeError(ErrorCode::kPlanInvalid, "devices of a class do not do alike", at);
}

}  // namespace

ArrayWriter::ArrayWriter(const Graph& graph, const NamedAxes& axes, const CompileOptions& options,
                         PartPrices& prices, bool once, const LaneClasses* lanes)
    : graph_(graph),
      axes_(axes),
      options_(options),
      once_(once),
      lanes_(lanes),
      kinds_(KindsOfOps(graph, axes)),
      prices_(prices) {
  std::vector<std::pair<TensorId, OpId>> reads;
  for (const OpId op : graph.ops()) {
    for (const TensorId input : graph.op(op).inputs) reads.emplace_back(input, op);
  }
  readers_ = RowsOf(graph.tensor_count(), reads);
  std::vector<std::pair<StorageId, TensorId>> tensors;
  for (const TensorId id : graph.tensors()) {
    tensors.emplace_back(graph.tensor(id).storage, id);
    if (!graph.tensor(id).producer.valid()) inputs_.push_back(id);
  }
  tensors_of_ = RowsOf(graph.storage_count(), tensors);
}

void ArrayWriter::Restart() {
  Finish();
  arrays_ = {};
  const bool again = !once_ && lanes_ == nullptr;
  store_ = std::make_unique<FetchStore>(graph_.tensor_count(), /*keeps_users=*/again);
  emitter_ = std::make_unique<Emitter>(graph_, kinds_, prices_, arrays_, once_);
  if (lanes_ != nullptr) emitter_->Fold(*lanes_);
  writer_ = std::make_unique<StepWriter>(graph_, axes_, options_, *emitter_, *store_);
  if (lanes_ != nullptr) {
    scripts_ = std::make_unique<BlockScripts>(graph_, axes_, kinds_, *writer_, *emitter_, *store_);
  }
  ops_repeated_ = 0;
  marked_.assign(static_cast<size_t>(place_behind()), 1);
  rows_ = 0;
}

Status ArrayWriter::Write(const Layouts& layouts) {
  if (Differing(before_, layouts) < Differing(written_, layouts)) Undo();
  // Inputs that were ever read are kept: all is written again before they are what there is.
  const bool grown = arrays_.tensors.size() > 2 * tensors_at_start_ + 4096;
  const bool anew = written_.empty() || grown;
  if (anew) {
    Restart();
    written_.raw().clear();
  } else {
    MarkChanged(layouts);
  }
  before_ = std::exchange(written_, {});  // until all is well
  if (lanes_ == nullptr) emitter_->Record();
  store_->Record();
  states_before_.clear();
  writer_->SetLayouts(layouts);
  const Status done = WriteMarked();
  emitter_->StopRecording();
  emitter_->FinishFolding();
  if (!done.ok()) {
    before_.raw().clear();
    return done;
  }
  if (store_->any_stale()) before_.raw().clear();
  // What is out of date was found by the ops that were written now: others have to look, too.
  if (store_->any_stale() && !anew) return Write(layouts);
  emitter_->SetOrder();
  if (arrays_.reads.size() > 2 * rows_ + 1024) {
    arrays_.Compact();
    rows_ = arrays_.reads.size();
    before_.raw().clear();  // its ops' rows are gone
  }
  if (anew) tensors_at_start_ = arrays_.tensors.size();
  if (!store_->any_stale()) written_ = layouts.of_group;
  return Ok();
}

void ArrayWriter::Undo() {
  emitter_->Undo();
  store_->Undo();
  for (size_t i = states_before_.size(); i > 0; --i) {
    store_->MutableState(states_before_[i - 1].first) = std::move(states_before_[i - 1].second);
  }
  states_before_.clear();
  written_ = std::exchange(before_, {});
}

size_t ArrayWriter::DistanceTo(const Layouts& layouts) const {
  return std::min(Differing(written_, layouts), Differing(before_, layouts));
}

void ArrayWriter::MarkChanged(const Layouts& layouts) {
  for (const OpId op : graph_.ops()) {
    const GroupId group = graph_.group(op);
    if (layouts.of_group[group] == written_[group]) continue;
    marked_[static_cast<size_t>(PlaceOf(op))] = 1;
    // A batch norm looks at the layouts of those that read its statistics.
    if (!options_.switches.local_batch_norm) continue;
    for (const OpId earlier : graph_.producers(op))
      marked_[static_cast<size_t>(PlaceOf(earlier))] = 1;
  }
  for (const TensorId id : inputs_) {
    const OpId home = graph_.home_op(graph_.tensor(id).storage);
    if (!home.valid()) continue;
    const GroupId group = graph_.group(home);
    if (layouts.of_group[group] != written_[group]) marked_[static_cast<size_t>(PlaceOf(id))] = 1;
  }
}

Status ArrayWriter::WriteMarked() {
  blocks_written_ = 0;
  const auto take = [&](int32_t place) {
    blocks_written_ += marked_[static_cast<size_t>(place)];
    return std::exchange(marked_[static_cast<size_t>(place)], 0) != 0;
  };
  for (const TensorId id : inputs_) {
    if (take(PlaceOf(id))) WriteInput(id);
    if (emitter_->failed_to_fold()) return DevicesDiffer(graph_.tensor(id).name);
  }
  for (const OpId op : graph_.ops()) {
    if (!take(PlaceOf(op))) continue;
    if (IsGivenUp()) return MakeError(ErrorCode::kCancelled, "the step was given up");
    PW_RETURN_IF_ERROR(lanes_ != nullptr ? WriteInLanes(op) : WriteOp(op));
    if (emitter_->failed_to_fold()) return DevicesDiffer(graph_.op(op).name);
  }
  const int32_t end = PlaceOf(OpId(graph_.op_count()));
  marked_[static_cast<size_t>(end)] = 0;
  emitter_->Begin(end);
  store_->Begin(end);
  PW_ASSIGN(outputs_, writer_->WriteOutputs());
  store_->End(false);
  emitter_->End();
  return emitter_->failed_to_fold() ? DevicesDiffer("outputs") : Ok();
}

void ArrayWriter::WriteInput(TensorId id) {
  const int32_t place = PlaceOf(id);
  emitter_->Begin(place);
  store_->Begin(place);
  if (lanes_ != nullptr) {
    const bool repeated = scripts_->RepeatInput(id);
    if (!repeated) writer_->WriteInput(id);
    emitter_->End();
    if (!repeated && !emitter_->failed_to_fold()) scripts_->LearnInput(id);
    return;
  }
  const TensorState before = store_->state(id);
  states_before_.emplace_back(id, before);
  writer_->WriteInput(id);
  store_->End(false);
  const bool same = emitter_->End().same && store_->state(id) == before;
  if (!same) MarkReaders(id, place);
}

void ArrayWriter::NoteOverwritten(int32_t place) {
  overwritten_.clear();
  for (const ArrayVersionId version : emitter_->block(place).overwrites) {
    overwritten_.push_back(arrays_.storages[arrays_.versions[version].storage].original);
  }
}

Status ArrayWriter::WriteOp(OpId op) {
  const int32_t place = PlaceOf(op);
  const std::vector<TensorId>& outputs = graph_.op(op).outputs;
  const size_t before = states_before_.size();
  for (const TensorId output : outputs) {
    states_before_.emplace_back(output, std::exchange(store_->MutableState(output), {}));
  }
  overwritten_.clear();  // a new block had none
  if (static_cast<size_t>(place) < emitter_->block_count()) NoteOverwritten(place);
  emitter_->Begin(place);
  store_->Begin(place);
  PW_RETURN_IF_ERROR(writer_->WriteOp(op));
  const Emitter::Outcome outcome = emitter_->End();
  for (const TensorId changed : store_->End(!outcome.same)) MarkReaders(changed, place);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool same =
        outcome.same && store_->state(outputs[i]) == states_before_[before + i].second;
    if (!same) MarkReaders(outputs[i], place);
  }
  if (outcome.same_writes) return Ok();
  MarkOverwritten(overwritten_, place);
  NoteOverwritten(place);
  MarkOverwritten(overwritten_, place);
  return Ok();
}

// Once, so that nothing that was there before makes a difference.
Status ArrayWriter::WriteInLanes(OpId op) {
  emitter_->Begin(PlaceOf(op));
  store_->Begin(PlaceOf(op));
  const bool repeated = scripts_->Repeat(op);
  ops_repeated_ += repeated ? 1 : 0;
  if (!repeated) PW_RETURN_IF_ERROR(writer_->WriteOp(op));
  emitter_->End();
  if (!repeated && !emitter_->failed_to_fold()) scripts_->Learn(op);
  return Ok();
}

void ArrayWriter::MarkReaders(TensorId id, int32_t behind) {
  for (const OpId reader : readers_[id]) {
    if (PlaceOf(reader) > behind) marked_[static_cast<size_t>(PlaceOf(reader))] = 1;
  }
  for (const int32_t user : store_->users(id)) {
    if (user > behind) marked_[static_cast<size_t>(user)] = 1;
  }
}

void ArrayWriter::MarkOverwritten(const std::vector<StorageId>& storages, int32_t behind) {
  for (const StorageId storage : storages) {
    if (!storage.valid()) {
      // Which ops read it is not known: all that come behind.
      std::fill(marked_.begin() + behind + 1, marked_.end(), 1);
      return;
    }
    for (const TensorId id : tensors_of_[storage]) MarkReaders(id, behind);
  }
}

}  // namespace placewright
