// Workloads of the dnn-partitioning package as a graph format, and without a graph made of them.
#ifndef PLACEWRIGHT_FORMATS_DNN_PARTITIONING_FORMAT_H_
#define PLACEWRIGHT_FORMATS_DNN_PARTITIONING_FORMAT_H_

#include "formats/graph_format.h"
#include "plan/pipeline_workload.h"
#include "plan/split.h"

namespace placewright {

// LoadedGraph::details are a PipelineWorkload.
extern const GraphFormat kDnnPartitioningFormat;

// The workload of a file, without a graph made of it: cycles and any number of devices are
// possible. Errors: as LoadGraph; kUsage where the file is of another format.
Result<PipelineWorkload> LoadWorkload(const std::string& path);

// What a placement file says to a workload: the split that it is, or else names. Errors: those of
// the readers.
struct SplitOrPlacement {
  std::optional<Split> split;
  NamedPlacement placement;  // where it is no split
};
Result<SplitOrPlacement> LoadSplitOrPlacement(const std::string& path);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_DNN_PARTITIONING_FORMAT_H_
