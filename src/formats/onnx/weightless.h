// The weightless form: which ConstantOfShape nodes stand for parameters.
#ifndef PLACEWRIGHT_FORMATS_ONNX_WEIGHTLESS_H_
#define PLACEWRIGHT_FORMATS_ONNX_WEIGHTLESS_H_

#include <onnx/onnx_pb.h>

#include <vector>

namespace placewright::onnx_import {

// By node index: ConstantOfShape nodes that are parameters by their name ("param/...") or, in a
// file without any such name, because a weight operand reads what they make (sources.h). Whether
// their shape is constant is left to the caller. Linear in nodes and inputs.
std::vector<bool> FindWeightlessParameters(const onnx::GraphProto& graph);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_WEIGHTLESS_H_
