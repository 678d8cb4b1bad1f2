// What processes hand one another: bytes from one rank to another. A rank is a process here; devices
// of one process meet in an InProcessTransport.
//
// Messages of one rank to another arrive in the order in which they were sent. Send may return
// before or after the other rank has received, so that all ranks must send and receive in one order
// (crossing_order.h). Sums and copies are composed of these two calls (crossings.h);
// what lies in the memory of GPUs may go beside it (device_link.h).
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_CHANNEL_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_CHANNEL_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace placewright {

class Channel {
 public:
  virtual ~Channel() = default;
  virtual int32_t rank() const = 0;
  virtual int32_t size() const = 0;

  // One thread at a time sends, and one receives. `bytes` may be 0: a message, too. Errors: kExecution (the other rank has
  // gone or does not answer within the channel's time, by its number; Abort).
  virtual Status Send(int32_t to, const void* data, int64_t bytes) = 0;
  virtual Status Receive(int32_t from, void* data, int64_t bytes) = 0;

  // From any thread: what waits, and all that comes later, ends with `error`, the first one's.
  virtual void Abort(const Error& error) = 0;
  // What Abort has been called with first; from any thread.
  virtual std::optional<Error> aborted() const = 0;
  // The rank of the first message that failed without Abort, here or on a link beside the channel, which says so (Lose);
  // -1: none did.
  virtual int32_t lost() const = 0;
  virtual void Lose(int32_t other) = 0;
  // How long one message waits for the other rank.
  virtual std::chrono::milliseconds timeout() const = 0;
};

struct ChannelOptions {
  std::chrono::milliseconds timeout{600'000};
};

// Text as two messages, its length first. Errors: the channel's.
Status SendText(Channel& channel, int32_t to, std::string_view text);
Result<std::string> ReceiveText(Channel& channel, int32_t from);

// Of a message that rank `other` has not sent, or with `takes` has not taken, within that time: mostly it goes on
// counting (rendezvous.h), or the watch over that would have been first.
Error MessageTimeout(int32_t other, bool takes, std::chrono::milliseconds timeout);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_CHANNEL_H_
