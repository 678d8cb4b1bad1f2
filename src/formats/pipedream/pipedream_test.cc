// PipeDream profiles: what is read, what they become, stages, and what damaged ones give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cluster/catalogue.h"
#include "cost/cost_table.h"
#include "formats/pipedream/format.h"
#include "formats/pipedream/profile_graph.h"

namespace placewright {
namespace {

using testing::HasSubstr;

// in -> a -> b -> c -> get; a -> c. Edges may stand before the layers that they name.
const char kSmallProfile[] =
    "\ta -- b\n"
    "in -- Input0 -- forward_compute_time=500.000, backward_compute_time=0.000, "
    "activation_size=10.0, parameter_size=0.000\n"
    "a -- Linear(1 -- 2) -- forward_compute_time=1.500, backward_compute_time=2.000, "
    "activation_size=[100.0; 200.5], parameter_size=4000.000 -- stage_id=3\r\n"
    "b -- ReLU() -- forward_compute_time=0.250, backward_compute_time=0.125, "
    "activation_size=64.0, parameter_size=0.000\n"
    "\n"
    "c -- Linear -- forward_compute_time=1, backward_compute_time=1e0, activation_size=8, "
    "parameter_size=16\n"
    "get -- __getitem__(0) -- forward_compute_time=0.000, backward_compute_time=0.000, "
    "activation_size=8.0, parameter_size=0.000\n"
    "\tin -- a\n\tb -- c\n\ta -- c\n\tc -- get";

PipeDreamProfile GoodProfile(std::string_view text) {
  auto result = ReadPipeDream(text);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
  return result.Take();
}

TEST(PipeDream, IsReadAsItStands) {
  const PipeDreamProfile p = GoodProfile(kSmallProfile);
  ASSERT_EQ(p.layers.size(), 5u);
  EXPECT_EQ(p.layers[1].id, "a");
  EXPECT_EQ(p.layers[1].description, "Linear(1 -- 2)");
  EXPECT_EQ(p.layers[1].forward_ms, 1.5);
  EXPECT_EQ(p.layers[1].backward_ms, 2);
  EXPECT_EQ(p.layers[1].activation_bytes, 300.5);  // 100 + 200.5
  EXPECT_EQ(p.layers[1].parameter_bytes, 4000);
  EXPECT_EQ(p.layers[1].stage, 3);
  EXPECT_FALSE(p.layers[2].stage.has_value());
  EXPECT_EQ(p.edges.size(), 5u);
  EXPECT_TRUE(p.layers[0].left_out);   // a source Input...
  EXPECT_TRUE(p.layers[4].left_out);   // a sink __getitem__...
  EXPECT_FALSE(p.layers[3].left_out);  // a sink once `get` is gone, and stays
}

TEST(PipeDream, BecomesATrainingStep) {
  const ProfileGraph g = ProfileToGraph(GoodProfile(kSmallProfile)).Take();
  ASSERT_EQ(g.graph.op_count(), 6u);  // a, b, c and their backward ops
  const auto op = [&](const char* name) { return g.graph.FindOp(name); };
  EXPECT_EQ(g.times[op("a")], Nanos(1'500'000));
  EXPECT_EQ(g.times[op("a.backward")], Nanos(2'000'000));
  EXPECT_EQ(g.graph.op(op("b.backward")).phase, Phase::kBackward);
  EXPECT_EQ(g.graph.group_count(), 3u);
  EXPECT_EQ(g.graph.group(op("b")), g.graph.group(op("b.backward")));
  // Rounded up, and as large as the gradient that comes back for it.
  EXPECT_EQ(g.graph.tensor(g.graph.FindTensor("a")).bytes, Bytes(301));
  EXPECT_EQ(g.graph.tensor(g.graph.FindTensor("a -- c")).bytes, Bytes(301));
  // Forward a-b, a-c, b-c; activations a, b, c to their backward ops; gradients c-b, c-a, b-a.
  EXPECT_EQ(g.graph.edge_count(), 9u);
}

TEST(PipeDream, WithoutBackwardTimesIsInference) {
  const ProfileGraph g =
      ProfileToGraph(GoodProfile("x -- L -- forward_compute_time=1, backward_compute_time=0, "
                                 "activation_size=1, parameter_size=1\n"))
          .Take();
  EXPECT_EQ(g.graph.op_count(), 1u);
  EXPECT_EQ(g.graph.op(OpId(0)).phase, Phase::kForward);
}

TEST(PipeDream, CpusBesideAcceleratorsHaveNoTimes) {
  const ProfileGraph g = ProfileToGraph(GoodProfile(kSmallProfile)).Take();
  const Cluster cluster = MakePreset("4xP100").Take();
  const CostTable costs = GivenTimes(g.times, cluster);
  const DeviceId gpu = cluster.FindDevice("host0/gpu0"), cpu = cluster.FindDevice("host0/cpu0");
  EXPECT_EQ(costs.time(OpId(0), gpu), Nanos(1'500'000));
  EXPECT_FALSE(costs.Supports(OpId(0), cpu));
  EXPECT_EQ(costs.source(OpId(0)), CostSource::kGiven);
}

// Placements of a, b, c on devices 0, 1, ... of a preset.
Result<std::vector<int64_t>> Stages(const std::vector<int>& devices) {
  const PipeDreamProfile profile = GoodProfile(kSmallProfile);
  const ProfileGraph g = ProfileToGraph(profile).Take();
  const Cluster cluster = MakePreset("4xP100").Take();
  Placement placement(g.graph.op_count());
  for (size_t i = 0; i < 3; ++i) placement[OpId(i)] = placement[OpId(i + 3)] = DeviceId(devices[i]);
  return StagesOf(profile, g.graph, placement, cluster);
}

TEST(PipeDream, StagesFollowThePipeline) {
  // in goes with a, get with c. Device 2 comes first in the pipeline: stage 0.
  EXPECT_EQ(Stages({2, 0, 1}).Take(), (std::vector<int64_t>{0, 0, 1, 2, 2}));
  EXPECT_EQ(Stages({3, 3, 3}).Take(), (std::vector<int64_t>{0, 0, 0, 0, 0}));
  // a on 0, b on 1, c on 0 again.
  const auto back = Stages({0, 1, 0});
  ASSERT_FALSE(back.ok());
  EXPECT_EQ(back.error().code, ErrorCode::kNotExpressible);
}

TEST(PipeDream, WritesEveryThingElseAsItWasRead) {
  const std::string text = WritePipeDream(GoodProfile(kSmallProfile), {0, 0, 1, 2, 2});
  EXPECT_THAT(text, HasSubstr("a -- Linear(1 -- 2) -- forward_compute_time=1.500, "
                              "backward_compute_time=2.000, activation_size=[100.0; 200.5], "
                              "parameter_size=4000.000 -- stage_id=0\n"));
  EXPECT_THAT(text, HasSubstr("\ta -- b\n\tin -- a\n"));
  const PipeDreamProfile again = GoodProfile(text);
  EXPECT_EQ(again.layers[3].stage, 2);
  EXPECT_EQ(again.edges, GoodProfile(kSmallProfile).edges);
}

TEST(PipeDream, BadLinesAreNamed) {
  constexpr const char* kRest =
      " -- L -- forward_compute_time=1, backward_compute_time=1, activation_size=1, "
      "parameter_size=1";
  const std::string a = std::string("a") + kRest + "\n";
  const auto with = [](const char* times) { return std::string("x -- L -- ") + times; };
  struct Case {
    std::string text;
    ErrorCode code;
    const char* place;
  };
  const std::vector<Case> cases = {
      {a + a, ErrorCode::kDuplicateName, "line 2"},
      {a + "\ta -- b\n", ErrorCode::kUnknownName, "line 2"},
      {a + "\ta\n", ErrorCode::kSyntax, "line 2"},
      {a + "b" + kRest + "\n\ta -- b\n\ta -- b", ErrorCode::kDuplicateName, "line 4"},
      {"hello\n" + a, ErrorCode::kSyntax, "line 1"},
      {"\n\n -- L -- forward_compute_time=1, ", ErrorCode::kField, "line 3"},
      {a + "\xff" + kRest, ErrorCode::kSyntax, "line 2"},
      {std::string("a") + kRest + " -- stage_id=-1", ErrorCode::kField, "line 1"},
      {with("forward_compute_time=1, backward_compute_time=1, activation_size=1"),
       ErrorCode::kField, "line 1"},
      {with("forward_compute_time=1, forward_compute_time=1"), ErrorCode::kField, "line 1"},
      {with("forward_compute_time=1, speed=1"), ErrorCode::kField, "line 1"},
      {"", ErrorCode::kField, ""},
  };
  for (const Case& c : cases) {
    const auto result = ReadPipeDream(c.text);
    ASSERT_FALSE(result.ok()) << c.text;
    EXPECT_EQ(result.error().code, c.code) << c.text << result.error().message;
    EXPECT_EQ(result.error().place, c.place) << c.text;
  }
  for (const char* number : {"nan", "inf", "-1", "1e999", "1e300", "1x", "", "[1; nan]", "[]"}) {
    const auto result =
        ReadPipeDream(with("forward_compute_time=1, backward_compute_time=1, parameter_size=1, "
                           "activation_size=") +
                      number);
    ASSERT_FALSE(result.ok()) << number;
    EXPECT_EQ(result.error().code, ErrorCode::kField) << number;
  }
}

// 3 * 10^18 is beyond 2^60 = 1.15 * 10^18, though each size is below.
TEST(PipeDream, ASumOfSizesHasTheLimitOfASize) {
  const auto profile = ReadPipeDream(
      "a -- L -- forward_compute_time=1, backward_compute_time=1, "
      "activation_size=[1e18; 1e18; 1e18], parameter_size=1\n");
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().code, ErrorCode::kField);
  EXPECT_THAT(profile.error().message, HasSubstr("activation_size=[1e18; 1e18; 1e18] sums to"));
  EXPECT_EQ(profile.error().place, "line 1");
}

TEST(PipeDream, HugeTextsAreRefusedUnread) {
  const auto result = ReadPipeDream(std::string(static_cast<size_t>(kMaxProfileText) + 1, '\n'));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kFileTooLarge);
}

