#include "compile/instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "compile/rewrites/batch_norm.h"
#include "compile/rewrites/rewrites.h"
#include "compile/rewrites/softmax.h"
#include "compile/rewrites/statistics.h"
#include "compile/sum_parts.h"

namespace placewright {
namespace {

// The piece on the device of a share, mostly that of the same place; nullptr: there is none.
const Piece* PieceOn(const TensorState& state, size_t share, DeviceId device) {
  const bool beside = share < state.pieces.size() && state.pieces[share].device == device;
  return beside ? &state.pieces[share] : state.On(device);
}
// Precondition: there is one.
size_t PieceOf(const TensorState& state, size_t share, DeviceId device) {
  return static_cast<size_t>(PieceOn(state, share, device) - state.pieces.data());
}

}  // namespace

InstanceMaker::InstanceMaker(const Graph& graph, const NamedAxes& axes, OpId op,
                             const Layout& layout, const SmallVector<AxisId>& by, Emitter& emitter,
                             Fetcher& fetcher, InstanceMemory& memory)
    : graph_(graph),
      axes_(axes),
      id_(op),
      op_(graph.op(op)),
      layout_(layout),
      writes_unsplit_(layout.IsSplit() && by.size() < layout.shares.front().box.size()),
      emitter_(emitter),
      fetcher_(fetcher),
      split_(axes, op, op_, layout),
      read_(memory.read),
      made_(memory.made),
      partial_(memory.partial),
      beside_(memory.beside),
      there_(memory.there),
      devices_(memory.devices),
      boxes_of_splits_(memory.boxes_of_splits),
      older_reads_(memory.older_reads) {
  read_.Begin(op_.inputs.size());
  made_.Begin(op_.outputs.size());
  partial_.assign(op_.inputs.size(), 0);
  devices_.clear();
  for (const Share& share : layout_.shares) devices_.push_back(share.device);
  ChooseSplit(by);
  ChoosePartialInputs();
}

void InstanceMaker::ChooseSplit(const SmallVector<AxisId>& by) {
  if (layout_.shares.size() < 2) return;
  if (by.size() == 1) {
    const std::optional<OpSplit::By> one = split_.ByAxis(by.front());
    if (one && MayBeSplitBy(*one)) split_.Set({*one});
    return;
  }
  std::vector<OpSplit::By> split;
  for (const AxisId axis : by) {
    const std::optional<OpSplit::By> one = split_.ByAxis(axis);
    if (one && MayBeSplitBy(*one)) split.push_back(*one);
  }
  if (!split.empty()) split_.Set({split.begin(), split.end()});
}

bool InstanceMaker::MayBeSplitBy(const OpSplit::By& by) const {
  if (split_.IsSynchronised(by) && !BatchNormCallOf(op_) && !SoftmaxCallOf(op_) &&
      !StatisticsCallOf(graph_, id_)) {
    return false;
  }
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    if (IsWritten(i) && !MayWriteParts(i, by)) return false;
  }
  return true;
}

// The backward of a norm has what the norm has.
bool InstanceMaker::HasOwnStatistics() const {
  const std::optional<BatchNormCall> call = BatchNormCallOf(op_);
  if (!call || !split_.IsSynchronised()) return false;
  if (!call->backward) return own_statistics_;
  return fetcher_.state(op_.inputs[static_cast<size_t>(call->save_mean)]).of_parts;
}

// Parts are written over parts, and nothing that is whole over a sum's parts.
bool InstanceMaker::MayWriteParts(size_t input, const OpSplit::By& by) const {
  const TensorAxes& axes = rule().inputs[input];
  if (!Holds(axes, by.of)) return rule().axes[by.of].parts != Parts::kSum;
  const AxisPlace place = split_.PlaceIn(axes, by);
  const PieceBoxes& boxes = fetcher_.state(op_.inputs[input]).boxes;
  return std::any_of(boxes.begin(), boxes.end(), [&](const TensorBox& box) {
    return AlongPlace(box, place) != Interval{0, place.size};
  });
}

