#include "learn/rl/policy_optimizer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace placewright {
namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;

}  // namespace

PolicyOptimizer::PolicyOptimizer(std::shared_ptr<const Parameters> parameters, double learning_rate,
                                 double gradient_norm, bool adam)
    : parameters_(std::move(parameters)),
      learning_rate_(learning_rate),
      gradient_norm_(gradient_norm),
      adam_(adam) {
  Reset();
}

void PolicyOptimizer::Reset() {
  steps_ = 0;
  moments_.clear();
  for (const auto& [name, tensor] : parameters_->named()) {
    moments_.push_back(
        {at::zeros(tensor.sizes(), tensor.options()), at::zeros(tensor.sizes(), tensor.options())});
  }
}

void PolicyOptimizer::Climb(const at::Tensor& objective, double rate_factor) {
  const Objective itself = [&] { return objective; };
  Climb({&itself, 1}, rate_factor);
}

void PolicyOptimizer::Climb(std::span<const Objective> objectives, double rate_factor) {
  const auto& named = parameters_->named();
  for (const auto& [name, tensor] : named) tensor.mutable_grad().reset();
  for (const Objective& objective : objectives) {
    (objective() / -static_cast<double>(objectives.size())).backward();
  }
  const at::NoGradGuard no_gradients;
  double scale = 1;
  if (gradient_norm_ > 0) {
    at::Tensor squares = at::zeros({}, parameters_->options());
    for (const auto& [name, tensor] : named) {
      if (tensor.grad().defined()) squares += tensor.grad().square().sum();
    }
    const double norm = std::sqrt(squares.item<double>());
    scale = std::min(1.0, gradient_norm_ / (norm + 1e-6));
  }
  ++steps_;
  const double first_bias = 1 - std::pow(kBeta1, static_cast<double>(steps_));
  const double second_bias = 1 - std::pow(kBeta2, static_cast<double>(steps_));
  for (size_t i = 0; i < named.size(); ++i) {
    const at::Tensor& parameter = named[i].second;
    if (!parameter.grad().defined()) continue;
    const at::Tensor gradient = parameter.grad() * scale;
    if (!adam_) {
      parameter.sub_(gradient, learning_rate_ * rate_factor);
      continue;
    }
    Moments& moments = moments_[i];
    moments.first.mul_(kBeta1).add_(gradient, 1 - kBeta1);
    moments.second.mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
    const at::Tensor root = (moments.second / second_bias).sqrt_().add_(kEpsilon);
    parameter.addcdiv_(moments.first, root, -learning_rate_ * rate_factor / first_bias);
  }
}

void PolicyOptimizer::Store(StateWriter& state) const {
  state.Integer("steps", steps_);
  for (size_t i = 0; i < moments_.size(); ++i) {
    const std::string& name = parameters_->named()[i].first;
    state.Tensor("first." + name, moments_[i].first);
    state.Tensor("second." + name, moments_[i].second);
  }
}

Status PolicyOptimizer::Restore(const StateReader& state) {
  PW_ASSIGN(steps_, state.Integer("steps"));
  for (size_t i = 0; i < moments_.size(); ++i) {
    const auto& [name, parameter] = parameters_->named()[i];
    for (const auto& [of, moment] :
         {std::pair("first.", &moments_[i].first), std::pair("second.", &moments_[i].second)}) {
      PW_ASSIGN(const at::Tensor stored,
                state.Tensor(of + name, parameter.scalar_type(), parameter.dim()));
      if (stored.sizes() != parameter.sizes()) {
        return MakeError(ErrorCode::kField, "the optimizer's moments have other sizes",
                         "state.optimizer." + name, "Train it again, or leave --resume out.");
      }
      moment->copy_(stored);
    }
  }
  return Ok();
}

}  // namespace placewright
