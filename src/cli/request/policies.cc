#include "cli/request/policies.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/library_folder.h"
#include "base/text.h"
#include "formats/policy/policy_file.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> PolicyFolders() {
  std::vector<fs::path> folders;
  if (const char* named = std::getenv("PLACEWRIGHT_POLICIES")) {
    std::istringstream list(named);
    for (std::string folder; std::getline(list, folder, ':');) {
      if (!folder.empty()) folders.emplace_back(folder);
    }
  }
  for (std::string& folder : BesideLibrary({"../share/placewright/policies", "../../policies"})) {
    folders.emplace_back(std::move(folder));
  }
  return folders;
}

}  // namespace

Result<std::string> FindPolicy(const std::string& name) {
  std::error_code ignored;
  if (fs::is_regular_file(name, ignored)) return name;
  std::string places = name;
  for (const fs::path& folder : PolicyFolders()) {
    for (const std::string& file : {name, name + ".policy"}) {
      const std::string path = (folder / file).string();
      if (fs::is_regular_file(path, ignored)) return path;
    }
    places += ", " + folder.string();
  }
  if (fs::is_directory(name, ignored)) {
    return MakeError(ErrorCode::kFileUnreadable, "it is a folder, not a policy", name,
                     "Give a file that `placewright train` wrote.");
  }
  return MakeError(
      ErrorCode::kFileUnreadable,
      fmt::format("the policy \"{}\" was not found (looked for {})", Printable(name), places), "",
      "Give a file that `placewright train` wrote, or name its folder in PLACEWRIGHT_POLICIES.");
}

std::string ShippedPolicy(const std::string& algorithm) {
  std::error_code ignored;
  for (const fs::path& folder : PolicyFolders()) {
    const std::string path = (folder / (algorithm + ".policy")).string();
    if (fs::is_regular_file(path, ignored)) return path;
  }
  return "";
}

Result<NamedPolicy> LoadNamedPolicy(const std::string& name) {
  PW_ASSIGN(std::string path, FindPolicy(name));
  PW_ASSIGN(StoredPolicy policy, LoadPolicy(path));
  return NamedPolicy{std::move(path), std::make_shared<const StoredPolicy>(std::move(policy))};
}

}  // namespace placewright
