#include "check_plan/distributed/end_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "check_plan/distributed/cover.h"
#include "transforms/offload.h"

namespace placewright::check {
namespace {

// A piece of what is to be there at the end.
struct Piece {
  TensorId tensor;  // of the step
  Held held;
};

class EndCheck {
 public:
  EndCheck(const Graph& original, const DistributedStep& step, const Contents& contents)
      : original_(original), step_(step), contents_(contents) {}

  MaybeViolation Run() const {
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckKept());
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckOutputs());
    return CheckAllThere();
  }

 private:
  std::string NameOfOriginal(TensorId id) const {
    return fmt::format("\"{}\"", Printable(original_.tensor(id).name, 80));
  }
  std::string NameOfPiece(TensorId id) const {
    return fmt::format("\"{}\"", Printable(step_.graph.tensor(id).name, 80));
  }
  int32_t LastVersion(TensorId id) const {
    const StorageId storage = original_.tensor(id).storage;
    return static_cast<int32_t>(original_.storage(storage).versions.size()) - 1;
  }

  MaybeViolation CheckAllThere() const {
    IdVector<OpId, bool> there(original_.op_count(), false);
    for (const OpId op : step_.graph.ops()) {
      if (step_.origin[op].valid()) there[step_.origin[op]] = true;
    }
    for (const OpId op : original_.ops()) {
      if (there[op] || HostCopyOf(original_.op(op)) != HostCopy::kNone) continue;
      return Violation{
          ViolationKind::kMissingOp,
          fmt::format("no op of the step is of \"{}\"", Printable(original_.op(op).name, 80)),
          "step: ops"};
    }
    return std::nullopt;
  }

  MaybeViolation CheckKept() const {
    std::map<TensorId, std::vector<Piece>> pieces;
    for (const DistributedStep::InputPiece& input : step_.inputs) {
      const Storage& storage = original_.storage(original_.tensor(input.original).storage);
      if (storage.kind == TensorKind::kInput && storage.versions.size() == 1) continue;
      pieces[input.original].push_back({input.piece, contents_.Last(input.piece)});
    }
    for (const auto& [original, all] : pieces) {
      for (const Piece& piece : all) CHECK_PLAN_RETURN_IF_VIOLATED(CheckCurrent(original, piece));
      CHECK_PLAN_RETURN_IF_VIOLATED(CheckCover(original, all));
    }
    for (const StorageId id : original_.storages()) {
      const Storage& storage = original_.storage(id);
      const bool kept =
          !original_.tensor(storage.first).producer.valid() && storage.versions.size() > 1;
      if (!kept || pieces.contains(storage.first)) continue;
      return Violation{ViolationKind::kMissingOp,
                       fmt::format("no input of the step is of {}", NameOfOriginal(storage.first)),
                       "step: inputs"};
    }
    return std::nullopt;
  }

  MaybeViolation CheckCurrent(TensorId original, const Piece& piece) const {
    const Content& content = piece.held.content;
    if (content.knowledge == Content::kUnknown) return std::nullopt;
    const auto wrong = [&](ViolationKind kind, const std::string& message) {
      return Violation{
          kind,
          fmt::format("{}, which is of {}, {}", NameOfPiece(piece.tensor), NameOfOriginal(original),
                      message),
          fmt::format("step: {}", Printable(step_.graph.tensor(piece.tensor).name, 80))};
    };
    if (content.version != LastVersion(original)) {
      return wrong(ViolationKind::kStaleParameter,
                   fmt::format("is left at version {} where version {} is due", content.version,
                               LastVersion(original)));
    }
    if (content.addend.kind != Addend::kWhole) {
      return wrong(ViolationKind::kLostSum, "is left as a share of a sum");
    }
    if (content.division.due()) {
      return wrong(ViolationKind::kLocalDivisor, "is left without its division");
    }
    return std::nullopt;
  }

  // All of it in each piece, or parts that cover it; equal ones are replicas.
  MaybeViolation CheckCover(TensorId original, const std::vector<Piece>& pieces) const {
    const std::vector<int64_t>& shape = original_.tensor(original).shape;
    std::vector<Part> parts;
    int64_t elements = 0;
    bool somewhere = false;
    for (const Piece& piece : pieces) {
      if (piece.held.content.knowledge != Content::kKnown) return std::nullopt;
      parts.push_back(piece.held.part);
      somewhere = somewhere || parts.back().somewhere();
      const auto sizes = ShapeOf(shape, parts.back());
      if (sizes) elements = SaturatingAdd(elements, ElementsOf(*sizes));
    }
    if (somewhere) {
      const int64_t all = ElementsOf(shape);
      return elements < all ? NotCovered(original, false) : MaybeViolation();
    }
    const Coverage::Kind kind = CoverageOf(parts).kind;
    if (kind == Coverage::kOnce || kind == Coverage::kLayers) return std::nullopt;
    return NotCovered(original, kind != Coverage::kNotAll);
  }

  static int64_t ElementsOf(const std::vector<int64_t>& shape) {
    int64_t elements = 1;
    for (const int64_t size : shape) elements = SaturatingMultiply(elements, size);
    return elements;
  }

  Violation NotCovered(TensorId original, bool twice) const {
    return {twice ? ViolationKind::kDoubledSample : ViolationKind::kMissingSample,
            fmt::format("the pieces of {} do not cover it once", NameOfOriginal(original)), "step"};
  }

  MaybeViolation CheckOutputs() const {
    std::map<TensorId, std::vector<Piece>> pieces;
    for (const TensorId id : step_.graph.outputs()) {
      const Held held = contents_.Last(id);
      if (held.content.knowledge == Content::kInner) return NoResult(id);
      // What is not proven is taken to be the output that is due.
      if (!held.known()) return std::nullopt;
      pieces[held.tensor].push_back({id, held});
    }
    for (const TensorId id : original_.outputs()) {
      const auto found = pieces.find(contents_.Same(id));
      if (found == pieces.end()) {
        return Violation{ViolationKind::kMissingOp,
                         fmt::format("no output of the step is {}", NameOfOriginal(id)),
                         "step: outputs"};
      }
      for (const Piece& piece : found->second) {
        CHECK_PLAN_RETURN_IF_VIOLATED(CheckCurrent(id, piece));
      }
      CHECK_PLAN_RETURN_IF_VIOLATED(CheckCover(id, found->second));
    }
    return std::nullopt;
  }

  Violation NoResult(TensorId id) const {
    return {ViolationKind::kWrongStatistics,
            fmt::format("the output {} is none of the results of a norm", NameOfPiece(id)),
            "step: outputs"};
  }

  const Graph& original_;
  const DistributedStep& step_;
  const Contents& contents_;
};

}  // namespace

MaybeViolation CheckEnd(const Graph& original, const DistributedStep& step,
                        const Contents& contents) {
  return EndCheck(original, step, contents).Run();
}

}  // namespace placewright::check
