// A whole step on one device without a memory limit: how much it would need at once.
#ifndef PLACEWRIGHT_SIM_ONE_DEVICE_H_
#define PLACEWRIGHT_SIM_ONE_DEVICE_H_

#include <optional>
#include <string>

#include "base/units.h"
#include "cost/cost_table.h"
#include "graph/graph.h"

namespace placewright {

// The kind of device whose modelled times are taken where a file gives none.
inline constexpr const char* kOneDeviceKind = "A100-40GB";

struct OneDeviceStep {
  Bytes
      peak;  // of tensors, in the order of the graph (DefaultPolicy); neither workspace nor context
  Nanos peak_time;  // when it is first reached
  Nanos step_time;
};

struct OpTimes {
  IdVector<OpId, Nanos> time;
  // "file": those of the file, of each op on its fastest device; kOneDeviceKind: modelled for it;
  // "none": not known, so that each op counts 1 ns.
  std::string source;
};

// `costs`: those of the file, nullptr where it gives none.
OpTimes TimesOnOneDevice(const Graph& graph, const CostTable* costs);

// Everything lies on that device, homes that the file states included. Simulated with
// TimesOnOneDevice. The peak depends on these only through the order of the ops. None where there
// are none, or members of a collective would have to lie on one device.
std::optional<OneDeviceStep> SimulateOnOneDevice(const Graph& graph, const CostTable* costs);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ONE_DEVICE_H_
