#include "runtime/process/test_channels.h"

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

namespace placewright {
namespace {

// One message on its way, at most: a Send returns when it has been received, so that an order in which ranks
// wait for one another shows.
struct Pipe {
  const void* data = nullptr;
  int64_t bytes = 0;
  bool full = false;
};

struct LocalHub {
  LocalHub(int32_t count, std::chrono::milliseconds limit)
      : ranks(count),
        timeout(limit),
        pipes(static_cast<size_t>(count) * static_cast<size_t>(count)) {}
  Pipe& Of(int32_t from, int32_t to) {
    return pipes[static_cast<size_t>(from) * static_cast<size_t>(ranks) + static_cast<size_t>(to)];
  }

  const int32_t ranks;
  const std::chrono::milliseconds timeout;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Pipe> pipes;  // [from * ranks + to]
};

class LocalChannel final : public Channel {
 public:
  LocalChannel(std::shared_ptr<LocalHub> hub, int32_t rank) : hub_(std::move(hub)), rank_(rank) {}

  int32_t rank() const override { return rank_; }
  int32_t size() const override { return hub_->ranks; }

  Status Send(int32_t to, const void* data, int64_t bytes) override {
    Pipe& pipe = hub_->Of(rank_, to);
    std::unique_lock lock(hub_->mutex);
    pipe = {data, bytes, true};
    hub_->changed.notify_all();
    Status taken = Wait(lock, to, /*takes=*/true, [&] { return !pipe.full; });
    pipe.full = false;
    return taken;
  }

  Status Receive(int32_t from, void* data, int64_t bytes) override {
    Pipe& pipe = hub_->Of(from, rank_);
    std::unique_lock lock(hub_->mutex);
    PW_RETURN_IF_ERROR(Wait(lock, from, /*takes=*/false, [&] { return pipe.full; }));
    if (pipe.bytes != bytes) {
      return MakeError(ErrorCode::kExecution,
                       fmt::format("rank {} sends {} bytes and not {}", from, pipe.bytes, bytes));
    }
    if (bytes > 0) std::memcpy(data, pipe.data, static_cast<size_t>(bytes));
    pipe.full = false;
    hub_->changed.notify_all();
    return Ok();
  }

  void Abort(const Error& error) override {
    {
      const std::scoped_lock lock(hub_->mutex);
      if (!aborted_) aborted_ = error;
    }
    hub_->changed.notify_all();
  }
  std::optional<Error> aborted() const override {
    const std::scoped_lock lock(hub_->mutex);
    return aborted_;
  }
  int32_t lost() const override {
    const std::scoped_lock lock(hub_->mutex);
    return lost_;
  }
  void Lose(int32_t other) override {
    const std::scoped_lock lock(hub_->mutex);
    if (lost_ < 0 && !aborted_) lost_ = other;
  }
  std::chrono::milliseconds timeout() const override { return hub_->timeout; }

 private:
  template <typename Ready>
  Status Wait(std::unique_lock<std::mutex>& lock, int32_t other, bool takes, Ready ready) {
    hub_->changed.wait_for(lock, hub_->timeout, [&] { return aborted_ || ready(); });
    if (aborted_) return *aborted_;
    if (ready()) return Ok();
    if (lost_ < 0) lost_ = other;
    return MessageTimeout(other, takes, hub_->timeout);
  }

  const std::shared_ptr<LocalHub> hub_;
  const int32_t rank_;
  // Under the hub's mutex.
  std::optional<Error> aborted_;
  int32_t lost_ = -1;
};

}  // namespace

std::vector<std::unique_ptr<Channel>> MakeLocalChannels(int32_t ranks,
                                                        const ChannelOptions& options) {
  const auto hub = std::make_shared<LocalHub>(ranks, options.timeout);
  std::vector<std::unique_ptr<Channel>> channels;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    channels.push_back(std::make_unique<LocalChannel>(hub, rank));
  }
  return channels;
}

}  // namespace placewright
