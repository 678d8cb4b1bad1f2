// Why a step is not faster, and what fills a device at its peak.
#ifndef PLACEWRIGHT_REPORT_EXPLANATION_H_
#define PLACEWRIGHT_REPORT_EXPLANATION_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "report/table.h"
#include "sim/bottlenecks.h"
#include "sim/peak_items.h"
#include "sim/simulator.h"

namespace placewright {

// The longest stretches of the realised critical path and the op types that compute on it, at most
// `max` lines each, with their share of the step.
std::string RenderReasons(const Bottlenecks& bottlenecks, const Cluster& cluster, size_t max,
                          const Style& style);

// One line: the devices that lose most time to nothing but transfers (docs/simulator.md, idle
// before transfers), at most `max`, each with its share of the step; none below 0.1%, and without
// any an empty text. `result` was made with feedback.
std::string RenderTransferWaits(const SimResult& result, const Cluster& cluster, size_t max);

// Bytes at a device's peak, by what they are: "parameter", ..., "received copies", "workspace",
// "runtime context". They sum to DeviceResult::peak.
using PeakParts = std::map<std::string, Bytes>;
PeakParts PartsOf(std::span<const PeakItem> items, const DeviceResult& device);

// One paragraph: when the peak is, its parts and its largest tensors.
std::string RenderPeak(const std::string& device_name, std::span<const PeakItem> items,
                       const DeviceResult& device, const Style& style);

// The device with the largest share of its capacity in use at its peak; invalid if there is none.
DeviceId FullestDevice(const SimResult& result, const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_EXPLANATION_H_
