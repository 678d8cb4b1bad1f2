#include "graph/transform.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace placewright {

std::string_view ToString(Transform::Kind kind) {
  switch (kind) {
    case Transform::kCountedDraws: return "counted-draws";
    case Transform::kAccumulate: return "accumulate";
    case Transform::kRecompute: return "recompute";
    case Transform::kOffload: return "offload";
    case Transform::kPipeline: return "pipeline";
    case Transform::kPrecision: return "precision";
    case Transform::kSplitBackward: return "split-backward";
  }
  return "?";
}

bool RewriteAlike(Transforms a, Transforms b) {
  const auto counts = [](const Transform& one) { return one.kind == Transform::kCountedDraws; };
  std::erase_if(a, counts);
  std::erase_if(b, counts);
  return a == b;
}

bool MayBeRewritten(Transforms transforms) {
  std::erase_if(transforms, [](const Transform& one) { return one.kind == Transform::kPrecision; });
  return RewriteAlike(std::move(transforms), {});
}

std::string Describe(const Transforms& transforms) {
  std::string text;
  for (const Transform& transform : transforms) {
    if (!text.empty()) text += ", ";
    text += ToString(transform.kind);
    if (transform.kind == Transform::kAccumulate) {
      text += fmt::format(" {}", transform.micro_batches);
    }
    if (!transform.modules.empty()) {
      text += fmt::format(" {}", fmt::join(transform.modules, " "));
    }
    if (transform.kind == Transform::kPipeline) {
      text += fmt::format(" {} {}", transform.schedule, transform.stages);
      if (transform.chunks > 1) text += fmt::format(" x {}", transform.chunks);
      if (!transform.layers.empty()) {
        text += fmt::format(" of {} layers", fmt::join(transform.layers, ","));
      }
    }
  }
  return text;
}

}  // namespace placewright
