// Where a tensor of the original step is in the distributed one.
#ifndef PLACEWRIGHT_COMPILE_TENSOR_STATE_H_
#define PLACEWRIGHT_COMPILE_TENSOR_STATE_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "compile/piece_boxes.h"
#include "plan/distributed_step.h"

namespace placewright {

// One tensor of the distributed graph, of the original.
struct Piece {
  DeviceId device;
  TensorId tensor;
  friend bool operator==(const Piece&, const Piece&) = default;
};

struct TensorState {
  // None: nothing has made it.
  std::vector<Piece> pieces;
  // Of the pieces, in their order; beside them, as most have none. What each has of the original; empty: each has all
  // of it. Boxes of different pieces are equal, or have parts in common where layouts are uneven.
  PieceBoxes boxes;
  // And of the axes that are summed over; empty: they are no parts of a sum. Of pieces with equal box and equal parts
  // of the sum one counts; the different ones that have an element cover the summed axes once.
  std::vector<Box> summed;
  // The pieces are views of copies that were fetched: what is written there is lost to the original.
  bool of_copies = false;
  // Every piece, though whole, is of its device's part alone: statistics of a batch norm that is not synchronised.
  bool of_parts = false;

  friend bool operator==(const TensorState&, const TensorState&) = default;
  bool IsSplit() const { return !boxes.empty(); }
  bool IsPartial() const { return !summed.empty(); }
  bool IsWhole() const { return !pieces.empty() && !IsSplit() && !IsPartial(); }
  const TensorBox& BoxAt(size_t piece) const {
    static const TensorBox all;
    return boxes.empty() ? all : boxes[piece];
  }
  const Box& SummedAt(size_t piece) const {
    static const Box all;
    return summed.empty() ? all : summed[piece];
  }
  // Precondition: the device has one.
  size_t IndexOn(DeviceId device) const { return static_cast<size_t>(On(device) - pieces.data()); }
  const Piece* On(DeviceId device) const {
    // Of devices that ascend, as they mostly do, without a look at all of them.
    const auto at =
        std::lower_bound(pieces.begin(), pieces.end(), device,
                         [](const Piece& piece, DeviceId of) { return piece.device < of; });
    if (at != pieces.end() && at->device == device) return &*at;
    for (const Piece& piece : pieces) {
      if (piece.device == device) return &piece;
    }
    return nullptr;
  }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_TENSOR_STATE_H_
