// What policies climb. Of K sampled placements, each D decisions: `log_probability` [K, D] under the
// policy as it is, `sampled` [K, D] under the one that drew them, `advantages` [K].
#ifndef PLACEWRIGHT_LEARN_RL_OBJECTIVE_H_
#define PLACEWRIGHT_LEARN_RL_OBJECTIVE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace placewright {

// REINFORCE (Williams 1992): the mean of A log pi over all decisions.
at::Tensor ReinforceObjective(const at::Tensor& log_probability, const at::Tensor& advantages);

struct ClipOptions {
  double clip = 0.2;
  // One ratio for all decisions of a placement instead of one each (EAGLE eq. 1 read literally).
  // Over thousands of decisions it leaves the clip's range at once; its logarithm is kept within
  // +-20, so that it stays finite.
  bool joint = false;
};

// PPO, clipped (Schulman et al. 2017; EAGLE eq. 1 and 3), with r = pi / pi_sampled of a decision:
//
//   mean of min(r A, clip(r, 1 - e, 1 + e) A)
//
// Per decision and averaged, as in GDP's appendix.
at::Tensor ClippedObjective(const at::Tensor& log_probability, const at::Tensor& sampled,
                            const at::Tensor& advantages, const ClipOptions& options = {});

// Cross-entropy minimisation (Post, Algorithm 1): the mean of log pi over the decisions of elites.
at::Tensor EliteObjective(const at::Tensor& log_probability);
// The same, summed over the kinds of decisions (Policy::parts).
at::Tensor EliteObjective(const at::Tensor& log_probability, std::span<const int64_t> parts);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_RL_OBJECTIVE_H_
