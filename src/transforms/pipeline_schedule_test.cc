#include "transforms/pipeline_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace placewright {
namespace {

using ::testing::HasSubstr;

struct Times {
  int64_t forward, backward, weights;  // of a micro-batch of a stage
};

// When all is done where each stage runs its sequence on equal stages without transfers.
int64_t EndOf(std::string_view schedule, const PipelineShape& shape, const Times& times) {
  const auto sequences = PipelineSequences(schedule, shape).Take();
  const bool apart = schedule == "zb-h1";
  std::map<PipelineItem, int64_t> ends;
  std::vector<int64_t> free(sequences.size());
  const std::vector<PipelineItem> merged = MergeSequences(sequences, shape).Take();
  for (const PipelineItem& item : merged) {
    int64_t& at = free[static_cast<size_t>(item.chunk % shape.stages)];
    const auto wait = [&](int32_t chunk, PipelinePass pass) {
      const auto it = ends.find({chunk, item.micro_batch, pass});
      if (it != ends.end()) at = std::max(at, it->second);
    };
    int64_t time = times.weights;
    if (item.pass == PipelinePass::kForward) {
      wait(item.chunk - 1, PipelinePass::kForward);
      time = times.forward;
    } else if (item.pass == PipelinePass::kBackward) {
      wait(item.chunk + 1, PipelinePass::kBackward);
      time = times.backward + (apart ? 0 : times.weights);
    }
    at += time / shape.chunks;
    ends[item] = at;
  }
  return *std::max_element(free.begin(), free.end());
}

// Forward passes whose backward pass (with zb-h1 gradients of weights) is still to come, at most.
int32_t MostHeld(std::string_view schedule, const PipelineShape& shape, size_t stage) {
  int32_t held = 0, most = 0;
  const auto last = schedule == "zb-h1" ? PipelinePass::kWeights : PipelinePass::kBackward;
  const auto sequences = PipelineSequences(schedule, shape).Take();
  for (const PipelineItem& item : sequences[stage]) {
    if (item.pass == PipelinePass::kForward) most = std::max(most, ++held);
    if (item.pass == last) --held;
  }
  return most;
}

constexpr Times kTimes[] = {{6, 6, 6}, {12, 24, 6}, {18, 12, 12}, {6, 30, 0}};

TEST(PipelineSchedules, IdleAsTheirClosedFormsSay) {
  for (const Times& t : kTimes) {
    const int64_t all = t.forward + t.backward + t.weights;
    for (int32_t p = 1; p <= 5; ++p) {
      for (int32_t m = p; m <= 4 * p; m += p) {
        EXPECT_EQ(EndOf("gpipe", {p, 1, m}, t), (m + p - 1) * all) << p << " " << m;
        EXPECT_EQ(EndOf("1f1b", {p, 1, m}, t), (m + p - 1) * all) << p << " " << m;
        EXPECT_EQ(EndOf("zb-h1", {p, 1, m}, t),
                  m * all + (p - 1) * (t.forward + t.backward - t.weights))
            << p << " " << m;
        for (const int32_t v : {2, 3}) {
          EXPECT_EQ(EndOf("interleaved", {p, v, m}, t), m * all + (p - 1) * all / v)
              << p << " " << v << " " << m;
        }
      }
    }
  }
}

TEST(PipelineSchedules, LongWeightGradientsDoNotShortenTheFirstStagesWait) {
  // p = 3, m = 6, F = 6, B = 6, W = 12: 6 x 24 + 2 x 6.
  EXPECT_EQ(EndOf("zb-h1", {3, 1, 6}, {6, 6, 12}), 156);
}

TEST(PipelineSchedules, HoldAsManyMicroBatchesAsTheirStageAllows) {
  for (int32_t p = 1; p <= 4; ++p) {
    for (int32_t m = 1; m <= 8; ++m) {
      for (int32_t stage = 0; stage < p; ++stage) {
        const auto at = static_cast<size_t>(stage);
        EXPECT_EQ(MostHeld("gpipe", {p, 1, m}, at), m);
        EXPECT_EQ(MostHeld("1f1b", {p, 1, m}, at), std::min(m, p - stage));
        EXPECT_LE(MostHeld("zb-h1", {p, 1, m}, at), std::min(m, p));
      }
    }
  }
}

TEST(PipelineSchedules, RefuseWhatTheyDoNotHave) {
  EXPECT_THAT(PipelineSequences("zigzag", {2, 1, 4}).error().message, HasSubstr("zigzag"));
  EXPECT_THAT(PipelineSequences("1f1b", {2, 2, 4}).error().message, HasSubstr("one chunk"));
  EXPECT_THAT(PipelineSequences("interleaved", {2, 1, 4}).error().message, HasSubstr("two chunks"));
  EXPECT_THAT(PipelineSequences("interleaved", {4, 2, 6}).error().message,
              HasSubstr("groups of 4"));
}

TEST(PipelineSchedules, OrdersThatDeadlockAreNamed) {
  constexpr auto kForward = PipelinePass::kForward, kBackward = PipelinePass::kBackward;
  // The first stage wants its backward pass before the forward pass that the second one waits for.
  const Error error = MergeSequences({{{0, 0, kForward}, {0, 1, kBackward}, {0, 1, kForward}},
                                      {{1, 0, kForward}, {1, 1, kForward}, {1, 1, kBackward}}},
                                     {2, 1, 2})
                          .error();
  EXPECT_EQ(error.code, ErrorCode::kTransform);
  EXPECT_THAT(error.message, HasSubstr("the backward pass of micro-batch 2 over chunk 1"));
  EXPECT_THAT(error.message, HasSubstr("the forward pass of micro-batch 2 over chunk 2"));
}

}  // namespace
}  // namespace placewright
