// Steps with collectives, executed over simulated devices.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "runtime/executor/made_step.h"

namespace placewright {
namespace {

TEST(ExecutedCollectives, RandomStepsGiveTheBitsOfOneThread) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const size_t devices = 2 + seed % 3;
    const RandomStep made(devices, seed);
    auto executor = made.step.Start(devices, {}, {}, /*queued=*/seed % 4 > 0).Take();
    for (int repeat = 0; repeat < 2; ++repeat) {
      ASSERT_TRUE(made.step.Set(*executor).ok());
      const Status ran = executor->Step();
      ASSERT_TRUE(ran.ok()) << "seed " << seed << ": " << ran.error().ToString();
      for (size_t d = 0; d < devices; ++d) {
        EXPECT_TRUE(SameBits(executor->Output(d), made.step.values.at(made.now[d])))
            << "seed " << seed << ", device " << d;
      }
    }
  }
}

// What the schedule of such a step says of collectives, beside ops that depend on them.
TEST(ExecutedCollectives, MembersRunWhileTheirCollectiveDoes) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const size_t devices = 2 + seed % 3;
    const RandomStep made(devices, seed);
    const Graph& graph = *made.graph;
    auto executor = made.step.Start(devices, {}, {}, /*queued=*/seed % 2 == 0).Take();
    ASSERT_TRUE(made.step.Set(*executor).ok());
    ASSERT_TRUE(executor->Step().ok());
    const Schedule schedule = executor->LastSchedule();
    ASSERT_EQ(schedule.collectives.size(), graph.collective_count());
    for (const CollectiveId id : graph.collectives()) {
      const CollectiveSpan& span = schedule.collectives[id];
      EXPECT_LE(span.ready, span.start);
      EXPECT_LE(span.start, span.end);
      for (const OpId member : graph.collective(id).members) {
        EXPECT_EQ(schedule.ops[member].start, span.start);
        EXPECT_EQ(schedule.ops[member].end, span.end);
        for (const OpId before : graph.producers(member)) {
          EXPECT_LE(schedule.ops[before].end, span.ready);
        }
        for (const OpId behind : graph.consumers(member)) {
          EXPECT_GE(schedule.ops[behind].start, span.end);
        }
      }
    }
  }
}

// Two devices of which one has the first half of a long row of sums before the second, and the
// other the second before the first, as their sequences say: a device that waited for the other
// within its sequence would wait for ever.
TEST(ExecutedCollectives, DevicesMeetInAnyOrder) {
  constexpr int kSums = 20;
  for (const bool queued : {true, false}) {
    MadeStep step;
    Sequences sequences(2);
    std::vector<TensorId> outputs;
    std::vector<OpId> orders[2];
    for (int i = 0; i < kSums; ++i) {
      std::vector<std::pair<DeviceId, TensorId>> given;
      for (const DeviceId device : {DeviceId(0), DeviceId(1)}) {
        const TensorId x = step.Input(fmt::format("x{}_{}", i, device.value()),
                                      at::full({4}, 10.0 * i + device.value(), at::kFloat));
        orders[device.index()].push_back(OpId(step.placement.size()));
        given.emplace_back(device, step.Op("aten.add.Tensor", {x, x}, device, step.values[x] * 2));
      }
      for (const TensorId sum : step.AllReduce(given)) outputs.push_back(sum);
    }
    std::reverse(orders[1].begin(), orders[1].end());
    for (const DeviceId device : {DeviceId(0), DeviceId(1)}) {
      sequences[device] = orders[device.index()];
    }
    step.Finish(outputs);
    ExecutorOptions options;
    options.sequences = sequences;
    auto executor = step.Start(2, {}, options, queued).Take();
    ASSERT_TRUE(step.Set(*executor).ok());
    ASSERT_TRUE(executor->Step().ok());
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(SameBits(executor->Output(i), step.values[outputs[i]])) << i;
    }
  }
}

// A sequence that lets an op come before another whose sum it needs, through the other device.
TEST(ExecutedCollectives, SequencesThatCannotEndAreRefused) {
  MadeStep step;
  std::vector<std::pair<DeviceId, TensorId>> given;
  for (const DeviceId device : {DeviceId(0), DeviceId(1)}) {
    const TensorId x = step.Input(fmt::format("x{}", device.value()), at::ones({2}, at::kFloat));
    given.emplace_back(device, step.Op("aten.add.Tensor", {x, x}, device, step.values[x] * 2));
  }
  const std::vector<TensorId> sums = step.AllReduce(given);
  const TensorId last =
      step.Op("aten.mul.Tensor", {sums[0], sums[0]}, DeviceId(0), step.values[sums[0]]);
  step.Finish({last});
  ExecutorOptions options;
  options.sequences = Sequences(2);
  options.sequences[DeviceId(0)] = std::vector<OpId>{OpId(4), OpId(0)};
  const auto refused = step.Start(2, {}, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kPlanInvalid);
}

