#include "cost/communication/collective_kind.h"

#include "cost/communication/coalesced_types.h"

namespace placewright {

std::string_view ToString(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return "all-reduce";
    case CollectiveKind::kAllGather: return "all-gather";
    case CollectiveKind::kReduceScatter: return "reduce-scatter";
    case CollectiveKind::kBroadcast: return "broadcast";
    case CollectiveKind::kAllToAll: return "all-to-all";
  }
  return "?";
}

std::optional<CollectiveKind> CollectiveKindOf(std::string_view op_type) {
  if (IsCoalesced(op_type)) {
    const std::optional<CollectiveKind> kind = CollectiveKindOf(SingleTypeOf(op_type));
    const bool moves_all = kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kAllToAll;
    return moves_all ? std::nullopt : kind;
  }
  if (op_type == "placewright.all_reduce.default") return CollectiveKind::kAllReduce;
  if (op_type == "placewright.all_gather.default") return CollectiveKind::kAllGather;
  if (op_type == "placewright.reduce_scatter.default") return CollectiveKind::kReduceScatter;
  if (op_type == "placewright.broadcast.default") return CollectiveKind::kBroadcast;
  if (op_type == "placewright.all_to_all.default") return CollectiveKind::kAllToAll;
  return std::nullopt;
}

std::string_view ToString(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::kNone: return "none";
    case CollectiveAlgorithm::kRing: return "ring";
    case CollectiveAlgorithm::kTree: return "tree";
    case CollectiveAlgorithm::kHierarchical: return "hierarchical";
    case CollectiveAlgorithm::kDirect: return "direct";
    case CollectiveAlgorithm::kStated: return "stated";
    case CollectiveAlgorithm::kNvls: return "nvls";
    case CollectiveAlgorithm::kNvlsTree: return "nvls-tree";
  }
  return "?";
}

}  // namespace placewright
