// A policy that may follow another planner's plan: it first decides which, one decision for the whole
// placement, and then for each unit whether to do as that plan does or otherwise.
//
//   mode   softmax over b_0 (no plan) and, for each of P plans, s w . x_p + b_p, x_p what is said of it
//   unit   without a plan, softmax over devices of the inner policy's logits l; with plan p, of
//          B(l; c / 4), to which for the device where p puts the unit
//          c + B(v_p . h_u + b_p; c / 2) is added, B(x; a) = a tanh(x / a)
//
// where h are the encoder's representations, and c is so large that at first kDeviations units of a
// placement do otherwise. The bounded logits of two devices differ by less than c / 2 and the trust in
// a plan stays above it, so that a unit's likeliest device is always the plan's: units do otherwise
// when placements are drawn, up to half of the time, and what is found so is kept by the search, but
// an unseen graph's first placement is one that a planner made. Unbounded, what a policy learns of
// graphs with many units, where c is large, overrules plans of graphs with few, and of families that
// it has not seen (VGG-16 at 1.3 to 2.6 times the step of the plan that it follows). w, v and the b
// begin at 0; w is one for all plans, so that what it learns of one graph holds for others, and
// s = kMeasure. Not in the papers. If units were to choose among plans each by itself, placements would
// be mixtures of plans, all of them bad, and the policy would come to trust the plan that mixing harms
// less than others: everything on one device.
#ifndef PLACEWRIGHT_LEARN_POLICY_FOLLOWING_H_
#define PLACEWRIGHT_LEARN_POLICY_FOLLOWING_H_

#include <memory>

#include "learn/policy/encoder_placer.h"

namespace placewright {

class FollowingPolicy : public Policy {
 public:
  static constexpr double kDeviations = 2;
  // So that weights of a usual size can choose between plans whose steps are a tenth apart.
  static constexpr double kMeasure = 50;

  // `plans` [N, devices, P]: the share of a unit that each plan puts on a device. `said` [P, Q]: x.
  // `uniform`: MixUniform's share of units' decisions. The inner policy's placer is an independent
  // one.
  FollowingPolicy(std::unique_ptr<EncoderPlacerPolicy> inner, at::Tensor plans, at::Tensor said,
                  double uniform, std::shared_ptr<Parameters> parameters);

  at::Tensor Sample(int64_t count, Random& random, const Exploration& exploration) const override;
  Evaluated Evaluate(const at::Tensor& decisions) const override;
  std::vector<int64_t> parts() const override { return {1, plans_.size(1)}; }
  std::vector<DeviceId> DevicesOf(const at::Tensor& row) const override;
  // With the plan of which most units do the same.
  at::Tensor DecisionsFor(std::span<const DeviceId> device_of) const override;
  at::Tensor Varied(const at::Tensor& row, Random& random) const override;
  const Parameters& parameters() const override { return *parameters_; }

 private:
  struct Logits {
    at::Tensor modes;  // [1, P + 1]
    at::Tensor units;  // [P + 1, N, devices]
  };
  Logits MakeLogits() const;

  std::shared_ptr<Parameters> parameters_;
  std::unique_ptr<EncoderPlacerPolicy> inner_;
  at::Tensor plans_;  // [P, N, devices]
  at::Tensor said_;   // [P, Q], kMeasure times x
  double uniform_, follow_;
  at::Tensor mode_, mode_bias_;    // w [1, Q], b [P + 1]
  at::Tensor trust_, trust_bias_;  // v [P, width], b_p [P]
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_POLICY_FOLLOWING_H_
