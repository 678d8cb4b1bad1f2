// For tests: the gradients of a function by differences, beside those that autograd finds.
#ifndef PLACEWRIGHT_LEARN_NN_GRADIENT_CHECK_H_
#define PLACEWRIGHT_LEARN_NN_GRADIENT_CHECK_H_

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace placewright {

inline const at::TensorOptions kDoubles = at::TensorOptions().dtype(at::kDouble);

// `inputs`: leaves of doubles that want gradients. The outputs are weighted by fixed numbers, all
// different, so that no two errors cancel.
inline void ExpectGradients(
    const std::vector<at::Tensor>& inputs,
    const std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>& function) {
  const auto loss = [&] {
    at::Tensor sum = at::zeros({}, at::kDouble);
    double phase = 0.3;
    for (const at::Tensor& output : function(inputs)) {
      const at::Tensor weights = at::sin(at::arange(output.numel(), at::kDouble) * 1.7 + phase);
      sum = sum + (output.reshape({-1}) * weights).sum();
      phase += 1;
    }
    return sum;
  };
  loss().backward();
  constexpr double kStep = 1e-6;
  for (size_t k = 0; k < inputs.size(); ++k) {
    ASSERT_TRUE(inputs[k].grad().defined()) << "input " << k;
    const at::Tensor found = inputs[k].grad().reshape({-1});
    double* const values = inputs[k].data_ptr<double>();
    const at::NoGradGuard no_gradients;
    for (int64_t i = 0; i < inputs[k].numel(); ++i) {
      const double kept = values[i];
      values[i] = kept + kStep;
      const double above = loss().item<double>();
      values[i] = kept - kStep;
      const double below = loss().item<double>();
      values[i] = kept;
      const double expected = (above - below) / (2 * kStep);
      EXPECT_NEAR(found[i].item<double>(), expected, 1e-6 * (1 + std::abs(expected)))
          << "input " << k << ", element " << i;
    }
  }
}

// Leaves in [-1, 1], from a seed.
inline at::Tensor Leaf(at::IntArrayRef sizes, int seed) {
  at::Tensor leaf =
      at::sin(at::arange(c10::multiply_integers(sizes), at::kDouble) * 12.9898 + seed * 78.233)
          .reshape(sizes)
          .contiguous();
  leaf.requires_grad_();
  return leaf;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_NN_GRADIENT_CHECK_H_
