// Bandwidth and latency of the links inside a machine and between machines, each with its source
// (docs/formats/cluster.md).
#ifndef PLACEWRIGHT_CLUSTER_LINK_FIGURES_H_
#define PLACEWRIGHT_CLUSTER_LINK_FIGURES_H_

#include <string_view>

#include "cluster/cluster.h"

namespace placewright {

// One direction of a link, and where the figures come from.
struct LinkFigure {
  BytesPerSecond bandwidth;
  Nanos latency;
  std::string_view source;
};
// x16 of that generation (3 stands for older ones, 5 for newer); two such hops make a copy between
// GPUs. Of an architecture's own generation where a machine does not say.
LinkFigure PcieFigure(int32_t generation);
int32_t PcieGenerationOf(const DeviceKind& kind);
// Of the slots beside a CPU; 5 where its architecture is not listed.
int32_t PcieGenerationOfCpu(std::string_view architecture);
// Between two sockets of that architecture; one that is not listed as Broadwell.
LinkFigure SocketFigure(std::string_view architecture);

// The slot that a NIC of this speed needs: the first generation whose nominal rate holds it.
LinkFigure NicSlot(BytesPerSecond bandwidth);

struct Nvlink {
  int32_t lanes = 0;    // of one GPU
  BytesPerSecond lane;  // one direction of one lane
  std::string_view source;
  bool bridge = false;  // joins two neighbouring boards with all lanes
};
// nullptr: none, or none that is known.
const Nvlink* FindNvlink(const DeviceKind& kind);
// AMD's Infinity Fabric between GPUs: a lane to each of up to `lanes` peers. nullptr: none is known.
const Nvlink* FindXgmi(const DeviceKind& kind);
inline constexpr Nanos kNvlinkLatency(2'000);
inline constexpr Nanos kDramLatency(100);        // the order of one access to DRAM
inline constexpr Nanos kPcieSwitchLatency(500);  // on top of the slot's 3 us: an estimate

// Half of the minimum application-to-application time over 10 Gb/s Ethernet, 10 us (Larsen,
// Sarangam, Huggahalli, "Architectural breakdown of end-to-end latency in a TCP/IP network",
// SBAC-PAD 2007), less the PCIe hop: a route crosses two such links.
inline constexpr Nanos kNetworkLatency(4'000);
inline constexpr Nanos kSpineLatency(
    250);  // half of what a path over the spine takes more: an estimate

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_LINK_FIGURES_H_
