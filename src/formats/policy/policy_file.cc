#include "formats/policy/policy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "formats/safetensors/safetensors.h"
#include "formats/text/file.h"
#include "formats/text/json.h"

namespace placewright {
namespace {

constexpr std::string_view kPolicySchema = "placewright.policy/1";
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
    Result<SafeTensors> file = ParseSafetensors(bytes_);
    if (!file.ok()) {
      if (file.error().code == ErrorCode::kFormatUnknown) return NoPolicy(file.error().message);
      return std::move(file.error());
    }
    file_ = file.Take();
    PW_RETURN_IF_ERROR(ReadMetadata());
    for (const auto& [name, tensor] : file_.tensors) PW_RETURN_IF_ERROR(TakeTensor(name, tensor));
    return std::move(policy_);
  }

 private:
  Status ReadMetadata() {
    PW_ASSIGN(const Json* metadata, GetObject(file_.header, "__metadata__", ""));
    const std::string place = "__metadata__";
    PW_ASSIGN(const std::string format, GetString(*metadata, "format", place));
    if (format != kPolicySchema) {
      return MakeError(ErrorCode::kField,
                       fmt::format("the policy has the format \"{}\", this program reads \"{}\"",
                                   Printable(format, 80), kPolicySchema),
                       place + ".format", "Train it again with this version.");
    }
    PW_ASSIGN(const std::string digest, GetString(*metadata, "sha256", place));
    if (digest != DigestOf(file_.header, file_.content)) {
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

  Status TakeTensor(const std::string& name, const SafeTensor& read) {
    const auto known = std::find_if(kTypes.begin(), kTypes.end(),
                                    [&](const auto& one) { return one.second == read.dtype; });
    if (known == kTypes.end()) {
      return MakeError(ErrorCode::kField, "policies have no tensors of type " + read.dtype,
                       Printable(name, 80) + ".dtype");
    }
    StoredTensor tensor{known->first, read.shape, std::string(read.bytes)};
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
  SafeTensors file_;
  StoredPolicy policy_;
};

}  // namespace

std::string FormatPolicy(const StoredPolicy& policy) {
  SafetensorsWriter file;
  file.Metadata("format", std::string(kPolicySchema));
  file.Metadata("algorithm", policy.algorithm);
  file.Metadata("vocabulary", fmt::to_string(policy.vocabulary));
  file.Metadata("settings", TextOf(policy.settings));
  file.Metadata("state", TextOf(policy.state));
  const auto add = [&](std::string_view prefix, const std::map<std::string, StoredTensor>& all) {
    for (const auto& [name, tensor] : all) {
      file.Add(std::string(prefix) + name, NameOf(tensor.type), tensor.sizes, tensor.bytes);
    }
  };
  add(kParameterPrefix, policy.parameters);
  add(kStatePrefix, policy.state_tensors);
  file.Metadata("sha256", DigestOf(file.header(), file.content()));
  return file.Write();
}

Result<StoredPolicy> ParsePolicy(std::string_view bytes) { return PolicyParser(bytes).Run(); }

Result<StoredPolicy> LoadPolicy(const std::string& path) {
  PW_ASSIGN(const std::string bytes, ReadFileRaw(path));
  return ParsePolicy(bytes).InFile(path);
}

}  // namespace placewright
