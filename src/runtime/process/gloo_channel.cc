#include "runtime/process/gloo_channel.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <fmt/format.h>

#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "aten/failure.h"
#include "base/stop.h"

namespace placewright {
namespace {

class GlooChannel final : public Channel {
 public:
  GlooChannel(c10::intrusive_ptr<GlooGroup> group, const ChannelOptions& options)
      : group_(std::move(group)), timeout_(options.timeout) {}

  int32_t rank() const override { return group_->getRank(); }
  int32_t size() const override { return group_->getSize(); }

  Status Send(int32_t to, const void* data, int64_t bytes) override {
    // It is read only.
    return Exchange(
        to, /*takes=*/true, const_cast<void*>(data), bytes,
        [&](std::vector<at::Tensor>& tensors) { return group_->send(tensors, to, kTag); });
  }
  Status Receive(int32_t from, void* data, int64_t bytes) override {
    return Exchange(from, /*takes=*/false, data, bytes, [&](std::vector<at::Tensor>& tensors) {
      return group_->recv(tensors, from, kTag);
    });
  }

  void Abort(const Error& error) override {
    const std::scoped_lock lock(mutex_);
    if (!aborted_) aborted_ = error;
    for (GlooWork& work : under_way_) {
      if (work.defined()) work->abort();
    }
  }
  std::optional<Error> aborted() const override {
    const std::scoped_lock lock(mutex_);
    return aborted_;
  }
  int32_t lost() const override {
    const std::scoped_lock lock(mutex_);
    return lost_;
  }
  void Lose(int32_t other) override {
    const std::scoped_lock lock(mutex_);
    if (lost_ < 0 && !aborted_) lost_ = other;
  }
  std::chrono::milliseconds timeout() const override { return timeout_; }

 private:
  static constexpr int kTag = 0;
  struct Begun {
    int32_t other = -1;
    Clock::time_point at;
  };

  template <typename Post>
  Status Exchange(int32_t other, bool takes, void* data, int64_t bytes, Post post) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const size_t direction = takes ? 0 : 1;
    GlooWork& under_way = under_way_[direction];
    bool ended = false;
    Status status = CatchAllFailures([&] {
      std::vector<at::Tensor> tensors = {at::from_blob(data, {bytes}, at::kByte)};
      GlooWork work;
      {
        // So that Abort either comes before it, or finds it.
        const std::scoped_lock lock(mutex_);
        if (aborted_) return;
        begun_[direction] = {other, Clock::now()};
        work = under_way = post(tensors);
      }
      ended = work->wait(timeout_);
    });
    const std::scoped_lock lock(mutex_);
    const bool failed = !status.ok() || !ended;
    if (failed && !aborted_ && !failure_) failure_ = FailureOf(other, status);
    under_way.reset();
    begun_[direction] = {};
    if (aborted_) return *aborted_;
    return failed ? Status(*failure_) : status;
  }

  // Gloo says of all by an exception; a message that takes too long ends what goes the other way, too.
  Error FailureOf(int32_t other, const Status& status) {
    lost_ = other;
    const Clock::time_point now = Clock::now();
    for (const size_t direction : {0, 1}) {
      const Begun& begun = begun_[direction];
      if (begun.other == other && now - begun.at >= timeout_) {
        return MessageTimeout(other, /*takes=*/direction == 0, timeout_);
      }
    }
    return MakeError(
        ErrorCode::kExecution,
        fmt::format("rank {} has gone, or does not answer: {}", other,
                    status.ok() ? "the message was not taken" : status.error().message),
        "", "Look at what that rank printed, and start all ranks again.");
  }

  const c10::intrusive_ptr<GlooGroup> group_;
  const std::chrono::milliseconds timeout_;
  mutable std::mutex mutex_;
  // What is sent, what is received.
  std::array<GlooWork, 2> under_way_;
  std::array<Begun, 2> begun_;
  std::optional<Error> aborted_, failure_;  // the first ones
  int32_t lost_ = -1;
};

}  // namespace

Result<std::unique_ptr<Channel>> MakeGlooChannel(const c10::intrusive_ptr<c10d::Store>& store,
                                                 int32_t rank, int32_t size,
                                                 const GlooOptions& options) {
  std::unique_ptr<Channel> channel;
  const Status made = CatchAllFailures([&] {
    const auto of_group = GlooGroup::Options::create(options.connect_timeout);
    of_group->devices.push_back(options.interface.empty()
                                    ? GlooGroup::createDeviceForHostname(options.address)
                                    : GlooGroup::createDeviceForInterface(options.interface));
    of_group->threads = 1;
    channel = std::make_unique<GlooChannel>(
        c10::make_intrusive<GlooGroup>(store, rank, size, of_group), options.messages);
  });
  if (made.ok()) return channel;
  return MakeError(ErrorCode::kMissingRuntime,
                   fmt::format("rank {} gets no connection to all others by {}: {}", rank,
                               options.interface.empty() ? options.address : options.interface,
                               made.error().message),
                   "",
                   "Let the machines reach one another on all ports, or name the interface "
                   "(GLOO_SOCKET_IFNAME).");
}

}  // namespace placewright
