#include "learn/tag/tag_network.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "learn/nn/gradient_check.h"
#include "learn/rl/policy_optimizer.h"
#include "learn/store/stored_tensors.h"
#include "search/layouts/test_tiny_steps.h"
#include "search/tag/floor_prior.h"

namespace placewright {
namespace {

const at::TensorOptions kFloats = at::TensorOptions().dtype(at::kFloat);
const TagNetworkSize kTiny = {4, 2, 2, 2, 2}, kMiddle = {24, 8, 3, 8, 3};

std::vector<float> Draws(size_t count, Random& random) {
  std::vector<float> numbers(count);
  std::generate(numbers.begin(), numbers.end(), [&] { return static_cast<float>(random.Unit()); });
  return numbers;
}

// All sets of its device groups with all options.
TagLesson DrawLesson(size_t units, size_t devices, size_t edges, Random& random) {
  TagLesson lesson;
  TagGraph& graph = lesson.graph;
  graph.units = units;
  graph.devices = devices;
  graph.unit = Draws(units * kUnitFeatures, random);
  graph.device = Draws(devices * kDeviceFeatures, random);
  for (size_t i = 0; i < edges; ++i) {
    graph.data.push_back(
        {static_cast<int32_t>(random.Below(units)), static_cast<int32_t>(random.Below(units))});
  }
  graph.data_features = Draws(edges * kDataFeatures, random);
  graph.machine = Draws(devices * devices * kMachineFeatures, random);
  graph.place = Draws(units * devices * kPlaceFeatures, random);
  lesson.next = random.Below(units);
  for (uint32_t set = 1; set < 1U << devices; ++set) {
    for (size_t option = 0; option < kSliceOptionCount; ++option) {
      Slice slice;
      for (size_t group = 0; group < devices; ++group) {
        if ((set >> group & 1U) != 0) slice.groups.push_back(static_cast<int32_t>(group));
      }
      slice.option = static_cast<SliceOption>(option);
      lesson.slices.push_back(slice);
    }
  }
  lesson.target = Draws(lesson.slices.size(), random);
  const float sum = std::accumulate(lesson.target.begin(), lesson.target.end(), 0.0F);
  for (float& target : lesson.target) target /= sum;
  return lesson;
}

TagLesson DrawLesson(uint64_t seed) {
  Random random(seed);
  const size_t units = 1 + random.Below(20), devices = 1 + random.Below(3);
  return DrawLesson(units, devices, seed % 3 == 0 ? 0 : random.Below(3 * units), random);
}

TagBatch BatchOf(const std::vector<TagLesson>& lessons,
                 const at::TensorOptions& numbers = kFloats) {
  std::vector<const TagLesson*> all;
  for (const TagLesson& lesson : lessons) all.push_back(&lesson);
  return {all, numbers};
}

// One set of parameters as both implementations see it. Those that begin as zeros or ones are drawn.
struct BothNetworks {
  explicit BothNetworks(const TagNetworkSize& size, uint64_t seed = 1)
      : parameters(Random(seed), kFloats), ours(size, parameters), plain([&] {
          const at::NoGradGuard no_gradients;
          Random random(seed);
          StoredPolicy policy;
          for (const auto& [name, tensor] : parameters.named()) {
            if (tensor.dim() == 1) {
              for (int64_t i = 0; i < tensor.numel(); ++i) tensor[i] += random.Unit() - 0.5;
            }
            policy.parameters[name] = ToStored(tensor);
          }
          return TagNetwork::FromPolicy(size, policy).Take();
        }()) {}

  std::vector<float> Ours(const std::vector<TagLesson>& lessons) const {
    const at::NoGradGuard no_gradients;
    const at::Tensor scores = ours.Scores(BatchOf(lessons));
    return {scores.data_ptr<float>(), scores.data_ptr<float>() + scores.numel()};
  }
  std::vector<float> Plain(const TagLesson& lesson) const {
    std::vector<const Slice*> slices;
    for (const Slice& slice : lesson.slices) slices.push_back(&slice);
    return plain.Scores(lesson.graph, lesson.next, slices);
  }

