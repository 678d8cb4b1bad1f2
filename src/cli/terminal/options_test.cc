#include "cli/terminal/options.h"

#include <gtest/gtest.h>

namespace placewright {
namespace {

int64_t NanosOf(const char* text) {
  const Result<std::chrono::nanoseconds> time = ParseTimeLimit(text);
  return time.ok() ? time.value().count() : -1;
}

TEST(ParseTimeLimit, TakesSecondsAndUnits) {
  EXPECT_EQ(NanosOf("10s"), 10'000'000'000);
  EXPECT_EQ(NanosOf("500ms"), 500'000'000);
  EXPECT_EQ(NanosOf("3"), 3'000'000'000);
  EXPECT_EQ(NanosOf("0.25"), 250'000'000);
  EXPECT_EQ(NanosOf("0"), 0);
  EXPECT_EQ(NanosOf("2m"), 120'000'000'000);
  EXPECT_EQ(NanosOf("1h"), 3'600'000'000'000);
}

TEST(ParseTimeLimit, RejectsEverythingElse) {
  for (const char* text :
       {"", "s", "-1", "nan", "inf", "1e300", "10 s", "10seconds", "1,5", "0x"}) {
    EXPECT_EQ(NanosOf(text), -1) << text;
  }
}

TEST(IntegerWithin, HoldsToItsRange) {
  const auto check = IntegerWithin(1, 10);
  EXPECT_EQ(check("1"), "");
  EXPECT_EQ(check("10"), "");
  for (const char* text : {"0", "11", "-1", "+1", "1.0", "1e1", "", " 1", "99999999999999999999"}) {
    EXPECT_NE(check(text), "") << text;
  }
  EXPECT_EQ(IntegerWithin(0, UINT64_MAX)("18446744073709551615"), "");
}

TEST(ParseSchedulingPolicy, KnowsTwo) {
  EXPECT_EQ(ParseSchedulingPolicy("fifo").value(), SchedulingPolicy::kFifo);
  EXPECT_EQ(ParseSchedulingPolicy("critical-path").value(), SchedulingPolicy::kCriticalPath);
  EXPECT_NE(
      ParseSchedulingPolicy("critcal-path").error().message.find("did you mean critical-path"),
      std::string::npos);
}

TEST(ParseDimensions, SplitsAtTheLastEqualsSign) {
  const std::map<std::string, int64_t> expected = {{"a=b", 2}, {"seq", 2147483647}};
  EXPECT_EQ(ParseDimensions({"seq=2147483647", "a=b=2"}).value(), expected);
  EXPECT_TRUE(ParseDimensions({}).value().empty());
  for (const char* text : {"", "n", "=4", "n=", "n=0", "n=-1", "n=x", "n=1.5", "n= 1", "\xff=1",
                           "n=2147483648", "n=99999999999999999999"}) {
    const auto parsed = ParseDimensions({text});
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUsage) << text;
  }
  EXPECT_FALSE(ParseDimensions({"n=1", "n=1"}).ok());
}

TEST(ParseConstraints, SplitsAtTheLastEqualsSign) {
  SearchOptions options;
  options.pins = {"a=b.*=host0/gpu1"};
  options.colocate = {"m.*"};
  const Constraints constraints = ParseConstraints(options).value();
  EXPECT_EQ(constraints.pins[0].glob, "a=b.*");
  EXPECT_EQ(constraints.pins[0].device, "host0/gpu1");
  EXPECT_EQ(constraints.colocate[0], "m.*");
  for (const char* text : {"m.*", "=gpu", "m.*="}) {
    options.pins = {text};
    EXPECT_EQ(ParseConstraints(options).error().code, ErrorCode::kUsage) << text;
  }
}

TEST(MakeBudget, IterationsAloneSetNoTimeLimit) {
  const Clock::time_point start;
  SearchOptions options;
  EXPECT_EQ(MakeBudget(options, start).value().deadline, start + std::chrono::seconds(10));
  options.iterations = 5;
  EXPECT_FALSE(MakeBudget(options, start).value().deadline);
  options.time = "2s";
  EXPECT_EQ(MakeBudget(options, start).value().deadline, start + std::chrono::seconds(2));
  EXPECT_EQ(MakeBudget(options, start).value().iterations, 5);
}

TEST(LeaveTimeToWrite, TakesThreeTimesWhatPreparingTookAtMostHalf) {
  const Clock::time_point start;
  const auto left_of_ten = [&](int prepared) {
    Budget budget;
    budget.deadline = start + std::chrono::seconds(10);
    LeaveTimeToWrite(start, start + std::chrono::seconds(prepared), &budget);
    return std::chrono::duration_cast<std::chrono::seconds>(*budget.deadline - start).count();
  };
  EXPECT_EQ(left_of_ten(1), 7);
  EXPECT_EQ(left_of_ten(2), 5);
  EXPECT_EQ(left_of_ten(7), 5);
  EXPECT_EQ(left_of_ten(60), 5);
  Budget unlimited;
  LeaveTimeToWrite(start, start + std::chrono::seconds(2), &unlimited);
  EXPECT_FALSE(unlimited.deadline);
}

}  // namespace
}  // namespace placewright
