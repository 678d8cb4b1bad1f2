// Slopes of the batch in files: what they say, what of them is refused, and steps taken to other
// batches. That this is what would have been recorded there: tests/capture/batch_test.cc.
#include "formats/aten/slopes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/random.h"
#include "formats/aten/reader.h"
#include "formats/aten/writer.h"
#include "graph/batch/at_batch.h"
#include "graph/text_form.h"

namespace placewright {
namespace {

using testing::HasSubstr;

// At batch 4: [4, 3] seen as [12], its mean's gradient, a fill of 1.0 * 12, and a factor 0.1 * 4.
constexpr std::string_view kStep = R"({"name": "s", "batch": 4,
 "batch_proof": {"sizes": [4, 5, 11]},
 "inputs": [{"name": "input:x", "kind": "input", "shape": [4, 3], "dtype": "f32", "slopes": [1, 0]}],
 "ops": [
  {"name": "view", "target": "aten.view.default", "phase": "fwd", "inputs": ["input:x"],
   "args": ["%0", [12]], "slopes": [[1, 0, 3]],
   "outputs": [{"shape": [12], "dtype": "f32", "slopes": [3]}]},
  {"name": "mul", "target": "aten.mul.Scalar", "phase": "fwd", "inputs": ["view"],
   "args": ["%0", 0.08333333333333333], "slopes": [[1, "1/N"]],
   "outputs": [{"shape": [12], "dtype": "f32", "slopes": [3]}]},
  {"name": "full", "target": "aten.full.default", "phase": "fwd", "inputs": [],
   "args": [[2, [12, true]], 12.0], "kwargs": {"a": null, "scale": 0.4, "size": [12, 5]},
   "slopes": [[0, 1, 0, 3], [1, 3], ["scale", "N"], ["size", 0, 3]],
   "outputs": [{"shape": [12], "dtype": "f32", "slopes": [3]}]}],
 "outputs": ["mul"]})";

std::string With(std::string_view from, std::string_view to) {
  std::string text(kStep);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Error ErrorOfSlopes(const std::string& text, std::optional<int64_t> batch = std::nullopt) {
  Result<AtenGraph> file = ReadAtenFile(text, batch);
  EXPECT_FALSE(file.ok());
  return file.ok() ? Error() : file.error();
}

// 7 samples of 3 numbers: 21 in all, a mean of 1 / 21, a factor of 0.4 / 4 * 7 = 0.7.
TEST(AtenSlopes, TakeAStepToAnotherBatch) {
  const Graph graph = ReadAtenFile(kStep, 7).Take().graph;
  EXPECT_EQ(graph.batch(), 7);
  EXPECT_EQ(graph.tensor(graph.FindTensor("input:x")).shape, (std::vector<int64_t>{7, 3}));
  EXPECT_EQ(graph.tensor(graph.FindTensor("view")).bytes, Bytes(84));
  EXPECT_EQ(ToString(Value(graph.op(graph.FindOp("view")).args)), "[%0, [21]]");
  EXPECT_EQ(graph.op(graph.FindOp("mul")).args[1], Value(1.0 / 21));
  const Op& full = graph.op(graph.FindOp("full"));
  EXPECT_EQ(ToString(Value(full.args)), "[[2, [21, true]], 21.0]");
  EXPECT_DOUBLE_EQ(*full.attributes[1].value.AsDouble(), 0.7);
  EXPECT_EQ(ToString(full.attributes[2].value), "[21, 5]");
}

TEST(AtenSlopes, AreWrittenAsTheyWereRead) {
  const Graph graph = ReadAtenFile(kStep).Take().graph;
  const std::string text = WriteAtenGraph(graph, {}, nullptr).Take();
  const Json written = ParseJson(text).Take(), expected = ParseJson(kStep).Take();
  EXPECT_EQ(written["batch_proof"], expected["batch_proof"]);
  EXPECT_EQ(written["inputs"], expected["inputs"]);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(written["ops"][i]["slopes"], expected["ops"][i]["slopes"]);
    EXPECT_EQ(written["ops"][i]["outputs"], expected["ops"][i]["outputs"]);
  }
  EXPECT_EQ(ToText(ReadAtenFile(text).Take().graph), ToText(graph));
  // Of a step at another batch, too: the slopes stay, and lead back.
  const std::string there = WriteAtenGraph(ReadAtenFile(kStep, 7).Take().graph, {}, nullptr).Take();
  EXPECT_EQ(ToText(ReadAtenFile(there, 4).Take().graph), ToText(graph));
}

