// Which collectives there are, and the ways in which their pieces can travel.
#ifndef PLACEWRIGHT_COST_COMMUNICATION_COLLECTIVE_KIND_H_
#define PLACEWRIGHT_COST_COMMUNICATION_COLLECTIVE_KIND_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace placewright {

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kAllToAll
};
inline constexpr std::array kCollectiveKinds = {
    CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
    CollectiveKind::kBroadcast, CollectiveKind::kAllToAll};
std::string_view ToString(CollectiveKind kind);  // "all-reduce", ...

// Of the members of a collective: "placewright.all_reduce.default" is kAllReduce; none: another op.
std::optional<CollectiveKind> CollectiveKindOf(std::string_view op_type);

// kNone: nothing has to move (one device, or no bytes).
enum class CollectiveAlgorithm : uint8_t {
  kNone,
  kRing,
  kTree,
  kHierarchical,
  kDirect,
  kStated,
  kNvls,
  kNvlsTree
};
inline constexpr std::array kCollectiveAlgorithms = {
    CollectiveAlgorithm::kNone,         CollectiveAlgorithm::kRing,    CollectiveAlgorithm::kTree,
    CollectiveAlgorithm::kHierarchical, CollectiveAlgorithm::kDirect,  CollectiveAlgorithm::kStated,
    CollectiveAlgorithm::kNvls,         CollectiveAlgorithm::kNvlsTree};
// "none", "ring", "tree", "hierarchical", "direct"; "stated": what the cluster's description says it takes;
// "nvls", "nvls-tree": NVSwitches add up, over machines their sums go through trees
std::string_view ToString(CollectiveAlgorithm algorithm);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_COLLECTIVE_KIND_H_
