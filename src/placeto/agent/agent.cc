#include "placeto/agent/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/elementary.h"
#include "placeto/agent/stored_numbers.h"

namespace placewright {
namespace {

constexpr double kEntropyOffset = 1e-3;
constexpr int32_t kStatesAtATime = 8;

// Of placements whose outcome is kept: about so many devices and starts.
constexpr size_t kKnownNumbers = 4'000'000;

// Numbers of a node before its device, one-hot.
enum Feature : size_t { kCost, kBytes, kDone, kCurrent, kStart, kDevice };

}  // namespace

PlacetoAgent::PlacetoAgent(PlacetoTask task, const PlacetoOptions& options,
                           std::shared_ptr<PlacetoLearner> learner, Random random,
                           std::vector<int32_t> first)
    : task_(std::move(task)),
      options_(options),
      learner_(std::move(learner)),
      random_(random),
      pass_(*task_.graph, learner_->layout()),
      device_of_(std::move(first)),
      gradient_(learner_->layout().size, 0) {
  PW_CHECK(device_of_.size() == static_cast<size_t>(task_.graph->size()));
  for (const int32_t origin : task_.order) {
    if (task_.allowed[static_cast<size_t>(origin)].size() > 1) {
      order_.push_back(task_.graph->NodeOf(origin));
    }
  }
  baselines_.assign(order_.size(), 0);
  best_.device_of = device_of_;
}

bool PlacetoAgent::Step() {
  if (order_.empty()) return false;
  if (!begun_) {
    Evaluate();
    best_ = {device_of_, starts_, outcome_, cost_};
    begun_ = true;
    return true;
  }
  if (position_ == 0) BeginEpisode();
  for (bool evaluated = false; !evaluated;) {
    const int32_t node = order_[position_];
    int32_t& device = device_of_[static_cast<size_t>(task_.graph->Origin(node))];
    const int32_t chosen = Choose(node);
    device = visits_[position_].device = chosen;
    evaluated = Evaluate();
    costs_.push_back(cost_);
    if (cost_ < found_.cost) found_ = {device_of_, starts_, outcome_, cost_};
    if (++position_ == order_.size()) {
      EndEpisode();
      break;
    }
  }
  return true;
}

void PlacetoAgent::BeginAnew(std::vector<int32_t> first) {
  PW_CHECK(AtEpisodeEnd());
  device_of_ = std::move(first);
  begun_ = false;
  learned_ = 0;
  std::fill(baselines_.begin(), baselines_.end(), 0.0);
}

bool PlacetoAgent::Evaluate() {
  uint64_t hash = 0;
  if (options_.remembers) {
    Random state(device_of_.size());
    for (const int32_t device : device_of_) state = state.Fork(static_cast<uint64_t>(device));
    hash = state.Next();
  }
  const auto found = known_.find(hash);
  const bool known = found != known_.end() && found->second.device_of == device_of_;
  if (known) {
    outcome_ = found->second.outcome;
    starts_ = found->second.starts;
    cost_ = found->second.cost;
    return false;
  }
  outcome_ = task_.environment->Evaluate(device_of_, starts_);
  cost_ = PortableLog(std::max(outcome_.time, std::numeric_limits<double>::min())) +
          options_.memory_penalty * outcome_.lacking;
  if (!options_.remembers) return true;
  if (known_.size() >= kKnownNumbers / (1 + device_of_.size())) known_.clear();
  known_[hash] = {device_of_, starts_, outcome_, cost_};
  return true;
}

void PlacetoAgent::BeginEpisode() {
  device_of_ = best_.device_of;
  starts_ = best_.starts;
  outcome_ = best_.outcome;
  cost_ = best_.cost;
  costs_ = {cost_};
  found_ = best_;
  visits_.resize(order_.size());
}

int32_t PlacetoAgent::Choose(int32_t node) {
  const std::vector<int32_t>& allowed =
      task_.allowed[static_cast<size_t>(task_.graph->Origin(node))];
  Visit& visit = visits_[position_];
  visit.node = node;
  if (options_.uniform) return allowed[random_.Below(allowed.size())];
  visit.starts.resize(starts_.size());
  for (int32_t i = 0; i < task_.graph->size(); ++i) {
    visit.starts[static_cast<size_t>(i)] =
        static_cast<float>(starts_[static_cast<size_t>(task_.graph->Origin(i))]);
  }
  if (version_ != learner_->version()) {
    pass_.SetValues(learner_->values());
    version_ = learner_->version();
  }
  pass_.Reserve(1);
  FillFeatures(position_, device_of_, 0);
  pass_.Forward({&node, 1});
  Probabilities(node, pass_.Logits(0), probabilities_);
  if (greedy()) {
    return static_cast<int32_t>(std::max_element(probabilities_.begin(), probabilities_.end()) -
                                probabilities_.begin());
  }
  double left = random_.Unit();
  for (const int32_t device : allowed) {
    left -= probabilities_[static_cast<size_t>(device)];
    if (left < 0) return device;
  }
  return allowed.back();
}

void PlacetoAgent::FillFeatures(size_t i, std::span<const int32_t> device_of, int32_t state) {
  const PlacetoGraph& graph = *task_.graph;
  const Visit& visit = visits_[i];
  const float now = visit.starts[static_cast<size_t>(visit.node)];
  float greatest = 0;
  for (const float start : visit.starts) greatest = std::max(greatest, std::abs(start - now));
  for (int32_t node = 0; node < graph.size(); ++node) {
    const auto n = static_cast<size_t>(node);
    const std::span<float> to = pass_.Features(node, state);
    std::fill(to.begin(), to.end(), 0.0F);
    to[kCost] = static_cast<float>(graph.relative_cost()[n]);
    to[kBytes] = static_cast<float>(graph.relative_bytes()[n]);
    if (greatest > 0) to[kStart] = (visit.starts[n] - now) / greatest;
    to[kDevice + static_cast<size_t>(device_of[static_cast<size_t>(graph.Origin(node))])] = 1;
  }
  for (size_t done = 0; done < i; ++done) pass_.Features(visits_[done].node, state)[kDone] = 1;
  pass_.Features(visit.node, state)[kCurrent] = 1;
}

void PlacetoAgent::Probabilities(int32_t node, std::span<const float> logits,
                                 std::vector<double>& p) const {
  const std::vector<int32_t>& allowed =
      task_.allowed[static_cast<size_t>(task_.graph->Origin(node))];
  p.assign(logits.size(), 0);
  double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const int32_t device : allowed) {
    greatest = std::max(greatest, static_cast<double>(logits[static_cast<size_t>(device)]));
  }
  const bool finite =
      std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isfinite(logit); });
  for (const int32_t device : allowed) {
    const auto d = static_cast<size_t>(device);
    sum += p[d] = finite ? PortableExp(logits[d] - greatest) : 1;
  }
  for (double& one : p) one /= sum;
}

