// Works out the types of all tensors of a graph, node by node in topological order:
//
//   1. the type that the file stores (value_info), where it is complete;
//   2. else the inference function of the op's schema in libonnx, called on what is known about the
//      inputs, small constants included (guards.h keeps it from inputs that it does not survive);
//   3. where the op is of no schema, of a schema without inference, of another domain than ONNX's
//      own, or reads such an assumed shape and cannot do with it: the shape of the largest input
//      that is no constant, marked as assumed.
//
// libonnx is called per node, not by onnx::shape_inference::InferShapes over the model: a node that
// it rejects then costs that node's shape alone, nodes may come in any order, and folded values
// reach it. Its exceptions stop here.
#ifndef PLACEWRIGHT_FORMATS_ONNX_SHAPES_INFER_H_
#define PLACEWRIGHT_FORMATS_ONNX_SHAPES_INFER_H_

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "formats/onnx/shapes/types.h"

namespace placewright::onnx_import {

class ShapeInference {
 public:
  // `use_stored`: whether value_info and declared outputs are believed (rule 1).
  ShapeInference(const onnx::ModelProto& model, bool use_stored);

  // Adds every output of every node of `graph` to `table`, which holds the graph's inputs and
  // initializers already; `order` is topological. What cannot be inferred stays incomplete.
  void Run(const onnx::GraphProto& graph, const std::vector<int>& order, TypeTable* table);

  // Whether a sub-graph of that many nodes may still be run: nested loops would take time
  // exponential in their depth, so that all runs together are bounded.
  bool TakeSubGraph(int64_t nodes);

  // Version of the operator set of that domain; 0 if the model does not import it.
  int OpsetVersion(const std::string& domain) const;

 private:
  using Stored = std::unordered_map<std::string_view, const onnx::TypeProto*>;
  void RunNode(const onnx::NodeProto& node, const Stored& stored, TypeTable* table);
  // Rules 2 and 3 for the outputs that `outputs` does not know yet.
  void Infer(const onnx::NodeProto& node, const TypeTable& table,
             std::vector<KnownTensor>* outputs);
  // Lets the schema fill the outputs' gaps. Returns why it could not, or "".
  std::string CallSchema(const onnx::NodeProto& node, const onnx::OpSchema& schema,
                         const std::vector<const KnownTensor*>& inputs, const TypeTable& table,
                         std::vector<KnownTensor>* outputs);
  void FoldValues(const onnx::NodeProto& node, const TypeTable& table,
                  std::vector<KnownTensor>* outputs);

  std::unordered_map<std::string, int> opsets_;
  bool use_stored_;
  int64_t sub_graph_budget_ = 500'000;      // nodes
  int64_t fold_budget_ = int64_t{4} << 20;  // elements; bounds the time that folding may take
};

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_SHAPES_INFER_H_
