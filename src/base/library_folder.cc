#include "base/library_folder.h"

#include <dlfcn.h>

#include <filesystem>

namespace placewright {
namespace {

namespace fs = std::filesystem;

fs::path LibraryFolder() {
  Dl_info library;
  const auto* const here = reinterpret_cast<const void*>(&LibraryFolder);
  if (dladdr(here, &library) == 0 || library.dli_fname == nullptr) return {};
  std::error_code error;
  const fs::path folder = fs::canonical(library.dli_fname, error).parent_path();
  const bool debian = folder.filename() != "lib" && folder.parent_path().filename() == "lib";
  return debian ? folder.parent_path() : folder;
}

}  // namespace

std::vector<std::string> BesideLibrary(const std::vector<std::string>& places) {
  std::vector<std::string> paths;
  const fs::path folder = LibraryFolder();
  if (folder.empty()) return paths;
  for (const std::string& place : places) {
    paths.push_back((folder / place).lexically_normal().string());
  }
  return paths;
}

}  // namespace placewright
