#include "formats/placeto/case_reader.h"

#include <gmock/gmock.h>

#include <string>

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kGood = R"({
  "source": "hand made",
  "params": {"delta1": 5.7, "delta2": 25, "init_offset": 0, "transfer_speed": 7600},
  "devices": ["/device:GPU:0", "/device:GPU:1"],
  "ops": [{"name": "a", "cost_us": 0, "output_bytes": [4096, 10]},
          {"name": "b", "cost_us": 0.0, "output_bytes": []}],
  "edges": [[0, 1, 1], [0, 7, 1]],
  "placement": [0, 1],
  "expected_runtime_us": 1.5,
  "expected_start_us": [0, 1.25]})";

// kGood with the first `from` replaced.
std::string With(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Error ErrorOfCase(const std::string& text) {
  Result<PlacetoCase> result = ReadPlacetoCase(text);
  EXPECT_FALSE(result.ok()) << text;
  return result.ok() ? Error{} : result.error();
}

void ExpectField(const std::string& text, const std::string& place, const std::string& message) {
  const Error error = ErrorOfCase(text);
  EXPECT_EQ(error.code, ErrorCode::kField) << text;
  EXPECT_EQ(error.place, place) << text;
  EXPECT_THAT(error.message, HasSubstr(message)) << text;
  EXPECT_FALSE(error.Remedy().empty());
}

TEST(PlacetoCaseReader, ReadsEveryField) {
  const Result<PlacetoCase> result = ReadPlacetoCase(kGood);
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  const PlacetoCase& problem = result.value();
  EXPECT_EQ(problem.params.delta1, 5.7);
  EXPECT_EQ(problem.params.delta2, 25);
  EXPECT_EQ(problem.params.init_offset, 0);
  EXPECT_EQ(problem.params.transfer_speed, 7600);
  EXPECT_THAT(problem.devices, ElementsAre("/device:GPU:0", "/device:GPU:1"));
  ASSERT_EQ(problem.ops.size(), 2u);
  EXPECT_EQ(problem.ops[0].name, "a");
  EXPECT_THAT(problem.ops[0].output_bytes, ElementsAre(4096, 10));
  ASSERT_EQ(problem.edges.size(), 2u);
  EXPECT_EQ(problem.edges[1].from, 0);
  EXPECT_EQ(problem.edges[1].output, 7);
  EXPECT_EQ(problem.edges[1].to, 1);
  EXPECT_THAT(problem.placement, ElementsAre(0, 1));
  EXPECT_EQ(problem.expected_runtime_us, 1.5);
  EXPECT_THAT(problem.expected_start_us.value(), ElementsAre(0, 1.25));
}

// Only the integer 0 spares the rest, however a fraction spells its 0.
TEST(PlacetoCaseReader, KeepsWholeZeroApartFromFractions) {
  const auto no_rest = [](const std::string& cost) {
    return ReadPlacetoCase(With("\"cost_us\": 0,", "\"cost_us\": " + cost + ","))
        .Take()
        .ops[0]
        .no_rest;
  };
  EXPECT_TRUE(no_rest("0"));
  EXPECT_TRUE(no_rest("-0"));
  EXPECT_FALSE(no_rest("0.0"));
  EXPECT_FALSE(no_rest("-0.0"));
  EXPECT_FALSE(no_rest("0e0"));
  EXPECT_FALSE(no_rest("3"));
}

TEST(PlacetoCaseReader, ExpectedValuesAreOptional) {
  const PlacetoCase without = ReadPlacetoCase(With(R"(,
  "expected_runtime_us": 1.5,
  "expected_start_us": [0, 1.25])",
                                                   ""))
                                  .Take();
  EXPECT_FALSE(without.expected_runtime_us);
  EXPECT_FALSE(without.expected_start_us);
  const PlacetoCase null = ReadPlacetoCase(With("1.5", "null")).Take();
  EXPECT_FALSE(null.expected_runtime_us);
  EXPECT_TRUE(null.expected_start_us);
}

TEST(PlacetoCaseReader, TheEmptyGraphIsACase) {
  const Result<PlacetoCase> result = ReadPlacetoCase(R"({
    "params": {"delta1": 0, "delta2": 0, "init_offset": -3.5, "transfer_speed": 1e-3},
    "devices": [], "ops": [], "edges": [], "placement": []})");
  ASSERT_TRUE(result.ok()) << result.error().ToString();
  EXPECT_TRUE(result.value().ops.empty());
}

TEST(PlacetoCaseReader, NamesWhatIsMissing) {
  for (const char* field : {"params", "devices", "ops", "edges", "placement"}) {
    ExpectField(With(std::string("\"") + field + "\"", "\"elsewhere\""), "",
                std::string("\"") + field + "\" is missing");
  }
  ExpectField(With("\"delta2\": 25, ", ""), "params", "\"delta2\" is missing");
  ExpectField(With(", \"transfer_speed\": 7600", ""), "params", "\"transfer_speed\" is missing");
  ExpectField(With("\"name\": \"a\", ", ""), "ops[0]", "\"name\" is missing");
  ExpectField(With("\"cost_us\": 0.0, ", ""), "ops[1]", "\"cost_us\" is missing");
  ExpectField(With(", \"output_bytes\": []", ""), "ops[1]", "\"output_bytes\" is missing");
}

