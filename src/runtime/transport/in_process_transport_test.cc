#include "runtime/transport/in_process_transport.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/random.h"
#include "runtime/transport/combine.h"

namespace placewright {
namespace {

using std::chrono::milliseconds;

enum class DeviceSort {
  kCpu,
  kQueued
};  // members move tensors themselves, or threads of the transport's

// Ranks of this process, and what their members have heard.
class Ranks {
 public:
  explicit Ranks(size_t count, InProcessOptions options = {}, DeviceSort sort = DeviceSort::kQueued,
                 int64_t limit = 0) {
    std::vector<RuntimeDevice*> all;
    for (size_t i = 0; i < count; ++i) {
      const CpuDeviceOptions device{"rank:" + std::to_string(i), 1, limit};
      devices.push_back(sort == DeviceSort::kCpu ? MakeCpuDevice(device)
                                                 : MakeSimulatedDevice(device));
      all.push_back(devices.back().get());
    }
    heard_.resize(count);
    transports = MakeInProcessTransports(all, options);
  }

  void Start(size_t rank, const CollectiveSpec& spec, const at::Tensor& tensor) {
    transports[rank]->Start(spec, {tensor}, [this, rank](Result<Transport::Outcome> outcome) {
      const std::scoped_lock lock(mutex_);
      heard_[rank].push_back(std::move(outcome));
      changed_.notify_all();
    });
  }
  // What the rank's call number `call` came to.
  Result<Transport::Outcome> Heard(size_t rank, size_t call = 0) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return heard_[rank].size() > call; });
    return heard_[rank][call];
  }
  at::Tensor Tensor(size_t rank, size_t call = 0) {
    Result<Transport::Outcome> outcome = Heard(rank, call);
    EXPECT_TRUE(outcome.ok()) << outcome.error().ToString();
    return outcome.ok() ? outcome.value().tensors.front() : at::Tensor();
  }
  size_t HeardBy(size_t rank) {
    const std::scoped_lock lock(mutex_);
    return heard_[rank].size();
  }

  std::vector<std::unique_ptr<RuntimeDevice>> devices;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<Result<Transport::Outcome>>> heard_;

 public:
  std::vector<std::unique_ptr<Transport>> transports;  // last: they use the others
};

CollectiveSpec AllReduceOf(std::vector<int32_t> members, std::string name = "sum") {
  CollectiveSpec spec;
  spec.name = std::move(name);
  spec.members = std::move(members);
  return spec;
}

std::vector<int32_t> FirstRanks(size_t count) {
  std::vector<int32_t> members;
  for (size_t i = 0; i < count; ++i) members.push_back(static_cast<int32_t>(i));
  return members;
}

at::Tensor Filled(at::IntArrayRef shape, at::ScalarType type, int64_t first) {
  const int64_t elements = at::empty(shape).numel();
  return at::remainder(at::arange(first, first + elements), 17).reshape(shape).to(type);
}

bool LieIn(const at::Tensor& tensor, const RuntimeDevice& device) {
  return DeviceMemory::Of(tensor) == &device.memory();
}

// Small integers: every type holds their sums exactly.
TEST(InProcessTransport, AddsTensorsOfAllTypes) {
  for (const DeviceSort sort : {DeviceSort::kCpu, DeviceSort::kQueued}) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kLong}) {
      for (size_t count = 1; count <= 4; ++count) {
        Ranks ranks(count, {}, sort);
        const CollectiveSpec spec = AllReduceOf(FirstRanks(count));
        at::Tensor sum = at::zeros({3, 5}, type);
        for (size_t rank = 0; rank < count; ++rank) {
          const at::Tensor given = Filled({3, 5}, type, static_cast<int64_t>(rank));
          sum = sum + given;
          ranks.Start(rank, spec, given);
        }
        for (size_t rank = 0; rank < count; ++rank) {
          const at::Tensor got = ranks.Tensor(rank);
          EXPECT_TRUE(got.equal(sum)) << c10::toString(type) << ", " << count << " members";
          EXPECT_TRUE(LieIn(got, *ranks.devices[rank]));
        }
      }
    }
  }
}

