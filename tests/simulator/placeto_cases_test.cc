// Every public case of Placeto's simulator: makespan and starts to the last bit, and what an agent sees
// of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/placeto/case_reader.h"
#include "formats/text/file.h"
#include "placeto/agent/agent.h"
#include "sim/placeto/simulator.h"

namespace placewright {
namespace {

std::vector<std::string> CaseFiles() {
  std::vector<std::string> files;
  const std::filesystem::path folder =
      std::filesystem::path(PLACEWRIGHT_SHARED_DATA) / "placeto_cases";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".gz") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(PlacetoCases, AllAgree) {
  const std::vector<std::string> files = CaseFiles();
  if (files.empty()) GTEST_SKIP() << "no cases in " << PLACEWRIGHT_SHARED_DATA << "/placeto_cases";
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const Result<std::string> text = ReadFile(file);
    ASSERT_TRUE(text.ok()) << text.error().ToString();
    const Result<PlacetoCase> problem = ReadPlacetoCase(text.value());
    ASSERT_TRUE(problem.ok()) << problem.error().ToString();
    const Result<PlacetoSimGraph> sim_graph = CompilePlacetoCase(problem.value());
    ASSERT_TRUE(sim_graph.ok()) << sim_graph.error().ToString();
    PlacetoSimulator simulator(sim_graph.value());
    ASSERT_TRUE(problem.value().expected_runtime_us && problem.value().expected_start_us);
    EXPECT_EQ(simulator.Run(problem.value().placement), *problem.value().expected_runtime_us);
    EXPECT_EQ(simulator.starts(), *problem.value().expected_start_us);
  }
}

// A case of the published simulator as what an agent places.
class CaseEnvironment : public PlacetoEnvironment {
 public:
  explicit CaseEnvironment(const PlacetoSimGraph& compiled) : simulator_(compiled) {}
  PlacetoOutcome Evaluate(std::span<const int32_t> device_of,
                          std::vector<double>& starts) override {
    const double time = simulator_.Run({device_of.begin(), device_of.end()});
    starts = simulator_.starts();
    return {time, 0};
  }

 private:
  PlacetoSimulator simulator_;
};

// Inside an agent's episode the rewards are the published simulator's.
TEST(PlacetoCases, AgentsAreRewardedByThem) {
  std::string file;
  for (const std::string& one : CaseFiles()) {
    if (one.find("gnmt") != std::string::npos) file = one;
  }
  if (file.empty())
    GTEST_SKIP() << "no such case in " << PLACEWRIGHT_SHARED_DATA << "/placeto_cases";
  const PlacetoCase problem = ReadPlacetoCase(ReadFile(file).Take()).Take();
  const PlacetoSimGraph compiled = CompilePlacetoCase(problem).Take();
  std::vector<double> cost, bytes(problem.ops.size(), 0);
  for (const PlacetoOp& op : problem.ops) cost.push_back(op.cost_us);
  std::vector<std::pair<int32_t, int32_t>> edges;
  for (const PlacetoEdge& edge : problem.edges) edges.emplace_back(edge.from, edge.to);
  const PlacetoGraph graph(cost, bytes, edges);
  CaseEnvironment environment(compiled);
  const auto devices = static_cast<int32_t>(problem.devices.size());
  PlacetoTask task{&graph, &environment, {}, {}};
  std::vector<int32_t> every;
  for (int32_t device = 0; device < devices; ++device) every.push_back(device);
  task.allowed.assign(problem.ops.size(), every);
  for (int32_t op = 0; op < graph.size(); ++op) task.order.push_back(op);
  const auto learner =
      std::make_shared<PlacetoLearner>(devices, false, PlacetoLearnerOptions{}, Random(0));
  PlacetoAgent agent(task, {}, learner, Random(0), problem.placement);
  ASSERT_TRUE(agent.Step());
  EXPECT_EQ(agent.outcome().time, *problem.expected_runtime_us);
  PlacetoSimulator simulator(compiled);
  for (int32_t op = 0; op < graph.size(); ++op) {
    agent.Step();
    EXPECT_EQ(agent.outcome().time, simulator.Run(agent.device_of()));
  }
}

}  // namespace
}  // namespace placewright
