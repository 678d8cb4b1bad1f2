#include "runtime/process/channel.h"

#include <fmt/format.h>

namespace placewright {

Error MessageTimeout(int32_t other, bool takes, std::chrono::milliseconds timeout) {
  return MakeError(
      ErrorCode::kExecution,
      fmt::format("rank {} has {} nothing for {:.3g} s", other, takes ? "taken" : "sent",
                  std::chrono::duration<double>(timeout).count()),
      "", "See what it does, or let ranks wait for longer (--message-timeout).");
}

}  // namespace placewright
