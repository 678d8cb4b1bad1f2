// Concat: consecutive parts of one axis put together again, the inverse of Split.
#include "compile/rewrites/rewrites.h"

namespace placewright {

TensorId EmitConcat(Emitter& emitter, const TensorState& split, DeviceId device) {
  if (split.pieces.size() == 1) return split.pieces.front().tensor;
  std::vector<TensorId> inputs;
  int64_t length = 0;
  for (const Piece& piece : split.pieces) inputs.push_back(piece.tensor);
  for (const TensorBox& box : split.boxes) length += box.front().interval.length();
  const AxisPlace& place = split.boxes.front().front().place;
  std::vector<int64_t> shape = emitter.shape(inputs.front());
  shape[static_cast<size_t>(place.dimension)] = place.outer * length * place.inner;
  std::vector<Value> args = {Value(References(inputs.size())), Value(int64_t{place.dimension}),
                             Value(place.outer)};
  const TensorId like = inputs.front();
  return emitter.AddLike("placewright.concat.default", std::move(inputs), std::move(args),
                         std::move(shape), like, device);
}

}  // namespace placewright
