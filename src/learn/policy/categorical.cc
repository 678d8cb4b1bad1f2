#include "learn/policy/categorical.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace placewright {

at::Tensor GumbelNoise(at::IntArrayRef sizes, const at::TensorOptions& options, Random& random) {
  const at::Tensor uniform = at::empty(sizes, at::TensorOptions().dtype(at::kDouble));
  double* const data = uniform.data_ptr<double>();
  constexpr double kHalfUlp = 0x1.0p-54;  // in (0, 1)
  std::generate(data, data + uniform.numel(), [&] { return random.Unit() + kHalfUlp; });
  return uniform.log_().neg_().log_().neg_().to(options);
}

Policy::Evaluated EvaluateChoices(const at::Tensor& logits, const at::Tensor& choices) {
  const at::Tensor log_probabilities = at::log_softmax(logits, -1);
  // What is never chosen adds nothing to the entropy: 0 log 0 = 0, its gradient included.
  const at::Tensor finite = log_probabilities.masked_fill(at::isneginf(logits), 0);
  return {log_probabilities.gather(-1, choices.unsqueeze(-1)).squeeze(-1),
          -(at::softmax(logits, -1) * finite).sum(-1)};
}

}  // namespace placewright
