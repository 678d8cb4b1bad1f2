#include "runtime/process/nccl_links.h"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "aten/failure.h"
#include "base/stop.h"

namespace placewright {
namespace {

class NcclLink final : public DeviceLink {
 public:
  NcclLink(const NcclLibrary& library, Channel& channel, int32_t other, bool sends,
           c10::Device device, int64_t threshold)
      : library_(library),
        channel_(channel),
        other_(other),
        sends_(sends),
        device_(device),
        threshold_(threshold) {}

  // The communicator is given up; what comes back says when that has ended. Nothing where it is already.
  std::future<void> Close() { return comm_ == nullptr ? std::future<void>() : GiveUp(stream_); }

  c10::Device device() const override { return device_; }
  int64_t threshold() const override { return threshold_; }

  Status Send(const at::Tensor& bytes) override {
    return Move([&] {
      return library_.Send(bytes.data_ptr(), static_cast<size_t>(bytes.numel()),
                           NcclLibrary::kUint8, Peer(), comm_, stream_);
    });
  }
  Status Receive(const at::Tensor& bytes) override {
    return Move([&] {
      return library_.Receive(bytes.data_ptr(), static_cast<size_t>(bytes.numel()),
                              NcclLibrary::kUint8, Peer(), comm_, stream_);
    });
  }

 private:
  // Of a communicator's two ranks the sender is the first.
  int Own() const { return sends_ ? 0 : 1; }
  int Peer() const { return 1 - Own(); }

  template <typename Launch>
  Status Move(Launch launch) {
    Status moved = Ok();
    const Status caught = CatchAllFailures([&] {
      const c10::DeviceGuard here(device_);
      moved = MoveHere(launch);
    });
    if (caught.ok() && moved.ok()) return Ok();
    Error error = caught.ok() ? moved.error() : caught.error();
    // The thread of the other direction may be the one that reports it.
    if (error.place.empty()) {
      error.place = fmt::format("the link {} rank {}", sends_ ? "to" : "from", other_);
    }
    if (is_lost_) channel_.Lose(other_);
    channel_.Abort(error);
    if (comm_ != nullptr) {
      static_cast<void>(GiveUp(nullptr));  // the stream, which NCCL may still use, stays
      AwaitKernel();
    }
    return error;
  }

  template <typename Launch>
  Status MoveHere(Launch launch) {
    if (comm_ == nullptr) {
      PW_RETURN_IF_ERROR(Connect());
    } else {
      PW_RETURN_IF_ERROR(Meet());
    }
    PW_RETURN_IF_ERROR(Check(launch()));
    PW_RETURN_IF_ERROR(AwaitComm());
    return Await([&]() -> Result<bool> {
      PW_ASSIGN(const bool ended, KernelHasEnded());
      if (ended) return true;
      // What fails at the other end shows here.
      PW_ASSIGN([[maybe_unused]] const bool idle, CommIsIdle());
      return false;
    });
  }

  Result<bool> KernelHasEnded() {
    const int state = library_.StreamQuery(stream_);
    if (state == NcclLibrary::kCudaNotReady) {
      library_.ForgetLastError();
      return false;
    }
    PW_RETURN_IF_ERROR(CheckCuda(state));
    return true;
  }

  // Both ends have come.
  Status Meet() {
    int64_t word = 0;
    return sends_ ? channel_.Send(other_, &word, sizeof word)
                  : channel_.Receive(other_, &word, sizeof word);
  }

  // The number is a word, too.
  Status Connect() {
    NcclLibrary::UniqueId id;
    const auto bytes = static_cast<int64_t>(id.bytes.size());
    if (sends_) {
      PW_RETURN_IF_ERROR(Check(library_.GetUniqueId(&id)));
      PW_RETURN_IF_ERROR(channel_.Send(other_, id.bytes.data(), bytes));
    } else {
      PW_RETURN_IF_ERROR(channel_.Receive(other_, id.bytes.data(), bytes));
    }
    if (stream_ == nullptr) {
      PW_RETURN_IF_ERROR(
          CheckCuda(library_.StreamCreate(&stream_, NcclLibrary::kNonBlockingStream)));
    }
    NcclLibrary::Config config;
    PW_RETURN_IF_ERROR(Check(library_.CommInitRankConfig(&comm_, 2, id, Own(), &config)));
    return AwaitComm();
  }

  // Its last call has been carried out, as far as the host is concerned.
  Status AwaitComm() {
    return Await([&] { return CommIsIdle(); });
  }
  Result<bool> CommIsIdle() {
    int state = NcclLibrary::kSuccess;
    PW_RETURN_IF_ERROR(Check(library_.CommGetAsyncError(comm_, &state)));
    PW_RETURN_IF_ERROR(Check(state));
    return state == NcclLibrary::kSuccess;
  }

