// What Placeto's agents learn together: the numbers of one network, and Adam (Kingma and Ba 2015),
// which moves them.
#ifndef PLACEWRIGHT_PLACETO_AGENT_LEARNER_H_
#define PLACEWRIGHT_PLACETO_AGENT_LEARNER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "placeto/network/layout.h"
#include "plan/stored_policy.h"

namespace placewright {

struct PlacetoLearnerOptions {
  double learning_rate = 1e-3;
  double gradient_norm = 1.25;  // a longer gradient is cut to this length
};

class PlacetoLearner {
 public:
  PlacetoLearner(int32_t devices, bool learned_baseline, const PlacetoLearnerOptions& options,
                 Random random);

  const PlacetoLayout& layout() const { return layout_; }
  std::span<const float> values() const { return values_; }
  int64_t version() const { return version_; }  // another one, other values
  // To other first values.
  void Reset(Random random);
  // One step down the gradient, which has a place for every number; none where it is not finite.
  void Descend(std::span<const float> gradient);

  // Parameters, and where `optimizer` what Adam goes on from.
  void Store(StoredPolicy& policy, bool optimizer) const;
  // Errors: kPlanMismatch (another number of devices, or another network).
  Status Restore(const StoredPolicy& policy, bool optimizer);

 private:
  const PlacetoLayout layout_;
  const PlacetoLearnerOptions options_;
  std::vector<float> values_, first_moments_, second_moments_;
  int64_t steps_ = 0, version_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLACETO_AGENT_LEARNER_H_
