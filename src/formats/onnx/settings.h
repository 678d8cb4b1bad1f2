// Inputs that say what an op does with the others, and that were attributes in earlier operator sets: of
// those whose values are known, the op has them as attributes of these names, too, whatever its set.
#ifndef PLACEWRIGHT_FORMATS_ONNX_SETTINGS_H_
#define PLACEWRIGHT_FORMATS_ONNX_SETTINGS_H_

#include <onnx/onnx_pb.h>

#include <vector>

#include "formats/onnx/shapes/types.h"
#include "graph/value.h"

namespace placewright::onnx_import {

// Slice (starts, ends, axes, steps), Pad (pads, axes), CumSum (axis), reductions (axes): what cannot be
// seen in the shapes alone.
void AddSettings(const onnx::NodeProto& node, const TypeTable& types,
                 std::vector<NamedValue>* attributes);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_SETTINGS_H_
