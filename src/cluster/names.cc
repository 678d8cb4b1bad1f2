#include "cluster/cluster.h"

namespace placewright {

std::string_view ToString(DeviceClass device_class) {
  switch (device_class) {
    case DeviceClass::kCpu: return "cpu";
    case DeviceClass::kGpu: return "gpu";
    case DeviceClass::kOther: return "other";
  }
  return "?";
}

}  // namespace placewright
