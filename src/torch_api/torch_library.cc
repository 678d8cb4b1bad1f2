#include "torch_api/torch_library.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

namespace placewright {
namespace {

constexpr const char* kEntry = "placewright_torch_api";

constexpr const char* kRemedy =
    "Only commands that run LibTorch need it: install libtorch-dev and build with "
    "-DPLACEWRIGHT_WITH_TORCH=ON. All others work without it.";

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

}  // namespace

std::vector<std::string> TorchLibrary::SearchPlaces(Part part) {
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
  return OnDemandLibrary::SearchPlaces(Target(part));
}

Result<TorchLibrary> TorchLibrary::Open(Part part) {
  // CUDA's devices in the order in which the driver describes them to `cluster detect`.
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", /*overwrite=*/0);
  // Read once, at cuBLAS's first product: without it deterministic steps (ExecutionRequest) are refused.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  PW_ASSIGN(OnDemandLibrary opened,
            OnDemandLibrary::Open(Target(part), SearchPlaces(part), kRemedy));
  TorchLibrary library(std::move(opened));
  using Entry = const TorchApi* (*)();
  const auto entry = reinterpret_cast<Entry>(library.library_.Find(kEntry));
  library.api_ = entry == nullptr ? nullptr : entry();
  if (library.api_ == nullptr) {
    return library.library_.Missing(fmt::format("has no {}", kEntry));
  }
  if (library.api_->version() != TorchApi::kVersion) {
    return library.library_.Missing(fmt::format("has interface version {}, this program needs {}",
                                                library.api_->version(), TorchApi::kVersion));
  }
  return library;
}

}  // namespace placewright
