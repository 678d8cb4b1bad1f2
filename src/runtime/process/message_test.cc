#include "runtime/process/message.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "runtime/process/test_channels.h"

namespace placewright {
namespace {

// What comes of them at the other end of a channel.
std::vector<at::Tensor> Sent(const std::vector<at::Tensor>& tensors) {
  const auto channels = MakeLocalChannels(2);
  Status sent = Ok();
  std::thread sender([&] { sent = SendTensors(*channels[0], 1, 7, tensors); });
  Result<std::vector<at::Tensor>> received = ReceiveTensors(*channels[1], 0, 7, nullptr);
  sender.join();
  EXPECT_TRUE(sent.ok());
  EXPECT_TRUE(received.ok()) << received.error().ToString();
  return received.ok() ? received.Take() : std::vector<at::Tensor>();
}

// A head of one tensor of one dimension has 9 words: 1,015 words of 1,024 are left for its bytes.
TEST(Messages, TensorsOfAllSizesArriveWhole) {
  for (const int64_t bytes : {0, 1, 5056, 8119, 8120, 8121, 8192, 100'000}) {
    const at::Tensor tensor = at::arange(bytes).to(at::kByte);
    const std::vector<at::Tensor> got = Sent({tensor});
    ASSERT_EQ(got.size(), 1u) << bytes;
    EXPECT_TRUE(at::equal(got[0], tensor)) << bytes;
  }
}

TEST(Messages, ViewsOfOneSliceKeepTheirStrides) {
  const at::Tensor base = at::arange(24, at::kFloat).view({4, 6});
  const std::vector<at::Tensor> got = Sent({base, base.t(), base.select(0, 2)});
  ASSERT_EQ(got.size(), 3u);
  EXPECT_TRUE(at::equal(got[0], base));
  EXPECT_TRUE(at::equal(got[1], base.t()));
  EXPECT_EQ(got[1].strides(), base.t().strides());
  EXPECT_TRUE(at::equal(got[2], base.select(0, 2)));
  EXPECT_TRUE(got[0].is_alias_of(got[2]));
}

// Heads longer than the first message, with bytes and without.
TEST(Messages, ManyTensorsArriveWhole) {
  for (const int64_t elements : {0, 3}) {
    const at::Tensor base = at::arange(elements, at::kFloat);
    const std::vector<at::Tensor> got = Sent(std::vector<at::Tensor>(400, base));
    ASSERT_EQ(got.size(), 400u);
    for (const at::Tensor& tensor : got) EXPECT_TRUE(at::equal(tensor, base));
  }
  EXPECT_TRUE(Sent({}).empty());
}

// Counts what it sends.
class CountingChannel final : public Channel {
 public:
  explicit CountingChannel(Channel& channel) : channel_(channel) {}
  int32_t rank() const override { return channel_.rank(); }
  int32_t size() const override { return channel_.size(); }
  Status Send(int32_t to, const void* data, int64_t bytes) override {
    ++sent;
    return channel_.Send(to, data, bytes);
  }
  Status Receive(int32_t from, void* data, int64_t bytes) override {
    return channel_.Receive(from, data, bytes);
  }
  void Abort(const Error& error) override { channel_.Abort(error); }
  std::optional<Error> aborted() const override { return channel_.aborted(); }
  int32_t lost() const override { return channel_.lost(); }
  void Lose(int32_t other) override { channel_.Lose(other); }
  std::chrono::milliseconds timeout() const override { return channel_.timeout(); }
  int sent = 0;

 private:
  Channel& channel_;
};

// By size in bytes: in how many parts it goes, behind what went before. Items have lengths of their own.
TEST(Messages, WhatIsNoLongerThanBeforeGoesAsOne) {
  const auto channels = MakeLocalChannels(2);
  CountingChannel counting(*channels[0]);
  MessageLengths here, there;
  struct Case {
    int64_t item, bytes;
    int parts;
  };
  for (const Case& one :
       {Case{1, 50'000, 2}, Case{1, 50'000, 1}, Case{2, 50'000, 2}, Case{1, 40, 1},
        Case{1, 50'000, 1}, Case{1, 90'000, 2}, Case{1, 90'000, 1}, Case{1, 3 << 20, 2},
        Case{1, 3 << 20, 2}, Case{1, 50'000, 1}, Case{2, 1 << 20, 2}, Case{2, 1 << 20, 1}}) {
    const at::Tensor tensor = at::arange(one.bytes).to(at::kByte);
    counting.sent = 0;
    Status sent = Ok();
    std::thread sender(
        [&] { sent = SendTensors(counting, 1, one.item, std::span(&tensor, 1), {&here}); });
    const auto received = ReceiveTensors(*channels[1], 0, one.item, nullptr, {&there});
    sender.join();
    ASSERT_TRUE(sent.ok());
    ASSERT_TRUE(received.ok()) << received.error().ToString();
    EXPECT_TRUE(at::equal(received.value().front(), tensor)) << one.bytes;
    EXPECT_EQ(counting.sent, one.parts) << one.bytes;
  }
}

TEST(Messages, AnotherMessageThanExpectedIsNamed) {
  const auto channels = MakeLocalChannels(2);
  const at::Tensor tensor = at::ones({3});
  std::thread sender(
      [&] { EXPECT_TRUE(SendTensors(*channels[0], 1, 8, std::span(&tensor, 1)).ok()); });
  const auto received = ReceiveTensors(*channels[1], 0, 7, nullptr);
  sender.join();
  ASSERT_FALSE(received.ok());
  EXPECT_NE(received.error().message.find("message 8 where 7 is next"), std::string::npos);
}

}  // namespace
}  // namespace placewright
