#include "formats/policy/policy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "formats/text/file.h"
#include "formats/text/json.h"

namespace placewright {
namespace {

constexpr std::string_view kPolicySchema = "placewright.policy/1";
constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeader = uint64_t{64} << 20;
constexpr size_t kMaxDimensions = 8;
constexpr std::array<std::pair<StoredTensor::Type, std::string_view>, 4> kTypes = {
    {{StoredTensor::Type::kU8, "U8"},
     {StoredTensor::Type::kI64, "I64"},
     {StoredTensor::Type::kF32, "F32"},
     {StoredTensor::Type::kF64, "F64"}}};
constexpr std::string_view kParameterPrefix = "policy/", kStatePrefix = "state/";

std::string_view NameOf(StoredTensor::Type type) {
  return std::find_if(kTypes.begin(), kTypes.end(),
                      [&](const auto& one) { return one.first == type; })
      ->second;
}

// Of the header without the digest itself, and of the tensors.
std::string DigestOf(const Json& header, std::string_view tensors) {
  Json rest = header;
  rest["__metadata__"].erase("sha256");
  return Sha256(rest.dump() + Sha256(tensors));
}

std::string TextOf(const std::map<std::string, std::string>& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[name] = value;
  return json.dump();
}

Error NoPolicy(const std::string& why) {
  return MakeError(ErrorCode::kFormatUnknown, "the file holds no policy: " + why, "",
                   "Give a file that `placewright train` wrote.");
}

class PolicyParser {
 public:
  explicit PolicyParser(std::string_view bytes) : bytes_(bytes) {}

  Result<StoredPolicy> Run() {
    PW_RETURN_IF_ERROR(ReadHeader());
    PW_RETURN_IF_ERROR(ReadMetadata());
    for (const auto& [name, entry] : header_.items()) {
      if (name == "__metadata__") continue;
      PW_RETURN_IF_ERROR(ReadTensor(name, entry));
    }
    return std::move(policy_);
  }

 private:
  Status ReadHeader() {
    if (bytes_.size() < kLengthBytes) return NoPolicy("it is too short");
    uint64_t length = 0;
    for (size_t i = kLengthBytes; i-- > 0;) {
      length = length << 8 | static_cast<unsigned char>(bytes_[i]);
    }
    if (length > kMaxHeader || bytes_[kLengthBytes] != '{') return NoPolicy("it has no header");
    if (length > bytes_.size() - kLengthBytes) return Corrupt("the header is truncated");
    Result<Json> header = ParseJson(bytes_.substr(kLengthBytes, length));
    if (!header.ok() || !header.value().is_object())
      return NoPolicy("its header is no JSON object");
    header_ = header.Take();
    tensors_ = bytes_.substr(kLengthBytes + length);
    return Ok();
  }

  Status ReadMetadata() {
    PW_ASSIGN(const Json* metadata, GetObject(header_, "__metadata__", ""));
    for (const auto& [key, value] : metadata->items()) {
      if (!value.is_string()) return NoPolicy("its metadata are not texts");
    }
    const std::string place = "__metadata__";
    PW_ASSIGN(const std::string format, GetString(*metadata, "format", place));
    if (format != kPolicySchema) {
      return MakeError(ErrorCode::kField,
                       fmt::format("the policy has the format \"{}\", this program reads \"{}\"",
                                   Printable(format, 80), kPolicySchema),
                       place + ".format", "Train it again with this version.");
    }
    PW_ASSIGN(const std::string digest, GetString(*metadata, "sha256", place));
    if (digest != DigestOf(header_, tensors_)) {
      return Corrupt("the content is not what its SHA-256 says");
    }
    PW_ASSIGN(policy_.algorithm, GetString(*metadata, "algorithm", place));
    PW_ASSIGN(const std::string vocabulary, GetString(*metadata, "vocabulary", place));
    PW_ASSIGN(const Json number, ParseJson(vocabulary));
    PW_ASSIGN(policy_.vocabulary, AsInt(number, place + ".vocabulary", 0, kMaxQuantity));
    PW_ASSIGN(policy_.settings, ReadTexts(*metadata, "settings"));
    PW_ASSIGN(policy_.state, ReadTexts(*metadata, "state"));
    return Ok();
  }

