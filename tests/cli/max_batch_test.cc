// The batch of a step: of all devices, of each GPU, or the largest that fits.
#include <gmock/gmock.h>

#include <algorithm>

#include "recorded_mlp.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// mlp.json.gz follows its batch, as it was recorded at several.
class BatchOfStep : public RecordedMlp {
 protected:
  void SetUp() override {
    RecordedMlp::SetUp();
    if (IsSkipped()) return;
    WriteCluster("small.yaml", "12 MiB");
    std::string alone = Read("small.yaml");
    for (const char* of_cpu :
         {"  - {name: cpu0, kind: host, host: 0}\n",
          "  - {between: [gpu0, cpu0], bandwidth: 10 GB/s, latency: 1 us}\n",
          "  - {between: [gpu1, cpu0], bandwidth: 10 GB/s, latency: 1 us}\n"}) {
      alone.erase(alone.find(of_cpu), std::string(of_cpu).size());
    }
    Write("two-gpus.yaml", alone);
  }

  // Two GPUs and a CPU with room for everything.
  void WriteCluster(const std::string& file, const std::string& memory) {
    Write(file, R"(
name: small
reserve: 0%
kinds:
  card: {class: gpu, architecture: pascal, peak_flops: {f32: 1000000000000}, memory_bandwidth: 100 GB/s,
         memory: )" +
                    memory + R"(, launch_overhead: 1 us, runtime_context: 0 B}
  host: {class: cpu, architecture: zen3, peak_flops: {f32: 10000000000}, memory_bandwidth: 10 GB/s,
         memory: 1 GiB, launch_overhead: 1 us, runtime_context: 0 B}
devices:
  - {name: gpu0, kind: card, host: 0}
  - {name: gpu1, kind: card, host: 0}
  - {name: cpu0, kind: host, host: 0}
links:
  - {between: [gpu0, gpu1], bandwidth: 10 GB/s, latency: 1 us}
  - {between: [gpu0, cpu0], bandwidth: 10 GB/s, latency: 1 us}
  - {between: [gpu1, cpu0], bandwidth: 10 GB/s, latency: 1 us}
)");
  }

  // The largest batch of data parallelism, which makes one plan, so that plans at a batch can be set beside it.
  int64_t LargestOf(const std::string& algorithm, const std::string& graph = "mlp.json.gz") {
    const Outcome run = RunJson({"plan", graph, "-c", "small.yaml", "--algo", algorithm,
                                 "--max-batch", "-o", "largest.plan.json"});
    EXPECT_EQ(run.status, 0) << run.out << run.err;
    return run.status == 0 ? run.json()["max_batch"]["batch"].get<int64_t>() : 0;
  }
  int StatusAt(const std::string& algorithm, int64_t batch) {
    return Run({"plan", "mlp.json.gz", "-c", "small.yaml", "--algo", algorithm, "--batch",
                std::to_string(batch), "-o", "at.plan.json"})
        .status;
  }
};

TEST_F(BatchOfStep, IsOfAllDevicesOrOfEachGpu) {
  const Outcome whole = RunJson({"plan", "mlp.json.gz", "-c", "small.yaml", "--algo",
                                 "data-parallel", "--batch", "12", "-o", "a.plan.json"});
  ASSERT_EQ(whole.status, 0) << whole.err;
  const Outcome each = RunJson({"plan", "mlp.json.gz", "-c", "small.yaml", "--algo",
                                "data-parallel", "--batch", "6/gpu", "-o", "b.plan.json"});
  ASSERT_EQ(each.status, 0) << each.err;
  EXPECT_THAT(each.err, HasSubstr("batch 12: 6 for each of 2 GPUs"));
  EXPECT_EQ(each.json()["step_time_ns"], whole.json()["step_time_ns"]);
  EXPECT_EQ(each.json()["layouts"], whole.json()["layouts"]);
  EXPECT_DOUBLE_EQ(each.json()["samples_per_second"].get<double>(),
                   12e9 / each.json()["step_time_ns"].get<double>());
  const Outcome simulated = RunJson({"simulate", "mlp.json.gz", "-c", "small.yaml", "--batch",
                                     "6/gpu", "--layouts", "b.plan.json"});
  ASSERT_EQ(simulated.status, 0) << simulated.err;
  EXPECT_EQ(simulated.json()["samples_per_second"], each.json()["samples_per_second"]);
}

