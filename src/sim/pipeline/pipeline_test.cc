// Both objectives of pipeline workloads, derived by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/pipeline/max_load.h"
#include "sim/pipeline/sample_latency.h"

namespace placewright {
namespace {

using testing::HasSubstr;

// A workload with ids 1, 2, ... in the order of AddNode.
class TinyWorkload {
 public:
  explicit TinyWorkload(int64_t accelerators, double memory = 100) {
    workload_.accelerators = accelerators;
    workload_.cpus = 1;
    workload_.accelerator_memory = memory;
  }
  TinyWorkload& Node(double cpu, double accelerator, double size = 1) {
    WorkloadNode node;
    node.id = static_cast<int64_t>(workload_.nodes.size()) + 1;
    node.cpu_time = cpu;
    node.accelerator_time = accelerator;
    node.size = size;
    workload_.nodes.push_back(node);
    workload_.output_cost.push_back(0);
    return *this;
  }
  TinyWorkload& Backward() {
    workload_.nodes.back().backward = true;
    return *this;
  }
  TinyWorkload& Color(int64_t color) {
    workload_.nodes.back().color_class = color;
    return *this;
  }
  TinyWorkload& Edge(int32_t from, int32_t to, double cost) {
    workload_.edges.push_back({from - 1, to - 1});
    workload_.output_cost[from - 1] = cost;
    return *this;
  }
  const PipelineWorkload& get() const { return workload_; }