  Parameters parameters;
  TagAutogradNetwork ours;
  TagNetwork plain;
};

void ExpectNear(const std::vector<float>& ours, const std::vector<float>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-5) << i;
}

TEST(TagAutogradNetwork, ScoresAsThePlainOneDoes) {
  for (const TagNetworkSize& size : {TagNetworkSize::Small(), kMiddle}) {
    const BothNetworks networks(size);
    for (uint64_t seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE(seed);
      const TagLesson lesson = DrawLesson(seed);
      ExpectNear(networks.Ours({lesson}), networks.Plain(lesson));
    }
  }
  const BothNetworks paper(TagNetworkSize::Paper());
  const TagLesson lesson = DrawLesson(4);
  ExpectNear(paper.Ours({lesson}), paper.Plain(lesson));
}

// Lessons of a batch do not see each other.
TEST(TagAutogradNetwork, ScoresLessonsOfABatchAsAlone) {
  const BothNetworks networks(kMiddle);
  std::vector<TagLesson> lessons;
  std::vector<float> alone;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    lessons.push_back(DrawLesson(seed));
    const std::vector<float> scores = networks.Ours({lessons.back()});
    alone.insert(alone.end(), scores.begin(), scores.end());
  }
  ExpectNear(networks.Ours(lessons), alone);
}

// A lesson of which unit and device group i have become number units[i] and devices[i].
TagLesson Renumbered(const TagLesson& lesson, const std::vector<int64_t>& units,
                     const std::vector<int64_t>& devices) {
  TagLesson other = lesson;
  const TagGraph& from = lesson.graph;
  TagGraph& to = other.graph;
  const auto copy = [](const std::vector<float>& rows, size_t row, std::vector<float>& to_rows,
                       size_t to_row, size_t columns) {
    std::copy_n(&rows[row * columns], columns, &to_rows[to_row * columns]);
  };
  const auto unit_of = [&](size_t unit) { return static_cast<size_t>(units[unit]); };
  const auto device_of = [&](size_t device) { return static_cast<size_t>(devices[device]); };
  for (size_t u = 0; u < from.units; ++u) {
    copy(from.unit, u, to.unit, unit_of(u), kUnitFeatures);
    for (size_t d = 0; d < from.devices; ++d) {
      copy(from.place, u * from.devices + d, to.place, unit_of(u) * from.devices + device_of(d),
           kPlaceFeatures);
    }
  }
  for (size_t d = 0; d < from.devices; ++d) {
    copy(from.device, d, to.device, device_of(d), kDeviceFeatures);
    for (size_t e = 0; e < from.devices; ++e) {
      copy(from.machine, d * from.devices + e, to.machine,
           device_of(d) * from.devices + device_of(e), kMachineFeatures);
    }
  }
  for (TagGraph::Data& edge : to.data) {
    edge.from = static_cast<int32_t>(unit_of(static_cast<size_t>(edge.from)));
    edge.to = static_cast<int32_t>(unit_of(static_cast<size_t>(edge.to)));
  }
  other.next = unit_of(lesson.next);
  for (Slice& slice : other.slices) {
    for (int32_t& group : slice.groups) {
      group = static_cast<int32_t>(device_of(static_cast<size_t>(group)));
    }
    std::sort(slice.groups.begin(), slice.groups.end());
  }
  return other;
}

TEST(TagAutogradNetwork, ScoresDoNotDependOnHowNodesAreNumbered) {
  const BothNetworks networks(TagNetworkSize::Small());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const TagLesson lesson = DrawLesson(seed);
    const auto units = RandomPermutation(static_cast<int64_t>(lesson.graph.units), random);
    const auto devices = RandomPermutation(static_cast<int64_t>(lesson.graph.devices), random);
    const TagLesson other = Renumbered(lesson, units, devices);
    ExpectNear(networks.Ours({other}), networks.Ours({lesson}));
    ExpectNear(networks.Plain(other), networks.Plain(lesson));
  }
}

