// A GraphDef with the devices of a plan: the file's own bytes, but for the field `device` of nodes.
#ifndef PLACEWRIGHT_FORMATS_GRAPHDEF_WRITER_H_
#define PLACEWRIGHT_FORMATS_GRAPHDEF_WRITER_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/plan/plan_files.h"

namespace placewright {

// `file` (expanded) with devices[i] as the `device` of its i-th node, in the same form. All other
// bytes stay: unknown fields, attributes, comments. An old `device` is removed, the new one stands
// behind `op` in text and last in binary nodes. Errors: those of the reader.
Result<std::string> SetDevices(std::string_view file, const std::vector<std::string>& devices);

// The plan's GraphDef with the device of every node (devices.h). On a cluster of one host all are
// of the process that the file's nodes name, or of none where they name several (a note then says
// so). Reads the graph's file again. Errors: kNotExpressible (a plan of another graph),
// kPlanMismatch (the file has changed).
Result<std::string> WriteGraphDef(const PlanInputs& plan, const Placement& placement,
                                  std::vector<std::string>* notes);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_GRAPHDEF_WRITER_H_
