// How engines distribute a step over a mesh of GPUs, as planners: each made from the step and the machines alone.
//
//   tensor         attention by heads, perceptrons by inner width, words with their loss by words over GPUs of one host, as
//                  many of them as divide the heads (8 at most), all else by tokens over the same; samples over the groups
//                  of these (tensor_parallel.h; Narayanan et al., SC 2021, sec. 3: t and d)
//   2d             the same; parameters that are in parts, with their state and update, are in shards over the groups,
//                  gathered for each pass (FSDP over the groups; Rajbhandari et al., SC 2020, sec. 5: P_os+g+p)
//   zero-1         samples over all GPUs; each parameter's state and update, with the parameter, in shards over all of them;
//                  gradients are added up over micro-batches where they are made, whole, and scattered once, behind the
//                  last of them (Rajbhandari et al., SC 2020, sec. 5: P_os; Megatron-LM's distributed optimizer)
//   zero-2         samples over all GPUs; each parameter's state and update, with the parameter, in shards over all of
//                  them, gathered once a step and kept for its backward pass, and so are the gradients of each micro-batch
//                  (Rajbhandari et al., SC 2020, sec. 5: P_os+g;
//                  FSDP with SHARD_GRAD_OP)
//   hybrid-zero-2  the same with shards over the GPUs of each host: gradients are scattered there and added up across
//                  (FSDP with _HYBRID_SHARD_ZERO2)
//   fsdp           as zero-2, but what layers fetched for the forward pass is given up there and fetched anew for the
//                  backward pass, each layer while the one before it computes; the parameters outside of layers are kept
//                  (Rajbhandari et al., sec. 5: P_os+g+p; FSDP2 with reshard_after_forward, whose root module is not
//                  resharded)
//   hsdp           the same with shards over the GPUs of each host (FSDP2 on a mesh of two dimensions)
//   ulysses        samples over groups of GPUs of one host, tokens over those of a group, within attention heads in their
//                  place, by all-to-alls; as many GPUs a group as divide the heads, 8 at most; parameters as zero-2
//                  (Jacobs et al., "DeepSpeed Ulysses", 2023)
//   experts        samples over all GPUs, experts that are one dimension of weights over GPUs of one host, as many as divide
//                  them, 8 at most: what is routed to them crosses by all-to-alls; other parameters as zero-2 (Lepikhin
//                  et al., "GShard", ICLR 2021). Tokens that are sorted by expert are gathered over a group, and what its
//                  experts give is reduce-scattered (routed_experts.h; Megatron-LM's dispatcher `allgather`); their parameters with
//                  state and update are in shards over the groups
//   context        the same as ulysses without heads: each has its queries, and gathers keys and values (Llama 3, sec. 3.3.2)
//
// Deviations: shards are of an axis of the parameter, whose parts may differ by one element, where engines flatten and
// pad; a parameter without an axis for all is on every GPU. Hosts have to have equal numbers of GPUs, but for zero-2.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_MESH_STRATEGIES_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_MESH_STRATEGIES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search/agent_settings.h"
#include "search/layouts/layout_devices.h"
#include "search/planner.h"

namespace placewright {

enum class MeshStrategy : uint8_t {
  kTensor,
  kTwoD,
  kZero2,
  kHybridZero2,
  kFsdp,
  kHsdp,
  kUlysses,
  kContext,
  kExperts,
  kZero1
};

std::string_view NameOf(MeshStrategy strategy);  // "2d"
// What --set calls the GPUs of a group; "": the strategy has none.
std::string_view DegreeSettingOf(MeshStrategy strategy);

struct MeshOptions {
  int64_t degree =
      0;  // GPUs of a group of `tensor`, `2d`, `ulysses`, `context`, `experts`; 0: as many as divide
  bool sequence = true;  // `tensor`, `2d`: tokens are split where nothing else is
  // `zero-2`, `fsdp` and those of hosts: samples in proportion to speed, 1 / time of what they split; else equal numbers.
  bool by_speed = false;
  // `context`: tokens such that GPUs of a group take equally long under a causal mask (token_shares.h); else equal numbers.
  bool tokens_by_work = false;
  std::string gpus{kEveryGpu};  // DevicesToSplitOver
  bool shards_update = false;   // `tensor`: over the groups, too (ZeRO-1)
  // `2d`, `ulysses`, `context`: shards of parameters over the GPUs of each host, the same on every host; else over all.
  bool shards_in_hosts = false;
  // Where parameters are in shards: those of a layer are gathered by one collective, their gradients scattered by one.
  bool by_unit = true;
};

// Errors: kUsage (a degree that does not divide; no attention by heads, or of tokens, that a host's GPUs divide; attention that is no operator of its
// own or that masks the future without stating a mask, where tokens are split; no such experts; hosts with unequal
// numbers of GPUs; fewer samples than have to be shared out), kInfeasible (no device supports every op), kBatchScaling.
Result<StepPlan> LayOutOnMesh(const LayoutProblem& problem, MeshStrategy strategy,
                              const MeshOptions& options = {});

// Whether there is attention as one operator, and each such op is split by one of these axes: `algorithm` needs that where
// it splits tokens. Errors: kUsage.
Status CheckAttentionSplits(const Graph& graph, const NamedAxes& axes,
                            const std::vector<AxisId>& by, std::string_view algorithm);

// What --set changes of what is tensor-parallel: GPUs of a group, tokens, which GPUs.
std::vector<AgentSetting> TensorSettings();

class MeshStrategyPlanner : public Planner {
 public:
  // `settings`: "NAME=VALUE".
  explicit MeshStrategyPlanner(MeshStrategy strategy, std::vector<std::string> settings = {})
      : strategy_(strategy), settings_(std::move(settings)) {}

  std::string_view name() const override;
  std::string_view description() const override;
  const SettableAlgorithm* settable() const override;
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  bool iterative() const override { return false; }
  // 2d has less memory than tensor, and what zero-1 saves zero-2 saves, too.
  bool in_auto() const override {
    return strategy_ != MeshStrategy::kTensor && strategy_ != MeshStrategy::kZero1;
  }
  bool finds_what_fits() const override;
  // Errors: those of CheckMaySplit, LayOutOnMesh and CompileStep.
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override;

 private:
  const MeshStrategy strategy_;
  const std::vector<std::string> settings_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_MESH_STRATEGIES_H_