// 1e8, -1e8 and 1 in float: (1e8 + 1) - 1e8 = 0, for 1e8 + 1 is 1e8; (1e8 - 1e8) + 1 = 1.
TEST(InProcessTransport, AddsInTheOrderOfTheMembers) {
  const float values[] = {1e8f, 1, -1e8f};
  for (const auto& [members, sum] : {std::pair(std::vector<int32_t>{0, 1, 2}, 0.0f),
                                     std::pair(std::vector<int32_t>{2, 0, 1}, 1.0f)}) {
    Ranks ranks(3);
    const CollectiveSpec spec = AllReduceOf(members);
    for (const size_t rank : {size_t{1}, size_t{2}, size_t{0}}) {
      ranks.Start(rank, spec, at::full({1}, values[rank], at::kFloat));
    }
    for (size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(ranks.Tensor(rank).item<float>(), sum);
    }
  }
}

// What is transposed is added as it looks; the result is contiguous.
// The sum lies in the first member's order, and so does each copy of it.
TEST(InProcessTransport, AddsWhatIsNotContiguous) {
  Ranks ranks(2);
  const CollectiveSpec spec = AllReduceOf({0, 1});
  const at::Tensor a = Filled({4, 6}, at::kDouble, 0).t(), b = Filled({6, 4}, at::kDouble, 5);
  ranks.Start(0, spec, a);
  ranks.Start(1, spec, b);
  EXPECT_TRUE(ranks.Tensor(0).equal(a + b));
  EXPECT_EQ(ranks.Tensor(0).strides(), a.strides());
  EXPECT_EQ(ranks.Tensor(1).strides(), a.strides());
  const CollectiveSpec of_one = AllReduceOf({1}, "one");
  ranks.Start(1, of_one, at::scalar_tensor(7));
  EXPECT_TRUE(ranks.Tensor(1, 1).equal(at::scalar_tensor(7)));
}

// [6 4 3] in the order of [4 6 3], in parts of 5 and 1 of its first dimension: strides [3, 18, 1] of the whole, and of
// a part of n rows [3, 3 n, 1].
TEST(InProcessTransport, PartsAndWholesLieInOneOrder) {
  const at::Tensor whole = Filled({4, 6, 3}, at::kDouble, 1).transpose(0, 1);
  CollectiveSpec spec = AllReduceOf({0, 1}, "gather");
  spec.kind = CollectiveSpec::Kind::kAllGather;
  spec.size = 6;
  spec.parts = {{0, 5}, {5, 6}};
  Ranks ranks(2);
  // As operators make them: without gaps, in the order of the whole.
  ranks.Start(0, spec, whole.narrow(0, 0, 5).clone());
  ranks.Start(1, spec, whole.narrow(0, 5, 1).clone());
  for (const size_t rank : {size_t{0}, size_t{1}}) {
    EXPECT_TRUE(ranks.Tensor(rank).equal(whole));
    EXPECT_EQ(ranks.Tensor(rank).strides(), whole.strides());
  }
  CollectiveSpec scatter = spec;
  scatter.name = "scatter";
  scatter.kind = CollectiveSpec::Kind::kReduceScatter;
  for (const size_t rank : {size_t{0}, size_t{1}}) ranks.Start(rank, scatter, whole);
  EXPECT_TRUE(ranks.Tensor(0, 1).equal(2 * whole.narrow(0, 0, 5)));
  EXPECT_EQ(ranks.Tensor(0, 1).strides(), at::IntArrayRef({3, 15, 1}));
  EXPECT_TRUE(ranks.Tensor(1, 1).equal(2 * whole.narrow(0, 5, 1)));
}

// Dimension 1 of [2 30 3] is 2 * 5 * 3; parts of its middle factor of 1, 3 and 1, in another order
// than the members'.
TEST(InProcessTransport, GathersUnevenParts) {
  CollectiveSpec spec = AllReduceOf({0, 1, 2}, "gather");
  spec.kind = CollectiveSpec::Kind::kAllGather;
  spec.dimension = 1;
  spec.outer = 2;
  spec.size = 5;
  spec.parts = {{1, 4}, {4, 5}, {0, 1}};
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kLong}) {
    Ranks ranks(3);
    const at::Tensor whole = Filled({2, 30, 3}, type, 1);
    for (size_t rank = 0; rank < 3; ++rank) {
      const CollectiveSpec::Part& part = spec.parts[rank];
      const int64_t length = part.to - part.from;
      ranks.Start(rank, spec,
                  whole.view({2, 2, 5, 3, 3}).narrow(2, part.from, length).reshape({2, -1, 3}));
    }
    for (size_t rank = 0; rank < 3; ++rank) {
      const at::Tensor got = ranks.Tensor(rank);
      EXPECT_TRUE(got.equal(whole)) << c10::toString(type);
      EXPECT_TRUE(LieIn(got, *ranks.devices[rank]));
    }
  }
}

