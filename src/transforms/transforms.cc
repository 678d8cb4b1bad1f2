#include "transforms/transforms.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "transforms/accumulate.h"
#include "transforms/counter_draws.h"
#include "transforms/offload.h"
#include "transforms/pipeline.h"
#include "transforms/precision.h"
#include "transforms/recompute.h"
#include "transforms/split_backward.h"

namespace placewright {
namespace {

Status CheckRecorded(const Graph& step, const Transform& transform) {
  if (transform.kind == Transform::kCountedDraws || step.format() == "aten") return Ok();
  return MakeError(ErrorCode::kUsage,
                   fmt::format("{} rewrites recorded steps, and {} is none: its format is {}",
                               ToString(transform.kind), Printable(step.name(), 80), step.format()),
                   "transforms", "Record the model from PyTorch (docs/formats/pytorch.md).");
}

// `all`: what it is one of.
Result<std::unique_ptr<Graph>> Apply(const Graph& step, const Transform& transform,
                                     const Transforms& all, std::optional<int64_t> written) {
  PW_RETURN_IF_ERROR(CheckRecorded(step, transform));
  switch (transform.kind) {
    case Transform::kCountedDraws: return WithCountedDraws(step, kDrawSeed);
    case Transform::kAccumulate:
      return WithAccumulation(step, transform.micro_batches, PipelineOf(all), written);
    case Transform::kRecompute: return WithRecomputation(step, transform.modules);
    case Transform::kOffload: return WithOffloading(step, transform.modules);
    case Transform::kPipeline: return WithPipeline(step, transform);
    case Transform::kPrecision: return WithPrecision(step, transform.modules);
    case Transform::kSplitBackward: return WithSplitBackward(step);
  }
  return std::unique_ptr<Graph>();
}

}  // namespace

Transforms TransformsFor(const Rewriting& asked) { return TransformsFor(asked, {}); }

Transforms TransformsFor(const Rewriting& asked, const std::vector<std::string>& precision) {
  Transforms transforms;
  // Weight gradients that are late have to be apart.
  if (asked.schedule == "zb-h1") transforms.push_back({.kind = Transform::kSplitBackward});
  if (asked.micro_batches > 1) {
    transforms.push_back({.kind = Transform::kAccumulate, .micro_batches = asked.micro_batches});
  }
  if (!asked.recompute.empty()) {
    transforms.push_back({.kind = Transform::kRecompute, .modules = asked.recompute});
  }
  if (!asked.offload.empty()) {
    transforms.push_back({.kind = Transform::kOffload, .modules = asked.offload});
  }
  if (!asked.schedule.empty()) {
    transforms.push_back({.kind = Transform::kPipeline,
                          .schedule = asked.schedule,
                          .stages = asked.stages,
                          .chunks = std::max<int64_t>(1, asked.chunks),
                          .layers = asked.layers});
  }
  if (!transforms.empty() || !precision.empty()) {
    transforms.insert(transforms.begin(), Transform{Transform::kCountedDraws});
  }
  if (!precision.empty()) {
    transforms.insert(transforms.begin(), {.kind = Transform::kPrecision, .modules = precision});
  }
  return transforms;
}

Rewriting RewritingFor(const Transforms& transforms) {
  Rewriting asked;
  for (const Transform& one : transforms) {
    if (one.kind == Transform::kAccumulate) asked.micro_batches = one.micro_batches;
    if (one.kind == Transform::kRecompute) asked.recompute = one.modules;
    if (one.kind == Transform::kOffload) asked.offload = one.modules;
    if (one.kind != Transform::kPipeline) continue;
    asked.schedule = one.schedule;
    asked.stages = one.stages;
    asked.chunks = one.chunks;
    asked.layers = one.layers;
  }
  return asked;
}

const Transform* PipelineOf(const Transforms& transforms) {
  const auto it = std::find_if(transforms.begin(), transforms.end(), [](const Transform& one) {
    return one.kind == Transform::kPipeline;
  });
  return it == transforms.end() ? nullptr : &*it;
}

Result<std::unique_ptr<Graph>> ApplyTransforms(const Graph& step, const Transforms& transforms,
                                               std::optional<int64_t> written,
                                               const StopCheck& stop) {
  std::unique_ptr<Graph> made;
  Transforms applied = step.transforms();
  for (const Transform& transform : transforms) {
    PW_ASSIGN(std::unique_ptr<Graph> after,
              Apply(made ? *made : step, transform, transforms, written));
    if (stop && stop()) return MakeError(ErrorCode::kCancelled, "the rewriting was given up");
    if (after == nullptr) continue;
    made = std::move(after);
    applied.push_back(transform);
    *made = WithTransforms(std::move(*made), applied);
  }
  return made;
}

}  // namespace placewright
