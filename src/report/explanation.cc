#include "report/explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "graph/graph.h"

namespace placewright {
namespace {

constexpr int kBarWidth = 12;
constexpr size_t kLargestTensors = 3;

}  // namespace

std::string RenderReasons(const Bottlenecks& bottlenecks, const Cluster& cluster, size_t max,
                          const Style& style) {
  const std::vector<Reason> reasons = TopReasons(bottlenecks, cluster);
  if (reasons.empty()) return "";
  const int64_t total = bottlenecks.Total().count;
  const auto right = Table::Align::kRight;
  Table table({{"why it is not faster"},
               {"time", right},
               {"of the step", right},
               {"", Table::Align::kLeft, true}});
  const auto add = [&](const std::string& what, Nanos time) {
    const double share = ShareOf(time.count, total);
    table.AddRow({what, FormatNanosLike(time, Nanos(total)), FormatShare(share),
                  Bar(share, kBarWidth, style)});
  };
  for (size_t i = 0; i < std::min(max, reasons.size()); ++i) add(reasons[i].what, reasons[i].time);
  if (reasons.size() > max) {
    Nanos rest;
    for (size_t i = max; i < reasons.size(); ++i) rest += reasons[i].time;
    add(fmt::format("and {} more", reasons.size() - max), rest);
  }
  std::string text = table.Render(style);
  std::string types;
  for (size_t i = 0; i < std::min(max, bottlenecks.compute_by_type.size()); ++i) {
    const auto& [type, time] = bottlenecks.compute_by_type[i];
    types += fmt::format("{}{} {}", i > 0 ? ", " : "", Printable(type),
                         FormatShare(ShareOf(time.count, total)));
  }
  if (!types.empty()) text += Wrap("longest op types on that path: " + types + "\n", style);
  return text;
}

std::string RenderTransferWaits(const SimResult& result, const Cluster& cluster, size_t max) {
  std::vector<std::pair<Nanos, DeviceId>> waits;
  for (DeviceId id : cluster.devices()) {
    const Nanos wait = result.devices[id.index()].idle_before_transfers;
    if (wait.count > result.step_time.count / 1000) waits.emplace_back(wait, id);
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (size_t i = 0; i < std::min(max, waits.size()); ++i) {
    const auto& [wait, id] = waits[i];
    text += fmt::format(
        "{}{} {}", i > 0 ? ", " : "waiting for transfers: ", Printable(cluster.device(id).name),
        FormatShare(ShareOf(wait.count, result.step_time.count)));
  }
  if (waits.size() > max) text += fmt::format(" and {} more", waits.size() - max);
  return text.empty() ? text : text + "\n";
}

PeakParts PartsOf(std::span<const PeakItem> items, const DeviceResult& device) {
  PeakParts parts;
  for (const PeakItem& item : items) {
    parts[item.copy ? "received copies" : std::string(ToString(item.kind))] += item.bytes;
  }
  if (device.workspace.count > 0) parts["workspace"] = device.workspace;
  if (device.runtime_context.count > 0) parts["runtime context"] = device.runtime_context;
  return parts;
}

std::string RenderPeak(const std::string& device_name, std::span<const PeakItem> items,
                       const DeviceResult& device, const Style& style) {
  std::vector<std::pair<std::string, Bytes>> parts;
  for (const auto& part : PartsOf(items, device)) parts.push_back(part);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text =
      fmt::format("{} is fullest at {}: {}\n", Paint(device_name, Tone::kStrong, style),
                  FormatNanos(device.peak_time), FormatBytes(device.peak));
  for (const auto& [name, bytes] : parts) {
    text += fmt::format("  {:<16} {:>10}  {}\n", name, FormatBytesLike(bytes, device.peak),
                        Bar(ShareOf(bytes.count, device.peak.count), kBarWidth, style));
  }
  std::string largest;
  for (size_t i = 0; i < std::min(kLargestTensors, items.size()); ++i) {
    largest += fmt::format("{}{} {}", i > 0 ? ", " : "", Printable(items[i].name),
                           FormatBytesLike(items[i].bytes, device.peak));
  }
  if (!largest.empty()) text += Wrap("  largest tensors: " + largest + "\n", style, 4);
  return text;
}

DeviceId FullestDevice(const SimResult& result, const Cluster& cluster) {
  DeviceId fullest;
  double max = 0;
  for (DeviceId id : cluster.devices()) {
    const double share =
        ShareOf(result.devices[id.index()].peak.count, cluster.device(id).capacity.count);
    if (share > max) {
      max = share;
      fullest = id;
    }
  }
  return fullest;
}

}  // namespace placewright
