// Channels between threads of this process.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_TEST_CHANNELS_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_TEST_CHANNELS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/process/channel.h"

namespace placewright {

// By rank.
std::vector<std::unique_ptr<Channel>> MakeLocalChannels(int32_t ranks,
                                                        const ChannelOptions& options = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_TEST_CHANNELS_H_