// A linear op of partial sums, with all else whole, gives partial sums. One that is split does where each device has a
// sum of the part that it needs: under layouts of several axes.
void InstanceMaker::ChoosePartialInputs() {
  if (layout_.shares.size() < 2 || axes_.rule(id_) == nullptr || rule().linear.empty()) return;
  if (writes_unsplit_) return;  // what is written in place there is written into a complete sum
  if (split_.any() && layout_.axis().valid()) return;
  const auto is_partial = [&](int32_t input) {
    const size_t i = static_cast<size_t>(input);
    if (!fetcher_.IsPartial(op_.inputs[i], op_.input_versions[i])) return false;
    const TensorState& state = fetcher_.state(op_.inputs[i]);
    if (state.pieces.size() != layout_.shares.size()) return false;
    for (size_t share = 0; share < layout_.shares.size(); ++share) {
      const DeviceId device = layout_.shares[share].device;
      if (PieceOn(state, share, device) == nullptr) return false;
      if (state.BoxAt(PieceOf(state, share, device)) != split_.InputBox(i, share)) return false;
    }
    return true;
  };
  for (const std::vector<int32_t>& together : rule().linear) {
    if (together.empty() || !std::all_of(together.begin(), together.end(), is_partial)) continue;
    if (!CarriesSums(together)) continue;
    for (const int32_t input : together) partial_[static_cast<size_t>(input)] = 1;
    partial_input_ = op_.inputs[static_cast<size_t>(together.front())];
    return;
  }
}

// Whether what the devices make of their parts of these sums are the parts of sums.
bool InstanceMaker::CarriesSums(const std::vector<int32_t>& together) const {
  std::vector<TensorBox> boxes;
  const auto summed_of = [&](int32_t input) {
    const TensorState& state = fetcher_.state(op_.inputs[static_cast<size_t>(input)]);
    std::vector<Box> summed;
    boxes.clear();
    for (size_t share = 0; share < layout_.shares.size(); ++share) {
      const size_t piece = PieceOf(state, share, layout_.shares[share].device);
      summed.push_back(state.SummedAt(piece));
      boxes.push_back(state.BoxAt(piece));
    }
    return summed;
  };
  if (together.size() == 1 && !split_.any()) return true;
  const std::vector<Box> summed = summed_of(together.front());
  for (const int32_t input : together) {
    if (input == together.front()) continue;
    const std::vector<Box> others = summed_of(input);
    if (others == summed) continue;
    // All devices' parts count of both, and those that have equal ones of one have equal ones of the other.
    const bool all_of_others = AreAllOfSums(axes_, boxes, others);
    summed_of(together.front());
    if (!all_of_others || !AreAllOfSums(axes_, boxes, summed)) return false;
    for (size_t i = 0; i < summed.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if ((summed[i] == summed[j]) != (others[i] == others[j])) return false;
      }
    }
  }
  if (!split_.any()) return true;
  for (size_t output = 0; output < op_.outputs.size(); ++output) {
    boxes.clear();
    for (size_t share = 0; share < layout_.shares.size(); ++share) {
      boxes.push_back(split_.OutputBox(output, share));
    }
    // Not every part of a sum of the op's own meets every part of these.
    const bool own = std::any_of(split_.by().begin(), split_.by().end(), [&](const auto& by) {
      return VerdictOf(rule(), by.of, output) == PartVerdict::kSum;
    });
    if (own || !AreAllOfSums(axes_, boxes, summed)) return false;
  }
  return true;
}

// By far the commonest: nothing is fetched, and nothing that others fetch makes a difference.
bool InstanceMaker::IsBeside(size_t input) const {
  const std::vector<Share>& shares = layout_.shares;
  const TensorState& state = fetcher_.state(op_.inputs[input]);
  if (partial_[input] != 0 || state.pieces.size() != shares.size()) return false;
  const auto on_its_device = [](const Share& share, const Piece& piece) {
    return share.device == piece.device;
  };
  if (!std::equal(shares.begin(), shares.end(), state.pieces.begin(), on_its_device)) return false;
  if (axes_.rule(id_) != nullptr && IsUnread(rule(), input)) return true;
  if (state.IsPartial() || split_.IsOnce(input)) return false;
  return split_.AreInputBoxes(input, state.boxes, boxes_of_splits_);
}

void InstanceMaker::FindBeside() {
  beside_.resize(op_.inputs.size());
  for (size_t i = 0; i < op_.inputs.size(); ++i) beside_[i] = IsBeside(i);
}

