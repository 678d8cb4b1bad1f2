// The fast simulator of Placeto's rules against the slow one, bit for bit, on random cases full of
// ties, double edges, several outputs and names that sort otherwise than they stand.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "base/random.h"
#include "placeto_reference.h"
#include "shuffle.h"
#include "sim/placeto/simulator.h"

namespace placewright {
namespace {

constexpr uint64_t kCases = 6000;

class RandomPlacetoCase {
 public:
  explicit RandomPlacetoCase(uint64_t seed) : random_(seed) {}

  PlacetoCase Make() {
    PlacetoCase problem;
    whole_ = Draw(3) > 0;  // small integers: ties everywhere
    problem.params = {Gap(), Gap(), Draw(4) == 0 ? Draw(9) - 4.0 : 0.0, whole_ ? 1.0 : 7600.0};
    const int32_t devices = 1 + Draw(5), ops = Draw(20) == 0 ? 0 : 1 + Draw(30);
    for (const std::string& name : Names(devices)) problem.devices.push_back("/dev" + name);
    for (const std::string& name : Names(ops)) problem.ops.push_back(Op(name));
    for (int32_t i = 0; i < ops; ++i) problem.placement.push_back(Draw(devices));
    AddEdges(problem);
    return problem;
  }

  int32_t Draw(int32_t bound) {
    return static_cast<int32_t>(random_.Below(static_cast<uint64_t>(bound)));
  }

 private:
  double Gap() {
    constexpr double kGaps[] = {0, 1, 2, 5.7, 25, 0.1};
    return kGaps[Draw(whole_ ? 3 : 6)];
  }

  // Prefixes of each other, numbers whose texts sort otherwise, bytes beyond ASCII.
  std::vector<std::string> Names(int32_t count) {
    constexpr const char* kHeads[] = {"", "a", "a/", "A", "\xc3\xa9", "~", "\xf0\x9f\x98\x80"};
    std::vector<std::string> names;
    for (int32_t i = 0; i < count; ++i) names.push_back(kHeads[Draw(7)] + std::to_string(i));
    Shuffle(random_, names);
    return names;
  }

  PlacetoOp Op(const std::string& name) {
    PlacetoOp op;
    op.name = name;
    op.cost_us = whole_ ? Draw(3) : Draw(5) == 0 ? 0 : random_.Unit() * 50;
    op.no_rest = op.cost_us == 0 && Draw(2) == 0;
    for (int32_t i = Draw(4); i > 0; --i) {
      op.output_bytes.push_back(whole_ ? Draw(3) : Draw(200000));
    }
    return op;
  }

  // From earlier in a random order, so that the indices say nothing about who waits for whom.
  void AddEdges(PlacetoCase& problem) {
    const auto ops = static_cast<int32_t>(problem.ops.size());
    std::vector<int32_t> order;
    for (int32_t i = 0; i < ops; ++i) order.push_back(i);
    if (Draw(2) == 0) Shuffle(random_, order);
    for (int32_t i = 1; i < ops; ++i) {
      for (int32_t n = Draw(4); n > 0; --n) {
        problem.edges.push_back({order[Draw(i)], Draw(Draw(2) == 0 ? 1 : 6), order[i]});
      }
    }
    // Some of the pairs again, with another output.
    for (int32_t n = problem.edges.empty() ? 0 : Draw(5); n > 0; --n) {
      PlacetoEdge edge = problem.edges[Draw(static_cast<int32_t>(problem.edges.size()))];
      edge.output = Draw(6);
      problem.edges.push_back(edge);
    }
    if (Draw(2) == 0) Shuffle(random_, problem.edges);
  }

  Random random_;
  bool whole_ = false;
};

void ExpectAsReference(const PlacetoCase& problem, PlacetoSimulator& simulator) {
  PlacetoReference reference(problem);
  reference.Run();
  const double makespan = simulator.Run(problem.placement);
  ASSERT_EQ(std::bit_cast<uint64_t>(makespan), std::bit_cast<uint64_t>(reference.run_time))
      << makespan << " instead of " << reference.run_time;
  for (size_t i = 0; i < problem.ops.size(); ++i) {
    const std::vector<double>& starts = reference.starts[problem.ops[i].name];
    ASSERT_EQ(starts.size(), 1u);
    ASSERT_EQ(std::bit_cast<uint64_t>(simulator.starts()[i]), std::bit_cast<uint64_t>(starts[0]))
        << problem.ops[i].name << ": " << simulator.starts()[i] << " instead of " << starts[0];
  }
}

TEST(PlacetoProperty, EqualsTheReferenceToTheLastBit) {
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    const PlacetoCase problem = RandomPlacetoCase(seed).Make();
    const PlacetoSimGraph sim_graph = CompilePlacetoCase(problem).Take();
    PlacetoSimulator simulator(sim_graph);
    ExpectAsReference(problem, simulator);
    if (HasFatalFailure()) return;
  }
}

TEST(PlacetoProperty, OneSimulatorServesManyPlacements) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomPlacetoCase random(seed);
    PlacetoCase problem = random.Make();
    const PlacetoSimGraph sim_graph = CompilePlacetoCase(problem).Take();
    PlacetoSimulator simulator(sim_graph);
    for (int run = 0; run < 5; ++run) {
      const auto devices = static_cast<int32_t>(problem.devices.size());
      for (int32_t& device : problem.placement) device = random.Draw(devices);
      ExpectAsReference(problem, simulator);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace placewright
