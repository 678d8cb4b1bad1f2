// Messages between processes by Gloo, over TCP.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_GLOO_CHANNEL_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_GLOO_CHANNEL_H_

#include <memory>
#include <string>

#include "aten/c10d.h"
#include "runtime/process/channel.h"

namespace placewright {

struct GlooOptions {
  // This machine's address or interface, over which the others reach it: the first is asked for where
  // there is no second.
  std::string address, interface;
  std::chrono::milliseconds connect_timeout{30'000};
  ChannelOptions messages;
};

// Called by all ranks of the store; returns when all are connected. Errors: kMissingRuntime (a rank that
// does not connect in time; no such address).
Result<std::unique_ptr<Channel>> MakeGlooChannel(const c10::intrusive_ptr<c10d::Store>& store,
                                                 int32_t rank, int32_t size,
                                                 const GlooOptions& options);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_GLOO_CHANNEL_H_
