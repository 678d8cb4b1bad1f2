// A graph as an ATen training graph (fx JSON), with the device of every op.
// docs/formats/aten-graph.md
#ifndef PLACEWRIGHT_FORMATS_ATEN_WRITER_H_
#define PLACEWRIGHT_FORMATS_ATEN_WRITER_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/plan/plan_files.h"
#include "plan/distributed_step.h"

namespace placewright {

// What the file says reads back to the same graph (ToText, arguments and outputs); that is tried
// before it is returned.
// Modules stand there only where the graph's own file stated them, marks of aliases only where the
// operator's schema does not state them. `module_stated` as AtenGraph has it, or empty: all modules
// are written. `devices`: a name for each op, or nullptr. `wrapped` as AtenGraph has it.
// Errors: kNotExpressible naming what the format cannot hold: tensors without elements of a known
// type, operators that are not ATen's, tensors that are not named after their ops.
Result<std::string> WriteAtenGraph(const Graph& graph, const IdVector<OpId, bool>& module_stated,
                                   const NamedPlacement* devices,
                                   std::optional<bool> wrapped = std::nullopt);

// A distributed step of `original`: every op with its device and the op that it is an instance of, every
// input with what it is of the original's. Not read back. Errors: as above.
Result<std::string> FormatAtenStep(const DistributedStep& step, const Graph& original,
                                   const Cluster& cluster);

// The two halves of WriteAtenGraph, for callers that do something else with the text meanwhile.
Result<std::string> FormatAtenGraph(const Graph& graph, const IdVector<OpId, bool>& module_stated,
                                    const NamedPlacement* devices,
                                    std::optional<bool> wrapped = std::nullopt);
Status CheckReadsBack(std::string_view text, const Graph& graph);

// The plan's graph, every op with its device. Errors: as above; kNotExpressible where the graph's
// file states times, which this form has no room for.
Result<std::string> WriteAtenPlan(const PlanInputs& plan, const Placement& placement);

// The same, not read back: of a rewritten step the text has all ops, and not which of them have to lie together.
Result<std::string> FormatAtenPlan(const PlanInputs& plan, const Placement& placement);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ATEN_WRITER_H_
