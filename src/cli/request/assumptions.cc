#include "cli/request/assumptions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace placewright {
namespace {

constexpr size_t kMostShown = 8;
constexpr size_t kMostListed = 100;

// "a, b and 3 more".
std::string FirstFew(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostShown); ++i) {
    text += fmt::format("{}{}", i > 0 ? ", " : "", Printable(names[i], 80));
  }
  if (names.size() > kMostShown) text += fmt::format(" and {} more", names.size() - kMostShown);
  return text;
}

}  // namespace

std::vector<std::string> DescribeAssumptions(const LoadedGraph& loaded) {
  std::vector<std::string> lines;
  if (!loaded.assumed_dimensions.empty()) {
    std::vector<std::string> values;
    for (const auto& [name, value] : loaded.assumed_dimensions) {
      values.push_back(fmt::format("{}={}", Printable(name, 60), value));
    }
    lines.push_back(
        fmt::format("assumed {}; give --batch or --dim for real sizes", FirstFew(values)));
  }
  if (!loaded.assumed_shapes.empty()) {
    lines.push_back(
        fmt::format("assumed the output shapes of {} op{}: {}", loaded.assumed_shapes.size(),
                    loaded.assumed_shapes.size() == 1 ? "" : "s", FirstFew(loaded.assumed_shapes)));
  }
  lines.insert(lines.end(), loaded.notes.begin(), loaded.notes.end());
  return lines;
}

void AddNotes(const LoadedGraph& loaded, Json* object) { (*object)["notes"] = loaded.notes; }

void AddAssumedShapes(const LoadedGraph& loaded, Json* object) {
  Json list = Json::array();
  for (size_t i = 0; i < std::min(loaded.assumed_shapes.size(), kMostListed); ++i) {
    list.push_back(loaded.assumed_shapes[i]);
  }
  (*object)["assumed_shapes"] = std::move(list);
}

void AddAssumedDimensions(const LoadedGraph& loaded, Json* object) {
  Json map = Json::object();
  for (const auto& [name, value] : loaded.assumed_dimensions) map[name] = value;
  (*object)["assumed_dimensions"] = std::move(map);
}

}  // namespace placewright
