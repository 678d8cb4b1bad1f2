// A whole step on one device without a memory limit: how much it would need at once.
#ifndef PLACEWRIGHT_REPORT_ONE_DEVICE_H_
#define PLACEWRIGHT_REPORT_ONE_DEVICE_H_

#include <optional>

#include "base/units.h"
#include "cost/cost_table.h"
#include "graph/graph.h"

namespace placewright {

// The kind of device whose modelled times are taken where a file gives none.
inline constexpr const char* kOneDeviceKind = "A100-40GB";

struct OneDeviceStep {
  Bytes peak;       // of tensors, in first-in-first-out order; neither workspace nor context
  Nanos peak_time;  // when it is first reached
  Nanos step_time;
};

// By op: the minimum times of `costs`, or where that is nullptr the modelled ones of the
// catalogue's kOneDeviceKind. None where the model has no such device.
std::optional<IdVector<OpId, Nanos>> TimesOnOneDevice(const Graph& graph, const CostTable* costs);

// Everything lies on that device, homes that the file states included. Simulated with
// TimesOnOneDevice. The peak depends on these only through the order of the ops. None where there
// are none.
std::optional<OneDeviceStep> SimulateOnOneDevice(const Graph& graph, const CostTable* costs);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_ONE_DEVICE_H_
