#include "graph/ownership/module_path.h"

#include <algorithm>

namespace placewright {
namespace {

// '/' where the path has one: dots are then parts of names ("/layer1/layer1.0/conv1").
char SeparatorOf(std::string_view path) {
  return path.find('/') == std::string_view::npos ? '.' : '/';
}

// "3", "layer_3" or, within an ONNX path, "layer.3".
bool EndsInNumber(std::string_view component) {
  const size_t digits = component.find_last_not_of("0123456789") + 1;
  if (digits == component.size()) return false;
  return digits == 0 || component[digits - 1] == '_' || component[digits - 1] == '.';
}

// "layer3", as "fc1" and "conv2", which are none: a layer has modules within.
bool EndsInDigit(std::string_view component) {
  return !component.empty() && component.back() >= '0' && component.back() <= '9';
}

std::string_view UpToFirst(std::string_view path, size_t end_of_search,
                           bool (*counts)(std::string_view component)) {
  const char separator = SeparatorOf(path);
  for (size_t from = 0; from < end_of_search;) {
    const size_t end = std::min(path.find(separator, from), path.size());
    if (end > end_of_search) break;
    if (counts(path.substr(from, end - from))) return path.substr(0, end);
    from = end + 1;
  }
  return {};
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

std::string_view LayerOf(std::string_view path) {
  const std::string_view layer = UpToFirst(path, path.size(), &EndsInNumber);
  return layer.empty() ? UpToFirst(path, ParentModule(path).size(), &EndsInDigit) : layer;
}

std::string_view ModuleOfParameter(std::string_view tensor_name) {
  const size_t colon = tensor_name.find(':');
  if (colon != std::string_view::npos) tensor_name.remove_prefix(colon + 1);
  return ParentModule(tensor_name);
}

}  // namespace placewright
