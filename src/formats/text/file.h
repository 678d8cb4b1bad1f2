// Files as bytes: reading (plain or gzip, bounded), atomic writing, hashing.
#ifndef PLACEWRIGHT_FORMATS_TEXT_FILE_H_
#define PLACEWRIGHT_FORMATS_TEXT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace placewright {

inline constexpr std::string_view kStandardInput = "-";

// A file of a few megabytes must not fill the memory: gzip makes at most `ratio` bytes of each that
// is stored, or `small` if that is more, and never more than `expanded`. Graph files shrink to a
// tenth or a fortieth.
struct ReadLimits {
  int64_t stored = int64_t{2} << 30;    // bytes in the file
  int64_t expanded = int64_t{1} << 30;  // bytes after gunzip
  int64_t ratio = 200;
  int64_t small = int64_t{64} << 20;

  // After gunzip of that many bytes.
  int64_t ExpandedOf(int64_t stored_bytes) const;
};

// The file's bytes; a gzip file (by its magic, whatever its name) is expanded, all its members.
// Errors: kFileUnreadable, kFileTooLarge, kFileCorrupt (truncated or damaged gzip). The error names
// the file. Regular files only: no pipes or devices that never end. The path "-" is standard input,
// a pipe too: it is read once to its end and kept, so that every reader of "-" gets the same bytes.
// kUsage where that is a terminal.
Result<std::string> ReadFile(const std::string& path, const ReadLimits& limits = {});
// The bytes as stored, gzip not expanded.
Result<std::string> ReadFileRaw(const std::string& path, const ReadLimits& limits = {});
// Expands gzip bytes; other bytes come back unchanged. A first pass counts and stores nothing, so
// that a refused file takes no memory and an accepted one just its size.
Result<std::string> Expand(std::string bytes, const ReadLimits& limits = {});

// The bytes as one gzip member without name and time: the same bytes give the same file.
std::string Gzip(std::string_view bytes);
// Whether a file of that name is to be compressed: it ends with ".gz" or ".svgz".
bool IsGzipName(std::string_view path);

// A file that is written piece by piece beside its target and takes the target's name at the end:
// readers see the old file or the new one, never half. Where the name asks for it the pieces are
// compressed, unless they are gzip already. All errors are kFileUnwritable; the old file is then
// untouched, as it is without a call of Commit.
class AtomicFile {
 public:
  static Result<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();  // removes what was not committed

  Status Append(std::string_view piece);
  Status Finish();  // everything is on the disk; nothing can be appended any more
  Status Commit();  // finishes, and renames
  int64_t stored_bytes() const { return stored_bytes_; }  // so far, compressed where it is

 private:
  class Compressor;
  friend std::string Gzip(std::string_view bytes);
  explicit AtomicFile(std::string path);
  Status Write(std::string_view bytes);

  std::string path_;
  std::string temporary_;  // "": committed, moved from, or never there
  int descriptor_ = -1;    // -1: finished
  std::string pending_;    // not yet written
  int64_t stored_bytes_ = 0;
  bool begun_ = false;                      // something was appended
  std::unique_ptr<Compressor> compressor_;  // nullptr: as it is
};

// Writes beside the target and renames, compressed where the name asks for it: readers see the old
// file or the new one, never half. Errors: kFileUnwritable; the old file is then untouched.
Status WriteFileAtomically(const std::string& path, std::string_view content);

// Several files that belong together: all are written beside their targets before the first target
// is replaced, so that a full disk leaves every old file as it was. What was not put in place is
// removed.
class FileSet {
 public:
  // Errors: kFileUnwritable.
  Status Add(const std::string& path, std::string_view content);
  // Renames in the order in which files were added. Errors: kFileUnwritable; files before the one
  // that it names are then new.
  Status PutInPlace();

 private:
  std::vector<AtomicFile> staged_;
};

// 64 lower-case hexadecimal digits.
std::string Sha256(std::string_view bytes);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_TEXT_FILE_H_
