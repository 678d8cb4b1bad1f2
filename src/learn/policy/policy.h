// A distribution over placements that a learner shapes: D decisions for each placement, each one of
// a few choices.
#ifndef PLACEWRIGHT_LEARN_POLICY_POLICY_H_
#define PLACEWRIGHT_LEARN_POLICY_POLICY_H_

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "learn/nn/parameters.h"

namespace placewright {

// How placements are drawn: by default from the policy's distribution.
struct Exploration {
  bool greedy = false;  // the likeliest choice, always
  double noise = 0;     // standard deviation of what is added to the logits of placers
};

class Policy {
 public:
  struct Evaluated {
    at::Tensor log_probability, entropy;  // [K, D], of each decision
  };

  virtual ~Policy() = default;
  // Draws `count` placements, without gradients: decisions [K, D].
  virtual at::Tensor Sample(int64_t count, Random& random,
                            const Exploration& exploration) const = 0;
  // Of given decisions [K, D], with gradients.
  virtual Evaluated Evaluate(const at::Tensor& decisions) const = 0;
  // How the D decisions fall into kinds, in order: objectives average over each kind by itself, so
  // that thousands of decisions of one do not drown those of another.
  virtual std::vector<int64_t> parts() const = 0;
  // A device for every unit, from one row [D] of decisions on the CPU.
  virtual std::vector<DeviceId> DevicesOf(const at::Tensor& row) const = 0;
  // Decisions [D] on the CPU that give every unit this device, or where the policy cannot decide so
  // (units of one fixed group), most units of the group.
  virtual at::Tensor DecisionsFor(std::span<const DeviceId> device_of) const = 0;
  // Decisions [D] on the CPU with one of them, drawn at random, made otherwise; as they are where
  // there is no other choice.
  virtual at::Tensor Varied(const at::Tensor& row, Random& random) const = 0;
  virtual const Parameters& parameters() const = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_POLICY_POLICY_H_
