// `simulate --placeto` and `simulate --sim placeto`: numbers, forms and bad input.
#include <gmock/gmock.h>
#include <zlib.h>

#include <cmath>
#include <tuple>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using PlacetoCommand = ProgramTest;

// a 0-12 on the first device, 4,096 B at 7,600 B/us to the second, where b begins.
Json TwoOps() {
  return {
      {"params", {{"delta1", 5.7}, {"delta2", 25}, {"init_offset", 0}, {"transfer_speed", 7600}}},
      {"devices", {"/device:GPU:0", "/device:GPU:1"}},
      {"ops",
       {{{"name", "a"}, {"cost_us", 12}, {"output_bytes", {4096}}},
        {{"name", "b"}, {"cost_us", 0.0}, {"output_bytes", Json::array()}}}},
      {"edges", {{0, 0, 1}}},
      {"placement", {0, 1}}};
}
constexpr double kStartOfB = 12 + 4096.0 / 7600;
constexpr double kEnd = kStartOfB + 25;  // of the bus's rest; b's device is free after 5.7

std::string Gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST_F(PlacetoCommand, PrintsTheMakespanToTheLastBit) {
  Write("case.json.gz", Gzip(TwoOps().dump()));
  const Outcome run = RunJson({"simulate", "--placeto", "case.json.gz", "--schedule"});
  ASSERT_EQ(run.status, 0) << run.out;
  const Json result = run.json();
  EXPECT_EQ(result["schema"], "placewright.simulate-placeto/1");
  EXPECT_TRUE(result["graph"].is_null());
  EXPECT_TRUE(result["cluster"].is_null());
  EXPECT_EQ(result["runtime_us"].get<double>(), kEnd);
  EXPECT_EQ(result["ops"], 2);
  EXPECT_EQ(result["devices"], 2);
  EXPECT_EQ(result["repeat"], 1);
  EXPECT_TRUE(result["matches_expected"].is_null());
  ASSERT_EQ(result["starts"].size(), 2u);
  EXPECT_EQ(result["starts"][1],
            Json({{"name", "b"}, {"device", "/device:GPU:1"}, {"start_us", kStartOfB}}));
  const std::string text = Run({"simulate", "--placeto", "case.json.gz"}).out;
  ASSERT_THAT(text, StartsWith("runtime_us "));
  EXPECT_EQ(std::stod(text.substr(11)), kEnd);
}

TEST_F(PlacetoCommand, SaysWhetherTheCaseIsMet) {
  Json problem = TwoOps();
  problem["expected_runtime_us"] = kEnd;
  problem["expected_start_us"] = {0, kStartOfB};
  Write("case.json", problem.dump());
  const auto matches = [this] {
    return RunJson({"simulate", "--placeto", "case.json"}).json()["matches_expected"];
  };
  EXPECT_EQ(matches(), true);
  EXPECT_THAT(Run({"simulate", "--placeto", "case.json"}).out, HasSubstr("expected values: equal"));
  problem["expected_start_us"][1] = std::nextafter(kStartOfB, 0);
  Write("case.json", problem.dump());
  EXPECT_EQ(matches(), false);
  EXPECT_THAT(Run({"simulate", "--placeto", "case.json"}).out,
              HasSubstr("different: b starts at 12.538947368421052, not 12.53894736842105\n"));
  problem["expected_runtime_us"] = std::nextafter(kEnd, 100);
  problem.erase("expected_start_us");
  Write("case.json", problem.dump());
  EXPECT_EQ(matches(), false);
}

TEST_F(PlacetoCommand, RepeatsTheWholeSimulation) {
  Write("case.json", TwoOps().dump());
  const Json result = RunJson({"simulate", "--placeto", "case.json", "--repeat", "50"}).json();
  EXPECT_EQ(result["repeat"], 50);
  EXPECT_EQ(result["runtime_us"].get<double>(), kEnd);
  EXPECT_GT(result["seconds"].get<double>(), 0);
  EXPECT_NEAR(result["ops_per_second"].get<double>() * result["seconds"].get<double>(), 100, 1e-6);
}

