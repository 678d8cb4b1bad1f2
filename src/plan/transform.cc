#include "plan/transform.h"

namespace placewright {

std::string_view ToString(Transform::Kind kind) {
  switch (kind) {
    case Transform::kCountedDraws: return "counted-draws";
  }
  return "?";
}

}  // namespace placewright
