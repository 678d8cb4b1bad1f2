// What a change of machines, batch or recomputation would gain: the best strategy under each, found by planning anew.
#ifndef PLACEWRIGHT_PLANNING_WHAT_IF_H_
#define PLACEWRIGHT_PLANNING_WHAT_IF_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/cluster_builder.h"
#include "cluster/memory_reserve.h"
#include "planning/strategy_trials.h"

namespace placewright {

struct WhatIfAnswer {
  std::string name;  // "twice the network", "host0/gpu3 left out", "batch 32", "recompute full"
  int64_t batch = 0;
  std::optional<StrategyResult> best;
  std::string why_not;  // where nothing fits, or there is no such step
  double samples_per_second = 0;
  std::optional<double> gain;  // of samples a second, as a part; none: one of the two does not fit
};

// What keeps the step from being faster: memory where 16 GB more of it would gain kMemoryBinds and more, or nothing fits;
// else what takes the largest share of the devices' time.
enum class BindingConstraint : uint8_t { kMemory, kCompute, kCommunication, kIdle };
std::string_view ToString(
    BindingConstraint constraint);  // "memory", "compute", "a link", "waiting"
inline constexpr double kMemoryBinds = 0.02;

struct WhatIfAnswers {
  WhatIfAnswer base;                     // as things are
  std::optional<StrategyDetail> detail;  // of its best
  std::optional<BindingConstraint> binds;
  std::vector<WhatIfAnswer> changes;  // what gains most first; behind these what does not fit
  bool interrupted = false;
};

struct WhatIfRequest {
  ClusterBuilder cluster;                  // as described
  std::optional<MemoryReserve> reserve{};  // of each GPU
  int64_t batch = 0;                       // of the step; 0: not known, and not changed
  // The step at a batch. Errors of the batch (kBatchScaling, kTooLarge, kNotRecordable, kGraphShape, kField) are the
  // answer's why_not.
  std::function<Result<StrategyTrier*>(int64_t batch)> step;
  StrategyTrialOptions trials{};
  std::optional<WhatIfAnswer> plan{};  // what gains compare with; none: with the best strategy
  std::function<void(const std::string& change)> asking{};
};
// Twice the network, where hosts are joined by one; NVLink or peer to peer, where GPUs have none and could; 16 GB more per
// GPU; one GPU fewer, or of unequal ones each (of equal ones on one host the last) and each kind left out; half and twice
// the batch; each set of recomputation that the best strategy does not have. Errors: those of `step` at the batch as it
// is, of ChangeCluster and of StrategyTrier::On.
Result<WhatIfAnswers> AskWhatIf(const WhatIfRequest& request);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_WHAT_IF_H_
