// What an engine of PyTorch can say of a step's layouts: a few decisions, each on or off, over a set of devices.
//
//   ddp     DistributedDataParallel: the batch in equal parts, every parameter on every device. Nothing to decide.
//   fsdp2   torch.distributed.fsdp.fully_shard: the batch in equal parts. A unit is a module in a list of modules
//           ("layers.3"), or a module with parameters outside of lists; on: each of its parameters, with state and
//           update, lies in equal parts along its first dimension, or the next that has such parts; gathered where it
//           is read, its gradient summed part by part. Off: on every device.
//   tp      torch.distributed.tensor.parallel: every device has all samples. A unit is an axis of a layer: the heads of
//           an attention, the width between two products, where the parameters that have it are those of linear layers; on: the products that make it are column-wise, those that
//           sum over it row-wise, all between them in equal parts. Off: on every device.
#ifndef PLACEWRIGHT_SEARCH_ENGINES_ENGINE_LAYOUTS_H_
#define PLACEWRIGHT_SEARCH_ENGINES_ENGINE_LAYOUTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plan/layout.h"
#include "plan/step_plan.h"
#include "search/problem/layout_problem.h"

namespace placewright {

enum class TrainingEngine : uint8_t { kDdp, kFsdp2, kTensorParallel };

// What is decided as one.
struct EngineUnit {
  std::string alike;  // equal for layers that repeat: the name without numbers
  std::vector<std::pair<GroupId, AxisId>> splits;  // where it is on; of the others' groups none
};

// Those that can be on over so many devices, in the order of the step. Complexity: O(ops * axes of layers).
std::vector<EngineUnit> UnitsOf(TrainingEngine engine, const LayoutProblem& problem,
                                size_t devices);

// Several devices, which for ddp and fsdp2 divide the batch; `on`: by unit.
StepPlan PlanOf(TrainingEngine engine, const LayoutProblem& problem,
                const std::vector<DeviceId>& devices, const std::vector<EngineUnit>& units,
                const std::vector<bool>& on);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_ENGINES_ENGINE_LAYOUTS_H_