  static Result<std::map<std::string, std::string>> ReadTexts(const Json& metadata,
                                                              std::string_view key) {
    PW_ASSIGN(const std::string text, GetString(metadata, key, "__metadata__"));
    PW_ASSIGN(const Json json, ParseJson(text));
    std::map<std::string, std::string> values;
    for (const auto& [name, value] : json.items()) {
      PW_ASSIGN(values[name], AsString(value, fmt::format("__metadata__.{}.{}", key, name)));
    }
    return values;
  }

  Status ReadTensor(const std::string& name, const Json& entry) {
    const std::string place = Printable(name, 80);
    StoredTensor tensor;
    PW_ASSIGN(const std::string type, GetString(entry, "dtype", place));
    const auto known = std::find_if(kTypes.begin(), kTypes.end(),
                                    [&](const auto& one) { return one.second == type; });
    if (known == kTypes.end()) {
      return MakeError(ErrorCode::kField, "\"" + Printable(type, 20) + "\" is no type of ours",
                       place + ".dtype");
    }
    tensor.type = known->first;
    PW_ASSIGN(const Json* shape, GetArray(entry, "shape", place));
    if (shape->size() > kMaxDimensions) return Corrupt("a tensor of too many dimensions: " + place);
    int64_t expected = StoredTensor::BytesOf(tensor.type);
    for (const Json& size : *shape) {
      PW_ASSIGN(const int64_t count, AsInt(size, place + ".shape", 0, INT32_MAX));
      tensor.sizes.push_back(count);
      expected = SaturatingMultiply(expected, count);
    }
    PW_ASSIGN(const Json* offsets, GetArray(entry, "data_offsets", place));
    if (offsets->size() != 2) return Corrupt("a tensor without an end: " + place);
    PW_ASSIGN(const int64_t begin, AsInt((*offsets)[0], place, 0, kMaxQuantity));
    PW_ASSIGN(const int64_t end, AsInt((*offsets)[1], place, begin, kMaxQuantity));
    if (end > static_cast<int64_t>(tensors_.size()) || end - begin != expected) {
      return Corrupt("the tensor " + place + " is not where the header says");
    }
    tensor.bytes = tensors_.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    if (name.starts_with(kParameterPrefix)) {
      policy_.parameters[name.substr(kParameterPrefix.size())] = std::move(tensor);
    } else if (name.starts_with(kStatePrefix)) {
      policy_.state_tensors[name.substr(kStatePrefix.size())] = std::move(tensor);
    }
    return Ok();
  }

  static Error Corrupt(std::string message) {
    return MakeError(ErrorCode::kFileCorrupt, std::move(message));
  }

  const std::string_view bytes_;
  std::string_view tensors_;
  Json header_;
  StoredPolicy policy_;
};

}  // namespace

std::string FormatPolicy(const StoredPolicy& policy) {
  Json header = Json::object();
  Json& metadata = header["__metadata__"] = Json::object();
  metadata["format"] = kPolicySchema;
  metadata["algorithm"] = policy.algorithm;
  metadata["vocabulary"] = fmt::to_string(policy.vocabulary);
  metadata["settings"] = TextOf(policy.settings);
  metadata["state"] = TextOf(policy.state);
  std::string tensors;
  const auto add = [&](std::string_view prefix, const std::map<std::string, StoredTensor>& all) {
    for (const auto& [name, tensor] : all) {
      const size_t begin = tensors.size();
      tensors += tensor.bytes;
      header[std::string(prefix) + name] = {{"dtype", NameOf(tensor.type)},
                                            {"shape", tensor.sizes},
                                            {"data_offsets", {begin, tensors.size()}}};
    }
  };
  add(kParameterPrefix, policy.parameters);
  add(kStatePrefix, policy.state_tensors);
  header["__metadata__"]["sha256"] = DigestOf(header, tensors);
  std::string text = header.dump();
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');  // aligned tensors
  std::string bytes;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    bytes += static_cast<char>(text.size() >> (8 * i) & 0xff);
  }
  return bytes + text + tensors;
}

Result<StoredPolicy> ParsePolicy(std::string_view bytes) { return PolicyParser(bytes).Run(); }

Result<StoredPolicy> LoadPolicy(const std::string& path) {
  PW_ASSIGN(const std::string bytes, ReadFileRaw(path));
  return ParsePolicy(bytes).InFile(path);
}

}  // namespace placewright
