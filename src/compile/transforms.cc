#include "compile/transforms.h"

#include <utility>

#include "compile/counter_draws.h"

namespace placewright {

Result<TransformedStep> ApplyTransforms(const Graph& step, const Transforms& transforms) {
  TransformedStep made;
  for (const Transform& transform : transforms) {
    const Graph& before = made.graph ? *made.graph : step;
    std::unique_ptr<const Graph> after;
    switch (transform.kind) {
      case Transform::kCountedDraws: {
        PW_ASSIGN(after, WithCountedDraws(before, kDrawSeed));
        break;
      }
    }
    if (after == nullptr) continue;
    made.graph = std::move(after);
    made.applied.push_back(transform);
  }
  return made;
}

}  // namespace placewright
