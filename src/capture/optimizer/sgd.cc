#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "capture/optimizer/optimizer.h"

namespace placewright {
namespace {

class Sgd : public Optimizer {
 public:
  Sgd(std::vector<NamedTensor> parameters, const SgdOptions& options)
      : parameters_(std::move(parameters)), options_(options) {
    const at::NoGradGuard no_grad;
    for (const NamedTensor& parameter : parameters_) {
      momenta_.push_back(at::zeros_like(parameter.tensor));
    }
  }

  std::vector<NamedTensor> State() const override {
    std::vector<NamedTensor> state;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      state.push_back({parameters_[i].name + ".momentum", momenta_[i]});
    }
    return state;
  }

  void Step() override {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor& gradient = parameters_[i].tensor.grad();
      if (!gradient.defined()) continue;
      momenta_[i].mul_(options_.momentum).add_(gradient);
      parameters_[i].tensor.add_(momenta_[i], -options_.rate);
    }
  }

 private:
  std::vector<NamedTensor> parameters_;
  SgdOptions options_;
  std::vector<at::Tensor> momenta_;
};

}  // namespace

std::unique_ptr<Optimizer> MakeSgd(std::vector<NamedTensor> parameters, const SgdOptions& options) {
  return std::make_unique<Sgd>(std::move(parameters), options);
}

}  // namespace placewright
