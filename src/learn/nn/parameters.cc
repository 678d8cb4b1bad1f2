#include "learn/nn/parameters.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace placewright {

at::Tensor Parameters::Glorot(const std::string& name, int64_t fan_out, int64_t fan_in) {
  return Uniform(name, {fan_out, fan_in}, std::sqrt(6.0 / static_cast<double>(fan_in + fan_out)));
}

at::Tensor Parameters::Uniform(const std::string& name, at::IntArrayRef sizes, double limit) {
  const at::Tensor values = at::empty(sizes, at::TensorOptions().dtype(at::kDouble));
  double* const data = values.data_ptr<double>();
  std::generate(data, data + values.numel(), [&] { return (2 * random_.Unit() - 1) * limit; });
  return Add(name, values);
}

at::Tensor Parameters::Constant(const std::string& name, at::IntArrayRef sizes, double value) {
  return Add(name, at::full(sizes, value, at::TensorOptions().dtype(at::kDouble)));
}

at::Tensor Parameters::Add(const std::string& name, const at::Tensor& values) {
  PW_CHECK(std::none_of(named_.begin(), named_.end(),
                        [&](const auto& known) { return known.first == name; }));
  at::Tensor parameter = values.to(options_);
  parameter.requires_grad_();
  named_.emplace_back(name, parameter);
  return parameter;
}

std::vector<at::Tensor> Parameters::tensors() const {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : named_) tensors.push_back(tensor);
  return tensors;
}

int64_t Parameters::count() const {
  int64_t count = 0;
  for (const auto& [name, tensor] : named_) count += tensor.numel();
  return count;
}

}  // namespace placewright
