#include <map>

#include "base/units.h"
#include "formats/onnx/shapes/fold_rules.h"
#include "formats/onnx/shapes/shape_rules.h"

namespace placewright::onnx_import {
namespace {

using Dims = std::vector<int64_t>;

// What the labels of the operands stand for.
struct Labels {
  std::map<char, int64_t> size;
  std::map<char, int> uses;
  Dims ellipsis;  // broadcast over the operands that have one
};

bool IsLabel(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool AddOperand(std::string_view term, const Dims& shape, Labels* labels) {
  const size_t dots = term.find("...");
  const size_t named = term.size() - (dots == std::string_view::npos ? 0 : 3);
  if (named > shape.size() || (dots == std::string_view::npos && named != shape.size())) {
    return false;
  }
  size_t axis = 0;
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      const size_t covered = shape.size() - named;
      const auto first = shape.begin() + static_cast<std::ptrdiff_t>(axis);
      const auto both =
          Broadcast(labels->ellipsis, Dims(first, first + static_cast<std::ptrdiff_t>(covered)));
      if (!both) return false;
      labels->ellipsis = *both;
      axis += covered;
      i += 2;
      continue;
    }
    if (!IsLabel(term[i])) return false;
    int64_t& size = labels->size.emplace(term[i], shape[axis]).first->second;
    if (size != shape[axis] && size != 1 && shape[axis] != 1) return false;
    if (size == 1) size = shape[axis];
    ++labels->uses[term[i]];
    ++axis;
  }
  return true;
}

// Without "->": the ellipsis, then the labels used once, in alphabetical order.
std::string ImplicitOutput(const Labels& labels) {
  std::string term = "...";
  for (const auto& [label, uses] : labels.uses) {
    if (uses == 1) term += label;
  }
  return term;
}

}  // namespace

std::optional<Dims> EinsumShape(std::string_view equation, const std::vector<Dims>& operands) {
  std::string text;
  for (const char c : equation) {
    if (c != ' ') text += c;
  }
  const size_t arrow = text.find("->");
  std::string_view terms = std::string_view(text).substr(0, arrow);
  Labels labels;
  for (const Dims& shape : operands) {
    const size_t end = terms.find(',');
    if (!AddOperand(terms.substr(0, end), shape, &labels)) return std::nullopt;
    const bool last = &shape == &operands.back();
    if (last != (end == std::string_view::npos)) return std::nullopt;
    if (!last) terms.remove_prefix(end + 1);
  }
  const std::string output =
      arrow == std::string::npos ? ImplicitOutput(labels) : text.substr(arrow + 2);
  Dims dims;
  for (size_t i = 0; i < output.size(); ++i) {
    if (output.compare(i, 3, "...") == 0) {
      dims.insert(dims.end(), labels.ellipsis.begin(), labels.ellipsis.end());
      i += 2;
      continue;
    }
    const auto size = labels.size.find(output[i]);
    if (size == labels.size.end()) return std::nullopt;
    dims.push_back(size->second);
  }
  return dims;
}

}  // namespace placewright::onnx_import
