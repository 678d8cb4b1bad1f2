#include "formats/pipedream/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"

namespace placewright {
namespace {

constexpr std::string_view kSeparator = " -- ";
constexpr std::string_view kStage = "stage_id=";
constexpr std::string_view kFirstField = "forward_compute_time=";

std::vector<std::string_view> SplitAt(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (size_t at; (at = text.find(separator)) != text.npos;) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// A finite decimal number in [0, max].
Result<double> ParseAmount(std::string_view text, std::string_view field, double max) {
  text = Trim(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && std::isfinite(number) && number >= 0 && number <= max) return number;
  return MakeError(ErrorCode::kField,
                   fmt::format("{}{} is no number in [0, {}]", field, Printable(text, 60), max));
}

// A number, or "[a; b; c]" for their sum.
Result<double> ParseSizes(std::string_view text, std::string_view field) {
  constexpr auto kLargest = static_cast<double>(kMaxQuantity);
  text = Trim(text);
  if (!text.starts_with('[') || !text.ends_with(']')) return ParseAmount(text, field, kLargest);
  double sum = 0;
  for (const std::string_view part : SplitAt(text.substr(1, text.size() - 2), ";")) {
    PW_ASSIGN(const double size, ParseAmount(part, field, kLargest));
    sum += size;
    if (sum > kLargest) {
      return MakeError(ErrorCode::kField, fmt::format("{}{} sums to more than {}", field,
                                                      Printable(text, 60), kLargest));
    }
  }
  return sum;
}

// The four figures of a layer, each once, in any order.
Status ParseMetadata(ProfileLayer& layer) {
  constexpr std::string_view kFields[] = {
      kFirstField, "backward_compute_time=", "activation_size=", "parameter_size="};
  double* const values[] = {&layer.forward_ms, &layer.backward_ms, &layer.activation_bytes,
                            &layer.parameter_bytes};
  bool seen[4] = {};
  for (const std::string_view part : SplitAt(layer.metadata, ",")) {
    const std::string_view text = Trim(part);
    const auto* field = std::find_if(std::begin(kFields), std::end(kFields),
                                     [&](std::string_view name) { return text.starts_with(name); });
    if (field == std::end(kFields)) {
      return MakeError(ErrorCode::kField,
                       fmt::format("\"{}\" is no figure of a layer", Printable(text, 60)));
    }
    const auto i = static_cast<size_t>(field - std::begin(kFields));
    if (std::exchange(seen[i], true)) {
      return MakeError(ErrorCode::kField, fmt::format("{} stands twice", *field));
    }
    const std::string_view figure = text.substr(field->size());
    PW_ASSIGN(*values[i],
              i < 2 ? ParseAmount(figure, *field, kMaxProfileTime) : ParseSizes(figure, *field));
  }
  for (size_t i = 0; i < 4; ++i) {
    if (!seen[i]) return MakeError(ErrorCode::kField, fmt::format("{} is missing", kFields[i]));
  }
  return Ok();
}

Result<ProfileLayer> ParseLayer(std::string_view line) {
  std::vector<std::string_view> parts = SplitAt(line, kSeparator);
  ProfileLayer layer;
  if (parts.size() > 3 && parts.back().starts_with(kStage)) {
    const std::string_view stage = Trim(parts.back().substr(kStage.size()));
    int64_t number = 0;
    const auto [end, error] = std::from_chars(stage.data(), stage.data() + stage.size(), number);
    if (error != std::errc() || end != stage.data() + stage.size() || number < 0 ||
        number > kMaxQuantity) {
      return MakeError(ErrorCode::kField,
                       fmt::format("stage_id={} is no stage", Printable(stage, 60)));
    }
    layer.stage = number;
    parts.pop_back();
  }
  if (parts.size() < 3 || !parts.back().starts_with(kFirstField)) {
    return MakeError(ErrorCode::kSyntax, fmt::format("\"{}\" is no layer \"ID -- DESCRIPTION -- "
                                                     "forward_compute_time=..., ...\" and no edge "
                                                     "\"<tab>ID -- ID\"",
                                                     Printable(line, 60)));
  }
  layer.id = Trim(parts.front());
  layer.metadata = parts.back();
  const char* const begin = parts[1].data();
  const auto size = static_cast<size_t>(parts.back().data() - kSeparator.size() - begin);
  layer.description = std::string_view(begin, size);
  if (layer.id.empty()) return MakeError(ErrorCode::kField, "the layer has an empty id");
  PW_RETURN_IF_ERROR(ParseMetadata(layer));
  return layer;
}

class ProfileReader {
 public:
  Result<PipeDreamProfile> Read(std::string_view text) {
    const auto size = static_cast<int64_t>(text.size());
    if (size > kMaxProfileText) {
      return MakeError(ErrorCode::kFileTooLarge,
                       fmt::format("a profile of {} is beyond {}", FormatBytes(Bytes(size)),
                                   FormatBytes(Bytes(kMaxProfileText))));
    }
    PW_RETURN_IF_ERROR(ForEachLine(text, [this](std::string_view line) { return AddLayer(line); }));
    PW_RETURN_IF_ERROR(ForEachLine(text, [this](std::string_view line) { return AddEdge(line); }));
    if (profile_.layers.empty()) return MakeError(ErrorCode::kField, "the profile has no layers");
    LeaveOut();
    return std::move(profile_);
  }

 private:
  static bool IsEdge(std::string_view line) { return line.starts_with('\t'); }

  template <class Each>
  static Status ForEachLine(std::string_view text, const Each& each) {
    for (size_t number = 1; !text.empty(); ++number) {
      const size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (Trim(line).empty()) continue;
      Status status = each(line);
      if (status.ok()) continue;
      status.error().place = fmt::format("line {}", number);
      return status;
    }
    return Ok();
  }

  Status AddLayer(std::string_view line) {
    if (IsEdge(line)) return Ok();
    if (!IsUtf8(line)) return MakeError(ErrorCode::kSyntax, "the line is not UTF-8");
    PW_ASSIGN(ProfileLayer layer, ParseLayer(line));
    if (!positions_.emplace(layer.id, static_cast<int32_t>(profile_.layers.size())).second) {
      return MakeError(ErrorCode::kDuplicateName,
                       fmt::format("two layers are called \"{}\"", Printable(layer.id, 80)));
    }
    profile_.layers.push_back(std::move(layer));
    return Ok();
  }

  Result<int32_t> Position(std::string_view id) const {
    const auto it = positions_.find(std::string(id));
    if (it != positions_.end()) return it->second;
    return MakeError(ErrorCode::kUnknownName,
                     fmt::format("no layer is called \"{}\"", Printable(id, 80)));
  }

  Status AddEdge(std::string_view line) {
    if (!IsEdge(line)) return Ok();
    const std::vector<std::string_view> ends = SplitAt(Trim(line), kSeparator);
    if (ends.size() != 2) {
      return MakeError(ErrorCode::kSyntax,
                       fmt::format("\"{}\" is no edge \"ID -- ID\"", Printable(line, 60)));
    }
    PW_ASSIGN(const int32_t from, Position(Trim(ends[0])));
    PW_ASSIGN(const int32_t to, Position(Trim(ends[1])));
    if (!distinct_.emplace(from, to).second) {
      return MakeError(ErrorCode::kDuplicateName,
                       fmt::format("the edge \"{}\" stands twice", Printable(Trim(line), 80)));
    }
    profile_.edges.emplace_back(from, to);
    return Ok();
  }

  // Two passes; what they turn into a source or sink stays.
  void LeaveOut() {
    std::vector<ProfileLayer>& layers = profile_.layers;
    const auto mark = [&](std::string_view prefix, bool sources) {
      std::vector<bool> inner(layers.size(), false);
      for (const auto& [from, to] : profile_.edges) {
        if (layers[from].left_out || layers[to].left_out) continue;
        inner[sources ? to : from] = true;
      }
      for (size_t i = 0; i < layers.size(); ++i) {
        if (!inner[i] && layers[i].description.starts_with(prefix)) layers[i].left_out = true;
      }
    };
    mark("Input", true);
    mark("__getitem__", false);
  }

  PipeDreamProfile profile_;
  std::unordered_map<std::string, int32_t> positions_;
  std::set<std::pair<int32_t, int32_t>> distinct_;
};

}  // namespace

std::vector<std::vector<int32_t>> PipeDreamProfile::Neighbours(bool successors) const {
  std::vector<std::vector<int32_t>> rows(layers.size());
  for (const auto& [from, to] : edges) {
    rows[successors ? from : to].push_back(successors ? to : from);
  }
  return rows;
}

bool LooksLikePipeDream(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return false;
  const std::string_view line = text.substr(first, text.find('\n', first) - first);
  return line.find(kSeparator) != line.npos &&
         (line.find(kFirstField) != line.npos || text.find(kFirstField) != text.npos);
}

Result<PipeDreamProfile> ReadPipeDream(std::string_view text) { return ProfileReader().Read(text); }

std::string WritePipeDream(const PipeDreamProfile& profile, const std::vector<int64_t>& stages) {
  std::string text;
  for (size_t i = 0; i < profile.layers.size(); ++i) {
    const ProfileLayer& layer = profile.layers[i];
    text += fmt::format("{}{}{}{}{}{}{}{}\n", layer.id, kSeparator, layer.description, kSeparator,
                        layer.metadata, kSeparator, kStage, stages[i]);
  }
  for (const auto& [from, to] : profile.edges) {
    text += fmt::format("\t{}{}{}\n", profile.layers[from].id, kSeparator, profile.layers[to].id);
  }
  return text;
}

}  // namespace placewright
