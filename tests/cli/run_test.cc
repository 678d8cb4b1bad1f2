// `run`: plans executed.
#include <gmock/gmock.h>

#include "recorded_mlp.h"

namespace placewright {
namespace {

using testing::HasSubstr;

class RunPlan : public RecordedMlp {
 protected:
  // A plan of that planner.
  void Plan(const std::string& algorithm, const std::string& file,
            const std::string& cluster = "two.yaml") {
    const Outcome planned =
        Run({"plan", "mlp.json.gz", "-c", cluster, "--algo", algorithm, "-o", file});
    ASSERT_EQ(planned.status, 0) << planned.err;
  }
};

TEST_F(RunPlan, MeasuresWhatThePlanPredicts) {
  Plan("layered", "mlp.plan.json");
  const Outcome run = RunJson({"run", "mlp.plan.json", "--steps", "12"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json object = run.json();
  EXPECT_EQ(object["schema"], "placewright.run/1");
  EXPECT_EQ(object["steps"], 12);
  EXPECT_EQ(object["dropped"], 5);
  EXPECT_LE(object["step_time_ns"]["p10"], object["step_time_ns"]["median"]);
  EXPECT_LE(object["step_time_ns"]["median"], object["step_time_ns"]["p90"]);
  ASSERT_EQ(object["loss"].size(), 12u);
  EXPECT_LT(object["loss"].back(), object["loss"].front());  // it trains
  ASSERT_EQ(object["devices"].size(), 2u);
  ASSERT_EQ(object["predicted"]["devices"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(object["devices"][i]["name"], object["predicted"]["devices"][i]["name"]);
    EXPECT_GT(object["devices"][i]["busy"], 0);
    // The prediction rounds every tensor up to 512 bytes.
    const auto measured = object["devices"][i]["peak_memory_bytes"].get<double>();
    const auto predicted = object["predicted"]["devices"][i]["tensor_peak_bytes"].get<double>();
    EXPECT_GT(measured, 0.5 * predicted);
    EXPECT_LT(measured, 1.5 * predicted);
  }
  EXPECT_EQ(object["cost_sources"]["modelled"], 1);
  const Outcome text = Run({"run", "mlp.plan.json", "--steps", "7"});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, HasSubstr("7 steps, 5 of them warm-up"));
  EXPECT_THAT(text.out, HasSubstr("peak of tensors"));
}

TEST_F(RunPlan, TakesAPlacementByHand) {
  Plan("layered", "mlp.plan.json");
  Write("map.json", Json::parse(Read("mlp.plan.json"))["placement"].dump());
  const Outcome planned = RunJson({"run", "mlp.plan.json", "--steps", "3"});
  const Outcome placed = RunJson({"run", "mlp.json.gz", "-c", "two.yaml", "--placement", "map.json",
                                  "--steps", "3", "--svg", "placed.svg"});
  ASSERT_EQ(placed.status, 0) << placed.err;
  EXPECT_EQ(placed.json()["loss"], planned.json()["loss"]);
  EXPECT_EQ(placed.json()["predicted"]["step_time_ns"],
            planned.json()["predicted"]["step_time_ns"]);
  EXPECT_EQ(placed.json()["predicted"]["devices"], planned.json()["predicted"]["devices"]);
  EXPECT_TRUE(placed.json()["predicted"]["now_ns"].is_null());
  EXPECT_TRUE(placed.json()["predicted"]["over_ranks_ns"].is_null());  // one process
  EXPECT_THAT(Read("placed.svg"), HasSubstr("<svg"));
  EXPECT_EQ(Run({"run", "mlp.plan.json", "--placement", "map.json"}).status, 2);
  const Outcome bare = Run({"run", "mlp.json.gz", "-c", "two.yaml"});
  EXPECT_EQ(bare.status, 3);
  EXPECT_THAT(bare.err, HasSubstr("--placement"));
  Write("map.json", R"({"addmm": "nowhere"})");
  EXPECT_THAT(
      Run({"run", "mlp.json.gz", "-c", "two.yaml", "--placement", "map.json", "--steps", "1"}).err,
      HasSubstr("map.json"));
}

// An op throws in the second step: what the first has shown and left is there, and the next run works.
TEST_F(RunPlan, AStepThatFailsTakesNothingFromThoseBefore) {
  Plan("layered", "mlp.plan.json");
  const std::vector<float> x(2 * 8 * 784, 0.5f);
  std::vector<int64_t> targets(16, 1);
  targets[11] = 99;  // of ten classes
  const std::string values(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float));
  const std::string classes(reinterpret_cast<const char*>(targets.data()),
                            targets.size() * sizeof(int64_t));
  const size_t end = values.size() + classes.size();
  const std::string header = R"({"x":{"dtype":"F32","shape":[2,8,784],"data_offsets":[0,)" +
                             std::to_string(values.size()) +
                             R"(]},"targets":{"dtype":"I64","shape":[2,8],"data_offsets":[)" +
                             std::to_string(values.size()) + "," + std::to_string(end) + "]}}";
  const uint64_t length = header.size();
  Write("bad.safetensors", std::string(reinterpret_cast<const char*>(&length), sizeof length) +
                               header + values + classes);
  const Outcome failed = Run({"run", "mlp.plan.json", "--steps", "6", "--inputs", "bad.safetensors",
                              "--save", "state.safetensors", "--save-every", "1"});
  EXPECT_EQ(failed.status, 3);
  EXPECT_THAT(failed.err, HasSubstr("op nll_loss_forward"));
  EXPECT_THAT(failed.out, HasSubstr("1 steps"));
  const Outcome next =
      RunJson({"run", "mlp.plan.json", "--steps", "2", "--load", "state.safetensors"});
  ASSERT_EQ(next.status, 0) << next.err;
  EXPECT_LT(next.json()["loss"][1], next.json()["loss"][0]);
  EXPECT_EQ(Run({"run", "mlp.plan.json", "--save-every", "1"}).status, 2);
}

// Five steps are two and, from their checkpoint, three more; by another placement, too. The
// transformer drops out: the generator's state belongs to it.
TEST_F(RunPlan, CheckpointsGoOnWhereTheyWereSaved) {
  ASSERT_EQ(Run({"capture", "transformer", "--batch", "1", "--param", "layers=1", "--param",
                 "hidden=32", "--param", "heads=2", "-o", "mlp.json.gz"})
                .status,
            0);
  Plan("layered", "two.plan.json");
  Plan("single", "one.plan.json");
  const auto losses = [&](std::vector<std::string> words) {
    const Outcome run = RunJson(words);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.json()["loss"];
  };
  const Json five = losses({"run", "two.plan.json", "--steps", "5", "--batches", "3"});
  const Json two =
      losses({"run", "two.plan.json", "--steps", "2", "--batches", "3", "--save", "a.safetensors"});
  const Json three = losses({"run", "one.plan.json", "--steps", "3", "--batches", "3", "--load",
                             "a.safetensors", "--save", "b.safetensors"});
  ASSERT_EQ(five.size(), 5u);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(two[i], five[i]);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(three[i], five[2 + i]);
  // The same state, whichever way.
  losses({"run", "two.plan.json", "--steps", "5", "--batches", "3", "--save", "c.safetensors"});
  EXPECT_EQ(Read("b.safetensors"), Read("c.safetensors"));
  EXPECT_NE(losses({"run", "two.plan.json", "--steps", "5"})[1], five[1]);  // another batch
}

TEST_F(RunPlan, LearnsTheRuleOfItsBatches) {
  Plan("layered", "mlp.plan.json");
  const Json losses =
      RunJson({"run", "mlp.plan.json", "--steps", "200", "--batches", "50"}).json()["loss"];
  const auto mean = [&](size_t from) {
    double sum = 0;
    for (size_t i = from; i < from + 20; ++i) sum += losses[i].get<double>();
    return sum / 20;
  };
  EXPECT_LT(mean(180), 0.7 * mean(0));
}

TEST_F(RunPlan, DamagedCheckpointsAreRefused) {
  Plan("single", "mlp.plan.json");
  ASSERT_EQ(Run({"run", "mlp.plan.json", "--steps", "1", "--save", "a.safetensors"}).status, 0);
  const std::string good = Read("a.safetensors");
  std::string flipped = good;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  const auto load = [&](std::string_view content) {
    Write("b.safetensors", content);
    // What was there stays: nothing is written behind an error.
    const Outcome run = Run({"run", "mlp.plan.json", "--steps", "1", "--load", "b.safetensors",
                             "--save", "b.safetensors"});
    EXPECT_EQ(Read("b.safetensors") == content, run.status != 0);
    return run;
  };
  EXPECT_THAT(load(flipped).err, HasSubstr("file-corrupt"));
  EXPECT_THAT(load(good.substr(0, good.size() / 2)).err, HasSubstr("file-corrupt"));
  EXPECT_THAT(load("nothing of the kind").err, HasSubstr("format-unknown"));
  EXPECT_EQ(load(good).status, 0);
  // Of another model.
  ASSERT_EQ(
      Run({"capture", "mlp", "--batch", "8", "--param", "hidden=48", "-o", "mlp.json.gz"}).status,
      0);
  Plan("single", "mlp.plan.json");
  EXPECT_THAT(load(good).err, HasSubstr("plan-mismatch"));
}

// A file of others: parameters and a batch by their names alone. Two batches take turns.
TEST_F(RunPlan, InputsComeFromFiles) {
  Plan("layered", "mlp.plan.json");
  ASSERT_EQ(Run({"run", "mlp.plan.json", "--steps", "1", "--save", "a.safetensors"}).status, 0);
  const auto write = [&](const std::string& name, const std::string& tensor, const Json& shape,
                         const std::string& content) {
    Json header;
    header[tensor] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {0, content.size()}}};
    const std::string text = header.dump();
    std::string bytes(8, '\0');
    for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
    Write(name, bytes + text + content);
  };
  const std::string zeros(8 * 784 * 4, '\0');
  std::string ones;
  for (int i = 0; i < 8 * 784; ++i) ones += std::string("\0\0\x80\x3f", 4);
  write("zeros.safetensors", "x", {8, 784}, zeros);
  write("ones.safetensors", "input:x", {8, 784}, ones);
  write("both.safetensors", "x", {2, 8, 784}, zeros + ones);
  const auto losses = [&](const std::string& file, const std::string& load = "a.safetensors") {
    const Outcome run = RunJson({"run", "mlp.plan.json", "--steps", "3", "--inputs", file, "--load",
                                 load, "--save", "end.safetensors"});
    EXPECT_EQ(run.status, 0) << run.err;
    return run.json()["loss"];
  };
  const Json of_zeros = losses("zeros.safetensors"), of_ones = losses("ones.safetensors");
  EXPECT_NE(of_zeros[0], of_ones[0]);
  // The checkpoint has a step behind it: the second batch is its next one.
  const Json of_both = losses("both.safetensors");
  EXPECT_EQ(of_both[0], of_ones[0]);
  EXPECT_NE(of_both[1], of_ones[1]);

