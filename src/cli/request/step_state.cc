#include "cli/request/step_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/text.h"
#include "formats/safetensors/safetensors.h"
#include "formats/text/file.h"
#include "plan/distributed_step.h"

namespace placewright {
namespace {

constexpr std::string_view kStateSchema = "placewright.state/1";
constexpr std::string_view kGenerator = "generator";

bool IsState(const Graph& graph, const Tensor& tensor) {
  return !tensor.producer.valid() && graph.storage(tensor.storage).kind != TensorKind::kInput;
}

// kPlanMismatch where the file has something else than the value is of.
Status CheckFits(const FileValues::Source& source, const std::vector<int64_t>& shape) {
  const SafeTensor& found = *source.tensor;
  const Tensor& like = *source.like;
  if (found.dtype == SafetensorsName(like.dtype) && shape == like.shape) return Ok();
  return SafeTensorMismatch(found, like.name, like.dtype, like.shape, "the graph",
                            "Take a file of this graph at this batch.");
}

// `option`: what asked for it.
Status AddTensor(const Tensor& tensor, const std::string& bytes, std::string_view option,
                 SafetensorsWriter& file) {
  const std::string_view dtype = SafetensorsName(tensor.dtype);
  if (dtype.empty()) {
    return MakeError(ErrorCode::kNotExpressible,
                     fmt::format("safetensors have no tensors of dtype {}", ToString(tensor.dtype)),
                     "tensor " + Printable(tensor.name, 80), fmt::format("Leave {} out.", option));
  }
  file.Add(tensor.name, dtype, tensor.shape, bytes);
  return Ok();
}

std::string DigestOf(std::string_view content) { return Sha256(content); }

}  // namespace

Status SaveState(const std::string& path, const Graph& graph, const Execution& execution,
                 int64_t steps, bool writes) {
  SafetensorsWriter file;
  file.Metadata("format", std::string(kStateSchema));
  file.Metadata("graph", graph.name());
  file.Metadata("steps", fmt::to_string(steps));
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (!IsState(graph, tensor)) continue;
    PW_ASSIGN(const std::string bytes, execution.ReadInput(id));
    // What no op reads is nowhere.
    if (!bytes.empty()) PW_RETURN_IF_ERROR(AddTensor(tensor, bytes, "--save", file));
  }
  if (!writes) return Ok();
  // Without it a step with dropout would go on with other masks than a run without a break.
  const std::string generator = execution.GeneratorState();
  file.Add(std::string(kGenerator), "U8", {static_cast<int64_t>(generator.size())}, generator);
  file.Metadata("sha256", DigestOf(file.content()));
  return WriteFileAtomically(path, file.Write());
}

Status SaveWeights(const std::string& path, const Capture& capture) {
  SafetensorsWriter file;
  file.Metadata("graph", capture.graph.name());
  for (const auto& [id, bytes] : capture.contents) {
    PW_RETURN_IF_ERROR(AddTensor(capture.graph.tensor(id), bytes, "--weights", file));
  }
  return WriteFileAtomically(path, file.Write());
}

std::vector<std::string> MissingWeights(const Capture& capture) {
  const Graph& graph = capture.graph;
  std::set<TensorId> held;
  for (const auto& [id, bytes] : capture.contents) held.insert(id);
  std::vector<std::string> missing;
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    const bool stored =
        IsState(graph, tensor) && graph.storage(tensor.storage).kind != TensorKind::kOptimizerState;
    if (stored && held.count(id) == 0) missing.push_back(tensor.name);
  }
  return missing;
}

namespace {

// What checkpoints of a step without counting draws do not have: how many steps lie behind them.
bool IsStepCounter(const Tensor& like) { return like.name == kStepCounter; }

std::string CounterAt(int64_t steps) {
  std::string bytes(sizeof steps, '\0');
  std::memcpy(bytes.data(), &steps, sizeof steps);
  return bytes;
}

// Checkpoints of ours are whole and have a digest; files of others give what they have.
Result<LoadedState> BeginLoading(const SafeTensors& file, bool own) {
  LoadedState state;
  if (!own) return state;
  const auto digest = file.metadata.find("sha256");
  if (digest == file.metadata.end() || digest->second != DigestOf(file.content)) {
    return MakeError(ErrorCode::kFileCorrupt, "the content is not what its SHA-256 says");
  }
  if (const auto steps = file.metadata.find("steps"); steps != file.metadata.end()) {
    PW_ASSIGN(const Json number, ParseJson(steps->second));
    PW_ASSIGN(state.steps, AsInt(number, "__metadata__.steps", 0, kMaxQuantity));
  }
  return state;
}

Result<LoadedState> Load(const SafeTensors& file, const ExecutedStep& step, Execution& execution) {
  const auto format = file.metadata.find("format");
  const bool own = format != file.metadata.end() && format->second == kStateSchema;
  PW_ASSIGN(LoadedState state, BeginLoading(file, own));
  FileValues values(step, file, !own, IsState);
  size_t set = 0;
  std::set<std::string> kept;  // one for all its pieces
  for (const TensorId id : values.all()) {
    const FileValues::Source source = values.Find(id);
    if (source.tensor != nullptr) {
      PW_RETURN_IF_ERROR(CheckFits(source, source.tensor->shape));
      PW_RETURN_IF_ERROR(
          execution.SetInput(id, FileValues::BytesFor(source, source.tensor->bytes)));
      ++set;
      continue;
    }
    if (own && IsStepCounter(*source.like)) {
      PW_RETURN_IF_ERROR(execution.SetInput(id, CounterAt(state.steps)));
      continue;
    }
    PW_ASSIGN(const std::string held, execution.ReadInput(id));
    if (!held.empty() && kept.insert(source.like->name).second) {
      state.kept.push_back(source.like->name);
    }
  }
  constexpr std::string_view kRemedy =
      "Take a checkpoint of this graph: of any plan that places whole ops, or of this one.";
  if (set == 0 || (own && !state.kept.empty())) {
    return MakeError(ErrorCode::kPlanMismatch,
                     set == 0 ? "it has no tensor of this graph"
                              : fmt::format("it lacks {} tensors of this graph, {} among them",
                                            state.kept.size(), Printable(state.kept[0], 80)),
                     "", std::string(kRemedy));
  }
  PW_RETURN_IF_ERROR(values.CheckAllFound(
      own ? kGenerator : "", "parameter, buffer or optimizer state",
      own ? kRemedy : "Leave it out of the file, or give it such a name; --inputs takes inputs."));
  if (const auto generator = file.tensors.find(std::string(kGenerator));
      own && generator != file.tensors.end()) {
    PW_RETURN_IF_ERROR(execution.SetGeneratorState(generator->second.bytes));
  }
  return state;
}

}  // namespace

