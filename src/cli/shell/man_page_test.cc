#include "cli/shell/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/shell/test_tree.h"

namespace placewright {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(ManPage, SaysWhatTheHelpSays) {
  const std::string page = ManPage(TestTree(), "1.2.3");
  EXPECT_THAT(page, StartsWith(".TH PLACEWRIGHT 1 \"\" \"placewright 1.2.3\""));
  EXPECT_THAT(page, HasSubstr(".SS run\n\\fBplacewright run\\fR \\fIFILE\\fR [\\fIOPTIONS\\fR]\n"));
  EXPECT_THAT(page, HasSubstr(".SS show all\n\\fBplacewright show all\\fR [\\fIWHAT\\fR]"));
  EXPECT_THAT(page, HasSubstr(".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR\nWhere to\n"));
  EXPECT_THAT(page, HasSubstr(".TP\n\\fBFILE\\fR\nWhat to run (required)\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-fast\\fR\nFaster: a flag\n"));
}

TEST(ManPage, NothingInATextIsARequestOrAnEscape) {
  const std::string page = ManPage(TestTree(), "1.2.3");
  EXPECT_THAT(page, HasSubstr("It\\(aqs a test: 100% \\e safe.\n"));
  EXPECT_THAT(page, HasSubstr(".nf\n\\&.begins with a dot\n"));
}

TEST(ManPage, GroffHasNoComplaint) {
  if (std::system("groff --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no groff here";
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / "placewright_man_page_test.1";
  std::ofstream(file) << ManPage(TestTree(), "1.2.3");
  FILE* pipe = popen(("groff -man -ww -z -Tascii " + file.string() + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  std::string said;
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) said += buffer.data();
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(said, "");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace placewright
