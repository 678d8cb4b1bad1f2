#include "placeto/agent/learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "placeto/agent/stored_numbers.h"

namespace placewright {
namespace {

constexpr double kFirstDecay = 0.9, kSecondDecay = 0.999, kEpsilon = 1e-8;

double Power(double base, int64_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) power *= base;
  }
  return power;
}

}  // namespace

PlacetoLearner::PlacetoLearner(int32_t devices, bool learned_baseline,
                               const PlacetoLearnerOptions& options, Random random)
    : layout_(devices, learned_baseline),
      options_(options),
      values_(FirstPlacetoValues<float>(layout_, random)),
      first_moments_(layout_.size, 0),
      second_moments_(layout_.size, 0) {}

void PlacetoLearner::Reset(Random random) {
  values_ = FirstPlacetoValues<float>(layout_, random);
  std::fill(first_moments_.begin(), first_moments_.end(), 0.0F);
  std::fill(second_moments_.begin(), second_moments_.end(), 0.0F);
  steps_ = 0;
  ++version_;
}

void PlacetoLearner::Descend(std::span<const float> gradient) {
  PW_CHECK(gradient.size() == values_.size());
  double square = 0;
  for (const float g : gradient) square += static_cast<double>(g) * g;
  const double norm = std::sqrt(square);
  if (!std::isfinite(norm)) return;  // sums along deep graphs may leave what a float holds
  const bool bounded = options_.gradient_norm > 0 && norm > options_.gradient_norm;
  const double scale = bounded ? options_.gradient_norm / norm : 1;
  ++steps_;
  ++version_;
  const double first = 1 - Power(kFirstDecay, steps_), second = 1 - Power(kSecondDecay, steps_);
  for (size_t i = 0; i < values_.size(); ++i) {
    const double g = gradient[i] * scale;
    const double mean = kFirstDecay * first_moments_[i] + (1 - kFirstDecay) * g;
    const double spread = kSecondDecay * second_moments_[i] + (1 - kSecondDecay) * g * g;
    first_moments_[i] = static_cast<float>(mean);
    second_moments_[i] = static_cast<float>(spread);
    values_[i] -= static_cast<float>(options_.learning_rate * (mean / first) /
                                     (std::sqrt(spread / second) + kEpsilon));
  }
}

void PlacetoLearner::Store(StoredPolicy& policy, bool optimizer) const {
  for (const PlacetoLayer* layer : layout_.layers()) {
    std::vector<float> weights;
    for (int32_t input = 0; input < layer->inputs; ++input) {
      const float* const row = values_.data() + layer->weights + input * layer->columns;
      weights.insert(weights.end(), row, row + layer->outputs);
    }
    policy.parameters[layer->name + ".weight"] =
        StoredNumbers<float>(weights, {layer->inputs, layer->outputs});
    policy.parameters[layer->name + ".bias"] = StoredNumbers<float>(
        std::span(values_.data() + layer->biases, static_cast<size_t>(layer->outputs)));
  }
  if (!optimizer) return;
  policy.state["adam.steps"] = fmt::to_string(steps_);
  policy.state_tensors["adam.first"] = StoredNumbers<float>(first_moments_);
  policy.state_tensors["adam.second"] = StoredNumbers<float>(second_moments_);
}

Status PlacetoLearner::Restore(const StoredPolicy& policy, bool optimizer) {
  PW_ASSIGN(const std::vector<float> last,
            NumbersOf<float>(policy.parameters, layout_.classifier[2].name + ".bias"));
  if (last.size() != static_cast<size_t>(layout_.devices)) {
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("the policy is made for {} devices, and the cluster has {}",
                                 last.size(), layout_.devices),
                     "", "Train a policy for this cluster.");
  }
  const auto mismatch = [](const std::string& name) {
    return MakeError(ErrorCode::kPlanMismatch, "the policy is of another network: " + name, "",
                     "Give a policy that this version of the program has trained.");
  };
  for (const PlacetoLayer* layer : layout_.layers()) {
    PW_ASSIGN(const std::vector<float> weights,
              NumbersOf<float>(policy.parameters, layer->name + ".weight"));
    PW_ASSIGN(const std::vector<float> biases,
              NumbersOf<float>(policy.parameters, layer->name + ".bias"));
    const auto outputs = static_cast<size_t>(layer->outputs);
    if (weights.size() != static_cast<size_t>(layer->inputs) * outputs ||
        biases.size() != outputs) {
      return mismatch(layer->name);
    }
    for (int32_t input = 0; input < layer->inputs; ++input) {
      const float* const from = weights.data() + static_cast<size_t>(input) * outputs;
      std::copy(from, from + outputs, values_.data() + layer->weights + input * layer->columns);
    }
    std::copy(biases.begin(), biases.end(), values_.data() + layer->biases);
  }
  ++version_;
  if (!optimizer) return Ok();
  PW_ASSIGN(std::vector<float> first, NumbersOf<float>(policy.state_tensors, "adam.first"));
  PW_ASSIGN(std::vector<float> second, NumbersOf<float>(policy.state_tensors, "adam.second"));
  PW_ASSIGN(const uint64_t steps, StoredInteger(policy.state, "adam.steps"));
  if (first.size() != layout_.size || second.size() != layout_.size) {
    return mismatch("the optimizer");
  }
  first_moments_ = std::move(first);
  second_moments_ = std::move(second);
  steps_ = static_cast<int64_t>(steps);
  return Ok();
}

}  // namespace placewright