bool InstanceMaker::AreOnTheirDevices(const std::vector<TensorId>& tensors) const {
  for (size_t share = 0; share < devices_.size(); ++share) {
    const DeviceId home = emitter_.device_of(tensors[share]);
    if (home.valid() && home != devices_[share]) return false;
  }
  return true;
}

// What all shares read, where Prepare, or an op before this one, has brought it to them.
void InstanceMaker::FindThere(size_t input) {
  if (beside_[input] != 0 || partial_[input] != 0 || devices_.size() < 2) return;
  if (IsWritten(input) || split_.IsOnce(input)) return;
  static const TensorAxes none;
  const TensorAxes& axes = split_.any() ? rule().inputs[input] : none;
  const std::vector<TensorId>* const there =
      fetcher_.PartsThere(op_.inputs[input], op_.input_versions[input], devices_,
                          split_.BoxesIn(axes, boxes_of_splits_));
  if (there == nullptr || (op_.is_view && !AreOnTheirDevices(*there))) return;
  there_[input] = there;
}

TensorId InstanceMaker::FetchInput(size_t input, size_t share) {
  const TensorId id = op_.inputs[input];
  if (beside_[input] != 0) return fetcher_.state(id).pieces[share].tensor;
  if (there_[input] != nullptr) return (*there_[input])[share];
  const int32_t version = op_.input_versions[input];
  const DeviceId device = layout_.shares[share].device;
  if (partial_[input] != 0) return PieceOn(fetcher_.state(id), share, device)->tensor;
  TensorId part = fetcher_.Part(id, version, split_.InputBox(input, share), device);
  // A view is where its storage is, and what is written is the device's own: under uneven boxes another device's piece
  // may be just what this one needs.
  const DeviceId home = emitter_.device_of(part);
  const bool own = op_.is_view || IsWritten(input);
  if (own && home.valid() && home != device && devices_.size() > 1) {
    part = EmitCopy(emitter_, part, device);
  }
  if (split_.EntersIn(input, share)) return part;
  return emitter_.AddLike("aten.zeros_like.default", {part}, References(1), emitter_.shape(part),
                          part, device);
}

Status InstanceMaker::FetchInputs(size_t share) {
  const DeviceId device = layout_.shares[share].device;
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    const TensorId input = FetchInput(i, share);
    const bool written = IsWritten(i);
    if (written && beside_[i] == 0 &&
        PieceOn(fetcher_.state(op_.inputs[i]), share, device) == nullptr) {
      return MakeError(ErrorCode::kField,
                       fmt::format("the op writes \"{}\" in place, of which {} has no part",
                                   Printable(graph_.tensor(op_.inputs[i]).name, 80),
                                   emitter_.cluster().device(device).name),
                       "op " + Printable(op_.name, 80),
                       "Give the op's colocation group the layout of what it writes.");
    }
    PW_RETURN_IF_ERROR(NoteRead(i));
    read_.items.push_back(input);
  }
  return Ok();
}

Status InstanceMaker::NoteRead(size_t input) {
  PW_RETURN_IF_ERROR(CheckNotStale(input));
  // Nothing but other views of these copies may read the storage from now on.
  const StorageId storage = graph_.tensor(op_.inputs[input]).storage;
  if (IsWritten(input) && fetcher_.state(op_.inputs[input]).of_copies) fetcher_.SetStale(storage);
  return Ok();
}

// Fresh, or a view of an input, or an input that was written.
std::vector<OutputSpec> InstanceMaker::OutputsOf(size_t share) const {
  std::vector<OutputSpec> outputs;
  for (size_t i = 0; i < op_.outputs.size(); ++i) {
    const Tensor& tensor = graph_.tensor(op_.outputs[i]);
    OutputSpec spec;
    spec.dtype = tensor.dtype;
    spec.shape = ShapeOf(tensor.shape, split_.OutputBox(i, share));
    spec.output_index = tensor.output_index;
    for (size_t input = 0; input < op_.inputs.size(); ++input) {
      if (graph_.tensor(op_.inputs[input]).storage != tensor.storage) continue;
      const bool written =
          std::find(op_.writes.begin(), op_.writes.end(), op_.inputs[input]) != op_.writes.end();
      spec.alias = written ? AliasKind::kInPlace : AliasKind::kView;
      spec.alias_of = static_cast<int32_t>(input);
      break;
    }
    outputs.push_back(std::move(spec));
  }
  return outputs;
}

