// The one table of forms that a plan can be written in.
#ifndef PLACEWRIGHT_CLI_REQUEST_EXPORT_FORMATS_H_
#define PLACEWRIGHT_CLI_REQUEST_EXPORT_FORMATS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text_sink.h"
#include "formats/plan/plan_files.h"

namespace placewright {

struct ExportFormat {
  // `refuses` says in general what the form cannot hold.
  std::string_view name, description, refuses;
  // `notes` gets sentences on what the form takes otherwise than the plan. Errors: kNotExpressible
  // for what the form cannot hold; the sink's.
  Status (*write)(const PlanInputs& plan, const Placement& placement, const TextSink& sink,
                  std::vector<std::string>* notes);
  bool distributed = false;  // takes plans that split or copy ops
};

// Writes the plan. Errors: kNotExpressible where it splits or copies ops and the form knows none;
// those of `write`.
Status WriteExport(const ExportFormat& format, const PlanInputs& plan, const Placement& placement,
                   const TextSink& sink, std::vector<std::string>* notes);

// In the order of the help text.
std::span<const ExportFormat> ExportFormats();

// Errors: kUsage with near names.
Result<const ExportFormat*> FindExportFormat(std::string_view name);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_EXPORT_FORMATS_H_
