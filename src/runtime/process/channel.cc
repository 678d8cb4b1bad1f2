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

Status SendText(Channel& channel, int32_t to, std::string_view text) {
  const auto length = static_cast<int64_t>(text.size());
  PW_RETURN_IF_ERROR(channel.Send(to, &length, sizeof length));
  return length > 0 ? channel.Send(to, text.data(), length) : Ok();
}

Result<std::string> ReceiveText(Channel& channel, int32_t from) {
  int64_t length = 0;
  PW_RETURN_IF_ERROR(channel.Receive(from, &length, sizeof length));
  std::string text(static_cast<size_t>(length), '\0');
  if (length > 0) PW_RETURN_IF_ERROR(channel.Receive(from, text.data(), length));
  return text;
}

}  // namespace placewright
