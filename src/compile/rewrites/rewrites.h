// What moves, joins and sums pieces of tensors, one file for each. All preserve values.
//
// The ops are of the library "placewright" (src/runtime/ops/part_ops.h): LibTorch runs them as any op.
#ifndef PLACEWRIGHT_COMPILE_REWRITES_REWRITES_H_
#define PLACEWRIGHT_COMPILE_REWRITES_REWRITES_H_

#include <map>
#include <vector>

#include "compile/emitter.h"
#include "compile/tensor_state.h"

namespace placewright {

// split.cc: the box (whose axes have the sizes that they have in `tensor`), on `device`.
TensorId EmitSplit(Emitter& emitter, TensorId tensor, const TensorBox& box, DeviceId device);
// concat.cc: the pieces, in their order, are consecutive intervals of one axis; one of them is it.
TensorId EmitConcat(Emitter& emitter, const TensorState& split, DeviceId device);
// add_n.cc: the sum of all pieces.
TensorId EmitAddN(Emitter& emitter, const std::vector<Piece>& pieces, DeviceId device);
// all_reduce.cc: the sum of all pieces on every device that has one, by a collective.
TensorState EmitAllReduce(Emitter& emitter, const TensorState& partial);
// all_gather.cc: all intervals on every device that has one, by a collective.
TensorState EmitAllGather(Emitter& emitter, const TensorState& split);
// reduce_scatter.cc: a box of the sum of all pieces on every device that has one, by a collective. `boxes`: of one
// axis, for each of these devices; they cover it once.
TensorState EmitReduceScatter(Emitter& emitter, const TensorState& partial,
                              const std::map<DeviceId, TensorBox>& boxes);
// broadcast.cc: what one device has on `others` as well (one or more, without the root), by a collective.
std::vector<Piece> EmitBroadcast(Emitter& emitter, const Piece& root,
                                 const std::vector<DeviceId>& others);

// "%0", and which interval of which axis: dimension, outer, size, from, to.
std::vector<Value> PartArguments(const AxisPart& part);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_REWRITES_H_
