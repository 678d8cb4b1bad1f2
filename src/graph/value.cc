#include "graph/value.h"

#include <fmt/format.h>

namespace placewright {
namespace {

struct Printer {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(int64_t v) const { return fmt::format("{}", v); }
  // The shortest text that reads back as the same number; an integer keeps its point.
  std::string operator()(double v) const {
    std::string text = fmt::format("{}", v);
    return text.find_first_of(".eni") == std::string::npos ? text + ".0" : text;
  }
  std::string operator()(const std::string& v) const {
    std::string text = "\"";
    for (char c : v) {
      if (c == '"' || c == '\\') text += '\\';
      text += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
    return text + '"';
  }
  std::string operator()(InputRef v) const { return fmt::format("%{}", v.index); }
  std::string operator()(const Value::List& list) const {
    std::string text = "[";
    for (size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + ToString(list[i]);
    return text + "]";
  }
};

}  // namespace

std::string ToString(const Value& value) { return std::visit(Printer(), value.variant()); }

}  // namespace placewright
