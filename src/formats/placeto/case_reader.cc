#include "formats/placeto/case_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "formats/text/json.h"

namespace placewright {
namespace {

// Up to here every integer is a double, and sums of that many stay finite.
constexpr double kMax = 9007199254740992;  // 2^53
// What all elements may be estimated at: some 4 million ops. What is kept of them is a fifth.
constexpr int64_t kStreamed = int64_t{4} << 30;

Error Fail(std::string message, std::string place) {
  return MakeError(ErrorCode::kField, std::move(message), std::move(place));
}

// `place` makes the text of the place, which only errors need.
template <class Place>
Result<double> AsNumber(const Json& value, const Place& place) {
  if (value.is_number()) return value.get<double>();
  return Fail(fmt::format("must be a number, not {}", value.type_name()), place());
}

// A number within [min, 2^53].
template <class Place>
Result<double> AsQuantity(const Json& value, const Place& place, double min = 0) {
  PW_ASSIGN(const double number, AsNumber(value, place));
  if (number >= min && number <= kMax) return number;
  return Fail(fmt::format("{} is outside [{}, 2^53]", value.dump(), min == 0 ? "0" : "-2^53"),
              place());
}

Result<double> GetQuantity(const Json& object, std::string_view key, const std::string& place,
                           double min = 0) {
  PW_ASSIGN(const Json* value, GetField(object, key, place));
  return AsQuantity(
      *value, [&] { return fmt::format("{}.{}", place, key); }, min);
}

// A position in some list.
template <class Place>
Result<int32_t> AsIndex(const Json& value, const Place& place) {
  if (value.is_number_unsigned() && value.get<uint64_t>() <= INT32_MAX) {
    return value.get<int32_t>();
  }
  PW_ASSIGN(const int64_t index, AsInt(value, place(), 0, INT32_MAX));
  return static_cast<int32_t>(index);
}

// An object without fields that the format does not know.
Status CheckFields(const Json& object, std::initializer_list<std::string_view> known,
                   const std::string& place) {
  if (!object.is_object()) {
    return Fail(fmt::format("must be an object, not {}", object.type_name()), place);
  }
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    std::string hint = DidYouMean(key, names);
    if (hint.empty()) hint = fmt::format("; known are {}", fmt::join(names, ", "));
    return Fail(fmt::format("no field is called \"{}\"{}", Printable(key, 80), hint), place);
  }
  return Ok();
}

class CaseReader {
 public:
  Result<PlacetoCase> Read(std::string_view text);

 private:
  Status ReadElement(std::string_view key, size_t index, const Json& value);
  Status ReadOp(size_t index, const Json& value);
  Status ReadEdge(size_t index, const Json& value);
  Status ReadParams(const Json& root);
  Status ReadDevices(const Json& root);
  Status CheckTop(const Json& root) const;
  Status CheckOutputs() const;
  Status CheckIndices() const;

