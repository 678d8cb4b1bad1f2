#include "formats/text/xml.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"

namespace placewright {
namespace {

constexpr int kMaxDepth = 64;
constexpr int64_t kMaxParts = 100'000;

class XmlParser {
 public:
  explicit XmlParser(std::string_view text) : text_(text) {}

  Result<XmlElement> Parse() {
    PW_RETURN_IF_ERROR(SkipBetween());
    PW_ASSIGN(XmlElement root, ReadElement(0));
    PW_RETURN_IF_ERROR(SkipBetween());
    if (at_ < text_.size()) return Fail("something follows the root element");
    return root;
  }

 private:
  Error Fail(std::string message) const {
    return MakeError(ErrorCode::kSyntax, std::move(message), fmt::format("line {}", line_),
                     "Give the file as the tool wrote it.");
  }
  bool Starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void Skip(size_t count) {
    for (; count > 0 && at_ < text_.size(); --count) line_ += text_[at_++] == '\n' ? 1 : 0;
  }
  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  void SkipBlanks() {
    while (at_ < text_.size() && IsBlank(text_[at_])) Skip(1);
  }
  // Blanks, comments and declarations.
  Status SkipBetween() {
    for (;;) {
      SkipBlanks();
      const bool comment = Starts("<!--"), declaration = Starts("<?");
      if (!comment && !declaration) return Ok();
      const size_t end = text_.find(comment ? "-->" : "?>", at_);
      if (end == std::string_view::npos) return Fail("a comment or declaration does not end");
      Skip(end + (comment ? 3 : 2) - at_);
    }
  }
  Result<std::string> ReadName() {
    const size_t begin = at_;
    const auto part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-' || c == '.' || c == ':';
    };
    while (at_ < text_.size() && part(text_[at_])) ++at_;
    if (at_ == begin) return Fail("a name is missing");
    return std::string(text_.substr(begin, at_ - begin));
  }
  Result<std::string> ReadValue() {
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '"' && quote != '\'') return Fail("an attribute's value is not in quotes");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return Fail("an attribute's value does not end");
    const std::string_view raw = text_.substr(at_ + 1, end - at_ - 1);
    std::string value;
    for (size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '&') {
        value += raw[i];
        continue;
      }
      PW_ASSIGN(const char c, ReadEntity(raw.substr(i)));
      value += c;
      i = raw.find(';', i);
    }
    Skip(end + 1 - at_);
    return value;
  }
  Result<char> ReadEntity(std::string_view rest) const {
    constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
        {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
    for (const auto& [name, c] : kEntities) {
      if (rest.starts_with(name)) return c;
    }
    return Fail("an entity is none of XML's five");
  }
  Status Count() {
    if (++parts_ <= kMaxParts) return Ok();
    return MakeError(ErrorCode::kFileTooLarge,
                     fmt::format("more than {} elements and attributes", kMaxParts),
                     fmt::format("line {}", line_));
  }
  // "name a="b" ...", up to the ">" or "/>" behind it.
  Status ReadTag(XmlElement& element) {
    PW_ASSIGN(element.name, ReadName());
    for (;;) {
      SkipBlanks();
      if (at_ >= text_.size()) return Fail("a tag does not end");
      if (text_[at_] == '>' || text_[at_] == '/') return Ok();
      PW_RETURN_IF_ERROR(Count());
      PW_ASSIGN(std::string name, ReadName());
      SkipBlanks();
      if (!Starts("="))
        return Fail(fmt::format("the attribute {} has no value", Printable(name, 40)));
      Skip(1);
      SkipBlanks();
      PW_ASSIGN(std::string value, ReadValue());
      if (element.Find(name) != nullptr) {
        return Fail(fmt::format("the attribute {} stands twice", Printable(name, 40)));
      }
      element.attributes.emplace_back(std::move(name), std::move(value));
    }
  }
  Result<XmlElement> ReadElement(int depth) {
    if (depth > kMaxDepth) return Fail(fmt::format("more than {} levels", kMaxDepth));
    if (!Starts("<")) return Fail("an element is expected");
    PW_RETURN_IF_ERROR(Count());
    XmlElement element;
    element.line = line_;
    Skip(1);
    PW_RETURN_IF_ERROR(ReadTag(element));
    if (Starts("/>")) {
      Skip(2);
      return element;
    }
    if (!Starts(">")) return Fail("a tag does not end");
    Skip(1);
    for (;;) {
      PW_RETURN_IF_ERROR(SkipBetween());
      if (Starts("</")) break;
      PW_ASSIGN(XmlElement child, ReadElement(depth + 1));
      element.children.push_back(std::move(child));
    }
    Skip(2);
    PW_ASSIGN(const std::string name, ReadName());
    SkipBlanks();
    if (name != element.name || !Starts(">")) {
      return Fail(fmt::format("the element {} of line {} is not closed",
                              Printable(element.name, 40), element.line));
    }
    Skip(1);
    return element;
  }

  std::string_view text_;
  size_t at_ = 0;
  int32_t line_ = 1;
  int64_t parts_ = 0;
};

}  // namespace

std::string XmlElement::Place() const { return fmt::format("line {}", line); }

const std::string* XmlElement::Find(std::string_view attribute) const {
  for (const auto& [key, value] : attributes) {
    if (key == attribute) return &value;
  }
  return nullptr;
}

Result<XmlElement> ParseXml(std::string_view text) {
  if (static_cast<int64_t>(text.size()) > kMaxXmlBytes) {
    return MakeError(ErrorCode::kFileTooLarge, fmt::format("{} bytes of XML; at most {} are read",
                                                           text.size(), kMaxXmlBytes));
  }
  return XmlParser(text).Parse();
}

}  // namespace placewright
