// From a driver's name of a GPU to a kind of the catalogue.
#ifndef PLACEWRIGHT_CLUSTER_DISCOVERY_MATCH_GPU_H_
#define PLACEWRIGHT_CLUSTER_DISCOVERY_MATCH_GPU_H_

#include <string_view>

#include "cluster/cluster.h"

namespace placewright {

struct GpuMatch {
  DeviceKind kind;
  bool exact = true;  // false: a variant that the catalogue lacks, for which its nearest stands
};

// "NVIDIA A100-SXM4-80GB" is A100-80GB: makers' and memory's words aside, the model must be equal;
// among its kinds the form (PCIe, SXM) decides, then the nearest memory. Else the longest model
// that the name begins with, followed by no digit, is the nearest: "A10G" -> A10, "H100 NVL" ->
// H100. Errors: kUnknownName with near names and what to do.
Result<GpuMatch> MatchGpu(std::string_view name, Bytes memory);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_DISCOVERY_MATCH_GPU_H_
