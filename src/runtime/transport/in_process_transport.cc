#include "runtime/transport/in_process_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "aten/failure.h"
#include "base/text.h"
#include "runtime/transport/combine.h"

namespace placewright {
namespace {

// 50 us of copying at 10 GB/s, as for transfers: to wake a thread takes as long.
constexpr size_t kAtOnce = size_t{512} << 10;

// The members of one collective that have come.
struct Meeting {
  const CollectiveSpec* spec = nullptr;          // the first one's
  std::vector<std::vector<at::Tensor>> tensors;  // by member
  std::vector<Transport::Done> done;             // by member; empty: it has not come
  size_t come = 0;
  Clock::time_point since, ready;
};

Error Named(Error error, const std::string& name) {
  if (error.code != ErrorCode::kDeviceMemory) error.code = ErrorCode::kExecution;
  error.place = "collective " + Printable(name, 80);
  return error;
}

void EndAll(Meeting& meeting, const Error& error) {
  // Before others learn of it: what was held is free by then.
  meeting.tensors.clear();
  for (Transport::Done& done : meeting.done) {
    if (done) std::exchange(done, nullptr)(error);
  }
}

void CarryOut(Meeting& meeting, std::span<RuntimeDevice* const> all) {
  const CollectiveSpec& spec = *meeting.spec;
  std::vector<RuntimeDevice*> devices;
  for (const int32_t rank : spec.members) devices.push_back(all[static_cast<size_t>(rank)]);
  Transport::Outcome outcome;
  outcome.ready = meeting.ready;
  outcome.start = Clock::now();
  std::vector<std::vector<at::Tensor>> results;
  const Status status =
      CatchAllFailures([&] { results = CombineAll(spec, meeting.tensors, devices); });
  if (!status.ok()) {
    results.clear();
    EndAll(meeting, Named(status.error(), spec.name));
    return;
  }
  meeting.tensors.clear();
  outcome.end = Clock::now();
  for (size_t i = 0; i < results.size(); ++i) {
    outcome.tensors = std::move(results[i]);
    std::exchange(meeting.done[i], nullptr)(outcome);
  }
}

// What the ranks of one process share.
class InProcessHub {
 public:
  InProcessHub(std::span<RuntimeDevice* const> devices, const InProcessOptions& options)
      : devices_(devices.begin(), devices.end()), timeout_(options.timeout) {
    for (size_t i = 0; i < devices_.size(); ++i) threads_.emplace_back([this] { Serve(); });
  }
  ~InProcessHub() {
    Abort(MakeError(ErrorCode::kExecution, "the transport has ended"));
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  InProcessHub(const InProcessHub&) = delete;
  InProcessHub& operator=(const InProcessHub&) = delete;

  void Start(int32_t rank, const CollectiveSpec& spec, std::vector<at::Tensor> tensors,
             Transport::Done done) {
    std::unique_ptr<Meeting> meeting;
    std::optional<Error> refused;
    bool wake = timeout_.count() > 0;
    {
      const std::scoped_lock lock(mutex_);
      refused = aborted_ ? aborted_ : Join(rank, spec, tensors, done, meeting);
      if (!refused && meeting != nullptr && !IsAtOnce(*meeting)) {
        ready_.push_back(std::move(meeting));
        wake = true;
      }
    }
    if (wake) work_.notify_one();
    if (refused) {
      tensors.clear();
      if (meeting != nullptr) EndAll(*meeting, *refused);
      done(std::move(*refused));
    } else if (meeting != nullptr) {
      CarryOut(*meeting, devices_);
    }
  }

  void Abort(const Error& error) {
    std::vector<std::unique_ptr<Meeting>> dropped;
    {
      const std::scoped_lock lock(mutex_);
      if (!aborted_) aborted_ = error;
      for (auto& [name, meeting] : waiting_) dropped.push_back(std::move(meeting));
      for (auto& meeting : ready_) dropped.push_back(std::move(meeting));
      waiting_.clear();
      ready_.clear();
    }
    idle_.notify_all();
    for (const auto& meeting : dropped) EndAll(*meeting, error);
  }

  void Drain() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return ready_.empty() && busy_ == 0; });
  }

  void Reset() {
    const std::scoped_lock lock(mutex_);
    aborted_.reset();
  }

 private:
  // The meeting leaves `waiting_` with its last member, or with one that does not fit; that one's
  // `tensors` and `done` are then still its own.
  std::optional<Error> Join(int32_t rank, const CollectiveSpec& spec,
                            std::vector<at::Tensor>& tensors, Transport::Done& done,
                            std::unique_ptr<Meeting>& left) {
    const auto refuse = [&](std::string message) {
      const auto found = waiting_.find(spec.name);
      if (found != waiting_.end()) {
        left = std::move(found->second);
        waiting_.erase(found);
      }
      return Named(MakeError(ErrorCode::kExecution, std::move(message)), spec.name);
    };
    const auto place = std::find(spec.members.begin(), spec.members.end(), rank);
    if (place == spec.members.end()) {
      return refuse(fmt::format("{} starts it, which is none of its members", NameOf(rank)));
    }
    std::unique_ptr<Meeting>& meeting = waiting_[spec.name];
    if (meeting == nullptr) {
      meeting = std::make_unique<Meeting>();
      meeting->spec = &spec;
      meeting->tensors.resize(spec.members.size());
      meeting->done.resize(spec.members.size());
      meeting->since = Clock::now();
    }
    if (*meeting->spec != spec) {
      return refuse(
          fmt::format("{} states another collective than the members before it", NameOf(rank)));
    }
    const auto member = static_cast<size_t>(place - spec.members.begin());
    if (meeting->done[member]) return refuse(fmt::format("{} starts it twice", NameOf(rank)));
    meeting->tensors[member] = std::move(tensors);
    meeting->done[member] = std::move(done);
    if (++meeting->come < spec.members.size()) return std::nullopt;
    meeting->ready = Clock::now();
    left = std::move(meeting);
    waiting_.erase(spec.name);
    return std::nullopt;
  }

