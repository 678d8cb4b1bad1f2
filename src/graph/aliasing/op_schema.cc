#include "graph/aliasing/op_schema.h"

#include <algorithm>
#include <array>

namespace placewright {
namespace {

constexpr std::string_view kNamespace = "aten.";

// Tables are sorted by name: every op of a graph is looked up in them.
constexpr std::array<std::string_view, 58> kViews = {"_conj",
                                                     "_neg_view",
                                                     "_reshape_alias",
                                                     "_unsafe_view",
                                                     "adjoint",
                                                     "alias",
                                                     "as_strided",
                                                     "as_strided_",
                                                     "atleast_1d",
                                                     "atleast_2d",
                                                     "atleast_3d",
                                                     "broadcast_to",
                                                     "chunk",
                                                     "conj",
                                                     "detach",
                                                     "detach_",
                                                     "diagonal",
                                                     "dsplit",
                                                     "expand",
                                                     "expand_as",
                                                     "hsplit",
                                                     "imag",
                                                     "lift_fresh",
                                                     "mH",
                                                     "mT",
                                                     "matrix_H",
                                                     "moveaxis",
                                                     "movedim",
                                                     "narrow",
                                                     "numpy_T",
                                                     "permute",
                                                     "positive",
                                                     "real",
                                                     "select",
                                                     "slice",
                                                     "split",
                                                     "split_with_sizes",
                                                     "squeeze",
                                                     "squeeze_",
                                                     "swapaxes",
                                                     "swapaxes_",
                                                     "swapdims",
                                                     "swapdims_",
                                                     "t",
                                                     "t_",
                                                     "tensor_split",
                                                     "transpose",
                                                     "transpose_",
                                                     "unbind",
                                                     "unfold",
                                                     "unsafe_chunk",
                                                     "unsafe_split",
                                                     "unsafe_split_with_sizes",
                                                     "unsqueeze",
                                                     "unsqueeze_",
                                                     "view",
                                                     "view_as",
                                                     "vsplit"};
constexpr std::array<std::string_view, 2> kComplexViews = {"view_as_complex", "view_as_real"};
constexpr std::array<std::string_view, 6> kViewsIfPossible = {
    "contiguous", "flatten", "ravel", "reshape", "reshape_as", "unflatten"};

template <size_t n>
bool Contains(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::binary_search(names.begin(), names.end(), name);
}

// Ops that write arguments without a trailing underscore or an out overload.
// `training`: position of the flag that must be true, or -1 if they always write.
struct HiddenWrite {
  std::string_view name;
  std::array<int8_t, 5> positions;  // of written arguments; -1: none
  int8_t training;
};
constexpr std::array<HiddenWrite, 19> kHiddenWrites = {{
    {"_amp_foreach_non_finite_check_and_unscale_", {0, 1, -1, -1, -1}, -1},
    {"_amp_update_scale_", {0, 1, -1, -1, -1}, -1},
    {"_batch_norm_impl_index", {3, 4, -1, -1, -1}, 5},
    {"_batch_norm_with_update", {3, 4, -1, -1, -1}, -1},
    {"_fused_adagrad_", {0, 1, 2, -1, -1}, -1},
    {"_fused_adam_", {0, 1, 2, 3, 4}, -1},
    {"_fused_adamw_", {0, 1, 2, 3, 4}, -1},
    {"_fused_sgd_", {0, 1, 2, -1, -1}, -1},
    {"_native_batch_norm_legit", {3, 4, -1, -1, -1}, 5},
    {"batch_norm", {3, 4, -1, -1, -1}, 5},
    {"batch_norm_gather_stats", {3, 4, -1, -1, -1}, -1},
    {"batch_norm_gather_stats_with_counts", {3, 4, -1, -1, -1}, -1},
    {"batch_norm_update_stats", {1, 2, -1, -1, -1}, -1},
    {"cudnn_batch_norm", {3, 4, -1, -1, -1}, 5},
    {"instance_norm", {3, 4, -1, -1, -1}, 5},
    {"miopen_batch_norm", {3, 4, -1, -1, -1}, 5},
    {"native_batch_norm", {3, 4, -1, -1, -1}, 5},
    {"rrelu_with_noise", {1, -1, -1, -1, -1}, 4},
    {"rrelu_with_noise_", {0, 1, -1, -1, -1}, -1},
}};
constexpr bool Before(const HiddenWrite& a, const HiddenWrite& b) { return a.name < b.name; }

static_assert(std::is_sorted(kViews.begin(), kViews.end()));
static_assert(std::is_sorted(kComplexViews.begin(), kComplexViews.end()));
static_assert(std::is_sorted(kViewsIfPossible.begin(), kViewsIfPossible.end()));
static_assert(std::is_sorted(kHiddenWrites.begin(), kHiddenWrites.end(), Before));

// The row of an op, or nullptr.
const HiddenWrite* FindHiddenWrite(std::string_view name) {
  const auto it = std::lower_bound(kHiddenWrites.begin(), kHiddenWrites.end(),
                                   HiddenWrite{name, {}, -1}, Before);
  return it != kHiddenWrites.end() && it->name == name ? &*it : nullptr;
}

// Appends the inputs that a value refers to, lists included.
void CollectRefs(const Value& value, int32_t input_count, std::vector<int32_t>& refs) {
  if (const InputRef* ref = value.AsInput()) {
    if (ref->index >= 0 && ref->index < input_count) refs.push_back(ref->index);
  } else if (const Value::List* list = value.AsList()) {
    for (const Value& item : *list) CollectRefs(item, input_count, refs);
  }
}

// "add_" and "__iadd__", but not "__and__".
bool IsInPlaceName(std::string_view name) {
  if (name.ends_with("__")) return name.starts_with("__i") && name.size() > 5;
  return name.ends_with("_");
}

bool IsOutOverload(std::string_view overload) {
  return overload == "out" || overload.ends_with("_out") || overload == "grad_input";
}

bool IsTrue(const std::vector<Value>& args, const std::vector<NamedValue>& attributes,
            int8_t position) {
  if (position < 0) return true;
  const Value* flag = nullptr;
  if (static_cast<size_t>(position) < args.size()) {
    flag = &args[static_cast<size_t>(position)];
  } else {
    for (const NamedValue& named : attributes) {
      if (named.name == "training" || named.name == "train" || named.name == "use_input_stats") {
        flag = &named.value;
      }
    }
  }
  return flag != nullptr && flag->AsBool() && *flag->AsBool();
}

void SortUnique(std::vector<int32_t>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace

std::string_view AtenBaseName(std::string_view type) {
  if (!type.starts_with(kNamespace)) return {};
  type.remove_prefix(kNamespace.size());
  return type.substr(0, type.find('.'));
}

std::string_view AtenOverload(std::string_view type) {
  if (!type.starts_with(kNamespace)) return {};
  const size_t dot = type.find('.', kNamespace.size());
  return dot == std::string_view::npos ? std::string_view() : type.substr(dot + 1);
}

AliasSchema AliasOf(std::string_view type, const std::vector<Value>& args,
                    const std::vector<NamedValue>& attributes, int32_t input_count) {
  AliasSchema schema;
  const std::string_view name = AtenBaseName(type);
  if (name.empty()) return schema;
  if (IsOutOverload(AtenOverload(type))) {
    for (const NamedValue& named : attributes) {
      CollectRefs(named.value, input_count, schema.returned);
    }
    schema.writes = schema.returned;
    SortUnique(schema.writes);
    return schema;
  }
  if (const HiddenWrite* hidden = FindHiddenWrite(name)) {
    if (!IsTrue(args, attributes, hidden->training)) return schema;
    for (int8_t position : hidden->positions) {
      if (position >= 0 && static_cast<size_t>(position) < args.size()) {
        CollectRefs(args[static_cast<size_t>(position)], input_count, schema.writes);
      }
    }
    if (name == "rrelu_with_noise_" && !schema.writes.empty()) schema.returned = {schema.writes[0]};
    SortUnique(schema.writes);
    return schema;
  }
  std::vector<int32_t> first;  // the tensors of the first argument
  if (!args.empty()) CollectRefs(args[0], input_count, first);
  if (first.empty()) return schema;
  if (Contains(kViews, name) || Contains(kComplexViews, name)) {
    schema.view = AliasSchema::View::kYes;
    schema.view_of = first[0];
  } else if (Contains(kViewsIfPossible, name)) {
    schema.view = AliasSchema::View::kIfPossible;
    schema.view_of = first[0];
  } else if (IsInPlaceName(name)) {
    schema.returned = first;
    schema.writes = first;
    SortUnique(schema.writes);
  }
  return schema;
}

}  // namespace placewright
