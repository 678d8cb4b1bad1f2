// Who makes and who reads each tensor of an ONNX graph: names checked, sub-graphs' captured tensors
// found, nodes brought into an order in which producers come first.
#ifndef PLACEWRIGHT_FORMATS_ONNX_SCOPE_H_
#define PLACEWRIGHT_FORMATS_ONNX_SCOPE_H_

#include <onnx/onnx_pb.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace placewright::onnx_import {

// "node /layer1/conv (Conv)", or "nodes[12] (Conv)" for a node without a name.
std::string NodePlace(const onnx::GraphProto& graph, int index);

// The sub-graphs among a node's attributes, in file order.
std::vector<const onnx::GraphProto*> SubGraphs(const onnx::NodeProto& node);

// Names that a node reads from its own graph: its inputs (absent ones left out), then what its
// sub-graphs, nested ones included, capture; each captured name once.
struct Reads {
  std::vector<std::string_view> captured;  // not among the node's own inputs
};
Reads CapturedNames(const onnx::NodeProto& node);

// Node indices, producers before readers, by smallest index among the ready (a sorted file keeps
// its order). Checks this graph and its sub-graphs. Errors: kDuplicateName (a tensor with two
// producers), kGraphCycle naming a node on the cycle. Names that nothing here defines come from
// outside. Complexity: O(n log n) in nodes and inputs for each nesting level.
Result<std::vector<int>> SortNodes(const onnx::GraphProto& graph);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_SCOPE_H_
