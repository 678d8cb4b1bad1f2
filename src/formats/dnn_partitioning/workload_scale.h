// How many bytes a workload's sizes and costs are in its cost graph.
//
// A workload counts sizes alone; our simulator also counts activations, and whole granules. Beside
// large limits that is little. Where a limit is below 32 times what it can come to on one device,
// sizes and limit are multiplied by a power of two, as large as keeps their sum below 2^50, and the
// limit is raised by what is counted in addition.
#ifndef PLACEWRIGHT_FORMATS_DNN_PARTITIONING_WORKLOAD_SCALE_H_
#define PLACEWRIGHT_FORMATS_DNN_PARTITIONING_WORKLOAD_SCALE_H_

#include <cstdint>

#include "base/units.h"
#include "plan/pipeline_workload.h"

namespace placewright {

struct WorkloadScale {
  int64_t bandwidth = 0;    // bytes per second of accelerators' links; even
  int64_t size_factor = 1;  // bytes for one of the workload's
  int64_t uncounted = 0;    // bytes that our simulator may count on one device in addition
  Bytes limit;              // of an accelerator

  // Whether a split of whole sizes fits here if and only if the workload's rule says so. Else one
  // that fits here fits by the rule, and one that fills an accelerator to less than `uncounted` of
  // its limit may not fit here.
  bool exact() const { return size_factor > uncounted; }

  Bytes OfActivation(double cost) const;  // to the nearest byte
  Bytes OfSize(double size) const;        // rounded up; at most 2^60
};

WorkloadScale ScaleOf(const PipelineWorkload& workload);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_DNN_PARTITIONING_WORKLOAD_SCALE_H_
