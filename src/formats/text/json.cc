#include "formats/text/json.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace placewright {
namespace {

std::string Join(std::string_view place, std::string_view key) {
  return place.empty() ? std::string(key) : fmt::format("{}.{}", place, key);
}

// A value as messages name it.
std::string Describe(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (!value.is_string()) return value.dump();
  return fmt::format("\"{}\"", Printable(value.get_ref<const std::string&>(), 60));
}

Error WrongType(std::string_view expected, const Json& value, std::string place) {
  return MakeError(ErrorCode::kField, fmt::format("must be {}, not {}", expected, Describe(value)),
                   std::move(place));
}

}  // namespace

Result<const Json*> GetField(const Json& object, std::string_view key, std::string_view place) {
  if (!object.is_object()) return WrongType("an object", object, std::string(place));
  const auto it = object.find(std::string(key));
  if (it == object.end()) {
    return MakeError(ErrorCode::kField, fmt::format("the field \"{}\" is missing", key),
                     std::string(place));
  }
  return &*it;
}

Result<std::string> AsString(const Json& value, std::string_view place) {
  if (!value.is_string()) return WrongType("a string", value, std::string(place));
  return value.get<std::string>();
}

Result<int64_t> AsInt(const Json& value, std::string_view place, int64_t min, int64_t max) {
  if (!value.is_number_integer()) return WrongType("an integer", value, std::string(place));
  const bool too_large =
      value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  const int64_t number = too_large ? INT64_MAX : value.get<int64_t>();
  if (too_large || number < min || number > max) {
    return MakeError(ErrorCode::kField,
                     fmt::format("{} is outside [{}, {}]", value.dump(), min, max),
                     std::string(place));
  }
  return number;
}

Result<std::string> GetString(const Json& object, std::string_view key, std::string_view place) {
  PW_ASSIGN(const Json* field, GetField(object, key, place));
  if (!field->is_string()) return WrongType("a string", *field, Join(place, key));
  return field->get<std::string>();
}

Result<int64_t> GetInt(const Json& object, std::string_view key, std::string_view place,
                       int64_t min, int64_t max) {
  PW_ASSIGN(const Json* field, GetField(object, key, place));
  return AsInt(*field, Join(place, key), min, max);
}

Result<double> GetNumber(const Json& object, std::string_view key, std::string_view place) {
  PW_ASSIGN(const Json* field, GetField(object, key, place));
  if (!field->is_number()) return WrongType("a number", *field, Join(place, key));
  const double number = field->get<double>();
  if (!std::isfinite(number)) {
    return MakeError(ErrorCode::kField, "must be finite", Join(place, key));
  }
  return number;
}

Result<Nanos> GetNanos(const Json& object, std::string_view key, std::string_view place) {
  PW_ASSIGN(const int64_t count, GetInt(object, key, place, 0, kMaxQuantity));
  return Nanos(count);
}

Result<Bytes> GetBytes(const Json& object, std::string_view key, std::string_view place) {
  PW_ASSIGN(const int64_t count, GetInt(object, key, place, 0, kMaxQuantity));
  return Bytes(count);
}

Result<bool> GetBool(const Json& object, std::string_view key, std::string_view place) {
  PW_ASSIGN(const Json* field, GetField(object, key, place));
  if (!field->is_boolean()) return WrongType("true or false", *field, Join(place, key));
  return field->get<bool>();
}

Result<const Json*> GetArray(const Json& object, std::string_view key, std::string_view place) {
  PW_ASSIGN(const Json* field, GetField(object, key, place));
  if (!field->is_array()) return WrongType("a list", *field, Join(place, key));
  return field;
}

Result<std::vector<int64_t>> GetInts(const Json& object, std::string_view key,
                                     std::string_view place, int64_t min, int64_t max) {
  PW_ASSIGN(const Json* const list, GetArray(object, key, place));
  std::vector<int64_t> values;
  for (const Json& one : *list) {
    PW_ASSIGN(const int64_t value,
              AsInt(one, fmt::format("{}[{}]", Join(place, key), values.size()), min, max));
    values.push_back(value);
  }
  return values;
}

Result<const Json*> GetObject(const Json& object, std::string_view key, std::string_view place) {
  PW_ASSIGN(const Json* field, GetField(object, key, place));
  if (!field->is_object()) return WrongType("an object", *field, Join(place, key));
  return field;
}

}  // namespace placewright
