#include "learn/policy/following.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "learn/policy/categorical.h"
#include "learn/policy/table.h"

namespace placewright {
namespace {

// Of decisions for a plan: all are tried now and then, however sure the policy is.
constexpr double kUniformModes = 0.1;

// B(x; bound), almost x where x is small.
at::Tensor Bounded(const at::Tensor& values, double bound) {
  return bound * at::tanh(values / bound);
}

}  // namespace

FollowingPolicy::FollowingPolicy(std::unique_ptr<EncoderPlacerPolicy> inner, at::Tensor plans,
                                 at::Tensor said, double uniform,
                                 std::shared_ptr<Parameters> parameters)
    : parameters_(std::move(parameters)),
      inner_(std::move(inner)),
      plans_(plans.permute({2, 0, 1}).contiguous()),
      said_(said * kMeasure),
      uniform_(uniform) {
  const int64_t width = inner_->encoder().width(), count = plans_.size(0);
  const auto units = static_cast<double>(plans_.size(1)),
             devices = static_cast<double>(plans_.size(2));
  // Of a unit, the probability of another device is about (devices - 1) exp(-c).
  follow_ = std::max(1.0, std::log(units * (devices - 1) / kDeviations));
  mode_ = parameters_->Constant("mode", {1, said_.size(1)}, 0);
  mode_bias_ = parameters_->Constant("mode_bias", {count + 1}, 0);
  trust_ = parameters_->Constant("bounded_trust", {count, width}, 0);
  trust_bias_ = parameters_->Constant("bounded_trust_bias", {count}, 0);
}

FollowingPolicy::Logits FollowingPolicy::MakeLogits() const {
  const EncoderPlacerPolicy::Scored scored = inner_->Score();

  // [P, N, 1] times [P, N, devices].

  const at::Tensor learned = at::linear(scored.embeddings, trust_, trust_bias_).t().unsqueeze(2);
  const at::Tensor trust = follow_ + Bounded(learned, follow_ / 2);
  const at::Tensor bounded = Bounded(scored.logits, follow_ / 4);
  const at::Tensor modes = at::constant_pad_nd(at::linear(said_, mode_).view({-1}), {1, 0});
  return {(modes + mode_bias_).unsqueeze(0),
          at::cat({scored.logits.unsqueeze(0), bounded.unsqueeze(0) + trust * plans_})};
}

at::Tensor FollowingPolicy::Sample(int64_t count, Random& random,
                                   const Exploration& exploration) const {
  const at::NoGradGuard no_gradients;
  const Logits logits = MakeLogits();
  const at::TensorOptions numbers = logits.units.options();
  const at::Tensor modes = (logits.modes + ExplorationNoise({count, logits.modes.size(1)}, numbers,
                                                            random, exploration, kUniformModes))
                               .argmax(1, /*keepdim=*/true);
  const at::Tensor noise = ExplorationNoise({count, plans_.size(1), plans_.size(2)}, numbers,
                                            random, exploration, uniform_);
  const at::Tensor units =
      (logits.units.index_select(0, modes.squeeze(1)) + inner_->Shared(noise, random, exploration))
          .argmax(-1);
  return at::cat({modes, units}, 1);
}

Policy::Evaluated FollowingPolicy::Evaluate(const at::Tensor& decisions) const {
  const Logits logits = MakeLogits();
  const at::Tensor modes = decisions.narrow(1, 0, 1);
  const Evaluated of_mode = EvaluateSharedChoices(MixUniform(logits.modes, kUniformModes), modes);
  const Evaluated of_units =
      EvaluateChoices(MixUniform(logits.units, uniform_).index_select(0, modes.squeeze(1)),
                      decisions.narrow(1, 1, decisions.size(1) - 1));
  return {at::cat({of_mode.log_probability, of_units.log_probability}, 1),
          at::cat({of_mode.entropy.expand_as(of_mode.log_probability), of_units.entropy}, 1)};
}

std::vector<DeviceId> FollowingPolicy::DevicesOf(const at::Tensor& row) const {
  return inner_->DevicesOf(row.narrow(0, 1, row.size(0) - 1).contiguous());
}

at::Tensor FollowingPolicy::DecisionsFor(std::span<const DeviceId> device_of) const {
  const at::Tensor units = DeviceRow(device_of);
  // Of each plan, how much of the units it puts where they are to be.
  const at::Tensor same =
      plans_.cpu().gather(2, units.view({1, -1, 1}).expand({plans_.size(0), -1, 1})).sum({1, 2});
  return at::cat({same.argmax().view({1}) + 1, units});
}

at::Tensor FollowingPolicy::Varied(const at::Tensor& row, Random& random) const {
  return VaryDecision(row, 1, inner_->graph().forbidden, random);
}

}  // namespace placewright
