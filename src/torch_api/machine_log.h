// The states of a machine over the time that something is measured.
#ifndef PLACEWRIGHT_TORCH_API_MACHINE_LOG_H_
#define PLACEWRIGHT_TORCH_API_MACHINE_LOG_H_

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/stop.h"
#include "torch_api/profiling_service.h"

namespace placewright {

class MachineLog {
 public:
  MachineLog(MachineReference& reference, size_t devices)
      : reference_(&reference), alone_(devices), loaded_(devices) {}

  // Looks at the machine if it is time: at most once a second, and with what warms up behind it for a
  // fifth of the time. Whether it did, which leaves the caches with the references' data: Warm() is to be
  // called then. Errors: MachineReference::Measure's.
  Result<bool> Look() {
    const Clock::time_point now = Clock::now();
    if (now < next_) return false;
    PW_ASSIGN(const std::vector<DeviceState> states, reference_->Measure());
    for (size_t i = 0; i < states.size(); ++i) {
      if (states[i].alone.known()) alone_[i].push_back(states[i].alone);
      if (states[i].loaded.known()) loaded_[i].push_back(states[i].loaded);
    }
    looked_ = now;
    return true;
  }

  // When what had to warm up again behind a look has done so.
  void Warm() {
    const Clock::time_point now = Clock::now();
    next_ = now + std::max<Clock::duration>(std::chrono::seconds(1), 4 * (now - looked_));
  }

  // By device; unknown where it never looked.
  std::vector<DeviceState> Medians() const {
    std::vector<DeviceState> medians;
    for (size_t i = 0; i < alone_.size(); ++i) {
      medians.push_back({MedianOf(alone_[i]), MedianOf(loaded_[i])});
    }
    return medians;
  }

 private:
  MachineReference* reference_;
  std::vector<std::vector<MachineState>> alone_, loaded_;  // by device
  Clock::time_point looked_, next_ = Clock::time_point::min();
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_MACHINE_LOG_H_
