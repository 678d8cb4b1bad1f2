// No two types have one name: that of a class in a namespace is the program's, and the linker takes one
// of two inline functions that are called alike without a word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "layers.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Where each type is defined, by its name with namespaces; those in unnamed ones are left out, and so are
// templates and what lies in a class.
using Definitions = std::map<std::string, std::vector<std::string>>;

// Relies on the layout of the sources: namespaces and their types begin in the first column, and a namespace
// ends with "}  // namespace".
void AddDefinitions(const std::string& name, const std::string& text, Definitions* definitions) {
  static const std::regex kNamespace(R"(^(?:inline )?namespace\s*([\w:]*)\s*\{.*)");
  static const std::regex kType(
      R"(^(?:struct|class|enum class|enum)\s+(?:alignas\(\S+\)\s+)?(\w+)\s*(?:final\s*)?(?::[^:;][^;]*)?\{.*)");
  std::vector<std::string> namespaces;
  std::istringstream lines(text);
  std::string before;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (std::regex_match(line, match, kNamespace)) {
      namespaces.push_back(match[1]);
    } else if (line.starts_with("}  // namespace") && !namespaces.empty()) {
      namespaces.pop_back();
    } else if (std::regex_match(line, match, kType) && !before.starts_with("template")) {
      std::string full;
      bool unnamed = namespaces.empty();
      for (const std::string& one : namespaces) {
        unnamed = unnamed || one.empty();
        full += one + "::";
      }
      if (!unnamed) {
        (*definitions)[full + match[1].str()].push_back(name + ":" + std::to_string(number));
      }
    }
    before = line;
  }
}

std::vector<std::string> Repeated(const Definitions& definitions) {
  std::vector<std::string> repeated;
  for (const auto& [type, places] : definitions) {
    if (places.size() < 2) continue;
    std::string text = type;
    for (const std::string& place : places) text += " " + place;
    repeated.push_back(text);
  }
  return repeated;
}

TEST(OneDefinition, EveryTypeHasANameOfItsOwn) {
  const fs::path root = PLACEWRIGHT_SOURCE_DIR;
  Definitions definitions;
  for (const char* folder : {"include", "src", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      AddDefinitions(fs::relative(entry.path(), root).string(), ReadAll(entry.path()),
                     &definitions);
    }
  }
  EXPECT_GT(definitions.size(), 500u);
  EXPECT_THAT(Repeated(definitions), IsEmpty());
}

TEST(OneDefinition, FindsTwo) {
  Definitions definitions;
  AddDefinitions("a.h",
                 "namespace n {\nstruct A {\n};\nclass B : public A {\n};\n}  // namespace n\n",
                 &definitions);
  AddDefinitions(
      "b.cc",
      "namespace n {\nnamespace {\nstruct A {\n};\n}  // namespace\nclass B final {\n};\n"
      "struct A::Inner {\n};\ntemplate <class T>\nstruct A {\n};\n}  // namespace n\n",
      &definitions);
  EXPECT_THAT(Repeated(definitions), ElementsAre("n::B a.h:4 b.cc:6"));
}

}  // namespace
}  // namespace placewright