OpSpec InstanceMaker::SpecOf(size_t share) const {
  PartCall call = split_.CallOf(share);
  OpSpec spec;
  spec.type = std::move(call.type);
  spec.args = std::move(call.args);
  spec.attributes = std::move(call.attributes);
  spec.outputs = OutputsOf(share);
  // Written without being returned.
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    const bool written = IsWritten(i);
    const bool returned =
        std::any_of(spec.outputs.begin(), spec.outputs.end(), [&](const OutputSpec& output) {
          return output.alias == AliasKind::kInPlace && output.alias_of == static_cast<int32_t>(i);
        });
    if (written && !returned) spec.writes.push_back(static_cast<int32_t>(i));
  }
  return spec;
}

Status InstanceMaker::Make() {
  FindBeside();
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    if (axes_.in_own_order(op_.inputs[i])) PW_RETURN_IF_ERROR(CheckOwnOrder(i));
  }
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    if (beside_[i] == 0) Prepare(i);
  }
  there_.assign(op_.inputs.size(), nullptr);
  for (size_t i = 0; i < op_.inputs.size(); ++i) FindThere(i);
  const bool together = split_.IsSynchronised() && !HasOwnStatistics();
  if (!together && AreAlike()) {
    PW_RETURN_IF_ERROR(MakeAlike());
  } else {
    for (size_t share = 0; share < layout_.shares.size(); ++share) {
      PW_RETURN_IF_ERROR(FetchInputs(share));
    }
    together ? MakeSynchronised() : MakeEach();
  }
  PW_RETURN_IF_ERROR(Finish());
  MarkViewsOfCopies();
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    if (IsWritten(i) && beside_[i] == 0) WriteBack(i);
  }
  return Ok();
}

// In lanes: whether devices of a class add one op each, of what they have. Keys of their parts are equal where these say
// lengths alone.
bool InstanceMaker::AreAlike() const {
  if (!emitter_.is_folding() || layout_.shares.size() < 2) return false;
  for (size_t i = 0; i < beside_.size(); ++i) {
    if (beside_[i] == 0 && there_[i] == nullptr) return false;
  }
  return split_.IsByLengthsAlone();
}

// The first of a class adds the op; of the others it is enough that they read what stands for the same.
Status InstanceMaker::MakeAlike() {
  const size_t inputs = op_.inputs.size();
  for (size_t i = 0; i < inputs; ++i) PW_RETURN_IF_ERROR(NoteRead(i));
  read_.items.resize(inputs * layout_.shares.size());
  for (size_t i = 0; i < inputs; ++i) {
    const TensorState& state = fetcher_.state(op_.inputs[i]);
    for (size_t share = 0; share < layout_.shares.size(); ++share) {
      read_.items[share * inputs + i] =
          there_[i] != nullptr ? (*there_[i])[share] : state.pieces[share].tensor;
    }
  }
  for (size_t share = 0; share < layout_.shares.size(); ++share) {
    if (emitter_.AddAgain(read_[share], devices_[share], made_.items)) continue;
    emitter_.AddInstance(
        split_.KeyOf(share), read_[share], devices_[share], [&] { return SpecOf(share); },
        made_.items);
  }
  return Ok();
}

// What all instances read, where a collective brings it to them.
void InstanceMaker::Prepare(size_t input) {
  const TensorId id = op_.inputs[input];
  const int32_t version = op_.input_versions[input];
  if (partial_[input] != 0) return;
  static const TensorAxes none;
  const TensorAxes& axes = split_.any() ? rule().inputs[input] : none;
  fetcher_.Prepare(id, version, devices_, split_.BoxesIn(axes, boxes_of_splits_));
  if (split_.SplitsInput(input)) return;
  // A view that looks at a part brings no more than the part.
  const bool all =
      !op_.is_view || graph_.tensor(op_.outputs.front()).bytes >= graph_.tensor(id).bytes;
  if (all) fetcher_.PrepareCopies(id, version, devices_);
}

