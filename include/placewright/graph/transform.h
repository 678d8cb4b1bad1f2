// How a step itself is rewritten before it is laid out: of a graph a graph (src/transforms/).
#ifndef PLACEWRIGHT_GRAPH_TRANSFORM_H_
#define PLACEWRIGHT_GRAPH_TRANSFORM_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

struct Transform {
  enum Kind : uint8_t {
    kCountedDraws,  // random draws count, so that a part of them is drawn where it is needed (docs/sharding.md)
    kAccumulate,    // the batch in micro-batches, one after the other, whose gradients are added up
    kRecompute,     // activations of these modules are computed again in the backward pass
    kPipeline,      // micro-batches in the order of a pipeline's stages
    kOffload,       // activations of these modules lie in host memory between the passes
    kPrecision,     // parameters and their update in a wider type than what is computed with them
    kSplitBackward  // gradients of inputs and weights that one op makes are made by two
  };
  Kind kind = kCountedDraws;
  int64_t micro_batches = 0;  // of kAccumulate: at least 2
  // Of kRecompute and kOffload globs over module paths, or one word for a set; of kPrecision globs, and types as
  // "param=bf16".
  std::vector<std::string> modules{};
  std::string schedule{};          // of kPipeline: "gpipe", "1f1b", "interleaved", "zb-h1";
  int64_t stages = 0, chunks = 1;  // its stages, and the chunks of the model on each
  // Of kPipeline, of each chunk of the model in order: how many layers it has. None: chunks of about equal work.
  std::vector<int64_t> layers{};
  friend bool operator==(const Transform&, const Transform&) = default;
};
// One after the other.
using Transforms = std::vector<Transform>;

// In the order in which they are applied.
inline constexpr std::array<Transform::Kind, 7> kTransformKinds = {
    Transform::kPrecision,  Transform::kCountedDraws, Transform::kSplitBackward,
    Transform::kAccumulate, Transform::kRecompute,    Transform::kOffload,
    Transform::kPipeline};
std::string_view ToString(Transform::Kind kind);  // "counted-draws", ..., "pipeline"
std::string Describe(
    const Transforms& transforms);  // "counted-draws, accumulate 4, recompute layers.*"
// But for draws: every step whose ops may be split has those that count.
bool RewriteAlike(Transforms a, Transforms b);
// Nothing but draws and types of numbers is another: it may be rewritten as any recorded step.
bool MayBeRewritten(Transforms transforms);

// What a user asks for of a recorded step, and strategies choose (docs/transforms.md).
struct Rewriting {
  int64_t micro_batches = 0;             // 0: not stated, one
  std::vector<std::string> recompute{};  // globs over modules, or one word for a set; none: nothing
  std::string schedule{};                // of a pipeline; "": there is none
  int64_t stages = 0, chunks = 0;        // 0: not stated
  std::vector<std::string> offload{};  // as recompute: what lies in host memory between the passes
  std::vector<int64_t> layers{};       // of each chunk of a pipeline; none: not stated
};

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_TRANSFORM_H_
