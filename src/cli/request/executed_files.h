// Files of a typical step as it was executed: its schedule, pictures and trace.
#ifndef PLACEWRIGHT_CLI_REQUEST_EXECUTED_FILES_H_
#define PLACEWRIGHT_CLI_REQUEST_EXECUTED_FILES_H_

#include <string>
#include <vector>

#include "cli/terminal/command_line.h"
#include "cli/terminal/output_path.h"
#include "formats/plan/plan_files.h"
#include "torch_api/step_measurement.h"

namespace placewright {

struct ExecutedFiles {
  std::string schedule, svg, html, trace;  // paths; empty: not asked for
};
void AddExecutedFiles(CommandLine app, ExecutedFiles* files);

// Those that are asked for.
std::vector<NamedFile> FilesOf(const ExecutedFiles& files);

// Errors: kFileUnwritable.
Status WriteExecutedFiles(const ExecutedFiles& files, const PlanInputs& loaded,
                          const Placement& placement, const StepMeasurement& measured);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_EXECUTED_FILES_H_
