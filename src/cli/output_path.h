// Where results go, and whether they can go there, found out before a search that takes its time.
#ifndef PLACEWRIGHT_CLI_OUTPUT_PATH_H_
#define PLACEWRIGHT_CLI_OUTPUT_PATH_H_

#include <string>

#include "base/result.h"

namespace placewright {

// "models/bert.json.gz" -> "bert.plan.json": in the caller's folder, whatever the graph's is.
std::string DefaultPlanPath(const std::string& graph_path);

// Errors: kFileUnwritable, as writing there later would give; kUsage for "-", which elsewhere means
// standard output. Leaves nothing behind.
Status ProbeWritable(const std::string& path);

// Errors: kUsage where `output` is the file `input`, which must not be overwritten.
Status RefuseOverwriting(const std::string& output, const std::string& input);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_OUTPUT_PATH_H_
