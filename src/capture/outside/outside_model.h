// Models that come in files (ONNX, TorchScript): they bring no loss and no targets of their own.
#ifndef PLACEWRIGHT_CAPTURE_OUTSIDE_OUTSIDE_MODEL_H_
#define PLACEWRIGHT_CAPTURE_OUTSIDE_OUTSIDE_MODEL_H_

#include <vector>

#include "capture/zoo/model.h"
#include "torch_api/capture_service.h"

namespace placewright {

// The loss of a training step is the sum over the outputs of floats:
//   kCrossEntropy   mean cross entropy with classes along one dimension: the last of up to three,
//                   dimension 1 (channels) of more; targets are class numbers
//   kMeanSquared    mean squared difference from a target of the output's shape
//   kMean           mean of the output, no target
//   kOutput         output 0 is the loss: it has one element
// Targets are inputs of the step: "target", or "target0", "target1", ... by output.
class OutsideModel : public Model {
 public:
  explicit OutsideModel(LossKind loss) : loss_(loss) {}
  // Runs the model once to see what its outputs are.
  std::vector<NamedTensor> MakeTargets(const Tensors& inputs) final;
  // `inputs` may go on with targets.
  Tensors Forward(const Tensors& inputs) final;
  // Throws TorchFailure: kNotRecordable where no output can be trained on.
  at::Tensor Loss(const Tensors& outputs, const Tensors& inputs) final;

 protected:
  // The model itself; `inputs` are those of MakeInputs.
  virtual Tensors RunModel(const Tensors& inputs) = 0;

 private:
  LossKind loss_;
  size_t own_inputs_ = 0;  // without targets; 0: MakeTargets was not called
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_OUTSIDE_OUTSIDE_MODEL_H_
