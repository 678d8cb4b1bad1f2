#include "formats/graphdef/roles.h"

#include <algorithm>
#include <array>

namespace placewright::graphdef {
namespace {

using Names = std::string_view;

template <size_t kCount>
bool IsIn(const std::array<Names, kCount>& names, std::string_view op) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

constexpr std::array<Names, 5> kVariables = {"Variable", "VariableV2", "VarHandleOp",
                                             "TemporaryVariable", "AutoReloadVariable"};
constexpr std::array<Names, 14> kViews = {"Identity",       "Reshape",
                                          "Squeeze",        "ExpandDims",
                                          "StopGradient",   "RefIdentity",
                                          "Snapshot",       "PreventGradient",
                                          "EnsureShape",    "PlaceholderWithDefault",
                                          "PlaceholderV3",  "DebugGradientIdentity",
                                          "ReadVariableOp", "Bitcast"};
constexpr std::array<Names, 8> kSilent = {"NoOp",           "Assert", "SaveV2",
                                          "SaveSlices",     "Save",   "MergeV2Checkpoints",
                                          "ControlTrigger", "_Retval"};

bool BeginsWithAny(std::string_view op, std::string_view first, std::string_view second) {
  return op.starts_with(first) || op.starts_with(second);
}

}  // namespace

Role RoleOf(std::string_view op) {
  if (IsIn(kVariables, op)) return Role::kVariable;
  if (op == "Const" || op == "HostConst") return Role::kConstant;
  if (op == "Placeholder" || op == "PlaceholderV2" || op == "_Arg") return Role::kPlaceholder;
  if (IsIn(kViews, op)) return Role::kView;
  if (BeginsWithAny(op, "Apply", "ResourceApply") ||
      BeginsWithAny(op, "SparseApply", "ResourceSparseApply")) {
    return Role::kApply;
  }
  if (op == "ScatterNd" || op.starts_with("ScatterNdNonAliasing")) return Role::kCompute;
  if (BeginsWithAny(op, "Assign", "Scatter") || op.starts_with("ResourceScatter")) {
    return Role::kAssign;
  }
  return Role::kCompute;
}

bool ByHandle(std::string_view op) {
  return op.starts_with("Resource") || op.ends_with("VariableOp");
}

bool ReturnsNothing(std::string_view op) {
  return IsIn(kSilent, op) || op.starts_with("QueueEnqueue") || op.starts_with("QueueClose") ||
         (ByHandle(op) && (RoleOf(op) == Role::kAssign || RoleOf(op) == Role::kApply));
}

bool HasOneOutput(std::string_view op) {
  switch (RoleOf(op)) {
    case Role::kVariable:
    case Role::kConstant:
    case Role::kPlaceholder:
    case Role::kView: return true;
    default: return false;
  }
}

bool IsBackward(std::string_view name, std::string_view op) {
  if (op.ends_with("Grad") || op.find("Backprop") != std::string_view::npos) return true;
  while (!name.empty()) {
    const size_t slash = name.find('/');
    if (slash == std::string_view::npos) return false;  // the last part is the node's own name
    const std::string_view scope = name.substr(0, slash);
    if (scope == "gradients" || scope == "gradient_tape" || scope.starts_with("gradients_")) {
      return true;
    }
    name.remove_prefix(slash + 1);
  }
  return false;
}

}  // namespace placewright::graphdef
