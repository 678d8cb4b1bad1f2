// From worked-out types to the graph: op names, module paths, views, kinds.
#ifndef PLACEWRIGHT_FORMATS_ONNX_EMIT_H_
#define PLACEWRIGHT_FORMATS_ONNX_EMIT_H_

#include <onnx/onnx_pb.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/onnx/reader.h"
#include "formats/onnx/shapes/types.h"
#include "formats/onnx/sources.h"
#include "graph/graph.h"
#include "graph/graph_builder.h"

namespace placewright::onnx_import {

struct EmitInput {
  const onnx::ModelProto& model;
  const std::vector<int>& order;  // topological
  const Sources& sources;
  const TypeTable& types;
  int opset = 0;  // version of ONNX's own operator set
  int64_t batch = 0;
};

// Errors: kGraphShape naming the first op, in order, with an output of unknown size; kUnknownName
// (a tensor that nothing makes); kField (a name that is no UTF-8, a tensor of 2^60 bytes or more).
Result<Graph> EmitGraph(const EmitInput& input, OnnxReport* report);
// The same before anything is derived (graph/batch/proof.h compares such).
Result<GraphBuilder> EmitBuilder(const EmitInput& input, OnnxReport* report);

// By node index: the node's name, "#2", "#3" appended to later ones of the same name; "Conv_12"
// (and the like) for nodes without a name.
std::vector<std::string> UniqueNodeNames(const onnx::GraphProto& graph);
// "/layer1/conv1/Conv" -> "layer1/conv1"; "Conv_3" -> "".
std::string ModulePath(std::string_view node_name);
// True if output 0 has the content of input 0 in the same order, so that no data need move.
bool IsView(const onnx::NodeProto& node, const TypeTable& types, int opset);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_EMIT_H_
