// What an agent sees, what an episode is worth and what is learned from it, each number by hand: step
// times and starts are scripted, and the network's numbers are set so that its gradient shows them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "placeto/agent/agent.h"
#include "placeto/agent/stored_numbers.h"

namespace placewright {
namespace {

using NamedNumbers = std::map<std::string, std::vector<float>>;

struct ScriptedCase {
  std::vector<double> time, bytes;
  std::vector<std::pair<int32_t, int32_t>> edges;
  std::vector<std::vector<int32_t>> allowed;
  std::vector<int32_t> order, first;
  int32_t devices = 2;
  std::vector<double> costs;                // logarithm of the step time, by evaluation
  std::vector<std::vector<double>> starts;  // by evaluation; after the last, the last
};

class ScriptedEnvironment : public PlacetoEnvironment {
 public:
  explicit ScriptedEnvironment(const ScriptedCase& script) : script_(script) {}
  PlacetoOutcome Evaluate(std::span<const int32_t> device_of,
                          std::vector<double>& starts) override {
    const size_t call = seen.size();
    seen.emplace_back(device_of.begin(), device_of.end());
    starts.assign(device_of.size(), 0);
    if (!script_.starts.empty()) starts = script_.starts[std::min(call, script_.starts.size() - 1)];
    return {std::exp(script_.costs.at(call)), 0};
  }
  std::vector<std::vector<int32_t>> seen;

 private:
  const ScriptedCase& script_;
};

// Nothing is learned (the learning rate is 0) and no gradient is cut, so that Adam's first moments,
// m = 0.9 m + 0.1 g, show the gradient g of every episode.
class ScriptedRun {
 public:
  ScriptedRun(ScriptedCase script, PlacetoOptions options, const NamedNumbers& numbers = {})
      : script_(std::move(script)),
        graph_(script_.time, script_.bytes, script_.edges),
        environment_(script_),
        learner_(std::make_shared<PlacetoLearner>(
            script_.devices, options.baseline == PlacetoOptions::Baseline::kLearned,
            PlacetoLearnerOptions{0, 0}, Random(1))) {
    StoredPolicy policy;
    learner_->Store(policy, false);
    for (auto& [name, tensor] : policy.parameters) {
      const auto given = numbers.find(name);
      const size_t size = NumbersOf<float>(policy.parameters, name).Take().size();
      tensor = StoredNumbers<float>(
          given == numbers.end() ? std::vector<float>(size, 0) : given->second, tensor.sizes);
    }
    EXPECT_TRUE(learner_->Restore(policy, false).ok());
    options.greedy_every = 0;
    agent_ = std::make_unique<PlacetoAgent>(
        PlacetoTask{&graph_, &environment_, script_.allowed, script_.order}, options, learner_,
        Random(5), script_.first);
  }

  // One episode; the gradient that it leaves, by place.
  std::vector<double> Episode() {
    const int64_t episodes = agent_->episodes();
    while (agent_->episodes() == episodes) agent_->Step();
    StoredPolicy policy;
    learner_->Store(policy, true);
    const auto moments = NumbersOf<float>(policy.state_tensors, "adam.first").Take();
    moments_.resize(moments.size(), 0);
    std::vector<double> gradient;
    for (size_t i = 0; i < moments.size(); ++i) {
      gradient.push_back(10.0 * (moments[i] - 0.9 * moments_[i]));
    }
    moments_ = moments;
    return gradient;
  }
  // By device, of the logits, summed over the visits.
  std::vector<double> LogitGradient() {
    const std::vector<double> gradient = Episode();
    const auto biases = gradient.begin() + static_cast<int64_t>(layout().classifier[2].biases);
    return {biases, biases + script_.devices};
  }

  PlacetoAgent& agent() { return *agent_; }
  const PlacetoLayout& layout() const { return learner_->layout(); }
  const std::vector<std::vector<int32_t>>& seen() const { return environment_.seen; }

