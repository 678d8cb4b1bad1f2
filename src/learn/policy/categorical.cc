#include "learn/policy/categorical.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace placewright {
namespace {

// By Box and Muller's formula.
at::Tensor NormalNoise(at::IntArrayRef sizes, const at::TensorOptions& options, Random& random) {
  const int64_t count = c10::multiply_integers(sizes);
  const at::Tensor pairs = at::empty({2, count}, at::TensorOptions().dtype(at::kDouble));
  double* const data = pairs.data_ptr<double>();
  std::generate(data, data + pairs.numel(), [&] { return 1 - random.Unit(); });  // (0, 1]
  constexpr double kTwoPi = 6.283185307179586;
  const at::Tensor normal = (pairs[0].log() * -2).sqrt() * (pairs[1] * kTwoPi).cos();
  return normal.view(sizes).to(options);
}

}  // namespace

at::Tensor GumbelNoise(at::IntArrayRef sizes, const at::TensorOptions& options, Random& random) {
  const at::Tensor uniform = at::empty(sizes, at::TensorOptions().dtype(at::kDouble));
  double* const data = uniform.data_ptr<double>();
  constexpr double kHalfUlp = 0x1.0p-54;  // in (0, 1)
  std::generate(data, data + uniform.numel(), [&] { return random.Unit() + kHalfUlp; });
  return uniform.log_().neg_().log_().neg_().to(options);
}

at::Tensor MixUniform(const at::Tensor& logits, double share) {
  if (share <= 0) return logits;
  const at::Tensor never = at::isneginf(logits);
  const at::Tensor choices = never.logical_not().sum(-1, /*keepdim=*/true, logits.scalar_type());
  const at::Tensor mixed = at::softmax(logits, -1) * (1 - share) + choices.reciprocal() * share;
  return mixed.log().masked_fill(never, -std::numeric_limits<double>::infinity());
}

double UniformShare(double drawn, int64_t decisions) {
  constexpr double kMost = 0.2;
  return std::min(drawn / static_cast<double>(std::max<int64_t>(decisions, 1)), kMost);
}

at::Tensor ExplorationNoise(at::IntArrayRef sizes, const at::TensorOptions& options, Random& random,
                            const Exploration& exploration, double uniform) {
  at::Tensor noise =
      exploration.greedy ? at::zeros(sizes, options) : GumbelNoise(sizes, options, random);
  if (uniform > 0 && !exploration.greedy) {
    constexpr float kMoreThanAnyLogit = 1e6F;
    const int64_t choices = sizes.back();
    const at::Tensor factors = at::empty({noise.numel() / choices, 1}, at::kFloat);
    float* const data = factors.data_ptr<float>();
    std::generate(data, data + factors.numel(),
                  [&] { return random.Unit() < uniform ? kMoreThanAnyLogit : 1; });
    noise = (noise.view({-1, choices}) * factors.to(options)).view(sizes);
  }
  if (exploration.noise <= 0) return noise;
  return noise + NormalNoise(sizes, options, random) * exploration.noise;
}

at::Tensor DrawChoices(const at::Tensor& logits, int64_t count, Random& random) {
  const int64_t n = logits.size(0), choices = logits.size(1);
  const at::Tensor uniform = at::empty({count, n}, at::TensorOptions().dtype(at::kDouble));
  double* const data = uniform.data_ptr<double>();
  std::generate(data, data + uniform.numel(), [&] { return random.Unit(); });
  const at::Tensor below = at::softmax(logits.to(at::kDouble), 1).cumsum(1);
  // Rounded sums may end below 1: the last choice with any probability is the one.
  const at::Tensor scaled = uniform.to(logits.device()) * below.select(1, choices - 1).unsqueeze(0);
  return at::searchsorted(below, scaled.t().contiguous(), /*out_int32=*/false, /*right=*/true)
      .clamp_max(choices - 1)
      .t()
      .contiguous();
}

at::Tensor VaryDecision(const at::Tensor& row, int64_t first, const at::Tensor& forbidden,
                        Random& random) {
  at::Tensor varied = row.clone();
  const int64_t decisions = forbidden.size(0), choices = forbidden.size(1);
  const auto start = static_cast<int64_t>(random.Below(static_cast<uint64_t>(decisions)));
  for (int64_t i = 0; i < decisions; ++i) {
    const int64_t decision = (start + i) % decisions;
    auto& choice = varied.data_ptr<int64_t>()[first + decision];
    const at::Tensor allowed = forbidden[decision].to(at::kCPU, at::kDouble).contiguous();
    std::vector<int64_t> others;
    for (int64_t other = 0; other < choices; ++other) {
      if (other != choice && allowed.data_ptr<double>()[other] == 0) others.push_back(other);
    }
    if (others.empty()) continue;
    choice = others[random.Below(others.size())];
    break;
  }
  return varied;
}

Policy::Evaluated EvaluateChoices(const at::Tensor& logits, const at::Tensor& choices) {
  const at::Tensor log_probabilities = at::log_softmax(logits, -1);
  // What is never chosen adds nothing to the entropy: 0 log 0 = 0, its gradient included.
  const at::Tensor finite = log_probabilities.masked_fill(at::isneginf(logits), 0);
  return {log_probabilities.gather(-1, choices.unsqueeze(-1)).squeeze(-1),
          -(at::softmax(logits, -1) * finite).sum(-1)};
}

Policy::Evaluated EvaluateSharedChoices(const at::Tensor& logits, const at::Tensor& choices) {
  const at::Tensor log_probabilities = at::log_softmax(logits, 1);
  const at::Tensor entropy = -(log_probabilities.exp() * log_probabilities).sum(1);
  return {log_probabilities.gather(1, choices.t()).t(),
          entropy.unsqueeze(0).expand({choices.size(0), -1})};
}

}  // namespace placewright
