// Concat: consecutive parts of one axis put together again, the inverse of Split.
#include "compile/rewrites/rewrites.h"

namespace placewright {

TensorId EmitConcat(Emitter& emitter, const std::vector<Piece>& pieces, const AxisPlace& place,
                    DeviceId device) {
  if (pieces.size() == 1) return pieces.front().tensor;
  const auto dimension = static_cast<size_t>(place.dimension);
  std::vector<TensorId> inputs;
  std::vector<int64_t> shape = emitter.shape(pieces.front().tensor);
  shape[dimension] = 0;
  for (const Piece& piece : pieces) {
    inputs.push_back(piece.tensor);
    shape[dimension] += emitter.shape(piece.tensor)[dimension];
  }
  std::vector<Value> args = {Value(References(inputs.size())), Value(int64_t{place.dimension}),
                             Value(place.outer)};
  const TensorId like = inputs.front();
  return emitter.AddLike("placewright.concat.default", std::move(inputs), std::move(args),
                         std::move(shape), like, device);
}

TensorId EmitCopy(Emitter& emitter, TensorId tensor, DeviceId device) {
  std::vector<Value> args = {Value(References(1)), Value(int64_t{0}), Value(int64_t{1})};
  return emitter.AddLike("placewright.concat.default", {tensor}, std::move(args),
                         emitter.shape(tensor), tensor, device);
}

}  // namespace placewright
