#include "formats/safetensors/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"

namespace placewright {
namespace {

constexpr size_t kLengthField = 8;
constexpr uint64_t kLongestHeader = uint64_t{64} << 20;
constexpr size_t kMostDimensions = 8;

struct TypeName {
  std::string_view name;
  int64_t bytes;
  DType dtype;
};
constexpr std::array kTypeNames = {
    TypeName{"BOOL", 1, DType::kBool}, TypeName{"U8", 1, DType::kU8},
    TypeName{"I8", 1, DType::kI8},     TypeName{"I16", 2, DType::kI16},
    TypeName{"U16", 2, DType::kU16},   TypeName{"F16", 2, DType::kF16},
    TypeName{"BF16", 2, DType::kBF16}, TypeName{"I32", 4, DType::kI32},
    TypeName{"U32", 4, DType::kU32},   TypeName{"F32", 4, DType::kF32},
    TypeName{"I64", 8, DType::kI64},   TypeName{"U64", 8, DType::kU64},
    TypeName{"F64", 8, DType::kF64}};

Error NoSafetensors(const std::string& why) {
  return MakeError(ErrorCode::kFormatUnknown, "the file holds no safetensors: " + why);
}

Error Damaged(std::string message) {
  return MakeError(ErrorCode::kFileCorrupt, std::move(message));
}

Result<SafeTensor> ReadEntry(const std::string& name, const Json& entry, std::string_view content) {
  const std::string place = Printable(name, 80);
  SafeTensor tensor;
  PW_ASSIGN(tensor.dtype, GetString(entry, "dtype", place));
  const int64_t element = SafetensorsElement(tensor.dtype);
  if (element == 0) {
    return MakeError(ErrorCode::kField,
                     "\"" + Printable(tensor.dtype, 20) + "\" is no type of ours",
                     place + ".dtype");
  }
  PW_ASSIGN(const Json* shape, GetArray(entry, "shape", place));
  if (shape->size() > kMostDimensions) return Damaged("a tensor of too many dimensions: " + place);
  int64_t expected = element;
  for (const Json& size : *shape) {
    PW_ASSIGN(const int64_t count, AsInt(size, place + ".shape", 0, INT32_MAX));
    tensor.shape.push_back(count);
    expected = SaturatingMultiply(expected, count);
  }
  PW_ASSIGN(const Json* offsets, GetArray(entry, "data_offsets", place));
  if (offsets->size() != 2) return Damaged("a tensor without an end: " + place);
  PW_ASSIGN(const int64_t begin, AsInt((*offsets)[0], place, 0, kMaxQuantity));
  PW_ASSIGN(const int64_t end, AsInt((*offsets)[1], place, begin, kMaxQuantity));
  if (end > static_cast<int64_t>(content.size()) || end - begin != expected) {
    return Damaged("the tensor " + place + " is not where the header says");
  }
  tensor.bytes = content.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  return tensor;
}

}  // namespace

Result<SafeTensors> ParseSafetensors(std::string_view bytes) {
  if (bytes.size() <= kLengthField) return NoSafetensors("it is too short");
  uint64_t length = 0;
  for (size_t i = kLengthField; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  }
  if (length > kLongestHeader || bytes[kLengthField] != '{') {
    return NoSafetensors("it has no header");
  }
  if (length > bytes.size() - kLengthField) return Damaged("the header is truncated");
  Result<Json> header = ParseJson(bytes.substr(kLengthField, length));
  if (!header.ok() || !header.value().is_object()) {
    return NoSafetensors("its header is no JSON object");
  }
  SafeTensors file;
  file.header = header.Take();
  file.content = bytes.substr(kLengthField + length);
  for (const auto& [name, entry] : file.header.items()) {
    if (name != "__metadata__") {
      PW_ASSIGN(file.tensors[name], ReadEntry(name, entry, file.content));
      continue;
    }
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) return NoSafetensors("its metadata are not texts");
      file.metadata[key] = value.get<std::string>();
    }
  }
  return file;
}

std::string FormatSafetensors(const Json& header, std::string_view content) {
  std::string text = header.dump();
  text.append((kLengthField - text.size() % kLengthField) % kLengthField, ' ');
  std::string bytes;
  bytes.reserve(kLengthField + text.size() + content.size());
  for (size_t i = 0; i < kLengthField; ++i) {
    bytes += static_cast<char>(text.size() >> (8 * i) & 0xff);
  }
  bytes += text;
  bytes += content;
  return bytes;
}

void SafetensorsWriter::Add(const std::string& name, std::string_view dtype,
                            const std::vector<int64_t>& shape, std::string_view bytes) {
  const size_t begin = content_.size();
  content_ += bytes;
  header_[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, content_.size()}}};
}

int64_t SafetensorsElement(std::string_view dtype) {
  const auto known = std::find_if(kTypeNames.begin(), kTypeNames.end(),
                                  [&](const TypeName& one) { return one.name == dtype; });
  return known == kTypeNames.end() ? 0 : known->bytes;
}

std::string_view SafetensorsName(DType dtype) {
  const auto known = std::find_if(kTypeNames.begin(), kTypeNames.end(),
                                  [&](const TypeName& one) { return one.dtype == dtype; });
  return known == kTypeNames.end() ? "" : known->name;
}

Error SafeTensorMismatch(const SafeTensor& found, std::string_view name, DType dtype,
                         const std::vector<int64_t>& shape, std::string_view where,
                         std::string remedy) {
  return MakeError(
      ErrorCode::kPlanMismatch,
      fmt::format("it is {}[{}] in the file and {}[{}] in {}", found.dtype,
                  fmt::join(found.shape, ", "), ToString(dtype), fmt::join(shape, ", "), where),
      "tensor " + Printable(name, 80), std::move(remedy));
}

}  // namespace placewright
