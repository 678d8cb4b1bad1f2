// AllGather: Concat on every device at once, by one member op on each, which contributes its own piece.
#include "compile/rewrites/rewrites.h"

namespace placewright {

std::vector<Piece> EmitAllGather(Emitter& emitter, const std::vector<Piece>& pieces,
                                 const std::vector<AxisPart>& parts) {
  static constexpr const char* kType = "placewright.all_gather.default";
  std::vector<Piece> whole;
  std::vector<TensorId> made;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const AxisPlace& place = parts[i].place;
    std::vector<int64_t> shape = emitter.shape(piece.tensor);
    shape[static_cast<size_t>(place.dimension)] = place.outer * place.size * place.inner;
    TensorId member = emitter.AddLikeAgain(kType, piece.tensor, shape, piece.device);
    if (!member.valid()) {
      member = emitter.AddLike(kType, {piece.tensor}, PartArguments(parts[i]), std::move(shape),
                               piece.tensor, piece.device);
    }
    whole.push_back({piece.device, member});
    made.push_back(member);
  }
  emitter.JoinMakers(made);
  return whole;
}

}  // namespace placewright
