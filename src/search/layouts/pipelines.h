// Pipelines as planners: gpipe, 1f1b, interleaved, zb-h1, and 3d in any of these orders. The step's micro-batches are in the order of the schedule already
// (transforms/pipeline.h); here the stages get their devices: of the GPUs, host after host, equal runs, or a host each where
// there are as many of both, which share the samples of a micro-batch out among them (data parallelism within a stage). A parameter that several chunks read (tied
// embeddings) lies, with all that reads it, on the stage of the last one. Under 3d the GPUs of a stage are tensor groups
// (tensor_parallel.h) of GPUs of one host, over which samples are shared out (Narayanan et al., SC 2021, sec. 3: p, t, d).
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_PIPELINES_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_PIPELINES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search/layouts/mesh_strategies.h"
#include "search/layouts/model_structure.h"
#include "search/planner.h"

namespace placewright {

// Of a stage, where its devices begin and end among those of the hosts, one host after the other.
std::pair<int64_t, int64_t> RunOfStage(const std::vector<std::vector<DeviceId>>& hosts,
                                       int64_t stage, int64_t stages);

// The devices of every stage.
struct StageDevices {
  std::vector<std::vector<DeviceId>> of_stage;
  int64_t of_host = 1;  // how many that follow one another are of one host
};
// Errors: those of DevicesToSplitOver; kInfeasible (there are GPUs, and none supports every op), kUsage (fewer devices than
// stages).
Result<StageDevices> DevicesOfStages(const LayoutProblem& problem, std::string_view gpus,
                                     int64_t stages);

// GPUs of a tensor group under 3d. `stated`: 0 none. Errors: those of ChooseDegree.
Result<int64_t> TensorDegreeOf3d(const LayoutProblem& problem, const ModelStructure& structure,
                                 const StageDevices& devices, int64_t stated);

// Errors: those of DevicesOfStages; kUsage (a step that is in no such order; fewer samples of a micro-batch than devices of a
// stage), kTransform, kBatchScaling.
// `gpus`: DevicesToSplitOver.
Result<StepPlan> LayOutPipeline(const LayoutProblem& problem, std::string_view schedule,
                                std::string_view gpus = kEveryGpu);

// The chunk of every colocation group, of those of its ops: the last one whose forward pass is of it, or of a group without
// one the last of all.
IdVector<GroupId, int32_t> ChunkByGroup(const Graph& step, const IdVector<OpId, int32_t>& chunk_of);

inline constexpr std::string_view k3d = "3d";
// The name that it has in PyTorch and Megatron-LM, for the only one of its kind here: zb-h1.
inline constexpr std::string_view kZeroBubble = "zb";

// Any schedule. Errors: those of LayOutPipeline and TensorDegreeOf3d.
Result<StepPlan> LayOut3d(const LayoutProblem& problem, const MeshOptions& options = {});

class PipelinePlanner : public Planner {
 public:
  // `schedule`: of kPipelineSchedules, kZeroBubble, or k3d; `settings`: "NAME=VALUE".
  explicit PipelinePlanner(std::string_view schedule, std::vector<std::string> settings = {});

  std::string_view name() const override { return schedule_; }
  std::string_view description() const override { return description_; }
  const SettableAlgorithm* settable() const override;
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  bool iterative() const override { return false; }
  bool in_auto() const override { return false; }  // it needs a step in its order
  bool finds_what_fits() const override { return schedule_ != k3d; }  // which needs attention
  // Errors: those of CheckMaySplit, LayOutPipeline and CompileStep.
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override;

 private:
  const std::string_view schedule_;
  const std::vector<std::string> settings_;
  const std::string description_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_PIPELINES_H_