// What the share makes is appended to `made`.
void InstanceMaker::MakeOne(size_t share, std::vector<TensorId>& made) {
  const size_t before = made.size();
  emitter_.AddInstance(
      split_.KeyOf(share), read_[share], devices_[share], [&] { return SpecOf(share); }, made);
  const bool mean = split_.any() && rule().form == PartForm::kMean && split_.IsPart(share);
  if (mean) DivideMean(share, std::span(made).subspan(before));
}

// One instance for each share.
void InstanceMaker::MakeEach() {
  for (size_t share = 0; share < layout_.shares.size(); ++share) MakeOne(share, made_.items);
}

// What needs sums over all parts first. A share that has all of what these are over needs none.
void InstanceMaker::MakeSynchronised() {
  made_.items.assign(layout_.shares.size() * made_.width, TensorId());
  const auto set = [&](size_t share, const std::vector<TensorId>& made) {
    std::copy(made.begin(), made.end(),
              made_.items.begin() + static_cast<ptrdiff_t>(share * made_.width));
  };
  const auto together = split_.TogetherSynchronised();
  for (const std::vector<size_t>& shares : *together) {
    if (shares.size() == 1) {
      std::vector<TensorId> made;
      MakeOne(shares.front(), made);
      set(shares.front(), made);
      continue;
    }
    OpInParts parts{graph_, id_, {}, {}};
    for (const size_t share : shares) {
      parts.devices.push_back(devices_[share]);
      parts.read.emplace_back(read_[share].begin(), read_[share].end());
    }
    const MadeInParts made = EmitInParts(parts);
    for (size_t i = 0; i < shares.size(); ++i) set(shares[i], made[i]);
  }
}

MadeInParts InstanceMaker::EmitInParts(const OpInParts& parts) {
  if (const std::optional<SoftmaxCall> softmax = SoftmaxCallOf(op_)) {
    return EmitSoftmax(emitter_, parts, *softmax, fetcher_.collectives());
  }
  if (const std::optional<StatisticsCall> statistics = StatisticsCallOf(graph_, id_)) {
    return EmitStatistics(emitter_, parts, *statistics, fetcher_.collectives());
  }
  const BatchNormCall norm = *BatchNormCallOf(op_);
  const auto emit = norm.backward ? EmitBatchNormBackward : EmitBatchNorm;
  return emit(emitter_, parts, norm, fetcher_.collectives());
}

Status InstanceMaker::CheckNotStale(size_t input) const {
  const Tensor& tensor = graph_.tensor(op_.inputs[input]);
  if (!fetcher_.IsStale(tensor.storage) || fetcher_.state(op_.inputs[input]).of_copies) return Ok();
  return MakeError(
      ErrorCode::kField,
      fmt::format("the op reads \"{}\", which was written in place through a view that "
                  "the layout does not split",
                  Printable(tensor.name, 80)),
      "op " + Printable(op_.name, 80),
      "Give its colocation group one device, or split another axis.");
}

// Rows are read where they are: whole as a whole sorted them, or of an interval as its part did. So are counts,
// of which no part says whose they are.
Status InstanceMaker::CheckOwnOrder(size_t input) {
  if (axes_.rule(id_) != nullptr && IsUnread(rule(), input) && beside_[input] != 0) return Ok();
  const TensorId id = op_.inputs[input];
  const TensorState& state = fetcher_.state(id);
  const bool counts = !axes_.Holds(id, axes_.batch());
  const bool rows_whole = !split_.Is(axes_.batch());
  const bool there = state.pieces.size() == layout_.shares.size() &&
                     std::equal(state.pieces.begin(), state.pieces.end(), layout_.shares.begin(),
                                [](const Piece& piece, const Share& share) {
                                  return piece.device == share.device;
                                });
  // As it is where the layout has all of the batch, too.
  const bool whole =
      state.IsWhole() || (there && !state.IsPartial() &&
                          std::all_of(state.boxes.begin(), state.boxes.end(),
                                      [](const TensorBox& box) { return box.empty(); }));
  bool right = false;
  if (counts && op_.inputs.size() == 1) {
    right = !state.of_parts || there;  // one number made of another
    own_counts_ = state.of_parts;
  } else if (counts) {
    right = state.of_parts ? there && !rows_whole : rows_whole;
  } else if (split_.SplitsInput(input)) {
    right = beside_[input] != 0;
  } else {
    right = whole;
  }
  // Of a part of the keys counts are its own, too.
  if (counts) right = right && (beside_[input] != 0 || (whole && !split_.SplitsInput(input)));
  if (right) return Ok();
  return MakeError(
      ErrorCode::kField,
      fmt::format("the op reads rows of \"{}\", which every part of the batch has in an "
                  "order of its own, in another layout than they are in",
                  Printable(graph_.tensor(id).name, 80)),
      "op " + Printable(op_.name, 80),
      "Give all ops from the sort to where its rows are put back one layout.");
}

