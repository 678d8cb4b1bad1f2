// The one table of forms that a plan can be written in. A new one is a writer in a folder beside this file and a
// row here.
#ifndef PLACEWRIGHT_FORMATS_EXPORT_FORMATS_H_
#define PLACEWRIGHT_FORMATS_EXPORT_FORMATS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text_sink.h"
#include "formats/plan/plan_files.h"
#include "plan/placement.h"

namespace placewright {

// `notes` gets sentences on what the form takes otherwise than the plan. Errors: kNotExpressible
// for what the form cannot hold; the sink's.
using ExportWriter = Status (*)(const PlanInputs& plan, const Placement& placement,
                                const TextSink& sink, std::vector<std::string>* notes);

// What states how the step runs, for which it is simulated: the caller's, since formats do not.
struct SimulatedWriters {
  ExportWriter chrome_trace, cost_graph;
};

struct ExportFormat {
  // `refuses` says in general what the form cannot hold.
  std::string_view name, description, refuses;
  ExportWriter write;        // of the plan and its files alone; nullptr: `simulated`
  bool distributed = false;  // takes plans that split or copy ops
  ExportWriter SimulatedWriters::*simulated = nullptr;
};

// In the order of the help text.
std::span<const ExportFormat> ExportFormats();

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_EXPORT_FORMATS_H_
