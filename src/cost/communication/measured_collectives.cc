#include "cost/communication/measured_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace placewright {

namespace {

std::string KeyOfMachines(std::string_view what, const Cluster& cluster,
                          std::span<const DeviceId> devices) {
  std::map<int32_t, std::map<std::string, int>> machines;
  for (const DeviceId device : devices) {
    const DeviceKind& of = cluster.kind(device);
    const std::string name = of.cores > 0 ? fmt::format("{}:{}", of.name, of.cores) : of.name;
    ++machines[cluster.device(device).host][name];
  }
  std::map<std::string, int> contents;
  for (const auto& [host, counts] : machines) {
    std::string content;
    for (const auto& [name, count] : counts) {
      content += fmt::format("{}{}x{}", content.empty() ? "" : "+", count, name);
    }
    ++contents[content];
  }
  std::string key{what};
  for (const auto& [content, count] : contents) {
    key += fmt::format("{}{}/{}", content == contents.begin()->first ? " " : ", ", content, count);
  }
  return key;
}

}  // namespace

std::string MeasuredCollectiveKey(CollectiveKind kind, const Cluster& cluster,
                                  std::span<const DeviceId> devices) {
  return KeyOfMachines(ToString(kind), cluster, devices);
}

std::string MeasuredTransferKey(const Cluster& cluster, DeviceId from, DeviceId to) {
  return KeyOfMachines("transfer", cluster, std::array{from, to});
}

CollectiveFits::CollectiveFits(const std::vector<MeasuredCollectives>& measured) {
  for (const MeasuredCollectives& one : measured) {
    if (one.sizes.size() < 2 || fits_.contains(one.devices)) continue;
    std::vector<SizeAndTime> sizes;
    for (const MeasuredCollective& size : one.sizes) sizes.emplace_back(size.bytes, size.time);
    fits_[one.devices] = {FitSegments(sizes), sizes.front().first, sizes.back().first};
  }
}

const CollectiveFits::Fit* CollectiveFits::Find(const std::string& key) const {
  const auto fit = fits_.find(key);
  return fit == fits_.end() ? nullptr : &fit->second;
}

Nanos CollectiveFits::Fit::TimeOf(Bytes bytes) const {
  auto next = std::upper_bound(segments.begin(), segments.end(), bytes,
                               [](Bytes b, const TransferSegment& s) { return b < s.from; });
  if (next != segments.begin()) --next;
  return Nanos(SaturatingAdd(next->latency.count, TransferTime(bytes, next->bandwidth).count));
}

CostSource CollectiveFits::Fit::SourceOf(Bytes bytes) const {
  return smallest <= bytes && bytes <= largest ? CostSource::kMeasured : CostSource::kModelled;
}

}  // namespace placewright
