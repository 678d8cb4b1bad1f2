// The part of XML that tools dump machines in: elements with attributes, comments, declarations. Text
// between elements, DOCTYPE, CDATA and entities beyond the five of XML are no part of it.
#ifndef PLACEWRIGHT_FORMATS_TEXT_XML_H_
#define PLACEWRIGHT_FORMATS_TEXT_XML_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace placewright {

struct XmlElement {
  std::string name;
  int32_t line = 1;
  std::vector<std::pair<std::string, std::string>> attributes;  // in their order
  std::vector<XmlElement> children;

  std::string Place() const;  // "line 3"
  // The value, or nullptr.
  const std::string* Find(std::string_view attribute) const;
};

inline constexpr int64_t kMaxXmlBytes = int64_t{4} << 20;

// At most kMaxXmlBytes, 64 levels, 100,000 elements and attributes. Errors: kSyntax with the line,
// kFileTooLarge.
Result<XmlElement> ParseXml(std::string_view text);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_TEXT_XML_H_