// The same parts of a sum: those of GathersUnevenParts. 1e8 + 1 - 1e8 is 0 in float, in this order.
TEST(InProcessTransport, ScattersUnevenParts) {
  CollectiveSpec spec = AllReduceOf({2, 0, 1}, "scatter");
  spec.kind = CollectiveSpec::Kind::kReduceScatter;
  spec.dimension = 1;
  spec.outer = 2;
  spec.size = 5;
  spec.parts = {{1, 4}, {4, 5}, {0, 1}};
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kLong}) {
    Ranks ranks(3);
    at::Tensor sum = at::zeros({2, 30, 3}, type);
    for (const size_t rank : {size_t{2}, size_t{0}, size_t{1}}) {
      const at::Tensor given = Filled({2, 30, 3}, type, static_cast<int64_t>(rank));
      sum = sum + given;
      ranks.Start(rank, spec, given);
    }
    for (size_t member = 0; member < 3; ++member) {
      const auto rank = static_cast<size_t>(spec.members[member]);
      const CollectiveSpec::Part& part = spec.parts[member];
      const at::Tensor due =
          sum.view({2, 2, 5, 3, 3}).narrow(2, part.from, part.to - part.from).reshape({2, -1, 3});
      EXPECT_TRUE(ranks.Tensor(rank).equal(due)) << c10::toString(type);
      EXPECT_TRUE(ranks.Tensor(rank).is_contiguous());
      EXPECT_TRUE(LieIn(ranks.Tensor(rank), *ranks.devices[rank]));
    }
  }
  Ranks ranks(3);
  const float values[] = {1, -1e8f, 1e8f};  // by rank; members are ranks 2, 0, 1
  for (size_t rank = 0; rank < 3; ++rank) {
    ranks.Start(rank, spec, at::full({1, 10}, values[rank], at::kFloat));
  }
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks.Tensor(rank).abs().max().item<float>(), 0);
  }
}

// The second axis of 5 of a dimension of 2 x 5 x 3 is split, and then the first one of 4: each member gets of all.
TEST(InProcessTransport, ExchangesUnevenParts) {
  CollectiveSpec spec = AllReduceOf({2, 0, 1}, "exchange");
  spec.kind = CollectiveSpec::Kind::kAllToAll;
  spec.dimension = 1;
  spec.size = 5;
  spec.parts = {{1, 4}, {4, 5}, {0, 1}};
  spec.taken_dimension = 0;
  spec.taken_size = 4;
  spec.taken = {{0, 1}, {1, 3}, {3, 4}};
  spec.outers = {2, 2, 2};
  spec.taken_outers = {1, 1, 1};
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kLong, at::kBool}) {
    Ranks ranks(3);
    const at::Tensor whole = Filled({4, 30, 2}, type, 3);
    const auto part_of = [&](size_t member) {
      const CollectiveSpec::Part& part = spec.parts[member];
      return whole.view({4, 2, 5, 3, 2})
          .narrow(2, part.from, part.to - part.from)
          .reshape({4, -1, 2});
    };
    for (size_t member = 0; member < 3; ++member) {
      ranks.Start(static_cast<size_t>(spec.members[member]), spec, part_of(member));
    }
    for (size_t member = 0; member < 3; ++member) {
      const auto rank = static_cast<size_t>(spec.members[member]);
      const CollectiveSpec::Part& taken = spec.taken[member];
      EXPECT_TRUE(ranks.Tensor(rank).equal(whole.slice(0, taken.from, taken.to)))
          << c10::toString(type) << " " << member;
      EXPECT_TRUE(LieIn(ranks.Tensor(rank), *ranks.devices[rank]));
    }
  }
}

