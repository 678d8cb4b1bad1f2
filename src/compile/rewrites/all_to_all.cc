// AllToAll: a split that moves from one axis to another, by one member op on each device. Members read their own piece;
// the collective that ties them cuts every piece along the new axis, sends each cut to the member that gets it, and
// joins there what all have sent along the old one.
//
// Equal to Concat + Split: which elements a part of the whole has does not depend on whether the whole is made first.
#include "compile/rewrites/rewrites.h"

namespace placewright {

std::vector<Piece> EmitAllToAll(Emitter& emitter, const std::vector<Piece>& pieces,
                                const std::vector<AxisPart>& given,
                                const std::vector<AxisPart>& taken) {
  static constexpr const char* kType = "placewright.all_to_all.default";
  std::vector<Piece> exchanged;
  std::vector<TensorId> made;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    std::vector<int64_t> shape = ShapeOf(emitter.shape(piece.tensor), {taken[i]});
    int64_t& length = shape[static_cast<size_t>(given[i].place.dimension)];
    length = length / given[i].interval.length() * given[i].place.size;
    TensorId member = emitter.AddLikeAgain(kType, piece.tensor, shape, piece.device);
    if (!member.valid()) {
      std::vector<Value> args = PartArguments(given[i]);
      for (const int64_t number : NumbersOf(taken[i])) args.push_back(Value(number));
      member = emitter.AddLike(kType, {piece.tensor}, std::move(args), std::move(shape),
                               piece.tensor, piece.device);
    }
    exchanged.push_back({piece.device, member});
    made.push_back(member);
  }
  emitter.JoinMakers(made);
  return exchanged;
}

}  // namespace placewright