  PlacetoCase case_;
  std::vector<double> starts_;
  std::unordered_set<std::string> names_;  // of ops
};

Status CaseReader::ReadElement(std::string_view key, size_t index, const Json& value) {
  if (key == "ops") return ReadOp(index, value);
  if (key == "edges") return ReadEdge(index, value);
  const auto place = [&] { return fmt::format("{}[{}]", key, index); };
  if (key == "placement") {
    PW_ASSIGN(const int32_t device, AsIndex(value, place));
    case_.placement.push_back(device);
    return Ok();
  }
  PW_ASSIGN(const double start, AsNumber(value, place));
  starts_.push_back(start);
  return Ok();
}

Status CaseReader::ReadOp(size_t index, const Json& value) {
  const std::string place = fmt::format("ops[{}]", index);
  PW_RETURN_IF_ERROR(CheckFields(value, {"name", "cost_us", "output_bytes"}, place));
  PlacetoOp op;
  PW_ASSIGN(op.name, GetString(value, "name", place));
  if (op.name.empty()) return Fail("the name is empty", place + ".name");
  if (!names_.insert(op.name).second) {
    return MakeError(ErrorCode::kDuplicateName,
                     fmt::format("two ops are called \"{}\"", Printable(op.name, 80)),
                     place + ".name");
  }
  PW_ASSIGN(op.cost_us, GetQuantity(value, "cost_us", place));
  op.no_rest = op.cost_us == 0 && value.at("cost_us").is_number_integer();
  PW_ASSIGN(const Json* outputs, GetArray(value, "output_bytes", place));
  op.output_bytes.reserve(outputs->size());
  for (size_t i = 0; i < outputs->size(); ++i) {
    PW_ASSIGN(const double bytes, AsQuantity((*outputs)[i], [&] {
                return fmt::format("{}.output_bytes[{}]", place, i);
              }));
    op.output_bytes.push_back(bytes);
  }
  case_.ops.push_back(std::move(op));
  return Ok();
}

Status CaseReader::ReadEdge(size_t index, const Json& value) {
  if (!value.is_array() || value.size() != 3) {
    return Fail("must be a list of three: op that sends, its output, op that receives",
                fmt::format("edges[{}]", index));
  }
  int32_t numbers[3] = {};
  for (size_t i = 0; i < 3; ++i) {
    PW_ASSIGN(numbers[i],
              AsIndex(value[i], [&] { return fmt::format("edges[{}][{}]", index, i); }));
  }
  case_.edges.push_back({numbers[0], numbers[1], numbers[2]});
  return Ok();
}

Status CaseReader::ReadParams(const Json& root) {
  PW_ASSIGN(const Json* params, GetObject(root, "params", ""));
  const std::string place = "params";
  PW_RETURN_IF_ERROR(
      CheckFields(*params, {"delta1", "delta2", "init_offset", "transfer_speed"}, place));
  PW_ASSIGN(case_.params.delta1, GetQuantity(*params, "delta1", place));
  PW_ASSIGN(case_.params.delta2, GetQuantity(*params, "delta2", place));
  PW_ASSIGN(case_.params.init_offset, GetQuantity(*params, "init_offset", place, -kMax));
  PW_ASSIGN(case_.params.transfer_speed, GetQuantity(*params, "transfer_speed", place));
  if (case_.params.transfer_speed == 0) {
    return Fail("must be above 0 (bytes per microsecond)", "params.transfer_speed");
  }
  return Ok();
}

Status CaseReader::ReadDevices(const Json& root) {
  PW_ASSIGN(const Json* devices, GetArray(root, "devices", ""));
  std::unordered_set<std::string> names;  // of devices and their buses
  for (size_t i = 0; i < devices->size(); ++i) {
    const std::string place = fmt::format("devices[{}]", i);
    PW_ASSIGN(std::string name, AsString((*devices)[i], place));
    if (name.empty()) return Fail("the name is empty", place);
    if (!names.insert(name).second || !names.insert("/bus" + name).second) {
      return MakeError(ErrorCode::kDuplicateName,
                       fmt::format("two devices or buses are called \"{}\" (the bus of a device is "
                                   "called \"/bus\" and its name)",
                                   Printable(name, 80)),
                       place);
    }
    case_.devices.push_back(std::move(name));
  }
  return Ok();
}

// Unknown fields at the top are other programs' business, unless one stands for an optional field
// that would silently go missing.
Status CaseReader::CheckTop(const Json& root) const {
  if (!root.is_object()) return Fail("the file is no JSON object", "");
  for (const auto& [key, value] : root.items()) {
    for (const std::string_view optional : {"expected_runtime_us", "expected_start_us"}) {
      if (key == optional || EditDistance(key, optional) > 2) continue;
      return Fail(fmt::format("did you mean \"{}\"?", optional), Printable(key, 80));
    }
  }
  for (const char* key : {"ops", "edges", "placement"}) {
    PW_RETURN_IF_ERROR(GetArray(root, key, ""));
  }
  return Ok();
}

Status CaseReader::CheckOutputs() const {
  for (size_t op = 0; op < case_.ops.size(); ++op) {
    for (size_t i = 0; i < case_.ops[op].output_bytes.size(); ++i) {
      const double bytes = case_.ops[op].output_bytes[i];
      if (bytes / case_.params.transfer_speed <= kMax) continue;
      return Fail(fmt::format("{} bytes take longer than 2^53 us at {} bytes a microsecond", bytes,
                              case_.params.transfer_speed),
                  fmt::format("ops[{}].output_bytes[{}]", op, i));
    }
  }
  return Ok();
}

Status CaseReader::CheckIndices() const {
  const auto ops = static_cast<int64_t>(case_.ops.size());
  for (size_t i = 0; i < case_.edges.size(); ++i) {
    for (const auto& [op, end] : {std::pair(case_.edges[i].from, 0), {case_.edges[i].to, 2}}) {
      if (op < ops) continue;
      return Fail(fmt::format("there is no op {}: \"ops\" has {}", op, ops),
                  fmt::format("edges[{}][{}]", i, end));
    }
  }
  if (case_.placement.size() != case_.ops.size()) {
    return Fail(fmt::format("has {} entries for {} ops", case_.placement.size(), ops), "placement");
  }
  for (size_t i = 0; i < case_.placement.size(); ++i) {
    if (static_cast<size_t>(case_.placement[i]) < case_.devices.size()) continue;
    return Fail(fmt::format("there is no device {}: \"devices\" has {}", case_.placement[i],
                            case_.devices.size()),
                fmt::format("placement[{}]", i));
  }
  if (case_.expected_start_us && case_.expected_start_us->size() != case_.ops.size()) {
    return Fail(fmt::format("has {} entries for {} ops", case_.expected_start_us->size(), ops),
                "expected_start_us");
  }
  return Ok();
}

Result<PlacetoCase> CaseReader::Read(std::string_view text) {
  const ElementFn each = [this](std::string_view key, size_t index, Json& value) {
    return ReadElement(key, index, value);
  };
  JsonLimits limits;
  limits.streamed = kStreamed;
  PW_ASSIGN(
      const Json root,
      ParseJsonStreaming(text, {"ops", "edges", "placement", "expected_start_us"}, each, limits));
  PW_RETURN_IF_ERROR(CheckTop(root));
  PW_RETURN_IF_ERROR(ReadParams(root));
  PW_RETURN_IF_ERROR(ReadDevices(root));
  if (root.contains("source")) PW_RETURN_IF_ERROR(GetString(root, "source", ""));
  if (root.contains("expected_runtime_us") && !root.at("expected_runtime_us").is_null()) {
    PW_ASSIGN(case_.expected_runtime_us, GetNumber(root, "expected_runtime_us", ""));
  }
  if (root.contains("expected_start_us") && !root.at("expected_start_us").is_null()) {
    PW_RETURN_IF_ERROR(GetArray(root, "expected_start_us", ""));
    case_.expected_start_us = std::move(starts_);
  }
  PW_RETURN_IF_ERROR(CheckIndices());
  PW_RETURN_IF_ERROR(CheckOutputs());
  return std::move(case_);
}

}  // namespace

Result<PlacetoCase> ReadPlacetoCase(std::string_view text) { return CaseReader().Read(text); }

}  // namespace placewright
