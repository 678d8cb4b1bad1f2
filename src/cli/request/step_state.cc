#include "cli/request/step_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "formats/safetensors/safetensors.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

constexpr std::string_view kStateSchema = "placewright.state/1";
constexpr std::string_view kGenerator = "generator";

bool IsState(const Graph& graph, const Tensor& tensor) {
  return !tensor.producer.valid() && graph.storage(tensor.storage).kind != TensorKind::kInput;
}

// Of the names "param:a.b", "input:x": what is behind the colon.
std::string_view BareName(std::string_view name) {
  const size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

const SafeTensor* FindTensor(const SafeTensors& file, const Tensor& tensor, bool bare) {
  auto found = file.tensors.find(tensor.name);
  if (found == file.tensors.end() && bare) {
    found = file.tensors.find(std::string(BareName(tensor.name)));
  }
  return found == file.tensors.end() ? nullptr : &found->second;
}

Error Mismatch(const Tensor& tensor, const SafeTensor& found) {
  return SafeTensorMismatch(found, tensor.name, tensor.dtype, tensor.shape, "the graph",
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

Result<LoadedState> LoadState(const std::string& path, const Graph& graph, Execution& execution) {
  PW_ASSIGN(const std::string bytes, ReadFileRaw(path));
  return LoadStateOf(bytes, path, graph, execution);
}

Result<LoadedState> LoadStateOf(const std::string& bytes, const std::string& path,
                                const Graph& graph, Execution& execution) {
  const auto load = [&]() -> Result<LoadedState> {
    PW_ASSIGN(const SafeTensors file, ParseSafetensors(bytes));
    LoadedState state;
    const auto format = file.metadata.find("format");
    // Checkpoints of ours are whole and have a digest; files of others give what they have.
    const bool own = format != file.metadata.end() && format->second == kStateSchema;
    if (own) {
      const auto digest = file.metadata.find("sha256");
      if (digest == file.metadata.end() || digest->second != DigestOf(file.content)) {
        return MakeError(ErrorCode::kFileCorrupt, "the content is not what its SHA-256 says");
      }
      if (const auto steps = file.metadata.find("steps"); steps != file.metadata.end()) {
        PW_ASSIGN(const Json number, ParseJson(steps->second));
        PW_ASSIGN(state.steps, AsInt(number, "__metadata__.steps", 0, kMaxQuantity));
      }
    }
    size_t set = 0;
    for (const TensorId id : graph.tensors()) {
      const Tensor& tensor = graph.tensor(id);
      if (!IsState(graph, tensor)) continue;
      const SafeTensor* const found = FindTensor(file, tensor, !own);
      if (found == nullptr) {
        PW_ASSIGN(const std::string held, execution.ReadInput(id));
        if (!held.empty()) state.kept.push_back(tensor.name);
        continue;
      }
      if (found->dtype != SafetensorsName(tensor.dtype) || found->shape != tensor.shape) {
        return Mismatch(tensor, *found);
      }
      PW_RETURN_IF_ERROR(execution.SetInput(id, found->bytes));
      ++set;
    }
    if (set == 0 || (own && !state.kept.empty())) {
      return MakeError(ErrorCode::kPlanMismatch,
                       set == 0 ? "it has no tensor of this graph"
                                : fmt::format("it lacks {} tensors of this graph, {} among them",
                                              state.kept.size(), Printable(state.kept[0], 80)),
                       "", "Take a checkpoint of this graph.");
    }
    if (const auto generator = file.tensors.find(std::string(kGenerator));
        own && generator != file.tensors.end()) {
      PW_RETURN_IF_ERROR(execution.SetGeneratorState(generator->second.bytes));
    }
    return state;
  };
  return load().InFile(path);
}

std::string InputFile::Digest() const { return Sha256(bytes_); }

Result<InputFile> InputFile::Open(const std::string& path, const Graph& graph) {
  InputFile made;
  made.path_ = path;
  PW_ASSIGN(made.bytes_, ReadFileRaw(path));
  const auto open = [&]() -> Status {
    PW_ASSIGN(const SafeTensors file, ParseSafetensors(made.bytes_));
    for (const TensorId id : graph.tensors()) {
      const Tensor& tensor = graph.tensor(id);
      if (tensor.producer.valid() || tensor.kind != TensorKind::kInput) continue;
      const SafeTensor* const found = FindTensor(file, tensor, true);
      if (found == nullptr) continue;
      std::vector<int64_t> shape = found->shape;
      Input input{id, 1, static_cast<int64_t>(found->bytes.size()),
                  static_cast<size_t>(found->bytes.data() - made.bytes_.data())};
      if (shape.size() == tensor.shape.size() + 1 && shape[0] > 0) {
        input.batches = shape[0];
        input.size /= shape[0];
        shape.erase(shape.begin());
      }
      if (found->dtype != SafetensorsName(tensor.dtype) || shape != tensor.shape) {
        return Mismatch(tensor, *found);
      }
      made.inputs_.push_back(input);
    }
    if (!made.inputs_.empty()) return Ok();
    std::vector<std::string> names;
    for (const TensorId id : graph.tensors()) {
      const Tensor& tensor = graph.tensor(id);
      if (!tensor.producer.valid() && tensor.kind == TensorKind::kInput) {
        names.push_back(Printable(tensor.name, 40));
      }
    }
    return MakeError(ErrorCode::kPlanMismatch, "it has none of the graph's inputs", "",
                     fmt::format("They are called {}.", fmt::join(names, ", ")));
  };
  PW_RETURN_IF_ERROR(open().InFile(path));
  return made;
}

Status InputFile::Set(int64_t step, bool first, Execution& execution) const {
  for (const Input& input : inputs_) {
    if (!first && input.batches == 1) continue;
    const int64_t batch = step % input.batches;
    PW_RETURN_IF_ERROR(
        execution
            .SetInput(input.tensor, std::string_view(bytes_).substr(
                                        input.offset + static_cast<size_t>(batch * input.size),
                                        static_cast<size_t>(input.size)))
            .InFile(path_));
  }
  return Ok();
}

}  // namespace placewright
