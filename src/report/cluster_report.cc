#include "report/cluster_report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cluster/catalogue.h"

namespace placewright {
namespace {

constexpr auto kRight = Table::Align::kRight;

std::string FormatRate(double flops) {
  return flops > 0 ? fmt::format("{:.1f}", flops / 1e12) : "-";
}

// Few sources stand behind many links: they are numbered and listed below.
std::string RenderLinks(const Cluster& cluster, const Style& style) {
  std::vector<std::string> sources;
  Table links({{"link"}, {"bandwidth", kRight}, {"latency", kRight}, {"source"}});
  for (LinkId id : cluster.links()) {
    if (id == cluster.communicator()) continue;
    const Link& link = cluster.link(id);
    size_t number = 0;
    while (number < sources.size() && sources[number] != link.source) ++number;
    if (number == sources.size()) sources.push_back(link.source);
    links.AddRow({link.name, FormatBandwidth(link.bandwidth), FormatNanos(link.latency),
                  fmt::format("[{}]{}", number + 1, link.p2p ? "" : " no peer to peer")});
  }
  std::string text = links.Render(style);
  for (size_t i = 0; i < sources.size(); ++i)
    text += fmt::format("[{}] {}\n", i + 1, Printable(sources[i], 1000));
  return text;
}

std::string RenderCollectives(const StatedCollectives& collectives) {
  if (!collectives.one_communicator) return "";
  std::string text = "\ncollectives run one after another, whatever their devices";
  std::string_view separator = "; each takes the largest of ";
  for (const StatedCollectives::Line& line : collectives.lines) {
    text += fmt::format("{}{} + bytes at {}", separator, FormatNanos(line.latency),
                        FormatBandwidth(line.bandwidth));
    separator = ", ";
  }
  if (!collectives.lines.empty()) {
    text += fmt::format(", times {} / the smallest bandwidth between its devices ({})",
                        FormatBandwidth(collectives.measured_at),
                        Printable(collectives.source.empty() ? "given" : collectives.source, 1000));
  }
  return text + "\n";
}

}  // namespace

std::vector<std::pair<DeviceId, DeviceId>> UnreachablePairs(const Cluster& cluster) {
  std::vector<std::pair<DeviceId, DeviceId>> pairs;
  for (DeviceId from : cluster.devices()) {
    for (DeviceId to : cluster.devices()) {
      if (!cluster.Connected(from, to)) pairs.emplace_back(from, to);
    }
  }
  return pairs;
}

std::string RenderCluster(const Cluster& cluster, const Style& style) {
  std::string text = Paint(cluster.name(), Tone::kStrong, style) + "\n\n";
  Table devices({{"device"},
                 {"kind"},
                 {"usable", kRight},
                 {"reserve", kRight},
                 {"fp32 TFLOP/s", kRight},
                 {"bandwidth", kRight}});
  for (DeviceId id : cluster.devices()) {
    const Device& device = cluster.device(id);
    const DeviceKind& kind = cluster.kind(id);
    devices.AddRow(
        {device.name, kind.name, FormatBytes(device.capacity), FormatBytes(device.reserve),
         FormatRate(kind.peak.f32),
         kind.memory_bandwidth.count > 0 ? FormatBandwidth(kind.memory_bandwidth) : "-"});
  }
  text += devices.Render(style);
  if (cluster.link_count() > 0) text += "\n" + RenderLinks(cluster, style);
  text += RenderCollectives(cluster.collectives());
  const auto unreachable = UnreachablePairs(cluster);
  if (!unreachable.empty()) {
    text += "\n" +
            Paint(fmt::format("{} ordered pairs of devices have no route, the first {} to {}",
                              unreachable.size(), cluster.device(unreachable.front().first).name,
                              cluster.device(unreachable.front().second).name),
                  Tone::kWarning, style) +
            "\n";
  }
  return text;
}

std::string RenderCatalogue(const Style& style) {
  Table presets({{"preset"}, {"machines"}});
  for (const Preset& preset : Presets()) {
    presets.AddRow({std::string(preset.name), std::string(preset.description)});
  }
  Table kinds({{"device kind"},
               {"fp32 TFLOP/s", kRight},
               {"bandwidth", kRight},
               {"memory", kRight},
               {"source"}});
  for (const DeviceKind& kind : Catalogue()) {
    kinds.AddRow({kind.name, FormatRate(kind.peak.f32), FormatBandwidth(kind.memory_bandwidth),
                  kind.memory.count > 0 ? FormatBytes(kind.memory) : "the host's", kind.source});
  }
  return presets.Render(style) + "\n" + kinds.Render(style);
}

}  // namespace placewright
