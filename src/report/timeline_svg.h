// A picture of one simulated step: what every device and link does when, and how full devices are.
#ifndef PLACEWRIGHT_REPORT_TIMELINE_SVG_H_
#define PLACEWRIGHT_REPORT_TIMELINE_SVG_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "report/memory_curve.h"
#include "sim/simulator.h"

namespace placewright {

struct TimelineInput {
  const Graph& graph;
  const Cluster& cluster;
  const Placement& placement;
  const Schedule& schedule;
  std::span<const MemoryCurve> memory;    // one per device
  std::span<const DeviceResult> devices;  // of the same simulation: what else takes memory
  Nanos step_time;
  Nanos lower_bound;     // drawn as a line; 0: none
  std::string title;     // first line
  std::string subtitle;  // second line
  // The time that the width stands for, where it is longer than the step; for pictures that are
  // compared.
  Nanos scale{};
  std::string_view bound_of = "placement of whole ops";  // what does not end before it
};

// A self-contained SVG: no scripts, fonts or files of others. One track per device (of more than ten devices: per class
// of those that do the same, page/alike_devices.h, with the first one's) with its ops by
// phase and under it its memory, counted as in the table (tensors over time, largest workspace,
// runtime context) against the whole of it with what is usable and the reserve, always on that
// scale; one track per link that carries anything
// (the busiest twelve), one for collectives, and the time axis. Ops too narrow for the eye are merged; the details are
// in tool tips. Size: a few hundred kilobytes a lane at most, whatever the graph's.
std::string RenderTimelineSvg(const TimelineInput& input);

// Pictures of RenderTimelineSvg, one under the other in one.
std::string StackPictures(const std::vector<std::string>& pictures);

// Text safe within XML: the five entities, control characters replaced.
std::string EscapeXml(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_TIMELINE_SVG_H_
