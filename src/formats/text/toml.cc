#include "formats/text/toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"

namespace placewright {
namespace {

constexpr int kMaxTomlDepth = 32;

bool IsBareKey(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

class TomlReader {
 public:
  explicit TomlReader(std::string_view text) : text_(text) {}

  Result<YamlNode> Read() {
    root_.type = YamlNode::Type::kMap;
    std::vector<std::string> table;
    while (SkipToContent(), at_ < text_.size()) {
      if (text_[at_] == '[') {
        PW_ASSIGN(table, ReadTableName());
        PW_ASSIGN(YamlNode* const made, TableAt(table));
        (void)made;
      } else {
        PW_ASSIGN(YamlNode* const into, TableAt(table));
        PW_RETURN_IF_ERROR(ReadPair(*into, 0));
      }
      PW_RETURN_IF_ERROR(EndLine());
    }
    return std::move(root_);
  }

 private:
  Error Fail(std::string message) const {
    return MakeError(ErrorCode::kSyntax, std::move(message),
                     fmt::format("line {}, column {}", line_, Column()));
  }
  int32_t Column() const { return static_cast<int32_t>(at_ - line_start_) + 1; }
  char Now() const { return at_ < text_.size() ? text_[at_] : '\n'; }
  void Advance() {
    if (text_[at_] == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    }
    ++at_;
  }
  void SkipBlanks() {
    while (at_ < text_.size() && (Now() == ' ' || Now() == '\t' || Now() == '\r')) Advance();
  }
  void SkipComment() {
    if (Now() != '#') return;
    while (at_ < text_.size() && text_[at_] != '\n') Advance();
  }
  // Over lines, too.
  void SkipToContent() {
    while (at_ < text_.size()) {
      SkipBlanks();
      SkipComment();
      if (at_ >= text_.size() || text_[at_] != '\n') return;
      Advance();
    }
  }
  Status EndLine() {
    SkipBlanks();
    SkipComment();
    if (at_ >= text_.size() || text_[at_] == '\n') return Ok();
    return Fail("something is left at the end of the line");
  }

  YamlNode NodeHere(YamlNode::Type type) const {
    YamlNode node;
    node.type = type;
    node.line = line_;
    node.column = Column();
    return node;
  }

  Result<std::string> ReadKey() {
    if (Now() == '"' || Now() == '\'') {
      PW_ASSIGN(const YamlNode quoted, ReadString());
      return quoted.text;
    }
    std::string key;
    while (at_ < text_.size() && IsBareKey(Now())) {
      key += Now();
      Advance();
    }
    if (key.empty()) return Fail("a key is expected");
    return key;
  }

  Result<std::vector<std::string>> ReadTableName() {
    Advance();  // '['
    if (Now() == '[') return Fail("lists of tables are not read");
    std::vector<std::string> name;
    while (true) {
      SkipBlanks();
      PW_ASSIGN(std::string key, ReadKey());
      name.push_back(std::move(key));
      SkipBlanks();
      if (Now() == '.') {
        Advance();
        continue;
      }
      if (Now() != ']') return Fail("the table's name does not end with \"]\"");
      Advance();
      if (name.size() > kMaxTomlDepth) return Fail("tables are nested too deeply");
      return name;
    }
  }

  // The table of that name, made where it is not there.
  Result<YamlNode*> TableAt(const std::vector<std::string>& name) {
    YamlNode* table = &root_;
    for (const std::string& key : name) {
      size_t i = 0;
      while (i < table->keys.size() && table->keys[i].text != key) ++i;
      if (i == table->keys.size()) {
        table->keys.push_back({key, line_, 1});
        table->items.push_back(NodeHere(YamlNode::Type::kMap));
      }
      table = &table->items[i];
      if (!table->IsMap()) return Fail(fmt::format("\"{}\" is no table", Printable(key, 80)));
    }
    return table;
  }

  Status ReadPair(YamlNode& table, int depth) {
    const int32_t line = line_, column = Column();
    PW_ASSIGN(std::string key, ReadKey());
    SkipBlanks();
    if (Now() == '.') return Fail("keys with dots are not read; write a table");
    if (Now() != '=') return Fail(fmt::format("\"=\" is expected behind {}", Printable(key, 80)));
    Advance();
    SkipBlanks();
    for (const YamlNode::Key& one : table.keys) {
      if (one.text != key) continue;
      return MakeError(ErrorCode::kDuplicateName,
                       fmt::format("\"{}\" stands here twice", Printable(key, 80)),
                       fmt::format("line {}, column {}", line, column));
    }
    PW_ASSIGN(YamlNode value, ReadValue(depth + 1));
    table.keys.push_back({std::move(key), line, column});
    table.items.push_back(std::move(value));
    return Ok();
  }

  Result<YamlNode> ReadValue(int depth) {
    if (depth > kMaxTomlDepth) return Fail("values are nested too deeply");
    if (Now() == '"' || Now() == '\'') return ReadString();
    if (Now() == '[') return ReadList(depth);
    if (Now() == '{') return ReadInlineTable(depth);
    YamlNode node = NodeHere(YamlNode::Type::kScalar);
    while (at_ < text_.size() &&
           std::string_view(",]}# \t\r\n").find(Now()) == std::string_view::npos) {
      if (Now() != '_') node.text += Now();  // 1_000
      Advance();
    }
    if (node.text.empty()) return Fail("a value is expected");
    return node;
  }

  Result<YamlNode> ReadString() {
    YamlNode node = NodeHere(YamlNode::Type::kScalar);
    node.quoted = true;
    const char quote = Now();
    if (text_.substr(at_).starts_with(std::string(3, quote))) {
      return Fail("strings of several lines are not read");
    }
    Advance();
    while (at_ < text_.size() && Now() != quote) {
      if (Now() == '\n') return Fail("the string does not end on its line");
      if (Now() == '\\' && quote == '"') {
        Advance();
        const char c = Now();
        const std::string_view known = "\"\\nt", means = "\"\\\n\t";
        const size_t i = known.find(c);
        if (i == std::string_view::npos) return Fail("the escape is not read");
        node.text += means[i];
        Advance();
        continue;
      }
      node.text += Now();
      Advance();
    }
    if (at_ >= text_.size()) return Fail("the string does not end");
    Advance();
    return node;
  }

  Result<YamlNode> ReadList(int depth) {
    YamlNode node = NodeHere(YamlNode::Type::kList);
    Advance();
    while (true) {
      SkipToContent();
      if (at_ >= text_.size()) return Fail("the list does not end");
      if (Now() == ']') break;
      PW_ASSIGN(YamlNode item, ReadValue(depth + 1));
      node.items.push_back(std::move(item));
      SkipToContent();
      if (Now() == ',') {
        Advance();
      } else if (Now() != ']') {
        return Fail("\",\" or \"]\" is expected");
      }
    }
    Advance();
    return node;
  }

  Result<YamlNode> ReadInlineTable(int depth) {
    YamlNode node = NodeHere(YamlNode::Type::kMap);
    Advance();
    while (true) {
      SkipBlanks();
      if (Now() == '}') break;
      if (Now() == '\n') return Fail("the table does not end on its line");
      PW_RETURN_IF_ERROR(ReadPair(node, depth + 1));
      SkipBlanks();
      if (Now() == ',') {
        Advance();
      } else if (Now() != '}') {
        return Fail("\",\" or \"}\" is expected");
      }
    }
    Advance();
    return node;
  }

  const std::string_view text_;
  size_t at_ = 0, line_start_ = 0;
  int32_t line_ = 1;
  YamlNode root_;
};

}  // namespace

Result<YamlNode> ParseToml(std::string_view text) {
  if (static_cast<int64_t>(text.size()) > kMaxYamlBytes) {
    return MakeError(ErrorCode::kFileTooLarge,
                     fmt::format("it is larger than {} bytes", kMaxYamlBytes));
  }
  if (!IsUtf8(text))
    return MakeError(ErrorCode::kSyntax, "the text is not UTF-8", "line 1, column 1");
  return TomlReader(text).Read();
}

}  // namespace placewright
