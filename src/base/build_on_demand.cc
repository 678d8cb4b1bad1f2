#include "base/build_on_demand.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace placewright {

bool BuildOnDemand(std::string target) {
  const char* command = std::getenv("PLACEWRIGHT_BUILD_LIBRARY");
  if (command == nullptr) return false;
  std::string path = command;
  char* const words[] = {path.data(), target.data(), nullptr};
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, command, nullptr, nullptr, words, environ) != 0) return false;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace placewright
