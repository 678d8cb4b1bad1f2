// The one table of forms that a plan can be written in.
#ifndef PLACEWRIGHT_CLI_REQUEST_EXPORT_FORMATS_H_
#define PLACEWRIGHT_CLI_REQUEST_EXPORT_FORMATS_H_

#include <span>
#include <string_view>

#include "base/result.h"
#include "base/text_sink.h"
#include "formats/plan/plan_files.h"

namespace placewright {

struct ExportFormat {
  // `refuses` says in general what the form cannot hold.
  std::string_view name, description, refuses;
  // Errors: kNotExpressible for what the form cannot hold; the sink's.
  Status (*write)(const PlanInputs& plan, const Placement& placement, const TextSink& sink);
};

// In the order of the help text.
std::span<const ExportFormat> ExportFormats();

// Errors: kUsage with near names.
Result<const ExportFormat*> FindExportFormat(std::string_view name);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_EXPORT_FORMATS_H_
