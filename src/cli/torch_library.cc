#include "cli/torch_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace placewright {
namespace {

constexpr const char* kFileName = "libplacewright_torch.so";
constexpr const char* kEntry = "placewright_torch_api";

Error Missing(std::string message, const std::string& file = "") {
  Error error = MakeError(ErrorCode::kMissingRuntime, std::move(message), "",
                          "Only commands that run LibTorch need it: install libtorch-dev and build "
                          "with -DPLACEWRIGHT_WITH_TORCH=ON. All others work without it.");
  error.file = file;
  return error;
}

}  // namespace

void TorchLibrary::Closer::operator()(void* handle) const { dlclose(handle); }

std::vector<std::string> TorchLibrary::SearchPlaces() {
  std::vector<std::string> places;
  if (const char* named = std::getenv("PLACEWRIGHT_TORCH_LIBRARY")) return {named};
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const std::filesystem::path folder = program.parent_path();
    places.push_back((folder / kFileName).string());
    places.push_back((folder / "../lib/placewright" / kFileName).lexically_normal().string());
  }
  return places;
}

Result<TorchLibrary> TorchLibrary::Open(const std::string& path) {
  std::string found = path;
  if (found.empty()) {
    const std::vector<std::string> places = SearchPlaces();
    for (const std::string& place : places) {
      if (access(place.c_str(), R_OK) == 0) {
        found = place;
        break;
      }
    }
    if (found.empty()) {
      return Missing(
          fmt::format("{} was not found (looked for {})", kFileName, fmt::join(places, ", ")));
    }
  }
  TorchLibrary library;
  library.path_ = found;
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
