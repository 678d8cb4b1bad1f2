#include "compile/fetcher.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "compile/piece_groups.h"
#include "compile/rewrites/rewrites.h"
#include "compile/sum_parts.h"
#include "sharding/axis_places.h"
#include "transforms/precision.h"

namespace placewright {

bool Fetcher::IsPartial(TensorId id, int32_t version) {
  return store_.StateAt(id, version).IsPartial();
}

// An input of the step that no op writes: it is everywhere, also in parts.
bool Fetcher::IsInput(TensorId id) const {
  const Tensor& tensor = graph_.tensor(id);
  const Storage& storage = graph_.storage(tensor.storage);
  return !tensor.producer.valid() && storage.kind == TensorKind::kInput &&
         storage.versions.size() == 1;
}

// An input of the step that no op writes, or a view of one: it crosses nowhere.
bool Fetcher::IsOfInput(TensorId id) const {
  const Storage& storage = graph_.storage(graph_.tensor(id).storage);
  const bool made = storage.versions.front().writer.valid();
  return !made && storage.kind == TensorKind::kInput && storage.versions.size() == 1;
}

namespace {

// The axis by which all pieces are split, where that is one; else without a dimension.
AxisPlace OnlyPlaceOf(const TensorState& state) {
  AxisPlace only;
  for (const TensorBox& box : state.boxes) {
    if (box.size() != 1) return {};
    if (only.dimension >= 0 && box.front().place != only) return {};
    only = box.front().place;
  }
  return only;
}

bool HasNoneOn(const TensorState& state, const std::vector<DeviceId>& devices) {
  return std::none_of(devices.begin(), devices.end(),
                      [&](DeviceId device) { return state.On(device) != nullptr; });
}

// A part of another axis than the one by which it is split.
bool IsOfAnotherAxis(const TensorState& state, const TensorBox& box) {
  if (state.IsPartial() || box.size() != 1 || state.boxes.empty()) return false;
  // Of the first one's axis it is of the only one, or there is none: most are.
  const TensorBox& first = state.boxes.front();
  if (first.size() == 1 && first.front().place == box.front().place) return false;
  const AxisPlace only = OnlyPlaceOf(state);
  return only.dimension >= 0 && box.front().place != only;
}

}  // namespace

namespace {

// The boxes by piece; nothing where some piece is on none of the devices.
std::optional<Needs> NeedsOf(const TensorState& state, const std::vector<DeviceId>& devices,
                             const PieceBoxes& boxes) {
  const bool in_order =
      std::equal(devices.begin(), devices.end(), state.pieces.begin(), state.pieces.end(),
                 [](DeviceId device, const Piece& piece) { return device == piece.device; });
  if (in_order) return boxes;
  std::vector<TensorBox> needs;
  for (const Piece& piece : state.pieces) {
    const auto at = std::find(devices.begin(), devices.end(), piece.device);
    if (at == devices.end()) return std::nullopt;
    needs.push_back(boxes[static_cast<size_t>(at - devices.begin())]);
  }
  return Needs(std::move(needs));
}

// Every piece is what is needed of it.
bool HasBoxes(const TensorState& state, const Needs& needs) {
  for (size_t i = 0; i < state.pieces.size(); ++i) {
    if (state.BoxAt(i) != needs[i]) return false;
  }
  return true;
}

}  // namespace

// Other devices are sent the sum, not each of them every part of it.
void Fetcher::CompleteWhereItIs(TensorId id, int32_t version) {
  auto completed = EmitCompleted(emitter_, axes_, store_.StateAt(id, version));
  if (completed) store_.SetCompleted(id, version, std::move(*completed));
}

void Fetcher::Prepare(TensorId id, int32_t version, const std::vector<DeviceId>& devices,
                      const PieceBoxes& boxes) {
  const TensorState& state = store_.StateAt(id, version);
  if (!collectives_ || state.IsWhole() || devices.size() < 2 || IsInput(id)) return;
  if (state.IsPartial() && HasNoneOn(state, devices)) return CompleteWhereItIs(id, version);
  if (state.pieces.size() != devices.size()) return;
  const bool cast = CastParameter(graph_, graph_.tensor(id).storage).valid();
  if ((gathers_views_ || cast) && PrepareAsView(id, version, devices, boxes)) return;
  const std::optional<Needs> needed = NeedsOf(state, devices, boxes);
  if (!needed) return;
  const Needs& needs = *needed;
  if (!state.IsPartial() && HasBoxes(state, needs)) return;
  const bool of_another = std::any_of(needs.begin(), needs.end(), [&](const TensorBox& need) {
    return IsOfAnotherAxis(state, need);
  });
  TensorState ready = state;
  bool changed = false;
  const auto take = [&](std::optional<TensorState> made) {
    if (made) ready = std::move(*made);
    changed = changed || made.has_value();
    return made.has_value();
  };
  if (ready.IsPartial()) {
    bool within = true, equal = true;
    for (size_t i = 0; i < needs.size(); ++i) {
      within = within && Contains(ready.BoxAt(i), needs[i]);
      equal = equal && ready.BoxAt(i) == needs[i];
    }
    const bool scattered = within && !equal && take(EmitScattered(emitter_, axes_, ready, needs));
    if (!scattered && !take(EmitCompleted(emitter_, axes_, ready))) return;
    if (scattered) return store_.SetCompleted(id, version, std::move(ready));
  }
  const bool exchanged = ready.IsSplit() && take(EmitExchanged(emitter_, ready, needs));
  if (of_another && !exchanged) return;
  if (ready.IsSplit() && !exchanged) take(EmitGathered(emitter_, ready, needs));
  if (changed) store_.SetCompleted(id, version, std::move(ready));
}

namespace {

// The axes of a part of a tensor, with their intervals; nothing where it is of none.
std::optional<std::vector<AxisInterval>> AxesOfBox(const Graph& graph, const NamedAxes& axes,
                                                   TensorId id, const TensorBox& box) {
  std::vector<AxisInterval> found;
  for (const AxisPart& part : box) {
    const auto factors = axes.factors(id, static_cast<size_t>(part.place.dimension));
    const auto at = std::find_if(factors.begin(), factors.end(), [&](AxisId axis) {
      return PlaceInTensor(graph, axes, id, axis) == part.place;
    });
    if (at == factors.end()) return std::nullopt;
    found.push_back({*at, part.interval});
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

// Of a view of all of a parameter, of a part of a cast, or of what is gathered anew for each pass, the parts that are
// gathered are views of what is gathered of that: once, whatever is looked at.
bool Fetcher::PrepareAsView(TensorId id, int32_t version, const std::vector<DeviceId>& devices,
                            const PieceBoxes& boxes) {
  const Tensor& tensor = graph_.tensor(id);
  const bool parameter = graph_.storage(tensor.storage).kind == TensorKind::kParameter ||
                         CastParameter(graph_, tensor.storage).valid();
  const bool activation = store_.IsRegathered(id) && !IsPartial(id, version);
  if ((!parameter && !activation) || !tensor.producer.valid()) return false;
  const Op& op = graph_.op(tensor.producer);
  const bool simple = op.is_view && op.inputs.size() == 1 && op.outputs.size() == 1 &&
                      op.input_versions.front() == version;
  if (!simple || graph_.tensor(op.inputs.front()).bytes > tensor.bytes) return false;
  Layout layout;  // in which the view would be made of what is gathered
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto box = AxesOfBox(graph_, axes_, id, boxes[i]);
    if (!box || (gathers_views_ && parameter && !box->empty())) return false;
    layout.shares.push_back({devices[i], {box->begin(), box->end()}});
  }
  OpSplit split(axes_, tensor.producer, op, layout);
  if (!SplitByAll(layout, split)) return false;
  const TensorId base = op.inputs.front();
  std::vector<TensorBox> of_base;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (split.OutputBox(0, i) != boxes[i]) return false;
    of_base.push_back(split.InputBox(0, i));
  }
  Prepare(base, version, devices, of_base);
  const TensorState gathered = store_.StateAt(base, version);
  if (gathered.IsPartial()) return false;
  std::vector<TensorId> viewed;
  for (size_t i = 0; i < devices.size(); ++i) {
    const Piece* const piece = gathered.On(devices[i]);
    if (piece == nullptr) return false;
    const auto at = static_cast<size_t>(piece - gathered.pieces.data());
    if (gathered.BoxAt(at) != of_base[i]) return false;
    viewed.push_back(piece->tensor);
  }
  TensorState views;
  views.pieces.reserve(devices.size());
  const TensorId like = store_.state(id).pieces.front().tensor;
  const bool may_repeat = emitter_.is_folding() && split.IsByLengthsAlone();
  std::vector<TensorId> again;
  for (size_t i = 0; i < devices.size(); ++i) {
    again.clear();
    if (!may_repeat || !emitter_.AddAgain({&viewed[i], 1}, devices[i], again)) {
      again = {emitter_.AddPartView(split.KeyOf(i), split.CallOf(i),
                                    ShapeOf(tensor.shape, boxes[i]), like, viewed[i], devices[i])};
    }
    views.pieces.push_back({devices[i], again.front()});
  }
  const bool whole =
      std::all_of(boxes.begin(), boxes.end(), [](const TensorBox& box) { return box.empty(); });
  if (!whole) views.boxes = boxes;
  store_.SetCompleted(id, version, std::move(views));
  return true;
}

// A parameter that waits for when it is wanted (rewrites/prefetch.h): what brings it has to be an op.
bool Fetcher::IsFetchedByOps(TensorId id) const {
  const StorageId storage = graph_.tensor(id).storage;
  return gathers_views_ && graph_.storage(storage).kind == TensorKind::kParameter;
}

// Where all of its shares have the same axes, and the op can be split by all of them.
bool Fetcher::SplitByAll(const Layout& layout, OpSplit& split) {
  const Box& first = layout.shares.front().box;
  std::vector<OpSplit::By> by;
  for (const AxisInterval& one : first) {
    const auto found = split.ByAxis(one.axis);
    if (!found) return false;
    by.push_back(*found);
  }
  for (const Share& share : layout.shares) {
    const bool alike =
        std::equal(share.box.begin(), share.box.end(), first.begin(), first.end(),
                   [](const AxisInterval& a, const AxisInterval& b) { return a.axis == b.axis; });
    if (!alike) return false;
  }
  split.Set({by.begin(), by.end()});
  return true;
}

// Those of the devices that have nothing of it yet.
std::vector<DeviceId> Fetcher::WithoutCopies(TensorId id, int32_t version,
                                             const std::vector<DeviceId>& devices) {
  std::vector<DeviceId> without;
  const TensorState& state = store_.StateAt(id, version);
  for (const DeviceId device : devices) {
    const bool fetched = store_.FindFetched(id, version, device, {}).valid();
    if (!fetched && state.On(device) == nullptr) without.push_back(device);
  }
  return without;
}

// What a view shows all of, with the content that it had when the view was made; none: it is no such view.
TensorId Fetcher::ViewedBy(TensorId id, int32_t version) {
  const Tensor& tensor = graph_.tensor(id);
  if (!tensor.producer.valid()) return TensorId();
  const Op& op = graph_.op(tensor.producer);
  const bool simple = op.is_view && op.inputs.size() == 1 && op.outputs.size() == 1 &&
                      op.input_versions.front() == version;
  if (!simple || graph_.tensor(op.inputs.front()).bytes > tensor.bytes) return TensorId();
  store_.Look(op.inputs.front());
  const TensorState& viewed = store_.state(op.inputs.front());
  const bool beside = viewed.IsWhole() && viewed.pieces.size() == 1 &&
                      viewed.pieces.front().device == store_.state(id).pieces.front().device;
  return beside ? op.inputs.front() : TensorId();
}

void Fetcher::PrepareCopies(TensorId id, int32_t version, const std::vector<DeviceId>& devices) {
  const size_t enough = IsFetchedByOps(id) ? 1 : 2;
  if (!broadcasts_ || devices.size() < enough || IsOfInput(id)) return;
  const TensorState& own = store_.state(id);
  if (!own.IsWhole() || own.pieces.size() != 1) return;
  const TensorId base = ViewedBy(id, version);
  if (base.valid()) {
    PrepareCopies(base, version, devices);
    return AddViews(id, version, base);
  }
  const std::vector<DeviceId> others = WithoutCopies(id, version, devices);
  if (others.size() < enough) return;
  const std::vector<Piece> made = EmitBroadcast(emitter_, own.pieces.front(), others);
  TensorState copied = store_.StateAt(id, version);
  copied.pieces.insert(copied.pieces.end(), made.begin(), made.end());
  store_.SetCompleted(id, version, std::move(copied));
}

// On all devices that have copies of what is viewed.
void Fetcher::AddViews(TensorId id, int32_t version, TensorId base) {
  TensorState copied = store_.StateAt(id, version);
  const TensorState& of_base = store_.StateAt(base, version);
  for (const Piece& piece : of_base.pieces) {
    if (copied.On(piece.device) != nullptr) continue;
    const TensorId view =
        emitter_.AddViewOf(store_.state(id).pieces.front().tensor, piece.tensor, piece.device);
    copied.pieces.push_back({piece.device, view});
  }
  store_.SetCompleted(id, version, std::move(copied));
}

void Fetcher::Add(TensorId id, FetchedPart part) {
  if (IsInput(id)) {
    store_.AddFetchedInput(id, std::move(part));
  } else {
    store_.AddFetched(id, std::move(part));
  }
}

TensorId Fetcher::Whole(TensorId id, int32_t version, DeviceId device) {
  const TensorId found = store_.FindFetched(id, version, device, {});
  if (found.valid()) return found;
  const TensorId whole =
      IsInput(id) ? WholeInput(id, device) : Assemble(id, store_.StateAt(id, version), {}, device);
  Add(id, {version, device, {}, whole});
  return whole;
}

// The same on every device, but a tensor of its own on each, so that each may view it.
TensorId Fetcher::WholeInput(TensorId id, DeviceId device) {
  const bool shared = !emitter_.folds() && store_.IsFirstReader(id, device);
  if (shared) return store_.state(id).pieces.front().tensor;
  return emitter_.AddInput(id, device);
}

// When `bytes` of a piece arrive at a device: at once on its own.
Nanos Fetcher::ArrivalOf(const Piece& piece, DeviceId device, Bytes bytes) const {
  if (piece.device == device) return Nanos(-1);
  const Cluster& cluster = emitter_.cluster();
  return cluster.Connected(piece.device, device)
             ? cluster.TransferDuration(piece.device, device, bytes)
             : Nanos(kMaxQuantity);
}

TensorId Fetcher::Part(TensorId id, int32_t version, const TensorBox& box, DeviceId device) {
  if (box.empty()) return Whole(id, version, device);
  const TensorId found = store_.FindFetched(id, version, device, box);
  if (found.valid()) return found;
  // What has been gathered is for those that need all of it: a part is one of the pieces, which an op in
  // place then writes.
  const TensorState& own = store_.state(id);
  const bool same_axes = own.boxes.HaveAxesOf(box);
  // Where a group has gathered just that, of which it is more than a piece, it is there.
  const TensorState& ready = store_.StateAt(id, version);
  const auto is_there = [&](const TensorState& state, const auto& holds) {
    return state.On(device) != nullptr && holds(state.BoxAt(state.IndexOn(device)));
  };
  const bool gathered = !ready.IsPartial() &&
                        is_there(ready, [&](const TensorBox& has) { return has == box; }) &&
                        !is_there(own, [&](const TensorBox& has) { return Contains(has, box); });
  const TensorId part =
      MakePart(id, same_axes && !own.IsPartial() && !gathered ? own : ready, box, device);
  Add(id, {version, device, box, part});
  return part;
}

// What Part asks first.
bool Fetcher::HasItself(const TensorState& own, const TensorBox& box, DeviceId device) {
  return own.On(device) != nullptr && Contains(own.BoxAt(own.IndexOn(device)), box);
}

const std::vector<TensorId>* Fetcher::PartsThere(TensorId id, int32_t version,
                                                 const std::vector<DeviceId>& devices,
                                                 const PieceBoxes& boxes) {
  if (!store_.takes_pieces() || IsInput(id)) return nullptr;
  if (const FetchedPieces* const known = store_.FindPieces(id, version, devices, boxes)) {
    return &known->made;
  }
  FetchedPieces there{version, devices, boxes, {}};
  there.made.reserve(devices.size());
  if (store_.IsFetched(id, version)) {
    for (size_t i = 0; i < devices.size(); ++i) {
      there.made.push_back(store_.FindFetched(id, version, devices[i], boxes[i]));
      if (!there.made.back().valid()) return nullptr;
    }
    return &store_.AddPieces(id, std::move(there))->made;
  }
  const TensorState& own = store_.state(id);
  const TensorState& ready = store_.StateAt(id, version);
  if (ready.IsPartial() || ready.pieces.size() < devices.size() || !ready.boxes.AreApart()) {
    return nullptr;
  }
  const bool may_keep = &own != &ready && own.IsSplit() && !own.IsPartial();
  for (size_t i = 0; i < devices.size(); ++i) {
    const bool beside = ready.pieces[i].device == devices[i];
    const Piece* const piece = beside ? &ready.pieces[i] : ready.On(devices[i]);
    if (piece == nullptr) return nullptr;
    const auto at = static_cast<size_t>(piece - ready.pieces.data());
    if (ready.BoxAt(at) != boxes[i]) return nullptr;
    // Part gives it what it had before something was gathered.
    if (may_keep && !boxes[i].empty() && HasItself(own, boxes[i], devices[i])) return nullptr;
    there.made.push_back(piece->tensor);
  }
  return &store_.AddPieces(id, std::move(there))->made;
}

TensorId Fetcher::MakePart(TensorId id, const TensorState& state, const TensorBox& box,
                           DeviceId device) {
  if (IsInput(id)) return emitter_.AddInput(id, DeviceId(), box, device);
  if (!IsOfAnotherAxis(state, box)) return Assemble(id, state, box, device);
  return EmitSplit(emitter_, Assemble(id, state, {}, device), box, device);
}

namespace {

struct Cutting {
  AxisPlace place;
  std::vector<Interval> intervals;
};

bool HaveNothingInCommon(const TensorBox& a, const TensorBox& b) {
  return std::any_of(a.begin(), a.end(), [&](const AxisPart& one) {
    const Interval other = AlongPlace(b, one.place);
    return one.interval.to <= other.from || other.to <= one.interval.from;
  });
}

// Where pieces that have only some of the box begin and end in it: along an axis where none of them is cut, if there is
// one. Nothing where each piece has all of the box or nothing.
std::optional<Cutting> CuttingOf(const TensorState& state, const TensorBox& box) {
  if (!state.IsSplit()) return std::nullopt;
  std::vector<AxisPart> ends;  // [0, x): something begins or ends at x
  for (const TensorBox& piece : state.boxes) {
    if (HaveNothingInCommon(piece, box)) continue;
    for (const auto& [place, interval] : piece) {
      const Interval within = AlongPlace(box, place);
      for (const int64_t at : {interval.from, interval.to}) {
        if (at > within.from && at < within.to) ends.push_back({place, {0, at}});
      }
    }
  }
  if (ends.empty()) return std::nullopt;
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  const bool one_axis = OnlyPlaceOf(state).dimension >= 0;
  const auto is_clean = [&](const AxisPart& end) {
    return one_axis ||
           std::none_of(state.boxes.begin(), state.boxes.end(), [&](const TensorBox& piece) {
             const Interval along = AlongPlace(piece, end.place);
             const bool cut = along.from < end.interval.to && end.interval.to < along.to;
             return cut && !HaveNothingInCommon(piece, box);
           });
  };
  const auto clean = std::find_if(ends.begin(), ends.end(), is_clean);
  const AxisPlace place = clean == ends.end() ? ends.front().place : clean->place;
  const Interval within = AlongPlace(box, place);
  Cutting cutting{place, {}};
  int64_t from = within.from;
  for (const AxisPart& end : ends) {
    if (end.place != place || (clean != ends.end() && !is_clean(end))) continue;
    cutting.intervals.push_back({from, end.interval.to});
    from = end.interval.to;
  }
  cutting.intervals.push_back({from, within.to});
  return cutting;
}

}  // namespace

Bytes Fetcher::BytesOf(TensorId id, const TensorBox& box) const {
  Bytes bytes = graph_.tensor(id).bytes;
  for (const auto& [place, interval] : box) {
    bytes = Bytes(bytes.count / place.size * interval.length());
  }
  return bytes;
}

// The box, of pieces that have parts of it: what crosses is cut where it is.
TensorId Fetcher::Assemble(TensorId id, const TensorState& state, const TensorBox& box,
                           DeviceId device) {
  if (state.pieces.size() == 1 && state.IsWhole()) {  // the commonest
    const Piece& only = state.pieces.front();
    return EmitSplit(emitter_, only.tensor, box, only.device);
  }
  PW_CHECK(!state.pieces.empty());  // the graph's order makes a tensor before it is read
  // Mostly within its own piece, and the others' have nothing of that: without a look at all of them.
  const Piece* const own = state.IsPartial() ? nullptr : state.On(device);
  if (own != nullptr && state.boxes.AreApart()) {
    const TensorBox& has = state.BoxAt(static_cast<size_t>(own - state.pieces.data()));
    if (Contains(has, box)) return EmitSplit(emitter_, own->tensor, PartWithin(has, box), device);
  }
  const std::optional<Cutting> cutting = CuttingOf(state, box);
  if (!cutting) return AddUp(id, state, box, device);
  std::vector<Piece> parts;
  for (const Interval& interval : cutting->intervals) {
    const TensorBox part = WithInterval(box, cutting->place, interval);
    parts.push_back({device, Assemble(id, state, part, device)});
  }
  return EmitConcat(emitter_, parts, PlaceWithin(box, cutting->place), device);
}

// Of pieces from which something arrives at once: the first where one of them is on the device's host. Other hosts and
// their devices take turns, so that the first one does not send to all.
size_t Fetcher::NextInTurn(std::span<const size_t> nearest, const TensorState& state,
                           DeviceId device) const {
  const Cluster& cluster = emitter_.cluster();
  const auto host_of = [&](size_t piece) {
    return cluster.device(state.pieces[piece].device).host;
  };
  const Device& reader = cluster.device(device);
  std::vector<int32_t> hosts;
  for (const size_t piece : nearest) {
    if (host_of(piece) == reader.host) return nearest.front();
    if (std::find(hosts.begin(), hosts.end(), host_of(piece)) == hosts.end()) {
      hosts.push_back(host_of(piece));
    }
  }
  const int32_t host = hosts[static_cast<size_t>(reader.host) % hosts.size()];
  std::vector<size_t> there;
  std::copy_if(nearest.begin(), nearest.end(), std::back_inserter(there),
               [&](size_t piece) { return host_of(piece) == host; });
  size_t place = 0;  // of the device among its host's of the kind
  for (const DeviceId other : cluster.devices()) {
    const Device& of = cluster.device(other);
    place += other < device && of.host == reader.host && of.kind == reader.kind;
  }
  return there[place % there.size()];
}

// Of the pieces that have the box one from which it arrives first.
size_t Fetcher::NearestWith(const TensorState& state, const TensorBox& box, DeviceId device,
                            Bytes bytes) const {
  // Mostly its own, without a look at all the others.
  for (size_t i = 0; i < state.pieces.size(); ++i) {
    if (state.pieces[i].device == device && Contains(state.BoxAt(i), box)) return i;
  }
  std::vector<size_t> nearest;
  Nanos first(kMaxQuantity);
  for (size_t i = 0; i < state.pieces.size(); ++i) {
    if (!Contains(state.BoxAt(i), box)) continue;
    const Nanos arrival = ArrivalOf(state.pieces[i], device, bytes);
    if (!nearest.empty() && arrival > first) continue;
    if (arrival < first) nearest.clear();
    first = arrival;
    nearest.push_back(i);
  }
  PW_CHECK(!nearest.empty());  // pieces have all of what they are of
  return nearest.size() == 1 ? nearest.front() : NextInTurn(nearest, state, device);
}

// The box, of pieces that each have all of it or nothing: of each part of the sum one, taken from where it arrives first,
// of several such the first.
TensorId Fetcher::AddUp(TensorId id, const TensorState& state, const TensorBox& box,
                        DeviceId device) {
  const Bytes bytes = BytesOf(id, box);
  const auto cut = [&](size_t at) {
    const Piece& piece = state.pieces[at];
    const TensorBox part = PartWithin(state.BoxAt(at), box);
    return Piece{piece.device, EmitSplit(emitter_, piece.tensor, part, piece.device)};
  };
  if (!state.IsPartial()) return cut(NearestWith(state, box, device, bytes)).tensor;
  std::vector<Box> summed;
  std::vector<size_t> nearest;  // piece, by part of the sum
  std::vector<Nanos> arrivals;
  for (size_t i = 0; i < state.pieces.size(); ++i) {
    if (!Contains(state.BoxAt(i), box)) continue;
    const Nanos arrival = ArrivalOf(state.pieces[i], device, bytes);
    const auto same = std::find(summed.begin(), summed.end(), state.SummedAt(i)) - summed.begin();
    if (static_cast<size_t>(same) == summed.size()) {
      summed.push_back(state.SummedAt(i));
      nearest.push_back(i);
      arrivals.push_back(arrival);
    } else if (arrival < arrivals[static_cast<size_t>(same)]) {
      nearest[static_cast<size_t>(same)] = i;
      arrivals[static_cast<size_t>(same)] = arrival;
    }
  }
  std::vector<Piece> parts;
  for (const size_t chosen : ChosenOnce(axes_, summed)) parts.push_back(cut(nearest[chosen]));
  return EmitAddN(emitter_, parts, device);
}

}  // namespace placewright
