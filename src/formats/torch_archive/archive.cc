#include "formats/torch_archive/archive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace placewright {
namespace {

constexpr int64_t kSmall = 4096;                      // content that is always read
constexpr int64_t kMaxChecked = int64_t{1} << 30;     // bytes of all records but weights
constexpr int64_t kMaxDirectory = int64_t{64} << 20;  // bytes
constexpr int64_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56;
constexpr int64_t kHeaderBytes = 46, kLocalBytes = 30;

uint64_t Little(std::string_view bytes, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

int64_t Saturated(uint64_t value) {
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / 4);
  return static_cast<int64_t>(std::min(value, kMax));
}

class File {
 public:
  explicit File(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status = {};
    if (descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
      size_ = status.st_size;
    }
  }
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int64_t size() const { return size_; }  // -1: not a readable regular file

  // The bytes at [at, at + count), or kFileCorrupt where the file ends before.
  Result<std::string> Read(int64_t at, int64_t count) const {
    if (at < 0 || count < 0 || at > size_ || count > size_ - at) return Damaged("it is truncated");
    std::string bytes(static_cast<size_t>(count), '\0');
    for (int64_t done = 0; done < count;) {
      const ssize_t got =
          pread(descriptor_, bytes.data() + done, static_cast<size_t>(count - done), at + done);
      if (got <= 0) return Damaged("it is truncated");
      done += got;
    }
    return bytes;
  }

  static Error Damaged(std::string reason) {
    return MakeError(ErrorCode::kFileCorrupt, "damaged archive: " + std::move(reason), "",
                     "Copy or save the model again.");
  }

