// Which operators of the newest ATen have a rule, and why others have none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "sharding/op_rule.h"
#include "sharding/whole_by_nature.h"

namespace placewright {
namespace {

TEST(OperatorCoverage, EveryOperatorHasARuleOrAReason) {
  std::ifstream file(PLACEWRIGHT_ATEN_OPERATORS);
  ASSERT_TRUE(file);
  int rules = 0, reasons = 0;
  std::set<std::string> neither, both;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::string type = "aten." + line;
    const bool has_rule = HasRule("aten", type), has_reason = !WhyWholeByNature(type).empty();
    rules += has_rule ? 1 : 0;
    reasons += !has_rule && has_reason ? 1 : 0;
    if (!has_rule && !has_reason) neither.insert(line);
  }
  EXPECT_THAT(neither, ::testing::IsEmpty());
  // docs/sharding.md states both.
  RecordProperty("rules", rules);
  RecordProperty("reasons", reasons);
  std::printf("%d operators with a rule, %d without one by nature\n", rules, reasons);
  EXPECT_GE(rules, 880);
}

TEST(OperatorCoverage, AReasonIsOfAnOperatorWithoutARule) {
  EXPECT_EQ(WhyWholeByNature("aten.mm.default"), "");
  EXPECT_NE(WhyWholeByNature("aten.nonzero.default"), "");
  EXPECT_NE(WhyWholeByNature("aten.put_.default"), "");
  EXPECT_EQ(WhyWholeByNature("aten.unheard_of.default"), "");
  EXPECT_EQ(WhyWholeByNature("nonzero"), "");
}

}  // namespace
}  // namespace placewright
