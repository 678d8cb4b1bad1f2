// The states of a machine over the time that something is measured.
#ifndef PLACEWRIGHT_TORCH_API_MACHINE_LOG_H_
#define PLACEWRIGHT_TORCH_API_MACHINE_LOG_H_

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "torch_api/profiling_service.h"

namespace placewright {

class MachineLog {
 public:
  MachineLog(MachineReference& reference, size_t devices)
      : reference_(&reference), devices_(devices) {}

  // Looks at the machine if it is time: at most once a second, and with what warms up behind it for a
  // fifth of the time. Whether it did, which leaves the caches with the references' data: Warm() is to be
  // called then. Errors: MachineReference::Measure's.
  Result<bool> Look() {
    if (Clock::now() < next_) return false;
    PW_RETURN_IF_ERROR(LookNow());
    return true;
  }
  // Behind something: unless it took so little time that the look before it says as much. Errors: as above.
  Status LookBehind() {
    if (Clock::now() - seen_ < std::chrono::milliseconds(300)) return Ok();
    return LookNow();
  }

  // When what had to warm up again behind a look has done so.
  void Warm() {
    const Clock::time_point now = Clock::now();
    next_ = now + std::max<Clock::duration>(std::chrono::seconds(1), 4 * (now - looked_));
  }

  // What each look has seen, by device; the last one is how the machine is now.
  const std::vector<std::vector<DeviceState>>& looks() const { return looks_; }

  // By device; unknown where it never looked.
  std::vector<DeviceState> Medians() const {
    std::vector<DeviceState> medians;
    for (size_t device = 0; device < devices_; ++device) {
      std::vector<MachineState> alone, loaded;
      for (const std::vector<DeviceState>& states : looks_) {
        if (states[device].alone.known()) alone.push_back(states[device].alone);
        if (states[device].loaded.known()) loaded.push_back(states[device].loaded);
      }
      medians.push_back({MedianOf(alone), MedianOf(loaded)});
    }
    return medians;
  }

 private:
  Status LookNow() {
    looked_ = Clock::now();
    PW_ASSIGN(std::vector<DeviceState> states, reference_->Measure());
    looks_.push_back(std::move(states));
    seen_ = Clock::now();
    return Ok();
  }

  MachineReference* reference_;
  size_t devices_;
  std::vector<std::vector<DeviceState>> looks_;
  Clock::time_point looked_, seen_;  // begin and end of the last look
  Clock::time_point next_ = Clock::time_point::min();
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_MACHINE_LOG_H_
