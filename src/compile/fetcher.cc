#include "compile/fetcher.h"

#include <algorithm>

#include "base/check.h"
#include "compile/rewrites/rewrites.h"

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

void Fetcher::PrepareWhole(TensorId id, int32_t version, const std::vector<DeviceId>& devices) {
  const TensorState& state = store_.StateAt(id, version);
  if (!collectives_ || state.IsWhole() || devices.size() < 2 || IsInput(id)) return;
  std::set<DeviceId> wanted(devices.begin(), devices.end()), having;
  for (const Piece& piece : state.pieces) having.insert(piece.device);
  if (wanted != having) return;
  TensorState whole =
      state.IsPartial() ? EmitAllReduce(emitter_, state) : EmitAllGather(emitter_, state);
  store_.SetCompleted(id, version, std::move(whole));
}

void Fetcher::PreparePart(TensorId id, int32_t version,
                          const std::map<DeviceId, TensorBox>& boxes) {
  const TensorState& state = store_.StateAt(id, version);
  if (!collectives_ || !state.IsPartial() || boxes.size() < 2) return;
  const bool same = state.pieces.size() == boxes.size() &&
                    std::all_of(state.pieces.begin(), state.pieces.end(),
                                [&](const Piece& piece) { return boxes.contains(piece.device); });
  if (!same) return;
  TensorState split = EmitReduceScatter(emitter_, state, boxes);
  store_.SetCompleted(id, version, std::move(split));
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
  if (!broadcasts_ || devices.size() < 2 || IsOfInput(id)) return;
  const TensorState& own = store_.state(id);
  if (!own.IsWhole() || own.pieces.size() != 1) return;
  const TensorId base = ViewedBy(id, version);
  if (base.valid()) {
    PrepareCopies(base, version, devices);
    return AddViews(id, version, base);
  }
  const std::vector<DeviceId> others = WithoutCopies(id, version, devices);
  if (others.size() < 2) return;
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
      IsInput(id) ? WholeInput(id, device) : MakeWhole(id, store_.StateAt(id, version), device);
  Add(id, {version, device, {}, whole});
  return whole;
}

// The same on every device, but a tensor of its own on each, so that each may view it.
TensorId Fetcher::WholeInput(TensorId id, DeviceId device) {
  if (store_.IsFirstReader(id, device)) return store_.state(id).pieces.front().tensor;
  return emitter_.AddInput(id, device);
}

// Of what all pieces have, `bytes` are taken from here: from the device itself, or from where they arrive first, of
// several such the first.
const Piece& Fetcher::NearestOf(const TensorState& state, DeviceId device, Bytes bytes) const {
  if (const Piece* const own = state.On(device)) return *own;
  const Cluster& cluster = emitter_.cluster();
  const auto arrival = [&](const Piece& piece) {
    return cluster.Connected(piece.device, device)
               ? cluster.TransferDuration(piece.device, device, bytes)
               : Nanos(kMaxQuantity);
  };
  return *std::min_element(state.pieces.begin(), state.pieces.end(),
                           [&](const Piece& a, const Piece& b) { return arrival(a) < arrival(b); });
}

TensorId Fetcher::MakeWhole(TensorId id, const TensorState& state, DeviceId device) {
  PW_CHECK(!state.pieces.empty());  // the graph's order makes a tensor before it is read
  if (state.IsSplit()) return EmitConcat(emitter_, state, device);
  if (state.IsPartial()) return EmitAddN(emitter_, state.pieces, device);
  return NearestOf(state, device, graph_.tensor(id).bytes).tensor;
}

TensorId Fetcher::Part(TensorId id, int32_t version, const TensorBox& box, DeviceId device) {
  const auto& [place, interval] = box.front();
  if (interval == Interval{0, place.size}) return Whole(id, version, device);
  const TensorId found = store_.FindFetched(id, version, device, box);
  if (found.valid()) return found;
  // What has been gathered is for those that need all of it: a part is one of the pieces, which an op in
  // place then writes.
  const TensorState& own = store_.state(id);
  const TensorId part =
      MakePart(id, own.IsSplitAt(place) ? own : store_.StateAt(id, version), box, device);
  Add(id, {version, device, box, part});
  return part;
}

TensorId Fetcher::MakePart(TensorId id, const TensorState& state, const TensorBox& box,
                           DeviceId device) {
  if (IsInput(id)) return emitter_.AddInput(id, DeviceId(), box);
  const auto& [place, interval] = box.front();
  if (state.IsPartial()) {
    // Each device gives its part of its sum: what crosses is the part alone.
    std::vector<Piece> parts;
    for (const Piece& piece : state.pieces) {
      const TensorId part = EmitSplit(emitter_, piece.tensor, box, piece.device);
      parts.push_back({piece.device, part});
    }
    return EmitAddN(emitter_, parts, device);
  }
  if (state.IsWhole()) {
    const Bytes bytes(graph_.tensor(id).bytes.count / place.size * interval.length());
    const Piece& source = NearestOf(state, device, bytes);
    return EmitSplit(emitter_, source.tensor, box, source.device);
  }
  if (!state.IsSplitAt(place)) {
    const TensorId whole = MakeWhole(id, state, device);
    return EmitSplit(emitter_, whole, box, device);
  }
  TensorState parts;
  for (size_t i = 0; i < state.pieces.size(); ++i) {
    const Piece& piece = state.pieces[i];
    const Interval own = state.boxes[i].front().interval;
    const Interval common = {std::max(own.from, interval.from), std::min(own.to, interval.to)};
    if (common.from >= common.to) continue;
    TensorId part = piece.tensor;
    if (common != own) {
      AxisPlace local = place;
      local.size = own.length();
      const Interval within = {common.from - own.from, common.to - own.from};
      part = EmitSplit(emitter_, piece.tensor, {{local, within}}, piece.device);
    }
    parts.AddPart(piece.device, part, {{place, common}});
  }
  return EmitConcat(emitter_, parts, device);
}

}  // namespace placewright