  const std::string& NameOf(int32_t rank) const {
    return devices_[static_cast<size_t>(rank)]->name();
  }

  bool IsAtOnce(const Meeting& meeting) const {
    size_t bytes = 0;
    for (const std::vector<at::Tensor>& given : meeting.tensors) {
      for (const at::Tensor& tensor : given) bytes += tensor.defined() ? tensor.nbytes() : 0;
    }
    const bool queues = std::any_of(
        meeting.spec->members.begin(), meeting.spec->members.end(),
        [&](int32_t rank) { return devices_[static_cast<size_t>(rank)]->asynchronous(); });
    return !queues && bytes <= kAtOnce;
  }

  void Serve() {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      std::unique_ptr<Meeting> late = TakeLate();
      if (late == nullptr && ready_.empty()) {
        Wait(lock);
        continue;
      }
      std::unique_ptr<Meeting> meeting;
      if (late == nullptr) {
        meeting = std::move(ready_.front());
        ready_.pop_front();
      }
      ++busy_;
      lock.unlock();
      if (late != nullptr) {
        EndAll(*late, Named(MissingOf(*late), late->spec->name));
      } else {
        CarryOut(*meeting, devices_);
      }
      lock.lock();
      --busy_;
      idle_.notify_all();
    }
  }

  // Until something changes, or a member has waited for too long.
  void Wait(std::unique_lock<std::mutex>& lock) {
    std::optional<Clock::time_point> first;
    if (timeout_.count() > 0) {
      for (const auto& [name, meeting] : waiting_) {
        const Clock::time_point end = meeting->since + timeout_;
        if (!first || end < *first) first = end;
      }
    }
    if (first) {
      work_.wait_until(lock, *first);
    } else {
      work_.wait(lock);
    }
  }

  std::unique_ptr<Meeting> TakeLate() {
    if (timeout_.count() == 0) return nullptr;
    const Clock::time_point now = Clock::now();
    for (auto found = waiting_.begin(); found != waiting_.end(); ++found) {
      if (found->second->since + timeout_ > now) continue;
      std::unique_ptr<Meeting> late = std::move(found->second);
      waiting_.erase(found);
      return late;
    }
    return nullptr;
  }

  Error MissingOf(const Meeting& meeting) const {
    std::vector<std::string> missing;
    for (size_t i = 0; i < meeting.done.size(); ++i) {
      if (!meeting.done[i]) missing.push_back(Printable(NameOf(meeting.spec->members[i]), 80));
    }
    const double seconds = std::chrono::duration<double>(timeout_).count();
    return MakeError(
        ErrorCode::kExecution,
        fmt::format("{} did not come within {:.3g} s, {} of its {} members did",
                    fmt::join(missing, ", "), seconds, meeting.come, meeting.done.size()));
  }

  const std::vector<RuntimeDevice*> devices_;  // by rank
  const std::chrono::nanoseconds timeout_;
  std::mutex mutex_;
  std::condition_variable work_;  // there is some, or another member has come
  std::condition_variable idle_;
  std::map<std::string, std::unique_ptr<Meeting>, std::less<>> waiting_;  // for members, by name
  std::deque<std::unique_ptr<Meeting>> ready_;                            // all have come
  std::optional<Error> aborted_;
  int busy_ = 0;  // threads that carry something out
  bool ended_ = false;
  std::vector<std::thread> threads_;  // last: they use the others
};

class InProcessTransport final : public Transport {
 public:
  // The hub ends with the last of its ranks: whichever that is.
  InProcessTransport(std::shared_ptr<InProcessHub> hub, int32_t rank)
      : hub_(std::move(hub)), rank_(rank) {}

  int32_t rank() const override { return rank_; }
  void Start(const CollectiveSpec& spec, std::vector<at::Tensor> tensors, Done done) override {
    hub_->Start(rank_, spec, std::move(tensors), std::move(done));
  }
  void Abort(const Error& error) override { hub_->Abort(error); }
  void Drain() override { hub_->Drain(); }
  void Reset() override { hub_->Reset(); }

 private:
  const std::shared_ptr<InProcessHub> hub_;
  const int32_t rank_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> MakeInProcessTransports(
    std::span<RuntimeDevice* const> devices, const InProcessOptions& options) {
  const auto hub = std::make_shared<InProcessHub>(devices, options);
  std::vector<std::unique_ptr<Transport>> transports;
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    transports.push_back(std::make_unique<InProcessTransport>(hub, static_cast<int32_t>(rank)));
  }
  return transports;
}

}  // namespace placewright
