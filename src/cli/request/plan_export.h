// A plan in one of the forms of formats/export_formats.h.
#ifndef PLACEWRIGHT_CLI_REQUEST_PLAN_EXPORT_H_
#define PLACEWRIGHT_CLI_REQUEST_PLAN_EXPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/export_formats.h"

namespace placewright {

// Writes the plan. Errors: kNotExpressible where it splits or copies ops and the form knows none;
// those of the form's ExportWriter.
Status WriteExport(const ExportFormat& format, const PlanInputs& plan, const Placement& placement,
                   const TextSink& sink, std::vector<std::string>* notes);

// Whether the plan splits or copies ops and the form knows none that does.
bool NeedsWholeOps(const ExportFormat& format, const PlanInputs& plan);

// The plan's step as each device runs it (the form "aten"): of one that splits or copies ops the file beside it as it
// is.
Result<std::string> TextOfStep(const PlanInputs& plan, const std::string& plan_path);

// "Plans that split or copy ops: aten, chrome-trace alone", behind all forms and what they refuse.
std::string DescribeExportFormats();

// Errors: kUsage with near names.
Result<const ExportFormat*> FindExportFormat(std::string_view name);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_PLAN_EXPORT_H_
