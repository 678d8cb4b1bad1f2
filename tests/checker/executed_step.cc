#include "executed_step.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "formats/aten/reader.h"
#include "formats/aten/writer.h"
#include "formats/text/file.h"
#include "runtime/executor/executor.h"
#include "runtime/inputs/piece_values.h"
#include "runtime/inputs/seeded_inputs.h"

namespace placewright::tests {
namespace {

constexpr uint64_t kExecutedSeed = 3;
// The first step of Adam divides gradients by their own magnitude: what rounding leaves of one counts there.
constexpr double kExecutedTolerance = 1e-6;

std::string Widened(std::string text) {
  for (const auto& [word, wider] :
       {std::pair("\"f32\"", "\"f64\""), std::pair("torch.float32", "torch.float64")}) {
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
      text.replace(at, std::strlen(word), wider);
    }
  }
  return text;
}

RecordedStep StepOf(std::string name, Graph graph) {
  RecordedStep step{std::move(name), std::make_unique<Graph>(std::move(graph)), nullptr};
  step.axes = std::make_unique<NamedAxes>(*step.graph);
  return step;
}

std::vector<std::unique_ptr<RuntimeDevice>> SimulatedDevices(size_t count) {
  std::vector<std::unique_ptr<RuntimeDevice>> devices;
  for (size_t i = 0; i < count; ++i) {
    devices.push_back(MakeSimulatedDevice({"d" + std::to_string(i), 1, 0}));
  }
  return devices;
}

// How far they are apart, of the magnitude of what is expected.
std::string Difference(const at::Tensor& found, const at::Tensor& expected, double scale,
                       const std::string& name) {
  if (found.sizes() != expected.sizes() || found.scalar_type() != expected.scalar_type()) {
    return name + " has other sizes or another dtype";
  }
  if (!found.is_floating_point()) return found.equal(expected) ? "" : name + " differs";
  if (found.numel() == 0) return "";
  const double largest = std::max(expected.abs().max().item<double>(), 1e-3 * scale);
  const double apart = (found - expected).abs().max().item<double>();
  return apart <= kExecutedTolerance * std::max(largest, 1e-12)
             ? ""
             : fmt::format("{} differs by {:.2g} of its magnitude", name, apart / largest);
}

}  // namespace

RecordedStep InDouble(const RecordedStep& step) {
  return StepOf(step.name,
                ReadAtenGraph(Widened(FormatAtenGraph(*step.graph, {}, nullptr).Take())).Take());
}

RecordedStep FileInDouble(const std::string& path) {
  return StepOf(path,
                std::move(ReadAtenFile(Widened(ReadFile(path).Take()), std::nullopt).Take().graph));
}

ExecutedOriginal::ExecutedOriginal(const Graph& graph) : graph_(graph) {
  at::set_num_threads(1);
  c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
  inputs_ = SeededInputs(graph, kExecutedSeed).Take();
  auto created =
      Executor::Create(graph, Placement(graph.op_count(), DeviceId(0)), SimulatedDevices(1));
  const auto run = [&]() -> Status {
    if (!created.ok()) return created.error();
    Executor& executor = *created.value();
    for (const auto& [id, tensor] : inputs_) PW_RETURN_IF_ERROR(executor.SetInput(id, tensor));
    at::manual_seed(kExecutedSeed);
    PW_RETURN_IF_ERROR(executor.Step());
    for (const auto& [id, tensor] : inputs_) {
      const at::Tensor held = executor.Input(id);
      after_.push_back(held.defined() ? held.clone() : tensor);
    }
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      outputs_.push_back(executor.Output(i).clone());
    }
    return Ok();
  };
  if (const Status ran = run(); !ran.ok()) failure_ = ran.error().ToString();
}

std::string ExecutedOriginal::Differs(const DistributedStep& step, size_t devices) const {
  auto created = Executor::Create(step.graph, step.placement, SimulatedDevices(devices));
  if (!created.ok()) return created.error().ToString();
  Executor& executor = *created.value();
  for (const auto& [id, value] : PieceValues(inputs_, step.inputs)) {
    const Status set = executor.SetInput(id, value);
    if (!set.ok()) return set.error().ToString();
  }
  at::manual_seed(kExecutedSeed);
  if (const Status ran = executor.Step(); !ran.ok()) return ran.error().ToString();
  double scale = 0;
  for (const at::Tensor& tensor : after_) {
    if (tensor.is_floating_point() && tensor.numel() > 1) {
      scale = std::max(scale, tensor.abs().max().item<double>());
    }
  }
  std::map<TensorId, at::Tensor> after;
  for (size_t i = 0; i < inputs_.size(); ++i) after[inputs_[i].first] = after_[i];
  for (const DistributedStep::InputPiece& input : step.inputs) {
    const at::Tensor found = executor.Input(input.piece);
    if (!found.defined()) continue;
    const std::string differs = Difference(found, PartOf(after[input.original], input.box), scale,
                                           graph_.tensor(input.original).name);
    if (!differs.empty()) return differs;
  }
  // The loss. Other outputs are in pieces, or among the tensors above.
  if (outputs_.empty() || outputs_[0].dim() > 0) return "";
  if (step.graph.outputs().empty()) return "it has no outputs";
  return Difference(executor.Output(0), outputs_[0], 0, "the loss");
}

}  // namespace placewright::tests
