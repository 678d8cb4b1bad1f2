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
  int32_t lost() const override {
    const std::scoped_lock lock(mutex_);
    return lost_;
  }

 private:
  static constexpr int kTag = 0;

  template <typename Post>
  Status Exchange(int32_t other, bool takes, void* data, int64_t bytes, Post post) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const Clock::time_point begin = Clock::now();
    GlooWork& under_way = under_way_[takes ? 0 : 1];
    bool ended = false;
    Status status = CatchAllFailures([&] {
      std::vector<at::Tensor> tensors = {at::from_blob(data, {bytes}, at::kByte)};
      GlooWork work;
      {
        // So that Abort either comes before it, or finds it.
        const std::scoped_lock lock(mutex_);
        if (aborted_) return;
        work = under_way = post(tensors);
      }
      ended = work->wait(timeout_);
    });
    const std::scoped_lock lock(mutex_);
    under_way.reset();
    if (aborted_) return *aborted_;
    if (status.ok() && ended) return status;
    if (lost_ < 0) lost_ = other;
    // Gloo says of both by an exception.
    if (Clock::now() - begin >= timeout_) return MessageTimeout(other, takes, timeout_);
    return MakeError(
        ErrorCode::kExecution,
        fmt::format("rank {} has gone, or does not answer: {}", other,
                    status.ok() ? "the message was not taken" : status.error().message));
  }

  const c10::intrusive_ptr<GlooGroup> group_;
  const std::chrono::milliseconds timeout_;
  mutable std::mutex mutex_;
  std::array<GlooWork, 2> under_way_;  // what is sent, what is received
  std::optional<Error> aborted_;
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