// Two ops of 0.1 us; y0 takes 1,000 B / 7,600 B/us; the bus's rest ends last.
TEST_F(PlacetoCommand, SimulatesAGraphUnderPlacetosRules) {
  Json graph = ChainGraph(2, 1 << 20);
  graph["placement"] = {{"op0", "d0"}, {"op1", "d1"}};
  Write("net.json", graph.dump());
  const Outcome run = RunJson({"simulate", "net.json", "--sim", "placeto", "--schedule"});
  ASSERT_EQ(run.status, 0) << run.out;
  const Json result = run.json();
  const double start = 0.1 + 1000.0 / 7600;
  EXPECT_EQ(result["graph"], "chain");
  EXPECT_EQ(result["runtime_us"].get<double>(), start + 25);
  EXPECT_EQ(result["starts"][0]["start_us"], 0.0);
  EXPECT_EQ(result["starts"][1]["start_us"].get<double>(), start);
}

TEST_F(PlacetoCommand, NamesWhatIsWrongWithACase) {
  const Json good = TwoOps();
  const std::string packed = Gzip(good.dump());
  Json cycle = good, device = good;
  cycle["edges"].push_back({1, 0, 0});
  device["placement"][1] = 2;
  Write("cycle.json", cycle.dump());
  Write("device.json", device.dump());
  Write("cut.json.gz", packed.substr(0, packed.size() / 2));
  Write("cut.json", good.dump().substr(0, 100));
  Write("empty.json", "");
  const std::vector<std::tuple<const char*, const char*, const char*>> cases = {
      {"cycle.json", "graph-cycle", "edges"}, {"device.json", "field", "placement[1]"},
      {"cut.json.gz", "file-corrupt", ""},    {"cut.json", "syntax", "line 1"},
      {"empty.json", "syntax", "line 1"},     {"missing.json", "file-unreadable", ""}};
  for (const auto& [file, code, place] : cases) {
    const Outcome run = RunJson({"simulate", "--placeto", file});
    EXPECT_EQ(run.status, 3) << file;
    const Json error = run.json()["error"];
    EXPECT_EQ(error["code"], code) << file;
    EXPECT_EQ(error["file"], file);
    EXPECT_THAT(error["place"].get<std::string>(), StartsWith(place)) << file;
    EXPECT_FALSE(error["remedy"].get<std::string>().empty()) << file;
  }
}

TEST_F(PlacetoCommand, RejectsWhatHasNoMeaning) {
  Write("case.json", TwoOps().dump());
  const std::vector<std::pair<std::vector<std::string>, const char*>> lines = {
      {{"simulate", "net.json", "--placeto", "case.json"}, "FILE cannot be used"},
      {{"simulate", "--placeto", "case.json", "-c", "4xP100"}, "--cluster cannot be used"},
      {{"simulate", "--placeto", "case.json", "--order", "fifo"}, "--order cannot be used"},
      {{"simulate", "--placeto", "case.json", "--sim", "placewright"}, "--sim cannot be used"},
      {{"simulate", "--placeto", "case.json", "--repeat", "0"}, "not an integer"},
      {{"simulate", "net.json", "--sim", "placeto", "--memory"}, "--memory cannot be used"},
      {{"simulate", "net.json", "--sim", "placetoo"}, "did you mean placeto?"},
      {{"simulate", "net.json", "--repeat", "3"}, "--repeat needs"},
      {{"simulate"}, "FILE is required"}};
  for (const auto& [line, message] : lines) {
    const Outcome run = Run(line);
    EXPECT_EQ(run.status, 2) << testing::PrintToString(line);
    EXPECT_THAT(run.err, HasSubstr(message)) << testing::PrintToString(line);
  }
}

}  // namespace
}  // namespace placewright