  // Looks again and again until `ready` says true.
  template <typename Ready>
  Status Await(Ready ready) {
    constexpr int kSpins = 200;
    constexpr std::chrono::microseconds kPause{20};
    const Clock::time_point begin = Clock::now();
    for (int looks = 0;; ++looks) {
      PW_ASSIGN(const bool is, ready());
      if (is) return Ok();
      if (std::optional<Error> aborted = channel_.aborted()) return *std::move(aborted);
      if (Clock::now() - begin >= channel_.timeout()) {
        is_lost_ = true;
        return MessageTimeout(other_, /*takes=*/sends_, channel_.timeout());
      }
      if (looks < kSpins) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  Status Check(int result) {
    if (result == NcclLibrary::kSuccess || result == NcclLibrary::kInProgress) return Ok();
    is_lost_ = result == NcclLibrary::kRemoteError;
    return Failure("NCCL", library_.GetErrorString(result));
  }
  Status CheckCuda(int error) const {
    return error == 0 ? Ok() : Failure("CUDA", library_.GetCudaErrorString(error));
  }
  Error Failure(const char* whose, const char* text) const {
    return MakeError(
        ErrorCode::kExecution,
        fmt::format("rank {} is not reached by NCCL: {} says \"{}\"", other_, whose, text), "",
        "NCCL_DEBUG=WARN lets NCCL say more; with --no-nccl tensors cross by the host's memory.");
  }

  // On a thread of its own, with `stream` where there is one. What comes back says when it has ended.
  std::future<void> GiveUp(NcclLibrary::Stream stream) {
    std::packaged_task<void()> task([abort = library_.CommAbort, destroy = library_.StreamDestroy,
                                     comm = std::exchange(comm_, nullptr), stream,
                                     device = device_] {
      const c10::DeviceGuard here(device);
      abort(comm);
      if (stream != nullptr) destroy(stream);
    });
    std::future<void> ended = task.get_future();
    std::thread(std::move(task)).detach();
    return ended;
  }

  // The memory that it uses stays until then.
  void AwaitKernel() {
    constexpr std::chrono::seconds kPatience{1};  // less than others wait for this rank's reason
    constexpr std::chrono::milliseconds kPause{1};
    const c10::DeviceGuard here(device_);
    const Clock::time_point end = Clock::now() + kPatience;
    while (Clock::now() < end) {
      const Result<bool> ended = KernelHasEnded();
      if (!ended.ok() || ended.value()) return;
      std::this_thread::sleep_for(kPause);
    }
  }

  const NcclLibrary& library_;
  Channel& channel_;
  const int32_t other_;
  const bool sends_;
  const c10::Device device_;
  const int64_t threshold_;
  NcclLibrary::Comm comm_ = nullptr;
  NcclLibrary::Stream stream_ = nullptr;
  bool is_lost_ = false;  // the other rank; it may have a better reason
};

class NcclLinks final : public DeviceLinks {
 public:
  NcclLinks(const NcclLibrary& library, Channel& channel, const NcclLinkOptions& options)
      : library_(library), channel_(channel), options_(options) {}

  // A rank that has stopped keeps the others waiting no longer than that.
  ~NcclLinks() override {
    constexpr std::chrono::seconds kPatience{5};
    std::vector<std::future<void>> closed;
    for (const auto& [ends, link] : links_) closed.push_back(link->Close());
    const Clock::time_point end = Clock::now() + kPatience;
    for (const std::future<void>& one : closed) {
      if (one.valid()) one.wait_until(end);
    }
  }

  void Add(int32_t rank, const RankGpu& gpu) { gpus_.insert({gpu.device, {rank, gpu}}); }

  DeviceLink* Between(DeviceId from, DeviceId to) override {
    const auto source = gpus_.find(from), target = gpus_.find(to);
    if (source == gpus_.end() || target == gpus_.end()) return nullptr;
    const auto& [from_rank, from_gpu] = source->second;
    const auto& [to_rank, to_gpu] = target->second;
    if (from_gpu.identity == to_gpu.identity) return nullptr;
    const bool sends = from_rank == channel_.rank();
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<NcclLink>& link = links_[{from, to}];
    if (link == nullptr) {
      const c10::Device own(options_.devices, (sends ? from_gpu : to_gpu).index);
      link = std::make_unique<NcclLink>(library_, channel_, sends ? to_rank : from_rank, sends, own,
                                        options_.threshold);
    }
    return link.get();
  }

 private:
  const NcclLibrary library_;
  Channel& channel_;
  const NcclLinkOptions options_;
  std::map<DeviceId, std::pair<int32_t, RankGpu>> gpus_;  // rank
  std::mutex mutex_;
  std::map<std::pair<DeviceId, DeviceId>, std::unique_ptr<NcclLink>> links_;
};

// Of this start of this machine.
std::string MachineIdentity() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

size_t RanksWithGpus(const std::vector<std::vector<RankGpu>>& gpus) {
  return static_cast<size_t>(std::count_if(gpus.begin(), gpus.end(),
                                           [](const auto& of_rank) { return !of_rank.empty(); }));
}

std::set<int> NcclVersions(const std::vector<std::vector<RankGpu>>& gpus) {
  std::set<int> versions;
  for (const std::vector<RankGpu>& of_rank : gpus) {
    for (const RankGpu& gpu : of_rank) versions.insert(gpu.nccl_version);
  }
  return versions;
}

std::set<std::string> Identities(const std::vector<std::vector<RankGpu>>& gpus) {
  std::set<std::string> identities;
  for (const std::vector<RankGpu>& of_rank : gpus) {
    for (const RankGpu& gpu : of_rank) identities.insert(gpu.identity);
  }
  return identities;
}

std::string TextOf(const std::vector<RankGpu>& gpus) {
  std::string text;
  for (const RankGpu& gpu : gpus) {
    text +=
        fmt::format("{} {} {} {}\n", gpu.device.value(), gpu.index, gpu.nccl_version, gpu.identity);
  }
  return text;
}

std::vector<RankGpu> GpusOf(const std::string& text) {
  std::vector<RankGpu> gpus;
  std::istringstream lines(text);
  int32_t device = 0;
  int index = 0;
  RankGpu gpu;
  while (lines >> device >> index >> gpu.nccl_version >> gpu.identity) {
    gpu.device = DeviceId(device);
    gpu.index = static_cast<c10::DeviceIndex>(index);
    gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace

std::vector<RankGpu> GpusOfRank(const std::vector<std::pair<DeviceId, c10::DeviceIndex>>& devices,
                                const NcclLibrary* library) {
  std::vector<RankGpu> gpus;
  for (const auto& [device, index] : devices) {
    std::array<char, 64> bus{};
    const bool known =
        library != nullptr &&
        library->DeviceGetPciBusId(bus.data(), static_cast<int>(bus.size()), index) == 0;
    gpus.push_back({device, index,
                    fmt::format("{}/{}", MachineIdentity(), known ? bus.data() : "unknown"),
                    known ? library->version : 0});
  }
  return gpus;
}

Result<std::vector<std::vector<RankGpu>>> ExchangeGpus(Channel& channel,
                                                       const std::vector<RankGpu>& own) {
  std::vector<std::string> texts(static_cast<size_t>(channel.size()));
  if (channel.rank() == 0) {
    texts[0] = TextOf(own);
    for (int32_t other = 1; other < channel.size(); ++other) {
      PW_ASSIGN(texts[static_cast<size_t>(other)], ReceiveText(channel, other));
    }
    for (int32_t other = 1; other < channel.size(); ++other) {
      for (const std::string& text : texts) PW_RETURN_IF_ERROR(SendText(channel, other, text));
    }
  } else {
    PW_RETURN_IF_ERROR(SendText(channel, 0, TextOf(own)));
    for (std::string& text : texts) {
      PW_ASSIGN(text, ReceiveText(channel, 0));
    }
  }
  std::vector<std::vector<RankGpu>> gpus;
  for (const std::string& text : texts) gpus.push_back(GpusOf(text));
  return gpus;
}

std::unique_ptr<DeviceLinks> MakeNcclLinks(const NcclLibrary& library, Channel& channel,
                                           const std::vector<std::vector<RankGpu>>& gpus,
                                           const NcclLinkOptions& options) {
  // A rank without GPUs has nothing to link.
  const std::vector<RankGpu>& own = gpus[static_cast<size_t>(channel.rank())];
  if (own.empty() || !CrossByNccl(gpus)) return nullptr;
  auto links = std::make_unique<NcclLinks>(library, channel, options);
  for (size_t rank = 0; rank < gpus.size(); ++rank) {
    for (const RankGpu& gpu : gpus[rank]) links->Add(static_cast<int32_t>(rank), gpu);
  }
  return links;
}

bool CrossByNccl(const std::vector<std::vector<RankGpu>>& gpus) {
  const std::set<int> versions = NcclVersions(gpus);
  const bool apart = RanksWithGpus(gpus) > 1 && Identities(gpus).size() > 1;
  return apart && versions.size() == 1 && !versions.contains(0);
}

std::string GpuTransfersText(const std::vector<std::vector<RankGpu>>& gpus) {
  if (RanksWithGpus(gpus) < 2) return "";
  const std::set<int> versions = NcclVersions(gpus);
  for (size_t rank = 0; rank < gpus.size(); ++rank) {
    for (const RankGpu& gpu : gpus[rank]) {
      if (gpu.nccl_version > 0) continue;
      return fmt::format("by the host's memory: rank {} has no NCCL from {} on", rank,
                         NcclVersionText(NcclLibrary::kOldestVersion));
    }
  }
  if (versions.size() > 1) {
    return fmt::format("by the host's memory: ranks have NCCL {} and {}",
                       NcclVersionText(*versions.begin()), NcclVersionText(*versions.rbegin()));
  }
  if (!CrossByNccl(gpus)) return "by the host's memory: all ranks have the same GPU";
  size_t count = 0;
  for (const std::vector<RankGpu>& of_rank : gpus) count += of_rank.size();
  std::string text = "by NCCL " + NcclVersionText(*versions.begin());
  if (Identities(gpus).size() < count)
    text += ", those of one GPU of several ranks by the host's memory";
  return text;
}

}  // namespace placewright
