// Data parallelism as planners: the whole step on several devices, each with its share of the samples.
//
//   data-parallel       all GPUs, equal shares; every gradient is reduced by an AllReduce when it is ready
//   data-parallel-late  equal shares; all gradients are reduced together behind the backward pass (kAllTogether),
//                       without broadcasts: nothing overlaps (TAG's DP-NCCL, the baseline of its percentages)
//   data-parallel-p     shares in proportion to speed: 1 / time of the step there (TAG's DP-NCCL-P)
//   data-parallel-ps    equal shares; each parameter is on one of the devices, in turn (TAG's DP-PS)
//   horovod             equal shares; gradients that are ready one after the other are reduced together, up
//                       to 64 MiB at a time (Sergeev and Del Balso, arXiv:1802.05799, 2018, sec. 4.3)
//   data-parallel-best  the best over all subsets of device groups (Cluster::groups), AllReduce or
//                       parameter servers, equal or proportional shares
//
// No two servers do alike, so that a step with many takes long to simulate (kManyServedInstances). One that is expected to
// be behind the plan from which `auto` goes on, or the best so far, is none then.
// Without GPUs, all devices. With fewer samples than devices the fastest ones have one each, as a note says.
// Deviation from TAG sec. 5.2: there, baselines use all devices; a slow one holds all others up.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_DATA_PARALLEL_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_DATA_PARALLEL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search/planner.h"

namespace placewright {

inline constexpr int64_t kManyServedInstances = 4'000'000;  // ops times devices

enum class DataParallelKind : uint8_t { kEven, kLate, kProportional, kServers, kHorovod, kBest };

class DataParallelPlanner : public Planner {
 public:
  // `settings`: "NAME=VALUE".
  explicit DataParallelPlanner(DataParallelKind kind, std::vector<std::string> settings = {},
                               int64_t many_instances = kManyServedInstances)
      : kind_(kind), settings_(std::move(settings)), many_instances_(many_instances) {}

  std::string_view name() const override;
  std::string_view description() const override;
  const SettableAlgorithm* settable() const override;
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  bool iterative() const override { return false; }
  bool in_auto() const override {
    return kind_ != DataParallelKind::kLate;
  }  // a baseline: what may be faster in it are buckets, which horovod has
  bool finds_what_fits() const override {
    return kind_ == DataParallelKind::kEven || kind_ == DataParallelKind::kProportional ||
           kind_ == DataParallelKind::kServers;
  }
  // Errors: kUsage (a problem without layouts; constraints, which these plans have no room for),
  // kBatchScaling (nothing proves how the step follows its batch), kNothingFound (see above), those of CompileStep.
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override;

 private:
  DataParallelKind kind_;
  std::vector<std::string> settings_;
  int64_t many_instances_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_DATA_PARALLEL_H_
