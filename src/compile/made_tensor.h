// What of a tensor of a step in lanes may make a difference to what reads it (internal to the module).
#ifndef PLACEWRIGHT_COMPILE_MADE_TENSOR_H_
#define PLACEWRIGHT_COMPILE_MADE_TENSOR_H_

#include "base/ids.h"
#include "base/units.h"
#include "compile/part_prices.h"
#include "graph/graph.h"

namespace placewright {

// That of the first device of a class.
struct MadeTensor {
  PartTypeId type;
  Bytes offset, storage_bytes;
  bool inexact = false, input = false, made = false;
  DeviceId home;  // of its storage
  DeviceId on;    // of its maker
  Phase phase = Phase::kForward;
  friend bool operator==(const MadeTensor&, const MadeTensor&) = default;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_MADE_TENSOR_H_
