// The ATen training graph as a graph format.
#ifndef PLACEWRIGHT_FORMATS_ATEN_FORMAT_H_
#define PLACEWRIGHT_FORMATS_ATEN_FORMAT_H_

#include <vector>

#include "formats/aten/records.h"
#include "formats/graph_format.h"
#include "plan/distributed_step.h"

namespace placewright {

// LoadedGraph::details of these files; both as AtenGraph has them.
struct AtenDetails {
  IdVector<OpId, bool> module_stated;
  std::optional<bool> wrapped;
  IdVector<OpId, std::string> origin;  // of a distributed step
  std::vector<NamedPiece> pieces;  // of a distributed step: what each input is of the original's
};

// The step that a file is, without its graph, which is the file's and may be large. Errors: those of ReadAtenStep.
Result<DistributedStep> StepOfFile(const LoadedGraph& file, const Graph& original,
                                   const Cluster& cluster);

extern const GraphFormat kAtenFormat;

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ATEN_FORMAT_H_