 private:
  const ScriptedCase script_;
  const PlacetoGraph graph_;
  ScriptedEnvironment environment_;
  std::shared_ptr<PlacetoLearner> learner_;
  std::unique_ptr<PlacetoAgent> agent_;
  std::vector<float> moments_;
};

std::vector<float> IdentityWeights(int32_t size) {
  std::vector<float> weights(static_cast<size_t>(size * size), 0);
  for (int32_t i = 0; i < size; ++i) weights[static_cast<size_t>(i * size + i)] = 1;
  return weights;
}

// Features plus `shift` reach the classifier unchanged: nothing is swept along the graph, relations are
// plain sums.
NamedNumbers FeaturesPassedOn(int32_t devices, float shift) {
  const int32_t width = 5 + devices;
  NamedNumbers numbers;
  for (const char* layer : {"transform.0", "transform.1", "transform.2"}) {
    numbers[std::string(layer) + ".weight"] = IdentityWeights(width);
  }
  numbers["transform.0.bias"].assign(static_cast<size_t>(width), shift);
  for (const std::string of : {"ancestors", "descendants", "peers"}) {
    for (const char* layer : {".f.0", ".f.1", ".g.0", ".g.1"}) {
      numbers[of + layer + ".weight"] = IdentityWeights(2 * width);
    }
  }
  return numbers;
}

// Node 3 -> 1, 2 -> 0: numbered against the levels.
ScriptedCase ScriptedDiamond() {
  ScriptedCase script;
  script.time = {1, 2, 8, 4};
  script.bytes = {0, 4, 16, 12};
  script.edges = {{3, 1}, {3, 2}, {1, 0}, {2, 0}};
  script.allowed.assign(4, {0, 1, 2});
  script.order = {0, 2, 1, 3};
  script.first = {2, 1, 0, 1};
  script.devices = 3;
  return script;
}

// What the network gets of the state of visit `visit`: features plus 2, summed over the ancestors, the
// descendants, the peers of the visited node, and its own. With returns of 0 (discount 0, equal
// times) but for 1 at that visit, and an expectation of 1 * 1 - 1 = 0, the gradient of half the
// squared error is -1 times these, at the weights of a unit that is 1 everywhere.
std::vector<double> JoinedAtVisit(ScriptedCase script, size_t visit,
                                  std::vector<std::vector<int32_t>>& seen) {
  script.costs.assign(script.order.size() + 1, 0);
  for (size_t call = 0; call <= visit; ++call) script.costs[call] = 1;
  PlacetoOptions options;
  options.baseline = PlacetoOptions::Baseline::kLearned;
  options.entropy = options.discount = 0;
  NamedNumbers numbers = FeaturesPassedOn(script.devices, 2);
  const size_t joined = 8 * (5 + static_cast<size_t>(script.devices));
  for (const char* name : {"value.0.bias", "value.1.weight"}) {
    numbers[name].assign(joined, 0);
    numbers[name][0] = 1;
  }
  numbers["value.1.bias"] = {-1};
  ScriptedRun run(script, options, numbers);
  const std::vector<double> gradient = run.Episode();
  seen = run.seen();
  const PlacetoLayer& layer = run.layout().value[0];
  std::vector<double> result;
  for (size_t i = 0; i < joined; ++i) {
    result.push_back(-gradient[layer.weights + i * static_cast<size_t>(layer.columns)]);
  }
  return result;
}

struct FeatureRow {
  double time, bytes, done, current, start;
};
using FeatureRows = std::array<FeatureRow, 4>;  // by node

void ExpectFeatures(const ScriptedCase& script, size_t visit, const FeatureRows& rows) {
  // Ancestors, descendants, peers.
  static const std::vector<int32_t> kRelated[4][3] = {
      {{1, 2, 3}, {}, {}}, {{3}, {0}, {2}}, {{3}, {0}, {1}}, {{}, {0, 1, 2}, {}}};
  SCOPED_TRACE(visit);
  std::vector<std::vector<int32_t>> seen;
  const std::vector<double> joined = JoinedAtVisit(script, visit, seen);
  const int32_t visited = script.order[visit];
  for (size_t part = 0; part < 4; ++part) {
    const std::vector<int32_t> nodes =
        part == 3 ? std::vector<int32_t>{visited} : kRelated[visited][part];
    std::vector<double> expected(8, 0);
    for (const int32_t node : nodes) {
      const auto& [time, bytes, done, current, start] = rows[static_cast<size_t>(node)];
      const double numbers[] = {time, bytes, done, current, start};
      for (size_t i = 0; i < 8; ++i) expected[i] += 2 + (i < 5 ? numbers[i] : 0);
      expected[5 + static_cast<size_t>(seen[visit][static_cast<size_t>(node)])] += 1;
    }
    for (size_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(joined[16 * part + i], expected[i], 1e-5) << "part " << part << ", number " << i;
    }
  }
}

// Times over 8, bytes over 16. Starts before each visit, less that of the visited node, over the
// greatest difference either way:
//   node 0:  30 10 20 0, less 30 over 30       node 2: 100 20 80 0, less 80 over 80
//   node 1: 100 40 60 0, less 40 over 60       node 3:  50 10 25 0, less  0 over 50
TEST(PlacetoFeatures, AreThoseOfTheStateByHand) {
  ScriptedCase script = ScriptedDiamond();
  script.starts = {{30, 10, 20, 0}, {100, 20, 80, 0}, {100, 40, 60, 0}, {50, 10, 25, 0}};
  ExpectFeatures(script, 0,
                 {{{0.125, 0, 0, 1, 0},
                   {0.25, 0.25, 0, 0, -2 / 3.0},
                   {1, 1, 0, 0, -1 / 3.0},
                   {0.5, 0.75, 0, 0, -1}}});
  ExpectFeatures(script, 1,
                 {{{0.125, 0, 1, 0, 0.25},
                   {0.25, 0.25, 0, 0, -0.75},
                   {1, 1, 0, 1, 0},
                   {0.5, 0.75, 0, 0, -1}}});
  ExpectFeatures(script, 2,
                 {{{0.125, 0, 1, 0, 1},
                   {0.25, 0.25, 0, 1, 0},
                   {1, 1, 1, 0, 1 / 3.0},
                   {0.5, 0.75, 0, 0, -2 / 3.0}}});
  ExpectFeatures(
      script, 3,
      {{{0.125, 0, 1, 0, 1}, {0.25, 0.25, 1, 0, 0.2}, {1, 1, 1, 0, 0.5}, {0.5, 0.75, 0, 1, 0}}});
  // With this seed every visited node leaves its first device, so that the rows show when it did.
  std::vector<std::vector<int32_t>> seen;
  JoinedAtVisit(script, 0, seen);
  for (size_t node = 0; node < 4; ++node) EXPECT_NE(seen[4][node], seen[0][node]) << node;
}

TEST(PlacetoFeatures, EqualStartsAreNoDifference) {
  ScriptedCase script = ScriptedDiamond();
  script.time = script.bytes = {0, 0, 0, 0};
  script.starts = {{7, 7, 7, 7}};
  ExpectFeatures(script, 1, {{{0, 0, 1, 0, 0}, {}, {0, 0, 0, 1, 0}, {}}});
}

// Logits are 1,000 for each ancestor on a device: the others follow where node 0 goes, not where it was
// when the episode began.
TEST(PlacetoFeatures, DevicesAreDrawnByThePlacementAsItStands) {
  ScriptedCase script;
  script.time = script.bytes = {1, 1, 1};
  script.edges = {{0, 1}, {1, 2}};
  script.allowed.assign(3, {0, 1, 2});
  script.order = script.first = {0, 1, 2};
  script.devices = 3;
  script.costs.assign(100, 0);
  NamedNumbers numbers = FeaturesPassedOn(3, 0);
  numbers["classifier.0.weight"].assign(64 * 128, 0);
  numbers["classifier.1.weight"].assign(128 * 64, 0);
  numbers["classifier.2.weight"].assign(64 * 3, 0);
  for (size_t device = 0; device < 3; ++device) {
    numbers["classifier.0.weight"][(5 + device) * 128 + device] = 1000;
    numbers["classifier.1.weight"][device * 64 + device] = 1;
    numbers["classifier.2.weight"][device * 3 + device] = 1;
  }
  ScriptedRun run(script, {}, numbers);
  std::vector<int64_t> ended(3, 0);
  for (int episode = 0; episode < 20; ++episode) {
    run.Episode();
    const auto leader = run.agent().device_of()[0];
    EXPECT_THAT(run.agent().device_of(), testing::ElementsAre(leader, leader, leader));
    ++ended[static_cast<size_t>(leader)];
  }
  EXPECT_THAT(ended, testing::Each(testing::Gt(0)));
}

// Each node has two devices of its own, which have probability 1/2: the gradient
// of a logit is (advantage) (1/2 - whether it was drawn).
ScriptedCase ApartCase(size_t nodes, std::vector<double> costs) {
  ScriptedCase script;
  script.time.assign(nodes, 1);
  script.bytes.assign(nodes, 1);
  for (int32_t node = 0; node < static_cast<int32_t>(nodes); ++node) {
    script.allowed.push_back({2 * node, 2 * node + 1});
    script.order.push_back(node);
    script.first.push_back(2 * node);
  }
  script.devices = 2 * static_cast<int32_t>(nodes);
  script.costs = std::move(costs);
  return script;
}
std::vector<double> AdvantagesOfEpisode(ScriptedRun& run) {
  const std::vector<double> gradient = run.LogitGradient();
  std::vector<double> advantages;
  for (size_t node = 0; node < run.agent().device_of().size(); ++node) {
    const bool first = run.agent().device_of()[node] == static_cast<int32_t>(2 * node);
    advantages.push_back(gradient[2 * node] / (first ? -0.5 : 0.5));
    EXPECT_NEAR(gradient[2 * node + 1], -gradient[2 * node], 1e-6);
  }
  return advantages;
}
void ExpectAdvantages(ScriptedRun& run, const std::vector<double>& expected) {
  EXPECT_THAT(AdvantagesOfEpisode(run), testing::Pointwise(testing::DoubleNear(2e-5), expected));
}

// Logarithms of times: 5 at first; an episode begins with the lowest so far.
//   5 | 4 6: returns (5-4) + (4-6) = -1 and -2     4 | 7 1: 3 and 6     1 | 3 2: -1 and 1
const std::vector<double> kThreeEpisodes = {5, 4, 6, 7, 1, 3, 2};

// Means -1 -2; 1 2; 1/3 5/3.
TEST(PlacetoBaseline, IsTheMeanOverEpisodesByHand) {
  PlacetoOptions options;
  options.entropy = 0;
  std::vector<double> costs = kThreeEpisodes;
  costs.insert(costs.end(), {9, 8, 7});
  ScriptedRun run(ApartCase(2, costs), options);
  ExpectAdvantages(run, {0, 0});
  ExpectAdvantages(run, {2, 4});
  ExpectAdvantages(run, {-4 / 3.0, -2 / 3.0});
  // Anew: 9 | 8 7 is a first episode again.
  run.agent().BeginAnew({0, 2});
  ExpectAdvantages(run, {0, 0});
  EXPECT_EQ(run.seen().size(), costs.size());
}

// Of a decay of 0.8: -1 -2; 0.8 * -1 + 0.2 * 3 = -0.2 and -1.6 + 1.2 = -0.4; -0.16 - 0.2 = -0.36 and
// -0.32 + 0.2 = -0.12.
TEST(PlacetoBaseline, IsTheMovingAverageByHand) {
  PlacetoOptions options;
  options.baseline = PlacetoOptions::Baseline::kMoving;
  options.baseline_decay = 0.8;
  options.entropy = 0;
  ScriptedRun run(ApartCase(2, kThreeEpisodes), options);
  ExpectAdvantages(run, {0, 0});
  ExpectAdvantages(run, {3.2, 6.4});
  ExpectAdvantages(run, {-0.64, 1.12});
}

// 5 | 4 6 3: gains 1 -2 3. Discounted by a half: 3; -2 + 1.5 = -0.5; 1 - 0.25 = 0.75. The network
// expects 0.
TEST(PlacetoReturns, AreDiscountedByHand) {
  PlacetoOptions options;
  options.baseline = PlacetoOptions::Baseline::kLearned;
  options.discount = 0.5;
  options.entropy = 0;
  ScriptedRun run(ApartCase(3, {5, 4, 6, 3}), options);
  ExpectAdvantages(run, {0.75, -0.5, 3});
  options.reward = PlacetoOptions::Reward::kSlowDown;
  ScriptedRun slower(ApartCase(3, {5, 4, 6, 3}), options);
  ExpectAdvantages(slower, {-0.75, 0.5, -3});
}

// Two visits, one with a choice of three devices, p = 1/2 1/4 1/4, and one without device 1, p = 2/3 0 1/3.
// With H = -sum p log(p + o), o = 0.001, and s = -log(p + o) - p / (p + o), the slope of H by a logit
// is p (s - sum p s), close to -p (log p + H):
//   1/2 1/4 1/4:  H = 1.036726, s = -0.306855 0.386286 0.386286, sum p s = 0.039716
//                 slopes -0.173285 0.086643 0.086643
//   2/3 . 1/3:    H = 0.634516, slopes -0.154032 . 0.154032
constexpr double kEntropySlopes[] = {-0.173285 - 0.154032, 0.086643, 0.086643 + 0.154032};

ScriptedCase UnequalCase() {
  ScriptedCase script;
  script.time = script.bytes = {1, 1};
  script.edges = {{0, 1}};
  script.allowed = {{0, 1, 2}, {0, 2}};
  script.order = {0, 1};
  script.first = {0, 0};
  script.devices = 3;
  script.costs = {1, 0, 3};
  return script;
}
const NamedNumbers kUnequal = {{"classifier.2.bias", {std::log(2.0F), 0, 0}}};

// An only episode has no advantage over its own mean: what is left is -(weight) times the slopes.
TEST(PlacetoEntropy, IsRaisedAlongItsSlope) {
  for (const double weight : {0.0, 1.0, 2.5}) {
    PlacetoOptions options;
    options.entropy = weight;
    ScriptedRun run(UnequalCase(), options, kUnequal);
    const std::vector<double> gradient = run.LogitGradient();
    for (size_t device = 0; device < 3; ++device) {
      EXPECT_NEAR(gradient[device], -weight * kEntropySlopes[device], 3e-5) << device;
    }
    EXPECT_NEAR(run.agent().entropy(), (1.036726 + 0.634516) / 2, 1e-5);
  }
  // Without the offset.
  double entropy = 0;
  for (const double p : {0.5, 0.25, 0.25}) entropy -= p * std::log(p);
  EXPECT_NEAR(-0.5 * (std::log(0.5) + entropy), -0.173285, 1e-3);
  EXPECT_NEAR(-0.25 * (std::log(0.25) + entropy), 0.086643, 1e-3);
}

// Beside returns of (1-0) + (0-3) = -2 and -3, of which the network expects 0.
TEST(PlacetoEntropy, IsAddedToWhatReturnsTeach) {
  PlacetoOptions options;
  options.baseline = PlacetoOptions::Baseline::kLearned;
  options.entropy = 0;
  ScriptedRun plain(UnequalCase(), options, kUnequal);
  options.entropy = 0.5;
  ScriptedRun with(UnequalCase(), options, kUnequal);
  const std::vector<double> without = plain.LogitGradient(), all = with.LogitGradient();
  ASSERT_EQ(plain.agent().device_of(), with.agent().device_of());
  const double p[2][3] = {{0.5, 0.25, 0.25}, {2 / 3.0, 0, 1 / 3.0}}, returns[2] = {-2, -3};
  for (int32_t device = 0; device < 3; ++device) {
    double taught = 0;
    for (size_t visit = 0; visit < 2; ++visit) {
      const double drawn = plain.agent().device_of()[visit] == device ? 1 : 0;
      taught += returns[visit] * (p[visit][device] - drawn);
    }
    EXPECT_NEAR(without[static_cast<size_t>(device)], taught, 1e-5) << device;
    EXPECT_NEAR(all[static_cast<size_t>(device)], taught - 0.5 * kEntropySlopes[device], 1e-5)
        << device;
  }
}

}  // namespace
}  // namespace placewright
