#include "plan/layout_spec.h"

namespace placewright {

std::string_view ToString(LayoutOption option) {
  switch (option) {
    case LayoutOption::kPlace: return "place";
    case LayoutOption::kAllReduce: return "all-reduce";
    case LayoutOption::kParameterServer: return "parameter-server";
    case LayoutOption::kDuplicate: return "duplicate";
    case LayoutOption::kModelParallel: return "model-parallel";
  }
  return "?";
}

std::string_view ToString(MeshOver over) {
  switch (over) {
    case MeshOver::kParts: return "parts";
    case MeshOver::kHosts: return "hosts";
    case MeshOver::kGpusOfHost: return "gpus of a host";
  }
  return "?";
}

}  // namespace placewright
