#include "formats/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/text.h"

namespace placewright {
namespace {

constexpr size_t kMaxDepth = 200;

// Builds the document and refuses repeated keys and deep nesting on the way.
class StrictHandler : public nlohmann::json_sax<Json> {
 public:
  explicit StrictHandler(Json& root) : builder_(root, false) {}

  bool null() override { return builder_.null(); }
  bool boolean(bool v) override { return builder_.boolean(v); }
  bool number_integer(number_integer_t v) override { return builder_.number_integer(v); }
  bool number_unsigned(number_unsigned_t v) override { return builder_.number_unsigned(v); }
  bool number_float(number_float_t v, const string_t& s) override {
    return builder_.number_float(v, s);
  }
  bool string(string_t& v) override { return builder_.string(v); }
  bool binary(binary_t& v) override { return builder_.binary(v); }
  bool start_object(size_t n) override {
    keys_.emplace_back();
    return Deeper() && builder_.start_object(n);
  }
  bool key(string_t& v) override {
    if (!keys_.back().insert(v).second) {
      duplicate_ = v;
      return false;
    }
    return builder_.key(v);
  }
  bool end_object() override {
    keys_.pop_back();
    --depth_;
    return builder_.end_object();
  }
  bool start_array(size_t n) override { return Deeper() && builder_.start_array(n); }
  bool end_array() override {
    --depth_;
    return builder_.end_array();
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& e) override {
    position_ = position;
    message_ = e.what();
    return false;
  }

  const std::string& duplicate() const { return duplicate_; }
  bool too_deep() const { return depth_ > kMaxDepth; }
  size_t position() const { return position_; }
  const std::string& message() const { return message_; }

 private:
  bool Deeper() { return ++depth_ <= kMaxDepth; }

  nlohmann::detail::json_sax_dom_parser<Json> builder_;
  std::vector<std::unordered_set<std::string>> keys_;
  size_t depth_ = 0, position_ = 0;
  std::string duplicate_, message_;
};

std::string LineAndColumn(std::string_view text, size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t column =
      newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return fmt::format("line {}, column {}", line, std::max<size_t>(column, 1));
}

// nlohmann's text without its "[json.exception...] parse error at line ..., column ...: " prefix.
std::string PlainMessage(const std::string& what) {
  const size_t at = what.find("column");
  const size_t colon = what.find(": ", at == std::string::npos ? 0 : at);
  return Printable(colon == std::string::npos ? what : what.substr(colon + 2), 160);
}

std::string Join(std::string_view place, std::string_view key) {
  return place.empty() ? std::string(key) : fmt::format("{}.{}", place, key);
}

Error WrongType(std::string_view expected, const Json& value, std::string place) {
  return MakeError(ErrorCode::kField,
                   fmt::format("must be {}, not {}", expected, value.type_name()),
                   std::move(place));
}

}  // namespace

Result<Json> ParseJson(std::string_view text) {
  Json root;
  StrictHandler handler(root);
  bool good = false;
  try {
    good = Json::sax_parse(text.begin(), text.end(), &handler);
  } catch (const std::exception& e) {  // numbers out of range and the like
    return MakeError(ErrorCode::kSyntax, PlainMessage(e.what()));
  }
  if (good) return root;
  if (!handler.duplicate().empty()) {
    return MakeError(ErrorCode::kDuplicateName,
                     fmt::format("the key \"{}\" stands twice in one object",
                                 Printable(handler.duplicate(), 80)));
  }
  if (handler.too_deep()) {
    return MakeError(ErrorCode::kSyntax, fmt::format("nested deeper than {} levels", kMaxDepth));
  }
  return MakeError(ErrorCode::kSyntax, PlainMessage(handler.message()),
                   LineAndColumn(text, handler.position()));
}

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

Result<int64_t> AsInt(const Json& value, std::string_view place, int64_t least, int64_t most) {
  if (!value.is_number_integer()) return WrongType("a whole number", value, std::string(place));
  const bool too_large =
      value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  const int64_t number = too_large ? INT64_MAX : value.get<int64_t>();
  if (too_large || number < least || number > most) {
    return MakeError(ErrorCode::kField,
                     fmt::format("{} is outside [{}, {}]", value.dump(), least, most),
                     std::string(place));
  }
  return number;
}

Result<std::string> GetString(const Json& object, std::string_view key, std::string_view place) {
  PW_ASSIGN(const Json* field, GetField(object, key, place));
  return AsString(*field, Join(place, key));
}

Result<int64_t> GetInt(const Json& object, std::string_view key, std::string_view place,
                       int64_t least, int64_t most) {
  PW_ASSIGN(const Json* field, GetField(object, key, place));
  return AsInt(*field, Join(place, key), least, most);
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

Result<const Json*> GetObject(const Json& object, std::string_view key, std::string_view place) {
  PW_ASSIGN(const Json* field, GetField(object, key, place));
  if (!field->is_object()) return WrongType("an object", *field, Join(place, key));
  return field;
}

}  // namespace placewright