  EXPECT_EQ(Run({"run", "mlp.plan.json", "--inputs", "ones.safetensors", "--batches", "2"}).status,
            2);
  write("wrong.safetensors", "x", {3, 3}, std::string(36, '\0'));
  const Outcome wrong =
      Run({"run", "mlp.plan.json", "--steps", "1", "--inputs", "wrong.safetensors"});
  EXPECT_EQ(wrong.status, 3);
  EXPECT_THAT(wrong.err, HasSubstr("F32[3, 3] in the file and f32[8, 784] in the graph"));
  write("other.safetensors", "y", {3, 3}, std::string(36, '\0'));
  const Outcome other =
      Run({"run", "mlp.plan.json", "--steps", "1", "--inputs", "other.safetensors"});
  EXPECT_THAT(other.err, HasSubstr("They are called input:x, input:targets."));
  // Parameters of others have no optimizer state.
  write("weights.safetensors", "hidden0.bias", {32}, std::string(32 * 4, '\0'));
  const Outcome weights =
      Run({"run", "mlp.plan.json", "--steps", "1", "--load", "weights.safetensors"});
  EXPECT_EQ(weights.status, 0) << weights.err;
  EXPECT_THAT(weights.err, HasSubstr("are not in the file and have values of the seed"));
}

// A constant whose content no file has is none that run makes up.
TEST_F(RunPlan, ConstantsWithoutContentAreRefused) {
  Write("mlp.json.gz", R"({"name": "scaled", "n_ops": 1, "n_edges": 0, "inputs": [
      {"name": "input:x", "kind": "input", "shape": [2], "dtype": "f32"},
      {"name": "constant:table", "kind": "constant", "shape": [2], "dtype": "f32"}],
    "ops": [{"name": "mul", "target": "aten.mul.Tensor", "phase": "fwd", "scope": "",
             "inputs": ["input:x", "constant:table"], "args": ["%0", "%1"],
             "outputs": [{"shape": [2], "dtype": "f32"}]}], "outputs": ["mul"]})");
  Plan("single", "scaled.plan.json");
  const Outcome run = Run({"run", "scaled.plan.json", "--steps", "1"});
  EXPECT_EQ(run.status, 3);
  EXPECT_THAT(run.err, HasSubstr("the content of the constant \"constant:table\" is not known"));
  EXPECT_THAT(run.err, HasSubstr("--load"));
  const std::string header =
      R"({"constant:table": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  Write("table.safetensors", bytes + header + std::string(8, '\0'));
  EXPECT_EQ(Run({"run", "scaled.plan.json", "--steps", "1", "--load", "table.safetensors"}).status,
            0);
}

