#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "formats/text/json.h"

namespace placewright {
namespace {

constexpr size_t kMaxDepth = 200;
constexpr size_t kFewKeys = 16;
constexpr size_t kOutermostMembers = 64;
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

// nlohmann's text without its "[json.exception...] parse error at line ..., column ...: " prefix.
std::string PlainMessage(std::string_view what) {
  if (what.starts_with("[json.exception.")) {
    what.remove_prefix(std::min(what.size(), what.find("] ") + 2));
  }
  const size_t colon = what.find(": ");
  if (what.starts_with("parse error at") && colon != what.npos) what.remove_prefix(colon + 2);
  return Printable(what, 160);
}

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

// The characters of a text; `read` counts those that were taken.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, size_t* read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*read_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  size_t* read_;
};

// The lists whose elements are handed on one by one; none for a plain parse.
struct Streaming {
  std::vector<std::string> keys;
  const ElementFn* each = nullptr;
};

// Builds the document and refuses repeated keys, deep nesting and too much of it on the way. The
// elements of a streamed list are built one after the other, each as a document of its own.
class StrictHandler : public nlohmann::json_sax<Json> {
 public:
  // `read` is how many characters of `text` have been taken.
  StrictHandler(std::string_view text, const size_t& read, Json& root, const Streaming& streaming,
                const JsonLimits& limits)
      : text_(text), read_(read), builder_(root), lists_(streaming), limits_(limits) {}

  bool null() override { return Scalar(nullptr); }
  bool boolean(bool v) override { return Scalar(v); }
  bool number_integer(number_integer_t v) override { return Scalar(v); }
  bool number_unsigned(number_unsigned_t v) override { return Scalar(v); }
  bool number_float(number_float_t v, const string_t&) override { return Scalar(v); }
  bool string(string_t& v) override {
    const int64_t size = kTextBytes + static_cast<int64_t>(v.size());
    return Scalar(std::move(v), size);
  }
  bool binary(binary_t&) override { return false; }  // JSON text has none
  bool start_object(size_t) override {
    BeginValue();
    keys_.emplace_back();
    if (!Deeper() || !Charge(kValueBytes + kContainerBytes)) return false;
    Target().Open(Json::object());
    return true;
  }
  bool key(string_t& v) override {
    if (!Charge(kMemberBytes + static_cast<int64_t>(v.size()))) return false;
    if (!AddKey(v)) {
      return Refuse(ErrorCode::kDuplicateName,
                    fmt::format("the key \"{}\" stands twice in one object", Printable(v, 80)),
                    BeginOfKey());
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
    return Refuse(ErrorCode::kSyntax, PlainMessage(e.what()), position);
  }

  // Why the reading ended early.
  std::optional<Error>& error() { return error_; }

 private:
  // The keys of one object: a few are compared, many are hashed.
  struct Keys {
    std::vector<std::string> few;
    std::unordered_set<std::string> many;
  };

  // `position` counts from 1.
  bool Refuse(ErrorCode code, std::string message, size_t position) {
    error_ = MakeError(code, std::move(message), LineAndColumn(text_, position));
    return false;
  }
  bool Deeper() {
    if (++depth_ <= kMaxDepth) return true;
    return Refuse(ErrorCode::kSyntax, fmt::format("nested deeper than {} levels", kMaxDepth),
                  read_);
  }
  // Counts what the next value takes, before it is built.
  bool Charge(int64_t bytes) {
    if (streaming_) element_bytes_ += bytes;
    int64_t& sum = streaming_ ? streamed_bytes_ : document_bytes_;
    sum += bytes;
    if (element_bytes_ > limits_.element) return RefuseSize("one element", limits_.element);
    const int64_t limit = streaming_ ? limits_.streamed : limits_.document;
    return sum <= limit || RefuseSize("the document up to here", limit);
  }
  bool RefuseSize(std::string_view what, int64_t limit) {
    return Refuse(ErrorCode::kFileTooLarge,
                  fmt::format("{} takes more than {} of memory", what, FormatBytes(Bytes(limit))),
                  read_);
  }
  // Of the key that has just been read: quotes within it follow a backslash, the first one never.
  size_t BeginOfKey() const {
    size_t quote = text_.rfind('"', read_ - 2);
    while (text_[quote - 1] == '\\') quote = text_.rfind('"', quote - 1);
    return quote + 1;
  }
  TreeBuilder& Target() { return element_builder_ ? *element_builder_ : builder_; }

  bool AddKey(const std::string& key) {
    Keys& keys = keys_.back();
    if (std::find(keys.few.begin(), keys.few.end(), key) != keys.few.end()) return false;
    if (keys.few.size() == kFewKeys) return keys.many.insert(key).second;
    keys.few.push_back(key);
    return true;
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
      element_builder_.emplace(element_);
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
  const size_t& read_;
  TreeBuilder builder_;
  const Streaming& lists_;
  const JsonLimits limits_;
  bool streams_next_ = false, streaming_ = false;
  std::string stream_key_;
  size_t index_ = 0;  // of the element in the streamed list
  Json element_;
  std::optional<TreeBuilder> element_builder_;
  std::optional<Error> error_;
  std::vector<Keys> keys_;
  size_t depth_ = 0;
  int64_t document_bytes_ = 0, element_bytes_ = 0, streamed_bytes_ = 0;
};

Result<Json> Parse(std::string_view text, const Streaming& streaming, const JsonLimits& limits) {
  // nlohmann takes a NUL for the end, whatever follows.
  const size_t nul = text.find('\0');
  if (nul != text.npos) {
    return MakeError(ErrorCode::kSyntax, "a NUL byte stands in the text",
                     LineAndColumn(text, nul + 1));
  }
  Json root;
  size_t read = 0;
  StrictHandler handler(text, read, root, streaming, limits);
  const char* end = text.data() + text.size();
  try {
    if (Json::sax_parse(CountingIterator(text.data(), &read), CountingIterator(end, &read),
                        &handler)) {
      return root;
    }
  } catch (const std::bad_alloc&) {
    throw;  // base/out_of_memory.h
  } catch (const std::exception& e) {
    return MakeError(ErrorCode::kSyntax, PlainMessage(e.what()), LineAndColumn(text, read));
  }
  PW_CHECK(handler.error());
  return std::move(*handler.error());
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
