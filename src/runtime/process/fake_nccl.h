// A library that stands in for NCCL and the CUDA runtime, for tests: what is sent is copied, between threads of this
// process, when both ends have come. NCCL itself wants two GPUs.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_FAKE_NCCL_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_FAKE_NCCL_H_

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "runtime/process/nccl_links.h"

namespace placewright {

// One at a time.
class FakeNccl {
 public:
  FakeNccl() { current() = this; }
  // What was made is given back, by threads that may still be about it.
  ~FakeNccl() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return open_ == 0; }));
    current() = nullptr;
  }
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;

  static NcclLibrary Library();

  int numbers() const { return numbers_; }  // of communicators
  int64_t moved_bytes() const { return moved_bytes_; }
  // The state of all communicators from now on.
  void FailWith(int result) {
    const std::scoped_lock lock(mutex_);
    fails_with_ = result;
  }
  // Communicators are given up no further than on their devices, as while the other rank has not given up its end.
  void HoldAborts(bool hold) {
    const std::scoped_lock lock(mutex_);
    holds_ = hold;
    changed_.notify_all();
  }

 private:
  // What an end of a communicator has launched: bytes that it sends or wants; none: it has ended.
  struct Kernel {
    void* data = nullptr;
    size_t bytes = 0;
  };
  // A communicator: who sends, who receives.
  struct Pair {
    int come = 0;  // of the two
    std::array<Kernel, 2> kernels;
  };
  struct FakeComm {
    Pair* pair;
    Kernel* own;
  };
  struct FakeStream {
    Kernel* last = nullptr;
  };

  static FakeNccl*& current() {
    static FakeNccl* fake = nullptr;
    return fake;
  }
  static FakeComm& CommOf(NcclLibrary::Comm comm) { return *reinterpret_cast<FakeComm*>(comm); }
  static FakeStream& StreamOf(NcclLibrary::Stream stream) {
    return *reinterpret_cast<FakeStream*>(stream);
  }
  int Launch(void* data, size_t bytes, int type, int peer, NcclLibrary::Comm comm,
             NcclLibrary::Stream stream) {
    const std::scoped_lock lock(mutex_);
    Kernel& own = *CommOf(comm).own;
    auto& [sends, receives] = CommOf(comm).pair->kernels;
    EXPECT_EQ(type, NcclLibrary::kUint8);
    EXPECT_EQ(peer, &own == &sends ? 1 : 0);
    own = {data, bytes};
    StreamOf(stream).last = &own;
    if (sends.data == nullptr || receives.data == nullptr) return NcclLibrary::kInProgress;
    EXPECT_EQ(sends.bytes, receives.bytes);
    std::memcpy(receives.data, sends.data, bytes);
    moved_bytes_ += static_cast<int64_t>(bytes);
    sends = receives = {};
    return NcclLibrary::kInProgress;
  }

  std::mutex mutex_;
  std::map<std::string, Pair> pairs_;  // by their number
  std::deque<FakeStream> streams_;
  std::condition_variable changed_;
  int numbers_ = 0, open_ = 0;
  bool holds_ = false;
  int fails_with_ = NcclLibrary::kSuccess;
  int64_t moved_bytes_ = 0;
};

