#include "transforms/layers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace placewright {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNumber(std::string_view component) {
  return !component.empty() && std::all_of(component.begin(), component.end(), IsDigit);
}
bool EndsInNumber(std::string_view component) {
  return !component.empty() && IsDigit(component.back());
}
std::string_view WithoutNumber(std::string_view path) {
  while (!path.empty() && IsDigit(path.back())) path.remove_suffix(1);
  return path;
}

using Numbers = bool (*)(std::string_view component);

// The path up to the first component that numbers it among its siblings.
std::optional<std::string_view> BlockOf(std::string_view path, Numbers numbers) {
  for (size_t from = 0; from <= path.size();) {
    const size_t end = std::min(path.find_first_of("./", from), path.size());
    if (numbers(path.substr(from, end - from))) return path.substr(0, end);
    from = end + 1;
  }
  return std::nullopt;
}

// Those with a sibling, of lists of which one has modules within; in the order of their first forward ops.
std::vector<std::string_view> RepeatedBlocks(const Graph& step, Numbers numbers) {
  struct List {
    std::set<std::string_view> blocks;
    bool has_modules = false;
  };
  std::map<std::string_view, List> lists;
  std::vector<std::string_view> in_order;
  for (const OpId op : step.ops()) {
    if (step.op(op).phase != Phase::kForward) continue;
    const std::string_view path = step.module_path(step.op(op).module);
    const auto block = BlockOf(path, numbers);
    if (!block) continue;
    List& list = lists[WithoutNumber(*block)];
    if (list.blocks.insert(*block).second) in_order.push_back(*block);
    list.has_modules |= path.size() > block->size();
  }
  std::erase_if(in_order, [&](std::string_view block) {
    const List& list = lists[WithoutNumber(block)];
    return list.blocks.size() < 2 || !list.has_modules;
  });
  return in_order;
}

}  // namespace

StepLayers LayersOf(const Graph& step) {
  Numbers numbers = &IsNumber;
  std::vector<std::string_view> blocks = RepeatedBlocks(step, numbers);
  if (blocks.empty()) blocks = RepeatedBlocks(step, numbers = &EndsInNumber);
  StepLayers layers;
  layers.names.assign(blocks.begin(), blocks.end());
  for (size_t i = 0; i < step.module_count(); ++i) {
    const auto block = BlockOf(step.module_path(ModuleId(i)), numbers);
    const auto it = block ? std::find(blocks.begin(), blocks.end(), *block) : blocks.end();
    layers.of_module.push_back(it == blocks.end() ? -1 : static_cast<int32_t>(it - blocks.begin()));
  }
  return layers;
}

}  // namespace placewright
