#include "check_plan/distributed/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "transforms/offload.h"

namespace placewright::check {

Contents::Contents(const Graph& original, const DistributedStep& step)
    : original_(original),
      step_(step),
      same_(original.tensor_count()),
      names_(step.graph.tensor_count()),
      contents_(step.graph.storage_count()) {
  FindCopied();
  FindSame();
  for (const StorageId id : step.graph.storages()) {
    contents_[id].resize(step.graph.storage(id).versions.size());
  }
  for (const DistributedStep::InputPiece& input : step.inputs) {
    const Part part = PartAt(input.box);
    const bool fits = Fits(input.original, part, input.piece);
    const auto knowledge = fits ? Content::kKnown : Content::kUnknown;
    SetFresh(input.piece, {same_[input.original], part, {knowledge, 0, {}, {}}});
  }
}

void Contents::FindCopied() {
  for (const StorageId id : original_.storages()) copied_.push_back(id);
  for (const OpId op : original_.ops()) {
    if (HostCopyOf(original_.op(op)) == HostCopy::kNone) continue;
    const StorageId read = original_.tensor(original_.op(op).inputs.front()).storage;
    copied_[original_.tensor(original_.op(op).outputs.front()).storage] = copied_[read];
  }
}

int32_t Contents::DueVersion(TensorId original, int32_t version) const {
  const StorageId storage = original_.tensor(original).storage;
  if (copied_[storage] == storage) return version;
  return static_cast<int32_t>(original_.storage(copied_[storage]).versions.size()) - 1;
}

void Contents::FindSame() {
  const auto key = [this](TensorId id) {
    const Tensor& tensor = original_.tensor(id);
    return std::tie(copied_[tensor.storage], tensor.offset, tensor.dtype, tensor.shape,
                    tensor.strides);
  };
  std::vector<TensorId> order;
  for (const TensorId id : original_.tensors()) order.push_back(id);
  std::sort(order.begin(), order.end(),
            [&](TensorId a, TensorId b) { return std::tuple(key(a), a) < std::tuple(key(b), b); });
  for (size_t i = 0; i < order.size(); ++i) {
    const bool again = i > 0 && key(order[i]) == key(order[i - 1]);
    same_[order[i]] = again ? same_[order[i - 1]] : order[i];
  }
}

MaybeViolation Contents::CheckInputs() const {
  IdVector<TensorId, bool> stated(step_.graph.tensor_count(), false);
  for (const DistributedStep::InputPiece& input : step_.inputs) {
    const std::string name = Printable(step_.graph.tensor(input.piece).name, 80);
    stated[input.piece] = true;
    const Part& part = names_[input.piece].part;
    if (Fits(input.original, part, input.piece)) continue;
    return Violation{
        ViolationKind::kWrongPart,
        fmt::format("the input \"{}\" has other sizes than {} of \"{}\"", name, ToString(part),
                    Printable(original_.tensor(input.original).name, 80)),
        fmt::format("step: input {}", name)};
  }
  for (const TensorId id : step_.graph.tensors()) {
    if (stated[id] || step_.graph.tensor(id).producer.valid()) continue;
    const std::string name = Printable(step_.graph.tensor(id).name, 80);
    return Violation{ViolationKind::kWrongPart,
                     fmt::format("the input \"{}\" is of no input of the original", name),
                     fmt::format("step: input {}", name)};
  }
  return std::nullopt;
}

Held Contents::Read(OpId op, size_t input) const {
  return At(step_.graph.op(op).inputs[input], step_.graph.op(op).input_versions[input]);
}

Held Contents::At(TensorId tensor, int32_t version) const {
  const Name& name = names_[tensor];
  if (name.inner) return {TensorId(), {}, {Content::kInner, -1, {}, {}}};
  const std::vector<Content>& contents = contents_[step_.graph.tensor(tensor).storage];
  const Content& content = contents[static_cast<size_t>(version)];
  if (content.buffer < 0 || name.place < 0) return Placed({name.tensor, name.part, content});
  Held held = BufferOf(content)[static_cast<size_t>(name.place)];
  if (name.tensor.valid()) {
    held.tensor = name.tensor;
    held.part = name.part;
  }
  return held;
}

// What has no place of its own has that of what was written there. Of another view of it nothing is known.
Held Contents::Placed(Held held) {
  if (!held.part.somewhere() || held.content.placed.whole()) return held;
  if (held.tensor == held.content.placed_tensor) {
    held.part = held.content.placed;
  } else {
    held.content.knowledge = Content::kNotProven;
  }
  return held;
}

Held Contents::Last(TensorId tensor) const {
  const std::vector<Content>& contents = contents_[step_.graph.tensor(tensor).storage];
  return At(tensor, static_cast<int32_t>(contents.size()) - 1);
}

void Contents::SetFresh(TensorId output, const Held& value) {
  names_[output] = {value.tensor, value.part, -1};
  const Tensor& tensor = step_.graph.tensor(output);
  Content& content = contents_[tensor.storage][static_cast<size_t>(tensor.version)] = value.content;
  content.placed_tensor = {};
  content.placed = {};
}

void Contents::SetName(TensorId output, TensorId original, const Part& part, TensorId shared) {
  names_[output] = {same_[original], part, names_[shared].place};
}

void Contents::SetInner(TensorId output) {
  names_[output] = {TensorId(), {}, -1, true};
  const Tensor& tensor = step_.graph.tensor(output);
  if (step_.graph.storage(tensor.storage).first != output) return;
  contents_[tensor.storage][static_cast<size_t>(tensor.version)] = {Content::kInner, -1, {}, {}};
}

// As in a buffer: what is written there is written to that tensor alone.
void Contents::SetAmong(TensorId output, const Held& value) {
  const Tensor& tensor = step_.graph.tensor(output);
  Content& content = contents_[tensor.storage][static_cast<size_t>(tensor.version)];
  std::vector<Held> tensors;
  if (content.buffer >= 0) tensors = BufferOf(content);
  tensors.push_back(value);
  names_[output] = {TensorId(), {}, static_cast<int32_t>(tensors.size()) - 1};
  content = AddBuffer(std::move(tensors));
}

Content Contents::AddBuffer(std::vector<Held> tensors) {
  buffers_.push_back(std::move(tensors));
  return {Content::kKnown, -1, {}, {}, static_cast<int32_t>(buffers_.size()) - 1};
}

void Contents::SetWritten(OpId op, TensorId written, const Content& content) {
  const StorageId storage = step_.graph.tensor(written).storage;
  const std::vector<Version>& versions = step_.graph.storage(storage).versions;
  for (size_t i = 1; i < versions.size(); ++i) {
    if (versions[i].writer != op) continue;
    const Content& before = contents_[storage][i - 1];
    const int32_t place = names_[written].place;
    if (before.buffer < 0 || place < 0) {
      Content& after = contents_[storage][i] = content;
      if (after.placed.whole()) {
        after.placed_tensor = before.placed_tensor;
        after.placed = before.placed;
      }
      continue;
    }
    std::vector<Held> tensors = BufferOf(before);
    tensors[static_cast<size_t>(place)].content = content;
    contents_[storage][i] = AddBuffer(std::move(tensors));
  }
}

int32_t Contents::VersionBy(OpId original, StorageId storage) const {
  const std::vector<Version>& versions = original_.storage(storage).versions;
  for (size_t i = versions.size(); i-- > 0;) {
    if (versions[i].writer == original) return static_cast<int32_t>(i);
  }
  return -1;
}

bool Contents::Covers(TensorId original) const {
  const Tensor& tensor = original_.tensor(original);
  return tensor.offset == Bytes(0) && tensor.bytes == original_.storage(tensor.storage).bytes &&
         tensor.length == tensor.bytes;
}

bool Contents::Fits(TensorId original, const Part& part, TensorId piece) const {
  const auto shape = ShapeOf(original_.tensor(original).shape, part);
  return shape && *shape == step_.graph.tensor(piece).shape;
}

}  // namespace placewright::check
