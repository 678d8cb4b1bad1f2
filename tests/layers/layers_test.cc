#include "layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

namespace placewright {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const fs::path kRoot = PLACEWRIGHT_SOURCE_DIR;

LayerTable TheTable() { return ParseLayerTable(ReadAll(kRoot / "docs/architecture.md")); }

TEST(Layers, EverySourceKeepsToTheTable) {
  const LayerTable table = TheTable();
  ASSERT_GE(table.size(), 10u) << "the module table of docs/architecture.md was not found";
  // Tests of searches state layouts in the words that users have, which are read above them.
  LayerTable of_tests = table;
  of_tests.at("search").may.insert("planning");
  static const std::regex test("(^|/)test_[^/]*$|_test\\.cc$");
  int sources = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "src")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cc" && extension != ".def") continue;
    const fs::path relative = fs::relative(entry.path(), kRoot / "src");
    const std::string module = relative.begin()->string();
    ASSERT_EQ(table.count(module), 1u) << module << " has no row in docs/architecture.md";
    const bool is_test = std::regex_search(relative.string(), test);
    EXPECT_THAT(LayerViolations(is_test ? of_tests : table, module, relative.string(),
                                ReadAll(entry.path())),
                IsEmpty());
    ++sources;
  }
  EXPECT_GT(sources, 30);
}

// Those of a module as its sources; what users include themselves, as the module that implements it.
TEST(Layers, PublicHeadersKeepToTheTable) {
  const LayerTable table = TheTable();
  const fs::path folder = kRoot / "include/placewright";
  int headers = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_directory()) continue;
    const fs::path relative = fs::relative(entry.path(), folder);
    const bool for_users = !relative.has_parent_path();
    const std::string module = !for_users                    ? relative.begin()->string()
                               : relative == "placewright.h" ? "planning"
                                                             : "torch_api";
    ASSERT_EQ(table.count(module), 1u) << module;
    const std::string text =
        std::regex_replace(ReadAll(entry.path()), std::regex("<placewright/([^>]+)>"), "\"$1\"");
    EXPECT_THAT(LayerViolations(table, module, relative.string(), text), IsEmpty());
    // Installed as they are: nothing of the engine's inside.
    EXPECT_FALSE(std::regex_search(ReadAll(entry.path()), std::regex("#include \""))) << relative;
    ++headers;
  }
  EXPECT_GT(headers, 25);
}

// The checker shares no code with compiler, planners and simulator beyond the readers and the rules.
TEST(Layers, TheCheckerSeesReadersAndRulesOnly) {
  LayerTable table = TheTable();
  table["check_plan"].may = table.at("formats").may;
  table["check_plan"].may.insert({"check_plan", "sharding"});
  int sources = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "tools/check_plan")) {
    const std::string name = entry.path().filename().string();
    const std::string extension = entry.path().extension().string();
    if ((extension != ".h" && extension != ".cc") || name.find("test") != std::string::npos) {
      continue;
    }
    EXPECT_THAT(LayerViolations(table, "check_plan", name, ReadAll(entry.path())), IsEmpty());
    ++sources;
  }
  EXPECT_GT(sources, 5);
}

// base <- graph <- sim <- cli; torchy is starred.
constexpr std::string_view kSmall =
    "| module | holds | may use |\n"
    "|---|---|---|\n"
    "| `base` | x | - |\n"
    "| `graph` | x | base |\n"
    "| `sim` | x | graph |\n"
    "| `torchy`* | x | graph |\n"
    "| `cli` | x | all |\n";

TEST(Layers, MayUseIsTransitive) {
  const LayerTable table = ParseLayerTable(kSmall);
  EXPECT_THAT(table.at("sim").may, ElementsAre("base", "graph", "sim"));
  EXPECT_EQ(table.at("cli").may.count("sim"), 1u);
  EXPECT_EQ(table.at("cli").may.count("torchy"), 0u);
}

TEST(Layers, NamesTheLineThatBreaksTheTable) {
  const LayerTable table = ParseLayerTable(kSmall);
  EXPECT_THAT(LayerViolations(table, "graph", "graph/a.cc",
                              "#include \"base/ids.h\"\n"
                              "#include <vector>\n"
                              "  #  include \"sim/simulator.h\"\n"),
              ElementsAre("graph/a.cc:3: graph may not include sim"));
  EXPECT_THAT(LayerViolations(table, "sim", "sim/a.h", "#include <torch/torch.h>\n"),
              ElementsAre("sim/a.h:1: sim may not include LibTorch"));
  EXPECT_THAT(LayerViolations(table, "torchy", "torchy/a.h", "#include <ATen/ATen.h>\n"),
              IsEmpty());
}

// Every path of this repository that a page names in backticks or in a link is there.
TEST(Pages, NameFilesThatExist) {
  std::vector<fs::path> pages = {kRoot / "README.md", kRoot / "CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  const std::regex mention(
      R"((?:`|\()((?:docs|src|include|python|policies|web|cmake|tests|tools|bench|examples|fuzz)/[A-Za-z0-9_./-]*)(?:`|\)))");
  int mentions = 0;
  for (const fs::path& page : pages) {
    const std::string text = ReadAll(page);
    for (std::sregex_iterator it(text.begin(), text.end(), mention), end; it != end; ++it) {
      const std::string path = (*it)[1];
      EXPECT_TRUE(fs::exists(kRoot / path) || fs::exists(page.parent_path() / path))
          << page << " names " << path;
      ++mentions;
    }
  }
  EXPECT_GT(mentions, 10);
}

}  // namespace
}  // namespace placewright
