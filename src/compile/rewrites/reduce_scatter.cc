// ReduceScatter: Split and AddN on every device at once, by one member op on each. Members read their own
// piece of the sum; the collective that ties them adds all pieces in the order of its members and gives each
// its interval.
//
// Equal to Split + AddN: an element of a sum is the sum of the elements, so that a part of the sum is the sum
// of the parts, in the same order and thus to the last bit.
#include "compile/rewrites/rewrites.h"

namespace placewright {

TensorState EmitReduceScatter(Emitter& emitter, const TensorState& partial,
                              const std::map<DeviceId, TensorBox>& boxes) {
  std::map<int64_t, Piece> ascending;  // by where the interval begins
  std::vector<TensorId> made;
  for (const Piece& piece : partial.pieces) {
    const TensorBox& box = boxes.at(piece.device);
    std::vector<int64_t> shape = ShapeOf(emitter.shape(piece.tensor), box);
    const TensorId member =
        emitter.AddLike("placewright.reduce_scatter.default", {piece.tensor},
                        PartArguments(box.front()), std::move(shape), piece.tensor, piece.device);
    ascending[box.front().interval.from] = {piece.device, member};
    made.push_back(member);
  }
  emitter.JoinMakers(made);
  TensorState split;
  for (const auto& [from, piece] : ascending) {
    split.AddPart(piece.device, piece.tensor, boxes.at(piece.device));
  }
  return split;
}

}  // namespace placewright
