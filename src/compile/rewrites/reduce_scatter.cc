// ReduceScatter: Split and AddN on every device at once, by one member op on each. Members read their own
// piece of the sum; the collective that ties them adds all pieces in the order of its members and gives each
// its interval.
//
// Equal to Split + AddN: an element of a sum is the sum of the elements, so that a part of the sum is the sum
// of the parts, in the same order and thus to the last bit.
#include "compile/rewrites/rewrites.h"

namespace placewright {

std::vector<Piece> EmitReduceScatter(Emitter& emitter, const std::vector<Piece>& pieces,
                                     const std::vector<AxisPart>& parts) {
  static constexpr const char* kType = "placewright.reduce_scatter.default";
  std::vector<Piece> scattered;
  std::vector<TensorId> made;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    std::vector<int64_t> shape = ShapeOf(emitter.shape(piece.tensor), {parts[i]});
    TensorId member = emitter.AddLikeAgain(kType, piece.tensor, shape, piece.device);
    if (!member.valid()) {
      member = emitter.AddLike(kType, {piece.tensor}, PartArguments(parts[i]), std::move(shape),
                               piece.tensor, piece.device);
    }
    scattered.push_back({piece.device, member});
    made.push_back(member);
  }
  emitter.JoinMakers(made);
  return scattered;
}

}  // namespace placewright
