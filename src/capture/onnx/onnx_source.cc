#include "capture/onnx/onnx_source.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "aten/failure.h"
#include "base/text.h"
#include "capture/onnx/interpreter.h"
#include "capture/outside/outside_model.h"

namespace placewright {
namespace {

constexpr int64_t kNewestSet = 23;  // whose semantics src/capture/onnx/operators follow

// Tensors that BatchNormalization nodes read as running mean and variance.
std::set<std::string> RunningStatistics(const ImportedModel& program) {
  std::set<std::string> names;
  for (const ImportedNode& node : program.graph.nodes) {
    if (node.type != "BatchNormalization" || node.inputs.size() < 5) continue;
    names.insert(node.inputs.begin() + 3, node.inputs.begin() + 5);
  }
  return names;
}

at::ScalarType TypeOf(DType dtype, const std::string& name) {
  if (const auto type = lowering::TorchType(dtype)) return *type;
  throw TorchFailure(MakeError(
      ErrorCode::kOnnxOperator,
      fmt::format("the tensor '{}' is of a type that LibTorch does not have", Printable(name))));
}

// A place in the tree of modules: the name's parts between dots, as in PyTorch, where every part is
// a name and they are not too many; else the name in one piece, without dots.
std::vector<std::string> PathOf(const std::string& name) {
  constexpr size_t kMaxParts = 32;
  std::vector<std::string> parts;
  for (size_t at = 0; at <= name.size();) {
    const size_t dot = std::min(name.find('.', at), name.size());
    parts.push_back(name.substr(at, dot - at));
    at = dot + 1;
  }
  const auto empty = [](const std::string& part) { return part.empty(); };
  if (parts.size() <= kMaxParts && std::none_of(parts.begin(), parts.end(), empty)) return parts;
  std::string flat = name.empty() ? "_" : name;
  std::replace(flat.begin(), flat.end(), '.', '_');
  return {flat};
}

struct Inner : torch::nn::Module {};

class ImportedModelStep : public OutsideModel {
 public:
  ImportedModelStep(std::shared_ptr<const ImportedModel> program, LossKind loss, int64_t batch,
                    bool keep_contents)
      : OutsideModel(loss),
        program_(std::move(program)),
        batch_(batch),
        keep_contents_(keep_contents) {
    const std::set<std::string> running = RunningStatistics(*program_);
    for (const NamedImportedTensor& item : program_->parameters) {
      Register(item, running.count(item.name) > 0);
    }
  }

  std::vector<NamedTensor> MakeInputs() const override {
    std::vector<NamedTensor> inputs;
    for (const ImportedInput& input : program_->inputs) {
      std::vector<int64_t> shape = input.shape;
      for (const size_t dimension : input.batch_at) shape[dimension] = batch_;
      const auto options = at::TensorOptions().dtype(TypeOf(input.dtype, input.name));
      const bool real = at::isFloatingType(options.dtype().toScalarType());
      inputs.push_back({input.name, real ? at::randn(shape, options) : at::zeros(shape, options)});
    }
    return inputs;
  }

  at::Tensor ContentOf(const at::Tensor& found) const override { return contents_.Of(found); }

  std::vector<std::string> Notes() const override {
    std::vector<std::string> names;
    for (const std::string& name : used_contents_) names.push_back(Printable(name));
    if (names.empty()) return {};
    return {
        fmt::format("recorded for what --inputs says of {}: with other values it is another step",
                    fmt::join(names, ", "))};
  }

 protected:
  Tensors RunModel(const Tensors& inputs) override {
    std::unordered_map<std::string, lowering::Value> known;
    for (size_t i = 0; i < inputs.size() && i < program_->inputs.size(); ++i) {
      const ImportedInput& input = program_->inputs[i];
      lowering::Value& value = known[input.name] = inputs[i];
      if (const at::Tensor content = GivenContent(input, inputs[i]); content.defined()) {
        auto source = std::make_shared<lowering::Value::Source>();
        source->input = input.name;
        source->content = content;
        value.SetSource(std::move(source));
      }
    }
    for (const auto& [name, tensor] : tensors_) known[name] = tensor;
    lowering::Interpreter interpreter(
        *program_, {is_training(), batch_ == program_->batch || program_->batch == 0});
    const lowering::KeepConstants keep(keep_contents_ ? &contents_ : nullptr);
    Tensors outputs = interpreter.Run(std::move(known));
    used_contents_.insert(interpreter.used_contents().begin(), interpreter.used_contents().end());
    return outputs;
  }

 private:
  // At the batch that it was given for; else undefined.
  at::Tensor GivenContent(const ImportedInput& input, const at::Tensor& tensor) const {
    const bool here = batch_ == program_->batch || program_->batch == 0;
    if (!input.content || !here || tensor.sizes() != input.shape) return {};
    return lowering::HostTensor({input.dtype, input.shape, input.content});
  }
  void Register(const NamedImportedTensor& item, bool running) {
    std::vector<std::string> path = PathOf(item.name);
    torch::nn::Module* place = this;
    std::shared_ptr<torch::nn::Module> held;
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      const auto found = place->named_children().contains(path[i]);
      held = found ? place->named_children()[path[i]]
                   : place->register_module(path[i], std::make_shared<Inner>());
      place = held.get();
    }
    std::string leaf = path.back();
    while (place->named_parameters(false).contains(leaf) ||
           place->named_buffers(false).contains(leaf)) {
      leaf += "_";
    }
    const at::Tensor content = Content(item);
    const bool trained = content.is_floating_point() && !running;
    at::Tensor registered =
        trained ? place->register_parameter(leaf, content) : place->register_buffer(leaf, content);
    if (keep_contents_) {
      if (const at::Tensor stored = lowering::HostTensor(item.tensor); stored.defined()) {
        contents_.Add(registered, stored);
      }
    }
    tensors_.emplace_back(item.name, std::move(registered));
  }

  // Numbers that keep signals of about their size; scales and variances are positive.
  static at::Tensor Content(const NamedImportedTensor& item) {
    const auto& shape = item.tensor.shape;
    const auto options = at::TensorOptions().dtype(TypeOf(item.tensor.dtype, item.name));
    const at::Tensor made = at::empty(shape, options);
    if (made.is_meta()) return made;
    if (const at::Tensor known = lowering::HostTensor(item.tensor); known.defined()) return known;
    if (!made.is_floating_point()) return at::zeros(shape, options);
    if (shape.size() < 2) return at::add(at::rand(shape, options), 0.5);
    const auto fan_in = static_cast<double>(made.numel()) / static_cast<double>(shape[0]);
    return at::mul(at::randn(shape, options), 1.0 / std::sqrt(std::max(1.0, fan_in)));
  }

  std::shared_ptr<const ImportedModel> program_;
  int64_t batch_;
  bool keep_contents_;
  lowering::Contents contents_;
  std::set<std::string> used_contents_;
  std::vector<std::pair<std::string, at::Tensor>> tensors_;  // by the name in the program
};

}  // namespace

std::vector<std::string> OnnxSource::Notes() const {
  const auto version = program_->versions.find("");
  if (version == program_->versions.end() || version->second <= kNewestSet) return {};
  return {
      fmt::format("the model uses version {} of ONNX's operators, which are taken as those of {}",
                  version->second, kNewestSet)};
}

std::shared_ptr<Model> OnnxSource::Build(int64_t batch) const {
  if (program_->graph.outputs.empty()) {
    throw TorchFailure(MakeError(ErrorCode::kNotRecordable, "the model has no outputs"));
  }
  return std::make_shared<ImportedModelStep>(program_, loss_, batch, keeps_contents());
}

}  // namespace placewright
