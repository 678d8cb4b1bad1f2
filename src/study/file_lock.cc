#include "study/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace placewright {
namespace {

Error Unwritable(const std::string& path) {
  Error error = MakeError(ErrorCode::kFileUnwritable,
                          std::string("cannot be locked: ") + std::strerror(errno));
  error.file = path;
  return error;
}

}  // namespace

Result<std::optional<FileLock>> FileLock::Try(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return Unwritable(path);
  FileLock lock(file);
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return std::optional<FileLock>(std::move(lock));
  if (errno == EWOULDBLOCK) return std::optional<FileLock>();
  return Unwritable(path);
}

Result<FileLock> FileLock::Wait(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return Unwritable(path);
  FileLock lock(file);
  while (flock(file, LOCK_EX) != 0) {
    if (errno != EINTR) return Unwritable(path);
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

FileLock::~FileLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace placewright
