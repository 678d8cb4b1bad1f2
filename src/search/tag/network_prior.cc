#include "search/tag/network_prior.h"

#include <algorithm>
#include <vector>

#include "base/elementary.h"

namespace placewright {

void NetworkPrior::Fill(std::span<const int32_t> decided, const StrategyFeedback* feedback,
                        std::span<const int32_t> actions, std::span<double> priors) {
  std::vector<const Slice*> slices;
  for (const int32_t action : actions) {
    slices.push_back(&strategies_.slices()[static_cast<size_t>(action)]);
  }
  const std::vector<float> scores =
      network_.Scores(features_.Of(decided, feedback), decided.size(), slices);
  const float most = *std::max_element(scores.begin(), scores.end());
  for (size_t i = 0; i < scores.size(); ++i) {
    priors[i] = PortableExp(static_cast<double>(scores[i] - most));
  }
}

}  // namespace placewright
