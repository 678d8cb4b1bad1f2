#include "compile/fetch_store.h"

#include <algorithm>

#include "base/check.h"
#include "compile/tensor_forms.h"

namespace placewright {

void FetchStore::UseForms(TensorForms& forms) {
  PW_CHECK(!keeps_users_);
  forms_ = &forms;
  formed_.resize(records_.size());
  written_out_.assign(records_.size(), 1);
}

// Most tensors of layers that repeat are never looked at but by ops that repeat, too: they stay forms.
void FetchStore::Touch(TensorId id) {
  touched_.push_back(id);
  if (std::exchange(written_out_[id], 1) == 0) records_[id] = forms_->RecordOf(formed_[id]);
}

TensorRecord& FetchStore::Changed(TensorId id) {
  TensorRecord& record = Of(id);
  if (forms_ != nullptr) formed_[id].form = nullptr;
  return record;
}

const FormedTensor& FetchStore::FormOf(TensorId id) {
  if (formed_[id].form == nullptr) formed_[id] = forms_->FormOf(records_[id]);
  return formed_[id];
}

void FetchStore::SetForm(TensorId id, FormedTensor formed) {
  formed_[id] = std::move(formed);
  written_out_[id] = 0;
  records_[id] = {};
}

void FetchStore::Begin(int32_t place) {
  place_ = place;
  if (!keeps_users_) return;
  taken_.clear();
  if (made_of_.size() <= static_cast<size_t>(place))
    made_of_.resize(static_cast<size_t>(place) + 1);
  for (const TensorId id : made_of_[static_cast<size_t>(place)]) {
    taken_.push_back(EntriesOf(id, place));
  }
  TakeBack(place);
}

void FetchStore::TakeBack(int32_t place) {
  std::vector<TensorId>& made_of = made_of_[static_cast<size_t>(place)];
  for (const TensorId id : made_of) {
    std::erase_if(records_[id].completed, [&](const auto& one) { return one.maker == place; });
    std::erase_if(records_[id].fetched, [&](const auto& one) { return one.maker == place; });
  }
  made_of.clear();
}

void FetchStore::Undo() {
  for (const Kept& kept : kept_) {
    TakeBack(kept.place);
    for (const Taken& taken : kept.taken) {
      made_of_[static_cast<size_t>(kept.place)].push_back(taken.tensor);
      TensorRecord& known = records_[taken.tensor];
      known.completed.insert(known.completed.end(), taken.completed.begin(), taken.completed.end());
      for (const FetchedPart& part : taken.fetched) Insert(part, known.fetched);
    }
  }
  kept_.clear();
}

std::vector<TensorId> FetchStore::End(bool all) {
  std::vector<TensorId> changed;
  if (!keeps_users_) return changed;
  const std::vector<TensorId>& made_of = made_of_[static_cast<size_t>(place_)];
  for (const Taken& before : taken_) {
    const Taken now = EntriesOf(before.tensor, place_);
    if (all || now.completed != before.completed || now.fetched != before.fetched) {
      changed.push_back(before.tensor);
    }
  }
  for (const TensorId id : made_of) {
    const bool had = std::any_of(taken_.begin(), taken_.end(),
                                 [&](const Taken& before) { return before.tensor == id; });
    if (!had) changed.push_back(id);
  }
  if (!taken_.empty() || !made_of.empty()) kept_.push_back({place_, std::move(taken_)});
  taken_.clear();
  return changed;
}

FetchStore::Taken FetchStore::EntriesOf(TensorId id, int32_t maker) const {
  Taken entries{id, {}, {}};
  for (const CompletedState& one : records_[id].completed) {
    if (one.maker == maker) entries.completed.push_back(one);
  }
  for (const FetchedPart& one : records_[id].fetched) {
    if (one.maker == maker) entries.fetched.push_back(one);
  }
  return entries;
}

void FetchStore::NoteMade(TensorId id) {
  if (!keeps_users_) return;
  std::vector<TensorId>& made_of = made_of_[static_cast<size_t>(place_)];
  if (std::find(made_of.begin(), made_of.end(), id) == made_of.end()) made_of.push_back(id);
}

void FetchStore::Look(TensorId id) {
  if (!keeps_users_) return;
  std::vector<int32_t>& users = users_[id];
  const auto at = std::lower_bound(users.begin(), users.end(), place_);
  if (at == users.end() || *at != place_) users.insert(at, place_);
}

// Of several the one that was made last before the op, or by it.
const TensorState& FetchStore::StateAt(TensorId id, int32_t version) {
  Look(id);
  const CompletedState* newest = nullptr;
  const TensorRecord& record = Of(id);
  const int32_t epoch = EpochOf(id);
  for (const CompletedState& one : record.completed) {
    if (one.version != version || one.maker > place_ || one.epoch != epoch) continue;
    if (newest == nullptr || newest->maker <= one.maker) newest = &one;
  }
  return newest != nullptr ? newest->state : record.state;
}

void FetchStore::SetCompleted(TensorId id, int32_t version, TensorState state) {
  NoteMade(id);
  const int32_t epoch = EpochOf(id);
  std::vector<CompletedState>& completed = Changed(id).completed;
  for (CompletedState& one : completed) {
    if (one.version != version || one.maker != place_) continue;
    one.state = std::move(state);
    return;
  }
  completed.push_back({version, std::move(state), place_, epoch});
}

TensorId FetchStore::FindFetched(TensorId id, int32_t version, DeviceId device,
                                 const TensorBox& box) {
  Look(id);
  const FetchedPart* earliest = nullptr;
  const int32_t epoch = EpochOf(id);
  const TensorRecord& record = Of(id);
  const std::vector<FetchedPart>& fetched = record.fetched;
  const auto begin =
      std::lower_bound(fetched.begin(), fetched.end(), device,
                       [](const FetchedPart& one, DeviceId of) { return one.device < of; });
  for (auto at = begin; at != fetched.end() && at->device == device; ++at) {
    const FetchedPart& one = *at;
    const bool same = one.version == version && one.box == box;
    if (!same || one.maker > place_ || one.epoch != epoch) continue;
    if (earliest == nullptr || one.maker < earliest->maker) earliest = &one;
  }
  if (earliest != nullptr) return earliest->made;
  for (const FetchedPieces& one : record.pieces) {
    if (one.version != version || one.epoch != epoch) continue;
    const auto on = std::find(one.devices.begin(), one.devices.end(), device);
    const auto at = static_cast<size_t>(on - one.devices.begin());
    if (on != one.devices.end() && one.boxes[at] == box) return one.made[at];
  }
  return TensorId();
}

const FetchedPieces* FetchStore::FindPieces(TensorId id, int32_t version,
                                            const std::vector<DeviceId>& devices,
                                            const PieceBoxes& boxes) {
  const int32_t epoch = EpochOf(id);
  const std::list<FetchedPieces>& pieces = Of(id).pieces;
  const auto at = std::find_if(pieces.begin(), pieces.end(), [&](const FetchedPieces& one) {
    return one.version == version && one.epoch == epoch && one.devices == devices &&
           one.boxes == boxes;
  });
  return at == pieces.end() ? nullptr : &*at;
}

const FetchedPieces* FetchStore::AddPieces(TensorId id, FetchedPieces pieces) {
  pieces.epoch = EpochOf(id);
  return &Changed(id).pieces.emplace_back(std::move(pieces));
}

bool FetchStore::IsFetched(TensorId id, int32_t version) {
  const int32_t epoch = EpochOf(id);
  const auto is_one = [&](const auto& one) { return one.version == version && one.epoch == epoch; };
  const TensorRecord& known = Of(id);
  return std::any_of(known.pieces.begin(), known.pieces.end(), is_one) ||
         std::any_of(known.fetched.begin(), known.fetched.end(), is_one);
}

void FetchStore::AddFetched(TensorId id, FetchedPart part) {
  NoteMade(id);
  part.maker = place_;
  part.epoch = EpochOf(id);
  Insert(std::move(part), Changed(id).fetched);
}

void FetchStore::Insert(FetchedPart part, std::vector<FetchedPart>& fetched) {
  // Devices mostly come in their order.
  if (fetched.empty() || !(part.device < fetched.back().device)) {
    fetched.push_back(std::move(part));
    return;
  }
  const auto at =
      std::upper_bound(fetched.begin(), fetched.end(), part.device,
                       [](DeviceId of, const FetchedPart& one) { return of < one.device; });
  fetched.insert(at, std::move(part));
}

bool FetchStore::IsFirstReader(TensorId id, DeviceId device) {
  if (keeps_users_) return false;  // who comes first may change
  DeviceId& first = Changed(id).first_reader;
  if (!first.valid()) first = device;
  return first == device;
}

}  // namespace placewright
