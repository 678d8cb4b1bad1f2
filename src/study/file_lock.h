// A lock between processes, by a file: it ends with the process that has it, however that ends.
#ifndef PLACEWRIGHT_STUDY_FILE_LOCK_H_
#define PLACEWRIGHT_STUDY_FILE_LOCK_H_

#include <optional>
#include <string>

#include "base/result.h"

namespace placewright {

class FileLock {
 public:
  // Errors of both: kFileUnwritable. The file stays.
  static Result<FileLock> Wait(const std::string& path);
  // None where another process has it.
  static Result<std::optional<FileLock>> Try(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int file) : file_(file) {}

  int file_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_FILE_LOCK_H_
