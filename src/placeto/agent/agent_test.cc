// Episodes, returns and what is learned from them, on environments made up for it.
#include "placeto/agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/elementary.h"
#include "placeto/agent/stored_numbers.h"

namespace placewright {
namespace {

using testing::ElementsAre;
using Devices = std::vector<int32_t>;

TEST(Elementary, AreThoseOfLibm) {
  for (double x = -700; x < 700; x += 0.37) {
    EXPECT_NEAR(PortableExp(x) / std::exp(x), 1, 1e-13) << x;
    const double y = std::exp(x);
    EXPECT_NEAR(PortableLog(y), std::log(y), 1e-13 * std::max(1.0, std::abs(x))) << x;
  }
  EXPECT_EQ(PortableExp(0), 1);
  EXPECT_EQ(PortableExp(-1e9), 0);
  EXPECT_EQ(PortableLog(1), 0);
}

class MadeUpEnvironment : public PlacetoEnvironment {
 public:
  explicit MadeUpEnvironment(std::function<PlacetoOutcome(std::span<const int32_t>)> of)
      : of_(std::move(of)) {}
  PlacetoOutcome Evaluate(std::span<const int32_t> device_of,
                          std::vector<double>& starts) override {
    seen.emplace_back(device_of.begin(), device_of.end());
    starts.assign(device_of.size(), 0);
    for (size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<double>(i);
    return of_(device_of);
  }
  std::vector<Devices> seen;

 private:
  std::function<PlacetoOutcome(std::span<const int32_t>)> of_;
};

PlacetoGraph Chain(int32_t nodes) {
  const std::vector<double> ones(static_cast<size_t>(nodes), 1);
  std::vector<std::pair<int32_t, int32_t>> edges;
  for (int32_t i = 1; i < nodes; ++i) edges.emplace_back(i - 1, i);
  return PlacetoGraph(ones, ones, edges);
}

// Of a chain over two devices; the time grows with how many nodes are on device 0.
struct Fixture {
  explicit Fixture(const PlacetoOptions& options, int32_t nodes = 4, uint64_t seed = 1)
      : graph(Chain(nodes)),
        environment([](std::span<const int32_t> device_of) {
          double time = 1;
          for (const int32_t device : device_of) time *= device == 0 ? 2 : 1;
          return PlacetoOutcome{time, 0};
        }),
        learner(std::make_shared<PlacetoLearner>(
            2, options.baseline == PlacetoOptions::Baseline::kLearned,
            PlacetoLearnerOptions{0.02, 1.25}, Random(seed))) {
    PlacetoTask task{&graph, &environment, {}, {}};
    task.allowed.assign(static_cast<size_t>(nodes), {0, 1});
    for (int32_t i = nodes; i-- > 0;) task.order.push_back(i);  // backwards
    agent = std::make_unique<PlacetoAgent>(task, options, learner, Random(seed + 7),
                                           Devices(static_cast<size_t>(nodes), 0));
  }
  void RunEpisodes(int64_t count) {
    while (agent->episodes() < count) agent->Step();
  }

