// By which PyTorch a step was recorded, for errors of another one.
#ifndef PLACEWRIGHT_CLI_REQUEST_RECORDED_VERSION_H_
#define PLACEWRIGHT_CLI_REQUEST_RECORDED_VERSION_H_

#include <string>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

// "2.15.0+cu132", as the exporter writes it into a graph file; "" where the file does not say.
std::string RecordedVersion(const std::string& graph_path);

// An operator that LibTorch has not (kUnknownName) is one of the version that recorded the step: the message names it.
// All else stays as it is.
Error WithRecordedVersion(Error error, const std::string& graph_path);

// Which of the graph's operators LibTorch of that version executes by their definition, not having them (the runtime's
// newer_ops.h); "" where there are none.
std::string ComposedOps(const Graph& graph, const std::string& libtorch);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_RECORDED_VERSION_H_
