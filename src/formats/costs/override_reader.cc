#include "formats/costs/override_reader.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "base/text.h"
#include "formats/text/yaml.h"

namespace placewright {
namespace {

constexpr std::string_view kOverrideSchema = "placewright.cost-overrides/1";
constexpr double kLargestScale = 1e6;

// Decimal places of a unit below one nanosecond's multiple: 1 us = 10^3 ns.
struct Unit {
  std::string_view name;
  int digits;
};
constexpr std::array<Unit, 4> kUnits = {{{"ns", 0}, {"us", 3}, {"ms", 6}, {"s", 9}}};

// "12.5us" in exact decimal arithmetic; nullopt if it is no such text, finer than a nanosecond, or
// beyond kMaxQuantity.
std::optional<int64_t> ParseTime(std::string_view text) {
  const size_t end = text.find_first_not_of("0123456789.");
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  std::string_view unit = text.substr(end);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Unit& known : kUnits) {
    if (unit != known.name) continue;
    int64_t value = 0;
    int digits_left = known.digits;
    bool fraction = false, any = false;
    for (char c : text.substr(0, end)) {
      if (c == '.') {
        if (fraction) return std::nullopt;
        fraction = true;
        continue;
      }
      if (fraction && digits_left == 0) {
        if (c != '0') return std::nullopt;
        continue;
      }
      if (fraction) --digits_left;
      any = true;
      value = SaturatingAdd(SaturatingMultiply(value, 10), c - '0');
    }
    for (; digits_left > 0; --digits_left) value = SaturatingMultiply(value, 10);
    if (!any || value >= kMaxQuantity) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

Status ReadPattern(const YamlNode& entry, std::string_view key, std::string& pattern) {
  const YamlNode* node = entry.Find(key);
  if (node == nullptr) return Ok();
  PW_ASSIGN(pattern, node->AsText(key));
  if (pattern.empty()) return node->Fail(fmt::format("{} is empty; leave it out", key));
  return Ok();
}

Status ReadTime(const YamlNode& node, CostOverride& line) {
  PW_ASSIGN(const std::string text, node.AsText("time"));
  const std::optional<int64_t> parsed = ParseTime(text);
  if (!parsed) {
    return node.Fail(
        fmt::format("time must be a number and ns, us, ms or s that make whole "
                    "nanoseconds, such as 12.5us, not \"{}\"",
                    Printable(text)));
  }
  line.time = Nanos(*parsed);
  return Ok();
}

Status ReadScale(const YamlNode& node, CostOverride& line) {
  PW_ASSIGN(line.scale, node.AsNumber("scale"));
  if (!(line.scale > 0) || line.scale > kLargestScale) {
    return node.Fail("scale must be above 0 and at most 1000000");
  }
  line.source = CostSource::kModelled;
  return Ok();
}

Status ReadSupported(const YamlNode& node, CostOverride& line) {
  PW_ASSIGN(const bool value, node.AsBool("supported"));
  if (value) return node.Fail("only false means something here; a time makes an op supported");
  line.time = CostTable::kUnsupported;
  line.source = CostSource::kGiven;
  return Ok();
}

// Exactly one of time, time_ns, scale, supported.
Status ReadEffect(const YamlNode& entry, CostOverride& line) {
  const YamlNode *time = entry.Find("time"), *nanos = entry.Find("time_ns"),
                 *scale = entry.Find("scale"), *supported = entry.Find("supported");
  const int given =
      (time != nullptr) + (nanos != nullptr) + (scale != nullptr) + (supported != nullptr);
  if (given != 1) {
    return entry.Fail(fmt::format(
        "an override needs exactly one of time, time_ns, scale and supported; this one has {}",
        given));
  }
  if (time != nullptr) return ReadTime(*time, line);
  if (scale != nullptr) return ReadScale(*scale, line);
  if (supported != nullptr) return ReadSupported(*supported, line);
  PW_ASSIGN(const int64_t value, nanos->AsInt("time_ns", 0, kMaxQuantity - 1));
  line.time = Nanos(value);
  return Ok();
}

Status ReadSource(const YamlNode& entry, CostOverride& line) {
  const YamlNode* node = entry.Find("source");
  if (node == nullptr) return Ok();
  PW_ASSIGN(const std::string text, node->AsText("source"));
  for (CostSource source : {CostSource::kGiven, CostSource::kMeasured, CostSource::kModelled}) {
    if (text != ToString(source)) continue;
    line.source = source;
    return Ok();
  }
  return node->Fail(
      fmt::format("source must be given, measured or modelled, not \"{}\"", Printable(text)));
}

Result<CostOverride> ReadEntry(const YamlNode& entry) {
  PW_RETURN_IF_ERROR(entry.CheckKeys("an override", {"op", "type", "device", "kind", "time",
                                                     "time_ns", "scale", "supported", "source"}));
  CostOverride line;
  line.place = entry.Place();
  PW_RETURN_IF_ERROR(ReadPattern(entry, "op", line.op));
  PW_RETURN_IF_ERROR(ReadPattern(entry, "type", line.type));
  PW_RETURN_IF_ERROR(ReadPattern(entry, "device", line.device));
  PW_RETURN_IF_ERROR(ReadPattern(entry, "kind", line.kind));
  if (line.op.empty() && line.type.empty()) {
    return entry.Fail("an override names neither op nor type (type: \"*\" means every op)");
  }
  PW_RETURN_IF_ERROR(ReadEffect(entry, line));
  PW_RETURN_IF_ERROR(ReadSource(entry, line));
  return line;
}

// The list of entries: the document itself, or its `overrides`.
Result<const YamlNode*> EntriesOf(const YamlNode& document) {
  if (document.IsList()) return &document;
  PW_RETURN_IF_ERROR(document.CheckKeys("a cost override file", {"schema", "overrides"}));
  const YamlNode* schema = document.Find("schema");
  if (schema != nullptr && schema->text != kOverrideSchema) {
    return schema->Fail(fmt::format("the schema must be {}", kOverrideSchema));
  }
  PW_ASSIGN(const YamlNode* entries, document.Get("overrides"));
  PW_RETURN_IF_ERROR(entries->CheckList("overrides"));
  return entries;
}

}  // namespace

Result<std::vector<CostOverride>> ReadCostOverrides(std::string_view text) {
  PW_ASSIGN(const YamlNode document, ParseYaml(text));
  PW_ASSIGN(const YamlNode* entries, EntriesOf(document));
  std::vector<CostOverride> lines;
  lines.reserve(entries->items.size());
  for (const YamlNode& entry : entries->items) {
    PW_ASSIGN(CostOverride line, ReadEntry(entry));
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace placewright
