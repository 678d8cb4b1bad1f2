#include "cli/request/rehearsal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace placewright {
namespace {

[[noreturn]] void RecordAndLeave(const TorchApi& api, const CaptureRequest& request) {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) signal(number, SIG_DFL);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  const Result<Capture> ignored = api.CaptureModel(request);
  _exit(0);
}

}  // namespace

Status Rehearse(const TorchApi& api, const CaptureRequest& request) {
  const pid_t child = fork();
  if (child < 0) return Ok();  // no room for two: without rehearsal, then
  if (child == 0) RecordAndLeave(api, request);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  // SIGINT and its kin come from outside, SIGKILL from a machine without memory.
  const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (number != SIGSEGV && number != SIGBUS && number != SIGABRT && number != SIGFPE &&
      number != SIGILL) {
    return Ok();
  }
  Error error = MakeError(ErrorCode::kFileCorrupt,
                          fmt::format("LibTorch crashes on this model (signal {})", number), "",
                          "Save the model again; if it runs elsewhere, record it in Python with "
                          "placewright_export.py.");
  error.file = request.model;
  return error;
}

}  // namespace placewright
