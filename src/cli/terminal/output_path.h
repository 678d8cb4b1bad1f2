// Where results go, and whether they can go there, found out before a search that takes its time.
#ifndef PLACEWRIGHT_CLI_TERMINAL_OUTPUT_PATH_H_
#define PLACEWRIGHT_CLI_TERMINAL_OUTPUT_PATH_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/terminal/options.h"

namespace placewright {

// "models/bert.json.gz" -> "bert.plan.json": in the caller's folder, whatever the graph's is;
// "-" -> "stdin.plan.json".
std::string DefaultPlanPath(const std::string& graph_path);

// Errors: kFileUnwritable, as writing there later would give; kUsage for "-", which elsewhere means
// standard output. Leaves nothing behind.
Status ProbeWritable(const std::string& path);

// A file of a command and what it is to the user: "the graph", "--svg". An empty path is no file.
struct NamedFile {
  std::string role, path;
};

// By inode where both exist, else by the path without links and dots; an empty path is no file.
bool SameFile(const std::string& a, const std::string& b);

// Graph, cluster and overrides.
std::vector<NamedFile> FilesOf(const InputOptions& options);

// The file itself and, where it is a plan, those that it names. What cannot be read names nothing:
// reading it will say why.
std::vector<NamedFile> WithNamedFiles(const std::string& role, const std::string& path);

// What is read of a plan: itself, what it names, and the files that are given in their place.
std::vector<NamedFile> FilesOfPlan(const std::string& path, const PlanInputOptions& options);

// Errors: kUsage naming both where an output is an input or another output, by whatever names.
Status RejectOverwriting(const std::vector<NamedFile>& outputs,
                         const std::vector<NamedFile>& inputs);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_TERMINAL_OUTPUT_PATH_H_
