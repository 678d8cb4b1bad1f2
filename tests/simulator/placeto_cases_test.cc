// Every public case of Placeto's simulator: makespan and starts to the last bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/placeto/case_reader.h"
#include "formats/text/file.h"
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

}  // namespace
}  // namespace placewright
