// A grouper that assigns units to groups, and a placer that gives each group a device: EAGLE (Fig.
// 1), the Hierarchical Planner, and EAGLE's rivals with a fixed grouping.
//
// Decisions of a placement: the group of each of N units (none where the grouping is fixed), then
// the device of each of G groups, by number. What is decided of a group without units counts for
// nothing: probability 1, entropy 0.
#ifndef PLACEWRIGHT_LEARN_POLICY_GROUPER_PLACER_H_
#define PLACEWRIGHT_LEARN_POLICY_GROUPER_PLACER_H_

#include <functional>
#include <memory>
#include <optional>

#include "learn/grouper/bridge.h"
#include "learn/grouper/feed_forward.h"
#include "learn/grouper/group_embedding.h"
#include "learn/placer/placer_net.h"
#include "learn/policy/policy.h"
#include "learn/policy/shared_draws.h"

namespace placewright {

struct GrouperPlacerOptions {
  int64_t groups = 256;
  int64_t hidden = 64;  // of the grouper
  // A unit's logits of groups fall by so much for each group's width that its place in the sequence
  // is away from the group's, were groups equal blocks of it; 0: not. Without, every unit may go to
  // any group at first, and all placements cut everywhere. A deviation: the papers have none.
  double blocks = 0;
  int64_t bridge = 64;         // width of the bridge; 0: none
  bool sees_adjacency = true;  // whether embeddings hold it; not where the placer convolves it
  double uniform = 0;          // decisions of each kind that MixUniform draws, on average
  at::Tensor fixed;            // [N]: the group of each unit; undefined: learned
  // Of groups in their order in the sequence; nullptr: each group's device is drawn by itself.
  std::shared_ptr<const SharedDraws> shared = nullptr;
};

// On one device, of one type.
struct GrouperPlacerInputs {
  at::Tensor features;   // [N, F], what the grouper sees
  UnitTotals units;      // what the placer sees of groups
  at::Tensor forbidden;  // [devices]: 0, or minus infinity where no unit may lie
};

class GrouperPlacerPolicy : public Policy {
 public:
  // The placer for embeddings of the given width.
  using MakePlacer = std::function<std::unique_ptr<PlacerNet>(int64_t width, Parameters&)>;

  GrouperPlacerPolicy(GrouperPlacerInputs inputs, const GrouperPlacerOptions& options,
                      const MakePlacer& make_placer, std::shared_ptr<Parameters> parameters);

  at::Tensor Sample(int64_t count, Random& random, const Exploration& exploration) const override;
  Evaluated Evaluate(const at::Tensor& decisions) const override;
  std::vector<int64_t> parts() const override;
  std::vector<DeviceId> DevicesOf(const at::Tensor& row) const override;
  at::Tensor DecisionsFor(std::span<const DeviceId> device_of) const override;
  at::Tensor Varied(const at::Tensor& row, Random& random) const override;
  const Parameters& parameters() const override { return *parameters_; }

 private:
  int64_t grouped() const { return options_.fixed.defined() ? 0 : inputs_.units.units(); }
  at::Tensor GroupLogits() const;  // [N, groups]
  at::Tensor GroupOf(const at::Tensor& decisions) const;
  PlacerInputs ForPlacer(const EmbeddedGroups& groups, const at::Tensor& logits) const;

  const GrouperPlacerInputs inputs_;
  const GrouperPlacerOptions options_;
  std::shared_ptr<Parameters> parameters_;
  std::optional<FeedForwardGrouper> grouper_;
  at::Tensor blocks_;  // [N, groups], added to its logits; undefined without
  std::optional<GrouperBridge> bridge_;
  std::unique_ptr<PlacerNet> placer_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_POLICY_GROUPER_PLACER_H_