Result<LoadedState> LoadState(const std::string& bytes, const std::string& path,
                              const ExecutedStep& step, Execution& execution) {
  const auto load = [&]() -> Result<LoadedState> {
    PW_ASSIGN(const SafeTensors file, ParseSafetensors(bytes));
    return Load(file, step, execution);
  };
  return load().InFile(path);
}

Status CheckConstants(const ExecutedStep& step, const std::vector<std::string>* kept) {
  const Graph& graph = step.named();
  std::vector<std::string> unknown;
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.producer.valid() || tensor.kind != TensorKind::kConstant) continue;
    const bool read = graph.home_op(tensor.storage).valid();
    const bool given =
        kept != nullptr && std::find(kept->begin(), kept->end(), tensor.name) == kept->end();
    if (read && !given) unknown.push_back(tensor.name);
  }
  if (unknown.empty()) return Ok();
  const std::string first = Printable(unknown.front(), 80);
  return MakeError(
      ErrorCode::kField,
      fmt::format("the content of the constant \"{}\"{} is not known: graphs hold none", first,
                  unknown.size() > 1 ? fmt::format(" and of {} more", unknown.size() - 1) : ""),
      "tensor " + first,
      "Give it with --load, in safetensors by that name; in the model, make it a buffer "
      "(register_buffer), whose content --load takes as well, or compute it in the step.");
}

std::string InputFile::Digest() const { return Sha256(bytes_); }

Status InputFile::Read(const ExecutedStep& step) {
  PW_ASSIGN(const SafeTensors file, ParseSafetensors(bytes_));
  FileValues values(step, file, /*bare=*/true, [](const Graph&, const Tensor& tensor) {
    return tensor.kind == TensorKind::kInput;
  });
  for (const TensorId id : values.all()) {
    const FileValues::Source source = values.Find(id);
    if (source.tensor == nullptr) continue;
    const SafeTensor& found = *source.tensor;
    std::vector<int64_t> shape = found.shape;
    Input input{id, source, 1, static_cast<int64_t>(found.bytes.size()),
                static_cast<size_t>(found.bytes.data() - bytes_.data())};
    if (shape.size() == source.like->shape.size() + 1 && shape[0] > 0) {
      input.batches = shape[0];
      input.size /= shape[0];
      shape.erase(shape.begin());
    }
    PW_RETURN_IF_ERROR(CheckFits(source, shape));
    input.source.tensor = nullptr;  // of `file`, which ends here
    inputs_.push_back(input);
  }
  if (file.tensors.empty()) return MakeError(ErrorCode::kPlanMismatch, "it has no tensors");
  return values.CheckAllFound("", "input",
                              "Leave it out of the file, or give it such a name; --load takes "
                              "parameters, buffers and optimizer state.");
}

Result<InputFile> InputFile::Open(const std::string& path, const ExecutedStep& step) {
  InputFile made;
  made.path_ = path;
  PW_ASSIGN(made.bytes_, ReadFileRaw(path));
  PW_RETURN_IF_ERROR(made.Read(step).InFile(path));
  return made;
}

Status InputFile::Set(int64_t step, bool first, Execution& execution) const {
  for (const Input& input : inputs_) {
    if (!first && input.batches == 1) continue;
    const int64_t batch = step % input.batches;
    const std::string_view whole = std::string_view(bytes_).substr(
        input.offset + static_cast<size_t>(batch * input.size), static_cast<size_t>(input.size));
    PW_RETURN_IF_ERROR(
        execution.SetInput(input.tensor, FileValues::BytesFor(input.source, whole)).InFile(path_));
  }
  return Ok();
}

}  // namespace placewright
