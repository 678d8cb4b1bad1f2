#include "base/on_demand_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace placewright {
namespace {

std::string FirstReadable(const std::vector<std::string>& places) {
  const auto found = std::find_if(places.begin(), places.end(), [](const std::string& place) {
    return access(place.c_str(), R_OK) == 0;
  });
  return found == places.end() ? "" : *found;
}

Error MissingRuntime(std::string message, const std::string& file, const std::string& remedy) {
  Error error = MakeError(ErrorCode::kMissingRuntime, std::move(message), "", remedy);
  error.file = file;
  return error;
}

}  // namespace

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

void OnDemandLibrary::Closer::operator()(void* handle) const { dlclose(handle); }

std::vector<std::string> OnDemandLibrary::SearchPlaces(const std::string& target) {
  std::vector<std::string> places;
  std::error_code error;
  const std::string name = "lib" + target + ".so";
  const auto look = [&](const std::filesystem::path& folder) {
    const std::string place = (folder / name).lexically_normal().string();
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  };
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    look(program.parent_path());
    look(program.parent_path() / "../lib/placewright");
  }
  // Of a program that is not ours: where libplacewright.so lies, installed or built.
  Dl_info ours;
  if (dladdr(reinterpret_cast<const void*>(&FirstReadable), &ours) != 0 &&
      ours.dli_fname != nullptr) {
    const auto folder = std::filesystem::canonical(ours.dli_fname, error).parent_path();
    if (!error && folder.filename() != "bin") {
      for (const char* beside : {"placewright", "../placewright", "../bin"}) look(folder / beside);
    }
  }
  return places;
}

Result<OnDemandLibrary> OnDemandLibrary::Open(const std::string& target,
                                              const std::vector<std::string>& places,
                                              const std::string& remedy) {
  std::string found = FirstReadable(places);
  // Few commands need all libraries, and they take minutes to build.
  if (found.empty() && BuildOnDemand(target)) found = FirstReadable(places);
  if (found.empty()) {
    return MissingRuntime(
        fmt::format("lib{}.so was not found (looked for {})", target, fmt::join(places, ", ")), "",
        remedy);
  }
  OnDemandLibrary library;
  library.path_ = found;
  library.remedy_ = remedy;
  // Never unloaded: LibTorch keeps threads and registrations that must not lose their code.
  library.handle_.reset(dlopen(found.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
  if (library.handle_) return library;
  const char* reason = dlerror();
  return library.Missing(fmt::format("cannot be opened: {}", reason ? reason : "no reason given"));
}

void* OnDemandLibrary::Find(const char* function) const { return dlsym(handle_.get(), function); }

Error OnDemandLibrary::Missing(std::string message) const {
  return MissingRuntime(std::move(message), path_, remedy_);
}

}  // namespace placewright
