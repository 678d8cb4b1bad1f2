// Where a tensor of the original step is in the distributed one.
#ifndef PLACEWRIGHT_COMPILE_TENSOR_STATE_H_
#define PLACEWRIGHT_COMPILE_TENSOR_STATE_H_

#include <utility>
#include <vector>

#include "base/ids.h"
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
  // Of the pieces, in their order; beside them, as most have none. What each has of the original, of the same axes: so
  // far of one, ascending, that cover it once; empty: all of it.
  std::vector<TensorBox> boxes;
  // And of the axes that are summed over; empty: they are no parts of a sum.
  std::vector<Box> summed;
  // The pieces are views of copies that were fetched: what is written there is lost to the original.
  bool of_copies = false;
  // Every piece, though whole, is of its device's part alone: statistics of a batch norm that is not synchronised.
  bool of_parts = false;

  friend bool operator==(const TensorState&, const TensorState&) = default;
  bool IsSplit() const { return !boxes.empty(); }
  bool IsPartial() const { return !summed.empty(); }
  bool IsWhole() const { return !pieces.empty() && !IsSplit() && !IsPartial(); }
  // The pieces are parts of this axis alone.
  bool IsSplitAt(const AxisPlace& place) const {
    return IsSplit() && boxes.front().front().place == place;
  }
  void AddPart(DeviceId device, TensorId tensor, TensorBox box) {
    pieces.push_back({device, tensor});
    boxes.push_back(std::move(box));
  }
  // Of a partial sum, of which the device has a piece.
  const Box& SummedOn(DeviceId device) const {
    return summed[static_cast<size_t>(On(device) - pieces.data())];
  }
  const Piece* On(DeviceId device) const {
    for (const Piece& piece : pieces) {
      if (piece.device == device) return &piece;
    }
    return nullptr;
  }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_TENSOR_STATE_H_
