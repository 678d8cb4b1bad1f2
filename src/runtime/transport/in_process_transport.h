// Collectives between devices of this process.
//
// The members' tensors wait in one place. What is small and between devices without a queue of
// their own is moved by the member that comes last, on its thread; all else by threads of the
// transport's, as many as there are ranks, which also look at the time. So no member keeps its
// thread waiting, and ranks may start collectives in any order.
#ifndef PLACEWRIGHT_RUNTIME_TRANSPORT_IN_PROCESS_TRANSPORT_H_
#define PLACEWRIGHT_RUNTIME_TRANSPORT_IN_PROCESS_TRANSPORT_H_

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/transport/transport.h"

namespace placewright {

struct InProcessOptions {
  // How long a member waits for the others. 0: for ever; what has failed elsewhere is then for
  // Abort.
  std::chrono::nanoseconds timeout{0};
};

// One for each device, which is its rank; the devices outlive them. What has not ended when the
// last of them goes ends with an error.
std::vector<std::unique_ptr<Transport>> MakeInProcessTransports(
    std::span<RuntimeDevice* const> devices, const InProcessOptions& options = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_TRANSPORT_IN_PROCESS_TRANSPORT_H_
