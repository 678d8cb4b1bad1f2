// The schedule of a step as data of a page, within a limit of bytes: web/plan_page.js draws it.
#ifndef PLACEWRIGHT_REPORT_PAGE_PAGE_TIMELINE_H_
#define PLACEWRIGHT_REPORT_PAGE_PAGE_TIMELINE_H_

#include <span>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "report/memory_curve.h"
#include "sim/simulator.h"

namespace placewright {

struct PageTimelineInput {
  const Graph& step;
  const Cluster& cluster;
  const Placement& placement;
  const Schedule& schedule;
  std::span<const MemoryCurve> memory;                // one per device
  std::span<const DeviceResult> devices;              // of the same simulation
  const std::vector<std::vector<DeviceId>>& classes;  // FindAlikeDevices
  Nanos step_time;
  Nanos lower_bound;         // 0: none
  size_t limit = 1'300'000;  // bytes of `packed`
};

struct PageTimeline {
  // JSON, by PackText:
  //   step, bound             ns; bound 0: none
  //   names[], types[], modules[]
  //   ops                     {name[], type[], module[], phase[]}: numbers of the texts; phase 0 to 2
  //   lanes[]                 {name, kind, capacity, reserve, devices[], shown[]}: a class of devices that run
  //                           anything; of each of its devices the number in `data`, or -1
  //   data[]                  {gap[], time[], op[], count[]}: boxes in the order of their begin: ns between the end of
  //                           the one before and its begin (may be negative), ns that it lasts, its first op as the
  //                           difference to that of the one before, and how many ops it stands for (left out: one
  //                           each); `fixed`: bytes beside tensors (runtime context, largest workspace);
  //                           memory {gap[], bytes[]}: ns since the point before, by how many bytes the tensors are more;
  //                           moves {gap[], time[], wait[], what[], bytes[], kind[], count[]}: collectives and
  //                           transfers that the device takes part in, by begin: ns between begins, ns that it lasts,
  //                           ns that it was ready before, a number in `names`, bytes, a number in `kinds`, and for how
  //                           many it stands (left out: one each), the first of which is named
  //   kinds[]                 "all-reduce", "transfer to host0/gpu1", ...
  std::string packed;
  // Consecutive ops of a phase that are shorter, and less than this apart, are one box, and so is what moves; 0: none
  // are.
  Nanos merged;
  size_t shown = 0;  // devices with data, of those that run anything
  size_t busy = 0;   // devices that run anything
};

// The first device of each class has its data; others as far as the limit allows. Where even the first ones do not
// fit, ops are merged, as much as it takes, up to a 300th of the step; then the first classes alone have data.
// Same input, same text.
PageTimeline MakePageTimeline(const PageTimelineInput& input);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_PAGE_PAGE_TIMELINE_H_
