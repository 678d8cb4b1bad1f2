// What moves, joins and sums pieces of tensors, one file for each. All preserve values.
//
// The ops are of the library "placewright" (src/runtime/ops/part_ops.h): LibTorch runs them as any op.
#ifndef PLACEWRIGHT_COMPILE_REWRITES_REWRITES_H_
#define PLACEWRIGHT_COMPILE_REWRITES_REWRITES_H_

#include <vector>

#include "compile/emitter.h"
#include "compile/tensor_state.h"

namespace placewright {

// split.cc: the box (whose axes have the sizes that they have in `tensor`), on `device`.
TensorId EmitSplit(Emitter& emitter, TensorId tensor, const TensorBox& box, DeviceId device);
// concat.cc: the pieces, in their order, are consecutive intervals of the axis at `place`, where it lies in them; one
// piece is it.
TensorId EmitConcat(Emitter& emitter, const std::vector<Piece>& pieces, const AxisPlace& place,
                    DeviceId device);
// The same tensor in memory of its own on that device.
TensorId EmitCopy(Emitter& emitter, TensorId tensor, DeviceId device);
// add_n.cc: the sum of all pieces.
TensorId EmitAddN(Emitter& emitter, const std::vector<Piece>& pieces, DeviceId device);
// all_reduce.cc: the sum of all pieces on every device that has one, by a collective.
std::vector<Piece> EmitAllReduce(Emitter& emitter, const std::vector<Piece>& pieces);
// all_gather.cc: all pieces on every device that has one, by a collective. `parts`: which part of what is gathered
// each of them is; of one axis, ascending.
std::vector<Piece> EmitAllGather(Emitter& emitter, const std::vector<Piece>& pieces,
                                 const std::vector<AxisPart>& parts);
// reduce_scatter.cc: a part of the sum of all pieces on every device that has one, by a collective. `parts`: by piece,
// of one axis; they cover it once.
std::vector<Piece> EmitReduceScatter(Emitter& emitter, const std::vector<Piece>& pieces,
                                     const std::vector<AxisPart>& parts);
// all_to_all.cc: of all pieces, which are split along one axis, a part along another one on every device that has a
// piece, by a collective. By piece `given`: which part it is of what its device gets, of one axis; `taken`: which part of
// the pieces its device gets, as it lies in its own.
std::vector<Piece> EmitAllToAll(Emitter& emitter, const std::vector<Piece>& pieces,
                                const std::vector<AxisPart>& given,
                                const std::vector<AxisPart>& taken);
// broadcast.cc: what one device has on `others` as well (one or more, without the root), by a collective.
std::vector<Piece> EmitBroadcast(Emitter& emitter, const Piece& root,
                                 const std::vector<DeviceId>& others);

// "%0", and which interval of which axis: dimension, outer, size, from, to.
std::vector<Value> PartArguments(const AxisPart& part);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_REWRITES_REWRITES_H_
