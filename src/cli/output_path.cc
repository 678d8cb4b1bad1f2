#include "cli/output_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace placewright {

namespace fs = std::filesystem;

std::string DefaultPlanPath(const std::string& graph_path) {
  std::string name = fs::path(graph_path).filename().string();
  for (const std::string_view suffix : {".gz", ".json", ".onnx"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      name.resize(name.size() - suffix.size());
    }
  }
  return name + ".plan.json";
}

Status ProbeWritable(const std::string& path) {
  if (path == "-") {
    return MakeError(ErrorCode::kUsage, "the output \"-\" is no file: only files are written", "",
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

Status RefuseOverwriting(const std::string& output, const std::string& input) {
  std::error_code error;
  if (!fs::equivalent(output, input, error) || error) return Ok();
  return MakeError(ErrorCode::kUsage, fmt::format("the output {} is the input itself", output), "",
                   "Give another file with -o.");
}

}  // namespace placewright
