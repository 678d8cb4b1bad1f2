#include "cli/request/file_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "plan/piece_bytes.h"

namespace placewright {

std::string_view BareName(std::string_view name) {
  const size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

FileValues::FileValues(const ExecutedStep& step, const SafeTensors& file, bool bare, Gives gives)
    : step_(step),
      file_(file),
      bare_(bare),
      gives_(std::move(gives)),
      piece_of_(step.graph->tensor_count(), nullptr) {
  for (const TensorId id : step.graph->tensors()) {
    const Tensor& tensor = step.graph->tensor(id);
    if (!tensor.producer.valid() && gives_(*step.graph, tensor)) values_.push_back(id);
  }
  for (const DistributedStep::InputPiece& piece : step.pieces) piece_of_[piece.piece] = &piece;
}

const SafeTensor* FileValues::FindByName(const Tensor& tensor) {
  auto found = file_.tensors.find(tensor.name);
  if (found == file_.tensors.end() && bare_) {
    found = file_.tensors.find(std::string(BareName(tensor.name)));
  }
  if (found == file_.tensors.end()) return nullptr;
  found_.insert(found->first);
  return &found->second;
}

FileValues::Source FileValues::Find(TensorId value) {
  const Tensor& own = step_.graph->tensor(value);
  if (const SafeTensor* const found = FindByName(own)) return {found, &own, nullptr};
  const DistributedStep::InputPiece* const piece = piece_of_[value];
  if (piece == nullptr) return {nullptr, &own, nullptr};
  const Tensor& whole = step_.named().tensor(piece->original);
  return {FindByName(whole), &whole, piece};
}

std::vector<std::string> FileValues::Names() const {
  std::vector<std::string> names;
  const Graph& graph = step_.named();
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (!tensor.producer.valid() && gives_(graph, tensor)) names.push_back(tensor.name);
  }
  return names;
}

Status FileValues::CheckAllFound(std::string_view others, std::string_view what,
                                 std::string_view remedy) const {
  std::set<std::string, std::less<>> known = found_;
  known.insert(std::string(others));
  // What no op reads is of the step as well.
  std::set<TensorId> read;
  for (const DistributedStep::InputPiece& piece : step_.pieces) read.insert(piece.original);
  const Graph& graph = step_.named();
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.producer.valid() || read.contains(id) || !gives_(graph, tensor)) continue;
    known.insert(tensor.name);
    if (bare_) known.emplace(BareName(tensor.name));
  }
  for (const auto& [name, tensor] : file_.tensors) {
    if (known.contains(name)) continue;
    const std::vector<std::string> names = Names();
    std::vector<std::string> candidates = names, first;
    for (const std::string& one : names) {
      if (bare_) candidates.emplace_back(BareName(one));
    }
    constexpr size_t kNamed = 8;
    for (size_t i = 0; i < std::min(names.size(), kNamed); ++i) {
      first.push_back(Printable(names[i], 80));
    }
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("its tensor \"{}\" is no {} of the step{}", Printable(name, 80),
                                 what, DidYouMean(name, candidates)),
                     "",
                     names.empty() ? fmt::format("The step has none. {}", remedy)
                                   : fmt::format("They are called {}{}. {}", fmt::join(first, ", "),
                                                 names.size() > kNamed ? ", ..." : "", remedy));
  }
  return Ok();
}

std::string FileValues::BytesFor(const Source& source, std::string_view whole) {
  if (source.cut == nullptr) return std::string(whole);
  return PieceBytes(whole, source.like->shape, SizeOf(source.like->dtype), source.cut->box);
}

}  // namespace placewright
