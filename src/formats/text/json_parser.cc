// RapidJSON reads the characters, several times faster than nlohmann's own reader; the values and
// all that is refused on the way are ours.
#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "formats/text/json.h"

namespace placewright {
namespace {

constexpr size_t kMaxDepth = 200;
constexpr size_t kFewKeys = 16;
// An ordered map copies its values when it grows, so that there is room from the start: for the
// members of a document, of an element of a list, of what is within.
constexpr size_t kDocumentMembers = 64, kElementMembers = 16, kInnerMembers = 4;
// What values take at most while a list doubles or is destroyed; estimates for JsonLimits.
constexpr int64_t kValueBytes = 48, kContainerBytes = 32, kTextBytes = 32, kMemberBytes = 80;

// `position` counts from 1.
std::string LineAndColumn(std::string_view text, size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t column =
      newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return fmt::format("line {}, column {}", line, std::max<size_t>(column, 1));
}

// Collects the parsed values into a tree by appending. nlohmann's own builder looks every key up
// first, which is quadratic in an ordered map; here repeated keys have been refused before.
class TreeBuilder {
 public:
  // `members`: for how many there is room in the outermost object.
  TreeBuilder(Json& root, size_t members) : root_(root), members_(members) {}

  // Of the object that is open. It has no other container open in it.
  const Json::object_t& Members() const { return open_.back()->get_ref<const Json::object_t&>(); }
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
    if (!open_.back()->is_object()) return;
    open_.back()->get_ref<Json::object_t&>().reserve(open_.size() == 1 ? members_ : kInnerMembers);
  }
  void Close() { open_.pop_back(); }

 private:
  Json& root_;
  const size_t members_;
  std::vector<Json*> open_;
  std::string key_;
};

// Memory of RapidJSON, which does not look whether it got any.
struct ThrowingAllocator {
  static void* Checked(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();  // base/out_of_memory.h
    return memory;
  }
  void* Malloc(size_t size) { return Checked(std::malloc(std::max<size_t>(size, 1))); }
  void* Realloc(void* memory, size_t, size_t size) {
    return Checked(std::realloc(memory, std::max<size_t>(size, 1)));
  }
  static void Free(void* memory) { std::free(memory); }
};
using Reader = rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, ThrowingAllocator>;

// The number that stands at `text`, as an integer where it is one; nullopt if it is too large.
std::optional<Json> NumberOf(std::string_view text) {
  const char* end = text.data() + text.size();
  if (text.find_first_of(".eE") == text.npos) {
    uint64_t natural = 0;
    if (std::from_chars(text.data(), end, natural).ec == std::errc() && text[0] != '-') {
      return Json(natural);
    }
    int64_t whole = 0;
    if (text[0] == '-' && std::from_chars(text.data(), end, whole).ec == std::errc()) {
      return Json(whole);
    }
  }
  double number = 0;
  const std::from_chars_result result = std::from_chars(text.data(), end, number);
  // That does not distinguish a number too small, which is zero, from one too large.
  if (result.ec != std::errc()) number = std::strtod(std::string(text).c_str(), nullptr);
  return std::isfinite(number) ? std::optional<Json>(number) : std::nullopt;
}

// The lists whose elements are handed on one by one; none for a plain parse.
struct Streaming {
  std::vector<std::string> keys;
  const ElementFn* each = nullptr;
};

// Builds the document and refuses repeated keys, deep nesting and too much of it on the way. The
// elements of a streamed list are built one after the other, each as a document of its own. The
// functions in CamelCase are those that Reader calls.
class StrictHandler {
 public:
  using Ch = char;
  // `stream` reads `text` from its character `skipped` on.
  StrictHandler(std::string_view text, const rapidjson::MemoryStream& stream, size_t skipped,
                Json& root, const Streaming& streaming, const JsonLimits& limits)
      : text_(text),
        stream_(stream),
        skipped_(skipped),
        builder_(root, kDocumentMembers),
        lists_(streaming),
        limits_(limits) {}