void PlacetoAgent::EndEpisode() {
  if (!greedy()) {
    ++learned_;
    if (!options_.uniform) Learn();  // from where the episode began: before that changes
    if (found_.cost < best_.cost) best_ = found_;
  }
  ++episodes_;
  position_ = 0;
}

std::vector<double> PlacetoAgent::Returns() const {
  const double sign = options_.reward == PlacetoOptions::Reward::kImprovement ? 1 : -1;
  std::vector<double> returns(order_.size());
  double later = 0;
  for (size_t i = order_.size(); i-- > 0;) {
    later = sign * (costs_[i] - costs_[i + 1]) + options_.discount * later;
    returns[i] = later;
  }
  return returns;
}

void PlacetoAgent::Learn() {
  // The states are run through again, several at a time: to keep what a pass holds of every visit
  // would take more memory than the caches have.
  const std::vector<double> returns = Returns();
  const bool learned = options_.baseline == PlacetoOptions::Baseline::kLearned;
  std::vector<double> advantages = returns;
  for (size_t i = 0; i < returns.size() && !learned; ++i) {
    double& baseline = baselines_[i];
    if (options_.baseline == PlacetoOptions::Baseline::kMean) {
      baseline += returns[i];
      advantages[i] -= baseline / static_cast<double>(learned_);
    } else {
      const double decay = options_.baseline_decay;
      baseline = learned_ == 1 ? returns[i] : decay * baseline + (1 - decay) * returns[i];
      advantages[i] -= baseline;
    }
  }
  std::fill(gradient_.begin(), gradient_.end(), 0.0F);
  const auto devices = static_cast<size_t>(learner_->layout().devices);
  std::vector<int32_t> device_of = best_.device_of, nodes;
  std::vector<float> d_logits, d_values;
  entropy_ = 0;
  for (size_t first = 0; first < order_.size(); first += kStatesAtATime) {
    const size_t count = std::min<size_t>(kStatesAtATime, order_.size() - first);
    pass_.Reserve(static_cast<int32_t>(count));
    nodes.clear();
    for (size_t state = 0; state < count; ++state) {
      const Visit& visit = visits_[first + state];
      FillFeatures(first + state, device_of, static_cast<int32_t>(state));
      device_of[static_cast<size_t>(task_.graph->Origin(visit.node))] = visit.device;
      nodes.push_back(visit.node);
    }
    pass_.Forward(nodes);
    d_logits.assign(count * devices, 0);
    d_values.assign(learned ? count : 0, 0);
    for (size_t state = 0; state < count; ++state) {
      const Visit& visit = visits_[first + state];
      double advantage = advantages[first + state];
      if (learned) {
        d_values[state] = static_cast<float>(pass_.Value(static_cast<int32_t>(state)) - advantage);
        advantage = -d_values[state];
      }
      std::vector<double>& p = probabilities_;
      Probabilities(visit.node, pass_.Logits(static_cast<int32_t>(state)), p);
      double entropy = 0, mean_slope = 0;  // of the entropy by p
      const auto slope = [](double q) {
        return -PortableLog(q + kEntropyOffset) - q / (q + kEntropyOffset);
      };
      for (const double q : p) {
        entropy -= q * PortableLog(q + kEntropyOffset);
        mean_slope += q * slope(q);
      }
      entropy_ += entropy / static_cast<double>(order_.size());
      for (size_t device = 0; device < devices; ++device) {
        const double chosen = static_cast<int32_t>(device) == visit.device ? 1 : 0;
        d_logits[state * devices + device] =
            static_cast<float>(advantage * (p[device] - chosen) -
                               options_.entropy * p[device] * (slope(p[device]) - mean_slope));
      }
    }
    pass_.Backward(d_logits, d_values, gradient_);
  }
  learner_->Descend(gradient_);
}

