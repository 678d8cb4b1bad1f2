#include "formats/text/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <utility>

#include "base/units.h"

namespace placewright {
namespace {

Error FileError(ErrorCode code, const std::string& path, std::string message) {
  Error error = MakeError(code, std::move(message));
  error.file = path;
  return error;
}

bool IsGzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

// Gives what the gzip members, one after another, expand to piece by piece, until `take` returns
// false.
Status Inflate(std::string_view bytes, const std::function<bool(std::string_view)>& take) {
  size_t consumed = 0;
  std::array<char, 1 << 16> chunk;
  while (consumed < bytes.size() && IsGzip(bytes.substr(consumed))) {
    z_stream stream{};
    if (inflateInit2(&stream, 15 + 16) != Z_OK) {
      return MakeError(ErrorCode::kInternal, "zlib cannot start");
    }
    int code = Z_OK;
    bool wanted = true;
    while (code != Z_STREAM_END && wanted) {
      if (stream.avail_in == 0) {
        const size_t left = std::min<size_t>(bytes.size() - consumed, 1u << 30);
        if (left == 0) break;
        // zlib only reads there.
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + consumed));
        stream.avail_in = static_cast<uInt>(left);
        consumed += left;
      }
      stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
      stream.avail_out = chunk.size();
      code = inflate(&stream, Z_NO_FLUSH);
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) break;
      wanted = take({chunk.data(), chunk.size() - stream.avail_out});
    }
    consumed -= stream.avail_in;
    inflateEnd(&stream);
    if (!wanted) return Ok();
    if (code != Z_STREAM_END) {
      return MakeError(
          ErrorCode::kFileCorrupt,
          fmt::format("the gzip stream is truncated or damaged near byte {}", consumed));
    }
  }
  if (consumed == bytes.size()) return Ok();
  return MakeError(ErrorCode::kFileCorrupt, fmt::format("{} bytes of garbage after the gzip stream",
                                                        bytes.size() - consumed));
}

// What the last system call says.
Error WriteError(const std::string& path, const char* what) {
  return FileError(ErrorCode::kFileUnwritable, path,
                   fmt::format("{}: {}", what, std::strerror(errno)));
}

// Closes the descriptor when it goes out of scope.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

// Until the end, or one byte more than the limit.
Result<std::string> ReadDescriptor(int fd, int64_t limit, const std::string& path) {
  std::string bytes;
  std::array<char, 1 << 16> chunk;
  while (static_cast<int64_t>(bytes.size()) <= limit) {
    const ssize_t got = read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return FileError(ErrorCode::kFileUnreadable, path,
                       fmt::format("cannot read: {}", std::strerror(errno)));
    }
    if (got == 0) break;
    bytes.append(chunk.data(), static_cast<size_t>(got));
  }
  return bytes;
}

// Standard input can be read once; several readers may ask for it.
Result<std::string> ReadStandardInput(const ReadLimits& limits) {
  static const Result<std::string> content = []() -> Result<std::string> {
    if (isatty(STDIN_FILENO) != 0) {
      return MakeError(ErrorCode::kUsage, "\"-\" is standard input, which is a terminal", "",
                       "Pipe a file in, or name it.");
    }
    return ReadDescriptor(STDIN_FILENO, ReadLimits{}.stored, "standard input");
  }();
  if (!content.ok() || static_cast<int64_t>(content.value().size()) <= limits.stored) {
    return content;
  }
  return FileError(ErrorCode::kFileTooLarge, "standard input",
                   fmt::format("more than the limit of {} bytes", limits.stored));
}

}  // namespace

