#include "runtime/process/rendezvous.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "aten/c10d.h"
#include "aten/failure.h"
#include "base/stop.h"
#include "base/text.h"
#include "runtime/process/abort_text.h"
#include "runtime/process/gloo_channel.h"

namespace placewright {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Store = c10::intrusive_ptr<c10d::TCPStore>;

// For what others may say of the cause, for them to read ours, and for ranks that come late to read why the run
// does not begin.
constexpr Milliseconds kGrace{2000}, kLinger{3000}, kLate{5000};
constexpr Milliseconds kPoll{10};
constexpr const char* kOfRankZero = "Look at what rank 0 printed, and start all ranks again.";

double SecondsOf(Milliseconds time) { return std::chrono::duration<double>(time).count(); }

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? std::string(name) : std::string("?");
}

// The address of this machine from which packets to `host` leave; "" where there is no such way.
std::string AddressTowards(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), fmt::to_string(port).c_str(), &hints, &found) != 0) return "";
  std::string address;
  for (const addrinfo* one = found; one != nullptr && address.empty(); one = one->ai_next) {
    const int socket = ::socket(one->ai_family, SOCK_DGRAM, 0);
    if (socket < 0) continue;
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    char name[NI_MAXHOST];
    if (connect(socket, one->ai_addr, one->ai_addrlen) == 0 &&
        getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
        getnameinfo(reinterpret_cast<sockaddr*>(&own), length, name, sizeof name, nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      address = name;
    }
    close(socket);
  }
  freeaddrinfo(found);
  return address;
}

std::vector<uint8_t> BytesOfText(const std::string& text) { return {text.begin(), text.end()}; }
std::string TextAt(const Store& store, const std::string& key) {
  const std::vector<uint8_t> bytes = store->get(key);
  return std::string(bytes.begin(), bytes.end());
}

constexpr const char* kBegins = "ok";  // a verdict
std::string KeyOf(const char* what, int32_t rank) { return fmt::format("{}/{}", what, rank); }

}  // namespace

class Rendezvous::State : public std::enable_shared_from_this<Rendezvous::State> {
 public:
  State(const ProcessEnvironment& environment, const RendezvousOptions& options)
      : environment_(environment), options_(options) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Status Join() {
    PW_RETURN_IF_ERROR(Open());
    PW_RETURN_IF_ERROR(Agree());
    PW_RETURN_IF_ERROR(Watch());
    GlooOptions gloo;
    gloo.address = AddressTowards(environment_.address, environment_.port);
    if (const char* const stated = std::getenv("GLOO_SOCKET_IFNAME")) gloo.interface = stated;
    gloo.connect_timeout = options_.start;
    gloo.messages = options_.messages;
    auto made = MakeGlooChannel(c10::make_intrusive<c10d::PrefixStore>("gloo", store_),
                                environment_.rank, environment_.size, gloo);
    if (!made.ok()) return Fail(made.error());
    const std::scoped_lock lock(mutex_);
    channel_ = made.Take();
    if (cause_) return *cause_;
    return Ok();
  }

  int32_t rank() const { return environment_.rank; }
  int32_t size() const { return environment_.size; }
  const std::vector<std::string>& hosts() const { return hosts_; }
  Channel& channel() { return *channel_; }

  Error Fail(const Error& error) {
    {
      // Who loses a message is rarely the first to know why.
      std::unique_lock lock(mutex_);
      const bool lost = channel_ != nullptr && channel_->lost() >= 0;
      if (lost) changed_.wait_for(lock, kGrace, [&] { return cause_.has_value(); });
    }
    if (!Cause()) Publish(store_, {environment_.rank, hosts_[Index()], error});
    if (environment_.rank == 0) Linger();
    return *Cause();
  }

  Status Finish() {
    // Others may write files for longer than a message waits.
    const Clock::time_point end =
        Clock::now() + std::max(options_.messages.timeout, ChannelOptions().timeout);
    bool all = false;
    const Status counted = CatchAllFailures([&] {
      store_->add("done", 1);
      while (!all && !Cause() && Clock::now() < end) {
        all = store_->add("done", 0) >= environment_.size;
        if (!all) std::this_thread::sleep_for(Milliseconds(5));
      }
    });
    if (const auto cause = Cause()) return *cause;
    if (!counted.ok() || !all) {
      return Fail(
          MakeError(ErrorCode::kExecution, "not all ranks have come to the end of the run"));
    }
    Stop();
    // The store ends with rank 0: the others have gone by then.
    const Status left = CatchAllFailures([&] {
      store_->add("left", 1);
      const Clock::time_point last = Clock::now() + kLinger;
      while (environment_.rank == 0 && store_->add("left", 0) < environment_.size &&
             Clock::now() < last) {
        std::this_thread::sleep_for(Milliseconds(5));
      }
    });
    static_cast<void>(left);  // nothing is lost with it
    return Ok();
  }