 private:
  int descriptor_;
  int64_t size_ = -1;
};

struct Record {
  std::string name;
  uint64_t method = 0, sum = 0;
  int64_t stored = 0, expanded = 0, header = 0;
};

struct Directory {
  int64_t at = 0, bytes = 0;
};

Result<Directory> FindDirectory(const File& file) {
  const int64_t tail_bytes = std::min<int64_t>(file.size(), kEndBytes + 0xffff);
  PW_ASSIGN(const std::string tail, file.Read(file.size() - tail_bytes, tail_bytes));
  const size_t end = tail.rfind("PK\x05\x06");
  if (end == tail.npos || tail.size() - end < static_cast<size_t>(kEndBytes)) {
    return File::Damaged("it has no end, so it is truncated");
  }
  Directory directory{Saturated(Little(tail, end + 16, 4)), Saturated(Little(tail, end + 12, 4))};
  const int64_t locator_at = file.size() - tail_bytes + static_cast<int64_t>(end) - kLocatorBytes;
  if (locator_at >= 0) {
    PW_ASSIGN(const std::string locator, file.Read(locator_at, kLocatorBytes));
    if (locator.starts_with("PK\x06\x07")) {
      PW_ASSIGN(const std::string end64, file.Read(Saturated(Little(locator, 8, 8)), kEnd64Bytes));
      if (!end64.starts_with("PK\x06\x06"))
        return File::Damaged("its zip64 end is not where it says");
      directory = {Saturated(Little(end64, 48, 8)), Saturated(Little(end64, 40, 8))};
    }
  }
  if (directory.bytes > kMaxDirectory) return File::Damaged("its directory exceeds 64 MiB");
  return directory;
}

// Sizes that do not fit into 32 bits stand in an extra field, in this order.
void ReadZip64(std::string_view extra, Record& record) {
  while (extra.size() >= 4) {
    const uint64_t id = Little(extra, 0, 2);
    const auto length = static_cast<size_t>(Little(extra, 2, 2));
    if (length > extra.size() - 4) return;
    std::string_view field = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (id != 1) continue;
    for (int64_t* value : {&record.expanded, &record.stored, &record.header}) {
      if (*value != 0xffffffff || field.size() < 8) continue;
      *value = Saturated(Little(field, 0, 8));
      field.remove_prefix(8);
    }
  }
}

Result<std::vector<Record>> ReadDirectory(const File& file) {
  PW_ASSIGN(const Directory directory, FindDirectory(file));
  PW_ASSIGN(const std::string bytes, file.Read(directory.at, directory.bytes));
  std::vector<Record> records;
  std::string_view rest = bytes;
  while (rest.starts_with("PK\x01\x02") && rest.size() >= static_cast<size_t>(kHeaderBytes)) {
    const auto name = static_cast<size_t>(Little(rest, 28, 2));
    const auto extra = static_cast<size_t>(Little(rest, 30, 2));
    const auto comment = static_cast<size_t>(Little(rest, 32, 2));
    if (rest.size() < kHeaderBytes + name + extra + comment) break;
    Record record;
    record.method = Little(rest, 10, 2);
    record.sum = Little(rest, 16, 4);
    record.stored = Saturated(Little(rest, 20, 4));
    record.expanded = Saturated(Little(rest, 24, 4));
    record.header = Saturated(Little(rest, 42, 4));
    record.name = rest.substr(kHeaderBytes, name);
    ReadZip64(rest.substr(kHeaderBytes + name, extra), record);
    rest.remove_prefix(kHeaderBytes + name + extra + comment);
    records.push_back(std::move(record));
  }
  if (!rest.empty()) return File::Damaged("its directory is damaged");
  return records;
}

// The place of the record's bytes, which must lie in the file.
Result<int64_t> ContentOf(const File& file, const Record& record) {
  PW_ASSIGN(const std::string local, file.Read(record.header, kLocalBytes));
  if (!local.starts_with("PK\x03\x04")) {
    return File::Damaged(fmt::format("{} is not where it says", Printable(record.name, 80)));
  }
  const int64_t at =
      record.header + kLocalBytes + Saturated(Little(local, 26, 2) + Little(local, 28, 2));
  if (at > file.size() || record.stored > file.size() - at) {
    return File::Damaged(Printable(record.name, 80) + " is truncated");
  }
  return at;
}

// The bytes of a deflated record; empty where they do not expand to the size that it states.
std::string Inflated(std::string stored, int64_t expanded) {
  std::string bytes(static_cast<size_t>(expanded), '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return "";
  stream.next_in = reinterpret_cast<Bytef*>(stored.data());
  stream.avail_in = static_cast<uInt>(stored.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  return whole ? bytes : "";
}

Status CheckContent(const File& file, const Record& record, int64_t at) {
  const std::string name = Printable(record.name, 80);
  PW_ASSIGN(std::string bytes, file.Read(at, record.stored));
  // No deflated byte stands for more than 1032.
  if (record.expanded / 1032 > record.stored + 1)
    return File::Damaged(name + " states its size wrongly");
  if (record.method == 8) bytes = Inflated(std::move(bytes), record.expanded);
  const auto* data = reinterpret_cast<const Bytef*>(bytes.data());
  const uint64_t sum = crc32(crc32(0, nullptr, 0), data, static_cast<uInt>(bytes.size()));
  if (static_cast<int64_t>(bytes.size()) != record.expanded || sum != record.sum) {
    return File::Damaged(name + " is not what was stored");
  }
  return Ok();
}

// "net/data/0" -> "data/0"
std::string_view BelowRoot(std::string_view name) { return name.substr(name.find('/') + 1); }

Result<TorchArchive> Classify(const File& file) {
  PW_ASSIGN(const std::vector<Record> records, ReadDirectory(file));
  TorchArchive archive;
  bool code = false, constants = false, pickle = false;
  int64_t checked = 0;
  for (const Record& record : records) {
    const std::string_view name = BelowRoot(record.name);
    code |= name.starts_with("code/");
    constants |= name == "constants.pkl";
    pickle |= name == "data.pkl";
    PW_ASSIGN(const int64_t at, ContentOf(file, record));
    if (record.method != 8 && (record.method != 0 || record.stored != record.expanded)) {
      return File::Damaged(Printable(record.name, 80) + " is packed in an unknown way");
    }
    const bool content = name.starts_with("data/") || name.starts_with("constants/");
    if (content && record.method == 0 && record.stored > kSmall) {
      archive.weights.emplace_back(at, at + record.stored);
      continue;
    }
    checked += std::min(std::max(record.expanded, record.stored), kMaxChecked);
    if (checked > kMaxChecked) {
      return MakeError(ErrorCode::kFileTooLarge, "the archive has more than 1 GiB beside weights");
    }
    PW_RETURN_IF_ERROR(CheckContent(file, record, at));
  }
  std::sort(archive.weights.begin(), archive.weights.end());
  if (code && constants && pickle) {
    archive.kind = TorchArchive::Kind::kScript;
  } else if (pickle) {
    archive.kind = TorchArchive::Kind::kPickled;
  }
  return archive;
}

bool IsPickle(std::string_view head) {
  return head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

bool IsZip(std::string_view head) {
  return head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06");
}

Error Unreadable(const std::string& path) {
  Error error = MakeError(ErrorCode::kFileUnreadable, "does not exist or cannot be read");
  error.file = path;
  return error;
}

}  // namespace

Result<bool> IsTorchFile(const std::string& path) {
  const File file(path);
  if (file.size() < 0) return Unreadable(path);
  PW_ASSIGN(const std::string head, file.Read(0, std::min<int64_t>(file.size(), 4)).InFile(path));
  return IsZip(head) || IsPickle(head);
}

Result<TorchArchive> ReadTorchArchive(const std::string& path) {
  const File file(path);
  if (file.size() < 0) return Unreadable(path);
  PW_ASSIGN(const std::string head, file.Read(0, std::min<int64_t>(file.size(), 4)).InFile(path));
  if (IsPickle(head)) return TorchArchive{TorchArchive::Kind::kPickled, {}};
  return Classify(file).InFile(path);
}

Error TorchArchiveError(const std::string& path, TorchArchive::Kind kind) {
  Error error = MakeError(ErrorCode::kFormatUnknown, "");
  error.file = path;
  switch (kind) {
    case TorchArchive::Kind::kScript:
      error.message = "this is a script module of LibTorch, of which no step is recorded yet";
      error.remedy = fmt::format(
          "Record one, and give its file: placewright capture {} --input 'x=f32[B,SIZES]' --batch "
          "N "
          "-o step.json.gz",
          Printable(path, 4096));
      break;
    case TorchArchive::Kind::kPickled:
      error.message = "this is a pickle of Python objects (torch.save), which holds no code to run";
      error.remedy =
          "Save the model as a script module (torch.jit.save(torch.jit.script(model), FILE)) and "
          "give that to `placewright capture`, or record the step in Python with "
          "placewright_export.py.";
      break;
    case TorchArchive::Kind::kOther:
      error.message = "this is a zip archive, but not one of torch.jit.save";
      error.remedy = "Give a file that torch.jit.save wrote to `placewright capture`.";
      break;
  }
  return error;
}

}  // namespace placewright
