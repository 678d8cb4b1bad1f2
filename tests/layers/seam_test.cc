// Only evaluation knows the simulator in `search`, and proofs know no table of planners.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

namespace placewright {
namespace {

namespace fs = std::filesystem;

// Sources of a folder, its sub-folders with it, that hold what `pattern` matches.
std::vector<std::string> Naming(const fs::path& folder, const char* pattern) {
  const std::regex wanted(pattern);
  std::vector<std::string> found;
  int sources = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    static const std::regex test("(^|/)test_[^/]*$|_test\\.cc$");
    if (std::regex_search(name, test) || !entry.is_regular_file()) continue;
    ++sources;
    if (std::regex_search(ReadAll(entry.path()), wanted)) found.push_back(name);
  }
  EXPECT_GT(sources, 3) << folder;
  std::sort(found.begin(), found.end());
  return found;
}

const fs::path kSearch = fs::path(PLACEWRIGHT_SOURCE_DIR) / "src/search";
// Of the module `sim` planners may know the graph that is simulated, in which order its devices can run it, what a
// legal placement is, and what another order would need.
constexpr const char* kSimulator =
    "[Ss]imulator|SimResult|SimOptions|#include \"sim/"
    "(?!(engine/sim_graph|engine/sim_ids|placement_check|program_sequences|order_advice)\\.h\")";

TEST(Seam, OnlyEvaluationKnowsTheSimulator) {
  EXPECT_THAT(Naming(kSearch, kSimulator),
              testing::ElementsAre("evaluation/compiled_step.cc", "evaluation/compiled_step.h",
                                   "evaluation/simulated.cc", "evaluation/simulated.h",
                                   "evaluation/simulated_layouts.cc", "evaluation/step_packer.h"));
}

// It is below the searches that it serves, and the proofs.
TEST(Seam, EvaluationKnowsNeitherSearchesNorProofs) {
  EXPECT_THAT(Naming(kSearch / "evaluation",
                     "#include \"search/(layouts|local|proof|sfb|constructive|expert)/"),
              testing::IsEmpty());
}

// Planners know what goes into and comes out of a plan, not how layouts are searched.
TEST(Seam, ThePlannersInterfaceKnowsNoLayouts) {
  const std::string header = ReadAll(kSearch / "planner.h");
  EXPECT_FALSE(
      std::regex_search(header, std::regex("#include "
                                           "\"(search/layouts|search/evaluation|search/problem/"
                                           "layout_problem|compile)[/.]|CompiledStep")));
}

TEST(Seam, ProofsKnowNoTableOfPlanners) {
  EXPECT_THAT(Naming(kSearch / "proof", "PlannerTable|MakeSearchPlanners|planner(_table)?\\.h"),
              testing::IsEmpty());
}

}  // namespace
}  // namespace placewright
