#include "capture/outside/outside_model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "aten/failure.h"

namespace placewright {
namespace {

// Where the classes of an output lie.
int64_t ClassDimension(const at::Tensor& output) {
  return output.dim() <= 3 ? output.dim() - 1 : 1;
}

bool HasTarget(LossKind loss, const at::Tensor& output) {
  return output.is_floating_point() &&
         (loss == LossKind::kMeanSquared || (loss == LossKind::kCrossEntropy && output.dim() > 0));
}

at::Tensor MakeTarget(LossKind loss, const at::Tensor& output) {
  if (loss == LossKind::kMeanSquared) return at::randn(output.sizes(), output.options());
  const int64_t classes = ClassDimension(output);
  std::vector<int64_t> shape = output.sizes().vec();
  shape.erase(shape.begin() + classes);
  return at::randint(std::max<int64_t>(1, output.size(classes)), shape,
                     output.options().dtype(at::kLong));
}

// The classes become dimension 1, as LibTorch wants them.
at::Tensor CrossEntropy(const at::Tensor& output, const at::Tensor& target) {
  const int64_t classes = ClassDimension(output);
  if (classes > 1) return at::cross_entropy_loss(output.flatten(0, -2), target.flatten());
  if (classes == 0) return at::cross_entropy_loss(output.unsqueeze(0), target.unsqueeze(0));
  return at::cross_entropy_loss(output, target);
}

}  // namespace

std::vector<NamedTensor> OutsideModel::MakeTargets(const Tensors& inputs) {
  own_inputs_ = inputs.size();
  if (loss_ == LossKind::kMean || loss_ == LossKind::kOutput) return {};
  const at::NoGradGuard guard;
  const Tensors outputs = RunModel(inputs);
  std::vector<NamedTensor> targets;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!HasTarget(loss_, outputs[i])) continue;
    const std::string name = outputs.size() == 1 ? "target" : fmt::format("target{}", i);
    targets.push_back({name, MakeTarget(loss_, outputs[i])});
  }
  return targets;
}

Model::Tensors OutsideModel::Forward(const Tensors& inputs) {
  if (own_inputs_ == 0 || inputs.size() == own_inputs_) return RunModel(inputs);
  return RunModel(Tensors(inputs.begin(), inputs.begin() + static_cast<int64_t>(own_inputs_)));
}

at::Tensor OutsideModel::Loss(const Tensors& outputs, const Tensors& inputs) {
  size_t target = own_inputs_;
  at::Tensor total;
  for (const at::Tensor& output : outputs) {
    at::Tensor loss;
    if (!output.is_floating_point()) continue;
    if (loss_ == LossKind::kOutput) {
      if (output.numel() == 1) loss = output.reshape({});
      if (!loss.defined()) break;
    } else if (loss_ == LossKind::kMean) {
      loss = output.mean();
    } else if (HasTarget(loss_, output)) {
      const at::Tensor& wanted = inputs.at(target++);
      loss = loss_ == LossKind::kMeanSquared ? at::mse_loss(output, wanted)
                                             : CrossEntropy(output, wanted);
    }
    if (!loss.defined() || !loss.requires_grad()) continue;
    total = total.defined() ? total + loss : loss;
    if (loss_ == LossKind::kOutput) break;
  }
  if (total.defined()) return total;
  if (parameters().empty()) {
    throw TorchFailure(MakeError(
        ErrorCode::kNotRecordable, "the model has no parameter to train", "",
        "Save it before weights become constants (torch.jit.freeze, optimize_for_inference, "
        "constant folding), or give --train none."));
  }
  throw TorchFailure(MakeError(
      ErrorCode::kNotRecordable,
      fmt::format("no output can be trained on with the loss \"{}\"", ToString(loss_)), "",
      "An output of floats must depend on a parameter (and have one element for the loss "
      "\"output\"). Choose another --loss, or --train none."));
}

}  // namespace placewright
