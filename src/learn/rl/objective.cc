#include "learn/rl/objective.h"

#include <ATen/ATen.h>

namespace placewright {

at::Tensor ReinforceObjective(const at::Tensor& log_probability, const at::Tensor& advantages) {
  return (log_probability * advantages.unsqueeze(1)).mean();
}

at::Tensor ClippedObjective(const at::Tensor& log_probability, const at::Tensor& sampled,
                            const at::Tensor& advantages, const ClipOptions& options) {
  constexpr double kMaxLogRatio = 20;
  at::Tensor log_ratio = log_probability - sampled;
  if (options.joint) log_ratio = log_ratio.sum(1, true).clamp(-kMaxLogRatio, kMaxLogRatio);
  const at::Tensor ratio = log_ratio.exp(), a = advantages.unsqueeze(1);
  return at::minimum(ratio * a, ratio.clamp(1 - options.clip, 1 + options.clip) * a).mean();
}

at::Tensor EliteObjective(const at::Tensor& log_probability) { return log_probability.mean(); }

}  // namespace placewright
