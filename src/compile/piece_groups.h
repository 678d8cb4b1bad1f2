// Collectives by which pieces of a tensor come to be what devices need of it (internal to the module): over which groups
// of the devices, by what each has and needs.
//
// Devices whose pieces have one box, and different parts of a sum, add these up; devices that need the same, and have
// different intervals of an axis of it, gather these. Of devices that have the same, each is in a group of its own. On a
// mesh of batch x heads gradients of heads are added up by the devices that have these heads, activations gathered by
// those that have these samples.
#ifndef PLACEWRIGHT_COMPILE_PIECE_GROUPS_H_
#define PLACEWRIGHT_COMPILE_PIECE_GROUPS_H_

#include <optional>
#include <vector>

#include "compile/emitter.h"
#include "compile/tensor_state.h"
#include "sharding/named_axes.h"

namespace placewright {

// What each device needs, by piece; of one that it does not name all of the axis.
using Needs = PieceBoxes;

// The collectives are emitted, and what pieces are then is returned; nothing, and none is emitted, where there are no
// such groups.

// Of parts of a sum: every piece is complete in its box.
std::optional<TensorState> EmitCompleted(Emitter& emitter, const NamedAxes& axes,
                                         const TensorState& state);
// Every piece is what its device needs, which lies within its box. Where groups are only some of those that have parts
// of the sum (shards within each host), what they made is added up behind it.
std::optional<TensorState> EmitScattered(Emitter& emitter, const NamedAxes& axes,
                                         const TensorState& state, const Needs& needs);
// Of complete pieces: every piece is what its device needs, where that is more than it has along one axis and less along
// another. Groups are of devices whose pieces have all of the first axis between them, and equal parts of the second.
// Nothing, too, where it is estimated to take longer than to gather what is needed and to cut it.
std::optional<TensorState> EmitExchanged(Emitter& emitter, const TensorState& state,
                                         const Needs& needs);
// Of complete pieces: every box holds what its device needs of the axes by which they are split, an axis after the other.
std::optional<TensorState> EmitGathered(Emitter& emitter, const TensorState& state,
                                        const Needs& needs);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_PIECE_GROUPS_H_
