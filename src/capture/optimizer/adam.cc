#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "capture/optimizer/optimizer.h"

namespace placewright {
namespace {

class Adam : public Optimizer {
 public:
  Adam(std::vector<NamedTensor> parameters, const AdamOptions& options)
      : parameters_(std::move(parameters)), options_(options) {
    const at::NoGradGuard no_grad;
    for (const NamedTensor& parameter : parameters_) {
      means_.push_back(at::zeros_like(parameter.tensor));
      squares_.push_back(at::zeros_like(parameter.tensor));
    }
    if (parameters_.empty()) return;
    beta1_power_ = at::ones({}, parameters_[0].tensor.options().requires_grad(false));
    beta2_power_ = at::ones_like(beta1_power_);
  }

  std::vector<NamedTensor> State() const override {
    std::vector<NamedTensor> state;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      state.push_back({parameters_[i].name + ".exp_avg", means_[i]});
      state.push_back({parameters_[i].name + ".exp_avg_sq", squares_[i]});
    }
    if (parameters_.empty()) return state;
    state.push_back({"beta1_power", beta1_power_});
    state.push_back({"beta2_power", beta2_power_});
    return state;
  }

  void Step() override {
    if (parameters_.empty()) return;
    const at::NoGradGuard no_grad;
    const at::Tensor c1 = at::rsub(beta1_power_.mul_(options_.beta1), 1.0);
    const at::Tensor c2 = at::rsub(beta2_power_.mul_(options_.beta2), 1.0);
    const at::Tensor scale = at::div(at::sqrt(c2), c1);
    const at::Tensor epsilon = at::mul(c1, options_.epsilon);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor& gradient = parameters_[i].tensor.grad();
      if (!gradient.defined()) continue;
      means_[i].mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
      squares_[i].mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
      const at::Tensor divisor = at::div(at::sqrt(squares_[i]), scale).add_(epsilon);
      parameters_[i].tensor.addcdiv_(means_[i], divisor, -options_.rate);
    }
  }

 private:
  std::vector<NamedTensor> parameters_;
  AdamOptions options_;
  std::vector<at::Tensor> means_, squares_;
  at::Tensor beta1_power_, beta2_power_;  // beta^t after step t
};

}  // namespace

std::unique_ptr<Optimizer> MakeAdam(std::vector<NamedTensor> parameters,
                                    const AdamOptions& options) {
  return std::make_unique<Adam>(std::move(parameters), options);
}

}  // namespace placewright
