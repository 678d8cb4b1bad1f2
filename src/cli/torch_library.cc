#include "cli/torch_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace placewright {
namespace {

constexpr const char* kEntry = "placewright_torch_api";

Error Missing(std::string message, const std::string& file = "") {
  Error error = MakeError(ErrorCode::kMissingRuntime, std::move(message), "",
                          "Only commands that run LibTorch need it: install libtorch-dev and build "
                          "with -DPLACEWRIGHT_WITH_TORCH=ON. All others work without it.");
  error.file = file;
  return error;
}

std::string Target(TorchLibrary::Part part) {
  switch (part) {
    case TorchLibrary::Part::kMain: return "placewright_torch";
    case TorchLibrary::Part::kFiles: return "placewright_torch_files";
    case TorchLibrary::Part::kLearn: return "placewright_torch_learn";
    case TorchLibrary::Part::kRun: return "placewright_torch_run";
  }
  return "";
}

std::string FileName(TorchLibrary::Part part) { return "lib" + Target(part) + ".so"; }

std::string FirstReadable(const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    if (access(place.c_str(), R_OK) == 0) return place;
  }
  return "";
}

// Few commands need all libraries, and they take minutes to build: ./run leaves that until now.
bool BuildLibrary(TorchLibrary::Part part) {
  const char* command = std::getenv("PLACEWRIGHT_BUILD_LIBRARY");
  if (command == nullptr) return false;
  std::string target = Target(part), path = command;
  char* const words[] = {path.data(), target.data(), nullptr};
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, command, nullptr, nullptr, words, environ) != 0) return false;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

void TorchLibrary::Closer::operator()(void* handle) const { dlclose(handle); }

std::vector<std::string> TorchLibrary::SearchPlaces(Part part) {
  std::vector<std::string> places;
  if (const char* named = std::getenv("PLACEWRIGHT_TORCH_LIBRARY")) {
    // One name for all: where it is another part's, this one lies beside it.
    const std::filesystem::path path = named;
    for (const Part other : {Part::kMain, Part::kFiles, Part::kLearn, Part::kRun}) {
      if (path.filename() == FileName(other)) {
        return {(path.parent_path() / FileName(part)).string()};
      }
    }
    return {named};
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const std::filesystem::path folder = program.parent_path();
    const std::string name = FileName(part);
    places.push_back((folder / name).string());
    places.push_back((folder / "../lib/placewright" / name).lexically_normal().string());
  }
  return places;
}

Result<TorchLibrary> TorchLibrary::Open(Part part) {
  const std::vector<std::string> places = SearchPlaces(part);
  std::string found = FirstReadable(places);
  if (found.empty() && BuildLibrary(part)) found = FirstReadable(places);
  if (found.empty()) {
    return Missing(
        fmt::format("{} was not found (looked for {})", FileName(part), fmt::join(places, ", ")));
  }
  TorchLibrary library;
  library.path_ = found;
  // CUDA's devices in the order in which the driver describes them to `cluster detect`.
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", /*overwrite=*/0);
  // Never unloaded: LibTorch keeps threads and registrations that must not lose their code.
  library.handle_.reset(dlopen(found.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
  if (!library.handle_) {
    const char* reason = dlerror();
    return Missing(fmt::format("cannot be opened: {}", reason ? reason : "no reason given"), found);
  }
  using Entry = const TorchApi* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library.handle_.get(), kEntry));
  library.api_ = entry == nullptr ? nullptr : entry();
  if (library.api_ == nullptr) return Missing(fmt::format("has no {}", kEntry), found);
  if (library.api_->version() != TorchApi::kVersion) {
    return Missing(fmt::format("has interface version {}, this program needs {}",
                               library.api_->version(), TorchApi::kVersion),
                   found);
  }
  return library;
}

}  // namespace placewright
