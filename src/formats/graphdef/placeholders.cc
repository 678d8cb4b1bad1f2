#include "formats/graphdef/placeholders.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "base/text.h"
#include "formats/graphdef/roles.h"

namespace placewright::graphdef {
namespace {

Status CheckValue(std::string_view name, int64_t value) {
  if (value >= 1 && value <= INT_MAX) return Ok();
  return MakeError(ErrorCode::kField, fmt::format("{} must be between 1 and 2^31 - 1, not {}",
                                                  Printable(name, 80), value));
}

std::string ListSome(const std::vector<std::string>& names) {
  constexpr size_t kMax = 8;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMax); ++i) {
    text += (i > 0 ? ", " : "") + Printable(names[i], 60);
  }
  if (names.size() > kMax) text += fmt::format(" and {} more", names.size() - kMax);
  return text;
}

Status CheckOptions(const GraphDefOptions& options, const std::vector<std::string>& open,
                    bool open_batch) {
  for (const auto& [name, value] : options.dimensions) {
    PW_RETURN_IF_ERROR(CheckValue(name, value));
    if (std::find(open.begin(), open.end(), name) != open.end()) continue;
    return MakeError(
        ErrorCode::kUnknownName,
        fmt::format("--dim names the dimension '{}', which no placeholder leaves open{}",
                    Printable(name, 80), DidYouMean(name, open)),
        "",
        open.empty() ? "Leave --dim out: all dimensions of placeholders have values."
                     : fmt::format("The open dimensions are {}.", ListSome(open)));
  }
  if (!options.batch) return Ok();
  PW_RETURN_IF_ERROR(CheckValue("the batch", *options.batch));
  if (open_batch) return Ok();
  return MakeError(ErrorCode::kUsage,
                   fmt::format("--batch {} has nothing to set: no placeholder leaves its first "
                               "dimension open",
                               *options.batch),
                   "", "Leave --batch out.");
}

// The shape that the placeholder states, or that its output lists where that is closer.
Shape StatedShape(const Node& node) {
  const bool listed = node.output_shapes && !node.output_shapes->empty();
  if (listed && node.output_shapes->front()) return node.output_shapes->front();
  return node.shape ? *node.shape : Shape();
}

}  // namespace

Result<PlaceholderShapes> SizePlaceholders(const std::vector<Node>& nodes,
                                           const GraphDefOptions& options, GraphDefReport* report) {
  PlaceholderShapes shapes;
  std::vector<std::string> open, without_value;
  bool open_batch = false;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (RoleOf(nodes[i].op) != Role::kPlaceholder) continue;
    Shape shape = StatedShape(nodes[i]);
    if (!shape) continue;
    for (size_t k = 0; k < shape->size(); ++k) {
      int64_t& size = (*shape)[k];
      if (size >= 0) continue;
      const std::string name = fmt::format("{}[{}]", nodes[i].name, k);
      open.push_back(name);
      const auto given = options.dimensions.find(name);
      if (given != options.dimensions.end()) {
        size = given->second;
        continue;
      }
      open_batch = open_batch || k == 0;
      if (k == 0 && options.batch) {
        size = *options.batch;
      } else {
        size = 1;
        without_value.push_back(name);
      }
    }
    shapes.emplace(i, std::move(shape));
  }
  PW_RETURN_IF_ERROR(CheckOptions(options, open, open_batch));
  if (!without_value.empty() && !options.assume_dimensions) {
    return MakeError(ErrorCode::kGraphShape,
                     fmt::format("placeholders leave dimensions open: {}", ListSome(without_value)),
                     "",
                     fmt::format("Give --batch N for first dimensions, or --dim {}=N.",
                                 Printable(without_value.front(), 60)));
  }
  for (const std::string& name : without_value) report->assumed_dimensions[name] = 1;
  return shapes;
}

}  // namespace placewright::graphdef