// Two factors of one dimension: of 4 samples of 3 tokens each has samples first, then tokens of all samples.
TEST(InProcessTransport, ExchangesFactorsOfOneDimension) {
  CollectiveSpec spec = AllReduceOf({0, 1}, "exchange");
  spec.kind = CollectiveSpec::Kind::kAllToAll;
  spec.size = 4;
  spec.parts = {{0, 3}, {3, 4}};
  spec.outers = {1, 1};
  spec.taken_size = 3;
  spec.taken = {{0, 1}, {1, 3}};
  spec.taken_outers = {3, 1};  // as many samples as each has
  Ranks ranks(2);
  const at::Tensor whole = Filled({12, 2}, at::kFloat, 3);
  ranks.Start(0, spec, whole.slice(0, 0, 9));
  ranks.Start(1, spec, whole.slice(0, 9, 12));
  for (size_t rank = 0; rank < 2; ++rank) {
    const auto& [from, to] = spec.taken[rank];
    const at::Tensor due = whole.view({4, 3, 2}).slice(1, from, to).reshape({-1, 2});
    EXPECT_TRUE(ranks.Tensor(rank).equal(due)) << rank;
  }
}

TEST(InProcessTransport, BroadcastsFromTheRoot) {
  CollectiveSpec spec = AllReduceOf({1, 0, 2}, "broadcast");
  spec.kind = CollectiveSpec::Kind::kBroadcast;
  spec.root = 1;
  for (const DeviceSort sort : {DeviceSort::kCpu, DeviceSort::kQueued}) {
    Ranks ranks(3, {}, sort);
    const at::Tensor given = Filled({6, 4}, at::kDouble, 2).t();
    for (size_t rank = 0; rank < 3; ++rank) {
      ranks.Start(rank, spec, rank == 1 ? given : at::Tensor());
    }
    EXPECT_FALSE(ranks.Tensor(1).defined());
    for (const size_t rank : {size_t{0}, size_t{2}}) {
      EXPECT_TRUE(ranks.Tensor(rank).equal(given));
      EXPECT_EQ(ranks.Tensor(rank).strides(), given.strides());
      EXPECT_TRUE(LieIn(ranks.Tensor(rank), *ranks.devices[rank]));
    }
  }
  // The root gives nothing, or another member something.
  for (const size_t giver : {size_t{0}, size_t{3}}) {
    Ranks ranks(3);
    for (size_t rank = 0; rank < 3; ++rank) {
      ranks.Start(rank, spec, rank == giver ? at::ones({2}) : at::Tensor());
    }
    EXPECT_FALSE(ranks.Heard(2).ok());
  }
}

// More than one member moves by itself.
TEST(InProcessTransport, AddsLargeTensorsOnThreadsOfItsOwn) {
  Ranks ranks(2, {}, DeviceSort::kCpu);
  const CollectiveSpec spec = AllReduceOf({0, 1});
  const at::Tensor large = Filled({1 << 20}, at::kFloat, 3);
  ranks.Start(0, spec, large);
  ranks.Start(1, spec, large);
  EXPECT_TRUE(ranks.Tensor(0).equal(large * 2));
  EXPECT_TRUE(ranks.Tensor(1).equal(large * 2));
}

