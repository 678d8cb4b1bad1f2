// Training that keeps in host memory what does not fit in the GPUs': parameters with their state and their update, as
// ZeRO-Offload (Ren et al., USENIX ATC 2021) and ZeRO-Infinity (Rajbhandari et al., SC 2021) do. Samples go over the GPUs
// of one host; a parameter on the host crosses to the GPUs that read it, its gradient crosses back, and the CPU updates it.
//
//   kept             a copy is fetched once a step and stays for the backward pass: ZeRO-Offload. State and update are on
//                    the host, parameters on the GPU
//   fetched anew     a copy of a layer is given up behind its last reader in a pass and fetched for the backward pass
//                    again, one layer ahead (rewrites/prefetch.h): ZeRO-Infinity's parameter offload. Frozen weights, of
//                    low-rank adapters say, have nothing else to offload
//
// Which of the two, and of how many layers, follows by trying: nothing if all fits on the GPUs, else as few layers as
// possible, spread evenly over the model so that fetching one goes on beside computing several; what is outside of layers
// (embeddings, the head) comes last. The number is found by bisection: one layer more never needs more of a GPU.
//
// Stays on the GPUs: parameters of few elements (100,000, as DeepSpeed's stage3_param_persistence_threshold), and those
// whose home is an op of a pass.
//
// Deviations: a GPU fetches whole parameters, where ZeRO-Infinity has each fetch a shard and gathers them; the new value of
// a parameter crosses at the beginning of the next step, not at the end of this one.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_OFFLOAD_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_OFFLOAD_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "search/layouts/layout_devices.h"
#include "search/planner.h"

namespace placewright {

// Of these devices the GPUs of the host with a CPU whose GPUs are the fastest together, of equals the first; none: there is
// no such host.
std::vector<DeviceId> FastestHost(const LayoutProblem& problem, const DeviceTimes& times,
                                  const std::vector<DeviceId>& usable);

// What of a step may lie in host memory, and the plans that put some of it there.
class OffloadLayouts {
 public:
  // Parameters of fewer than `smallest` elements stay. Errors: kUsage (no host has both a GPU that supports every op and
  // a CPU), kInfeasible (no device supports every op).
  static Result<OffloadLayouts> Make(const LayoutProblem& problem, int64_t smallest);

  // Layers, and what is outside of them if it may be offloaded.
  size_t unit_count() const { return units_.size(); }
  // The first `count` units in the order of offloading are on the host; 0: none.
  StepPlan PlanOf(size_t count, bool fetched_anew) const;

 private:
  struct Unit {
    std::string module;  // "" outside of layers
    std::vector<GroupId> groups;
    Bytes bytes;  // of parameters and state
  };
  explicit OffloadLayouts(const LayoutProblem& problem) : problem_(problem) {}
  Status FindDevices();
  void FindUnits(int64_t smallest);
  std::vector<size_t> UnitsOnHost(size_t count) const;
  Layout LayoutOfSamples() const;

  const LayoutProblem& problem_;
  DeviceTimes times_;
  std::vector<DeviceId> gpus_;  // ascending
  std::vector<DeviceId> cpus_;  // of the same host, the nearest first
  std::vector<Unit> units_;     // layers in the order of the model, then what is outside
};

class OffloadPlanner : public Planner {
 public:
  explicit OffloadPlanner(std::vector<std::string> settings = {})
      : settings_(std::move(settings)) {}

  std::string_view name() const override { return "offload"; }
  std::string_view description() const override {
    return "what does not fit on the GPUs in host memory, fetched a layer ahead (ZeRO-Offload)";
  }
  const SettableAlgorithm* settable() const override;
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  bool iterative() const override { return false; }
  bool finds_what_fits() const override { return true; }
  // Errors: those of CheckMaySplit, OffloadLayouts::Make and CompileStep; kUsage (a setting).
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override;

 private:
  const std::vector<std::string> settings_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_OFFLOAD_H_
