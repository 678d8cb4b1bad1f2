#include "formats/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/text.h"

namespace placewright {
namespace {

constexpr size_t kMaxDepth = 200;
constexpr size_t kFewKeys = 16;
constexpr size_t kOutermostMembers = 64;
constexpr size_t kLineItems = 12;  // FormatDocument: more members than this get a line each

// Collects the parsed values into a tree by appending. nlohmann's own builder looks every key up
// first, which is quadratic in an ordered map; here repeated keys have been refused before.
class TreeBuilder {
 public:
  explicit TreeBuilder(Json& root) : root_(root) {}

  void SetKey(std::string key) { key_ = std::move(key); }
  Json* Add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      auto& items = open_.back()->get_ref<Json::array_t&>();
      items.push_back(std::move(value));
      return &items.back();
    }
    auto& members = open_.back()->get_ref<Json::object_t&>();
    members.push_back({std::move(key_), std::move(value)});
    return &members.back().second;
  }
  // A parent does not grow while a child is open, so the pointers stay valid.
  void Open(Json container) {
    open_.push_back(Add(std::move(container)));
    // An ordered map copies its values when it grows: the outermost one would copy whole lists.
    if (open_.size() == 1 && root_.is_object()) {
      root_.get_ref<Json::object_t&>().reserve(kOutermostMembers);
    }
  }
  void Close() { open_.pop_back(); }

 private:
  Json& root_;
  std::vector<Json*> open_;
  std::string key_;
};

// The lists whose elements are handed on one by one; none for a plain parse.
struct Streaming {
  std::vector<std::string> keys;
  const ElementFn* each = nullptr;
};

// Builds the document and refuses repeated keys and deep nesting on the way. The elements of a
// streamed list are built one after the other, each as a document of its own.
class StrictHandler : public nlohmann::json_sax<Json> {
 public:
  StrictHandler(Json& root, const Streaming& streaming) : builder_(root), lists_(streaming) {}

  bool null() override { return Scalar(nullptr); }
  bool boolean(bool v) override { return Scalar(v); }
  bool number_integer(number_integer_t v) override { return Scalar(v); }
  bool number_unsigned(number_unsigned_t v) override { return Scalar(v); }
  bool number_float(number_float_t v, const string_t&) override { return Scalar(v); }
  bool string(string_t& v) override { return Scalar(std::move(v)); }
  bool binary(binary_t&) override { return false; }  // JSON text has none
  bool start_object(size_t) override {
    BeginValue();
    keys_.emplace_back();
    if (!Deeper()) return false;
    Target().Open(Json::object());
    return true;
  }
  bool key(string_t& v) override {
    if (!AddKey(v)) {
      duplicate_ = v;
      return false;
    }
    streams_next_ = depth_ == 1 && keys_.size() == 1 &&
                    std::find(lists_.keys.begin(), lists_.keys.end(), v) != lists_.keys.end();
    if (streams_next_) stream_key_ = v;
    Target().SetKey(std::move(v));
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    --depth_;
    Target().Close();
    return EndValue();
  }
  bool start_array(size_t) override {
    if (streams_next_) {
      streams_next_ = false;
      streaming_ = true;
      index_ = 0;
      return Deeper();
    }
    BeginValue();
    if (!Deeper()) return false;
    Target().Open(Json::array());
    return true;
  }
  bool end_array() override {
    --depth_;
    if (streaming_ && depth_ == 1) {
      streaming_ = false;
      return true;
    }
    Target().Close();
    return EndValue();
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
  std::optional<Error>& element_error() { return element_error_; }

 private:
  // The keys of one object: a few are compared, many are hashed.
  struct Keys {
    std::vector<std::string> few;
    std::unordered_set<std::string> many;
  };

  bool Deeper() { return ++depth_ <= kMaxDepth; }
  TreeBuilder& Target() { return element_builder_ ? *element_builder_ : builder_; }

  bool AddKey(const std::string& key) {
    Keys& keys = keys_.back();
    if (std::find(keys.few.begin(), keys.few.end(), key) != keys.few.end()) return false;
    if (keys.few.size() == kFewKeys) return keys.many.insert(key).second;
    keys.few.push_back(key);
    return true;
  }
  bool Scalar(Json value) {
    BeginValue();
    Target().Add(std::move(value));
    return EndValue();
  }
  void BeginValue() {
    streams_next_ = false;
    if (streaming_ && depth_ == 2) {
      element_ = Json();
      element_builder_.emplace(element_);
    }
  }
  // Hands on the element of a streamed list that this value completes.
  bool EndValue() {
    if (!streaming_ || depth_ != 2) return true;
    element_builder_.reset();
    Status status = (*lists_.each)(stream_key_, index_++, element_);
    if (status.ok()) return true;
    element_error_ = std::move(status.error());
    return false;
  }

  TreeBuilder builder_;
  const Streaming& lists_;
  bool streams_next_ = false, streaming_ = false;
  std::string stream_key_;
  size_t index_ = 0;  // of the element in the streamed list
  Json element_;
  std::optional<TreeBuilder> element_builder_;
  std::optional<Error> element_error_;
  std::vector<Keys> keys_;
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

Result<Json> Parse(std::string_view text, const Streaming& streaming) {
  Json root;
  StrictHandler handler(root, streaming);
  bool good = false;
  try {
    good = Json::sax_parse(text.begin(), text.end(), &handler);
  } catch (const std::exception& e) {  // numbers out of range and the like
    return MakeError(ErrorCode::kSyntax, PlainMessage(e.what()));
  }
  if (good) return root;
  if (handler.element_error()) return std::move(*handler.element_error());
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

}  // namespace

Result<Json> ParseJson(std::string_view text) { return Parse(text, Streaming()); }

Result<Json> ParseJsonStreaming(std::string_view text, std::vector<std::string> keys,
                                const ElementFn& each) {
  return Parse(text, Streaming{std::move(keys), &each});
}

std::string FormatDocument(const Json& document) {
  constexpr auto kReplace = Json::error_handler_t::replace;  // never throws on bad UTF-8
  const auto dump = [](const Json& value) { return value.dump(-1, ' ', false, kReplace); };
  if (!document.is_object()) return dump(document) + "\n";
  std::string text = "{";
  const char* separator = "\n";
  for (const auto& [key, value] : document.items()) {
    text += std::exchange(separator, ",\n") + dump(Json(key)) + ": ";
    const bool lines = value.is_structured() && !value.empty() &&
                       (value.size() > kLineItems || value.begin()->is_structured());
    if (!lines) {
      text += dump(value);
      continue;
    }
    text += value.is_array() ? "[" : "{";
    const char* item_separator = "\n  ";
    for (const auto& [item_key, item] : value.items()) {
      text += std::exchange(item_separator, ",\n  ");
      if (value.is_object()) text += dump(Json(item_key)) + ": ";
      text += dump(item);
    }
    text += value.is_array() ? "\n]" : "\n}";
  }
  return text + "\n}\n";
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

Result<const Json*> GetObject(const Json& object, std::string_view key, std::string_view place) {
  PW_ASSIGN(const Json* field, GetField(object, key, place));
  if (!field->is_object()) return WrongType("an object", *field, Join(place, key));
  return field;
}

}  // namespace placewright
