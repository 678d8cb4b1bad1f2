#include "formats/tensorboard/event_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/text.h"

namespace placewright {
namespace {

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, bits reversed
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}

void AppendLittleEndian(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

// TFRecord's: rotated, so that a checksum of what holds checksums is no special value.
void AppendMaskedCrc(std::string& out, std::string_view of) {
  AppendLittleEndian(out, std::rotr(Crc32c(of), 15) + 0xa282ead8u, 4);
}

std::string Record(std::string_view message) {
  std::string record;
  AppendLittleEndian(record, message.size(), 8);
  const std::string length = record;
  AppendMaskedCrc(record, length);
  record += message;
  AppendMaskedCrc(record, message);
  return record;
}

void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void AppendText(std::string& out, char tag, std::string_view text) {
  out += tag;
  AppendVarint(out, text.size());
  out += text;
}

// Tags are field number * 8 + wire type, as event.proto and summary.proto number the fields.
constexpr char kWallTime = 1 * 8 + 1, kStep = 2 * 8 + 0, kFileVersion = 3 * 8 + 2,
               kSummary = 5 * 8 + 2, kValue = 1 * 8 + 2, kTag = 1 * 8 + 2, kSimpleValue = 2 * 8 + 5;

std::string Event(double wall_time) {
  std::string event(1, kWallTime);
  AppendLittleEndian(event, std::bit_cast<uint64_t>(wall_time), 8);
  return event;
}

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Error Unwritable(const std::string& path, const char* why) {
  Error error =
      MakeError(ErrorCode::kFileUnwritable, fmt::format("the events cannot be written: {}", why));
  error.file = path;
  return error;
}

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = MakeCrcTable();
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) {
    crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  }
  return ~crc;
}

std::string FirstEvent(double wall_time) {
  std::string event = Event(wall_time);
  AppendText(event, kFileVersion, "brain.Event:2");
  return Record(event);
}

std::string ScalarEvent(double wall_time, int64_t step,
                        const std::vector<std::pair<std::string, float>>& scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    AppendText(value, kTag, tag);
    value += kSimpleValue;
    AppendLittleEndian(value, std::bit_cast<uint32_t>(number), 4);
    AppendText(summary, kValue, value);
  }
  std::string event = Event(wall_time);
  event += kStep;
  AppendVarint(event, static_cast<uint64_t>(step));
  AppendText(event, kSummary, summary);
  return Record(event);
}

Result<EventFile> EventFile::Create(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Unwritable(folder, error.message().c_str());
  const double now = Now();
  const std::string path = (std::filesystem::path(folder) /
                            fmt::format("events.out.tfevents.{:.0f}.{}.placewright", now, getpid()))
                               .string();
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return Unwritable(path, std::strerror(errno));
  EventFile file(path, descriptor);
  PW_RETURN_IF_ERROR(file.Write(FirstEvent(now)));
  return file;
}

EventFile::EventFile(EventFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

EventFile::~EventFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status EventFile::Add(int64_t step, const std::vector<std::pair<std::string, float>>& scalars) {
  return Write(ScalarEvent(Now(), step, scalars));
}

Status EventFile::Write(std::string_view record) {
  while (!record.empty()) {
    const ssize_t written = write(descriptor_, record.data(), record.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Unwritable(path_, std::strerror(errno));
    record.remove_prefix(static_cast<size_t>(written));
  }
  return Ok();
}

}  // namespace placewright
