// What holds for a whole step that is distributed, whatever the layouts of its groups.
#ifndef PLACEWRIGHT_PLAN_STEP_SWITCHES_H_
#define PLACEWRIGHT_PLAN_STEP_SWITCHES_H_

#include <placewright/base/units.h>
#include <placewright/plan/schedule.h>

#include <optional>
#include <string>
#include <vector>

namespace placewright {

// As `fusion`: all gradients of one type on the same devices in one all-reduce, and none is reduced before the
// last gradient of all is there.
inline constexpr Bytes kAllTogether(kMaxQuantity);

struct StepSwitches {
  // All-reduces of gradients are joined up to this size (compile/rewrites/fuse_all_reduces.h); 0: none are.
  Bytes fusion;
  // Batch norms in training: each part is normalised by its own mean and variance, not by those of all parts,
  // where the backward has the same parts and every part more than one element of a channel. The step is
  // another one then. Every device keeps running statistics of its parts; those of the first device count.
  bool local_batch_norm = false;
  // What one device has and several others read at once crosses in a Broadcast; false: in transfers, each as soon
  // as its link is free.
  bool broadcasts = true;
  // Gradients of input and weight that one op makes are made by two where one of them leaves the device and
  // the other stays (compile/rewrites/separate_gradients.h). None: nothing has decided it yet.
  std::optional<bool> gradients_apart = {};
  // In which order a device takes what is ready. None: as the problem has it. What planners of whole ops make of a plan
  // is in the problem's.
  // A plan's file has the order beside its layouts.
  std::optional<SchedulingPolicy> order = {};
  // Parameters of colocation groups that these globs over module paths name (docs/constraints.md) are fetched anew for
  // the backward pass, the ops that are computed again there among them: a copy lives until its last reader in one of
  // the two.
  std::vector<std::string> regather = {};
  // What fetches parameters with others waits until a device is this many layers before the one that reads them
  // (compile/rewrites/prefetch.h); 0: until it gets there. None: for nothing.
  std::optional<int32_t> prefetch = {};
  // What gathers the parameters of a layer is one collective, and so is what adds up its gradients over devices
  // (compile/rewrites/unit_collectives.h).
  bool unit_collectives = false;
  friend bool operator==(const StepSwitches&, const StepSwitches&) = default;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_STEP_SWITCHES_H_
