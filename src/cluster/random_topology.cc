#include "cluster/random_topology.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "cluster/catalogue.h"
#include "cluster/machine.h"

namespace placewright {
namespace {

constexpr int64_t kMaxRandomMachines = 256;
constexpr int64_t kMaxGpus = 64;
constexpr int64_t kMaxMbps = 100'000'000;
constexpr int64_t kBytesPerMbps = 125'000;

int64_t Draw(Random& random, const DrawRange& range) {
  return range.min +
         static_cast<int64_t>(random.Below(static_cast<uint64_t>(range.max - range.min) + 1));
}

Status CheckRange(std::string_view what, const DrawRange& range, int64_t max) {
  if (range.min >= 1 && range.min <= range.max && range.max <= max) return Ok();
  return MakeError(ErrorCode::kUsage,
                   fmt::format("{} are to be drawn from [{}, {}]", what, range.min, range.max), "",
                   fmt::format("Give a range MIN-MAX within [1, {}].", max));
}

Result<std::vector<DeviceKind>> FindKinds(const std::vector<std::string>& names) {
  std::vector<DeviceKind> kinds;
  for (const std::string& name : names) {
    const DeviceKind* kind = FindKind(name);
    if (kind == nullptr) {
      if (const std::string_view why = WhyNotInCatalogue(name); !why.empty()) {
        return MakeError(ErrorCode::kUnknownName, fmt::format("\"{}\" is not in the catalogue: {}",
                                                              Printable(name, 80), why));
      }
      std::vector<std::string> known;
      for (const DeviceKind& each : Catalogue()) known.push_back(each.name);
      return MakeError(ErrorCode::kUnknownName,
                       fmt::format("no device kind is called \"{}\"{}", Printable(name, 80),
                                   DidYouMean(name, known)),
                       "", "`placewright cluster show` lists the kinds.");
    }
    if (kind->device_class != DeviceClass::kGpu) {
      return MakeError(ErrorCode::kField, fmt::format("\"{}\" is no GPU", kind->name), "",
                       "Machines are drawn with GPUs; name kinds of class gpu.");
    }
    kinds.push_back(*kind);
  }
  if (!kinds.empty()) return kinds;
  return MakeError(ErrorCode::kUsage, "there are no kinds of GPUs to draw from");
}

Status CheckOptions(const RandomTopologyOptions& options) {
  PW_RETURN_IF_ERROR(CheckRange("machines", options.machines, kMaxRandomMachines));
  PW_RETURN_IF_ERROR(CheckRange("GPUs of a machine", options.gpus, kMaxGpus));
  PW_RETURN_IF_ERROR(CheckRange("Mb/s inside a machine", options.inside_mbps, kMaxMbps));
  PW_RETURN_IF_ERROR(CheckRange("Mb/s between machines", options.between_mbps, kMaxMbps));
  if (options.machines.max * (options.gpus.max + 1) <= static_cast<int64_t>(kMaxDevices)) {
    return Ok();
  }
  return MakeError(ErrorCode::kUsage,
                   fmt::format("{} machines of {} GPUs and a CPU would be more than {} devices",
                               options.machines.max, options.gpus.max, kMaxDevices));
}

}  // namespace

Result<ClusterBuilder> DrawTopology(const RandomTopologyOptions& options, uint64_t seed,
                                    std::string name) {
  PW_RETURN_IF_ERROR(CheckOptions(options));
  PW_ASSIGN(const std::vector<DeviceKind> kinds, FindKinds(options.kinds));
  Random random(seed);
  ClusterBuilder builder(name.empty() ? fmt::format("random-{}", seed) : std::move(name));
  const int64_t machines = Draw(random, options.machines);
  std::vector<BytesPerSecond> nics;
  for (int64_t m = 0; m < machines; ++m) {
    HostSpec host;
    host.index = static_cast<int32_t>(m);
    host.cpu = *FindKind("Xeon-E5-2650v4");
    host.sockets = 1;
    host.memory = Bytes(int64_t{128} << 30);
    const DeviceKind& kind = kinds[random.Below(kinds.size())];
    const auto count = static_cast<int32_t>(Draw(random, options.gpus));
    host.gpus = {GpuSlot{kind, count, Bytes(), std::nullopt}};
    host.bandwidth = BytesPerSecond(Draw(random, options.inside_mbps) * kBytesPerMbps);
    host.link_source = "drawn";
    nics.emplace_back(Draw(random, options.between_mbps) * kBytesPerMbps);
    PW_RETURN_IF_ERROR(AddHost(builder, host));
  }
  if (machines > 1) PW_RETURN_IF_ERROR(AddNetwork(builder, nics, kNetworkLatency, "drawn"));
  return builder;
}

std::optional<uint64_t> RandomTopologySeed(std::string_view name) {
  constexpr std::string_view kPrefix = "random:";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  uint64_t seed = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), seed);
  if (error != std::errc() || rest != name.data() + name.size()) return std::nullopt;
  return seed;
}

}  // namespace placewright
