// What is known of the tensors of the original step while it is distributed (internal to the module): where
// each is, and what has been fetched of it. Who made an entry is kept, so that an op that comes earlier does not see
// it when it is written again, and what an op wrote can be taken back.
#ifndef PLACEWRIGHT_COMPILE_FETCH_STORE_H_
#define PLACEWRIGHT_COMPILE_FETCH_STORE_H_

#include <cstdint>
#include <list>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "compile/tensor_state.h"

namespace placewright {

// A part of a tensor on a device, or all of it.
struct FetchedPart {
  int32_t version;
  DeviceId device;
  TensorBox box;
  TensorId made;
  int32_t maker =
      -1;  // place of the op that fetched it; -1: it is part of an input, there from the beginning
  int32_t epoch = 0;
  friend bool operator==(const FetchedPart&, const FetchedPart&) = default;
};

// The same for several devices at once: what the pieces have is what these read.
struct FetchedPieces {
  int32_t version;
  std::vector<DeviceId> devices;
  PieceBoxes boxes;  // by device
  std::vector<TensorId> made;
  int32_t epoch = 0;
  friend bool operator==(const FetchedPieces&, const FetchedPieces&) = default;
};

// A tensor at a version once it was completed, gathered or copied for several devices at once.
struct CompletedState {
  int32_t version;
  TensorState state;
  int32_t maker = -1;
  int32_t epoch = 0;
  friend bool operator==(const CompletedState&, const CompletedState&) = default;
};

// What is known of a tensor of the original.
struct TensorRecord {
  TensorState state;
  std::vector<CompletedState> completed;
  std::vector<FetchedPart> fetched;  // by device, ascending
  std::list<FetchedPieces> pieces;   // what was made of them is read while there come to be more
  DeviceId first_reader;
  friend bool operator==(const TensorRecord&, const TensorRecord&) = default;
};

class TensorForms;
struct TensorForm;

// A form, and what is of the tensor's own: by the form's numbers.
struct FormedTensor {
  const TensorForm* form = nullptr;
  std::vector<TensorId> tensors;
  std::vector<AxisId> axes;
};

class FetchStore {
 public:
  // `keeps_users`: who looked at a tensor is kept, for steps that are written again in part.
  FetchStore(size_t tensors, bool keeps_users)
      : keeps_users_(keeps_users), records_(tensors), users_(keeps_users ? tensors : 0) {}

  // What is fetched of these tensors in one epoch is not used in another, but for sums that were completed;
  // `regathered`: by tensor, or none of them.
  void SetRegathered(IdVector<TensorId, char> regathered) { regathered_ = std::move(regathered); }
  bool IsRegathered(TensorId id) const { return !regathered_.empty() && regathered_[id] != 0; }
  // Of what follows.
  void SetEpoch(int32_t epoch) { epoch_ = epoch; }

  // What follows is done for the op at this place of the step. What it fetched before is taken back.
  void Begin(int32_t place);
  // Of the same op: the tensors of which it fetched other things than before; `all`: of which it fetched
  // anything, before or now.
  std::vector<TensorId> End(bool all);

  // From here on what is taken back is kept; what was kept is forgotten.
  void Record() { kept_.clear(); }
  // What all ops since Record have fetched is again what they had before; states are the caller's.
  void Undo();

  const TensorState& state(TensorId id) { return Of(id).state; }
  TensorState& MutableState(TensorId id) { return Changed(id).state; }
  // At a version: what was completed up to now, or the tensor's own state.
  const TensorState& StateAt(TensorId id, int32_t version);
  void SetCompleted(TensorId id, int32_t version, TensorState state);
  // Invalid where it was not fetched up to now.
  TensorId FindFetched(TensorId id, int32_t version, DeviceId device, const TensorBox& box);
  void AddFetched(TensorId id, FetchedPart part);
  // All of that at once, where a step is written once: nullptr where it is not there as one. Valid until more is added
  // for the tensor.
  bool takes_pieces() const { return !keeps_users_; }
  const FetchedPieces* FindPieces(TensorId id, int32_t version,
                                  const std::vector<DeviceId>& devices, const PieceBoxes& boxes);
  const FetchedPieces* AddPieces(TensorId id, FetchedPieces pieces);
  // Something of it was fetched at this version.
  bool IsFetched(TensorId id, int32_t version);
  // Of an input, one for the whole step.
  void AddFetchedInput(TensorId id, FetchedPart part) {
    Insert(std::move(part), Changed(id).fetched);
  }
  // Whether the device is the first that reads the input as a whole.
  bool IsFirstReader(TensorId id, DeviceId device);
  void Look(TensorId id);
  // Places of the ops that looked at it.
  std::span<const int32_t> users(TensorId id) const {
    return keeps_users_ ? users_[id] : std::span<const int32_t>();
  }

  // Where a step is written once: what is known of tensors may be given as what others have in common
  // (tensor_forms.h), and is written out when it is looked at.
  void UseForms(TensorForms& forms);
  const FormedTensor& FormOf(TensorId id);
  void SetForm(TensorId id, FormedTensor formed);
  // The tensors that were looked at or changed since the last call.
  std::vector<TensorId> TakeTouched() { return std::exchange(touched_, {}); }
  bool HasForm(TensorId id) const { return formed_[id].form != nullptr; }

  // The storage has been written through views of fetched copies: its own pieces are out of date.
  void SetStale(StorageId id) { stale_.insert(id); }
  bool IsStale(StorageId id) const { return stale_.contains(id); }
  bool any_stale() const { return !stale_.empty(); }

 private:
  struct Taken {
    TensorId tensor;
    std::vector<CompletedState> completed;
    std::vector<FetchedPart> fetched;
  };
  struct Kept {
    int32_t place;
    std::vector<Taken> taken;
  };
  int32_t EpochOf(TensorId id) {
    return IsRegathered(id) && !Of(id).state.IsPartial() ? epoch_ : 0;
  }
  static void Insert(FetchedPart part, std::vector<FetchedPart>& fetched);
  TensorRecord& Of(TensorId id) {
    if (forms_ != nullptr) Touch(id);
    return records_[id];
  }
  TensorRecord& Changed(TensorId id);
  void Touch(TensorId id);
  void TakeBack(int32_t place);
  void NoteMade(TensorId id);
  Taken EntriesOf(TensorId id, int32_t maker) const;

  const bool keeps_users_;
  IdVector<TensorId, char> regathered_;
  int32_t place_ = 0, epoch_ = 0;
  IdVector<TensorId, TensorRecord> records_;
  IdVector<TensorId, std::vector<int32_t>> users_;  // ascending
  TensorForms* forms_ = nullptr;                    // none: all are written out
  IdVector<TensorId, FormedTensor>
      formed_;  // what records are, or were when they were last asked for
  IdVector<TensorId, char> written_out_;
  std::vector<TensorId> touched_;
  std::vector<std::vector<TensorId>>
      made_of_;  // by place: the tensors of which the op made entries
  std::vector<Taken> taken_;
  std::vector<Kept> kept_;
  std::set<StorageId> stale_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_FETCH_STORE_H_
