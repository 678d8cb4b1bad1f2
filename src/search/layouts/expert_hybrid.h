// expert-hybrid: how people who know the model distribute it by hand, by the kind of model
// (model_structure.h).
//
//   mixture of experts   experts on devices in turn, or split by the experts' axis; all else split
//                        by samples (Lepikhin et al., GShard, arXiv:2006.16668, 2020, sec. 2.2)
//   attention            within one machine: attention split by heads, perceptrons by their inner
//                        width, all else on every device (Shoeybi et al., Megatron-LM,
//                        arXiv:1909.08053, 2019, sec. 3)
//   recurrent            within one machine: each layer on one device, in turn (Wu et al.,
//                        arXiv:1609.08144, 2016, sec. 3.3); all else, as attention and softmax,
//                        split by samples (Ono et al., arXiv:1909.00562, 2019, sec. 3)
//   fully connected      where they have half of the parameters: these layers split by their
//                        outputs, all else, as convolutions, by samples (Krizhevsky,
//                        arXiv:1404.5997, 2014, scheme (a))
//   convolutional        split by samples
//
// Devices: GPUs, or all devices where there are none. Machines: device groups (Cluster::groups); of
// attention and recurrent layers the one with the maximum sum of speeds (1 / time of the step
// there). Heads: as many of its devices, 8 at most, as divide the heads of all layers. With fewer
// samples than devices, the fastest have one each. Layers with fewer outputs than devices, and
// experts along an axis that are fewer than devices, are split by samples; perceptrons of attention
// with an inner width below the devices are on every device.
//
// Deviations. Split layers are on one set of devices, not on several that share the batch
// (mesh_strategies.h has these). Megatron-LM splits the vocabulary, too, with a softmax of its own; here
// embeddings are on every device, and the scores of words are split by samples. Wu et al. split the
// softmax by words; its normalisation needs all of them, so that it is split by samples here. Of
// experts with fewer devices than experts each device has several; with more, each expert has
// several, which share its samples.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_EXPERT_HYBRID_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_EXPERT_HYBRID_H_

#include <string>
#include <string_view>

#include "search/layouts/layout_devices.h"
#include "search/planner.h"

namespace placewright {

struct HybridLayouts {
  StepPlan plan;
  std::string note;  // what was done, and to which layers
};

// Errors: kUsage (no strategy fits the step), kInfeasible (no device supports every op),
// kBatchScaling (the samples are to be split, and nothing proves how the step follows them).
Result<HybridLayouts> LayOutAsExperts(const LayoutProblem& problem);

class ExpertHybridPlanner : public Planner {
 public:
  std::string_view name() const override { return "expert-hybrid"; }
  std::string_view description() const override {
    return "layers split as people do by hand: by heads, widths, outputs, experts or samples";
  }
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  bool iterative() const override { return false; }
  // Errors: those of CheckMaySplit, LayOutAsExperts and CompileStep.
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_EXPERT_HYBRID_H_
