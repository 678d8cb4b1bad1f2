#include "search/strategies/layer_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

// What given cuts and choices come to; nothing where a stage does not fit.
std::optional<int64_t> TimeOf(const LayerProgram& program, const std::vector<size_t>& first,
                              const std::vector<size_t>& choice) {
  const size_t stages = first.size(), layers = choice.size();
  int64_t sum = 0, largest = 0;
  for (size_t stage = 0; stage < stages; ++stage) {
    const size_t end = stage + 1 < stages ? first[stage + 1] : layers;
    int64_t time = 0, memory = 0;
    for (size_t layer = first[stage]; layer < end; ++layer) {
      const LayerChoice& one = program.choices[stage][layer][choice[layer]];
      time += one.time;
      memory += one.memory;
      if (layer > first[stage]) time += program.conversion[choice[layer - 1]][choice[layer]];
    }
    if (memory > program.capacity[stage]) return std::nullopt;
    sum += time + (stage > 0 ? program.crossing[first[stage] - 1] : 0);
    largest = std::max(largest, time);
  }
  return sum + (program.micro_batches - 1) * largest;
}

// The best of all cuts and choices.
class Enumeration {
 public:
  explicit Enumeration(const LayerProgram& program)
      : program_(program), first_(program.choices.size()), choice_(program.choices[0].size()) {
    Cut(0, 0);
  }
  std::optional<int64_t> best() const { return best_; }

 private:
  void Cut(size_t stage, size_t from) {
    if (stage == first_.size()) return Choose(0);
    for (size_t at = from; at < choice_.size(); ++at) {
      if (stage == 0 && at > 0) return;
      first_[stage] = at;
      Cut(stage + 1, at + 1);
    }
  }
  void Choose(size_t layer) {
    if (layer == choice_.size()) {
      const std::optional<int64_t> time = TimeOf(program_, first_, choice_);
      if (time && (!best_ || *time < *best_)) best_ = time;
      return;
    }
    for (size_t c = 0; c < program_.choices[0][layer].size(); ++c) {
      choice_[layer] = c;
      Choose(layer + 1);
    }
  }

  const LayerProgram& program_;
  std::vector<size_t> first_, choice_;
  std::optional<int64_t> best_;
};

LayerProgram Draw(Random& random) {
  const auto draw = [&](int64_t end) {
    return static_cast<int64_t>(random.Below(static_cast<uint64_t>(end)));
  };
  LayerProgram program;
  const int64_t stages = 1 + draw(3), layers = stages + draw(4), choices = 1 + draw(3);
  program.micro_batches = 1 + draw(5);
  program.choices.resize(static_cast<size_t>(stages));
  for (auto& of_stage : program.choices) {
    program.capacity.push_back(5 + draw(60));
    of_stage.resize(static_cast<size_t>(layers));
    for (auto& of_layer : of_stage) {
      for (int64_t c = 0; c < choices; ++c) {
        of_layer.push_back({1 + draw(20), draw(20)});
      }
    }
  }
  program.conversion.resize(static_cast<size_t>(choices));
  for (auto& row : program.conversion) {
    for (int64_t c = 0; c < choices; ++c) row.push_back(draw(4));
  }
  for (int64_t i = 0; i < layers; ++i) program.crossing.push_back(draw(6));
  return program;
}

TEST(LayerProgram, EqualsEnumeration) {
  Random random(1);
  int fit = 0, do_not = 0;
  for (int i = 0; i < 500; ++i) {
    const LayerProgram program = Draw(random);
    const auto solved = SolveLayers(program);
    const auto best = Enumeration(program).best();
    ASSERT_EQ(solved.has_value(), best.has_value()) << i;
    ++(best ? fit : do_not);
    if (!best) continue;
    EXPECT_EQ(solved->time, *best) << i;
    // The solution is what it says it is.
    EXPECT_EQ(TimeOf(program, solved->first, solved->choice), solved->time) << i;
  }
  EXPECT_GT(fit, 200);
  EXPECT_GT(do_not, 20);
}

// A layer of 10 us keeps 4 bytes, or computes them again in 3 us more. Of four 10 bytes are held: two are kept. Equal
// solutions keep the later layers.
TEST(LayerProgram, ComputesAgainJustWhatDoesNotFit) {
  LayerProgram program;
  program.capacity = {10};
  program.choices = {std::vector<std::vector<LayerChoice>>(4, {{10, 4}, {13, 0}})};
  const LayerSolution solution = SolveLayers(program).value();
  EXPECT_EQ(solution.time, 2 * 13 + 2 * 10);
  EXPECT_THAT(solution.choice, ElementsAre(1, 1, 0, 0));
}

// A device that takes three times as long gets two of eight layers: 6 and 6, where equal stages take 4 and 12.
TEST(LayerProgram, SlowDevicesGetFewLayers) {
  LayerProgram program;
  program.micro_batches = 8;
  program.capacity = {100, 100};
  program.choices = {std::vector<std::vector<LayerChoice>>(8, {{1, 0}}),
                     std::vector<std::vector<LayerChoice>>(8, {{3, 0}})};
  const LayerSolution solution = SolveLayers(program).value();
  EXPECT_THAT(solution.first, ElementsAre(0, 6));
  EXPECT_EQ(solution.time, 6 + 6 + 7 * 6);
}

// The first of two stages holds the activations of two micro-batches, 2 * 3 bytes a layer, where the second holds 3: of six
// layers it has two.
TEST(LayerProgram, StagesThatHoldMoreHaveFewLayers) {
  LayerProgram program;
  program.micro_batches = 4;
  program.capacity = {12, 12};
  program.choices = {std::vector<std::vector<LayerChoice>>(6, {{1, 6}}),
                     std::vector<std::vector<LayerChoice>>(6, {{1, 3}})};
  EXPECT_THAT(SolveLayers(program).value().first, ElementsAre(0, 2));
  program.capacity = {12, 11};
  EXPECT_FALSE(SolveLayers(program).has_value());
}

}  // namespace
}  // namespace placewright
