#include "compile/tensor_forms.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "compile/numbering.h"

namespace placewright {
namespace {

// Tensors and axes by other numbers.
template <class NewTensor, class NewAxis>
void Renumber(TensorState& state, const NewTensor& tensor, const NewAxis& axis) {
  for (Piece& piece : state.pieces) piece.tensor = tensor(piece.tensor);
  std::vector<AxisInterval> renumbered;
  for (Box& box : state.summed) {
    renumbered.clear();
    for (const AxisInterval& one : box) renumbered.push_back({axis(one.axis), one.interval});
    box = {renumbered.begin(), renumbered.end()};
  }
}

template <class NewTensor, class NewAxis>
void Renumber(TensorRecord& record, const NewTensor& tensor, const NewAxis& axis) {
  Renumber(record.state, tensor, axis);
  for (CompletedState& one : record.completed) Renumber(one.state, tensor, axis);
  for (FetchedPart& one : record.fetched) one.made = tensor(one.made);
  for (FetchedPieces& one : record.pieces) {
    for (TensorId& made : one.made) made = tensor(made);
  }
}

class Hash {
 public:
  void Add(int64_t number) { hash_ = Random(hash_ ^ static_cast<uint64_t>(number)).Next(); }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0;
};

void AddTo(Hash& hash, const TensorState& state) {
  hash.Add(static_cast<int64_t>(state.pieces.size()));
  for (const Piece& piece : state.pieces) {
    hash.Add(int64_t{piece.device.value()} << 32 | piece.tensor.value());
  }
  hash.Add(static_cast<int64_t>(state.boxes.size()));
  if (!state.boxes.empty()) hash.Add(static_cast<int64_t>(state.boxes.front().size()));
  hash.Add(static_cast<int64_t>(state.summed.size()));
  hash.Add((state.of_copies ? 2 : 0) + (state.of_parts ? 1 : 0));
}

}  // namespace

TensorForms::TensorForms(int image_bits, MadeOf made_of, AxisSize size_of)
    : mask_((size_t{1} << image_bits) - 1),
      made_of_(std::move(made_of)),
      size_of_(std::move(size_of)) {}

uint64_t TensorForms::HashOf(const TensorForm& form) {
  Hash hash;
  AddTo(hash, form.record.state);
  for (const CompletedState& one : form.record.completed) {
    hash.Add(one.version);
    hash.Add(one.epoch);
    AddTo(hash, one.state);
  }
  for (const FetchedPart& one : form.record.fetched) {
    hash.Add(one.epoch);
    hash.Add(int64_t{one.device.value()} << 32 | one.made.value());
  }
  for (const FetchedPieces& one : form.record.pieces) {
    hash.Add(one.epoch);
    for (const TensorId made : one.made) hash.Add(made.value());
  }
  for (const MadeTensor& made : form.tensors) hash.Add(made.type.value());
  for (const int64_t size : form.axes) hash.Add(size);
  return hash.value();
}

FormedTensor TensorForms::FormOf(const TensorRecord& record) {
  FormedTensor formed;
  auto form = std::make_unique<TensorForm>();
  form->record = record;
  for (CompletedState& one : form->record.completed) one.maker = -1;
  for (FetchedPart& one : form->record.fetched) one.maker = -1;
  Renumber(
      form->record,
      [&](TensorId id) {
        return id.valid()
                   ? WithLane(static_cast<size_t>(NumberIn(formed.tensors, StandsFor(id))), id)
                   : id;
      },
      [&](AxisId axis) { return AxisId(NumberIn(formed.axes, axis)); });
  for (const TensorId id : formed.tensors) form->tensors.push_back(made_of_(id));
  for (const AxisId axis : formed.axes) form->axes.push_back(size_of_(axis));
  const uint64_t hash = HashOf(*form);
  const auto [begin, end] = forms_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    const TensorForm& other = *known->second;
    const bool same =
        other.tensors == form->tensors && other.axes == form->axes && other.record == form->record;
    if (!same) continue;
    formed.form = &other;
    return formed;
  }
  form->number = static_cast<int32_t>(forms_.size());
  formed.form = forms_.emplace(hash, std::move(form))->second.get();
  return formed;
}

TensorRecord TensorForms::RecordOf(const FormedTensor& formed) const {
  TensorRecord record = formed.form->record;
  Renumber(
      record,
      [&](TensorId id) {
        return id.valid() ? WithLane(formed.tensors[StandsFor(id).index()].index(), id) : id;
      },
      [&](AxisId axis) { return formed.axes[axis.index()]; });
  return record;
}

}  // namespace placewright
