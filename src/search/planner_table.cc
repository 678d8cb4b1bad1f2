#include "search/planner_table.h"

#include <algorithm>
#include <iterator>

#include "search/constructive/heft.h"
#include "search/constructive/layered.h"
#include "search/constructive/m_etf.h"
#include "search/constructive/m_sct.h"
#include "search/constructive/m_topo.h"
#include "search/constructive/simple.h"
#include "search/engines/engine_planner.h"
#include "search/evaluation/group_placement.h"
#include "search/expert/expert.h"
#include "search/layouts/data_parallel.h"
#include "search/layouts/expert_hybrid.h"
#include "search/layouts/layout_search.h"
#include "search/layouts/mesh_strategies.h"
#include "search/layouts/offload.h"
#include "search/layouts/pipelines.h"
#include "search/local/descent.h"
#include "search/local/local_search.h"
#include "search/local/plain_chains.h"
#include "search/partition/model_parallel.h"
#include "search/partition/partition_placers.h"
#include "search/tag/mcts_planner.h"
#include "transforms/pipeline_schedule.h"

namespace placewright {

PlannerTable MakeSearchPlanners(const PlannerSettings& settings) {
  constexpr int kTries = 5;  // memory kept free: 0 to 4 eighths
  PlannerTable table;
  const auto constructive = [&](std::string_view name, std::string_view description,
                                PlaceFunction place, int attempts) {
    table.push_back(
        std::make_unique<ConstructivePlanner>(name, description, std::move(place), attempts));
  };
  constructive("single", "everything on the fastest device where it fits", &PlaceSingle, 64);
  constructive("random", "every colocation group on a random device", &PlaceRandom, 1);
  constructive("round-robin", "colocation groups dealt to the accelerators in topological order",
               &PlaceRoundRobin, 1);
  constructive("layered", "contiguous runs of modules, balanced by time under memory",
               &PlaceLayered, kTries);
  constructive("m-etf", "memory-constrained earliest task first (Baechi, SoCC 2020)", &PlaceMEtf,
               kTries);
  constructive("m-topo", "topological fill under a balanced memory cap (Baechi, SoCC 2020)",
               &PlaceMTopo, kTries);
  table.push_back(std::make_unique<MSctPlanner>());
  constructive("heft", "heterogeneous earliest finish time (Topcuoglu et al., TPDS 2002)",
               &PlaceHeft, kTries);
  table.push_back(std::make_unique<MetisPlanner>(kTries));
  constructive("scotch",
               "Scotch on colocation groups, one part a device (Pellegrini and Roman, HPCN 1996)",
               &PlaceScotch, kTries);
  table.push_back(std::make_unique<ModelParallelPlanner>());
  table.push_back(std::make_unique<ExpertPlanner>(settings.expert));
  table.push_back(std::make_unique<McmcPlanner>(settings.expert));
  table.push_back(std::make_unique<AnnealingPlanner>());
  table.push_back(std::make_unique<LocalSearchPlanner>());
  table.push_back(std::make_unique<DescentPlanner>());
  return table;
}

namespace {

constexpr MeshStrategy kMeshStrategies[] = {
    MeshStrategy::kTensor,      MeshStrategy::kTwoD,   MeshStrategy::kZero1, MeshStrategy::kZero2,
    MeshStrategy::kHybridZero2, MeshStrategy::kFsdp,   MeshStrategy::kHsdp,  MeshStrategy::kUlysses,
    MeshStrategy::kContext,     MeshStrategy::kExperts};

}  // namespace

bool IsTrainingStrategy(std::string_view algorithm) {
  const auto is_pipeline = [&](std::string_view schedule) { return schedule == algorithm; };
  const auto is_mesh = [&](MeshStrategy one) {
    return MeshStrategyPlanner(one).name() == algorithm;
  };
  return algorithm == EnginePlanner(TrainingEngine::kDdp).name() ||
         algorithm == OffloadPlanner().name() || algorithm == kZeroBubble || algorithm == k3d ||
         std::any_of(kPipelineSchedules.begin(), kPipelineSchedules.end(), is_pipeline) ||
         std::any_of(std::begin(kMeshStrategies), std::end(kMeshStrategies), is_mesh);
}

bool TriesUnits(std::string_view algorithm) {
  return algorithm == EnginePlanner(TrainingEngine::kFsdp2).name() ||
         algorithm == EnginePlanner(TrainingEngine::kTensorParallel).name();
}

PlannerTable MakeLayoutPlanners(const PlannerSettings& settings) {
  PlannerTable table;
  for (const DataParallelKind kind :
       {DataParallelKind::kEven, DataParallelKind::kLate, DataParallelKind::kProportional,
        DataParallelKind::kServers, DataParallelKind::kHorovod}) {
    table.push_back(std::make_unique<DataParallelPlanner>(kind, settings.agent));
  }
  // In `auto` what compiles one plan comes before what tries many.
  table.push_back(std::make_unique<ExpertHybridPlanner>());
  for (const MeshStrategy strategy : kMeshStrategies) {
    table.push_back(std::make_unique<MeshStrategyPlanner>(strategy, settings.agent));
  }
  for (const std::string_view schedule : kPipelineSchedules) {
    table.push_back(std::make_unique<PipelinePlanner>(schedule, settings.agent));
  }
  table.push_back(std::make_unique<PipelinePlanner>(kZeroBubble));
  table.push_back(std::make_unique<PipelinePlanner>(k3d, settings.agent));
  table.push_back(std::make_unique<OffloadPlanner>(settings.agent));
  table.push_back(std::make_unique<DataParallelPlanner>(DataParallelKind::kBest, settings.agent));
  table.push_back(std::make_unique<LayoutSearchPlanner>(settings.agent));
  table.push_back(std::make_unique<MctsPlanner>(settings.agent));
  for (const TrainingEngine engine :
       {TrainingEngine::kDdp, TrainingEngine::kFsdp2, TrainingEngine::kTensorParallel}) {
    table.push_back(std::make_unique<EnginePlanner>(engine));
  }
  return table;
}

PlanSource ConstructivePlans(const PlannerTable& table, const Budget& budget) {
  return [&table, budget](const Problem& problem, Evaluator& evaluator, const PlanVisitor& visit) {
    for (const auto& planner : table) {
      if (planner->iterative() || !planner->in_auto()) continue;
      if (budget.Expired()) return;
      PlannerOptions options;
      options.budget = budget;
      const Result<PlannerResult> planned = planner->Plan(problem, evaluator, options);
      if (!planned.ok()) continue;
      const PlannerResult& result = planned.value();
      if (visit(result.algorithm, PlacementOf(problem, result.plan), result.feasible)) return;
    }
  };
}

}  // namespace placewright
