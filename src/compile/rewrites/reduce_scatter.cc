// ReduceScatter: Split and AddN on every device at once, by one member op on each. Members read their own
// piece of the sum; the collective that ties them adds all pieces in the order of its members and gives each
// its interval.
//
// Equal to Split + AddN: an element of a sum is the sum of the elements, so that a part of the sum is the sum
// of the parts, in the same order and thus to the last bit.
#include <algorithm>

#include "compile/rewrites/rewrites.h"

namespace placewright {

Result<TensorState> EmitReduceScatter(Emitter& emitter, const TensorState& partial,
                                      const AxisPlace& place,
                                      const std::map<DeviceId, Interval>& intervals) {
  TensorState split{TensorState::Kind::kSplit, place, {}};
  std::vector<TensorId> made;
  for (const Piece& piece : partial.pieces) {
    const Interval interval = intervals.at(piece.device);
    std::vector<int64_t> shape = emitter.shape(piece.tensor);
    shape[static_cast<size_t>(place.dimension)] = place.outer * interval.length() * place.inner;
    std::vector<Value> args = References(1);
    for (const int64_t number :
         {int64_t{place.dimension}, place.outer, place.size, interval.from, interval.to}) {
      args.push_back(Value(number));
    }
    PW_ASSIGN(const TensorId member,
              emitter.AddLike("placewright.reduce_scatter.default", {piece.tensor}, std::move(args),
                              std::move(shape), piece.tensor, piece.device));
    split.pieces.push_back({piece.device, interval, member});
    made.push_back(member);
  }
  PW_RETURN_IF_ERROR(emitter.JoinMakers(made));
  std::sort(split.pieces.begin(), split.pieces.end(),
            [](const Piece& a, const Piece& b) { return a.interval.from < b.interval.from; });
  return split;
}

}  // namespace placewright
