// Only one file of `search` knows the simulator, and proofs know no table of planners.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace placewright {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Sources of a folder, its sub-folders with it, that hold what `pattern` matches.
std::vector<std::string> Naming(const fs::path& folder, const char* pattern) {
  const std::regex wanted(pattern);
  std::vector<std::string> found;
  int sources = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    if (name.find("test") != std::string::npos || !entry.is_regular_file()) continue;
    ++sources;
    if (std::regex_search(ReadAll(entry.path()), wanted)) found.push_back(name);
  }
  EXPECT_GT(sources, 3) << folder;
  std::sort(found.begin(), found.end());
  return found;
}

const fs::path kSearch = fs::path(PLACEWRIGHT_SOURCE_DIR) / "src/search";
constexpr const char* kSimulator =
    "[Ss]imulator|SimResult|SimOptions|sim/(simulator|incremental|batch)\\.h";

TEST(Seam, OneFileOfSearchKnowsTheSimulator) {
  EXPECT_THAT(Naming(kSearch, kSimulator),
              testing::ElementsAre("evaluation/simulated.cc", "evaluation/simulated.h"));
}

TEST(Seam, ProofsKnowNoTableOfPlanners) {
  EXPECT_THAT(Naming(kSearch / "proof", "PlannerTable|MakeSearchPlanners|planner(_table)?\\.h"),
              testing::IsEmpty());
}

}  // namespace
}  // namespace placewright