TEST(TagAutogradNetwork, Gradients) {
  Random random(1);
  Parameters parameters(Random(1), kDoubles);
  const TagAutogradNetwork network(kTiny, parameters);
  const std::vector<TagLesson> lessons = {DrawLesson(4, 2, 5, random), DrawLesson(3, 1, 0, random)};
  const TagBatch batch = BatchOf(lessons, kDoubles);
  ExpectGradients(parameters.tensors(),
                  [&](const std::vector<at::Tensor>&) -> std::vector<at::Tensor> {
                    return {network.Scores(batch), network.Loss(batch)};
                  });
}

TEST(TagAutogradNetwork, LossIsTheCrossEntropyOfSoftmaxes) {
  const BothNetworks networks(kMiddle);
  const std::vector<TagLesson> lessons = {DrawLesson(1), DrawLesson(2)};
  double expected = 0;
  for (const TagLesson& lesson : lessons) {
    const std::vector<float> scores = networks.Plain(lesson);
    double sum = 0;
    for (const float score : scores) sum += std::exp(static_cast<double>(score));
    for (size_t i = 0; i < scores.size(); ++i) {
      expected -= lesson.target[i] * (static_cast<double>(scores[i]) - std::log(sum)) / 2;
    }
  }
  EXPECT_NEAR(networks.ours.Loss(BatchOf(lessons)).item<double>(), expected, 1e-5);
}

// States of a tiny step before its first decision, its second, and its third after the first slice: what floors expect
// are the targets.
std::vector<TagLesson> FloorLessons(const LayeredProblem& tiny) {
  LayoutBook book;
  const auto strategies = Strategies::Make(tiny.problem, book, {}).Take();
  const StrategyWork work(*tiny.layouts, *strategies);
  const TagFeatures features(*tiny.layouts, *strategies, work);
  FloorPrior floor(*strategies, work);
  std::vector<TagLesson> lessons;
  const auto add = [&](const std::vector<int32_t>& decided) {
    TagLesson lesson{features.Of(decided, nullptr), decided.size(), {}, {}};
    const std::vector<int32_t>& actions = strategies->MayHave(decided.size());
    std::vector<double> priors(actions.size());
    floor.Fill(decided, nullptr, actions, priors);
    const double sum = std::accumulate(priors.begin(), priors.end(), 0.0);
    for (size_t i = 0; i < actions.size(); ++i) {
      lesson.slices.push_back(strategies->slices()[static_cast<size_t>(actions[i])]);
      lesson.target.push_back(static_cast<float>(priors[i] / sum));
    }
    lessons.push_back(lesson);
  };
  add({});
  for (const int32_t first : strategies->MayHave(0)) add({first});
  for (const int32_t second : strategies->MayHave(1)) add({strategies->MayHave(0).front(), second});
  return lessons;
}

TEST(TagAutogradNetwork, OverfitsOneTopology) {
  LayeredProblem tiny(1, {}, /*layers=*/3);
  tiny.layouts->units = 3;
  const std::vector<TagLesson> lessons = FloorLessons(tiny);
  ASSERT_GE(lessons.size(), 15u);
  double entropy = 0;
  for (const TagLesson& lesson : lessons) {
    for (const float target : lesson.target) {
      entropy -= static_cast<double>(target) * std::log(static_cast<double>(target)) /
                 static_cast<double>(lessons.size());
    }
  }
  const auto parameters = std::make_shared<Parameters>(Random(1), kFloats);
  const TagAutogradNetwork network(TagNetworkSize::Small(), *parameters);
  PolicyOptimizer optimizer(parameters, 1e-3, 0.6);
  const TagBatch batch = BatchOf(lessons);
  EXPECT_GT(network.Loss(batch).item<double>() - entropy, 0.1);
  double above = 1;
  for (int step = 0; step < 500 && above >= 0.02; ++step) {
    const at::Tensor loss = network.Loss(batch);
    above = loss.item<double>() - entropy;
    optimizer.Climb(-loss);
  }
  EXPECT_LT(above, 0.02);
}

}  // namespace
}  // namespace placewright