void PlacetoAgent::Store(const std::string& prefix, StoredPolicy& policy) const {
  PW_CHECK(AtEpisodeEnd());
  policy.state[prefix + "episodes"] = fmt::to_string(episodes_);
  policy.state[prefix + "learned"] = fmt::to_string(learned_);
  policy.state[prefix + "random"] = fmt::to_string(random_.state());
  policy.state[prefix + "begun"] = begun_ ? "1" : "0";
  policy.state_tensors[prefix + "baselines"] = StoredNumbers<double>(baselines_);
  const std::vector<int64_t> devices(best_.device_of.begin(), best_.device_of.end());
  policy.state_tensors[prefix + "best"] = StoredNumbers<int64_t>(devices);
}

Status PlacetoAgent::Restore(const std::string& prefix, const StoredPolicy& policy) {
  const auto other = [] {
    return MakeError(ErrorCode::kPlanMismatch, "the training is of another graph or cluster", "",
                     "Give the graphs and the cluster that it began with.");
  };
  const auto integer = [&](const char* name) { return StoredInteger(policy.state, prefix + name); };
  PW_ASSIGN(const uint64_t episodes, integer("episodes"));
  PW_ASSIGN(const uint64_t learned, integer("learned"));
  PW_ASSIGN(const uint64_t random, integer("random"));
  PW_ASSIGN(const uint64_t begun, integer("begun"));
  PW_ASSIGN(std::vector<double> baselines,
            NumbersOf<double>(policy.state_tensors, prefix + "baselines"));
  PW_ASSIGN(const std::vector<int64_t> best,
            NumbersOf<int64_t>(policy.state_tensors, prefix + "best"));
  if (baselines.size() != baselines_.size() || best.size() != device_of_.size()) return other();
  for (size_t i = 0; i < best.size(); ++i) {
    const std::vector<int32_t>& allowed = task_.allowed[i];
    if (!std::binary_search(allowed.begin(), allowed.end(), best[i])) return other();
    device_of_[i] = static_cast<int32_t>(best[i]);
  }
  baselines_ = std::move(baselines);
  episodes_ = static_cast<int64_t>(episodes);
  learned_ = static_cast<int64_t>(learned);
  random_ = Random(random);
  if (begun != 0) {
    Evaluate();
    best_ = {device_of_, starts_, outcome_, cost_};
    begun_ = true;
  }
  return Ok();
}

}  // namespace placewright
