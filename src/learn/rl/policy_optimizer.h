// Adam (Kingma, Ba 2015), or plain gradient steps, over the parameters of one or several policies, with
// gradients of bounded norm. Ours rather than LibTorch's, whose stored state holds addresses and differs in form between
// 1.13 and 2.x: the same training gives the same file.
#ifndef PLACEWRIGHT_LEARN_RL_POLICY_OPTIMIZER_H_
#define PLACEWRIGHT_LEARN_RL_POLICY_OPTIMIZER_H_

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "learn/nn/parameters.h"
#include "learn/store/stored_tensors.h"

namespace placewright {

class PolicyOptimizer {
 public:
  // Of all parameters that are there; `gradient_norm`: the bound of the norm of all gradients
  // together, 0 for none.
  PolicyOptimizer(std::shared_ptr<const Parameters> parameters, double learning_rate,
                  double gradient_norm, bool adam = true);

  // As at the beginning, whatever the parameters are now.
  void Reset();
  // One step up `objective`; the learning rate times `rate_factor`.
  void Climb(const at::Tensor& objective, double rate_factor = 1);
  // One step up the mean of several, which are computed one after the other, so that only one of them
  // is in memory.
  using Objective = std::function<at::Tensor()>;
  void Climb(std::span<const Objective> objectives, double rate_factor = 1);

  void Store(StateWriter& state) const;
  // Errors: kField.
  Status Restore(const StateReader& state);

 private:
  struct Moments {
    at::Tensor first, second;
  };

  const std::shared_ptr<const Parameters> parameters_;
  const double learning_rate_, gradient_norm_;
  const bool adam_;
  std::vector<Moments> moments_;  // by parameter
  int64_t steps_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_RL_POLICY_OPTIMIZER_H_
