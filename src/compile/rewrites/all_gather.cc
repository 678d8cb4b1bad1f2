// AllGather: Concat on every device at once, by one member op on each, which contributes its own piece.
#include "compile/rewrites/rewrites.h"

namespace placewright {

TensorState EmitAllGather(Emitter& emitter, const TensorState& split) {
  TensorState whole;
  std::vector<TensorId> made;
  for (size_t i = 0; i < split.pieces.size(); ++i) {
    const Piece& piece = split.pieces[i];
    const AxisPart& part = split.boxes[i].front();
    const AxisPlace& place = part.place;
    std::vector<int64_t> shape = emitter.shape(piece.tensor);
    shape[static_cast<size_t>(place.dimension)] = place.outer * place.size * place.inner;
    const TensorId member =
        emitter.AddLike("placewright.all_gather.default", {piece.tensor}, PartArguments(part),
                        std::move(shape), piece.tensor, piece.device);
    whole.pieces.push_back({piece.device, member});
    made.push_back(member);
  }
  emitter.JoinMakers(made);
  return whole;
}

}  // namespace placewright
