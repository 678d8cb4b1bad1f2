#include "runtime/process/message.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

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