// Sizes below all that were recorded are taken by the same laws, with a note.
TEST(AtenSlopes, SizesBelowTheProofAreNoted) {
  const auto notes = [](const std::string& text, int64_t batch) {
    return ReadAtenFile(text, batch).Take().notes;
  };
  const std::string_view sizes = R"({"sizes": [4, 5, 11]})";
  EXPECT_TRUE(notes(std::string(kStep), 4).empty());
  EXPECT_TRUE(notes(std::string(kStep), 9).empty());
  EXPECT_THAT(notes(std::string(kStep), 3),
              testing::ElementsAre("no size below batch 4 was recorded, so that a step recorded at "
                                   "batch 3 may have other ops"));
  EXPECT_THAT(notes(std::string(kStep), 1),
              testing::ElementsAre("recorded at batch 4: LibTorch omits some copies and sums at "
                                   "batch 1, so a step recorded there may have fewer ops"));
  const std::string two = With(sizes, R"({"sizes": [4, 5, 11], "smaller": 2})");
  EXPECT_TRUE(notes(two, 3).empty());
  EXPECT_TRUE(notes(two, 2).empty());
  EXPECT_THAT(notes(two, 1), testing::ElementsAre(HasSubstr("recorded at batch 2: ")));
  EXPECT_TRUE(notes(With(sizes, R"({"sizes": [4, 5, 11], "smaller": 1})"), 1).empty());
  EXPECT_TRUE(notes(With(sizes, R"({"sizes": [4, 3, 2]})"), 2).empty());
  // It stays, at another batch too.
  const std::string there = WriteAtenGraph(ReadAtenFile(two, 7).Take().graph, {}, nullptr).Take();
  EXPECT_EQ(ReadAtenFile(there).Take().graph.batch_scaling()->smaller, 2);
  EXPECT_TRUE(notes(there, 2).empty());
}

TEST(AtenSlopes, AnObstacleIsKeptAndSaid) {
  std::string text = R"({"name": "s", "batch": 4,
   "batch_proof": {"sizes": [4, 5, 11], "obstacle": "op pool is odd"}, "inputs": [],
   "ops": [{"name": "a", "target": "aten.rand.default", "phase": "fwd", "inputs": [], "args": [],
            "outputs": [{"shape": [4], "dtype": "f32"}]}], "outputs": []})";
  const Graph graph = ReadAtenFile(text, 4).Take().graph;
  EXPECT_EQ(graph.batch_scaling()->reason, "op pool is odd");
  const Error error = ErrorOfSlopes(text, 8);
  EXPECT_EQ(error.code, ErrorCode::kBatchScaling);
  EXPECT_THAT(error.message, HasSubstr("valid for batch 4 only: op pool is odd"));
  text = WriteAtenGraph(graph, {}, nullptr).Take();
  EXPECT_EQ(ReadAtenFile(text).Take().graph.batch_scaling()->reason, "op pool is odd");
}

TEST(AtenSlopes, WithoutAProofAStepStandsForItsBatch) {
  const std::string text = R"({"name": "s", "batch": 4, "inputs": [],
   "ops": [{"name": "a", "target": "aten.rand.default", "phase": "fwd", "inputs": [], "args": [],
            "outputs": [{"shape": [4], "dtype": "f32"}]}], "outputs": []})";
  EXPECT_TRUE(ReadAtenFile(text, 4).ok());
  const Error error = ErrorOfSlopes(text, 8);
  EXPECT_EQ(error.code, ErrorCode::kBatchScaling);
  EXPECT_THAT(error.message, HasSubstr("no recordings at other sizes"));
  EXPECT_THAT(error.remedy, HasSubstr("placewright capture MODEL --batch 8"));
  EXPECT_THAT(error.remedy, HasSubstr("pytorch.md"));
}

