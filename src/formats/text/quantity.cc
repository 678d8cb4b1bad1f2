#include "formats/text/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string>

#include "base/text.h"

namespace placewright {
namespace {

struct UnitName {
  std::string_view name;
  int64_t count;    // of the base unit
  int64_t per = 1;  // divided by this (bits: 8)
};

constexpr int64_t kKilo = 1'000;
constexpr int64_t kMega = 1'000'000;
constexpr int64_t kGiga = 1'000'000'000;
constexpr int64_t kTera = 1'000'000'000'000;
constexpr int64_t kKibi = int64_t{1} << 10;
constexpr int64_t kMebi = int64_t{1} << 20;
constexpr int64_t kGibi = int64_t{1} << 30;
constexpr int64_t kTebi = int64_t{1} << 40;

constexpr std::array kByteUnits = {
    UnitName{"B", 1},       UnitName{"kB", kKilo}, UnitName{"KB", kKilo},  UnitName{"MB", kMega},
    UnitName{"GB", kGiga},  UnitName{"TB", kTera}, UnitName{"KiB", kKibi}, UnitName{"MiB", kMebi},
    UnitName{"GiB", kGibi}, UnitName{"TiB", kTebi}};
// A small b is a bit, a capital one a byte.
constexpr std::array kBandwidthUnits = {
    UnitName{"B/s", 1},           UnitName{"kB/s", kKilo},      UnitName{"KB/s", kKilo},
    UnitName{"MB/s", kMega},      UnitName{"GB/s", kGiga},      UnitName{"TB/s", kTera},
    UnitName{"KiB/s", kKibi},     UnitName{"MiB/s", kMebi},     UnitName{"GiB/s", kGibi},
    UnitName{"TiB/s", kTebi},     UnitName{"bps", 1, 8},        UnitName{"kbps", kKilo, 8},
    UnitName{"Kbps", kKilo, 8},   UnitName{"Mbps", kMega, 8},   UnitName{"Gbps", kGiga, 8},
    UnitName{"Tbps", kTera, 8},   UnitName{"b/s", 1, 8},        UnitName{"kb/s", kKilo, 8},
    UnitName{"Kb/s", kKilo, 8},   UnitName{"Mb/s", kMega, 8},   UnitName{"Gb/s", kGiga, 8},
    UnitName{"Tb/s", kTera, 8},   UnitName{"bit/s", 1, 8},      UnitName{"kbit/s", kKilo, 8},
    UnitName{"Kbit/s", kKilo, 8}, UnitName{"Mbit/s", kMega, 8}, UnitName{"Gbit/s", kGiga, 8},
    UnitName{"Tbit/s", kTera, 8}};
constexpr std::array kTimeUnits = {
    UnitName{"ns", 1},     UnitName{"us", kKilo}, UnitName{"\xc2\xb5s", kKilo},
    UnitName{"ms", kMega}, UnitName{"s", kGiga},  UnitName{"min", 60 * kGiga}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whether commas stand behind one to three digits, and then behind every third.
bool SeparatesThousands(std::string_view digits) {
  size_t comma = digits.find(',');
  if (comma < 1 || comma > 3) return false;
  for (; comma < digits.size(); comma += 4) {
    const std::string_view group = digits.substr(comma, 4);
    if (group.size() != 4 || group[0] != ',' || group.find(',', 1) != group.npos) return false;
  }
  return true;
}

// The number, without separators of thousands, and the unit, without blanks before it.
struct Parts {
  std::string number;
  std::string_view unit;
};
Parts Split(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && (IsDigit(text[end]) || text[end] == '.' || text[end] == ',')) ++end;
  size_t unit = end;
  while (unit < text.size() && text[unit] == ' ') ++unit;
  Parts parts{std::string(text.substr(0, end)), text.substr(unit)};
  const size_t point = std::min(parts.number.find('.'), end);
  if (SeparatesThousands(std::string_view(parts.number).substr(0, point))) {
    std::erase(parts.number, ',');
  }
  return parts;
}

Error Malformed(std::string_view text, std::string_view expected) {
  return MakeError(ErrorCode::kField,
                   fmt::format("\"{}\" is not {}", Printable(text, 40), expected));
}

std::string List(std::span<const UnitName> units) {
  std::string list;
  for (const UnitName& unit : units)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", unit.name);
  return list;
}

// number * unit, rounded to the nearest whole; `what` as in "a bandwidth such as 12 GB/s".
Result<int64_t> ParseWhole(std::string_view text, std::span<const UnitName> units,
                           std::string_view what) {
  const Parts parts = Split(text);
  if (!text.empty() && text[0] == '-')
    return Malformed(text, fmt::format("{}: it is negative", what));
  unsigned __int128 digits = 0, scale = 1;
  int count = 0;
  bool point = false;
  for (const char c : parts.number) {
    if (c == ',') return Malformed(text, what);
    if (c == '.') {
      if (point) return Malformed(text, what);
      point = true;
      continue;
    }
    if (++count > 18) return Malformed(text, fmt::format("{}: too many digits", what));
    digits = digits * 10 + static_cast<unsigned>(c - '0');
    if (point) scale *= 10;
  }
  if (count == 0) return Malformed(text, what);
  if (parts.unit.empty() && digits == 0) return int64_t{0};
  for (const UnitName& unit : units) {
    if (unit.name != parts.unit) continue;
    const unsigned __int128 divisor = scale * static_cast<unsigned>(unit.per);
    const unsigned __int128 value =
        (digits * static_cast<uint64_t>(unit.count) * 2 + divisor) / (divisor * 2);
    if (value > static_cast<unsigned __int128>(kMaxQuantity)) {
      return Malformed(text, fmt::format("{}: it is above 2^60", what));
    }
    return static_cast<int64_t>(value);
  }
  return Malformed(text, fmt::format("{}: {} (known are {})", what,
                                     parts.unit.empty() ? "the unit is missing"
                                                        : fmt::format("unknown unit \"{}\"",
                                                                      Printable(parts.unit, 20)),
                                     List(units)));
}

}  // namespace

Result<Bytes> ParseBytes(std::string_view text) {
  PW_ASSIGN(const int64_t count, ParseWhole(text, kByteUnits, "a size such as 12 GiB"));
  return Bytes(count);
}

Result<BytesPerSecond> ParseBandwidth(std::string_view text) {
  PW_ASSIGN(const int64_t count,
            ParseWhole(text, kBandwidthUnits, "a bandwidth such as 12 GB/s or 10 Gbps"));
  return BytesPerSecond(count);
}

Result<int32_t> ParsePercentage(std::string_view text) {
  constexpr std::array kUnits = {UnitName{"%", 10'000}};
  PW_ASSIGN(const int64_t millionths, ParseWhole(text, kUnits, "a share such as 5%"));
  if (millionths > 1'000'000) return Malformed(text, "a share: it is above 100%");
  return static_cast<int32_t>(millionths);
}

Result<Nanos> ParseDuration(std::string_view text) {
  PW_ASSIGN(const int64_t count, ParseWhole(text, kTimeUnits, "a time such as 5 us"));
  return Nanos(count);
}

Result<double> ParseRate(std::string_view text) {
  constexpr std::string_view kWhat = "a rate such as 9.3 TFLOP/s";
  const Parts parts = Split(text);
  double value = 0;
  const char* end = parts.number.data() + parts.number.size();
  const auto [rest, error] = std::from_chars(parts.number.data(), end, value);
  if (parts.number.empty() || rest != end || error != std::errc()) return Malformed(text, kWhat);
  if (parts.unit.empty() && value == 0) return 0.0;
  std::string_view unit = parts.unit;
  double factor = 1;
  constexpr std::string_view kPrefixes = "kMGTP";
  if (const size_t at = unit.empty() ? std::string_view::npos : kPrefixes.find(unit[0]);
      at != std::string_view::npos) {
    constexpr std::array kFactors = {1e3, 1e6, 1e9, 1e12, 1e15};
    factor = kFactors[at];
    unit.remove_prefix(1);
  }
  if (unit != "FLOP/s" && unit != "FLOPS" && unit != "OP/s" && unit != "OPS") {
    return Malformed(text, fmt::format("{}: the unit is missing or unknown", kWhat));
  }
  if (!(value * factor <= 1e24)) return Malformed(text, fmt::format("{}: it is too large", kWhat));
  return value * factor;
}

}  // namespace placewright