  // Its threads end; one that waits for a store that has stopped is left to itself.
  void Stop() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (watchdog_.joinable()) watchdog_.join();
    if (!counter_.joinable()) return;
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kGrace, [&] { return counter_ended_; })) {
      lock.unlock();
      counter_.join();
    } else {
      counter_.detach();
    }
  }

 private:
  size_t Index() const { return static_cast<size_t>(environment_.rank); }
  std::optional<Error> Cause() {
    const std::scoped_lock lock(mutex_);
    return cause_;
  }
  std::string Place() const {
    return fmt::format("{}:{}", environment_.address, environment_.port);
  }

  Result<Store> Connect(bool serves) const {
    c10d::TCPStoreOptions options;
    options.port = environment_.port;
    options.isServer = serves;
    options.waitWorkers = false;
    options.timeout = options_.start;
    WithoutLibUv(options);
    QuietLogOfStores();
    // LibTorch 2.x tries for longer than the timeout, and waits without a limit for the first answer of what listens:
    // in a thread of its own, which is left to itself where none comes.
    std::packaged_task<Result<Store>()> opens([address = environment_.address,
                                               options]() -> Result<Store> {
      Store made;
      PW_RETURN_IF_ERROR(
          CatchAllFailures([&] { made = c10::make_intrusive<c10d::TCPStore>(address, options); }));
      return made;
    });
    std::future<Result<Store>> opened = opens.get_future();
    std::thread(std::move(opens)).detach();
    const Milliseconds limit = options_.start + kGrace;
    Result<Store> store = MakeError(ErrorCode::kMissingRuntime,
                                    fmt::format("no answer within {:.3g} s", SecondsOf(limit)));
    if (opened.wait_for(limit) == std::future_status::ready) store = opened.get();
    if (store.ok()) return store.Take();
    const std::string& why = store.error().message;
    if (serves && why.find("in use") != std::string::npos) {
      return MakeError(
          ErrorCode::kMissingRuntime,
          fmt::format("port {} of this machine is in use", environment_.port), "",
          "End the run that has it, or set MASTER_PORT to another port on all ranks; one "
          "rank alone has the number 0.");
    }
    return MakeError(
        ErrorCode::kMissingRuntime,
        fmt::format("rank {} {} {}: {}", environment_.rank,
                    serves ? "cannot listen at" : "does not reach rank 0 at", Place(), why),
        "",
        "Start all ranks, and look at MASTER_ADDR and MASTER_PORT; a port that another program has "
        "will not do.");
  }

  Status Open() {
    PW_ASSIGN(store_, Connect(environment_.rank == 0));
    int64_t times = 0;
    const Status opened = CatchAllFailures([&] {
      if (environment_.rank == 0) store_->set("open", {1});
      store_->wait({"open"}, options_.start);
      times = store_->add(KeyOf("joined", environment_.rank), 1);
    });
    if (!opened.ok()) {
      return MakeError(ErrorCode::kMissingRuntime,
                       fmt::format("what listens at {} is no run of Placewright: {}", Place(),
                                   opened.error().message),
                       "", "Set MASTER_PORT to another port on all ranks.");
    }
    if (times == 1) return Ok();
    return MakeError(ErrorCode::kMissingRuntime,
                     fmt::format("the run at {} has a rank {} already", Place(), environment_.rank),
                     "", "Give every rank a number of its own, and every run a MASTER_PORT.");
  }

  Status Agree() {
    const std::string host = HostName();
    Published own{host, options_.facts};
    own.facts.insert(own.facts.begin(),
                     {"the number of ranks (WORLD_SIZE)", fmt::to_string(environment_.size)});
    std::optional<AbortText> refused;
    if (options_.failure) refused = AbortText{environment_.rank, host, *options_.failure};
    const Status agreed = CatchAllFailures([&] {
      if (!refused) store_->set(KeyOf("facts", environment_.rank), BytesOfText(own.Text()));
      if (environment_.rank == 0) {
        if (!refused) refused = Gather(own);
        store_->set("verdict", BytesOfText(refused ? refused->Text() : kBegins));
      } else {
        if (!refused) refused = AwaitVerdict(own);
        if (refused && refused->rank == environment_.rank) {
          if (store_->add("refused/claimed", 1) == 1) {
            store_->set("refused", BytesOfText(refused->Text()));
          }
        }
        if (refused) store_->add("verdict/read", 1);
      }
    });
    if (!agreed.ok() && !refused) {
      return MakeError(
          ErrorCode::kMissingRuntime,
          fmt::format("rank 0 at {} does not answer: {}", Place(), agreed.error().message), "",
          "Start all ranks at about the same time.");
    }
    if (!refused) return Ok();
    if (environment_.rank == 0) AwaitReaders();
    return refused->AsError(environment_.rank);
  }

  // Rank 0: why the run does not begin; none: all have come and agree.
  std::optional<AbortText> Gather(const Published& own) {
    const Clock::time_point end = Clock::now() + options_.start;
    for (int32_t rank = 0; rank < environment_.size; ++rank) {
      while (!store_->check({KeyOf("facts", rank)})) {
        if (store_->check({"refused"})) return AbortText::Parse(TextAt(store_, "refused"));
        if (options_.stop.StopRequested()) return Interrupted();
        if (Clock::now() > end) {
          return AbortText{-1, "",
                           MakeError(ErrorCode::kMissingRuntime,
                                     fmt::format("rank {} of {} did not come within {:.3g} s", rank,
                                                 environment_.size, SecondsOf(options_.start)),
                                     "", "Start all ranks at about the same time.")};
        }
        std::this_thread::sleep_for(kPoll);
      }
      const Published theirs = Published::Parse(TextAt(store_, KeyOf("facts", rank)));
      hosts_.push_back(theirs.host);
      if (auto refused = OtherFacts(own, theirs, rank)) return refused;
    }
    return std::nullopt;
  }

  // What rank 0 has said of the run; at its begin, its ranks are known.
  std::optional<AbortText> AwaitVerdict(const Published& own) {
    // Rank 0 gives up first.
    const Clock::time_point end = Clock::now() + options_.start + kGrace;
    while (!store_->check({"verdict"})) {
      if (options_.stop.StopRequested()) return Interrupted();
      if (Clock::now() > end) {
        return AbortText{
            -1, "",
            MakeError(ErrorCode::kMissingRuntime,
                      fmt::format("rank 0 at {} does not say whether the run begins", Place()), "",
                      "Start all ranks at about the same time.")};
      }
      std::this_thread::sleep_for(kPoll);
    }
    const std::string verdict = TextAt(store_, "verdict");
    if (verdict != kBegins) return AbortText::Parse(verdict);
    const Published first = Published::Parse(TextAt(store_, KeyOf("facts", 0)));
    // One that is beyond rank 0's number of ranks was not looked at.
    if (auto refused = OtherFacts(first, own, environment_.rank)) return refused;
    for (int32_t rank = 0; rank < environment_.size; ++rank) {
      hosts_.push_back(Published::Parse(TextAt(store_, KeyOf("facts", rank))).host);
    }
    return std::nullopt;
  }

  static std::optional<AbortText> OtherFacts(const Published& first, const Published& theirs,
                                             int32_t rank) {
    const std::string difference = first.Difference(theirs, rank);
    if (difference.empty()) return std::nullopt;
    return AbortText{-1, "",
                     MakeError(ErrorCode::kPlanMismatch, difference, "",
                               "Give all ranks the same files, options and program.")};
  }

  AbortText Interrupted() const {
    return {environment_.rank, HostName(),
            MakeError(ErrorCode::kInterrupted, "interrupted before all ranks had come")};
  }

  // The store goes with rank 0: the others read the verdict before, those that come late, too.
  void AwaitReaders() {
    const bool hurries = options_.stop.StopRequested();
    const Clock::time_point end =
        Clock::now() + (hurries ? kGrace / 2 : std::min(kLate, options_.start));
    const Status waited = CatchAllFailures([&] {
      while (store_->add("verdict/read", 0) < environment_.size - 1 && Clock::now() < end) {
        std::this_thread::sleep_for(kPoll);
      }
    });
    static_cast<void>(waited);
  }

  Status Watch() {
    PW_ASSIGN(watched_, Connect(/*serves=*/false));
    answered_ = Clock::now();
    const auto self = shared_from_this();
    counter_ = std::thread([self] { self->Count(); });
    watchdog_ = std::thread([self] { self->WatchStore(); });
    return Ok();
  }

  Milliseconds Interval() const {
    return std::clamp(options_.silence / 20, Milliseconds(20), Milliseconds(500));
  }

  void Raise(const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (cause_ || stopping_) return;
    cause_ = error;
    if (channel_ != nullptr) channel_->Abort(error);
    changed_.notify_all();
  }

  // Once in a run; who comes second takes over what is there.
  void Publish(const Store& store, const AbortText& text) {
    std::optional<Error> first;
    const Status published = CatchAllFailures([&] {
      if (store->add("end/claimed", 1) == 1) {
        store->set("end", BytesOfText(text.Text()));
      } else {
        store->wait({"end"}, kGrace);
        first = AbortText::Parse(TextAt(store, "end")).AsError(environment_.rank);
      }
      store->add("end/read", 1);
    });
    static_cast<void>(published);  // rank 0 has gone: each finds out for itself
    Raise(first ? *first : text.AsError(environment_.rank));
  }

  void Linger() {
    const Clock::time_point end = Clock::now() + kLinger;
    const Status lingered = CatchAllFailures([&] {
      while (store_->add("end/read", 0) < environment_.size && Clock::now() < end) {
        std::this_thread::sleep_for(Milliseconds(20));
      }
    });
    static_cast<void>(lingered);
  }

  // The thread that counts up, looks for an end, and on rank 0 at the others' counts.
  void Count() {
    std::vector<std::pair<int64_t, Clock::time_point>> counts(
        static_cast<size_t>(environment_.size), {0, Clock::now()});
    const auto goes_on = [&] {
      const std::scoped_lock lock(mutex_);
      return !stopping_ && !cause_;
    };
    while (goes_on()) {
      const Status counted = CatchAllFailures([&] {
        watched_->add(KeyOf("count", environment_.rank), 1);
        if (watched_->check({"end"})) {
          const AbortText text = AbortText::Parse(TextAt(watched_, "end"));
          watched_->add("end/read", 1);
          Raise(text.AsError(environment_.rank));
        }
        if (environment_.rank == 0) LookAtCounts(counts);
      });
      if (!counted.ok()) RaiseGone(counted.error().message);
      std::unique_lock lock(mutex_);
      answered_ = Clock::now();
      changed_.wait_for(lock, Interval(), [&] { return stopping_ || cause_; });
    }
    {
      const std::scoped_lock lock(mutex_);
      counter_ended_ = true;
    }
    changed_.notify_all();
  }

  void LookAtCounts(std::vector<std::pair<int64_t, Clock::time_point>>& counts) {
    for (int32_t rank = 1; rank < environment_.size; ++rank) {
      auto& [count, since] = counts[static_cast<size_t>(rank)];
      const int64_t now = watched_->add(KeyOf("count", rank), 0);
      if (now != count) {
        count = now;
        since = Clock::now();
      } else if (Clock::now() - since > options_.silence) {
        Publish(watched_,
                {-1, "",
                 MakeError(ErrorCode::kExecution,
                           fmt::format("rank {} on {} has not been heard of for {:.3g} s: "
                                       "it has died or is stopped",
                                       rank, hosts_[static_cast<size_t>(rank)],
                                       SecondsOf(options_.silence)),
                           "", "Look at what that rank printed, and start all ranks again.")});
        return;
      }
    }
  }

  void RaiseGone(const std::string& why) {
    Raise(MakeError(ErrorCode::kExecution, fmt::format("rank 0 on {} has gone: {}", hosts_[0], why),
                    "", kOfRankZero));
  }

  // A store that has stopped answers nothing, not even with an error.
  void WatchStore() {
    std::unique_lock lock(mutex_);
    while (!stopping_ && !cause_) {
      changed_.wait_for(lock, Interval(), [&] { return stopping_ || cause_; });
      const bool silent = Clock::now() - answered_ > options_.silence;
      if (!silent || stopping_ || cause_) continue;
      cause_ =
          MakeError(ErrorCode::kExecution,
                    fmt::format("rank 0 on {} has not answered for {:.3g} s: it is stopped, or "
                                "its machine has gone",
                                hosts_[0], SecondsOf(options_.silence)),
                    "", kOfRankZero);
      if (channel_ != nullptr) channel_->Abort(*cause_);
      changed_.notify_all();
    }
  }

  const ProcessEnvironment environment_;
  const RendezvousOptions options_;
  Store store_, watched_;  // of the thread that calls; of the one that counts
  std::vector<std::string> hosts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Channel> channel_;
  std::optional<Error> cause_;  // what has ended the run
  Clock::time_point answered_;  // when the store did
  bool stopping_ = false, counter_ended_ = false;
  std::thread counter_, watchdog_;
};

Rendezvous::Rendezvous(std::shared_ptr<State> state) : state_(std::move(state)) {}
Rendezvous::~Rendezvous() { state_->Stop(); }

Result<std::unique_ptr<Rendezvous>> Rendezvous::Join(const ProcessEnvironment& environment,
                                                     const RendezvousOptions& options) {
  auto state = std::make_shared<State>(environment, options);
  auto made = std::unique_ptr<Rendezvous>(new Rendezvous(state));
  PW_RETURN_IF_ERROR(state->Join());
  return made;
}

int32_t Rendezvous::rank() const { return state_->rank(); }
int32_t Rendezvous::size() const { return state_->size(); }
const std::vector<std::string>& Rendezvous::hosts() const { return state_->hosts(); }
Channel& Rendezvous::channel() { return state_->channel(); }
Error Rendezvous::Fail(const Error& error) { return state_->Fail(error); }
Status Rendezvous::Finish() { return state_->Finish(); }

}  // namespace placewright
