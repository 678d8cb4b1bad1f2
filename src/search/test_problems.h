// Problems for the tests of this module: built by hand or drawn from a seed.
#ifndef PLACEWRIGHT_SEARCH_TEST_PROBLEMS_H_
#define PLACEWRIGHT_SEARCH_TEST_PROBLEMS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/evaluation/plan_result.h"
#include "search/planner_table.h"
#include "search/problem/problem.h"

namespace placewright {

// Owns what a Problem points to.
struct TestProblem {
  Graph graph;
  Cluster cluster;
  CostTable costs;
  Problem problem;
  std::unique_ptr<Evaluator> evaluator;  // simulates
  PlannerTable planners = MakeSearchPlanners();

  PlanSource plans() const { return ConstructivePlans(planners); }
};

struct TestOp {
  std::string name;
  std::vector<int64_t> time_ns;  // per device; -1: unsupported
  std::vector<std::string> reads;
  std::vector<int64_t> output_bytes;  // one output tensor each: name, name:1, ...
  std::string in_place;               // tensor that it overwrites (returned as the last output)
  Phase phase = Phase::kForward;
  std::string module;
  bool view = false;  // of the first of `reads`, from its start
};
struct TestInput {
  std::string name;
  int64_t bytes = 0;
  TensorKind kind = TensorKind::kParameter;
  int home = -1;  // the device that the file gives it
};
struct TestSpec {
  std::vector<int64_t> capacity;      // one device each, called d0, d1, ...
  size_t cpus = 0;                    // the last so many devices are CPUs
  int64_t bandwidth = 1'000'000'000;  // 1 GB/s: a byte takes a nanosecond
  int64_t latency = 0;
  std::vector<std::pair<int, int>> apart;  // ordered pairs of devices without a route
  std::vector<TestInput> inputs;
  std::vector<TestOp> ops;
  Constraints constraints;
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
};

// Every ordered pair of devices has a link of its own. Aborts on a malformed spec.
std::unique_ptr<TestProblem> MakeTestProblem(const TestSpec& spec);
// The error of BuildProblem for it.
Error TestProblemError(const TestSpec& spec);

// 2 to 3 devices, 2 to 7 ops with random edges, parameters, in-place updates, unequal speeds and,
// for odd seeds, capacities that are tight.
TestSpec RandomSpec(uint64_t seed);

// Devices by number: {0, 1, 1}.
std::vector<DeviceId> DeviceList(const std::vector<int32_t>& devices);
// The same, of the groups.
GroupPlacement OnDevices(const std::vector<int32_t>& devices);
// Everything of `groups` on one.
GroupPlacement AllOn(int32_t device, size_t groups);

// CheckNotProvenInfeasible for it.
Status CheckSpecNotProvenInfeasible(const TestSpec& spec);

// How many planners `auto` runs from the beginning.
size_t PlannersInAuto(const Problem& problem);

// Score of the best connected placement, over all of them; nothing if none is connected.
std::optional<Score> BestOfAll(const Problem& problem);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TEST_PROBLEMS_H_
