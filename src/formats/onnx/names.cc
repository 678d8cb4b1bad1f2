#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "formats/onnx/attributes.h"
#include "formats/onnx/emit.h"

namespace placewright::onnx_import {

std::vector<std::string> UniqueNodeNames(const onnx::GraphProto& graph) {
  std::vector<std::string> names(static_cast<size_t>(graph.node_size()));
  std::unordered_set<std::string> taken;
  std::vector<size_t> late;  // repeated names and nodes without one: those with a name go first
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = graph.node(static_cast<int>(i)).name();
    if (!name.empty() && taken.insert(name).second) {
      names[i] = name;
    } else {
      late.push_back(i);
    }
  }
  std::unordered_map<std::string, int> repeats;
  for (const size_t i : late) {
    const onnx::NodeProto& node = graph.node(static_cast<int>(i));
    std::string base = node.name();
    if (base.empty()) {
      base = fmt::format("{}_{}", node.op_type(), i);
      if (taken.insert(base).second) {
        names[i] = base;
        continue;
      }
    }
    int& repeat = repeats.emplace(base, 1).first->second;
    do {
      names[i] = fmt::format("{}#{}", base, ++repeat);
    } while (!taken.insert(names[i]).second);
  }
  return names;
}

std::string ModulePath(std::string_view node_name) {
  const size_t last = node_name.rfind('/');
  if (last == std::string_view::npos) return "";
  std::string_view path = node_name.substr(0, last);
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  return std::string(path);
}

bool IsView(const onnx::NodeProto& node, const TypeTable& types, int opset) {
  constexpr std::array<std::string_view, 5> kViews = {"Reshape", "Flatten", "Squeeze", "Unsqueeze",
                                                      "Identity"};
  if (!IsDefaultDomain(node.domain()) || node.input_size() == 0 || node.input(0).empty()) {
    return false;
  }
  if (std::find(kViews.begin(), kViews.end(), node.op_type()) != kViews.end()) return true;
  if (node.op_type() != "Dropout") return false;
  if (opset < 7) return IntAttribute(node, "is_test", 0) != 0;
  if (opset < 12 || node.input_size() < 3 || node.input(2).empty()) return true;
  const KnownTensor* training = types.Find(node.input(2));
  return training != nullptr && training->value && training->value->size() == 1 &&
         !training->value->is_real() && training->value->ints[0] == 0;
}

}  // namespace placewright::onnx_import
