// What a search over strategies expects of the slices of a unit before it has tried them.
#ifndef PLACEWRIGHT_SEARCH_TAG_PRIOR_H_
#define PLACEWRIGHT_SEARCH_TAG_PRIOR_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "search/tag/strategy_feedback.h"

namespace placewright {

class StrategyPrior {
 public:
  virtual ~StrategyPrior() = default;
  virtual std::string_view name() const = 0;
  // Whether it looks at what the simulated step of the decisions so far did.
  virtual bool needs_feedback() const { return false; }
  // `decided`: slices of the first units; `feedback`: nullptr where it is not needed, or that step cannot be compiled;
  // `actions`: slices that the next unit may have. Fills `priors`, one for each of these: at least 0, some above, in any
  // unit.
  virtual void Fill(std::span<const int32_t> decided, const StrategyFeedback* feedback,
                    std::span<const int32_t> actions, std::span<double> priors) = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_PRIOR_H_