void InstanceMaker::MarkViewsOfCopies() {
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    const TensorState& state = fetcher_.state(op_.inputs[i]);
    bool own = !state.of_copies;
    for (size_t share = 0; own && share < layout_.shares.size() && beside_[i] == 0; ++share) {
      const Piece* const piece = PieceOn(state, share, layout_.shares[share].device);
      own = piece != nullptr && piece->tensor == read_[share][i];
    }
    if (own || (IsWritten(i) && !state.of_copies)) continue;
    for (const TensorId output : op_.outputs) {
      const bool view = graph_.tensor(output).storage == graph_.tensor(op_.inputs[i]).storage;
      if (view) fetcher_.MutableState(output).of_copies = true;
    }
  }
}

bool InstanceMaker::IsWritten(size_t input) const {
  return std::find(op_.writes.begin(), op_.writes.end(), op_.inputs[input]) != op_.writes.end();
}

// Whether all that reads the storage behind the op does so through what the op makes of it, or views of that.
bool InstanceMaker::IsReadThroughOutputs(TensorId written) const {
  const StorageId storage = graph_.tensor(written).storage;
  const auto made = std::find_if(op_.outputs.begin(), op_.outputs.end(), [&](TensorId output) {
    return graph_.tensor(output).storage == storage;
  });
  if (made == op_.outputs.end()) return false;
  const int32_t version = graph_.tensor(*made).version;
  const auto older = older_reads_.find(storage);
  return older == older_reads_.end() ||
         std::none_of(older->second.begin(), older->second.end(),
                      [&](const InstanceMemory::OlderRead& one) {
                        return one.tensor < version && one.read >= version;
                      });
}

// Where an op in place was given something else than the pieces of what it writes (a completed sum, all of
// what is split), they get what it has made of that. A sum stays one: of the first piece, and zeros. What is a sum
// no more is not made one again where nothing looks at its pieces: gradients that are clipped in place, for whose
// norm they are completed, are synchronised once.
void InstanceMaker::WriteBack(size_t input) {
  // What changes sizes in place (unsqueeze_, t_) changes no element, and its result is no piece of what it reads.
  const Tensor& read = graph_.tensor(op_.inputs[input]);
  for (const TensorId output : op_.outputs) {
    const Tensor& made = graph_.tensor(output);
    if (made.storage == read.storage && made.shape != read.shape) return;
  }
  const TensorState before = fetcher_.state(op_.inputs[input]);
  const bool sum = before.IsPartial();
  if (sum && !split_.any() && IsReadThroughOutputs(op_.inputs[input])) return;
  TensorState after = before;
  bool changed = false;
  for (size_t share = 0; share < layout_.shares.size(); ++share) {
    const DeviceId device = layout_.shares[share].device;
    const auto own = std::find_if(after.pieces.begin(), after.pieces.end(),
                                  [&](const Piece& piece) { return piece.device == device; });
    TensorId written = read_[share][input];
    if (own->tensor == written) continue;
    changed = true;
    const auto at = static_cast<size_t>(own - after.pieces.begin());
    const Box& summed = after.SummedAt(at);
    const bool zero = std::any_of(summed.begin(), summed.end(),
                                  [](const AxisInterval& one) { return one.interval.from > 0; });
    const TensorBox of_written = PartWithin(split_.InputBox(input, share), after.BoxAt(at));
    if (!zero) written = EmitSplit(emitter_, written, of_written, device);
    own->tensor = emitter_.Overwrite(own->tensor, zero ? TensorId() : written, device);
  }
  if (!changed) return;
  for (const TensorId output : op_.outputs) {
    const bool same = graph_.tensor(output).storage == graph_.tensor(op_.inputs[input]).storage;
    if (same) fetcher_.MutableState(output) = after;
  }
}