 private:
  PipelineWorkload workload_;
};

// 1 feeds 2, 3 and 4, which all feed 5.
TinyWorkload Fan() {
  return TinyWorkload(2, 3)
      .Node(40, 1)
      .Node(40, 2)
      .Node(40, 4)
      .Node(40, 8)
      .Node(40, 16)
      .Edge(1, 2, 0.5)
      .Edge(1, 3, 0.5)
      .Edge(1, 4, 0.5)
      .Edge(2, 5, 0.25)
      .Edge(3, 5, 0.125)
      .Edge(4, 5, 64);
}

double MaxLoadOf(const PipelineWorkload& workload, const Split& split) {
  const auto result = MaxLoad(workload, split);
  EXPECT_TRUE(result.ok()) << result.error().ToString();
  return result.ok() ? result.value().value : -1;
}

double LatencyOf(const PipelineWorkload& workload, const Split& split) {
  const auto result = SampleLatency(workload, split);
  EXPECT_TRUE(result.ok()) << result.error().ToString();
  return result.ok() ? result.value().value : -1;
}

template <class T>
ErrorCode CodeOf(const Result<T>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? ErrorCode::kInternal : result.error().code;
}

TEST(MaxLoad, EachProducerPaysOnceForSendingAndOnceForEachReceiver) {
  const auto result = MaxLoad(Fan().get(), {{{1, 2, 5}, {3, 4}}, {}});
  ASSERT_TRUE(result.ok());
  // Accelerator 1: 1 + 2 + 16, sends 1's output once for two readers: 0.5; receives 3's and 4's:
  // 0.125 + 64. Accelerator 2: 4 + 8, receives 1's once: 0.5; sends 3's and 4's: 0.125 + 64.
  EXPECT_EQ(result.value().devices[1].compute, 19);
  EXPECT_EQ(result.value().devices[1].communication, 64.625);
  EXPECT_EQ(result.value().devices[2].Load(), 12 + 64.625);
  EXPECT_EQ(result.value().value, 19 + 64.625);
  EXPECT_TRUE(result.value().memory_ok);  // 3 bytes of 3
}

TEST(MaxLoad, CpusAreOneDeviceThatMovesForNothing) {
  const auto result = MaxLoad(Fan().get(), {{{}, {1, 3, 4, 5}}, {{}, {2}}});
  ASSERT_TRUE(result.ok());
  // Accelerator 2: 1 + 4 + 8 + 16, sends 1's output: 0.5, receives 2's: 0.25. The CPU: 40.
  EXPECT_EQ(result.value().devices[2].Load(), 29.75);
  EXPECT_EQ(result.value().devices[0].Load(), 40);
  EXPECT_EQ(result.value().value, 40);
  EXPECT_FALSE(result.value().memory_ok);  // 4 bytes of 3, said and no more
  // Two CPU entries count as one: 40 + 40.
  EXPECT_EQ(MaxLoadOf(Fan().get(), {{{1, 2, 3}}, {{4}, {5}}}), 80);
}

TEST(MaxLoad, TheLastListingCounts) {
  // 1 is on the CPU, then on accelerator 1, then on 2; 9 is nowhere and skipped.
  // All on accelerator 2: 1 + 2 + 4 + 8 + 16.
  EXPECT_EQ(MaxLoadOf(Fan().get(), {{{1}, {1, 2, 3, 4, 5, 9}}, {{1, 5}}}), 31);
}

// Forward 1 -> 2, backward 3 (of 2) -> 4 (of 1).
TinyWorkload Training() {
  return TinyWorkload(2)
      .Node(9, 1)
      .Color(1)
      .Node(9, 2)
      .Color(-2)
      .Node(9, 4)
      .Color(-2)
      .Backward()
      .Node(9, 8)
      .Color(1)
      .Backward()
      .Edge(1, 2, 0.5)
      .Edge(2, 3, 0.25)
      .Edge(3, 4, 0.125);
}

TEST(MaxLoad, BackwardNodesFollowTheirColourClass) {
  // Accelerator 1: 1 + 8, sends 0.5, receives 0.125. Accelerator 2: 2 + 4 + 0.5 + 0.125; 2 -> 3
  // stays inside.
  EXPECT_EQ(MaxLoadOf(Training().get(), {{{1}, {2}}, {}}), 9.625);
  EXPECT_EQ(MaxLoadOf(Training().get(), {{{1, 4}, {3}}, {}}), 9.625);
}

TEST(MaxLoad, WhatHasNoValue) {
  EXPECT_EQ(CodeOf(MaxLoad(Training().get(), {{{1}}, {}})), ErrorCode::kSplitIncomplete);
  EXPECT_EQ(CodeOf(MaxLoad(Fan().get(), {{{1, 2, 3, 4}}, {}})), ErrorCode::kSplitIncomplete);
  EXPECT_EQ(CodeOf(MaxLoad(Training().get(), {{{1, 2}, {4, 3}}, {}})), ErrorCode::kSplitColocation);
  EXPECT_EQ(CodeOf(MaxLoad(Fan().get(), {{{1}, {}, {2}, {3, 4, 5}}, {}})),
            ErrorCode::kSplitDevices);
  // A third peer of the class of 1 and 4, which lie apart.
  TinyWorkload three = Training();
  three.Node(1, 1).Color(1);
  EXPECT_EQ(CodeOf(MaxLoad(three.get(), {{{1}, {2, 4}}, {}})), ErrorCode::kSplitAmbiguous);
  // All CPUs are one device to it: 1 + 4 and 5 make 9 + 9 + 1.
  EXPECT_EQ(MaxLoadOf(three.get(), {{{2}}, {{1}, {4}}}), 19);
  TinyWorkload wrong = Training();
  wrong.Edge(3, 2, 0.125);  // backward to forward
  EXPECT_EQ(CodeOf(MaxLoad(wrong.get(), {{{1, 2}}, {}})), ErrorCode::kWorkloadDirection);
  TinyWorkload cycle = Fan();
  cycle.Edge(5, 1, 1);
  EXPECT_EQ(CodeOf(MaxLoad(cycle.get(), {{{1, 2, 3, 4, 5}}, {}})), ErrorCode::kGraphCycle);
}

TEST(MaxLoad, NothingAtAll) {
  const auto result = MaxLoad(PipelineWorkload(), {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().value, 0);
  EXPECT_TRUE(result.value().memory_ok);
}

TEST(SampleLatency, APieceReadsComputesAndWritesOnce) {
  // CPU 1 ends at 40. Piece {2, 3, 4} starts then, reads 1's output once: 0.5, computes 2 + 4 + 8,
  // writes 0.25 + 0.125 + 64: ends at 118.875. Piece {5} reads the three: 64.375, computes 16.
  const auto result = SampleLatency(Fan().get(), {{{2, 3, 4}, {5}}, {{1}}});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().finish, (std::vector<double>{40, 118.875, 118.875, 118.875, 199.25}));
  EXPECT_EQ(result.value().value, 199.25);
  // All on CPUs, as many as are needed: 40 + 40 + 40 on the longest path.
  EXPECT_EQ(LatencyOf(Fan().get(), {{}, {{1, 2, 3, 4, 5}}}), 120);
}

TEST(SampleLatency, AnAcceleratorThatIsLeftAndEnteredAgainRunsInPieces) {
  // {1, 3, 5} with 2 and 4 on CPUs: L(1) = 1, L(3) = 1 by the edge 1 -> 3, L(5) = 2 through 2.
  // Piece {1, 3}: 1 + 4, out 0.5 (for 2 and 4) + 0.125: 5.625. 2 and 4 end at 45.625. Piece {5}
  // starts then, reads 0.25 + 0.125 + 64, computes 16.
  const auto result = SampleLatency(Fan().get(), {{{1, 3, 5}}, {{2}, {4}}});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().accelerators[0].pieces, 2);
  EXPECT_EQ(result.value().value, 45.625 + 64.375 + 16);
  EXPECT_TRUE(result.value().memory_ok);  // 3 bytes of 3
  const auto all = SampleLatency(Fan().get(), {{{1, 2, 3, 4, 5}}, {}});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all.value().value, 31);  // one piece, nothing moves
  EXPECT_FALSE(all.value().memory_ok);
}