TEST(PipeDream, ProfilesThatAreNoStep) {
  const std::string figures =
      " -- forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=1\n";
  const std::string a = "a -- L" + figures, b = "b -- L" + figures;
  EXPECT_EQ(ProfileToGraph(GoodProfile(a + b + "\ta -- b\n\tb -- a\n")).error().code,
            ErrorCode::kGraphCycle);
  EXPECT_EQ(ProfileToGraph(GoodProfile(a + "\ta -- a\n")).error().code, ErrorCode::kGraphCycle);
  EXPECT_EQ(ProfileToGraph(GoodProfile("a -- Input0" + figures)).error().code, ErrorCode::kField);
  EXPECT_EQ(ProfileToGraph(GoodProfile(a + "a.backward -- L" + figures)).error().code,
            ErrorCode::kDuplicateName);
}

TEST(PipeDream, DamagedBytes) {
  const std::string good(kSmallProfile);
  const auto digest = [](std::string_view text) {
    const auto profile = ReadPipeDream(text);
    if (profile.ok()) (void)ProfileToGraph(profile.value());
    return profile.ok();
  };
  ASSERT_TRUE(digest(good));
  for (size_t length = 0; length < good.size(); ++length) {
    (void)digest(good.substr(0, length));
  }
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    (void)digest(bad);
  }
  EXPECT_FALSE(digest(good.substr(0, 20)));
}

