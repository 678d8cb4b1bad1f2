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

at::Tensor EliteObjective(const at::Tensor& log_probability, std::span<const int64_t> parts) {
  at::Tensor objective = at::zeros({}, log_probability.options());
  int64_t first = 0;
  for (const int64_t part : parts) {
    objective = objective + EliteObjective(log_probability.narrow(1, first, part));
    first += part;
  }
  return objective;
}

}  // namespace placewright
