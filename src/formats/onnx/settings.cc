#include "formats/onnx/settings.h"

#include "formats/onnx/attributes.h"

namespace placewright::onnx_import {
namespace {

struct Setting {
  std::string_view type;
  int input;
  const char* name;
};
constexpr Setting kSettings[] = {{"Slice", 1, "starts"}, {"Slice", 2, "ends"}, {"Slice", 3, "axes"},
                                 {"Slice", 4, "steps"},  {"Pad", 1, "pads"},   {"Pad", 3, "axes"},
                                 {"CumSum", 1, "axis"}};
constexpr Setting kOfReduction = {"", 1, "axes"};

// A number, or a list of them.
void AddSetting(const onnx::NodeProto& node, const Setting& setting, const TypeTable& types,
                std::vector<NamedValue>* attributes) {
  if (setting.input >= node.input_size() || FindAttribute(node, setting.name) != nullptr) return;
  const std::string& input = node.input(setting.input);
  const KnownTensor* const known = input.empty() ? nullptr : types.Find(input);
  if (known == nullptr || !known->value || known->value->is_real()) return;
  const SmallTensor& value = *known->value;
  if (value.dims.empty() && value.ints.size() == 1) {
    attributes->push_back({setting.name, Value(value.ints[0])});
  } else if (value.dims.size() == 1 && value.ints.size() <= 2 * kMaxRank) {
    Value::List list;
    for (const int64_t number : value.ints) list.push_back(Value(number));
    attributes->push_back({setting.name, Value(std::move(list))});
  }
}

}  // namespace

void AddSettings(const onnx::NodeProto& node, const TypeTable& types,
                 std::vector<NamedValue>* attributes) {
  if (!IsDefaultDomain(node.domain())) return;
  for (const Setting& setting : kSettings) {
    if (node.op_type() == setting.type) AddSetting(node, setting, types, attributes);
  }
  if (node.op_type().starts_with("Reduce")) AddSetting(node, kOfReduction, types, attributes);
}

}  // namespace placewright::onnx_import
