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

}  // namespace placewright
