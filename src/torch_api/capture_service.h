// Recording models: what the program asks of `capture`, without LibTorch.
#ifndef PLACEWRIGHT_TORCH_API_CAPTURE_SERVICE_H_
#define PLACEWRIGHT_TORCH_API_CAPTURE_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "program/imported_model.h"
#include "torch_api/model_input.h"

namespace placewright {

// What is recorded: a forward pass alone, or a training step with an update.
enum class Training : uint8_t { kNone, kSgd, kAdam };

std::string_view ToString(Training training);  // "none", "sgd", "adam"
// Errors: kUsage with near names.
Result<Training> ParseTraining(std::string_view text);

// In which the forward pass computes: as the model stands, or by automatic mixed precision (products and
// convolutions in 16 bits, what needs it in f32).
enum class CapturePrecision : uint8_t { kAsIs, kF16, kBf16 };

// "f16", "bf16". Errors: kUsage with near names.
Result<CapturePrecision> ParseAmp(std::string_view text);

// What a model from a file is trained on (capture/outside/outside_model.h); models of the zoo bring
// their own loss.
enum class LossKind : uint8_t { kCrossEntropy, kMeanSquared, kMean, kOutput };

// "cross-entropy", "mean-squared", "mean", "output"
std::string_view ToString(LossKind loss);
// Errors: kUsage with near names.
Result<LossKind> ParseLoss(std::string_view text);

// A number that a model of the zoo can be built with.
struct ZooParameter {
  std::string name, meaning;
  double value = 0, min = 0, max = 0;  // value: the default
  bool whole = true;
};

// The sizes of one paper, by name: "inception-v3@mars".
struct ZooPreset {
  std::string name, source;
  std::map<std::string, double> values;  // those that differ from the defaults
  std::string cluster;  // preset of the machines that the paper places it on; "" where it has none
  int64_t paper_ops = 0;  // of its TensorFlow graph, where the paper says so; else 0
};

struct ZooModel {
  std::string name, description, source;
  std::vector<ZooParameter> parameters;  // `batch` among them
  std::vector<ZooPreset> presets;
};

// Where a model comes from.
enum class ModelSource : uint8_t { kZoo, kTorchScript, kOnnx };

struct CaptureRequest {
  std::string model;  // NAME or NAME@PRESET of the zoo, else the path of a file
  Training training = Training::kAdam;
  std::map<std::string, double> values;  // overrides of parameters; of files `batch` alone

  CapturePrecision precision = CapturePrecision::kAsIs;

  // Ends the recording with kInterrupted once it is set.
  const std::atomic<bool>* interrupted = nullptr;

  // Models from files only.
  ModelSource source = ModelSource::kZoo;
  LossKind loss = LossKind::kCrossEntropy;
  std::vector<ModelInput> inputs;
  // Places in the file, [begin, end) in bytes, that need not be read to know its shapes.
  std::vector<std::pair<int64_t, int64_t>> weights{};
  std::shared_ptr<const ImportedModel> imported{};  // of an ONNX file; shared with what runs it

  // ONNX models: Capture::contents shall be what the file says that parameters and constants hold.
  bool keep_contents = false;
  std::vector<std::string> notes{};  // on how the model was read, for the user
  bool prove_batch = true;  // records at two more sizes: the graph has batch_scaling() then
};

// A recorded step. See docs/capture.md.
struct Capture {
  Graph graph;
  IdVector<OpId, bool> module_stated;  // of every op, whether a module ran it; else worked out
  std::vector<std::string> notes{};    // sentences on what was taken otherwise than it stands there
  // Where CaptureRequest::keep_contents asks for it: of tensors that the step finds there, elements in
  // row-major order, little-endian.
  std::vector<std::pair<TensorId, std::string>> contents{};
};

class CaptureService {
 public:
  virtual ~CaptureService() = default;
  // All models of the zoo, by name; none where the library records models of files.
  virtual std::vector<ZooModel> Zoo() const = 0;
  // Records one step without computing anything. Errors: kUnknownName (model, preset, parameter;
  // with near names), kField (a value out of range), kUsage (a source that this library does not
  // record), those of the recorder.
  virtual Result<Capture> CaptureModel(const CaptureRequest& request) const = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_CAPTURE_SERVICE_H_
