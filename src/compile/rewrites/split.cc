// Split: a part of one axis of a tensor. Equal to the original since it is the definition of a part.
#include "compile/rewrites/rewrites.h"

namespace placewright {

Result<TensorId> EmitSplit(Emitter& emitter, TensorId tensor, const AxisPlace& place,
                           Interval interval, DeviceId device) {
  std::vector<int64_t> shape = emitter.shape(tensor);
  shape[static_cast<size_t>(place.dimension)] = place.outer * interval.length() * place.inner;
  std::vector<Value> args = References(1);
  for (const int64_t number :
       {int64_t{place.dimension}, place.outer, place.size, interval.from, interval.to}) {
    args.push_back(Value(number));
  }
  return emitter.AddLike("placewright.split.default", {tensor}, std::move(args), std::move(shape),
                         tensor, device);
}

}  // namespace placewright
