// Plans that split or copy ops, on the command line: what is asked for, and a compiled step in the place of
// a graph that is placed.
#ifndef PLACEWRIGHT_CLI_REQUEST_DISTRIBUTED_H_
#define PLACEWRIGHT_CLI_REQUEST_DISTRIBUTED_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/request/inputs.h"
#include "cli/terminal/options.h"
#include "formats/plan/plan_files.h"
#include "formats/text/json.h"
#include "graph/partition/tag_groups.h"
#include "plan/plan.h"
#include "plan/plan_space.h"
#include "planning/plan_session.h"
#include "search/planner.h"
#include "search/problem/layout_problem.h"
#include "search/sfb/sfb_search.h"
#include "sim/simulator.h"

namespace placewright {

struct SpaceOptions {
  std::string space = "placed";
  std::string batch_norm = "synchronised";
  std::string layouts;  // a file, or empty
  std::string sfb = "none";
  int units = kTagParts;
  // Whether plans may split or copy ops; where nothing was asked for, if the batch is proven to follow.
  enum class Splitting { kNo, kWhereProven, kYes } splitting = Splitting::kNo;
  bool MaySplit() const { return splitting != Splitting::kNo; }  // some steps
};
// --layouts and, with `search`, --space, --batch-norm and --units.
void AddSpaceOptions(CommandLine app, SpaceOptions* options, bool search);
// --sfb.
void AddSfbOption(CommandLine app, SpaceOptions* options);
// Errors: kUsage with near names.
Result<SfbMode> ParseSfb(const SpaceOptions& options);
// Whether a plan may split or copy ops of the step: where nothing was asked for if it is proven how the step follows its
// batch, the cost model knows parts of its ops, and there are several devices.
bool MaySplit(const SpaceOptions& space, const Inputs& inputs);
// Said where that is so though nothing was asked for.
inline constexpr std::string_view kMayBeSplit =
    "ops may be split and copied, as the batch is proven to follow (--space placed: whole ops "
    "alone)";

// Errors: kUsage with near names.
Result<PlanSpace> ParseSpace(const SpaceOptions& options);

// What `plan` is asked for, as far as it says whether ops may be split.
struct SpaceRequest {
  const CommandLine& app;
  const Planner& asked;
  const std::string& initial;  // --init
  bool measured = false;
};
// Sets `splitting`: an algorithm or a plan to start from that splits ops is permission enough. Errors: kUsage (what
// excludes one another).
Status SettleSpace(const SpaceRequest& request, SpaceOptions& options);

// How parts of ops cost what they do. Errors: kUsage (a file that states its own times: those of parts of ops are not
// known), those of the cost store.
Result<CostOptions> CostsOfParts(const InputOptions& input, const Inputs& inputs);
// Errors: kUsage (--batch-norm).
Result<SplitWishes> WishesOf(const SpaceOptions& options);

// What layouts of a step are searched in and compiled with. `inputs` must outlive it and stay where it is. Errors: those
// of CostsOfParts and WishesOf.
Result<std::unique_ptr<LayoutProblem>> MakeLayoutProblem(const InputOptions& input,
                                                         const SpaceOptions& options,
                                                         const Inputs& inputs);

// A step as what is simulated, drawn and reported, whatever its plan does with ops.
struct StepInputs {
  StepOfPlan step;
  // Of a compiled step with the name, path and hash of the original's file; `own`, or somebody else's.
  const Inputs* inputs = nullptr;
  std::unique_ptr<const Inputs> own{};
  std::string file{};  // the text of a compiled step's file
};
// `inputs`: of the graph that was planned. They and what the step points to outlive it.
Result<StepInputs> InputsOf(const Inputs& inputs, StepOfPlan step);

// What the step of a distributed plan was compiled of.
struct OriginalStep {
  LoadedGraph graph;                         // as the plan names it
  std::unique_ptr<const Graph> transformed;  // nullptr: as it was read
  std::vector<DistributedStep::InputPiece> pieces;
  IdVector<OpId, OpId> origin{};  // as in DistributedStep, of step()

  const Graph& step() const { return transformed ? *transformed : graph.graph; }
};
// None of a plan of whole ops, whose graph is its own. Errors: those of the readers, kPlanMismatch.
Result<std::optional<OriginalStep>> LoadOriginal(const PlanInputs& loaded,
                                                 const std::string& plan_path,
                                                 const PlanInputOptions& options);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_DISTRIBUTED_H_
