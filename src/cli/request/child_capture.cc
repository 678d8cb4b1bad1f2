#include "cli/request/child_capture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <new>

#include "base/available_memory.h"
#include "base/units.h"

namespace placewright {
namespace {

// Beyond what the program has already. The weights are asked for, never touched; they are there for
// each of three recordings, and once more while they are read.
constexpr rlim_t kMaxMemory = rlim_t{4} << 30;
constexpr rlim_t kCopiesOfWeights = 8;

enum Outcome : int { kRecorded = 0, kOutOfMemory = 3 };

void LimitMemory(const std::string& model) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(model, error);
  const auto used = static_cast<rlim_t>(AddressSpace().count);
  if (error || used == 0) return;
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0) return;
  limit.rlim_cur =
      std::min(limit.rlim_cur, used + kMaxMemory + kCopiesOfWeights * static_cast<rlim_t>(size));
  setrlimit(RLIMIT_AS, &limit);
}

[[noreturn]] void RecordAndLeave(const CaptureService& service, const CaptureRequest& request,
                                 pid_t parent) {
  // The child does not outlive its parent, whatever ends that one.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kRecorded);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  LimitMemory(request.model);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) signal(number, SIG_DFL);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  try {
    const Result<Capture> ignored = service.CaptureModel(request);
  } catch (const std::bad_alloc&) {
    _exit(kOutOfMemory);
  } catch (...) {
    // It comes again in the parent.
  }
  _exit(kRecorded);
}

Error OutOfMemory(std::string message) {
  return MakeError(ErrorCode::kNotRecordable, std::move(message), "",
                   "Check the module's code for a loop that allocates without end, record at a "
                   "smaller batch, or use a machine with more memory.");
}

Status StatusOf(int status) {
  if (WIFEXITED(status)) {
    if (WEXITSTATUS(status) != kOutOfMemory) return Ok();
    return OutOfMemory(fmt::format("recording it takes more than {}, or than this process may have",
                                   FormatBytes(Bytes{static_cast<int64_t>(kMaxMemory)})));
  }
  const int number = WTERMSIG(status);
  if (number == SIGKILL)
    return OutOfMemory("the system stopped the recording because memory ran out");
  if (number != SIGSEGV && number != SIGBUS && number != SIGABRT && number != SIGFPE &&
      number != SIGILL) {
    return Ok();  // SIGINT and its kin come from outside, and to the parent, too
  }
  return MakeError(ErrorCode::kFileCorrupt,
                   fmt::format("LibTorch crashes on this model (signal {})", number), "",
                   "Save the model again; if it runs elsewhere, record it in Python with "
                   "placewright_export.py.");
}

}  // namespace

Status CaptureInChildProcess(const CaptureService& service, const CaptureRequest& request) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return Ok();  // no room for two: without rehearsal, then
  if (child == 0) RecordAndLeave(service, request, parent);
  int status = 0;
  const timespec pause = {0, 2'000'000};
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (request.interrupted != nullptr && request.interrupted->load()) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return Ok();  // the recording that follows says so
    }
    nanosleep(&pause, nullptr);
  }
  return StatusOf(status).InFile(request.model);
}

}  // namespace placewright
