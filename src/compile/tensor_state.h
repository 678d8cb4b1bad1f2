// Where a tensor of the original step is in the distributed one.
#ifndef PLACEWRIGHT_COMPILE_TENSOR_STATE_H_
#define PLACEWRIGHT_COMPILE_TENSOR_STATE_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "plan/distributed_step.h"

namespace placewright {

// One tensor of the distributed graph, and what of the original it is.
struct Piece {
  DeviceId device;
  Interval interval;  // of kSplit
  TensorId tensor;
  friend bool operator==(const Piece&, const Piece&) = default;
};

struct TensorState {
  enum class Kind : uint8_t {
    kNone,    // nothing has made it
    kWhole,   // every piece is all of it
    kSplit,   // the pieces are intervals of one axis, ascending, and cover it
    kPartial  // the sum of the pieces is it
  };
  Kind kind = Kind::kNone;
  AxisPlace place;  // of kSplit
  std::vector<Piece> pieces;
  // The pieces are views of copies that were fetched: what is written there is lost to the original.
  bool of_copies = false;
  // Every piece (kWhole) is of its device's part alone: statistics of a batch norm that is not synchronised.
  bool of_parts = false;

  friend bool operator==(const TensorState&, const TensorState&) = default;
  const Piece* On(DeviceId device) const {
    for (const Piece& piece : pieces) {
      if (piece.device == device) return &piece;
    }
    return nullptr;
  }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_TENSOR_STATE_H_
