// A plan of a dnn-partitioning workload as the package's split file.
#ifndef PLACEWRIGHT_FORMATS_DNN_PARTITIONING_SPLIT_WRITER_H_
#define PLACEWRIGHT_FORMATS_DNN_PARTITIONING_SPLIT_WRITER_H_

#include <string>

#include "base/result.h"
#include "formats/plan/plan_files.h"
#include "plan/split.h"

namespace placewright {

// {"fpgas": [{"nodes": [id, ...]}, ...], "cpus": [...]}, an entry for each device.
std::string WriteSplit(const Split& split);

// `placement` is the plan's. Errors: kNotExpressible (the plan is not one of a workload: its ops
// have no ids, its devices no numbers).
Result<std::string> WriteDnnPartitioningSplit(const PlanInputs& plan, const Placement& placement);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_DNN_PARTITIONING_SPLIT_WRITER_H_
