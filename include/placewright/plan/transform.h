// How a step itself is rewritten before it is laid out.
#ifndef PLACEWRIGHT_PLAN_TRANSFORM_H_
#define PLACEWRIGHT_PLAN_TRANSFORM_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace placewright {

struct Transform {
  enum Kind : uint8_t {
    kCountedDraws  // random draws count, so that a part of them is drawn where it is needed (docs/sharding.md)
  };
  Kind kind = kCountedDraws;
  friend bool operator==(const Transform&, const Transform&) = default;
};
// One after the other.
using Transforms = std::vector<Transform>;

inline constexpr std::array<Transform::Kind, 1> kTransformKinds = {Transform::kCountedDraws};
std::string_view ToString(Transform::Kind kind);  // "counted-draws"

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_TRANSFORM_H_
