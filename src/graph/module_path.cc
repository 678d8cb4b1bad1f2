#include "graph/module_path.h"

#include <algorithm>

namespace placewright {
namespace {

bool IsSeparator(char c) { return c == '.' || c == '/'; }

}  // namespace

std::string_view ParentModule(std::string_view path) {
  const size_t at = path.find_last_of("./");
  return at == std::string_view::npos ? std::string_view() : path.substr(0, at);
}

bool IsWithinModule(std::string_view path, std::string_view ancestor) {
  if (ancestor.empty()) return true;
  return path.substr(0, ancestor.size()) == ancestor &&
         (path.size() == ancestor.size() || IsSeparator(path[ancestor.size()]));
}

std::string_view CommonModule(std::string_view a, std::string_view b) {
  std::string_view common = a;
  while (!IsWithinModule(b, common)) common = ParentModule(common);
  return common;
}

std::string_view ModuleOfParameter(std::string_view tensor_name) {
  const size_t colon = tensor_name.find(':');
  if (colon != std::string_view::npos) tensor_name.remove_prefix(colon + 1);
  return ParentModule(tensor_name);
}

}  // namespace placewright