// Every rank starts a hundred collectives in an order of its own.
TEST(InProcessTransport, RanksMayStartInAnyOrder) {
  constexpr size_t kRanks = 4, kCollectives = 100;
  for (const DeviceSort sort : {DeviceSort::kCpu, DeviceSort::kQueued}) {
    Ranks ranks(kRanks, {}, sort);
    std::vector<CollectiveSpec> specs;
    for (size_t i = 0; i < kCollectives; ++i) {
      specs.push_back(AllReduceOf(FirstRanks(kRanks), "sum" + std::to_string(i)));
    }
    std::vector<std::vector<size_t>> orders(kRanks);
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      std::vector<size_t>& order = orders[rank];
      for (size_t i = 0; i < kCollectives; ++i) order.push_back(i);
      Random random(rank);
      for (size_t i = kCollectives; i > 1; --i) {
        std::swap(order[i - 1], order[random.Below(static_cast<uint64_t>(i))]);
      }
      threads.emplace_back([&ranks, &specs, &order, rank] {
        for (const size_t i : order) {
          ranks.Start(rank, specs[i],
                      at::full({8}, static_cast<double>(i + rank * 1000), at::kDouble));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& transport : ranks.transports) transport->Drain();
    for (size_t rank = 0; rank < kRanks; ++rank) {
      std::vector<double> sums, expected;
      for (size_t i = 0; i < kCollectives; ++i) {
        sums.push_back(ranks.Tensor(rank, i)[0].item<double>());
        expected.push_back(static_cast<double>(4 * i) + 6000);
      }
      std::sort(sums.begin(), sums.end());
      EXPECT_EQ(sums, expected);
    }
  }
}

TEST(InProcessTransport, AMemberThatDoesNotComeIsNamed) {
  Ranks ranks(4, {.timeout = milliseconds(20)});
  const CollectiveSpec spec = AllReduceOf({0, 1, 2, 3}, "grad.all_reduce");
  ranks.Start(0, spec, at::ones({2}));
  ranks.Start(2, spec, at::ones({2}));
  for (const size_t rank : {size_t{0}, size_t{2}}) {
    const Result<Transport::Outcome> outcome = ranks.Heard(rank);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, ErrorCode::kExecution);
    EXPECT_NE(outcome.error().place.find("grad.all_reduce"), std::string::npos);
    const std::string& message = outcome.error().message;
    EXPECT_NE(message.find("rank:1, rank:3 did not come"), std::string::npos) << message;
  }
  // Who has come in time goes on.
  const CollectiveSpec pair = AllReduceOf({1, 3}, "pair");
  ranks.Start(1, pair, at::ones({2}));
  ranks.Start(3, pair, at::ones({2}));
  EXPECT_TRUE(ranks.Tensor(3).equal(at::full({2}, 2)));
}

TEST(InProcessTransport, AbortEndsWhatWaits) {
  Ranks ranks(3);
  const CollectiveSpec spec = AllReduceOf({0, 1, 2}), other = AllReduceOf({0, 2}, "other");
  ranks.Start(0, spec, at::ones({2}));
  ranks.Start(1, spec, at::ones({2}));
  EXPECT_EQ(ranks.HeardBy(0), 0u);
  ranks.transports[2]->Abort(MakeError(ErrorCode::kExecution, "an op failed"));
  for (const size_t rank : {size_t{0}, size_t{1}}) {
    EXPECT_EQ(ranks.Heard(rank).error().message, "an op failed");
  }
  // And what comes later, until all ranks begin anew.
  ranks.Start(2, spec, at::ones({2}));
  EXPECT_EQ(ranks.Heard(2).error().message, "an op failed");
  for (const auto& transport : ranks.transports) transport->Drain();
  for (const auto& transport : ranks.transports) transport->Reset();
  ranks.Start(0, other, at::ones({2}));
  ranks.Start(2, other, at::ones({2}));
  EXPECT_TRUE(ranks.Tensor(0, 1).equal(at::full({2}, 2)));
}

TEST(InProcessTransport, MembersThatStateDifferentThingsFail) {
  Ranks ranks(2);
  const CollectiveSpec spec = AllReduceOf({0, 1}), reversed = AllReduceOf({1, 0});
  ranks.Start(0, spec, at::ones({2}));
  ranks.Start(1, reversed, at::ones({2}));
  ranks.Start(0, spec, at::ones({2}));
  ranks.Start(1, spec, at::ones({3}));
  ranks.Start(0, spec, at::ones({2}));
  ranks.Start(0, spec, at::ones({2}));
  for (const auto& [rank, calls] : {std::pair(size_t{0}, size_t{4}), {1, 2}}) {
    for (size_t call = 0; call < calls; ++call) {
      const Result<Transport::Outcome> outcome = ranks.Heard(rank, call);
      ASSERT_FALSE(outcome.ok());
      EXPECT_EQ(outcome.error().code, ErrorCode::kExecution);
    }
  }
}

// 1000 doubles are 8000 bytes: no device has them, and all members hear of it.
TEST(InProcessTransport, ADeviceWithoutRoomIsNamed) {
  Ranks ranks(2, {}, DeviceSort::kQueued, 4000);
  const CollectiveSpec spec = AllReduceOf({0, 1});
  const at::Tensor large = at::ones({1000}, at::kDouble);
  for (const size_t rank : {size_t{0}, size_t{1}}) ranks.Start(rank, spec, large);
  for (const size_t rank : {size_t{0}, size_t{1}}) {
    const Result<Transport::Outcome> outcome = ranks.Heard(rank);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, ErrorCode::kDeviceMemory);
    EXPECT_NE(outcome.error().message.find("rank:0"), std::string::npos);
  }
  EXPECT_EQ(ranks.devices[0]->memory().used(), 0);
}

}  // namespace
}  // namespace placewright