  PlacetoGraph graph;
  MadeUpEnvironment environment;
  std::shared_ptr<PlacetoLearner> learner;
  std::unique_ptr<PlacetoAgent> agent;
};

TEST(PlacetoAgent, VisitsNodesInOrderAndEvaluatesNoPlacementTwice) {
  PlacetoOptions options;
  options.uniform = options.remembers = true;
  Fixture made(options, 12);
  EXPECT_TRUE(made.agent->Step());
  EXPECT_EQ(made.environment.seen.back(), Devices(12, 0));  // the beginning
  made.RunEpisodes(1);
  // One node changes at a time, and they are visited backwards.
  std::vector<Devices>& seen = made.environment.seen;
  ASSERT_GT(seen.size(), 3U);
  size_t last = 12;
  for (size_t i = 1; i < seen.size(); ++i) {
    std::vector<size_t> changed;
    for (size_t node = 0; node < 12; ++node) {
      if (seen[i][node] != seen[i - 1][node]) changed.push_back(node);
    }
    ASSERT_EQ(changed.size(), 1U);
    EXPECT_LT(changed[0], last);
    last = changed[0];
  }
  made.RunEpisodes(50);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

// What the greedy episode 0 finds is no beginning; from episode 1 on the best is.
TEST(PlacetoAgent, EpisodesBeginWithTheBestPlacement) {
  PlacetoOptions options;
  options.uniform = options.remembers = true;
  Fixture made(options, 12);
  made.RunEpisodes(1);
  std::vector<Devices>& seen = made.environment.seen;
  const Devices end_of_greedy = seen.back();
  EXPECT_EQ(made.agent->best().time,
            4096);  // 2^12, of the given one: what a greedy episode finds does not count
  EXPECT_LT(made.agent->outcome().time, 4096);
  made.agent->Step();  // the first new placement of episode 1 comes from the given one
  EXPECT_EQ(seen.back()[0], 0);
  EXPECT_NE(end_of_greedy[0] + end_of_greedy[1] + end_of_greedy[2], 0);
  EXPECT_EQ(seen.back()[1] + seen.back()[2], 0);
  made.RunEpisodes(2);
  Devices best = made.agent->device_of();
  int64_t most = -1;
  for (size_t i = 0; i < seen.size(); ++i) {
    const auto ones = std::count(seen[i].begin(), seen[i].end(), 1);
    if (ones > most && i > 12) {
      most = ones;
      best = seen[i];
    }
  }
  made.agent->Step();
  EXPECT_EQ(seen.back()[0], best[0]);  // the last to be visited
}

// The likeliest placement after many episodes, drawn in a greedy one.
double Learned(PlacetoOptions options) {
  options.entropy = 0.001;
  options.greedy_every = 50;
  Fixture made(options);
  made.RunEpisodes(200);
  made.RunEpisodes(201);
  return made.agent->outcome().time;
}

TEST(PlacetoAgent, LearnsWhatItsRewardSays) {
  PlacetoOptions options;
  EXPECT_EQ(Learned(options), 1);
  options.baseline = PlacetoOptions::Baseline::kMoving;
  EXPECT_EQ(Learned(options), 1);
  options.baseline = PlacetoOptions::Baseline::kLearned;
  EXPECT_EQ(Learned(options), 1);
  // As the study's code has it, slower steps are what is learned.
  options.baseline = PlacetoOptions::Baseline::kMean;
  options.reward = PlacetoOptions::Reward::kSlowDown;
  EXPECT_EQ(Learned(options), 16);
}

// A network whose numbers are all 0 takes each device with probability 1/2 and expects nothing: then only
// the biases of its last layers have gradients, which can be written down.
class ZeroNetwork {
 public:
  explicit ZeroNetwork(PlacetoOptions options)
      : made_(
            [&] {
              options.greedy_every = 0;
              return options;
            }(),
            2) {
    StoredPolicy policy;
    made_.learner->Store(policy, true);
    for (auto* const tensors : {&policy.parameters, &policy.state_tensors}) {
      for (auto& [name, tensor] : *tensors) {
        const std::vector<float> zeros(NumbersOf<float>(*tensors, name).Take().size(), 0);
        tensor = StoredNumbers<float>(zeros, tensor.sizes);
      }
    }
    EXPECT_TRUE(made_.learner->Restore(policy, true).ok());
  }

  // What the episode does at node 1 and then, nodes are visited backwards, at node 0; and its returns:
  // the time is 1 and twice that for each node on device 0, so leaving it gains log 2, once.
  struct Episode {
    std::array<int32_t, 2> chosen;
    std::array<double, 2> returns;
  };
  Episode Run(std::array<int32_t, 2> begins) {
    made_.RunEpisodes(made_.agent->episodes() + 1);
    const Devices& ends = made_.agent->device_of();
    const double second = std::log(2.0) * (ends[0] - begins[0]);
    return {{ends[1], ends[0]}, {std::log(2.0) * (ends[1] - begins[1]) + second, second}};
  }
  // Of the last layers' biases, in the step that was just taken, of gradients 0 before: Adam keeps a tenth.
  std::vector<double> Gradient() const {
    StoredPolicy policy;
    made_.learner->Store(policy, true);
    const auto moments = NumbersOf<float>(policy.state_tensors, "adam.first").Take();
    const PlacetoLayout& layout = made_.learner->layout();
    std::vector<double> gradient;
    for (size_t i = 0; i < 2; ++i)
      gradient.push_back(10.0 * moments[layout.classifier[2].biases + i]);
    if (layout.has_value) gradient.push_back(10.0 * moments[layout.value[1].biases]);
    double rest = 0;
    for (const float moment : moments) rest += std::abs(10.0 * moment);
    for (const double one : gradient) rest -= std::abs(one);
    EXPECT_NEAR(rest, 0, 1e-6);
    return gradient;
  }

 private:
  Fixture made_;
};

// sum over i of -(G_i - v_i) (chosen - 1/2) and, of the expectation v_i = 0, v_i - G_i.
TEST(PlacetoAgent, AnEpisodesGradientIsThatComputedByHand) {
  PlacetoOptions options;
  options.baseline = PlacetoOptions::Baseline::kLearned;
  for (const auto reward :
       {PlacetoOptions::Reward::kImprovement, PlacetoOptions::Reward::kSlowDown}) {
    options.reward = reward;
    const double sign = reward == PlacetoOptions::Reward::kImprovement ? 1 : -1;
    ZeroNetwork network(options);
    const ZeroNetwork::Episode episode = network.Run({0, 0});
    double of_one = 0, of_value = 0;
    for (size_t i = 0; i < 2; ++i) {
      const double gain = sign * episode.returns[i];
      of_one -= gain * (episode.chosen[i] == 1 ? 0.5 : -0.5);
      of_value -= gain;
    }
    const std::vector<double> gradient = network.Gradient();
    ASSERT_EQ(gradient.size(), 3U);
    const double length = std::sqrt(2 * of_one * of_one + of_value * of_value);
    const double cut = length > 1.25 ? 1.25 / length : 1;
    EXPECT_NEAR(gradient[1], cut * of_one, 1e-6);
    EXPECT_NEAR(gradient[0], -cut * of_one, 1e-6);
    EXPECT_NEAR(gradient[2], cut * of_value, 1e-6);
  }
}

// Of the mean of all episodes, the first leaves nothing to be learned, and the second half the difference.
TEST(PlacetoAgent, TheMeanBaselineCountsTheEpisodeItself) {
  ZeroNetwork network({});
  const ZeroNetwork::Episode first = network.Run({0, 0});
  for (const double one : network.Gradient()) EXPECT_EQ(one, 0);
  // It begins with the best of what the first has come to; here every change is one for the better.
  const ZeroNetwork::Episode second = network.Run({first.chosen[1], first.chosen[0]});
  double of_one = 0;
  for (size_t i = 0; i < 2; ++i) {
    const double advantage = (second.returns[i] - first.returns[i]) / 2;
    of_one -= advantage * (second.chosen[i] == 1 ? 0.5 : -0.5);
  }
  EXPECT_NE(of_one, 0);  // with this seed
  const std::vector<double> gradient = network.Gradient();
  const double length = std::sqrt(2.0) * std::abs(of_one);
  EXPECT_NEAR(gradient[1], of_one * (length > 1.25 ? 1.25 / length : 1), 1e-6);
}

TEST(PlacetoAgent, MemoryThatLacksCosts) {
  PlacetoOptions options;
  options.memory_penalty = 2;
  Fixture made(options, 2);
  MadeUpEnvironment lacking([](std::span<const int32_t> device_of) {
    return PlacetoOutcome{std::exp(1.0), device_of[0] == 0 ? 0.25 : 0};
  });
  PlacetoTask task{&made.graph, &lacking, {{0, 1}, {0, 1}}, {0, 1}};
  PlacetoAgent agent(task, options, made.learner, Random(1), {0, 0});
  agent.Step();
  EXPECT_NEAR(agent.cost(), 1 + 2 * 0.25, 1e-12);
}

TEST(PlacetoAgent, NodesWithoutAChoiceAreNotVisited) {
  Fixture made({}, 3);
  PlacetoTask task{&made.graph, &made.environment, {{0, 1}, {1}, {0, 1}}, {0, 1, 2}};
  PlacetoAgent agent(task, {}, made.learner, Random(1), {0, 1, 0});
  while (agent.episodes() < 40) EXPECT_TRUE(agent.Step());
  for (const Devices& devices : made.environment.seen) EXPECT_EQ(devices[1], 1);
  PlacetoTask none{&made.graph, &made.environment, {{0}, {1}, {0}}, {0, 1, 2}};
  PlacetoAgent idle(none, {}, made.learner, Random(1), {0, 1, 0});
  EXPECT_FALSE(idle.Step());
}

TEST(PlacetoAgent, UniformPoliciesLearnNothing) {
  PlacetoOptions options;
  options.uniform = true;
  Fixture made(options);
  const std::vector<float> before(made.learner->values().begin(), made.learner->values().end());
  made.RunEpisodes(40);
  EXPECT_THAT(made.learner->values(), testing::ElementsAreArray(before));
  int64_t ones = 0;
  for (const Devices& devices : made.environment.seen) ones += devices[3];
  EXPECT_GT(ones, 0);
}

// Adam's first step is the learning rate in the direction of the gradient's sign, whatever its size,
// and a long gradient is cut: g / (|g| / 1.25).
TEST(PlacetoLearner, StepsAsAdamDoes) {
  PlacetoLearner learner(2, false, {0.5, 1}, Random(1));
  const std::vector<float> before(learner.values().begin(), learner.values().end());
  std::vector<float> gradient(before.size(), 0);
  gradient[0] = 30;
  gradient[1] = -40;  // cut to 0.6, -0.8
  learner.Descend(gradient);
  EXPECT_NEAR(learner.values()[0], before[0] - 0.5, 1e-6);
  EXPECT_NEAR(learner.values()[1], before[1] + 0.5, 1e-6);
  EXPECT_EQ(learner.values()[2], before[2]);
  // m = .9 * .06 + .1 * .06 of 1 - .81; v = .999 * .00036 + .001 * .0036 of 1 - .998001:
  // m^ = (.054 + .006) / .19 = .3157895, v^ = (.00035964 + .0000036) / .001999 = .1817109
  gradient[0] = 0.06F;
  gradient[1] = 0;
  learner.Descend(gradient);
  EXPECT_NEAR(learner.values()[0], before[0] - 0.5 - 0.5 * 0.3157895 / std::sqrt(0.1817109), 1e-5);
}

TEST(PlacetoLearner, IsStoredAndRefusedWhereItDoesNotFit) {
  PlacetoLearner learner(3, true, {}, Random(1)), other(3, true, {}, Random(2)),
      narrow(2, true, {}, Random(1));
  std::vector<float> gradient(learner.values().size(), 0.001F);
  learner.Descend(gradient);
  StoredPolicy policy;
  learner.Store(policy, true);
  // Padding is no parameter: it keeps what a real gradient never gives it.
  ASSERT_TRUE(other.Restore(policy, true).ok());
  StoredPolicy again;
  other.Store(again, true);
  for (const auto& [name, tensor] : policy.parameters) {
    EXPECT_EQ(again.parameters.at(name).bytes, tensor.bytes) << name;
  }
  EXPECT_EQ(again.state, policy.state);
  EXPECT_EQ(narrow.Restore(policy, false).error().code, ErrorCode::kPlanMismatch);
  policy.parameters.erase("classifier.2.bias");
  EXPECT_EQ(other.Restore(policy, false).error().code, ErrorCode::kField);
}

}  // namespace
}  // namespace placewright
