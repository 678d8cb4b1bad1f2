// What `simulate` prints of a simulated step.
#ifndef PLACEWRIGHT_CLI_COMMANDS_SIMULATE_REPORT_H_
#define PLACEWRIGHT_CLI_COMMANDS_SIMULATE_REPORT_H_

#include <memory>
#include <optional>
#include <string>

#include "cli/request/analysis.h"
#include "cli/request/distributed.h"
#include "cli/terminal/console.h"
#include "plan/plan.h"

namespace placewright {

// Everything that one simulation needs, whichever files it came from.
struct SimulatedSubject {
  std::string placement_file;
  std::optional<Nanos> stated_time;  // of a plan whose step was compiled again
  Plan plan;  // where it came from a plan, its bound and who found it; simulating adds all else
  // What a compiled step is of.
  std::unique_ptr<const Inputs> whole;
  std::unique_ptr<const LayoutProblem> problem;
  std::unique_ptr<const OriginalStep> step_of_plan;
  std::unique_ptr<const SimGraph> sim_graph;
  std::string crowded;  // where tensors fit, but not what is taken beside them: of which device
  StepInputs of;        // of what stands above
};

// Prints the simulation as text or JSON, as the console says. `schedule`: also start and end of every
// op, collective and transfer (ns).
void ReportSimulation(const SimulatedSubject& subject, const Analysis& analysis, bool schedule,
                      Console& console);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_COMMANDS_SIMULATE_REPORT_H_
