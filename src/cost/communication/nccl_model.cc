#include "cost/communication/nccl_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace placewright {
namespace {

constexpr double kNoWay = std::numeric_limits<double>::infinity();
constexpr double kMicro = 1e3;  // ns

struct Latencies {
  double base, nvlink, network;  // us
};
struct Protocol {
  bool ll;
  bool plateau;  // of all-reduces over several machines
  double ring_share, tree_share, tree_share_across;
  Latencies ring, tree;
};
// Simple, LL128, LL. An inner step of a ring over machines waits for the NIC's proxy: LL 1 us.
constexpr std::array kProtocols = {
    Protocol{false, true, 1, 1, 1, {8.4, 3.4, 14}, {8.4, 4, 14}},
    Protocol{false, false, 0.92, 7.0 / 9, 120.0 / 128, {14, 1.9, 4}, {14, 1.25, 8.5}},
    Protocol{true, false, 0.5, 1 / 3.8, 1 / 3.8, {6.6, 0.6, 2.7}, {6.8, 0.6, 5}},
};
constexpr double kProxy = 1;
constexpr double kPlateau = 1.4;
constexpr double kTreeOfRing = 0.5 * 0.92 * 0.6;
constexpr double kNvls = 25, kNvlsNetwork = 14;  // us
constexpr double kNvlsShare = 0.85, kNvlsShareOfBlackwell = 0.74;

int LogOf(int machines) {
  int log = 0;
  while (machines >> (log + 1) > 0) ++log;
  return log;
}

}  // namespace

// LL is bound by what threads can store: so many GB/s, bytes a ns.
double NcclModel::Capped(double nanos_per_byte, bool ll) const {
  if (!ll) return nanos_per_byte;
  const double of_one = set_.blackwell ? 282 : 141;
  const double most = set_.machines < 2 ? of_one : set_.machines < 3 ? 39 : 20.4;
  return std::max(nanos_per_byte, 1 / most);
}

double NcclModel::RingNanos(CollectiveKind kind, double bytes) const {
  const int times = kind == CollectiveKind::kAllReduce ? 2 : 1;
  const int steps = times * (set_.devices - 1), crossings = times * (set_.machines - 1);
  double fastest = kNoWay;
  for (const Protocol& protocol : kProtocols) {
    const double inside =
        set_.machines > 1 ? std::max(protocol.ring.nvlink, kProxy) : protocol.ring.nvlink;
    const double across =
        set_.machines < set_.devices ? protocol.ring.network : protocol.tree.network;
    double latency = protocol.ring.base + (steps - crossings) * inside + crossings * across;
    if (protocol.plateau && times > 1 && set_.machines > 1) latency *= kPlateau;
    const double moved = steps * std::ceil(bytes / set_.devices);
    fastest = std::min(
        fastest, latency * kMicro + moved * Capped(set_.ring / protocol.ring_share, protocol.ll));
  }
  return fastest;
}

double NcclModel::TreeNanos(double bytes) const {
  const int inside = set_.devices / set_.machines - 1;
  double fastest = kNoWay;
  for (const Protocol& protocol : kProtocols) {
    const double latency = protocol.tree.base + 2 * (inside * protocol.tree.nvlink +
                                                     LogOf(set_.machines) * protocol.tree.network);
    const double share = set_.machines > 1 ? protocol.tree_share_across : protocol.tree_share;
    const double nanos_per_byte = Capped(set_.ring / share, protocol.ll) / kTreeOfRing;
    fastest = std::min(fastest, latency * kMicro + bytes * nanos_per_byte);
  }
  return fastest;
}

double NcclModel::SwitchNanosPerByte(int devices) const {
  const double share = set_.blackwell ? kNvlsShareOfBlackwell : kNvlsShare;
  const double busy = static_cast<double>(set_.channels - 1) / set_.channels;
  return set_.link * (1 + 1.0 / devices) / (share * busy);
}

double NcclModel::NvlsNanos(double bytes) const {
  if (set_.link <= 0 || set_.machines > 1) return kNoWay;
  return kNvls * kMicro + bytes * SwitchNanosPerByte(set_.devices);
}

double NcclModel::NvlsTreeNanos(double bytes) const {
  if (set_.link <= 0 || set_.trees <= 0) return kNoWay;
  const double latency = kNvls + 2 * LogOf(set_.machines) * kNvlsNetwork;
  const double inside = SwitchNanosPerByte(set_.devices / set_.machines);
  return latency * kMicro + bytes * std::max(inside, set_.trees / kNvlsShare);
}

double NcclModel::NanosOf(CollectiveAlgorithm algorithm, CollectiveKind kind, double bytes) const {
  if (algorithm == CollectiveAlgorithm::kRing) return RingNanos(kind, bytes);
  if (kind != CollectiveKind::kAllReduce) return kNoWay;
  switch (algorithm) {
    case CollectiveAlgorithm::kTree: return TreeNanos(bytes);
    case CollectiveAlgorithm::kNvls: return NvlsNanos(bytes);
    case CollectiveAlgorithm::kNvlsTree: return NvlsTreeNanos(bytes);
    default: return kNoWay;
  }
}

}  // namespace placewright
