#include "cluster/discovery/nvlink_topology.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/machine.h"

namespace placewright {
namespace {

constexpr Nvlink kUnknown{18, BytesPerSecond(25'000'000'000),
                          "NVLink: 25 GB/s a lane assumed (NVLink 2 and 3, nominal)"};

const Nvlink& NvlinkOf(const DeviceKind& kind) {
  const Nvlink* known = FindNvlink(kind);
  return known == nullptr ? kUnknown : *known;
}

struct Lanes {
  int32_t all = 0, max = 0;  // over a GPU's pairs
};

Lanes LanesOf(const FoundMachine& machine, size_t gpu) {
  Lanes lanes;
  for (size_t other = 0; other < machine.gpus.size(); ++other) {
    if (other == gpu) continue;
    const int32_t pair = machine.topology.cell(gpu, other).lanes;
    lanes.all += pair;
    lanes.max = std::max(lanes.max, pair);
  }
  return lanes;
}

BytesPerSecond Bandwidth(const Nvlink& nvlink, int32_t lanes) {
  return BytesPerSecond(nvlink.lane.count * lanes);
}

Status WireSwitch(const FoundMachine& machine, ClusterBuilder& builder) {
  PW_RETURN_IF_ERROR(builder.AddForwarder("host0/nvswitch"));
  for (size_t g = 0; g < machine.gpus.size(); ++g) {
    const Lanes lanes = LanesOf(machine, g);
    if (lanes.max == 0) continue;
    const Nvlink& nvlink = NvlinkOf(machine.gpus[g].kind);
    PW_RETURN_IF_ERROR(builder.Connect(
        fmt::format("host0/gpu{}", g), "host0/nvswitch", Bandwidth(nvlink, lanes.max),
        Nanos(kNvlinkLatency.count / 2), Duplex::kFull, std::string(nvlink.source),
        /*p2p=*/true));
  }
  return Ok();
}

Status WirePairs(const FoundMachine& machine, ClusterBuilder& builder) {
  for (size_t a = 0; a < machine.gpus.size(); ++a) {
    for (size_t b = a + 1; b < machine.gpus.size(); ++b) {
      const int32_t lanes = machine.topology.cell(a, b).lanes;
      if (lanes == 0) continue;
      const Nvlink& nvlink = NvlinkOf(machine.gpus[a].kind);
      PW_RETURN_IF_ERROR(builder.Connect(
          fmt::format("host0/gpu{}", a), fmt::format("host0/gpu{}", b), Bandwidth(nvlink, lanes),
          kNvlinkLatency, Duplex::kFull, std::string(nvlink.source)));
    }
  }
  return Ok();
}

}  // namespace

Status WireNvlink(const FoundMachine& machine, ClusterBuilder& builder,
                  std::vector<std::string>& notes) {
  bool switched = false, any = false;
  std::string assumed;
  for (size_t g = 0; g < machine.gpus.size(); ++g) {
    const Lanes lanes = LanesOf(machine, g);
    const DeviceKind& kind = machine.gpus[g].kind;
    any = any || lanes.all > 0;
    switched = switched || lanes.all > NvlinkOf(kind).lanes;
    if (lanes.all > 0 && FindNvlink(kind) == nullptr) assumed = kind.name;
  }
  if (!assumed.empty()) {
    notes.push_back(fmt::format("the NVLink lanes of {} are taken as 25 GB/s each", assumed));
  }
  if (!any) return Ok();
  return switched ? WireSwitch(machine, builder) : WirePairs(machine, builder);
}

}  // namespace placewright
