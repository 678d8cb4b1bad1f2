#include "cli/terminal/output_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "cli/request/inputs.h"
#include "formats/plan/plan_files.h"
#include "formats/text/file.h"

namespace placewright {

namespace fs = std::filesystem;

bool SameFile(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code error;
  if (fs::equivalent(a, b, error) && !error) return true;
  const auto resolved = [](const std::string& path) {
    std::error_code ignored;
    return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  };
  const fs::path path_a = resolved(a);
  return !path_a.empty() && path_a == resolved(b);
}

std::string DefaultPlanPath(const std::string& graph_path) {
  std::string name =
      graph_path == kStandardInput ? "stdin" : fs::path(graph_path).filename().string();
  for (const std::string_view suffix : {".gz", ".json", ".onnx", ".txt", ".pb", ".pbtxt"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      name.resize(name.size() - suffix.size());
    }
  }
  return name + ".plan.json";
}

Status ProbeWritable(const std::string& path) {
  if (path == "-") {
    return MakeError(ErrorCode::kUsage, "the output \"-\" is not a file: only files are written",
                     "",
                     "Name a file (./- for one of that very name); --json prints the result on "
                     "standard output.");
  }
  const auto fail = [&](std::string message) -> Status {
    Error error = MakeError(ErrorCode::kFileUnwritable, std::move(message));
    error.file = path;
    return error;
  };
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) return fail("is a folder");
  if (fs::exists(status) && !fs::is_regular_file(status)) return fail("is not a regular file");
  const std::string probe = fmt::format("{}.tmp.{}", path, getpid());
  const int descriptor = open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return fail(fmt::format("cannot create: {}", std::strerror(errno)));
  close(descriptor);
  unlink(probe.c_str());
  return Ok();
}

std::vector<NamedFile> FilesOf(const InputOptions& options) {
  return {{"the graph", options.graph},
          {"-c", options.cluster},
          {"--costs", options.costs},
          {"--cost-store", options.cost_store}};
}

std::vector<NamedFile> WithNamedFiles(const std::string& role, const std::string& path) {
  std::vector<NamedFile> files = {{role, path}};
  if (path.empty()) return files;
  const Result<bool> is_plan = IsPlan(path);
  if (!is_plan.ok() || !is_plan.value()) return files;
  const Result<Plan> plan = LoadPlan(path);
  if (!plan.ok()) return files;
  for (std::string& named : FilesOf(plan.value(), path)) {
    files.push_back({"a file of " + role, std::move(named)});
  }
  return files;
}

std::vector<NamedFile> FilesOfPlan(const std::string& path, const PlanInputOptions& options) {
  std::vector<NamedFile> files = WithNamedFiles("the plan", path);
  files.push_back({"--graph", options.graph.value_or("")});
  files.push_back({"-c", options.cluster.value_or("")});
  return files;
}

Status RejectOverwriting(const std::vector<NamedFile>& outputs,
                         const std::vector<NamedFile>& inputs) {
  const auto refuse = [](const NamedFile& output, const NamedFile& other) {
    const std::string same =
        output.path == other.path ? "" : fmt::format(" ({})", Printable(other.path));
    return MakeError(ErrorCode::kUsage,
                     fmt::format("{} would overwrite {}{}: both are {}", output.role, other.role,
                                 same, Printable(output.path)),
                     "", "Give another file; the plan's own name is set by -o.");
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const NamedFile& input : inputs) {
      // A preset's name is a path to nothing, and so is a file that will be missed later.
      std::error_code ignored;
      if (fs::exists(input.path, ignored) && SameFile(outputs[i].path, input.path)) {
        return refuse(outputs[i], input);
      }
    }
    for (size_t j = 0; j < i; ++j) {
      if (SameFile(outputs[i].path, outputs[j].path)) return refuse(outputs[i], outputs[j]);
    }
  }
  return Ok();
}

}  // namespace placewright
