// Types of collectives' members that bring several tensors at once (PyTorch's word for it): in one message each way, as
// parts of one buffer.
//
//   placewright.all_reduce.coalesced([x, y])
//   placewright.all_gather.coalesced([x, y], [dimension, outer, size, from, to] of x, those of y)
//   placewright.reduce_scatter.coalesced([x, y], [dimension, outer, size, from, to] of x, those of y)
//
// Each makes of every tensor what the op of the same name does that ends in ".default" (docs/formats/aten-graph.md).
#ifndef PLACEWRIGHT_COST_COMMUNICATION_COALESCED_TYPES_H_
#define PLACEWRIGHT_COST_COMMUNICATION_COALESCED_TYPES_H_

#include <string>
#include <string_view>

namespace placewright {

inline constexpr std::string_view kCoalescedOverload = ".coalesced";

inline bool IsCoalesced(std::string_view op_type) {
  return op_type.starts_with("placewright.") && op_type.ends_with(kCoalescedOverload);
}
// Of one type with either ending, that with the other one.
inline std::string CoalescedTypeOf(std::string_view op_type) {
  return std::string(op_type.substr(0, op_type.rfind('.'))).append(kCoalescedOverload);
}
inline std::string SingleTypeOf(std::string_view op_type) {
  return std::string(op_type.substr(0, op_type.rfind('.'))).append(".default");
}

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_COMMUNICATION_COALESCED_TYPES_H_
