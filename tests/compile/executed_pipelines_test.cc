// Pipelines are the step: under every schedule, in float64 to 1e-9, and the checker proves it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "check_plan/transforms/micro_batches.h"
#include "executed_micro_batches.h"
#include "search/layouts/pipelines.h"
#include "transforms/layers.h"
#include "transforms/pipeline_schedule.h"

namespace placewright {
namespace {

// So many layers in as many chunks as are asked for, each of at least one.
std::vector<int64_t> DrawStageLayers(Random& random, int64_t layers, int64_t chunks) {
  std::vector<int64_t> of_chunk(static_cast<size_t>(chunks), 1);
  for (int64_t i = chunks; i < layers; ++i) {
    ++of_chunk[random.Below(static_cast<uint64_t>(chunks))];
  }
  return of_chunk;
}

// Stages of a pipeline on one or two devices each, under every schedule, are the step: whatever the micro-batches, the
// layers of each stage, what is computed again, and weights that two stages read.
class ExecutedPipelines : public ExecutedMicroBatches {
 protected:
  void SetUp() override {
    batch_ = 24;
    Prepare(true);
  }

  void RunPipeline(const Rewriting& asked, int64_t of_stage, bool through_file) {
    SCOPED_TRACE(testing::Message()
                 << asked.schedule << ", " << asked.stages << " stages of " << of_stage
                 << " devices, " << asked.chunks << " chunks each, " << asked.micro_batches
                 << " micro-batches, layers " << testing::PrintToString(asked.layers)
                 << (asked.recompute.empty() ? "" : ", recomputed"));
    Rewrite(asked);
    if (HasFatalFailure()) return;
    if (asked.micro_batches > 1 && asked.recompute.empty()) {
      const auto wrong = check::CheckMicroBatches(original(), *cut_, asked.micro_batches);
      ASSERT_FALSE(wrong) << wrong->place << ": " << wrong->message;
    }
    const Cluster cluster = EqualDevices(asked.stages * of_stage);
    const auto problem =
        LayoutProblem::Make(graph(), cluster, {}, SchedulingPolicy::kProgram).Take();
    const Result<StepPlan> plan = LayOutPipeline(*problem, asked.schedule);
    ASSERT_TRUE(plan.ok()) << plan.error().ToString();
    RunLayouts(plan.value().layouts, cluster.device_count(), {}, through_file);
  }
};

TEST_P(ExecutedPipelines, GiveTheStep) {
  const auto layers = static_cast<int64_t>(LayersOf(original()).names.size());
  ASSERT_GE(layers, 2);
  const Draws draws = DrawsOr(8);  // two of each schedule
  for (int i = draws.from; i < draws.to && !HasFailure(); ++i) {
    Random random(static_cast<uint64_t>(i));
    const std::string schedule(kPipelineSchedules[static_cast<size_t>(i) % 4]);
    const bool interleaved = schedule == "interleaved";
    Rewriting asked{.schedule = schedule, .chunks = interleaved ? 2 : 1};
    const bool cuts_twice = layers >= 4 && MayBeCut(GetParam());
    if (interleaved && !cuts_twice) asked.schedule = "1f1b", asked.chunks = 1;
    asked.stages =
        2 + static_cast<int64_t>(random.Below(static_cast<uint64_t>(layers / asked.chunks) - 1));
    asked.stages = std::min<int64_t>(asked.stages, 4);
    const std::vector<int64_t> numbers = {1, 2, 3, 4, 6, 8};
    asked.micro_batches = asked.chunks > 1 ? (asked.stages == 2 ? 4 : asked.stages)
                                           : numbers[random.Below(numbers.size())];
    if (!MayBeCut(GetParam())) asked.micro_batches = 1;
    if (random.Below(3) == 0) asked.recompute = {"full"};
    if (random.Below(2) == 0) {
      asked.layers = DrawStageLayers(random, layers, asked.stages * asked.chunks);
    }
    RunPipeline(asked, 1 + static_cast<int64_t>(random.Below(2)), /*through_file=*/i % 2 == 0);
  }
}

// Chunks of two to four stages in every number that the layers allow, in one to three rounds of micro-batches.
class ExecutedInterleaved : public ExecutedPipelines {};

TEST_P(ExecutedInterleaved, GivesTheStep) {
  const auto layers = static_cast<int64_t>(LayersOf(original()).names.size());
  const auto below = [](Random& random, int64_t end) {
    return static_cast<int64_t>(random.Below(static_cast<uint64_t>(end)));
  };
  const Draws draws = DrawsOr(2);
  for (int i = draws.from; i < draws.to && !HasFailure(); ++i) {
    Random random(static_cast<uint64_t>(i));
    Rewriting asked{.schedule = "interleaved"};
    const int64_t most_stages = std::min<int64_t>(4, layers / 2);
    asked.stages = 2 + below(random, most_stages - 1);
    asked.chunks = 2 + below(random, layers / asked.stages - 1);
    do {
      asked.micro_batches = asked.stages * (1 + below(random, 3));
    } while (batch_ % asked.micro_batches != 0 || asked.micro_batches > 8);
    if (random.Below(3) == 0) asked.recompute = {"full"};
    if (random.Below(2) == 0) {
      asked.layers = DrawStageLayers(random, layers, asked.stages * asked.chunks);
    }
    RunPipeline(asked, 1 + below(random, 2), /*through_file=*/i % 2 == 0);
  }
}

std::vector<TinyModel> ModelsOfLayers() {
  std::vector<TinyModel> models = ModelsOfMicroBatches();
  std::erase_if(models, [](const TinyModel& model) {
    return std::string(model.model) == "mlp" || std::string(model.model) == "rnnlm-2";
  });
  // With grouped queries, and with experts in one weight, whose loss leaves but one micro-batch.
  const std::set<std::string> more = {"llama-3-8b", "mixtral-8x7b"};
  for (const TinyModel& model : TinyModels()) {
    const bool as_is =
        model.precision == CapturePrecision::kAsIs && model.training == Training::kAdam;
    if (as_is && more.contains(model.model)) models.push_back(model);
  }
  return models;
}

// Tied embeddings, grouped queries, experts: of layers for up to four stages of several chunks.
std::vector<TinyModel> DeepModels() {
  return {{"gpt-2", Training::kAdam, With(kTinyGpt2, "layers", 8)},
          {"llama-3-8b", Training::kAdam, With(kTinyLlama, "layers", 6)},
          {"moe-transformer", Training::kAdam, With(With(kTinyMoe, "balance", 0), "layers", 4)}};
}

INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedPipelines, ::testing::ValuesIn(ModelsOfLayers()),
                         [](const auto& test) { return NameOf(test.param); });
INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedInterleaved, ::testing::ValuesIn(DeepModels()),
                         [](const auto& test) { return NameOf(test.param); });

}  // namespace
}  // namespace placewright
