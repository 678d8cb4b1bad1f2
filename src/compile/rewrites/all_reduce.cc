// AllReduce: AddN on every device at once, by one member op on each. Members read their own piece; the
// collective that ties them sums over all, in the order of its members, so that all hold equal bits.
#include "compile/rewrites/rewrites.h"

namespace placewright {

std::vector<Piece> EmitAllReduce(Emitter& emitter, const std::vector<Piece>& pieces) {
  static constexpr const char* kType = "placewright.all_reduce.default";
  std::vector<Piece> whole;
  std::vector<TensorId> made;
  for (const Piece& piece : pieces) {
    const std::vector<int64_t>& shape = emitter.shape(piece.tensor);
    TensorId member = emitter.AddLikeAgain(kType, piece.tensor, shape, piece.device);
    if (!member.valid()) {
      member =
          emitter.AddLike(kType, {piece.tensor}, References(1), shape, piece.tensor, piece.device);
    }
    whole.push_back({piece.device, member});
    made.push_back(member);
  }
  emitter.JoinMakers(made);
  return whole;
}

}  // namespace placewright