// Of what the instance has made, the last ones: the mean, which other results are not.
void InstanceMaker::DivideMean(size_t share, std::span<TensorId> made) {
  for (size_t i = 0; i < op_.outputs.size(); ++i) {
    TensorId& sum = made[i];
    if (!sum.valid() || graph_.tensor(op_.outputs[i]).output_index != 0) continue;
    sum = emitter_.AddLike("aten.div.Scalar", {sum}, {Value(InputRef{0}), Value(rule().divisor)},
                           emitter_.shape(sum), sum, layout_.shares[share].device);
  }
}

TensorState InstanceMaker::StateOf(size_t output) const {
  TensorState state;
  state.of_parts = own_counts_;
  std::vector<AxisId> summed;
  bool cut = false;
  for (const OpSplit::By& by : split_.by()) {
    const PartVerdict verdict = VerdictOf(rule(), by.of, output);
    cut = cut || verdict == PartVerdict::kConcat;
    if (verdict == PartVerdict::kConcat) continue;
    bool sum = verdict == PartVerdict::kSum;
    if (axes_.in_own_order(op_.outputs[output]) && by.axis == axes_.batch()) {
      state.of_parts = true;
    } else if (split_.IsSynchronised(by) && HasOwnStatistics()) {
      state.of_parts = rule().form != PartForm::kBatchNormBackward;
      sum = sum || !state.of_parts;
    }
    if (sum) summed.push_back(by.axis);
  }
  const TensorState* const taken =
      partial_input_.valid() ? &fetcher_.state(partial_input_) : nullptr;
  state.pieces.reserve(layout_.shares.size());
  for (size_t share = 0; share < layout_.shares.size(); ++share) {
    const TensorId made = made_[share][output];
    if (!made.valid()) break;
    const DeviceId device = devices_[share];
    state.pieces.push_back({device, made});
    if (taken != nullptr) {
      state.summed.push_back(taken->SummedAt(PieceOf(*taken, share, device)));
    } else if (!summed.empty()) {
      state.summed.push_back(split_.PartOf(summed, share));
    }
  }
  if (state.pieces.empty()) return {};
  if (cut) state.boxes = split_.BoxesIn(rule().outputs[output], boxes_of_splits_);
  return state;
}

Status InstanceMaker::Finish() {
  for (size_t i = 0; i < op_.outputs.size(); ++i) {
    fetcher_.MutableState(op_.outputs[i]) = StateOf(i);
  }
  if (!split_.any() || rule().form != PartForm::kWeightedMean) return Ok();
  return DivideByWeight();
}

// Of a mean with weights: each device's sum, divided by the weight of all.
Status InstanceMaker::DivideByWeight() {
  size_t loss = op_.outputs.size(), weight = op_.outputs.size();
  for (size_t i = 0; i < op_.outputs.size(); ++i) {
    (graph_.tensor(op_.outputs[i]).output_index == 0 ? loss : weight) = i;
  }
  if (loss == op_.outputs.size()) return Ok();
  if (weight == op_.outputs.size()) {
    return MakeError(ErrorCode::kField, "the loss does not give its total weight",
                     "op " + Printable(op_.name, 80), "Record the step with all of its results.");
  }
  const TensorId id = op_.outputs[weight];
  const int32_t version = graph_.tensor(id).version;
  fetcher_.Prepare(id, version, devices_, std::vector<TensorBox>(devices_.size()));
  TensorState& state = fetcher_.MutableState(op_.outputs[loss]);
  for (size_t share = 0; share < devices_.size(); ++share) {
    if (!split_.IsPart(share)) continue;
    const TensorId total = fetcher_.Whole(id, version, devices_[share]);
    const TensorId sum = made_[share][loss];
    state.pieces[share].tensor = emitter_.AddLike("aten.div.Tensor", {sum, total}, References(2),
                                                  emitter_.shape(sum), sum, devices_[share]);
  }
  return Ok();
}

}  // namespace placewright
