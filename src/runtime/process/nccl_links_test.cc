#include "runtime/process/nccl_links.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "runtime/device/device.h"
#include "runtime/process/fake_nccl.h"
#include "runtime/process/message.h"
#include "runtime/process/test_channels.h"

namespace placewright {
namespace {

constexpr std::chrono::milliseconds kTimeout{60'000};
class NcclLinksTest : public ::testing::Test {
 protected:
  FakeNccl nccl_;
  const NcclLibrary library_ = nccl_.Library();
};

// Both directions of two ranks at once, again and again: each has a communicator of its own, that stays.
TEST_F(NcclLinksTest, BytesArriveWholeBothWays) {
  const auto channels = MakeLocalChannels(2, {kTimeout});
  const auto gpus = OneGpuEach(2);
  constexpr int kTimes = 20;
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<DeviceLinks>> links;
  for (const auto& channel : channels) {
    links.push_back(MakeNcclLinks(library_, *channel, gpus, kFakeLinks));
    ASSERT_NE(links.back(), nullptr);
  }
  const auto value = [](int32_t rank, int i) { return at::arange(1000 + i).add(rank * 1000); };
  for (const int32_t rank : {0, 1}) {
    const int32_t other = 1 - rank;
    Channel& channel = *channels[static_cast<size_t>(rank)];
    DeviceLinks& own = *links[static_cast<size_t>(rank)];
    threads.emplace_back([&, rank, other] {
      const MessageWays ways{nullptr, own.Between(DeviceId(rank), DeviceId(other))};
      for (int i = 0; i < kTimes; ++i) {
        const at::Tensor sent = value(rank, i);
        EXPECT_TRUE(SendTensors(channel, other, i, std::span(&sent, 1), ways).ok());
      }
    });
    threads.emplace_back([&, rank, other] {
      const MessageWays ways{nullptr, own.Between(DeviceId(other), DeviceId(rank))};
      for (int i = 0; i < kTimes; ++i) {
        const auto got = ReceiveTensors(channel, other, i, nullptr, ways);
        ASSERT_TRUE(got.ok()) << got.error().ToString();
        EXPECT_TRUE(at::equal(got.value().front(), value(other, i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(nccl_.numbers(), 2);
  EXPECT_GE(nccl_.moved_bytes(), 2 * kTimes * 8000);
}

// No link, for neither rank.
TEST_F(NcclLinksTest, ThereIsNoneWhereItCannotBe) {
  const auto channels = MakeLocalChannels(3);
  const auto make = [&](const std::vector<std::vector<RankGpu>>& gpus) {
    return MakeNcclLinks(library_, *channels[0], gpus, kFakeLinks);
  };
  auto gpus = OneGpuEach(3);
  EXPECT_EQ(GpuTransfersText(gpus), "by NCCL 2.26.2");
  ASSERT_NE(make(gpus), nullptr);
  EXPECT_NE(make(gpus)->Between(DeviceId(0), DeviceId(2)), nullptr);
  // Device 3 is a CPU.
  EXPECT_EQ(make(gpus)->Between(DeviceId(0), DeviceId(3)), nullptr);
  gpus[1][0].identity = gpus[0][0].identity;
  EXPECT_EQ(make(gpus)->Between(DeviceId(0), DeviceId(1)), nullptr);
  EXPECT_NE(make(gpus)->Between(DeviceId(0), DeviceId(2)), nullptr);
  EXPECT_EQ(GpuTransfersText(gpus),
            "by NCCL 2.26.2, those of one GPU of several ranks by the host's memory");
  gpus[2][0].identity = gpus[0][0].identity;
  EXPECT_EQ(make(gpus), nullptr);
  EXPECT_EQ(GpuTransfersText(gpus), "by the host's memory: all ranks have the same GPU");
  gpus[1][0].nccl_version = 21805;
  EXPECT_EQ(make(gpus), nullptr);
  EXPECT_EQ(GpuTransfersText(gpus), "by the host's memory: ranks have NCCL 2.18.5 and 2.26.2");
  gpus[1][0].nccl_version = 0;
  EXPECT_EQ(make(gpus), nullptr);
  EXPECT_EQ(GpuTransfersText(gpus), "by the host's memory: rank 1 has no NCCL from 2.14.0 on");
  gpus[1].clear();
  gpus[2].clear();
  EXPECT_EQ(make(gpus), nullptr);
  EXPECT_EQ(GpuTransfersText(gpus), "");
}

TEST_F(NcclLinksTest, RanksSayWhatTheyHave) {
  const auto channels = MakeLocalChannels(3, {kTimeout});
  const auto gpus = OneGpuEach(3);
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const auto all =
          ExchangeGpus(*channels[rank], rank == 1 ? std::vector<RankGpu>() : gpus[rank]);
      ASSERT_TRUE(all.ok()) << all.error().ToString();
      ASSERT_EQ(all.value().size(), 3U);
      EXPECT_TRUE(all.value()[1].empty());
      ASSERT_EQ(all.value()[2].size(), 1U);
      EXPECT_EQ(all.value()[2][0].device, DeviceId(2));
      EXPECT_EQ(all.value()[2][0].identity, "machine/2");
      EXPECT_EQ(all.value()[2][0].nccl_version, 22602);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A message of the first rank's device to the second's, whose rank does no more than to join its communicator, or not
// even that, and what it does then with the first one's channel.
Status SendToOneThatDoesNotTake(FakeNccl& nccl, bool joins, std::chrono::milliseconds timeout,
                                const std::function<void(Channel&)>& then) {
  const NcclLibrary library = FakeNccl::Library();
  const auto channels = MakeLocalChannels(2, {timeout});
  const auto links = MakeNcclLinks(library, *channels[0], OneGpuEach(2), kFakeLinks);
  nccl.HoldAborts(true);
  const at::Tensor sent = at::ones({1000});
  std::thread other([&] {
    // The head of the message, and the communicator's number.
    std::vector<int64_t> words(1024);
    EXPECT_TRUE(channels[1]->Receive(0, words.data(), 8192).ok());
    NcclLibrary::UniqueId id;
    EXPECT_TRUE(channels[1]->Receive(0, id.bytes.data(), 128).ok());
    NcclLibrary::Comm comm = nullptr;
    NcclLibrary::Config config;
    if (joins) library.CommInitRankConfig(&comm, 2, id, 1, &config);
    then(*channels[0]);
    if (joins) library.CommAbort(comm);
  });
  const Status ended = SendTensors(*channels[0], 1, 7, std::span(&sent, 1),
                                   {nullptr, links->Between(DeviceId(0), DeviceId(1))});
  // Not before: no failure waits for the other end.
  nccl.HoldAborts(false);
  other.join();
  // What goes the other way ends, too.
  EXPECT_TRUE(channels[0]->aborted().has_value());
  return ended;
}

TEST_F(NcclLinksTest, ARankThatDoesNotComeIsNamed) {
  for (const bool joins : {false, true}) {
    const Status ended =
        SendToOneThatDoesNotTake(nccl_, joins, std::chrono::milliseconds(2000), [](Channel&) {});
    ASSERT_FALSE(ended.ok());
    EXPECT_EQ(ended.error().message, "rank 1 has taken nothing for 2 s");
  }
}

TEST_F(NcclLinksTest, AbortEndsTheWaiting) {
  for (const bool joins : {false, true}) {
    const Status ended = SendToOneThatDoesNotTake(nccl_, joins, kTimeout, [](Channel& channel) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      channel.Abort(MakeError(ErrorCode::kExecution, "rank 1 has failed"));
    });
    ASSERT_FALSE(ended.ok());
    EXPECT_EQ(ended.error().message, "rank 1 has failed");
  }
}

// Its rank has been lost, which may have a better reason.
TEST_F(NcclLinksTest, WhatTheLibrarySaysIsSaid) {
  const Status ended = SendToOneThatDoesNotTake(nccl_, true, kTimeout, [&](Channel& channel) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    nccl_.FailWith(6);
    while (!channel.aborted()) std::this_thread::yield();
    EXPECT_EQ(channel.lost(), 1);
  });
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().message,
            "rank 1 is not reached by NCCL: NCCL says \"remote process exited or there was a "
            "network error\"");
  EXPECT_NE(ended.error().remedy.find("--no-nccl"), std::string::npos);
}

// This LibTorch has no CUDA, or one with an NCCL that can be called.
TEST(NcclLibraryTest, IsFoundWhereLibTorchHasLoadedIt) {
  const Result<NcclLibrary> found = NcclLibrary::Find();
  if (!found.ok()) {
    EXPECT_EQ(found.error().code, ErrorCode::kMissingRuntime);
    EXPECT_EQ(CudaDeviceCount(), 0);  // with a GPU it must be there
    return;
  }
  EXPECT_GE(found.value().version, NcclLibrary::kOldestVersion);
  EXPECT_NE(found.value().GetErrorString(1), nullptr);
}

}  // namespace
}  // namespace placewright
