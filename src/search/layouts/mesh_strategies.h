// How engines distribute a step over a mesh of GPUs, as planners: each made from the step and the machines alone.
//
//   2d             attention by heads and perceptrons by inner width over GPUs of one host, as many of them as divide the
//                  heads (8 at most), samples over the groups of these (Narayanan et al., SC 2021, sec. 3: t and d); all
//                  else is on every GPU of a group, scores of words by the samples of each
//   zero-2         samples over all GPUs; each parameter's state and update, with the parameter, in shards over all of
//                  them, gathered once a step and kept for its backward pass (Rajbhandari et al., SC 2020, sec. 5: P_os+g;
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
//                  et al., "GShard", ICLR 2021)
//   context        the same as ulysses without heads: each has its queries, and gathers keys and values (Llama 3, sec. 3.3.2)
//
// Deviations: shards are of an axis of the parameter, whose parts may differ by one element, where engines flatten and
// pad; a parameter without an axis for all is on every GPU. Hosts have to have equal numbers of GPUs, but for zero-2.
// Without a vocabulary-parallel loss each GPU has the whole embedding.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_MESH_STRATEGIES_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_MESH_STRATEGIES_H_

#include <cstdint>
#include <string_view>

#include "search/layouts/layout_devices.h"
#include "search/planner.h"

namespace placewright {

enum class MeshStrategy : uint8_t {
  kTwoD,
  kZero2,
  kHybridZero2,
  kFsdp,
  kHsdp,
  kUlysses,
  kContext,
  kExperts
};

// Errors: kUsage (no attention by heads, or of tokens, that a host's GPUs divide; attention that is no operator of its
// own or that masks the future without stating a mask, where tokens are split; no such experts; hosts with unequal
// numbers of GPUs; fewer samples than have to be shared out), kInfeasible (no device supports every op), kBatchScaling.
Result<StepPlan> LayOutOnMesh(const LayoutProblem& problem, MeshStrategy strategy);

class MeshStrategyPlanner : public Planner {
 public:
  explicit MeshStrategyPlanner(MeshStrategy strategy) : strategy_(strategy) {}

  std::string_view name() const override;
  std::string_view description() const override;
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  bool iterative() const override { return false; }
  bool finds_what_fits() const override {
    return strategy_ != MeshStrategy::kTwoD && strategy_ != MeshStrategy::kUlysses &&
           strategy_ != MeshStrategy::kContext && strategy_ != MeshStrategy::kExperts;
  }
  // Errors: those of CheckMaySplit, LayOutOnMesh and CompileStep.
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override;

 private:
  MeshStrategy strategy_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_MESH_STRATEGIES_H_
