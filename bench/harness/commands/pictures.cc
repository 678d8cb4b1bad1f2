#include "bench/harness/commands/pictures.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "formats/text/file.h"

namespace placewright {

Status WritePictures(const std::string& folder, std::span<const Picture> pictures) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return MakeError(ErrorCode::kFileUnwritable,
                     fmt::format("{} cannot be made: {}", Printable(folder), failed.message()));
  }
  for (const Picture& picture : pictures) {
    if (picture.svg.empty()) continue;
    const std::filesystem::path path = std::filesystem::path(folder) / picture.name;
    PW_RETURN_IF_ERROR(WriteFileAtomically(path.string(), picture.svg));
  }
  return Ok();
}

}  // namespace placewright
