// The text of a JSON document piece by piece, in the layout of FormatDocument (json.h), for
// documents with lists so long that a tree of their values would cost more than the text.
#ifndef PLACEWRIGHT_FORMATS_TEXT_DOCUMENT_TEXT_H_
#define PLACEWRIGHT_FORMATS_TEXT_DOCUMENT_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/text/json.h"

namespace placewright {

// Append one value as FormatDocument writes it. Bytes that are no UTF-8 become U+FFFD.
void AppendJson(std::string& out, std::string_view text);
void AppendJson(std::string& out, int64_t number);
void AppendJson(std::string& out, double number);  // finite; the shortest text that reads back

class DocumentText {
 public:
  void AddMember(std::string_view key, const Json& value);

  // A list of objects with a line for each: StartList, then for each element StartElement and
  // whatever is appended to what that returns, then EndList.
  void StartList(std::string_view key);
  std::string& StartElement();
  void EndList();

  std::string Finish() &&;

 private:
  void StartMember(std::string_view key);

  std::string text_ = "{";
  bool empty_ = true, list_empty_ = true;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_TEXT_DOCUMENT_TEXT_H_
