// A step of a program that a reader of model files made (ONNX), lowered to LibTorch calls.
#ifndef PLACEWRIGHT_CAPTURE_ONNX_ONNX_SOURCE_H_
#define PLACEWRIGHT_CAPTURE_ONNX_ONNX_SOURCE_H_

#include <memory>
#include <string>

#include "capture/step/step_source.h"
#include "program/imported_model.h"
#include "torch_api/capture_service.h"

namespace placewright {

// Parameters of floats are trained ("param:NAME", names of the file's tensors). All others that the
// file stores as parameters, and running statistics of BatchNormalization, are buffers. In a
// training step BatchNormalization and Dropout train, whatever the file says; else they do what it
// says. With memory, parameters hold what the file holds, where the program carries it, and else
// random numbers; inputs of floats are random, others zero. An input of given content
// (ImportedInput::content) is read where the step depends on what it holds; all else of it stays data.
class OnnxSource : public StepSource {
 public:
  OnnxSource(std::shared_ptr<const ImportedModel> program, LossKind loss)
      : program_(std::move(program)), loss_(loss) {}
  // Of a request with a program.
  static Result<OnnxSource> Create(const CaptureRequest& request) {
    return OnnxSource(request.imported, request.loss);
  }
  const std::string& name() const override { return program_->name; }
  int64_t batch() const override { return program_->batch; }
  // The model's RunModel throws what onnx/interpreter.h says. Throws TorchFailure: kOnnxOperator
  // (a tensor of a type that LibTorch does not have), kNotRecordable (no outputs).
  std::shared_ptr<Model> Build(int64_t batch) const override;
  // Names operator sets that are newer than what the operators follow.
  std::vector<std::string> Notes() const override;

 private:
  std::shared_ptr<const ImportedModel> program_;  // shared with the models, which run it
  LossKind loss_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_ONNX_ONNX_SOURCE_H_
