// What libonnx sees of one node while it infers that node's output types.
#ifndef PLACEWRIGHT_FORMATS_ONNX_SHAPES_NODE_CONTEXT_H_
#define PLACEWRIGHT_FORMATS_ONNX_SHAPES_NODE_CONTEXT_H_

#include <onnx/defs/shape_inference.h>
#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formats/onnx/shapes/infer.h"
#include "formats/onnx/shapes/types.h"

namespace placewright::onnx_import {

// Runs ShapeInference over a sub-graph when libonnx asks for it (If, Loop, Scan).
class SubGraphInferencer : public onnx::GraphInferencer {
 public:
  SubGraphInferencer(const onnx::GraphProto& graph, const TypeTable& outer,
                     ShapeInference* inference)
      : graph_(graph), outer_(outer), inference_(inference) {}

  // Types of the sub-graph's outputs, perhaps partial; owned by this object until the next call.
  // Throws onnx::InferenceError if the sub-graph does not fit.
  std::vector<const onnx::TypeProto*> doInferencing(
      const std::vector<const onnx::TypeProto*>& input_types,
      const std::vector<const onnx::TensorProto*>& input_data) override;

 private:
  const onnx::GraphProto& graph_;
  const TypeTable& outer_;
  ShapeInference* inference_;
  std::vector<std::unique_ptr<onnx::TypeProto>> types_;
};

// `inputs` holds nullptr for absent inputs; indices out of range throw.
class NodeContext : public onnx::InferenceContext {
 public:
  NodeContext(const onnx::NodeProto& node, const TypeTable& table,
              const std::vector<const KnownTensor*>& inputs, ShapeInference* inference);

  const onnx::AttributeProto* getAttribute(const std::string& name) const override;
  size_t getNumInputs() const override { return inputs_.size(); }
  const onnx::TypeProto* getInputType(size_t index) const override;
  const onnx::TensorProto* getInputData(size_t index) const override {
    return data_.at(index).get();
  }
  size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(size_t index) override { return &outputs_.at(index); }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override;
  // Folded values are plain data here: there is nothing partial or sparse.
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(size_t) const override { return nullptr; }

 private:
  const onnx::NodeProto& node_;
  const TypeTable& table_;
  const std::vector<const KnownTensor*>& inputs_;
  ShapeInference* inference_;
  std::vector<onnx::TypeProto> outputs_;
  std::vector<std::unique_ptr<onnx::TensorProto>> data_;  // values of inputs that are known
  std::map<std::string, std::unique_ptr<SubGraphInferencer>> inferencers_;
};

// Loop, of which libonnx drops all shapes: a carried tensor keeps its shape if the body, given that
// shape, makes it again; what is collected has as many rows as the trip count, where that is known
// (if the condition ends the loop earlier, fewer: the sizes are the largest possible).
// May throw as doInferencing does.
void InferLoop(const onnx::NodeProto& node, const std::vector<const KnownTensor*>& inputs,
               NodeContext* context, std::vector<KnownTensor>* outputs);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_SHAPES_NODE_CONTEXT_H_
