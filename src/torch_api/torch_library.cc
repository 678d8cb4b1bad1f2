#include "torch_api/torch_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/build_on_demand.h"

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
  const std::string name = FileName(part);
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
  if (dladdr(reinterpret_cast<const void*>(&Target), &ours) != 0 && ours.dli_fname != nullptr) {
    const auto folder = std::filesystem::canonical(ours.dli_fname, error).parent_path();
    if (!error && folder.filename() != "bin") {
      for (const char* beside : {"placewright", "../placewright", "../bin"}) look(folder / beside);
    }
  }
  return places;
}

Result<TorchLibrary> TorchLibrary::Open(Part part) {
  const std::vector<std::string> places = SearchPlaces(part);
  std::string found = FirstReadable(places);
  // Few commands need all libraries, and they take minutes to build.
  if (found.empty() && BuildOnDemand(Target(part))) found = FirstReadable(places);
  if (found.empty()) {
    return Missing(
        fmt::format("{} was not found (looked for {})", FileName(part), fmt::join(places, ", ")));
  }
  TorchLibrary library;
  library.path_ = found;
  // CUDA's devices in the order in which the driver describes them to `cluster detect`.
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", /*overwrite=*/0);
  // Read once, at cuBLAS's first product: without it deterministic steps (ExecutionRequest) are refused.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
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
