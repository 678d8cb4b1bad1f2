// Where a plan cannot be written in another program's form: options of a plan that can, tried before they are named.
#ifndef PLACEWRIGHT_CLI_REQUEST_EXPORT_REMEDY_H_
#define PLACEWRIGHT_CLI_REQUEST_EXPORT_REMEDY_H_

#include "base/stop.h"
#include "cli/request/plan_export.h"

namespace placewright {

// `error`: what writing the plan in that form came to. Where it names options of `plan` (--colocate-each, --colocate,
// --space placed), plans with these are looked for, for about ten seconds, until one fits and can be written; what that one
// is refused for is added to the options. The remedy then says what was found: the options, with the algorithm and the step
// time of the plan, or that none fits. Other errors stay as they are.
Error WithTriedRemedy(Error error, const ExportFormat& format, const PlanInputs& plan,
                      const std::string& plan_path, const PlanInputOptions& options,
                      const StopToken& stop);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_EXPORT_REMEDY_H_
