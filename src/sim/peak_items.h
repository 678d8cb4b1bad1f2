// What lies on a device at the first instant of its tensor peak.
#ifndef PLACEWRIGHT_SIM_PEAK_ITEMS_H_
#define PLACEWRIGHT_SIM_PEAK_ITEMS_H_

#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "plan/sequence.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

// A storage at its home, a read-only input, or a copy of a byte range of one version.
struct PeakItem {
  std::string name;  // the storage's first tensor
  TensorKind kind = TensorKind::kActivation;
  Bytes bytes;        // rounded up to the granule
  bool copy = false;  // received from the storage's home
  int32_t version = 0;
  Bytes offset, length;  // of a copy, within the storage
};

// Sorted by bytes (descending), then name, version, offset, length. Items of no bytes are left out.
// The bytes sum exactly to DeviceResult::tensor_peak. Cost: two simulations.
std::vector<PeakItem> ItemisePeak(const SimGraph& sim_graph, const Graph& graph,
                                  const Placement& placement, SchedulingPolicy policy,
                                  DeviceId device, const Sequences* sequences = nullptr);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_PEAK_ITEMS_H_
