// AddN: partial sums added in the order of their devices, so that every device gives the same bits.
#include "compile/rewrites/rewrites.h"

namespace placewright {

TensorId EmitAddN(Emitter& emitter, const std::vector<Piece>& pieces, DeviceId device) {
  if (pieces.size() == 1) return pieces.front().tensor;
  std::vector<TensorId> inputs;
  for (const Piece& piece : pieces) inputs.push_back(piece.tensor);
  const TensorId like = inputs.front();
  std::vector<Value> args = {Value(References(inputs.size()))};
  return emitter.AddLike("placewright.add_n.default", std::move(inputs), std::move(args),
                         emitter.shape(like), like, device);
}

}  // namespace placewright