// An operator that this LibTorch has not: both versions, and what to do.
TEST_F(RunPlan, OperatorsOfAnotherVersionNameBoth) {
  Write("mlp.json.gz", R"({"name": "newer", "torch": "9.8.7+cpu", "n_ops": 1, "n_edges": 0,
    "inputs": [{"name": "input:x", "kind": "input", "shape": [2], "dtype": "f32"}],
    "ops": [{"name": "y", "target": "aten._unheard_of.default", "phase": "fwd", "scope": "",
             "inputs": ["input:x"], "args": ["%0"],
             "outputs": [{"shape": [2], "dtype": "f32"}]}], "outputs": ["y"]})");
  Plan("single", "newer.plan.json");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "newer.plan.json", "--steps", "1"},
        std::vector<std::string>{"check", "newer.plan.json", "--run"}}) {
    const Outcome run = Run(words);
    EXPECT_EQ(run.status, 3);
    EXPECT_THAT(run.err, HasSubstr("which runs here, has no operator aten._unheard_of.default; the "
                                   "step was recorded by PyTorch 9.8.7+cpu"));
    EXPECT_THAT(run.err, HasSubstr("PLACEWRIGHT_TORCH=DIR ./run"));
  }
}

// Where ops run changes no bit of what they compute; the seed does.
TEST_F(RunPlan, LossesAreThoseOfAnyPlacement) {
  Plan("single", "one.plan.json");
  Plan("layered", "two.plan.json");
  Plan("layered", "gpus.plan.json", "4xP100");
  const auto losses = [&](const std::string& plan, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"run", plan, "--steps", "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome run = RunJson(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.json()["loss"];
  };
  const Json one = losses("one.plan.json", {"--simulate-devices"});
  EXPECT_EQ(losses("two.plan.json", {"--simulate-devices"}), one);
  EXPECT_EQ(losses("gpus.plan.json", {"--simulate-devices"}), one);
  EXPECT_NE(losses("one.plan.json", {"--simulate-devices", "--seed", "1"}), one);
}

