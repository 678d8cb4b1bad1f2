#include "study/line_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "formats/text/file.h"
#include "study/file_lock.h"

namespace placewright {

Status ReadLines(const std::string& path,
                 const std::function<Status(const Json&, const std::string& place)>& take) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return Ok();
  PW_ASSIGN(const std::string all, ReadFile(path));
  size_t line = 0;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    const std::string place = fmt::format("line {}", ++line);
    const std::string_view text = std::string_view(all).substr(begin, end - begin);
    begin = end + 1;
    if (text.empty()) continue;
    const Result<Json> json = ParseJson(text);
    if (!json.ok()) {
      return Status(MakeError(ErrorCode::kSyntax, json.error().message, place)).InFile(path);
    }
    PW_RETURN_IF_ERROR(take(json.value(), place).InFile(path));
  }
  return Ok();
}

Status NeedsStore(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return Ok();
  return Status(MakeError(ErrorCode::kFileUnreadable, "there is no such store of runs", "",
                          "Give --store, a file that `placewright bench` wrote."))
      .InFile(path);
}

Status AppendLine(const std::string& path, const Json& json) {
  PW_ASSIGN(const FileLock lock, FileLock::Wait(path + ".lock"));
  std::string text;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    PW_ASSIGN(text, ReadFile(path));
  }
  text += json.dump() + "\n";
  return WriteFileAtomically(path, text);
}

}  // namespace placewright
