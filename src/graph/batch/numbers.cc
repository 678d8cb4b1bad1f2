#include "graph/batch/numbers.h"

#include <fmt/format.h>

#include "base/text.h"

namespace placewright {

std::string ToString(const NumberPlace& place) {
  std::string text =
      place.keyword != nullptr ? "kwargs." + Printable(*place.keyword, 60) : std::string("args");
  for (const int64_t index : place.path) text += fmt::format("[{}]", index);
  return text;
}

}  // namespace placewright
