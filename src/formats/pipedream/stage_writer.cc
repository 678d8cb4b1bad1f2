#include "formats/pipedream/stage_writer.h"

#include <fmt/format.h>

#include "formats/pipedream/format.h"
#include "formats/pipedream/profile_graph.h"

namespace placewright {

Result<std::string> WritePipeDreamStages(const PlanInputs& plan, const Placement& placement) {
  const auto* profile = plan.graph.Details<PipeDreamProfile>();
  if (profile == nullptr) {
    return MakeError(ErrorCode::kNotExpressible,
                     fmt::format("stages are those of the layers of a PipeDream profile; this plan "
                                 "is of a graph of the format \"{}\"",
                                 plan.graph.graph.format()),
                     "", "Plan a PipeDream profile, or export to another format.");
  }
  PW_ASSIGN(const std::vector<int64_t> stages,
            StagesOf(*profile, plan.graph.graph, placement, plan.cluster.cluster));
  return WritePipeDream(*profile, stages);
}

}  // namespace placewright
