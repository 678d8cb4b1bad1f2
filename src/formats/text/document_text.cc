#include "formats/text/document_text.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace placewright {
namespace {

constexpr size_t kLineItems = 12;  // more members than this get a line each

std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);  // never throws on bad UTF-8
}

bool NeedsNoEscape(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

bool HasLines(const Json& value) {
  return value.is_structured() && !value.empty() &&
         (value.size() > kLineItems || value.begin()->is_structured());
}

}  // namespace

void AppendJson(std::string& out, std::string_view text) {
  if (std::all_of(text.begin(), text.end(), NeedsNoEscape)) {
    out += '"';
    out += text;
    out += '"';
  } else {
    out += Dump(Json(text));
  }
}

void AppendJson(std::string& out, int64_t number) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  out.append(digits, end);
}

void AppendJson(std::string& out, double number) { out += Dump(Json(number)); }

void DocumentText::StartMember(std::string_view key) {
  text_ += std::exchange(empty_, false) ? "\n" : ",\n";
  AppendJson(text_, key);
  text_ += ": ";
}

void DocumentText::AddMember(std::string_view key, const Json& value) {
  StartMember(key);
  if (!HasLines(value)) {
    text_ += Dump(value);
    return;
  }
  const char* separator = value.is_array() ? "[\n  " : "{\n  ";
  for (const auto& [item_key, item] : value.items()) {
    text_ += std::exchange(separator, ",\n  ");
    if (value.is_object()) {
      AppendJson(text_, item_key);
      text_ += ": ";
    }
    text_ += Dump(item);
  }
  text_ += value.is_array() ? "\n]" : "\n}";
}

void DocumentText::StartList(std::string_view key) {
  StartMember(key);
  text_ += '[';
  list_empty_ = true;
}

std::string& DocumentText::StartElement() {
  text_ += std::exchange(list_empty_, false) ? "\n  " : ",\n  ";
  return text_;
}

void DocumentText::EndList() { text_ += list_empty_ ? "]" : "\n]"; }

std::string DocumentText::Finish() && {
  text_ += "\n}\n";
  return std::move(text_);
}

std::string FormatDocument(const Json& document) {
  if (!document.is_object()) return Dump(document) + "\n";
  DocumentText text;
  for (const auto& [key, value] : document.items()) text.AddMember(key, value);
  return std::move(text).Finish();
}

}  // namespace placewright
