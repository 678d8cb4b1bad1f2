#include "cluster/discovery/cpu_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "cluster/catalogue.h"
#include "cluster/cpu_peaks.h"

namespace placewright {
namespace {

constexpr int64_t kMaxMhz = 20'000;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

// The whole part of a number, times `scale`, with up to three digits behind the point counted.
int64_t Decimal(std::string_view text, int64_t scale) {
  int64_t value = 0, part = scale;
  bool point = false;
  for (const char c : text.substr(0, 12)) {
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      if (point) part /= 10;
      value = point ? value + (c - '0') * part : value * 10 + (c - '0') * scale;
    } else {
      break;
    }
  }
  return value;
}

// "... @ 2.20GHz": 2200.
int64_t ClockOfName(std::string_view model) {
  const size_t at = model.rfind('@');
  if (at == std::string_view::npos || model.find("GHz", at) == std::string_view::npos) return 0;
  return Decimal(Trim(model.substr(at + 1)), 1'000);
}

std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c != ' ' && c != '\t') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// "Intel(R) Xeon(R) CPU E5-2650 v4 @ 2.20GHz" and "AMD EPYC 7742 64-Core Processor", without the
// words that say nothing: "Xeon E5-2650 v4", "EPYC 7742".
std::string PlainModel(std::string_view model) {
  std::string plain;
  // "13th Gen Intel(R) Core(TM) i9-13900K", "AMD Ryzen 7 7840HS w/ Radeon 780M Graphics".
  model = model.substr(0, std::min(model.find('@'), model.find(" w/ ")));
  for (std::string word : SplitWords(model)) {
    for (const std::string_view mark : {"(R)", "(TM)", "(r)", "(tm)"}) {
      const size_t at = word.find(mark);
      if (at != std::string::npos) word.erase(at, mark.size());
    }
    const bool empty = word.empty() || word == "Intel" || word == "AMD" || word == "CPU" ||
                       word == "Processor" || word.ends_with("-Core") || word == "Gen" ||
                       (word.ends_with("th") && Decimal(word, 1) > 0);
    if (!empty) plain += (plain.empty() ? "" : " ") + word;
  }
  return plain;
}

struct Width {
  int64_t flops_per_cycle;
  std::string_view name;
};
Width WidthOf(const CpuFacts& facts) {
  if (facts.Has("avx512f")) {
    const bool halves = facts.vendor == "AuthenticAMD" && facts.family < 26;
    return halves ? Width{32, "AVX-512 in halves"} : Width{64, "AVX-512, two units assumed"};
  }
  if (facts.Has("avx2") && facts.Has("fma")) return {32, "AVX2 with FMA"};
  if (facts.Has("avx")) return {16, "AVX"};
  if (facts.Has("asimd")) return {16, "Advanced SIMD"};
  if (facts.Has("sse2")) return {8, "SSE2"};
  return {2, "no vector unit known"};
}

// The row of the efficiency table that is nearest.
std::string ArchitectureOf(const CpuFacts& facts) {
  const bool wide = facts.Has("avx512f");
  if (facts.vendor == "AuthenticAMD") return !wide ? "zen2" : facts.family < 26 ? "zen4" : "zen5";
  if (facts.vendor != "GenuineIntel") return "other-cpu";
  if (facts.Has("amx_tile")) return "sapphirerapids";
  if (facts.Has("avx512_vbmi2")) return "icelake";
  return wide ? "skylake" : "broadwell";
}

}  // namespace

bool CpuFacts::Has(std::string_view flag) const {
  return std::binary_search(flags.begin(), flags.end(), flag);
}

CpuFacts ParseCpuInfo(std::string_view text) {
  CpuFacts facts;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      if (Trim(line).empty() && !facts.flags.empty()) break;  // the next processor
      continue;
    }
    const std::string_view key = Trim(line.substr(0, colon)), value = Trim(line.substr(colon + 1));
    if (key == "vendor_id") facts.vendor = value;
    if (key == "model name") facts.model = Printable(value, 200);
    if (key == "cpu family") facts.family = Decimal(value, 1);
    if (key == "cpu MHz") facts.mhz = Decimal(value, 1);
    if (key == "flags" || key == "Features") facts.flags = SplitWords(value);
  }
  std::sort(facts.flags.begin(), facts.flags.end());
  const int64_t named = ClockOfName(facts.model);
  if (named > 0) facts.mhz = named;
  if (facts.mhz > kMaxMhz) facts.mhz = 0;
  return facts;
}

CpuEstimate EstimateCpu(const CpuFacts& facts, int64_t cores, bool part) {
  constexpr int64_t kUnknownMhz = 2'000;
  const Width width = WidthOf(facts);
  const int64_t mhz = facts.mhz > 0 ? facts.mhz : kUnknownMhz;
  const std::string plain = PlainModel(facts.model);
  DeviceKind kind =
      MakeCpuKind(plain.empty() ? "CPU" : plain, ArchitectureOf(facts),
                  {cores, mhz, width.flops_per_cycle}, BytesPerSecond(76'800'000'000), "");
  std::string memory = "76.8 GB/s assumed (four channels of DDR4-2400)", memory_source = memory;
  if (const DeviceKind* known = FindKind(plain)) {
    if (known->device_class == DeviceClass::kCpu) {
      if (!part && kind.peak.f32 >= 0.75 * known->peak.f32) return {*known, "", known->source};
      kind.architecture = known->architecture;
      kind.memory_bandwidth = known->memory_bandwidth;
      memory = "the whole socket's memory";
      memory_source = known->source;
    }
  }
  kind.name = fmt::format("{} ({} core{})", kind.name, cores, cores == 1 ? "" : "s");
  kind.cores = cores;
  kind.source = fmt::format("estimated: {} core{} x {} MHz{} x {} operations ({}); {}", cores,
                            cores == 1 ? "" : "s", mhz, facts.mhz > 0 ? "" : " assumed",
                            width.flops_per_cycle, width.name, memory);
  const std::string note = fmt::format(
      "the peaks of \"{}\" are an estimate: {} core{} x {} MHz{} x {} operations a cycle "
      "({}); memory bandwidth {}",
      kind.name, cores, cores == 1 ? "" : "s", mhz, facts.mhz > 0 ? "" : " (assumed)",
      width.flops_per_cycle, width.name, memory);
  return {kind, note, memory_source};
}

}  // namespace placewright
