#include "learn/nn/parameters.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace placewright {

at::Tensor Parameters::Glorot(const std::string& name, int64_t fan_out, int64_t fan_in) {
  const auto fans = static_cast<double>(fan_in + fan_out);
  return Uniform(name, {fan_out, fan_in}, std::sqrt(6.0 / fans));
}

at::Tensor Parameters::Uniform(const std::string& name, at::IntArrayRef sizes, double limit) {
  return Add(name, sizes, [&] {
    const at::Tensor values = at::empty(sizes, at::TensorOptions().dtype(at::kDouble));
    double* const data = values.data_ptr<double>();
    std::generate(data, data + values.numel(), [&] { return (2 * random_.Unit() - 1) * limit; });
    return values;
  });
}

at::Tensor Parameters::Constant(const std::string& name, at::IntArrayRef sizes, double value) {
  return Add(name, sizes,
             [&] { return at::full(sizes, value, at::TensorOptions().dtype(at::kDouble)); });
}

at::Tensor Parameters::Add(const std::string& name, at::IntArrayRef sizes,
                           const std::function<at::Tensor()>& first_values) {
  const auto mismatches = [&](const at::Tensor& known) {
    if (known.sizes() == sizes) return false;
    if (mismatch_.empty()) {
      mismatch_ = fmt::format("{} has {} numbers, {} are wanted", name,
                              fmt::join(known.sizes(), " x "), fmt::join(sizes, " x "));
    }
    return true;
  };
  for (const auto& [known_name, known] : named_) {
    // A tensor of the wrong sizes would end in an exception; mismatch() says that it is in vain.
    if (known_name == name) return mismatches(known) ? known.new_zeros(sizes) : known;
  }
  const auto stored = stored_.find(name);
  const bool use = stored != stored_.end() && !mismatches(stored->second);
  at::Tensor parameter = (use ? stored->second : first_values()).to(options_).clone();
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