TEST(AtenSlopes, HostileFilesAreRefusedByName) {
  struct Case {
    const char *from, *to, *place, *message;
  };
  const Case cases[] = {
      {R"("slopes": [1, 0])", R"("slopes": [1])", "inputs[0].slopes", "1 slopes of a shape of 2"},
      {R"("slopes": [1, 0])", R"("slopes": [1, 0.5])", "inputs[0].slopes[1]", ""},
      {R"("slopes": [1, 0])", R"("slopes": 1)", "inputs[0].slopes", ""},
      {R"("slopes": [1, 0])", R"("slopes": [1, 9000000000000000000])", "inputs[0].slopes[1]", ""},
      // 3 + 2^59 * 7 at batch 11 is beyond 2^60; 12 - 12 * 7 is below 0.
      {R"("slopes": [1, 0])", R"("slopes": [1, 576460752303423488])",
       "inputs[0] (input:x).shape[1]", "at batch 11, one of the proof"},
      {R"([12], "dtype": "f32", "slopes": [3])", R"([12], "dtype": "f32", "slopes": [-12])",
       "ops[0] (view).outputs[0].shape[0]", "at batch 11, one of the proof"},
      {"[[1, 0, 3]]", "[[1, 1, 3]]", "ops[0] (view).slopes[0]", "leads to no number"},
      {"[[1, 0, 3]]", "[[0, 3]]", "ops[0] (view).slopes[0]", "leads to no number"},
      {"[[1, 0, 3]]", "[[-1, 0, 3]]", "ops[0] (view).slopes[0]", "leads to no number"},
      {"[[1, 0, 3]]", R"([["1", 0, 3]])", "ops[0] (view).slopes[0]", "leads to no number"},
      {"[[1, 0, 3]]", "[[1, 0, 3], [1, 0, 3]]", "ops[0] (view).slopes[1]", "out of their order"},
      {"[[1, 0, 3]]", "[[1, 0, 0]]", "ops[0] (view).slopes[0]", "a slope of 0"},
      // 12 (3 n + 1) / 13 is no integer at 5; n - 4 is 0 at 4.
      {"[[1, 0, 3]]", R"x([[1, 0, "(3*N+1)"]])x", "ops[0] (view).args[1][0]", "at batch 5, one of"},
      {"[[1, 0, 3]]", R"x([[1, 0, "1/(N-4)"]])x", "ops[0] (view).args[1][0]", "at batch 4, one of"},
      {"[[1, 0, 3]]", R"([[1, 0, "N+1"]])", "ops[0] (view).slopes[0]", "nor a product of terms"},
      {R"("slopes": [1, 0])", R"("slopes": [1, "(N"])", "inputs[0].slopes[1]", "nor a product of"},
      {R"("slopes": [1, 0])", R"("slopes": [1, "1/N"])", "inputs[0] (input:x).shape[1]",
       "at batch 5, one"},
      {"[[1, 0, 3]]", "[[3]]", "ops[0] (view).slopes[0]", "must be a list"},
      {"[[1, 0, 3]]", "[null]", "ops[0] (view).slopes[0]", "must be a list"},
      {"[[1, 0, 3]]", R"({"1": 3})", "ops[0] (view).slopes", ""},
      {R"([1, "1/N"])", "[1, 3]", "ops[1] (mul).slopes[0]", "none for a number of this type"},
      {"12.0]", "9007199254740992.0]", "ops[2] (full).args[1]", "at batch 5, one of the proof"},
      {R"(["scale", "N"], )", R"(["a", "N"], )", "ops[2] (full).slopes[2]", "leads to no number"},
      {"[4, 5, 11]", "[4, 5]", "batch_proof.sizes", "three"},
      {"[4, 5, 11]", "[4, 5, 5]", "batch_proof.sizes", "different"},
      {"[4, 5, 11]", "[4, 5, 0]", "batch_proof.sizes[2]", ""},
      {R"({"sizes": [4, 5, 11]})", "[4, 5, 11]", "batch_proof", ""},
      {"[4, 5, 11]", R"([4, 5, 11], "smaller": 4)", "batch_proof.smaller", ""},
      {"[4, 5, 11]", R"([4, 5, 11], "smaller": 0)", "batch_proof.smaller", ""},
      {"[4, 5, 11]", R"([4, 5, 1], "smaller": 1)", "batch_proof.smaller", ""},
      {R"({"sizes": [4, 5, 11]})", R"({"sizes": [4, 5, 11], "obstacle": "x"})",
       "inputs[0] (input:x).slopes", "without a batch_proof that found no obstacle"},
      {R"( "batch_proof": {"sizes": [4, 5, 11]},)", "", "inputs[0] (input:x).slopes", "without"},
      {R"("batch": 4,)", "", "batch_proof", "needs a stated batch"},
  };
  for (const Case& c : cases) {
    const Error error = ErrorOfSlopes(With(c.from, c.to));
    EXPECT_EQ(error.code, ErrorCode::kField) << c.to << error.ToString();
    EXPECT_EQ(error.place, c.place) << c.to;
    EXPECT_THAT(error.message, HasSubstr(c.message)) << c.to;
  }
}

// 3 * 2^58 is beyond the integers that are all real ones; without it, that many numbers of 4
// bytes are beyond 2^60 bytes. 3 * 2^60 of them are no size.
TEST(AtenSlopes, BatchesOutOfRangeAreErrors) {
  EXPECT_EQ(ErrorOfSlopes(std::string(kStep), int64_t{1} << 58).place, "ops[2] (full).args[1]");
  EXPECT_EQ(ErrorOfSlopes(With("[1, 3], ", ""), int64_t{1} << 58).code, ErrorCode::kField);
  const Error error = ErrorOfSlopes(std::string(kStep), int64_t{1} << 60);
  EXPECT_EQ(error.code, ErrorCode::kBatchScaling);
  EXPECT_EQ(error.place, "ops[0] (view).outputs[0].shape[0]");
  // 12 - 2 (n - 4) is 0 at batch 10, and no size at 12; the proof ends at 9.
  std::string shrinking = With("[4, 5, 11]", "[4, 5, 9]");
  const std::string_view from = R"([12], "dtype": "f32", "slopes": [3])";
  shrinking.replace(shrinking.rfind(from), from.size(), R"([12], "dtype": "f32", "slopes": [-2])");
  EXPECT_TRUE(ReadAtenFile(shrinking, 10).ok());
  EXPECT_EQ(ErrorOfSlopes(shrinking, 12).place, "ops[2] (full).outputs[0].shape[0]");
}

// Random slopes: there and back again is the same file; any batch is a graph or an error.
TEST(AtenSlopes, LeadThereAndBack) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    Random random(seed);
    const auto whole = [&] { return static_cast<int64_t>(random.Below(40)); };
    Json file = {{"name", "r"}, {"batch", 1 + whole()}, {"batch_proof", {{"sizes", {3, 7, 1}}}}};
    for (const char* list : {"inputs", "ops", "outputs"}) file[list] = Json::array();
    for (uint64_t i = random.Below(6) + 1; i > 0; --i) {
      const int64_t slope = whole(), other = whole() - 20;
      Json op = {{"name", "op" + std::to_string(i)},
                 {"target", "aten.rand.default"},
                 {"phase", "fwd"},
                 {"inputs", Json::array()},
                 {"args", {{whole(), whole() - 9}, static_cast<double>(whole())}},
                 {"kwargs", {{"k", 0.5 * static_cast<double>(whole())}}}};
      op["outputs"] = {{{"shape", {1600 + whole()}}, {"dtype", "f32"}, {"slopes", {slope}}}};
      op["slopes"] = Json::array();
      if (other != 0) op["slopes"].push_back({0, 1, other});
      if (slope != 0) op["slopes"].push_back({1, slope});
      op["slopes"].push_back({"k", random.Below(2) == 0 ? "N" : "1/N"});
      file["ops"].push_back(std::move(op));
    }
    const std::string text = file.dump();
    const Result<AtenGraph> read = ReadAtenFile(text);
    if (!read.ok()) RC_FAIL(read.error().ToString());
    const int64_t to = 1 + whole();
    const Result<AtenGraph> there = ReadAtenFile(text, to);
    RC_ASSERT(there.ok());
    const std::string written = WriteAtenGraph(there.value().graph, {}, nullptr).Take();
    const Result<AtenGraph> back = ReadAtenFile(written, read.value().graph.batch());
    RC_ASSERT(back.ok());
    RC_ASSERT(ToText(back.value().graph) == ToText(read.value().graph));
    for (const OpId op : read.value().graph.ops()) {
      RC_ASSERT(back.value().graph.op(op).args == read.value().graph.op(op).args);
    }
    (void)ReadAtenFile(text, random.Below(uint64_t{1} << 60) + 1);
  }));
}

}  // namespace
}  // namespace placewright