TEST(SampleLatency, WhatHasNoValue) {
  // 1 -> 2 and 3 -> 4 crosswise between two accelerators.
  TinyWorkload cross(1);
  cross.Node(1, 1).Node(1, 1).Node(1, 1).Node(1, 1).Edge(1, 2, 1).Edge(3, 4, 1);
  EXPECT_EQ(CodeOf(SampleLatency(cross.get(), {{{1, 4}, {2, 3}}, {}})), ErrorCode::kSplitCyclic);
  // 1 + out 1, then in 1 + 1: the number of accelerators is not looked at.
  EXPECT_EQ(LatencyOf(cross.get(), {{{1}, {2}, {3}, {4}}, {}}), 4);
  EXPECT_EQ(CodeOf(SampleLatency(cross.get(), {{{1, 2, 3}}, {}})), ErrorCode::kSplitIncomplete);
  const auto twice = SampleLatency(cross.get(), {{{1, 2, 3, 4}, {4}}, {}});
  EXPECT_EQ(CodeOf(twice), ErrorCode::kSplitIncomplete);
  EXPECT_THAT(twice.error().message, HasSubstr("node 4 twice"));
  EXPECT_EQ(CodeOf(SampleLatency(cross.get(), {{{1, 2, 3, 4, 5}}, {}})),
            ErrorCode::kSplitIncomplete);
  cross.Edge(4, 3, 1);
  EXPECT_EQ(CodeOf(SampleLatency(cross.get(), {{{1, 2, 3, 4}}, {}})), ErrorCode::kGraphCycle);
}

TEST(SampleLatency, OnlyANodeWithoutEdgesMayBeLeftOut) {
  TinyWorkload workload(1);
  workload.Node(1, 1).Node(1, 1).Node(50, 50).Edge(1, 2, 1);
  EXPECT_EQ(LatencyOf(workload.get(), {{{1, 2}}, {}}), 2);
}

TEST(SampleLatency, RejectsWorkWithoutEnd) {
  // 60,000 pairs on an accelerator each: 60,000 passes over 240,000 nodes and edges.
  TinyWorkload workload(1);
  Split split;
  for (int32_t i = 1; i < 120'000; i += 2) {
    workload.Node(1, 1).Node(1, 1).Edge(i, i + 1, 1);
    split.accelerators.push_back({i, i + 1});
  }
  EXPECT_EQ(CodeOf(SampleLatency(workload.get(), split)), ErrorCode::kFileTooLarge);
}

}  // namespace
}  // namespace placewright
