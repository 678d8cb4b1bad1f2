// Workload and split files of the dnn-partitioning package (docs/formats/dnn-partitioning.md).
#ifndef PLACEWRIGHT_FORMATS_DNN_PARTITIONING_WORKLOAD_READER_H_
#define PLACEWRIGHT_FORMATS_DNN_PARTITIONING_WORKLOAD_READER_H_

#include "base/result.h"
#include "formats/text/json.h"
#include "plan/pipeline_workload.h"
#include "plan/split.h"

namespace placewright {

// Largest time that a workload may state, in its own unit: a million of them stay below 2^60 ns
// when a unit is taken for a millisecond.
inline constexpr double kMaxWorkloadTime = 1e12;

// Fields that the format does not know are skipped, as the package does. Cycles are not looked at.
// Errors: kField (missing, wrong type, negative, too large), kDuplicateName (an id twice),
// kUnknownName (an edge to an id that is not there), kWorkloadCost (out-edges of one node whose
// costs differ from the first one's by more than 1e-6).
Result<PipelineWorkload> ReadWorkload(const Json& document);

// Whether a document is a split: it has `fpgas` or `cpus`, and no device's name there. A workload
// is none. `{}` may be one.
bool IsSplit(const Json& document);
// Lists may be missing. Ids are not compared with any workload. Errors: kField.
Result<Split> ReadSplit(const Json& document);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_DNN_PARTITIONING_WORKLOAD_READER_H_
