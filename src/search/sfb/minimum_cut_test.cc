#include "search/sfb/minimum_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace placewright {
namespace {

//  source -5-> 0 -3-> 1 -4-> sink, 0 -1-> 2 -9-> sink: 3 and 1 are cut, which is less than the source's 5.
TEST(MinimumCut, CutsTheNarrowestPlace) {
  MinimumCut cut;
  cut.Clear(3);
  cut.AddSource(0, 5);
  cut.AddArc(0, 1, 3);
  cut.AddArc(0, 2, 1);
  cut.AddSink(1, 4);
  cut.AddSink(2, 9);
  EXPECT_EQ(cut.Solve(), 4);
  EXPECT_TRUE(cut.OnSourceSide(0));
  EXPECT_FALSE(cut.OnSourceSide(1));
  EXPECT_FALSE(cut.OnSourceSide(2));
}

// The flow over the middle arc has to be sent back: 0 -> 3 first takes 1's way.
TEST(MinimumCut, SendsFlowBack) {
  MinimumCut cut;
  cut.Clear(4);
  cut.AddSource(0, 10);
  cut.AddSource(1, 10);
  cut.AddArc(0, 2, 1);
  cut.AddArc(0, 3, 10);
  cut.AddArc(1, 2, 10);
  cut.AddArc(2, 3, 10);
  cut.AddSink(3, 10);
  cut.AddSink(2, 8);
  EXPECT_EQ(cut.Solve(), 18);  // what the sink takes
}

// Cutting the source's 7 costs as much as cutting the sink's: nothing is on the source's side.
TEST(MinimumCut, TakesTheSmallestSourceSide) {
  MinimumCut cut;
  cut.Clear(2);
  cut.AddSource(0, 7);
  cut.AddArc(0, 1, 7);
  cut.AddSink(1, 7);
  EXPECT_EQ(cut.Solve(), 7);
  EXPECT_FALSE(cut.OnSourceSide(0));
  EXPECT_FALSE(cut.OnSourceSide(1));
}

TEST(MinimumCut, LeavesUncuttableArcsAlone) {
  MinimumCut cut;
  cut.Clear(2);
  cut.AddSource(0, 7);
  cut.AddArc(0, 1, MinimumCut::kUncuttable);
  cut.AddSink(1, 3);
  EXPECT_EQ(cut.Solve(), 3);
  EXPECT_TRUE(cut.OnSourceSide(0));
  EXPECT_TRUE(cut.OnSourceSide(1));
}

// The source gives 2^60 at most, all nodes together; the sums of flows stay in 64 bits.
TEST(MinimumCut, SaturatesWhatTheSourceGives) {
  MinimumCut cut;
  cut.Clear(10);
  for (int32_t node = 0; node < 9; ++node) {
    cut.AddSource(node, kMaxQuantity);
    cut.AddArc(node, 9, kMaxQuantity);
  }
  cut.AddSink(9, kMaxQuantity);
  EXPECT_EQ(cut.Solve(), kMaxQuantity);
}

struct RandomProblem {
  struct Arc {
    int32_t from, to;
    int64_t capacity;
  };
  int32_t nodes = 0;
  std::vector<int64_t> source, sink;
  std::vector<Arc> arcs;

  explicit RandomProblem(Random& random) {
    nodes = 1 + static_cast<int32_t>(random.Below(9));
    const int64_t limit = random.Below(2) == 0 ? 4 : 1000;  // small ones: many ties
    for (int32_t i = 0; i < nodes; ++i) {
      source.push_back(random.Below(3) == 0 ? Draw(random, 3 * limit) : 0);
      sink.push_back(random.Below(3) == 0 ? Draw(random, 3 * limit) : 0);
    }
    const auto count = random.Below(3 * static_cast<uint64_t>(nodes));
    for (uint64_t i = 0; i < count; ++i) {
      arcs.push_back({static_cast<int32_t>(random.Below(static_cast<uint64_t>(nodes))),
                      static_cast<int32_t>(random.Below(static_cast<uint64_t>(nodes))),
                      Draw(random, limit)});
    }
  }
  static int64_t Draw(Random& random, int64_t limit) {
    return static_cast<int64_t>(random.Below(static_cast<uint64_t>(limit)));
  }

  int64_t ValueOf(uint32_t side) const {
    const auto on = [&](int32_t node) { return (side >> node & 1U) != 0; };
    int64_t value = 0;
    for (int32_t i = 0; i < nodes; ++i) {
      value += on(i) ? sink[static_cast<size_t>(i)] : source[static_cast<size_t>(i)];
    }
    for (const Arc& arc : arcs) value += on(arc.from) && !on(arc.to) ? arc.capacity : 0;
    return value;
  }

  void Give(MinimumCut& cut) const {
    cut.Clear(nodes);
    for (int32_t i = 0; i < nodes; ++i) {
      cut.AddSource(i, source[static_cast<size_t>(i)]);
      cut.AddSink(i, sink[static_cast<size_t>(i)]);
    }
    for (const Arc& arc : arcs) cut.AddArc(arc.from, arc.to, arc.capacity);
  }
};

// All sides of 2,000 graphs of up to 9 nodes: the value is the minimum, and the side the intersection of all that
// have it. One object solves them all.
TEST(MinimumCut, AgreesWithBruteForce) {
  Random random(7);
  MinimumCut cut;
  for (int trial = 0; trial < 2000; ++trial) {
    const RandomProblem problem(random);
    int64_t best = problem.ValueOf(0);
    uint32_t smallest = 0;
    for (uint32_t side = 1; side < (1U << problem.nodes); ++side) {
      const int64_t value = problem.ValueOf(side);
      if (value == best) smallest &= side;
      if (value < best) best = value, smallest = side;
    }
    problem.Give(cut);
    ASSERT_EQ(cut.Solve(), best) << "trial " << trial;
    for (int32_t i = 0; i < problem.nodes; ++i) {
      ASSERT_EQ(cut.OnSourceSide(i), (smallest >> i & 1U) != 0) << "trial " << trial;
    }
  }
}

}  // namespace
}  // namespace placewright
