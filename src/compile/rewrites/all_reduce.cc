// AllReduce: AddN on every device at once, by one member op on each. Members read their own piece; the
// collective that ties them sums over all, in the order of its members, so that all hold equal bits.
#include "compile/rewrites/rewrites.h"

namespace placewright {

std::vector<Piece> EmitAllReduce(Emitter& emitter, const std::vector<Piece>& pieces) {
  std::vector<Piece> whole;
  std::vector<TensorId> made;
  for (const Piece& piece : pieces) {
    const TensorId member =
        emitter.AddLike("placewright.all_reduce.default", {piece.tensor}, References(1),
                        emitter.shape(piece.tensor), piece.tensor, piece.device);
    whole.push_back({piece.device, member});
    made.push_back(member);
  }
  emitter.JoinMakers(made);
  return whole;
}

}  // namespace placewright
