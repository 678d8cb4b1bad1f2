#include "formats/onnx/external.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/text.h"

namespace placewright::onnx_import {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;  // to the end of what the dimensions ask for
};

Result<int64_t> ParseSize(const std::string& text, const std::string& key,
                          const std::string& place) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 0 || value > kMaxQuantity) {
    return MakeError(ErrorCode::kField,
                     fmt::format("external data: {} '{}' is no size", key, Printable(text, 40)),
                     place);
  }
  return value;
}

Result<Entry> ParseEntry(const onnx::TensorProto& tensor, const std::string& place) {
  Entry entry;
  for (const auto& pair : tensor.external_data()) {
    if (pair.key() == "location") entry.location = pair.value();
    if (pair.key() == "offset") {
      PW_ASSIGN(entry.offset, ParseSize(pair.value(), "offset", place));
    }
    if (pair.key() == "length") {
      PW_ASSIGN(entry.length, ParseSize(pair.value(), "length", place));
    }
  }
  return entry;
}

bool Contains(const fs::path& folder, const fs::path& file) {
  const auto [end, unused] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return end == folder.end();
}

// The real path of the file, empty if it does not exist; an error if it lies outside the folder.
Result<fs::path> Confine(const std::string& location, const std::string& folder,
                         const std::string& place) {
  const auto escape = [&](std::string_view why) {
    return MakeError(ErrorCode::kField,
                     fmt::format("external data '{}' {}", Printable(location), why), place,
                     "Keep external data in the model's folder and name it by a relative path.");
  };
  const fs::path relative(location);
  if (location.empty() || location.find('\0') != std::string::npos) {
    return escape("is no file name");
  }
  if (relative.is_absolute()) return escape("has an absolute path");
  for (const auto& part : relative) {
    if (part == "..") return escape("leads out of the model's folder");
  }
  std::error_code failed;
  const fs::path base = fs::canonical(folder.empty() ? "." : folder, failed);
  if (failed) return fs::path();
  const fs::path real = fs::canonical(base / relative, failed);
  if (failed) return fs::path();
  if (!Contains(base, real)) return escape("leads out of the model's folder by a link");
  return real;
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

bool ReadAt(int fd, int64_t offset, std::string* bytes) {
  size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t got = pread(fd, bytes->data() + done, bytes->size() - done,
                              static_cast<off_t>(offset + static_cast<int64_t>(done)));
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

Result<ExternalTensor> FindExternal(const onnx::TensorProto& tensor, const std::string& folder,
                                    const std::string& place, bool all_bytes) {
  PW_ASSIGN(const Entry entry, ParseEntry(tensor, place));
  ExternalTensor found;
  found.location = entry.location;
  PW_ASSIGN(const fs::path path, Confine(entry.location, folder, place));
  const Descriptor file{path.empty() ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat info {};
  if (file.fd < 0 || fstat(file.fd, &info) != 0) {
    found.missing = true;
    return found;
  }
  const auto element = ElementTypeOf(tensor.data_type());
  const auto count = ElementCount({tensor.dims().begin(), tensor.dims().end()});
  const int64_t wanted = element && count ? StoredBytes(*element, *count) : 0;
  const int64_t length = entry.length < 0 ? wanted : entry.length;
  if (!S_ISREG(info.st_mode)) {
    return MakeError(
        ErrorCode::kFileUnreadable,
        fmt::format("external data '{}' is not a regular file", Printable(entry.location)), place,
        "Put the file with the tensor's data there.");
  }
  if (length != wanted || entry.offset > info.st_size || length > info.st_size - entry.offset) {
    return MakeError(
        ErrorCode::kFileCorrupt,
        fmt::format("the tensor's dimensions ask for {} bytes; external data '{}' has {} bytes, of "
                    "which the model names {} from {}",
                    wanted, Printable(entry.location), static_cast<int64_t>(info.st_size), length,
                    entry.offset),
        place);
  }
  const bool folds = IsFoldable(tensor.data_type()) && count && *count <= kMaxFoldedElements;
  if (!folds && !all_bytes) return found;
  std::string bytes(static_cast<size_t>(length), '\0');
  if (!ReadAt(file.fd, entry.offset, &bytes)) return found;
  if (folds) found.value = ReadSmallTensor(tensor, &bytes);
  if (all_bytes) found.bytes = std::move(bytes);
  return found;
}

}  // namespace placewright::onnx_import
