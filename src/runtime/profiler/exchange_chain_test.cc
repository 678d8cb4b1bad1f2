#include "runtime/profiler/exchange_chain.h"

#include <gtest/gtest.h>

#include <memory>

#include "runtime/executor/executor.h"
#include "runtime/inputs/seeded_inputs.h"

namespace placewright {
namespace {

Exchange Over(std::optional<CollectiveKind> kind, size_t devices) {
  Exchange exchange{kind, {}};
  for (size_t i = 0; i < devices; ++i) exchange.devices.emplace_back(i);
  return exchange;
}

// Every chain is a step that the executor takes, whatever the number of devices.
TEST(ExchangeChain, AllAreExecuted) {
  for (const size_t devices : {2, 3, 4}) {
    std::vector<std::optional<CollectiveKind>> kinds(kCollectiveKinds.begin(),
                                                     kCollectiveKinds.end());
    if (devices == 2) kinds.push_back(std::nullopt);
    for (const auto& kind : kinds) {
      Result<ExchangeChain> chain = MakeExchangeChain(Over(kind, devices), Bytes(1024));
      ASSERT_TRUE(chain.ok()) << chain.error().ToString();
      // 256 elements, or 258 that three have alike, or 261 of which each sends every one as many.
      const bool exchanged = kind == CollectiveKind::kAllToAll;
      EXPECT_EQ(chain.value().bytes, Bytes(devices != 3 ? 1024 : exchanged ? 1044 : 1032));
      std::vector<std::unique_ptr<RuntimeDevice>> own;
      for (size_t i = 0; i < devices; ++i) {
        own.push_back(MakeCpuDevice({"cpu:" + std::to_string(i), 1, 0}));
      }
      auto executor =
          Executor::Create(chain.value().graph, chain.value().placement, std::move(own), {});
      ASSERT_TRUE(executor.ok()) << executor.error().ToString();
      const auto inputs = SeededInputs(chain.value().graph, 1).Take();
      for (const auto& [id, value] : inputs) {
        ASSERT_TRUE(executor.value()->SetInput(id, value).ok());
      }
      const Status ran = executor.value()->Step();
      ASSERT_TRUE(ran.ok()) << ran.error().ToString();
      const Nanos time = chain.value().TimeOf(executor.value()->LastSchedule());
      EXPECT_GT(time, Nanos(0));
      EXPECT_LT(time, Nanos(1'000'000'000));
    }
  }
}

// op0 ends at 10; four transfers of 25 ns with ops of 7 ns between them.
TEST(ExchangeChain, TransfersAreWhatOpsLeave) {
  const ExchangeChain chain = MakeExchangeChain(Over(std::nullopt, 2), Bytes(4096)).Take();
  Schedule schedule;
  int64_t now = 3;
  for (size_t i = 0; i < chain.graph.op_count(); ++i) {
    schedule.ops.push_back({Nanos(now), Nanos(now + 7)});
    now += 7 + 25;
  }
  EXPECT_EQ(chain.TimeOf(schedule), Nanos(25));
  EXPECT_EQ(chain.placement[OpId(0)], chain.placement[OpId(chain.graph.op_count() - 1)]);
}

// A reduce-scatter every 30 ns, of which the op that makes the next one's input takes 4.
TEST(ExchangeChain, CollectivesAreTheTimeBetweenTheirEnds) {
  const ExchangeChain chain =
      MakeExchangeChain(Over(CollectiveKind::kReduceScatter, 2), Bytes(4096)).Take();
  Schedule schedule;
  schedule.ops = IdVector<OpId, OpSpan>(chain.graph.op_count(), {Nanos(5), Nanos(9)});
  for (size_t i = 0; i < chain.graph.collective_count(); ++i) {
    const auto end = static_cast<int64_t>(100 + 30 * i);
    schedule.collectives.push_back({Nanos(end - 1), Nanos(end - 1), Nanos(end)});
  }
  EXPECT_EQ(chain.TimeOf(schedule), Nanos(26));
}

}  // namespace
}  // namespace placewright