  bool Null() { return Scalar(nullptr); }
  bool Bool(bool v) { return Scalar(v); }
  bool RawNumber(const char* digits, rapidjson::SizeType size, bool) {
    const std::string_view text(digits, size);
    std::optional<Json> number = NumberOf(text);
    return number ? Scalar(std::move(*number)) : RejectNumber(text);
  }
  bool String(const char* data, rapidjson::SizeType size, bool) {
    const std::string_view text(data, size);
    if (!CheckText(text)) return false;
    return Scalar(Json(text), kTextBytes + static_cast<int64_t>(size));
  }
  bool StartObject() {
    BeginValue();
    many_keys_.emplace_back();
    if (!Deeper() || !Charge(kValueBytes + kContainerBytes)) return false;
    Target().Open(Json::object());
    return true;
  }
  bool Key(const char* data, rapidjson::SizeType size, bool) {
    const std::string_view key(data, size);
    if (!CheckText(key) || !Charge(kMemberBytes + static_cast<int64_t>(size))) return false;
    if (!IsNewKey(key)) {
      return Refuse(ErrorCode::kDuplicateName,
                    fmt::format("the key \"{}\" stands twice in one object", Printable(key, 80)),
                    BeginOfKey());
    }
    streams_next_ = depth_ == 1 && many_keys_.size() == 1 &&
                    std::find(lists_.keys.begin(), lists_.keys.end(), key) != lists_.keys.end();
    if (streams_next_) stream_key_ = key;
    Target().SetKey(std::string(key));
    return true;
  }
  bool EndObject(rapidjson::SizeType) {
    many_keys_.pop_back();
    --depth_;
    Target().Close();
    return EndValue();
  }
  bool StartArray() {
    if (streams_next_) {
      streams_next_ = false;
      Target().Add(Json::array());
      streaming_ = true;
      index_ = 0;
      return Deeper();
    }
    BeginValue();
    if (!Deeper() || !Charge(kValueBytes + kContainerBytes)) return false;
    Target().Open(Json::array());
    return true;
  }
  bool EndArray(rapidjson::SizeType) {
    --depth_;
    if (streaming_ && depth_ == 1) {
      streaming_ = false;
      return true;
    }
    Target().Close();
    return EndValue();
  }
  // Numbers come as their text.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

  // Why the reading ended early, where the handler ended it.
  std::optional<Error>& error() { return error_; }

 private:
  using KeySet = std::unordered_set<std::string>;

  // How many characters of the text have been taken.
  size_t Taken() const { return skipped_ + stream_.Tell(); }
  // `position` counts from 1.
  bool Refuse(ErrorCode code, std::string message, size_t position) {
    error_ = MakeError(code, std::move(message), LineAndColumn(text_, position));
    return false;
  }
  bool Deeper() {
    if (++depth_ <= kMaxDepth) return true;
    return Refuse(ErrorCode::kSyntax, fmt::format("nested deeper than {} levels", kMaxDepth),
                  Taken());
  }
  // Counts what the next value takes, before it is built.
  bool Charge(int64_t bytes) {
    if (streaming_) element_bytes_ += bytes;
    int64_t& sum = streaming_ ? streamed_bytes_ : document_bytes_;
    sum += bytes;
    if (element_bytes_ > limits_.element) return RejectSize("one element", limits_.element);
    const int64_t limit = streaming_ ? limits_.streamed : limits_.document;
    return sum <= limit || RejectSize("the document up to here", limit);
  }
  bool RejectSize(std::string_view what, int64_t limit) {
    return Refuse(ErrorCode::kFileTooLarge,
                  fmt::format("{} takes more than {} of memory", what, FormatBytes(Bytes(limit))),
                  Taken());
  }
  bool RejectNumber(std::string_view text) {
    return Refuse(ErrorCode::kSyntax,
                  fmt::format("number overflow parsing '{}'", Printable(text, 60)), Taken());
  }
  // Escapes can spell half of a surrogate pair.
  bool CheckText(std::string_view text) {
    return IsUtf8(text) || Refuse(ErrorCode::kSyntax, "syntax error: a text is no UTF-8", Taken());
  }
  // Of the key that has just been read: quotes within it follow a backslash, the first one never.
  size_t BeginOfKey() const {
    size_t quote = text_.rfind('"', Taken() - 2);
    while (text_[quote - 1] == '\\') quote = text_.rfind('"', quote - 1);
    return quote + 1;
  }
  TreeBuilder& Target() { return element_builder_ ? *element_builder_ : builder_; }

