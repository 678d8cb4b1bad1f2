#include "formats/cluster/cluster_writer.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "cluster/catalogue.h"
#include "formats/text/json.h"

namespace placewright {
namespace {

struct UnitName {
  std::string_view name;
  int64_t size;
};

// In the largest unit that has no remainder; 0 in the smallest.
template <size_t N>
std::string Exact(int64_t count, const std::array<UnitName, N>& units) {
  for (const UnitName& unit : units) {
    if (count != 0 && count % unit.size == 0) {
      return fmt::format("{} {}", count / unit.size, unit.name);
    }
  }
  return fmt::format("{} {}", count, units.back().name);
}

std::string ExactBytes(Bytes size) {
  constexpr std::array<UnitName, 4> kUnits = {
      {{"GiB", int64_t{1} << 30}, {"MiB", int64_t{1} << 20}, {"KiB", 1024}, {"B", 1}}};
  return Exact(size.count, kUnits);
}

std::string ExactBandwidth(BytesPerSecond bandwidth) {
  constexpr std::array<UnitName, 4> kUnits = {
      {{"GB/s", 1'000'000'000}, {"MB/s", 1'000'000}, {"kB/s", 1'000}, {"B/s", 1}}};
  return Exact(bandwidth.count, kUnits);
}

std::string ExactTime(Nanos time) {
  constexpr std::array<UnitName, 2> kUnits = {{{"us", 1'000}, {"ns", 1}}};
  return Exact(time.count, kUnits);
}

// Plain where YAML takes it for text anywhere, else in JSON's quotes, which YAML reads.
std::string Quoted(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  bool plain = text.size() > 4 && letter(text[0]);  // "null", "true", "yes", ... are shorter
  for (const char c : text) {
    plain = plain && (letter(c) || (c >= '0' && c <= '9') || c == '/' || c == '.' || c == '_' ||
                      c == '-' || c == '+');
  }
  if (plain && text != "false" && text != "False" && text != "FALSE") return std::string(text);
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

bool SameFigures(const DeviceKind& a, const DeviceKind& b) {
  return a.name == b.name && a.device_class == b.device_class && a.architecture == b.architecture &&
         a.peak.f64 == b.peak.f64 && a.peak.f32 == b.peak.f32 && a.peak.f16 == b.peak.f16 &&
         a.peak.bf16 == b.peak.bf16 && a.peak.i8 == b.peak.i8 &&
         a.memory_bandwidth == b.memory_bandwidth && a.memory == b.memory &&
         a.launch_overhead == b.launch_overhead && a.runtime_context == b.runtime_context &&
         a.reserve == b.reserve && a.cores == b.cores && a.p2p == b.p2p &&
         a.multiprocessors == b.multiprocessors && a.channels == b.channels && a.nvls == b.nvls &&
         a.source == b.source;
}

std::string KindLines(const DeviceKind& kind) {
  std::string text = fmt::format(
      "  {}:\n    class: {}\n    architecture: {}\n"
      "    peak_flops: {{f64: {}, f32: {}, f16: {}, bf16: {}, i8: {}}}\n"
      "    memory_bandwidth: {}\n    launch_overhead: {}\n    runtime_context: {}\n",
      Quoted(kind.name), ToString(kind.device_class), Quoted(kind.architecture), kind.peak.f64,
      kind.peak.f32, kind.peak.f16, kind.peak.bf16, kind.peak.i8,
      ExactBandwidth(kind.memory_bandwidth), ExactTime(kind.launch_overhead),
      ExactBytes(kind.runtime_context));
  if (kind.cores > 0) text += fmt::format("    cores: {}\n", kind.cores);
  if (!kind.p2p) text += "    p2p: false\n";
  if (kind.channels > 0) {
    text += fmt::format("    multiprocessors: {}\n    channels: {}\n", kind.multiprocessors,
                        kind.channels);
  }
  if (kind.nvls) text += "    nvls: true\n";
  if (kind.memory.count > 0) text += fmt::format("    memory: {}\n", ExactBytes(kind.memory));
  return text + fmt::format("    source: {}\n", Quoted(kind.source));
}

std::string Kinds(const ClusterBuilder& builder) {
  std::string text;
  for (const DeviceKind& kind : builder.kinds()) {
    const DeviceKind* known = FindKind(kind.name);
    if (known == nullptr || !SameFigures(*known, kind)) text += KindLines(kind);
  }
  return text.empty() ? text : "kinds:\n" + text;
}

std::string Devices(const ClusterBuilder& builder) {
  std::string text = "devices:\n";
  for (const Device& device : builder.devices()) {
    text += fmt::format("  - {{name: {}, kind: {}, memory: {}", Quoted(device.name),
                        Quoted(builder.kinds()[static_cast<size_t>(device.kind)].name),
                        ExactBytes(device.capacity + device.reserve));
    if (device.reserve_stated) text += ", reserve: " + ExactBytes(device.reserve);
    text += fmt::format(", host: {}}}\n", device.host);
  }
  return text;
}

std::string Links(const ClusterBuilder& builder) {
  std::string text;
  for (const ClusterBuilder::Join& join : builder.Joins()) {
    text += fmt::format(
        "  - {{between: [{}, {}], bandwidth: {}, latency: {}{}{}, source: {}}}\n", Quoted(join.a),
        Quoted(join.b), ExactBandwidth(join.bandwidth), ExactTime(join.latency),
        join.duplex == Duplex::kHalf ? ", duplex: half" : "",
        join.p2p ? (*join.p2p ? ", p2p: true" : ", p2p: false") : "", Quoted(join.source));
  }
  return text.empty() ? text : "links:\n" + text;
}

std::string Collectives(const StatedCollectives& collectives) {
  if (collectives == StatedCollectives()) return "";
  std::string text =
      fmt::format("collectives:\n  one_communicator: {}\n", collectives.one_communicator);
  if (collectives.lines.empty()) return text;
  text += fmt::format("  measured_at: {}\n  lines:\n", ExactBandwidth(collectives.measured_at));
  for (const StatedCollectives::Line& line : collectives.lines) {
    text += fmt::format("    - {{latency: {}, bandwidth: {}}}\n", ExactTime(line.latency),
                        ExactBandwidth(line.bandwidth));
  }
  if (!collectives.source.empty()) {
    text += fmt::format("  source: {}\n", Quoted(collectives.source));
  }
  return text;
}

}  // namespace

std::string ClusterToYaml(const ClusterBuilder& builder, const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += fmt::format("# {}\n", Printable(note, 1000));
  text += fmt::format("name: {}\n", Quoted(builder.name()));
  text += Kinds(builder) + Devices(builder);
  const std::vector<ClusterBuilder::Forwarder> forwarders = builder.Forwarders();
  if (!forwarders.empty()) text += "switches:\n";
  for (const ClusterBuilder::Forwarder& forwarder : forwarders) {
    const std::string name = Quoted(forwarder.name);
    text += forwarder.host_memory ? fmt::format("  - {{name: {}, host_memory: true}}\n", name)
                                  : fmt::format("  - {}\n", name);
  }
  return text + Links(builder) + Collectives(builder.collectives());
}

}  // namespace placewright
