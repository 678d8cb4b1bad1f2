#include "formats/aten/aliasing.h"

#include <algorithm>
#include <array>

namespace placewright {
namespace {

constexpr std::array<std::string_view, 16> kListOps = {
    "unbind",    "split",        "split_with_sizes",  "unsafe_split",  "unsafe_split_with_sizes",
    "chunk",     "unsafe_chunk", "tensor_split",      "hsplit",        "vsplit",
    "dsplit",    "meshgrid",     "broadcast_tensors", "nonzero_numpy", "align_tensors",
    "split_copy"};

}  // namespace

AtenAliasing AliasingOf(AtenOp::Mark mark, const AliasSchema& schema) {
  const bool in_place = mark == AtenOp::Mark::kInPlace;
  AtenAliasing aliasing;
  if (mark == AtenOp::Mark::kView ||
      (mark == AtenOp::Mark::kNone && schema.view == AliasSchema::View::kYes)) {
    aliasing.view = AliasKind::kView;
  } else if (mark == AtenOp::Mark::kNone && schema.view == AliasSchema::View::kIfPossible) {
    aliasing.view = AliasKind::kViewIfPossible;
  }
  aliasing.view_of = schema.view == AliasSchema::View::kNo ? 0 : schema.view_of;
  if (mark != AtenOp::Mark::kView) {
    aliasing.writes = schema.writes;
    aliasing.returned = schema.returned;
  }
  if (in_place && aliasing.returned.empty()) aliasing.returned = {0};
  if (in_place && aliasing.writes.empty()) aliasing.writes = {0};
  return aliasing;
}

bool ReturnsList(std::string_view target) {
  const std::string_view name = AtenBaseName(target);
  return std::find(kListOps.begin(), kListOps.end(), name) != kListOps.end() ||
         name.starts_with("_foreach_");
}

}  // namespace placewright
