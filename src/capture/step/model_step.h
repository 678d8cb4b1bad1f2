// A model with its inputs and its optimizer: one step of it, run or recorded.
#ifndef PLACEWRIGHT_CAPTURE_STEP_MODEL_STEP_H_
#define PLACEWRIGHT_CAPTURE_STEP_MODEL_STEP_H_

#include <memory>
#include <vector>

#include "base/result.h"
#include "capture/recorder/recorder.h"
#include "capture/step/step_source.h"
#include "torch_api/capture_service.h"

namespace placewright {

class ModelStep {
 public:
  // Of a step in f16: the backward pass begins with it in the place of 1, gradients are divided by it before
  // the update, so that small ones do not vanish. A static one (Micikevicius et al. 2018, sec.
  // 3.2); torch.cuda.amp.GradScaler starts with 65,536 and adapts it to what it finds in the gradients,
  // which no step without reading data can.
  static constexpr double kLossScale = 1024;
  // Builds model, inputs and optimizer state; without memory if `on_meta`. Errors: those of
  // `source`; kNotRecordable (values that contradict each other).
  static Result<ModelStep> Build(const StepSource& source, int64_t batch, Training training,
                                 bool on_meta);
  // A model of the zoo. Errors: those of ZooSource::Create, too.
  static Result<ModelStep> Build(const CaptureRequest& request, bool on_meta);

  // Runs the step: forward, and unless nothing is trained backward and update. Returns the loss, or
  // the first output of a forward pass alone.
  Result<at::Tensor> Run();

  struct Recording {
    RecordedStep step;
    std::vector<TensorId> gradients;  // of parameters(), invalid where there is none
  };
  // Runs and records it. Outputs of the graph: those of a forward pass alone; else the loss, then
  // the last version of every parameter, optimizer state and buffer that the step wrote.
  Result<Recording> Record();
  // The same graph before anything is derived of it, to be compared with another recording.
  Result<GraphBuilder> RecordToCompare();

  // What the step finds there, named as in the graph: "param:layer0.weight", "opt_state:...",
  // "buffer:...", "input:x".
  struct Found {
    std::string name;
    TensorKind kind;
    at::Tensor tensor;
  };
  std::vector<Found> FoundTensors() const;
  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  const Model& model() const { return *model_; }

 private:
  ModelStep() = default;
  void RunForward();
  void RunBackward();
  void Update();
  // Runs the step below `recorder`; the outputs of the graph.
  Result<std::vector<at::Tensor>> RunBelow(Recorder& recorder);

  std::string name_;
  int64_t batch_ = 0;
  bool on_meta_ = false;
  std::optional<at::ScalarType> autocast_;
  Training training_ = Training::kNone;
  const std::atomic<bool>* interrupted_ = nullptr;
  std::shared_ptr<Model> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<NamedTensor> parameters_, inputs_;
  std::vector<at::Tensor> outputs_;
  at::Tensor loss_;
};

// Records one step of a model of the zoo without computing anything (CaptureStep). Errors: those of
// ZooSource::Create, Build and Record.
Result<Capture> CaptureZooModel(const CaptureRequest& request);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_STEP_MODEL_STEP_H_