inline NcclLibrary FakeNccl::Library() {
  NcclLibrary library;
  library.version = 22602;
  library.GetUniqueId = [](NcclLibrary::UniqueId* id) {
    FakeNccl& fake = *current();
    const std::scoped_lock lock(fake.mutex_);
    const std::string name = fmt::format("pair {}", fake.numbers_++);
    std::memcpy(id->bytes.data(), name.c_str(), name.size() + 1);
    return NcclLibrary::kSuccess;
  };
  library.CommInitRankConfig = [](NcclLibrary::Comm* comm, int ranks, NcclLibrary::UniqueId id,
                                  int rank, NcclLibrary::Config* config) {
    FakeNccl& fake = *current();
    const std::scoped_lock lock(fake.mutex_);
    EXPECT_EQ(ranks, 2);
    EXPECT_TRUE(rank == 0 || rank == 1);
    EXPECT_EQ(config->blocking, 0);
    Pair& pair = fake.pairs_[id.bytes.data()];
    ++pair.come;
    ++fake.open_;
    *comm = reinterpret_cast<NcclLibrary::Comm>(
        new FakeComm{&pair, &pair.kernels[static_cast<size_t>(rank)]});
    return NcclLibrary::kInProgress;
  };
  library.CommGetAsyncError = [](NcclLibrary::Comm comm, int* state) {
    FakeNccl& fake = *current();
    const std::scoped_lock lock(fake.mutex_);
    *state = fake.fails_with_ != 0          ? fake.fails_with_
             : CommOf(comm).pair->come == 2 ? NcclLibrary::kSuccess
                                            : NcclLibrary::kInProgress;
    return NcclLibrary::kSuccess;
  };
  library.CommAbort = [](NcclLibrary::Comm comm) {
    FakeNccl& fake = *current();
    std::unique_lock lock(fake.mutex_);
    *CommOf(comm).own = {};  // what waits on a device ends
    fake.changed_.wait(lock, [&] { return !fake.holds_; });
    --fake.open_;
    delete &CommOf(comm);
    fake.changed_.notify_all();
    return NcclLibrary::kSuccess;
  };
  library.Send = [](const void* data, size_t count, int type, int peer, NcclLibrary::Comm comm,
                    NcclLibrary::Stream stream) {
    return current()->Launch(const_cast<void*>(data), count, type, peer, comm, stream);
  };
  library.Receive = [](void* data, size_t count, int type, int peer, NcclLibrary::Comm comm,
                       NcclLibrary::Stream stream) {
    return current()->Launch(data, count, type, peer, comm, stream);
  };
  library.GetErrorString = [](int result) {
    return result == 6 ? "remote process exited or there was a network error" : "another error";
  };
  library.StreamCreate = [](NcclLibrary::Stream* stream, unsigned int flags) {
    EXPECT_EQ(flags, NcclLibrary::kNonBlockingStream);
    FakeNccl& fake = *current();
    const std::scoped_lock lock(fake.mutex_);
    *stream = reinterpret_cast<NcclLibrary::Stream>(&fake.streams_.emplace_back());
    return 0;
  };
  library.StreamQuery = [](NcclLibrary::Stream stream) {
    FakeNccl& fake = *current();
    const std::scoped_lock lock(fake.mutex_);
    const Kernel* const last = StreamOf(stream).last;
    return last == nullptr || last->data == nullptr ? 0 : NcclLibrary::kCudaNotReady;
  };
  library.ForgetLastError = [] { return 0; };
  library.StreamDestroy = [](NcclLibrary::Stream) { return 0; };
  library.GetCudaErrorString = [](int) { return "an error of CUDA's"; };
  return library;
}

// Links are used for whatever has bytes, between CPUs.
constexpr NcclLinkOptions kFakeLinks{0, c10::DeviceType::CPU};

// What ranks say whose devices are all GPUs. `rank_of` [device]; ranks are 0 to `ranks` - 1.
inline std::vector<std::vector<RankGpu>> FakeGpus(const IdVector<DeviceId, int32_t>& rank_of,
                                                  int32_t ranks) {
  std::vector<std::vector<RankGpu>> gpus(static_cast<size_t>(ranks));
  for (size_t device = 0; device < rank_of.size(); ++device) {
    std::vector<RankGpu>& of_rank = gpus[static_cast<size_t>(rank_of[DeviceId(device)])];
    of_rank.push_back({DeviceId(device), 0, fmt::format("machine/{}", device), 22602});
  }
  return gpus;
}

// Device N on rank N.
inline std::vector<std::vector<RankGpu>> OneGpuEach(int32_t ranks) {
  IdVector<DeviceId, int32_t> rank_of;
  for (int32_t rank = 0; rank < ranks; ++rank) rank_of.push_back(rank);
  return FakeGpus(rank_of, ranks);
}

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_FAKE_NCCL_H_