TEST(PlacetoCaseReader, NamesWhatIsOutOfRange) {
  ExpectField(With("\"cost_us\": 0,", "\"cost_us\": -1,"), "ops[0].cost_us", "-1 is outside");
  ExpectField(With("\"cost_us\": 0,", "\"cost_us\": 1e16,"), "ops[0].cost_us", "outside [0, 2^53]");
  ExpectField(With("\"cost_us\": 0,", "\"cost_us\": true,"), "ops[0].cost_us", "must be a number");
  ExpectField(With("[4096, 10]", "[4096, -10]"), "ops[0].output_bytes[1]", "-10 is outside");
  ExpectField(With("[4096, 10]", "7"), "ops[0].output_bytes", "must be a list");
  ExpectField(With("7600", "0"), "params.transfer_speed", "above 0");
  ExpectField(With("7600", "1e-300"), "ops[0].output_bytes[0]", "longer than 2^53 us");
  ExpectField(With("\"delta1\": 5.7", "\"delta1\": -0.5"), "params.delta1", "-0.5 is outside");
  ExpectField(With("\"init_offset\": 0", "\"init_offset\": -1e17"), "params.init_offset",
              "outside");
  ExpectField(With("[0, 1, 1]", "[2, 1, 1]"), "edges[0][0]", "there is no op 2: \"ops\" has 2");
  ExpectField(With("[0, 7, 1]", "[0, 7, 2]"), "edges[1][2]", "there is no op 2");
  ExpectField(With("[0, 7, 1]", "[-1, 7, 0]"), "edges[1][0]", "-1 is outside");
  ExpectField(With("[0, 7, 1]", "[0, -1, 1]"), "edges[1][1]", "-1 is outside");
  ExpectField(With("[0, 7, 1]", "[0, 2147483648, 1]"), "edges[1][1]", "outside");
  ExpectField(With("[0, 7, 1]", "[0, 1.5, 1]"), "edges[1][1]", "must be an integer");
  ExpectField(With("[0, 7, 1]", "[0, 1]"), "edges[1]", "a list of three");
  ExpectField(With("\"placement\": [0, 1]", "\"placement\": [0, 2]"), "placement[1]",
              "there is no device 2: \"devices\" has 2");
  ExpectField(With("\"placement\": [0, 1]", "\"placement\": [0, -1]"), "placement[1]", "-1");
  ExpectField(With("\"placement\": [0, 1]", "\"placement\": [0]"), "placement",
              "has 1 entries for 2 ops");
  ExpectField(With("[0, 1.25]", "[0]"), "expected_start_us", "has 1 entries for 2 ops");
  ExpectField(With("[0, 1.25]", "[0, null]"), "expected_start_us[1]", "must be a number");
  ExpectField(With("1.5", "\"fast\""), "expected_runtime_us", "must be a number");
}

TEST(PlacetoCaseReader, NamesWhatIsOfAnotherKind) {
  ExpectField("[]", "", "no JSON object");
  ExpectField(With("\"ops\": [", "\"ops\": 3, \"more\": ["), "ops", "must be a list, not 3");
  ExpectField(With("\"name\": \"a\"", "\"name\": 5"), "ops[0].name", "must be a string");
  ExpectField(With("\"name\": \"a\"", "\"name\": \"\""), "ops[0].name", "empty");
  ExpectField(With("\"/device:GPU:1\"", "1"), "devices[1]", "must be a string");
  ExpectField(With("\"cost_us\": 0,", "\"cost_us\": 0, \"cots\": 1,"), "ops[0]", "\"cots\"");
  ExpectField(With("\"delta1\"", "\"delta3\": 1, \"delta1\""), "params", "\"delta3\"");
  ExpectField(With("expected_start_us", "expected_starts_us"), "expected_starts_us",
              "did you mean \"expected_start_us\"?");
}

TEST(PlacetoCaseReader, NamesAreDistinct) {
  const Error op = ErrorOfCase(With("\"name\": \"b\"", "\"name\": \"a\""));
  EXPECT_EQ(op.code, ErrorCode::kDuplicateName);
  EXPECT_EQ(op.place, "ops[1].name");
  for (const char* device : {"/device:GPU:0", "/bus/device:GPU:0"}) {
    const Error error = ErrorOfCase(With("/device:GPU:1", device));
    EXPECT_EQ(error.code, ErrorCode::kDuplicateName) << device;
    EXPECT_EQ(error.place, "devices[1]") << device;
  }
}

TEST(PlacetoCaseReader, BrokenTextIsASyntaxError) {
  for (const std::string& text : {std::string(), std::string(kGood).substr(0, 200),
                                  With("\"cost_us\": 0,", "\"cost_us\": NaN,"),
                                  With("5.7", "1e999"), std::string("{\"ops\": [")}) {
    EXPECT_EQ(ErrorOfCase(text).code, ErrorCode::kSyntax) << text;
  }
}

}  // namespace
}  // namespace placewright