Result<std::string> ReadFileRaw(const std::string& path, const ReadLimits& limits) {
  if (path == kStandardInput) return ReadStandardInput(limits);
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) {
    return FileError(ErrorCode::kFileUnreadable, path,
                     fmt::format("cannot open: {}", std::strerror(errno)));
  }
  struct stat info {};
  if (fstat(file.fd, &info) != 0) {
    return FileError(ErrorCode::kFileUnreadable, path,
                     fmt::format("cannot stat: {}", std::strerror(errno)));
  }
  if (!S_ISREG(info.st_mode)) {
    return FileError(ErrorCode::kFileUnreadable, path,
                     S_ISDIR(info.st_mode) ? "is a folder, not a file" : "is not a regular file");
  }
  if (info.st_size > limits.stored) {
    return FileError(
        ErrorCode::kFileTooLarge, path,
        fmt::format("{} bytes, more than the limit of {}", info.st_size, limits.stored));
  }
  std::string bytes;
  bytes.resize(static_cast<size_t>(info.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(file.fd, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return FileError(ErrorCode::kFileUnreadable, path,
                       fmt::format("cannot read: {}", std::strerror(errno)));
    }
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

int64_t ReadLimits::ExpandedOf(int64_t stored_bytes) const {
  return std::min(expanded, std::max(small, SaturatingMultiply(stored_bytes, ratio)));
}

Result<std::string> Expand(std::string bytes, const ReadLimits& limits) {
  if (!IsGzip(bytes)) return bytes;
  const int64_t limit = limits.ExpandedOf(static_cast<int64_t>(bytes.size()));
  int64_t count = 0;
  PW_RETURN_IF_ERROR(Inflate(bytes, [&](std::string_view piece) {
    count += static_cast<int64_t>(piece.size());
    return count <= limit;
  }));
  if (count > limit) {
    return MakeError(ErrorCode::kFileTooLarge,
                     fmt::format("expands to more than {} bytes, the limit for {} bytes of gzip",
                                 limit, bytes.size()),
                     "", "Unpack the file and give the plain one if its size is meant.");
  }
  std::string out;
  out.reserve(static_cast<size_t>(count));
  PW_RETURN_IF_ERROR(Inflate(bytes, [&](std::string_view piece) {
    out += piece;
    return true;
  }));
  return out;
}

Result<std::string> ReadFile(const std::string& path, const ReadLimits& limits) {
  PW_ASSIGN(std::string bytes, ReadFileRaw(path, limits));
  return Expand(std::move(bytes), limits).InFile(path);
}

Status WriteFileAtomically(const std::string& path, std::string_view content) {
  FileSet files;
  PW_RETURN_IF_ERROR(files.Add(path, content));
  return files.PutInPlace();
}

bool IsGzipName(std::string_view path) { return path.ends_with(".gz") || path.ends_with(".svgz"); }

// A gzip member in the making.
class AtomicFile::Compressor {
 public:
  Compressor() {
    // Steps and schedules of hundreds of megabytes: a quarter longer than by the default level, in less than half the time.
    constexpr int kLevel = 3;
    constexpr int kGzip = 15 + 16, kMemory = 8;
    PW_CHECK_EQ(deflateInit2(&stream_, kLevel, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY),
                Z_OK);
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor() { deflateEnd(&stream_); }

  // Adds what `bytes` become, and with `last` the member's end.
  void Take(std::string_view bytes, bool last, std::string& packed) {
    std::array<char, 1 << 16> buffer;
    int code = Z_OK;
    do {  // zlib takes at most 4 GiB at a time
      const size_t piece = std::min(bytes.size(), size_t{1} << 30);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(piece);
      bytes.remove_prefix(piece);
      do {
        stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
        stream_.avail_out = static_cast<uInt>(buffer.size());
        code = deflate(&stream_, last && bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
        packed.append(buffer.data(), buffer.size() - stream_.avail_out);
      } while (stream_.avail_out == 0);
    } while (!bytes.empty());
    if (last) PW_CHECK_EQ(code, Z_STREAM_END);
  }

 private:
  z_stream stream_{};
};

std::string Gzip(std::string_view bytes) {
  std::string packed;
  AtomicFile::Compressor().Take(bytes, true, packed);
  return packed;
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")),
      descriptor_(std::exchange(other.descriptor_, -1)),
      pending_(std::move(other.pending_)),
      stored_bytes_(other.stored_bytes_),
      begun_(other.begun_),
      compressor_(std::move(other.compressor_)) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Result<AtomicFile> AtomicFile::Create(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return FileError(ErrorCode::kFileUnwritable, path,
                     S_ISDIR(info.st_mode) ? "is a folder" : "is not a regular file");
  }
  AtomicFile file(path);
  const std::string temporary = fmt::format("{}.tmp.{}", path, getpid());
  file.descriptor_ = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file.descriptor_ < 0) return WriteError(path, "cannot create");
  file.temporary_ = temporary;
  return file;
}

Status AtomicFile::Append(std::string_view piece) {
  constexpr size_t kBlock = size_t{1} << 18;
  if (!begun_ && !piece.empty()) {
    begun_ = true;
    if (IsGzipName(path_) && !IsGzip(piece)) compressor_ = std::make_unique<Compressor>();
  }
  if (compressor_) {
    compressor_->Take(piece, false, pending_);
    if (pending_.size() < kBlock) return Ok();
    PW_RETURN_IF_ERROR(Write(pending_));
    pending_.clear();
    return Ok();
  }
  if (pending_.size() + piece.size() < kBlock) {
    pending_ += piece;
    return Ok();
  }
  PW_RETURN_IF_ERROR(Write(pending_));
  pending_.clear();
  return Write(piece);
}

Status AtomicFile::Write(std::string_view bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return WriteError(path_, "cannot write");
    done += static_cast<size_t>(put);
  }
  stored_bytes_ += static_cast<int64_t>(bytes.size());
  return Ok();
}

Status AtomicFile::Finish() {
  if (descriptor_ < 0) return Ok();
  if (compressor_) compressor_->Take("", true, pending_);
  PW_RETURN_IF_ERROR(Write(pending_));
  if (fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) {
    return WriteError(path_, "cannot write");
  }
  close(std::exchange(descriptor_, -1));
  return Ok();
}

Status AtomicFile::Commit() {
  PW_RETURN_IF_ERROR(Finish());
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return WriteError(path_, "cannot replace");
  temporary_.clear();
  return Ok();
}

Status FileSet::Add(const std::string& path, std::string_view content) {
  PW_ASSIGN(AtomicFile file, AtomicFile::Create(path));
  PW_RETURN_IF_ERROR(file.Append(content));
  PW_RETURN_IF_ERROR(file.Finish());
  staged_.push_back(std::move(file));
  return Ok();
}

Status FileSet::PutInPlace() {
  for (AtomicFile& file : staged_) PW_RETURN_IF_ERROR(file.Commit());
  staged_.clear();
  return Ok();
}

std::string Sha256(std::string_view bytes) {
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  std::array<uint8_t, SHA256_DIGEST_SIZE> digest;
  sha256_digest(&context, digest.size(), digest.data());
  std::string text;
  for (uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace placewright
