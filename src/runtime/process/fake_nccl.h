// A library that stands in for NCCL and the CUDA runtime, for tests: what is sent is copied, between threads of this
// process, when both ends have come. NCCL itself wants two GPUs.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_FAKE_NCCL_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_FAKE_NCCL_H_

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "runtime/process/nccl_links.h"

namespace placewright {

// One at a time.
class FakeNccl {
 public:
  FakeNccl() { current() = this; }
  // What was made has been given back.
  ~FakeNccl() {
    EXPECT_EQ(open_, 0);
    EXPECT_EQ(streams_, 0);
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

 private:
  // Both ends of a communicator.
  struct Pair {
    int come = 0;  // of the two
    const void* sent = nullptr;
    void* wanted = nullptr;
    size_t sent_bytes = 0, wanted_bytes = 0;
  };
  struct FakeComm {
    Pair* pair;
  };
  struct FakeStream {
    Pair* waits_for = nullptr;  // what was launched last
  };

  static FakeNccl*& current() {
    static FakeNccl* fake = nullptr;
    return fake;
  }
  static Pair& PairOf(NcclLibrary::Comm comm) { return *reinterpret_cast<FakeComm*>(comm)->pair; }
  static FakeStream& StreamOf(NcclLibrary::Stream stream) {
    return *reinterpret_cast<FakeStream*>(stream);
  }
  void Launch(Pair& pair, NcclLibrary::Stream stream) {
    StreamOf(stream).waits_for = &pair;
    if (pair.sent == nullptr || pair.wanted == nullptr) return;
    EXPECT_EQ(pair.sent_bytes, pair.wanted_bytes);
    std::memcpy(pair.wanted, pair.sent, pair.sent_bytes);
    moved_bytes_ += static_cast<int64_t>(pair.sent_bytes);
    pair.sent = pair.wanted = nullptr;
  }

  std::mutex mutex_;
  std::map<std::string, Pair> pairs_;  // by their number
  int numbers_ = 0, open_ = 0, streams_ = 0;
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
    *comm = reinterpret_cast<NcclLibrary::Comm>(new FakeComm{&pair});
    return NcclLibrary::kInProgress;
  };
  library.CommGetAsyncError = [](NcclLibrary::Comm comm, int* state) {
    FakeNccl& fake = *current();
    const std::scoped_lock lock(fake.mutex_);
    *state = fake.fails_with_ != 0    ? fake.fails_with_
             : PairOf(comm).come == 2 ? NcclLibrary::kSuccess
                                      : NcclLibrary::kInProgress;
    return NcclLibrary::kSuccess;
  };
  library.CommAbort = [](NcclLibrary::Comm comm) {
    FakeNccl& fake = *current();
    const std::scoped_lock lock(fake.mutex_);
    --fake.open_;
    delete reinterpret_cast<FakeComm*>(comm);
    return NcclLibrary::kSuccess;
  };
  library.Send = [](const void* data, size_t count, int type, int peer, NcclLibrary::Comm comm,
                    NcclLibrary::Stream stream) {
    FakeNccl& fake = *current();
    const std::scoped_lock lock(fake.mutex_);
    EXPECT_EQ(type, NcclLibrary::kUint8);
    EXPECT_EQ(peer, 1);
    Pair& pair = PairOf(comm);
    pair.sent = data;
    pair.sent_bytes = count;
    fake.Launch(pair, stream);
    return NcclLibrary::kInProgress;
  };
  library.Receive = [](void* data, size_t count, int type, int peer, NcclLibrary::Comm comm,
                       NcclLibrary::Stream stream) {
    FakeNccl& fake = *current();
    const std::scoped_lock lock(fake.mutex_);
    EXPECT_EQ(type, NcclLibrary::kUint8);
    EXPECT_EQ(peer, 0);
    Pair& pair = PairOf(comm);
    pair.wanted = data;
    pair.wanted_bytes = count;
    fake.Launch(pair, stream);
    return NcclLibrary::kInProgress;
  };
  library.GetErrorString = [](int result) {
    return result == 6 ? "remote process exited or there was a network error" : "another error";
  };
  library.StreamCreate = [](NcclLibrary::Stream* stream, unsigned int flags) {
    EXPECT_EQ(flags, NcclLibrary::kNonBlockingStream);
    FakeNccl& fake = *current();
    const std::scoped_lock lock(fake.mutex_);
    ++fake.streams_;
    *stream = reinterpret_cast<NcclLibrary::Stream>(new FakeStream);
    return 0;
  };
  library.StreamQuery = [](NcclLibrary::Stream stream) {
    FakeNccl& fake = *current();
    const std::scoped_lock lock(fake.mutex_);
    const Pair& pair = *StreamOf(stream).waits_for;
    return pair.sent == nullptr && pair.wanted == nullptr ? 0 : NcclLibrary::kCudaNotReady;
  };
  library.StreamDestroy = [](NcclLibrary::Stream stream) {
    FakeNccl& fake = *current();
    const std::scoped_lock lock(fake.mutex_);
    --fake.streams_;
    delete &StreamOf(stream);
    return 0;
  };
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
