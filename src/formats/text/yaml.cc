#include "formats/text/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <new>
#include <sstream>
#include <unordered_set>

#include "base/text.h"
#include "base/utf8.h"

namespace placewright {
namespace {

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxUnknown = 8;  // keys that an error names
constexpr size_t kMaxNodes = 300'000;
constexpr size_t kTextPerNode = 128;  // that much text counts as one more node
constexpr size_t kMaxTokenBytes = size_t{128} << 20;

std::string PlaceOf(int32_t line, int32_t column) {
  return fmt::format("line {}, column {}", line, column);
}

// Thrown through yaml-cpp's parser, and caught in ParseYaml.
struct Refused {
  Error error;
};

[[noreturn]] void Refuse(ErrorCode code, std::string message, const YAML::Mark& mark) {
  throw Refused{MakeError(code, std::move(message), PlaceOf(mark.line + 1, mark.column + 1))};
}

// Text counts too, so that aliases cannot multiply it.
size_t CountNodes(const YamlNode& node) {
  size_t count = 1 + node.text.size() / kTextPerNode;
  for (const YamlNode& item : node.items) count += CountNodes(item);
  return count;
}

// Builds the tree from the parser's events. Anchored nodes are kept aside and copied for aliases.
class TreeBuilder : public YAML::EventHandler {
 public:
  YamlNode Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(Make(YamlNode::Type::kNull, mark), mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchored_.find(anchor);
    if (it == anchored_.end()) Refuse(ErrorCode::kSyntax, "an alias within its own anchor", mark);
    Spend(CountNodes(it->second) - 1, mark);
    Add(it->second, mark, YAML::NullAnchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!IsUtf8(value)) Refuse(ErrorCode::kSyntax, "the text is not UTF-8", mark);
    YamlNode node = Make(YamlNode::Type::kScalar, mark);
    node.text = value;
    node.quoted = tag == "!";
    Add(std::move(node), mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlNode::Type::kList, mark, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(YamlNode::Type::kMap, mark, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    YamlNode node;
    YAML::Mark mark;
    YAML::anchor_t anchor;
    std::unordered_set<std::string> keys;
  };

  static YamlNode Make(YamlNode::Type type, const YAML::Mark& mark) {
    YamlNode node;
    node.type = type;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  void Spend(size_t nodes, const YAML::Mark& mark) {
    nodes_ += nodes;
    if (nodes_ > kMaxNodes) {
      Refuse(ErrorCode::kFileTooLarge, fmt::format("more than {} values", kMaxNodes), mark);
    }
  }

  void Open(YamlNode::Type type, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (frames_.size() >= kMaxDepth) {
      Refuse(ErrorCode::kSyntax, fmt::format("nested deeper than {} levels", kMaxDepth), mark);
    }
    frames_.push_back({Make(type, mark), mark, anchor, {}});
  }

  void Close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    Add(std::move(frame.node), frame.mark, frame.anchor);
  }

  void Add(YamlNode node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    Spend(1 + node.text.size() / kTextPerNode, mark);
    if (anchor != YAML::NullAnchor) {
      Spend(CountNodes(node), mark);
      anchored_[anchor] = node;
    }
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    const bool is_key = frame.node.IsMap() && frame.node.keys.size() == frame.node.items.size();
    if (!is_key) {
      frame.node.items.push_back(std::move(node));
      return;
    }
    if (!node.IsScalar()) Refuse(ErrorCode::kSyntax, "a key must be text", mark);
    if (!frame.keys.insert(node.text).second) {
      Refuse(ErrorCode::kDuplicateName,
             fmt::format("the key \"{}\" stands twice in one mapping", Printable(node.text, 80)),
             mark);
    }
    frame.node.keys.push_back({std::move(node.text), mark.line + 1, mark.column + 1});
  }

  YamlNode root_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, YamlNode> anchored_;
  size_t nodes_ = 0;
};

// What the parser's queue can grow to, from above: it keeps the tokens of a whole flow collection
// before it hands out the first. Measured with yaml-cpp 0.7: 236 bytes for an opening bracket or
// brace, 272 for a comma and the scalar before it, 90 for a colon, tag or anchor, 45 for a quote.
size_t TokenBytes(std::string_view text) {
  size_t bytes = 0;
  for (const char c : text) {
    switch (c) {
      case '[':
      case '{': bytes += 240; break;
      case ',': bytes += 280; break;
      case ':':
      case '?':
      case '&':
      case '*':
      case '!': bytes += 100; break;
      case ']':
      case '}':
      case '"':
      case '\'': bytes += 60; break;
      default: break;
    }
  }
  return bytes;
}

// JSON allows tabs between tokens (and nowhere else), YAML does not.
std::string WithoutJsonTabs(std::string_view text) {
  std::string copy(text);
  const size_t first = copy.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (copy[first] == '{' || copy[first] == '[')) {
    std::replace(copy.begin(), copy.end(), '\t', ' ');
  }
  return copy;
}

// The parser's words for the commonest mistakes in braces and brackets puzzle.
std::string Reworded(const std::string& message) {
  if (message.starts_with("end of map")) {
    return "a mapping in braces is not closed, or lacks a comma or quote";
  }
  if (message.starts_with("end of seq")) {
    return "a list in brackets is not closed, or lacks a comma or quote";
  }
  return Printable(message, 160);
}

}  // namespace

std::string YamlNode::Place() const { return PlaceOf(line, column); }

std::string YamlNode::KeyPlace(size_t i) const { return PlaceOf(keys[i].line, keys[i].column); }

std::string_view YamlNode::TypeName() const {
  switch (type) {
    case Type::kNull: return "nothing";
    case Type::kScalar: return "text";
    case Type::kList: return "a list";
    case Type::kMap: return "a mapping";
  }
  return "?";
}

const YamlNode* YamlNode::Find(std::string_view key) const {
  const auto it =
      std::find_if(keys.begin(), keys.end(), [key](const Key& k) { return k.text == key; });
  return it == keys.end() ? nullptr : &items[static_cast<size_t>(it - keys.begin())];
}

Error YamlNode::Fail(std::string message) const {
  return MakeError(ErrorCode::kField, std::move(message), Place());
}

Status YamlNode::CheckKeys(std::string_view what,
                           std::initializer_list<std::string_view> known) const {
  if (!IsMap()) return Fail(fmt::format("{} must be a mapping, not {}", what, TypeName()));
  const std::vector<std::string> names(known.begin(), known.end());
  std::vector<std::string> unknown;
  size_t first = 0;
  bool hinted = true;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (std::find(known.begin(), known.end(), keys[i].text) != known.end()) continue;
    if (unknown.empty()) first = i;
    const std::string hint = DidYouMean(keys[i].text, names);
    hinted = hinted && !hint.empty();
    unknown.push_back(fmt::format("\"{}\"{}", Printable(keys[i].text, 80), hint));
    if (unknown.size() == kMaxUnknown) break;
  }
  if (unknown.empty()) return Ok();
  return MakeError(ErrorCode::kField,
                   fmt::format("{} has no key {}{}", what, fmt::join(unknown, ", nor "),
                               hinted ? "" : fmt::format("; known are {}", fmt::join(names, ", "))),
                   KeyPlace(first));
}

Status YamlNode::CheckHas(std::initializer_list<RequiredKey> required) const {
  std::vector<std::string> missing, examples;
  for (const RequiredKey& need : required) {
    if (Find(need.key) != nullptr) continue;
    if (!need.instead.empty() && Find(need.instead) != nullptr) continue;
    missing.push_back(fmt::format("\"{}\"", need.key));
    if (!need.example.empty()) examples.push_back(fmt::format("{}: {}", need.key, need.example));
  }
  if (missing.empty()) return Ok();
  const std::string last = std::move(missing.back());
  missing.pop_back();
  std::string message = missing.empty() ? fmt::format("the key {} is missing", last)
                                        : fmt::format("the keys {} and {} are missing",
                                                      fmt::join(missing, ", "), last);
  if (!examples.empty()) message += fmt::format(" (such as {})", fmt::join(examples, ", "));
  return Fail(std::move(message));
}

Result<const YamlNode*> YamlNode::Get(std::string_view key) const {
  const YamlNode* value = IsMap() ? Find(key) : nullptr;
  if (value == nullptr) return Fail(fmt::format("the key \"{}\" is missing", key));
  return value;
}

Result<std::string> YamlNode::AsText(std::string_view what) const {
  if (!IsScalar()) return Fail(fmt::format("{} must be text, not {}", what, TypeName()));
  if (text.empty()) return Fail(fmt::format("{} is empty", what));
  return text;
}

Result<int64_t> YamlNode::AsInt(std::string_view what, int64_t min, int64_t max) const {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (!IsScalar() || quoted || text.empty() || rest != end ||
      error == std::errc::invalid_argument) {
    return Fail(fmt::format(
        "{} must be an integer, not {}", what,
        IsScalar() ? fmt::format("\"{}\"", Printable(text, 80)) : std::string(TypeName())));
  }
  if (error != std::errc() || value < min || value > max) {
    return Fail(fmt::format("{} is {}, outside [{}, {}]", what, Printable(text, 40), min, max));
  }
  return value;
}

Result<double> YamlNode::AsNumber(std::string_view what) const {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (!IsScalar() || quoted || text.empty() || rest != end || error != std::errc() ||
      !std::isfinite(value)) {
    return Fail(fmt::format(
        "{} must be a number, not {}", what,
        IsScalar() ? fmt::format("\"{}\"", Printable(text, 80)) : std::string(TypeName())));
  }
  return value;
}

Result<bool> YamlNode::AsBool(std::string_view what) const {
  if (IsScalar() && !quoted && (text == "true" || text == "false")) return text == "true";
  return Fail(fmt::format("{} must be true or false", what));
}

Status YamlNode::CheckList(std::string_view what) const {
  if (IsList()) return Ok();
  return Fail(fmt::format("{} must be a list, not {}", what, TypeName()));
}

Result<YamlNode> ParseYaml(std::string_view text) {
  if (static_cast<int64_t>(text.size()) > kMaxYamlBytes) {
    return MakeError(
        ErrorCode::kFileTooLarge,
        fmt::format("{} bytes of YAML; at most {} are read", text.size(), kMaxYamlBytes),
        PlaceOf(1, 1));
  }
  if (TokenBytes(text) > kMaxTokenBytes) {
    return MakeError(ErrorCode::kFileTooLarge,
                     "more brackets, commas, colons and quotes than any description needs",
                     PlaceOf(1, 1));
  }
  try {
    std::istringstream stream(WithoutJsonTabs(text));
    YAML::Parser parser(stream);
    TreeBuilder tree;
    if (!parser.HandleNextDocument(tree)) {
      return MakeError(ErrorCode::kSyntax, "the file is empty", PlaceOf(1, 1));
    }
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) {
      return MakeError(ErrorCode::kSyntax, "the file holds more than one document",
                       second.Take().Place());
    }
    return tree.Take();
  } catch (const Refused& refused) {
    return refused.error;
  } catch (const YAML::Exception& e) {
    return MakeError(ErrorCode::kSyntax, Reworded(e.msg),
                     PlaceOf(std::max(e.mark.line, 0) + 1, std::max(e.mark.column, 0) + 1));
  } catch (const std::bad_alloc&) {
    throw;  // base/out_of_memory.h
  } catch (const std::exception& e) {
    return MakeError(ErrorCode::kSyntax, Printable(e.what(), 160), PlaceOf(1, 1));
  }
}

}  // namespace placewright
