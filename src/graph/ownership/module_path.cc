#include "graph/ownership/module_path.h"

#include <algorithm>

namespace placewright {
namespace {

// '/' where the path has one: dots are then parts of names ("/layer1/layer1.0/conv1").
char SeparatorOf(std::string_view path) {
  return path.find('/') == std::string_view::npos ? '.' : '/';
}

}  // namespace

std::string_view ParentModule(std::string_view path) {
  const size_t at = path.rfind(SeparatorOf(path));
  return at == std::string_view::npos ? std::string_view() : path.substr(0, at);
}

bool IsWithinModule(std::string_view path, std::string_view ancestor) {
  if (ancestor.empty()) return true;
  return path.starts_with(ancestor) &&
         (path.size() == ancestor.size() || path[ancestor.size()] == SeparatorOf(path));
}

std::string_view CommonModule(std::string_view a, std::string_view b) {
  if (IsWithinModule(b, a)) return a;
  if (IsWithinModule(a, b)) return b;
  const size_t same =
      static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const size_t at = a.substr(0, same).rfind(SeparatorOf(a));
  return at == std::string_view::npos ? std::string_view() : a.substr(0, at);
}

std::string_view ModuleOfParameter(std::string_view tensor_name) {
  const size_t colon = tensor_name.find(':');
  if (colon != std::string_view::npos) tensor_name.remove_prefix(colon + 1);
  return ParentModule(tensor_name);
}

}  // namespace placewright