TEST_F(BatchOfStep, OfEachGpuNeedsGpus) {
  const auto plan = [&](const std::string& cluster, const std::string& batch) {
    return Run({"plan", "mlp.json.gz", "-c", cluster, "--batch", batch});
  };
  const Outcome none = plan("two.yaml", "4/gpu");
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("--batch 4/gpu: two has no GPUs"));
  for (const char* batch : {"0", "0/gpu", "/gpu", "global", "4/gpus", "4 /gpu", "-1"}) {
    const Outcome bad = plan("small.yaml", batch);
    EXPECT_EQ(bad.status, 2) << batch;
    EXPECT_THAT(bad.err, HasSubstr("or with /gpu behind it (for every GPU)"));
  }
  EXPECT_THAT(plan("small.yaml", "2000000000/gpu").err, HasSubstr("2 GPUs make more than"));
  EXPECT_THAT(Run({"plan", "mlp.json.gz", "--batch", "4/gpu"}).err,
              HasSubstr("-c CLUSTER is missing, whose GPUs it counts"));
}

// Axes other than the batch are left to be split.
TEST_F(BatchOfStep, OfOneSampleMayBeSplitToo) {
  const Outcome one = Run({"plan", "mlp.json.gz", "-c", "small.yaml", "--batch", "1",
                           "--iterations", "5", "-o", "one.plan.json"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.err, HasSubstr("ops may be split and copied"));
}

// With a planner that makes one plan, the plan at the batch fits and that at the next does not.
TEST_F(BatchOfStep, TheLargestFitsAndTheNextDoesNot) {
  for (const char* algorithm : {"data-parallel", "layered"}) {
    const int64_t largest = LargestOf(algorithm);
    ASSERT_GT(largest, 8) << algorithm;
    EXPECT_EQ(StatusAt(algorithm, largest), 0) << algorithm;
    if (algorithm == std::string("data-parallel")) {
      EXPECT_NE(StatusAt(algorithm, largest + 1), 0) << algorithm;
    }
  }
}

TEST_F(BatchOfStep, TheLargestComesWithItsPlanAndItsTrials) {
  const Outcome run =
      RunJson({"plan", "mlp.json.gz", "-c", "small.yaml", "--max-batch", "--iterations", "200",
               "--space", "replicated", "--strategies", "off"});
  ASSERT_EQ(run.status, 0) << run.out << run.err;
  const Json plan = run.json();
  const Json& search = plan["max_batch"];
  const int64_t largest = search["batch"].get<int64_t>();
  bool fits = false, next = false;
  for (const Json& trial : search["trials"]) {
    const bool fitted = trial["verdict"] == "fits";
    EXPECT_EQ(fitted, trial["batch"].get<int64_t>() <= largest) << trial;
    fits |= fitted && trial["batch"] == largest;
    next |= !fitted && trial["batch"] == largest + 1;
  }
  EXPECT_TRUE(fits && next) << search;
  EXPECT_TRUE(plan["feasible"].get<bool>());
  EXPECT_DOUBLE_EQ(plan["samples_per_second"].get<double>() * plan["step_time_ns"].get<double>(),
                   static_cast<double>(largest) * 1e9);
  EXPECT_GE(largest, LargestOf("data-parallel"));
  EXPECT_EQ(Json::parse(Read("mlp.plan.json"))["graph"]["batch_option"], largest);
  EXPECT_EQ(Run({"check", "mlp.plan.json"}).status, 0);
  // The search at the end has its record in the plan, which may be that of the trials.
  EXPECT_EQ(plan["iterations"], 200);
  EXPECT_TRUE(std::any_of(plan["baselines"].begin(), plan["baselines"].end(), [&](const Json& of) {
    return of["algorithm"] == plan["algorithm"] && of["step_time_ns"] == plan["step_time_ns"];
  })) << plan["baselines"];
  // A plan that recomputes gradients, which may take longer, is not taken for it.
  const Outcome paper =
      RunJson({"plan", "mlp.json.gz", "-c", "small.yaml", "--max-batch", "--iterations", "200",
               "--strategies", "off", "--sfb", "paper", "-o", "paper.plan.json"});
  ASSERT_EQ(paper.status, 0) << paper.out << paper.err;
  EXPECT_LE(paper.json()["step_time_ns"], plan["step_time_ns"]);
  // The CPU has room for far more: what fits there alone is no answer.
  for (const Json& trial : search["trials"]) EXPECT_LT(trial["batch"].get<int64_t>(), 100000);
}

// Where `auto` may choose strategies the largest batch is that of the best, in one micro-batch: no smaller than that of data
// parallelism, one of the strategies.
TEST_F(BatchOfStep, TheLargestIsThatOfStrategies) {
  const Outcome run =
      RunJson({"plan", "mlp.json.gz", "-c", "small.yaml", "--max-batch", "--iterations", "50"});
  ASSERT_EQ(run.status, 0) << run.out << run.err;
  const Json plan = run.json();
  const Json& search = plan["max_batch"];
  const int64_t largest = search["batch"].get<int64_t>();
  EXPECT_GE(largest, LargestOf("data-parallel"));
  bool next = false;
  for (const Json& trial : search["trials"]) {
    next |= trial["verdict"] == "not-found" && trial["batch"] == largest + 1;
  }
  EXPECT_TRUE(next) << search;
  EXPECT_EQ(search["rates"][0]["batch"], largest);
  EXPECT_TRUE(plan["feasible"].get<bool>());
  EXPECT_FALSE(plan.at("strategies").empty());
  EXPECT_EQ(Json::parse(Read("mlp.plan.json")).at("strategies").size(),
            plan.at("strategies").size());
  EXPECT_EQ(Run({"check", "mlp.plan.json"}).status, 0);
}

TEST_F(BatchOfStep, TheLargestIsSaidToPeople) {
  const Outcome run =
      Run({"plan", "mlp.json.gz", "-c", "small.yaml", "--max-batch", "--iterations", "50"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(
      run.out,
      ContainsRegex("max batch  [0-9]+; (at )?[0-9]+ (no plan that fits was found|is proven)"));
  EXPECT_THAT(run.out, ContainsRegex("throughput [0-9.e+]+ samples/s \\(batch [0-9]+\\)"));
  EXPECT_THAT(run.err, ContainsRegex("the largest batch was found by [0-9]+ trials"));
}

// The best rate is that of a batch that fits, and of the rates that were found.
TEST_F(BatchOfStep, TheBatchOfTheBestRateIsSaid) {
  for (const std::string algorithm : {"data-parallel", "layered"}) {
    const Outcome run =
        RunJson({"plan", "mlp.json.gz", "-c", "small.yaml", "--algo", algorithm, "--max-batch"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json found = run.json()["max_batch"];
    ASSERT_FALSE(found["rates"].empty());
    double best = 0;
    for (const Json& rate : found["rates"]) {
      EXPECT_LE(rate["batch"], found["batch"]);
      best = std::max(best, rate["samples_per_second"].get<double>());
      // A planner that makes one plan makes the same at that batch.
      const Json at = RunJson({"plan", "mlp.json.gz", "-c", "small.yaml", "--algo", algorithm,
                               "--batch", rate["batch"].dump(), "-o", "at.plan.json"})
                          .json();
      if (algorithm == "layered") continue;  // on the CPU, too, there
      EXPECT_DOUBLE_EQ(at["samples_per_second"], rate["samples_per_second"]) << rate;
    }
    EXPECT_EQ(found["best_rate"]["samples_per_second"], best);
    // Two GPUs: an even batch is among them.
    const bool even =
        std::any_of(found["rates"].begin(), found["rates"].end(), [&](const Json& at) {
          return at["batch"].get<int64_t>() == found["batch"].get<int64_t>() / 2 * 2;
        });
    EXPECT_TRUE(even || algorithm == "layered") << found["rates"];
  }
  const Outcome text =
      Run({"plan", "mlp.json.gz", "-c", "small.yaml", "--algo", "data-parallel", "--max-batch"});
  EXPECT_THAT(text.out, ContainsRegex("best rate  batch [0-9]+: [0-9.e+]+ samples/s \\(data-par"));
}

// The plan at the batch that is named fits, and that at the next does not.
TEST_F(BatchOfStep, WhereNothingFitsASmallerBatchIsNamed) {
  const int64_t largest = LargestOf("data-parallel");
  const Outcome run = Run({"plan", "mlp.json.gz", "-c", "small.yaml", "--algo", "data-parallel",
                           "--batch", std::to_string(4 * largest)});
  EXPECT_EQ(run.status, 5) << run.out;
  EXPECT_THAT(run.err, HasSubstr("; or --batch " + std::to_string(largest) +
                                 " (the largest that fits, by data-parallel; now " +
                                 std::to_string(4 * largest) + ")"));
  EXPECT_THAT(
      run.err,
      ContainsRegex(
          "; --micro-batches [0-9]+ does not suffice, as a device with 12.0 MiB would need "));
  EXPECT_THAT(run.err, Not(HasSubstr("internal")));
}

// What whole ops need is too much for one GPU, and half of it is not; and the other way round.
TEST_F(BatchOfStep, WhereNothingFitsAnotherKindOfPlanIsNamed) {
  const int64_t split = LargestOf("data-parallel");
  const int64_t whole = LargestOf("single");
  ASSERT_GT(split, whole + 1);
  const std::string batch = std::to_string(whole + (split - whole) / 2);
  const Outcome placed = Run({"plan", "mlp.json.gz", "-c", "small.yaml", "--algo", "single",
                              "--forbid", "*=cpu0", "--batch", batch});
  EXPECT_THAT((std::vector<int>{4, 5}), ::testing::Contains(placed.status)) << placed.err;
  EXPECT_THAT(placed.err, Not(HasSubstr("--space replicated")));  // it could not keep --forbid
  const Outcome alone =
      Run({"plan", "mlp.json.gz", "-c", "two-gpus.yaml", "--algo", "single", "--batch", batch});
  EXPECT_THAT((std::vector<int>{4, 5}), ::testing::Contains(alone.status)) << alone.err;
  EXPECT_THAT(alone.err,
              ContainsRegex("; or --space replicated --algo [-a-z]+, which may split ops: "
                            "[-a-z]+ then fits, [0-9.]+ .?s a step"));
}

TEST_F(BatchOfStep, LayoutsByHandFollowTheBatch) {
  Write("even.json", R"({"layouts": [{"groups": "*", "axis": "batch", "devices": ["gpu*"]}]})");
  const Outcome run =
      RunJson({"plan", "mlp.json.gz", "-c", "small.yaml", "--layouts", "even.json", "--max-batch"});
  ASSERT_EQ(run.status, 0) << run.out << run.err;
  EXPECT_EQ(run.json()["max_batch"]["batch"], LargestOf("data-parallel"));
  // One sample cannot be split: the search ends there.
  WriteCluster("tiny.yaml", "64 KiB");
  const Outcome none =
      Run({"plan", "mlp.json.gz", "-c", "tiny.yaml", "--layouts", "even.json", "--max-batch"});
  EXPECT_EQ(none.status, 5) << none.err;
  EXPECT_THAT(none.err, HasSubstr("not even batch 1 fits: the batch is one sample"));
}

// A model of the zoo is recorded at the batch that is found, and stored under its name.
TEST_F(BatchOfStep, ModelsAreRecordedAnew) {
  const Outcome run = RunJson({"plan", "mlp", "-c", "small.yaml", "--algo", "data-parallel",
                               "--max-batch", "--memory-reserve", "0"});
  if (run.status != 0) {  // the model of the zoo has more parameters than 12 MiB hold
    WriteCluster("small.yaml", "64 MiB");
  }
  const int64_t largest = LargestOf("data-parallel", "mlp");
  ASSERT_GT(largest, 1);
  EXPECT_TRUE(Exists("mlp-batch" + std::to_string(largest) + ".step.json.gz"));
  EXPECT_FALSE(Exists("mlp-batch" + std::to_string(largest + 1) + ".step.json.gz"));
}

TEST_F(BatchOfStep, WhatHasNoOtherBatchIsRefused) {
  Write("chain.json", ChainGraph(3, kPlenty).dump());
  const Outcome chain = Run({"plan", "chain.json", "--max-batch"});
  EXPECT_NE(chain.status, 0);
  EXPECT_THAT(chain.err, HasSubstr("batch"));
  ASSERT_EQ(Run({"capture", "mlp", "--batch", "8", "--one-batch", "-o", "fixed.json.gz"}).status,
            0);
  const Outcome fixed = Run({"plan", "fixed.json.gz", "-c", "small.yaml", "--max-batch"});
  EXPECT_EQ(fixed.status, 3);
  EXPECT_THAT(fixed.err, HasSubstr("valid for batch 8 only"));
  EXPECT_THAT(fixed.err, HasSubstr("or give a model of the zoo by its name"));
  const Outcome given =
      Run({"plan", "mlp.json.gz", "-c", "small.yaml", "--max-batch", "--batch", "4"});
  EXPECT_EQ(given.status, 2);
  EXPECT_THAT(given.err, HasSubstr("--batch cannot be used with --max-batch"));
}

TEST_F(BatchOfStep, GraphAndClusterMayComeOnStandardInput) {
  const std::vector<std::string> line = {"plan",        "-",      "-c",
                                         "small.yaml",  "--algo", "data-parallel",
                                         "--max-batch", "-o",     "in.plan.json"};
  const Outcome graph = RunJson(line, {.input_from = "mlp.json.gz"});
  ASSERT_EQ(graph.status, 0) << graph.out << graph.err;
  EXPECT_EQ(graph.json()["max_batch"]["batch"], LargestOf("data-parallel"));
  EXPECT_EQ(Run({"check", "in.plan.json"}).status, 0);
  const Outcome cluster = Run({"plan", "mlp.json.gz", "-c", "-", "--batch", "3/gpu", "--iterations",
                               "5", "-o", "c.plan.json"},
                              {.input_from = "small.yaml"});
  EXPECT_EQ(cluster.status, 0) << cluster.err;
  EXPECT_THAT(cluster.err, HasSubstr("batch 6: 3 for each of 2 GPUs"));
}

TEST_F(BatchOfStep, NothingFitsEvenAtOne) {
  WriteCluster("tiny.yaml", "64 KiB");
  const Outcome run = Run({"plan", "mlp.json.gz", "-c", "tiny.yaml", "--max-batch"});
  EXPECT_THAT((std::vector<int>{4, 5}), ::testing::Contains(run.status)) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("not even batch 1 fits"));
  EXPECT_FALSE(Exists("mlp.plan.json"));
}

TEST_F(BatchOfStep, CtrlCNamesTheBatchSoFar) {
  const Outcome run = Run({"plan", "bert-base", "-c", "4xP100", "--max-batch", "-o", "b.plan.json"},
                          {.signal = 2, .signal_after = 2.5});
  EXPECT_EQ(run.status, 130) << run.err;
  EXPECT_THAT(run.err, HasSubstr("interrupted"));
  EXPECT_THAT(run.err, Not(HasSubstr("internal")));
}

}  // namespace
}  // namespace placewright
