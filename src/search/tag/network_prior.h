// The prior of TAG's network (network.h).
#ifndef PLACEWRIGHT_SEARCH_TAG_NETWORK_PRIOR_H_
#define PLACEWRIGHT_SEARCH_TAG_NETWORK_PRIOR_H_

#include <memory>
#include <string_view>

#include "search/tag/features.h"
#include "search/tag/network.h"
#include "search/tag/prior.h"

namespace placewright {

class NetworkPrior : public StrategyPrior {
 public:
  // All must outlive it. `feedback`: whether it sees what simulated steps did; `name`: with static lifetime.
  NetworkPrior(const TagFeatures& features, const Strategies& strategies, const TagNetwork& network,
               bool feedback, std::string_view name = "network")
      : features_(features),
        strategies_(strategies),
        network_(network),
        feedback_(feedback),
        name_(name) {}
  std::string_view name() const override { return name_; }
  bool needs_feedback() const override { return feedback_; }
  void Fill(std::span<const int32_t> decided, const StrategyFeedback* feedback,
            std::span<const int32_t> actions, std::span<double> priors) override;

 private:
  const TagFeatures& features_;
  const Strategies& strategies_;
  const TagNetwork& network_;
  const bool feedback_;
  const std::string_view name_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_NETWORK_PRIOR_H_
