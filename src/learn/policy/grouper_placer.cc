#include "learn/policy/grouper_placer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <limits>
#include <utility>

#include "learn/encoder/gcn.h"
#include "learn/policy/categorical.h"
#include "learn/policy/table.h"

namespace placewright {

GrouperPlacerPolicy::GrouperPlacerPolicy(GrouperPlacerInputs inputs,
                                         const GrouperPlacerOptions& options,
                                         const MakePlacer& make_placer,
                                         std::shared_ptr<Parameters> parameters)
    : inputs_(std::move(inputs)), options_(options), parameters_(std::move(parameters)) {
  int64_t width = inputs_.units.totals.size(1) + (options.sees_adjacency ? options.groups : 0);
  if (!options.fixed.defined()) {
    grouper_.emplace(inputs_.features.size(1), options.hidden, options.groups, "grouper",
                     *parameters_);
    if (options.blocks > 0) {
      const at::TensorOptions numbers = inputs_.features.options();
      const int64_t units = inputs_.units.units();
      const at::Tensor places = (at::arange(units, numbers) + 0.5) *
                                (static_cast<double>(options.groups) / static_cast<double>(units));
      const at::Tensor middles = at::arange(options.groups, numbers) + 0.5;
      blocks_ = (places.unsqueeze(1) - middles).abs() * -options.blocks;
    }
    if (options.bridge > 0) {
      bridge_.emplace(options.hidden, options.bridge, "bridge", *parameters_);
      width += options.bridge;
    }
  }
  placer_ = make_placer(width, *parameters_);
}

std::vector<int64_t> GrouperPlacerPolicy::parts() const {
  if (grouped() == 0) return {options_.groups};
  return {grouped(), options_.groups};
}

at::Tensor GrouperPlacerPolicy::GroupLogits() const {
  const at::Tensor logits = grouper_->Logits(inputs_.features);
  return blocks_.defined() ? logits + blocks_ : logits;
}

at::Tensor GrouperPlacerPolicy::GroupOf(const at::Tensor& decisions) const {
  return grouped() > 0 ? decisions.narrow(1, 0, grouped())
                       : options_.fixed.unsqueeze(0).expand({decisions.size(0), -1});
}

PlacerInputs GrouperPlacerPolicy::ForPlacer(const EmbeddedGroups& groups,
                                            const at::Tensor& logits) const {
  std::vector<at::Tensor> columns = {groups.totals};
  if (options_.sees_adjacency) columns.push_back(groups.adjacency);
  if (bridge_) columns.push_back(bridge_->Outputs(*grouper_, logits, groups.order));
  return {at::cat(columns, 2), NormalizeDense(groups.adjacency),
          inputs_.forbidden.unsqueeze(0).expand({options_.groups, -1})};
}

at::Tensor GrouperPlacerPolicy::Sample(int64_t count, Random& random,
                                       const Exploration& exploration) const {
  const at::NoGradGuard no_gradients;
  at::Tensor logits, group_of;
  if (grouper_) {
    logits = GroupLogits();
    group_of = exploration.greedy
                   ? logits.argmax(1).unsqueeze(0).expand({count, -1})
                   : DrawChoices(MixUniform(logits, UniformShare(options_.uniform, grouped())),
                                 count, random);
  } else {
    group_of = options_.fixed.unsqueeze(0).expand({count, -1});
  }
  const EmbeddedGroups groups = EmbedGroups(inputs_.units, group_of, options_.groups);
  at::Tensor noise = ExplorationNoise({count, options_.groups, inputs_.forbidden.size(0)},
                                      inputs_.features.options(), random, exploration,
                                      UniformShare(options_.uniform, options_.groups));
  if (options_.shared != nullptr && !exploration.greedy) {
    noise = options_.shared->Share(noise, random);
  }
  const at::Tensor in_order =
      placer_->Sample(ForPlacer(groups, logits), noise.unsqueeze(1)).squeeze(1);
  const at::Tensor devices = at::empty_like(in_order).scatter_(1, groups.order, in_order);
  return grouper_ ? at::cat({group_of, devices}, 1) : devices;
}

Policy::Evaluated GrouperPlacerPolicy::Evaluate(const at::Tensor& decisions) const {
  const at::Tensor logits = grouper_ ? GroupLogits() : at::Tensor();
  const at::Tensor group_of = GroupOf(decisions);
  const EmbeddedGroups groups = EmbedGroups(inputs_.units, group_of, options_.groups);
  const at::Tensor in_order =
      decisions.narrow(1, grouped(), options_.groups).gather(1, groups.order);
  const at::Tensor of_devices =
      placer_->Logits(ForPlacer(groups, logits), in_order.unsqueeze(1)).squeeze(1);
  const Evaluated ordered = EvaluateChoices(
      MixUniform(of_devices, UniformShare(options_.uniform, options_.groups)), in_order);
  const auto by_number = [&](const at::Tensor& x) {
    return at::zeros_like(x).scatter(1, groups.order, x * groups.filled);
  };
  Evaluated placed = {by_number(ordered.log_probability), by_number(ordered.entropy)};
  if (!grouper_) return placed;
  const Evaluated assigned = EvaluateSharedChoices(
      MixUniform(logits, UniformShare(options_.uniform, grouped())), group_of);
  return {at::cat({assigned.log_probability, placed.log_probability}, 1),
          at::cat({assigned.entropy, placed.entropy}, 1)};
}

std::vector<DeviceId> GrouperPlacerPolicy::DevicesOf(const at::Tensor& row) const {
  const at::Tensor group_of = GroupOf(row.unsqueeze(0))[0].cpu();
  return DeviceIds(row.narrow(0, grouped(), options_.groups).index_select(0, group_of));
}

// A unit's group as often as a group's device.
at::Tensor GrouperPlacerPolicy::Varied(const at::Tensor& row, Random& random) const {
  at::Tensor varied = row;
  if (grouper_ && random.Below(2) == 0) {
    varied = VaryDecision(row, 0, at::zeros({1, options_.groups}).expand({grouped(), -1}), random);
  }
  if (!at::equal(varied, row)) return varied;
  return VaryDecision(row, grouped(), inputs_.forbidden.unsqueeze(0).expand({options_.groups, -1}),
                      random);
}

// Each unit goes to the group that the grouper likes most among those of its device, and a group has
// the device of most units that would join it anyway: what is asked of the grouper is as near as can
// be to what it does.
at::Tensor GrouperPlacerPolicy::DecisionsFor(std::span<const DeviceId> device_of) const {
  const at::NoGradGuard no_gradients;
  const int64_t devices = inputs_.forbidden.size(0), groups = options_.groups;
  at::Tensor device_of_unit = DeviceRow(device_of);
  // Fewer groups than devices: units of those with the fewest go to the one with the most.
  for (int64_t device = 0; grouper_ && device < devices; ++device) {
    const at::Tensor counts = device_of_unit.bincount({}, devices);
    if ((counts > 0).sum().item<int64_t>() <= groups) break;
    const at::Tensor fewest = counts.masked_fill(counts == 0, device_of_unit.size(0) + 1).argmin();
    device_of_unit = at::where(device_of_unit == fewest, counts.argmax(), device_of_unit);
  }
  const at::Tensor liked = grouper_ ? GroupLogits().cpu() : at::Tensor();  // [N, groups]
  const at::Tensor votes = at::zeros({groups, devices}, at::kLong)
                               .index_add_(0, grouper_ ? liked.argmax(1) : options_.fixed.cpu(),
                                           at::one_hot(device_of_unit, devices));
  at::Tensor device_of_group = votes.argmax(1);
  if (!grouper_) return device_of_group;
  // A device that is nowhere in the majority takes a group from one that keeps another.
  const at::Tensor used = device_of_unit.bincount({}, devices) > 0;
  for (int64_t device = 0; device < devices; ++device) {
    const at::Tensor owned = device_of_group.bincount({}, devices);
    if (!used[device].item<bool>() || owned[device].item<int64_t>() > 0) continue;
    const at::Tensor spare = (owned > 1).logical_or(used.logical_not()).index({device_of_group});
    const at::Tensor own = votes.select(1, device).masked_fill(spare.logical_not(), -1);
    device_of_group[own.argmax().item<int64_t>()] = device;
  }
  const at::Tensor same = device_of_unit.unsqueeze(1) == device_of_group.unsqueeze(0);
  const at::Tensor group_of =
      liked.masked_fill(same.logical_not(), -std::numeric_limits<float>::infinity()).argmax(1);
  return at::cat({group_of, device_of_group});
}

}  // namespace placewright
