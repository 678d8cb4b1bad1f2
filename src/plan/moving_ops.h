// Ops of compiled steps that only bring pieces of tensors to where they are read.
#ifndef PLACEWRIGHT_PLAN_MOVING_OPS_H_
#define PLACEWRIGHT_PLAN_MOVING_OPS_H_

#include <string_view>

namespace placewright {

// Cuts, packs, joins or adds pieces (docs/formats/aten-graph.md). Members of collectives are not meant, nor views.
inline bool MovesPieces(std::string_view op_type) {
  return op_type == "placewright.split.default" || op_type == "placewright.pack.default" ||
         op_type == "placewright.concat.default" || op_type == "placewright.add_n.default";
}

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_MOVING_OPS_H_
