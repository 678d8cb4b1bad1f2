#include "graph/ownership/derivative_names.h"

#include <algorithm>

namespace placewright {
namespace {

struct Formula {
  std::string_view forward, backward;
};

// From PyTorch's tools/autograd/derivatives.yaml, for operators whose derivative is another one;
// sum and view undo broadcasting. Sorted.
constexpr Formula kFormulas[] = {
    {"_reshape_alias", "_unsafe_view"},
    {"_reshape_alias", "view"},
    {"_unsafe_view", "_reshape_alias"},
    {"_unsafe_view", "view"},
    {"add", "sum"},
    {"add", "view"},
    {"addmm", "mm"},
    {"addmm", "sum"},
    {"addmm", "t"},
    {"addmm", "view"},
    {"baddbmm", "bmm"},
    {"baddbmm", "transpose"},
    {"bmm", "transpose"},
    {"cat", "narrow"},
    {"cat", "slice"},
    {"div", "mul"},
    {"div", "neg"},
    {"div", "sum"},
    {"expand", "sum"},
    {"mean", "div"},
    {"mean", "expand"},
    {"mean", "unsqueeze"},
    {"mm", "t"},
    {"mul", "sum"},
    {"mul", "view"},
    {"pow", "mul"},
    {"repeat", "sum"},
    {"rsqrt", "mul"},
    {"rsqrt", "pow"},
    {"split", "cat"},
    {"split_with_sizes", "cat"},
    {"sqrt", "div"},
    {"squeeze", "unsqueeze"},
    {"stack", "select"},
    {"stack", "unbind"},
    {"sub", "neg"},
    {"sub", "sum"},
    {"sum", "expand"},
    {"sum", "unsqueeze"},
    {"unbind", "stack"},
    {"unsafe_split", "cat"},
    {"unsqueeze", "squeeze"},
    {"view", "_reshape_alias"},
    {"view", "_unsafe_view"},
    {"where", "sum"},
};

std::string_view WithoutInPlace(std::string_view name) {
  if (name.size() > 1 && name.ends_with('_')) name.remove_suffix(1);
  return name;
}

}  // namespace

bool NamesForward(std::string_view backward, std::string_view forward) {
  forward = WithoutInPlace(forward);
  return !forward.empty() && backward.size() > forward.size() && backward.starts_with(forward);
}

bool MayDifferentiate(std::string_view backward, std::string_view forward) {
  if (NamesForward(backward, forward)) return true;
  backward = WithoutInPlace(backward);
  forward = WithoutInPlace(forward);
  if (backward.empty() || forward.empty()) return false;
  if (backward == forward) return true;
  const Formula wanted{forward, backward};
  const auto less = [](const Formula& a, const Formula& b) {
    return a.forward != b.forward ? a.forward < b.forward : a.backward < b.backward;
  };
  return std::binary_search(std::begin(kFormulas), std::end(kFormulas), wanted, less);
}

}  // namespace placewright