TEST(PipeDream, EveryPublicOneIsReadWhole) {
  namespace fs = std::filesystem;
  size_t files = 0;
  for (const char* name : {"public/pipedream", "public/pipedream-forks"}) {
    const fs::path folder = fs::path(PLACEWRIGHT_SHARED_DATA) / name;
    if (!fs::exists(folder)) GTEST_SKIP() << "no folder of real data: " << folder;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".txt") continue;
      const auto loaded = LoadGraph(entry.path().string());
      if (!loaded.ok() && loaded.error().code == ErrorCode::kFormatUnknown) continue;  // a log
      ++files;
      ASSERT_TRUE(loaded.ok()) << loaded.error().ToString();
      EXPECT_EQ(loaded.value().format, &kPipeDreamFormat);
    }
  }
  EXPECT_EQ(files, 25u);
}

TEST(PipeDream, ResNet50) {
  const std::filesystem::path path =
      std::filesystem::path(PLACEWRIGHT_SHARED_DATA) /
      "public/pipedream/profiler/image_classification/profiles/resnet50/graph.txt";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no folder of real data: " << path;
  const LoadedGraph loaded = LoadGraph(path.string()).Take();
  EXPECT_EQ(loaded.Details<PipeDreamProfile>()->layers.size(), 177u);
  EXPECT_EQ(loaded.Details<PipeDreamProfile>()->edges.size(), 193u);
  // All but the input, forward and backward: 443.419 ms on one device.
  EXPECT_EQ(loaded.graph.op_count(), 2 * 176u);
  int64_t sum = 0;
  for (const Nanos time : *loaded.times) sum += time.count;
  EXPECT_EQ(sum, 443'419'000);
}

}  // namespace
}  // namespace placewright