// Predicted, executed, and another plan's, on one scale.
TEST_F(RunPlan, SchedulesAreDrawnOneUnderTheOther) {
  Plan("layered", "a.plan.json");
  Plan("single", "b.plan.json");
  ASSERT_EQ(Run({"run", "a.plan.json", "--steps", "2", "--schedule", "a.json"}).status, 0);
  const Outcome drawn =
      Run({"compare", "a.plan.json", "b.plan.json", "--executed", "a.json", "--svg", "both.svg"});
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  EXPECT_THAT(drawn.out, HasSubstr("b.plan.json"));
  const std::string svg = Read("both.svg");
  const size_t predicted = svg.find(">a.plan.json<"),
               executed = svg.find("the same plan, executed"), other = svg.find(">b.plan.json<");
  ASSERT_NE(predicted, std::string::npos);
  EXPECT_LT(predicted, executed);
  EXPECT_LT(executed, other);
  EXPECT_NE(other, std::string::npos);
  EXPECT_EQ(Run({"compare", "a.plan.json", "--executed", "a.json"}).status, 2);
  EXPECT_EQ(Run({"compare", "mlp.json.gz", "-c", "two.yaml", "--svg", "c.svg"}).status, 2);
  EXPECT_EQ(Run({"compare", "a.plan.json", "--svg", "a.plan.json"}).status, 2);
  EXPECT_EQ(Run({"compare", "a.plan.json", "--executed", "two.yaml", "--svg", "c.svg"}).status, 3);
  EXPECT_FALSE(Exists("c.svg"));
}

TEST_F(RunPlan, WhatCannotRunIsNamed) {
  Plan("single", "gpu.plan.json", "4xP100");
  const Outcome gpu = RunJson({"run", "gpu.plan.json"});
  EXPECT_EQ(gpu.status, 6);
  EXPECT_THAT(gpu.json()["error"]["message"].get<std::string>(), HasSubstr("host0/gpu0 is a"));
  EXPECT_THAT(gpu.json()["error"]["remedy"].get<std::string>(), HasSubstr("--simulate-devices"));
  Write("net.json", BroadGraph(4, 6, 1 << 20).dump());
  ASSERT_EQ(Run({"plan", "net.json", "--algo", "single", "-o", "net.plan.json"}).status, 0);
  const Outcome costs = RunJson({"run", "net.plan.json"});
  EXPECT_EQ(costs.status, 3);
  EXPECT_THAT(costs.json()["error"]["message"].get<std::string>(), HasSubstr("cannot be executed"));
  EXPECT_EQ(RunJson({"run", "two.yaml"}).status, 3);
  EXPECT_EQ(RunJson({"run", "no.plan.json"}).status, 3);
  EXPECT_EQ(RunJson({"run", "gpu.plan.json", "--steps", "0"}).status, 2);
}

}  // namespace
}  // namespace placewright
