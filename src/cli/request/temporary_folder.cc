#include "cli/request/temporary_folder.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace placewright {

TemporaryFolder::TemporaryFolder() {
  std::error_code ignored;
  std::string name =
      (std::filesystem::temp_directory_path(ignored) / "placewright-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace placewright