// Each device holds 400 bytes of input and 400 of the product. The sum of 400 bytes more has no
// room on device 1: the step ends on both. With room it runs, and the product's memory is free by
// then.
TEST(ExecutedCollectives, ADeviceWithoutRoomEndsTheStepOnAll) {
  for (const bool queued : {true, false}) {
    MadeStep step;
    std::vector<std::pair<DeviceId, TensorId>> given;
    for (const DeviceId device : {DeviceId(0), DeviceId(1)}) {
      const TensorId x =
          step.Input(fmt::format("x{}", device.value()), at::ones({100}, at::kFloat));
      given.emplace_back(device, step.Op("aten.mul.Tensor", {x, x}, device, step.values[x]));
    }
    const std::vector<TensorId> sums = step.AllReduce(given);
    step.Finish(sums);
    auto executor = step.Start(2, {5000, 1000}, {}, queued).Take();
    for (int i = 0; i < 2; ++i) {  // and it can be tried again
      ASSERT_TRUE(step.Set(*executor).ok());
      const Status full = executor->Step();
      ASSERT_FALSE(full.ok());
      EXPECT_EQ(full.error().code, ErrorCode::kDeviceMemory);
      EXPECT_NE(full.error().message.find("sim:1"), std::string::npos) << full.error().ToString();
      EXPECT_NE(full.error().place.find("collective0"), std::string::npos);
    }
    auto roomy = step.Start(2, {5000, 1200}, {}, queued).Take();
    ASSERT_TRUE(step.Set(*roomy).ok());
    ASSERT_TRUE(roomy->Step().ok());
    for (const DeviceId device : {DeviceId(0), DeviceId(1)}) {
      EXPECT_EQ(roomy->device(device).memory().used(), 800);  // input and sum
      EXPECT_EQ(roomy->device(device).memory().peak(), 1200);
    }
  }
}

// An op fails while a member of another device waits for the one behind it.
TEST(ExecutedCollectives, AnErrorBeforeAMemberEndsTheStepOnAll) {
  for (const bool queued : {true, false}) {
    MadeStep step;
    std::vector<std::pair<DeviceId, TensorId>> given;
    for (const DeviceId device : {DeviceId(0), DeviceId(1)}) {
      const TensorId x =
          step.Input(fmt::format("x{}", device.value()), at::ones({100}, at::kFloat));
      given.emplace_back(device, step.Op("aten.mul.Tensor", {x, x}, device, step.values[x]));
    }
    step.Finish(step.AllReduce(given));
    auto executor = step.Start(2, {5000, 500}, {}, queued).Take();
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(step.Set(*executor).ok());
      const Status full = executor->Step();
      ASSERT_FALSE(full.ok());
      EXPECT_EQ(full.error().code, ErrorCode::kDeviceMemory);
      EXPECT_EQ(full.error().place, "op op1");
    }
  }
}

TEST(ExecutedCollectives, MembersThatDoNotFitAreRefused) {
  const auto refused = [](const std::vector<std::string>& types, std::vector<int64_t> devices,
                          std::vector<int64_t> numbers) {
    MadeStep step;
    std::vector<TensorId> made;
    for (size_t i = 0; i < types.size(); ++i) {
      const DeviceId device(static_cast<size_t>(devices[i]));
      const TensorId x = step.Input(fmt::format("x{}", i), at::ones({2}, at::kFloat));
      made.push_back(step.Op(types[i], {x}, device, at::ones({4}, at::kFloat), numbers));
    }
    step.Join(made);
    step.Finish(made);
    const auto executor = step.Start(2);
    EXPECT_FALSE(executor.ok());
    return executor.ok() ? Error() : executor.error();
  };
  const std::string sum = "placewright.all_reduce.default";
  const std::string scatter = "placewright.reduce_scatter.default";
  const std::string broadcast = "placewright.broadcast.default";
  EXPECT_EQ(refused({broadcast, broadcast}, {0, 1}, {}).place, "op op0");  // both read and make
  // [2] has no part of 4.
  EXPECT_NE(
      refused({scatter, scatter}, {0, 1}, {0, 1, 4, 0, 2}).message.find("no part of its input"),
      std::string::npos);
  const std::string gather = "placewright.all_gather.default";
  EXPECT_EQ(refused({sum, sum}, {0, 1}, {}).code, ErrorCode::kField);  // [2] becomes [4]
  EXPECT_EQ(refused({gather, sum}, {0, 1}, {0, 1, 4, 0, 2}).place, "op op1");
  EXPECT_EQ(refused({"aten.relu.default"}, {0}, {}).code, ErrorCode::kField);
  EXPECT_EQ(refused({gather, gather}, {1, 1}, {0, 1, 4, 0, 2}).place, "op op1");
  // Both have [0, 2) of 4.
  EXPECT_NE(refused({gather, gather}, {0, 1}, {0, 1, 4, 0, 2}).message.find("make a whole"),
            std::string::npos);
  const std::string exchange = "placewright.all_to_all.default";
  const auto exchanged = [&](std::vector<int64_t> numbers) {
    return refused({exchange, exchange}, {0, 1}, std::move(numbers)).message;
  };
  // Of [2], half of 4 rows for one of 2: [2], not [4]. Too few arguments.
  EXPECT_NE(exchanged({0, 1, 4, 0, 2, 0, 1, 2, 0, 1}).find("no parts of its input"),
            std::string::npos);
  EXPECT_NE(exchanged({0, 1, 4, 0, 2}).find("no two parts"), std::string::npos);
  // Both give [0, 2) of 4, and get all of it.
  EXPECT_NE(exchanged({0, 1, 4, 0, 2, 0, 1, 1, 0, 1}).find("make a whole"), std::string::npos);
  // No axis 1, no part of 3 in 2 elements, a part beyond the end, too few arguments.
  for (const std::vector<int64_t>& numbers :
       {std::vector<int64_t>{1, 1, 4, 0, 2}, {0, 1, 4, 0, 3}, {0, 1, 4, 3, 5}, {0, 1, 4}}) {
    EXPECT_EQ(refused({gather, gather}, {0, 1}, numbers).code, ErrorCode::kField);
  }
}

}  // namespace
}  // namespace placewright
