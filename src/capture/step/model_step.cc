#include "capture/step/model_step.h"

#include "aten/failure.h"
#include "capture/autocast/autocast.h"
#include "capture/meta/meta_run.h"
#include "capture/step/capture_step.h"

namespace placewright {
namespace {

std::unique_ptr<Optimizer> MakeOptimizer(Training training, std::vector<NamedTensor> parameters) {
  switch (training) {
    case Training::kNone: return nullptr;
    case Training::kSgd: return MakeSgd(std::move(parameters));
    case Training::kAdam: return MakeAdam(std::move(parameters));
  }
  return nullptr;
}

std::vector<at::Tensor> TensorsOf(const std::vector<NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& item : named) tensors.push_back(item.tensor);
  return tensors;
}

}  // namespace

Result<ModelStep> ModelStep::Build(const CaptureRequest& request, bool on_meta) {
  PW_ASSIGN(ZooSource source, ZooSource::Create(request));
  source.Follow(request);
  return Build(source, source.batch(), request.training, on_meta);
}

Result<ModelStep> ModelStep::Build(const StepSource& source, int64_t batch, Training training,
                                   bool on_meta) {
  ModelStep step;
  step.name_ = source.name();
  step.batch_ = batch;
  step.on_meta_ = on_meta;
  step.autocast_ = source.autocast();
  step.training_ = training;
  const auto build = [&] {
    step.model_ = source.Build(batch);
    NameModules(*step.model_);
    step.model_->train(training != Training::kNone);
    for (const auto& item : step.model_->named_parameters()) {
      step.parameters_.push_back({item.key(), item.value()});
    }
    step.inputs_ = step.model_->MakeInputs();
    if (training != Training::kNone) {
      for (NamedTensor& target : step.model_->MakeTargets(TensorsOf(step.inputs_))) {
        step.inputs_.push_back(std::move(target));
      }
    }
    // Frozen parameters have no gradient, and no state.
    std::vector<NamedTensor> trained;
    for (const NamedTensor& parameter : step.parameters_) {
      if (parameter.tensor.requires_grad()) trained.push_back(parameter);
    }
    step.optimizer_ = MakeOptimizer(training, std::move(trained));
  };
  step.interrupted_ = source.interrupted();
  PW_RETURN_IF_ERROR(on_meta ? OnMeta(build, step.interrupted_) : CatchFailure(build));
  return step;
}

std::vector<ModelStep::Found> ModelStep::FoundTensors() const {
  std::vector<Found> found;
  for (const auto& [name, tensor] : parameters_) {
    found.push_back({"param:" + name, TensorKind::kParameter, tensor});
  }
  for (const auto& item : model_->named_buffers()) {
    found.push_back({"buffer:" + item.key(), TensorKind::kBuffer, item.value()});
  }
  if (optimizer_) {
    for (const auto& [name, tensor] : optimizer_->State()) {
      found.push_back({"opt_state:" + name, TensorKind::kOptimizerState, tensor});
    }
  }
  for (const auto& [name, tensor] : inputs_) {
    found.push_back({"input:" + name, TensorKind::kInput, tensor});
  }
  return found;
}

void ModelStep::RunForward() {
  const std::vector<at::Tensor> inputs = TensorsOf(inputs_);
  const at::AutoGradMode gradients(training_ != Training::kNone);
  const AutocastScope autocast(autocast_);
  outputs_ = model_->Forward(inputs);
  if (training_ != Training::kNone) loss_ = model_->Loss(outputs_, inputs);
}

// Gradients are new tensors in every step.
void ModelStep::RunBackward() {
  for (const NamedTensor& parameter : parameters_) parameter.tensor.mutable_grad().reset();
  if (autocast_ == at::kHalf) {
    loss_.backward(at::full_like(loss_, kLossScale));
  } else {
    loss_.backward();
  }
}

void ModelStep::Update() {
  if (autocast_ == at::kHalf) {
    for (const NamedTensor& parameter : parameters_) {
      const at::Tensor gradient = parameter.tensor.grad();
      if (gradient.defined()) gradient.mul_(1 / kLossScale);
    }
  }
  optimizer_->Step();
}

Result<at::Tensor> ModelStep::Run() {
  PW_RETURN_IF_ERROR(CatchFailure([&] {
    RunForward();
    if (training_ == Training::kNone) return;
    RunBackward();
    Update();
  }));
  return training_ == Training::kNone ? outputs_[0] : loss_.detach();
}

Result<std::vector<at::Tensor>> ModelStep::RunBelow(Recorder& recorder) {
  const std::vector<Found> found = FoundTensors();
  for (const Found& item : found) {
    PW_RETURN_IF_ERROR(recorder.AddInput(item.name, item.kind, item.tensor));
  }
  PW_RETURN_IF_ERROR(recorder.Run(Phase::kForward, [&] { RunForward(); }));
  if (training_ == Training::kNone) return outputs_;
  PW_RETURN_IF_ERROR(recorder.Run(Phase::kBackward, [&] { RunBackward(); }));
  PW_RETURN_IF_ERROR(recorder.Run(Phase::kOptimizer, [&] { Update(); }));
  std::vector<at::Tensor> outputs = {loss_};
  for (const Found& item : found) {
    if (item.kind != TensorKind::kInput && recorder.HasMade(item.tensor)) {
      outputs.push_back(item.tensor);
    }
  }
  return outputs;
}

Result<ModelStep::Recording> ModelStep::Record() {
  Recorder recorder(
      {.name = name_, .batch = batch_, .on_meta = on_meta_, .interrupted = interrupted_});
  PW_ASSIGN(const std::vector<at::Tensor> outputs, RunBelow(recorder));
  std::vector<at::Tensor> gradients;
  if (training_ != Training::kNone) {
    for (const NamedTensor& parameter : parameters_) gradients.push_back(parameter.tensor.grad());
  }
  Recording recording;
  PW_ASSIGN(recording.step, std::move(recorder).Finish(outputs, gradients, &recording.gradients));
  return recording;
}

Result<GraphBuilder> ModelStep::RecordToCompare() {
  Recorder recorder(
      {.name = name_, .batch = batch_, .on_meta = on_meta_, .interrupted = interrupted_});
  PW_ASSIGN(const std::vector<at::Tensor> outputs, RunBelow(recorder));
  return std::move(recorder).Assemble(outputs);
}

Result<Capture> CaptureZooModel(const CaptureRequest& request) {
  PW_ASSIGN(ZooSource source, ZooSource::Create(request));
  source.Follow(request);
  return CaptureStep(source, request.training, request.prove_batch);
}

}  // namespace placewright