  // A few keys are compared, many are hashed.
  bool IsNewKey(std::string_view key) {
    const Json::object_t& members = Target().Members();
    if (members.size() < kFewKeys) {
      return std::none_of(members.begin(), members.end(),
                          [&](const auto& member) { return member.first == key; });
    }
    std::unique_ptr<KeySet>& keys = many_keys_.back();
    if (!keys) {
      keys = std::make_unique<KeySet>();
      for (const auto& member : members) keys->insert(member.first);
    }
    return keys->emplace(key).second;
  }
  bool Scalar(Json value, int64_t more_bytes = 0) {
    BeginValue();
    if (!Charge(kValueBytes + more_bytes)) return false;
    Target().Add(std::move(value));
    return EndValue();
  }
  void BeginValue() {
    streams_next_ = false;
    if (streaming_ && depth_ == 2) {
      element_ = Json();
      element_bytes_ = 0;
      element_builder_.emplace(element_, kElementMembers);
    }
  }
  // Hands on the element of a streamed list that this value completes.
  bool EndValue() {
    if (!streaming_ || depth_ != 2) return true;
    element_builder_.reset();
    Status status = (*lists_.each)(stream_key_, index_++, element_);
    if (status.ok()) return true;
    error_ = std::move(status.error());
    return false;
  }

  const std::string_view text_;
  const rapidjson::MemoryStream& stream_;
  const size_t skipped_;
  TreeBuilder builder_;
  const Streaming& lists_;
  const JsonLimits limits_;
  bool streams_next_ = false, streaming_ = false;
  std::string stream_key_;
  size_t index_ = 0;  // of the element in the streamed list
  Json element_;
  std::optional<TreeBuilder> element_builder_;
  std::optional<Error> error_;
  std::vector<std::unique_ptr<KeySet>> many_keys_;  // by open object; null while there are few
  size_t depth_ = 0;
  int64_t document_bytes_ = 0, element_bytes_ = 0, streamed_bytes_ = 0;
};

// What Reader says of a text at `position`, which counts from 1.
Error SyntaxError(std::string_view text, rapidjson::ParseErrorCode code, size_t position) {
  std::string message = fmt::format("syntax error: {}", rapidjson::GetParseError_En(code));
  if (code == rapidjson::kParseErrorNumberTooBig) {
    const std::string_view number = text.substr(position - 1);
    message =
        fmt::format("number overflow parsing '{}'",
                    Printable(number.substr(0, number.find_first_not_of("+-.eE0123456789")), 60));
  }
  return MakeError(ErrorCode::kSyntax, std::move(message), LineAndColumn(text, position));
}

Result<Json> Parse(std::string_view text, const Streaming& streaming, const JsonLimits& limits) {
  // Reader takes a NUL for the end.
  const size_t nul = text.find('\0');
  if (nul != text.npos) {
    return MakeError(ErrorCode::kSyntax, "a NUL byte stands in the text",
                     LineAndColumn(text, nul + 1));
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  const size_t skipped = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  // It gives numbers up whose exponent alone is too large for a double, whatever stands before it.
  constexpr unsigned kFlags = rapidjson::kParseNumbersAsStringsFlag;
  Json root;
  rapidjson::MemoryStream stream(text.data() + skipped, text.size() - skipped);
  StrictHandler handler(text, stream, skipped, root, streaming, limits);
  Reader reader;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, handler);
  if (!result.IsError()) return root;
  if (handler.error()) return std::move(*handler.error());
  return SyntaxError(text, result.Code(), skipped + result.Offset() + 1);
}

}  // namespace

Result<Json> ParseJson(std::string_view text, const JsonLimits& limits) {
  return Parse(text, Streaming(), limits);
}

Result<Json> ParseJsonStreaming(std::string_view text, std::vector<std::string> keys,
                                const ElementFn& each, const JsonLimits& limits) {
  return Parse(text, Streaming{std::move(keys), &each}, limits);
}

}  // namespace placewright
