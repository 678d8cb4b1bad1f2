#include "cli/request/model_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/request/models.h"
#include "cli/terminal/options.h"
#include "formats/aten/format.h"
#include "formats/onnx/format.h"
#include "formats/onnx/reader.h"
#include "formats/safetensors/safetensors.h"
#include "formats/text/file.h"
#include "formats/torch_archive/archive.h"

namespace placewright {
namespace {

// A graph, where a model is wanted.
Error GraphInstead(const std::string& path, std::string_view what) {
  Error error = MakeError(
      ErrorCode::kFormatUnknown, fmt::format("this is {}, not a model that can be recorded", what),
      "",
      fmt::format("It needs no recording: placewright plan {} -c CLUSTER.", Printable(path, 4096)));
  error.file = path;
  return error;
}

Error NotForThisModel(std::string_view option, const std::string& model, std::string remedy) {
  return MakeError(ErrorCode::kUsage,
                   fmt::format("{} is not for {}", option, Printable(model, 200)), "",
                   std::move(remedy));
}

Status CheckOptions(const ModelOptions& options, const CaptureRequest& request) {
  const bool zoo = request.source == ModelSource::kZoo;
  if (zoo && !options.loss.empty()) {
    return NotForThisModel("--loss", request.model, "Models of the zoo bring their own loss.");
  }
  if (zoo && !options.inputs.empty()) {
    return NotForThisModel(
        "--input", request.model,
        "Models of the zoo bring their inputs; --batch and --param change sizes.");
  }
  if (request.source == ModelSource::kOnnx && !options.inputs.empty()) {
    return NotForThisModel("--input", request.model,
                           "ONNX models state their inputs; --batch and --dim change sizes.");
  }
  if (request.source != ModelSource::kOnnx && !options.input_file.empty()) {
    return NotForThisModel("--inputs", request.model,
                           "What a step's inputs hold matters to ONNX models alone.");
  }
  if (request.source != ModelSource::kOnnx && request.keep_contents) {
    return NotForThisModel(
        "--weights", request.model,
        "The weights of ONNX models alone are read here; `placewright run --load` "
        "takes those of others by their names.");
  }
  if (request.source != ModelSource::kOnnx && !options.dimensions.empty()) {
    return NotForThisModel("--dim", request.model, "Open dimensions with names are ONNX's.");
  }
  if (!options.loss.empty() && request.training == Training::kNone) {
    return MakeError(ErrorCode::kUsage, "--loss is for training, and --train none asks for none");
  }
  for (const auto& [name, value] : request.values) {
    if (!zoo && name != "batch") {
      return NotForThisModel("--param " + Printable(name, 80), request.model,
                             "Its numbers are part of the file; --batch changes the batch.");
    }
  }
  return Ok();
}

std::string PrintableList(const std::vector<std::string>& names) {
  std::vector<std::string> printable;
  for (const std::string& name : names) printable.push_back(Printable(name, 40));
  return fmt::format("{}", fmt::join(printable, ", "));
}

// What the file says that the program's inputs hold. A tensor with one dimension more, as `run` takes
// them for several batches, says nothing here: it is one of `several`.
Status GiveContents(const SafeTensors& file, ImportedModel* program,
                    std::vector<std::string>* several) {
  size_t found = 0;
  for (ImportedInput& input : program->inputs) {
    auto given = file.tensors.find(input.name);
    if (given == file.tensors.end()) given = file.tensors.find("input:" + input.name);
    if (given == file.tensors.end()) continue;
    ++found;
    const SafeTensor& tensor = given->second;
    const bool batches =
        tensor.shape.size() == input.shape.size() + 1 &&
        tensor.dtype == SafetensorsName(input.dtype) &&
        std::equal(input.shape.begin(), input.shape.end(), tensor.shape.begin() + 1);
    if (batches) {
      several->push_back(input.name);
      continue;
    }
    if (tensor.dtype != SafetensorsName(input.dtype) || tensor.shape != input.shape) {
      return SafeTensorMismatch(
          tensor, input.name, input.dtype, input.shape, "the model",
          "Sizes of open dimensions are those of --batch and --dim, else of this file.");
    }
    input.content = std::string(tensor.bytes);
  }
  std::vector<std::string> names;
  for (const ImportedInput& input : program->inputs) names.push_back(input.name);
  for (const auto& [name, tensor] : file.tensors) {
    const std::string bare = name.starts_with("input:") ? name.substr(6) : name;
    if (std::find(names.begin(), names.end(), bare) != names.end()) continue;
    return MakeError(ErrorCode::kPlanMismatch,
                     fmt::format("the model has no input \"{}\"{}", Printable(name, 80),
                                 DidYouMean(bare, names)),
                     "", fmt::format("They are called {}.", PrintableList(names)));
  }
  if (found > 0) return Ok();
  return MakeError(ErrorCode::kPlanMismatch, "it has none of the model's inputs", "",
                   fmt::format("They are called {}.", PrintableList(names)));
}

// The model's nodes and small constants; weights are left where they are unless --weights asks for them.
Result<std::shared_ptr<const ImportedModel>> ReadProgram(std::string_view bytes,
                                                         const ModelOptions& options,
                                                         const CaptureRequest& request,
                                                         std::vector<std::string>* several) {
  OnnxOptions onnx;
  const auto batch = request.values.find("batch");
  if (batch != request.values.end()) onnx.batch = static_cast<int64_t>(batch->second);
  PW_ASSIGN(onnx.dimensions, ParseDimensions(options.dimensions));
  onnx.folder = std::filesystem::path(request.model).parent_path().string();
  if (onnx.folder.empty()) onnx.folder = ".";
  onnx.contents = request.keep_contents;
  std::string given_bytes;
  SafeTensors given;
  if (!options.input_file.empty()) {
    PW_ASSIGN(given_bytes, ReadFileRaw(options.input_file));
    PW_ASSIGN(given, ParseSafetensors(given_bytes).InFile(options.input_file));
    for (const auto& [name, tensor] : given.tensors) {
      onnx.input_sizes[name] = tensor.shape;
    }
  }
  PW_ASSIGN(ImportedModel program, ImportOnnx(bytes, onnx).InFile(request.model));
  if (!options.input_file.empty()) {
    PW_RETURN_IF_ERROR(GiveContents(given, &program, several).InFile(options.input_file));
  }
  return std::make_shared<const ImportedModel>(std::move(program));
}

Status ChooseGraph(const ModelOptions& options, CaptureRequest* request) {
  const std::string& path = request->model;
  PW_ASSIGN(const std::string bytes, ReadFile(path));
  PW_ASSIGN(const GraphFormat* format, SniffGraph(bytes).InFile(path));
  if (format != &kOnnxFormat) {
    const bool step = format == &kAtenFormat;
    return GraphInstead(path, step ? "a step that is recorded already" : format->name);
  }
  request->source = ModelSource::kOnnx;
  PW_RETURN_IF_ERROR(CheckOptions(options, *request));
  std::vector<std::string> several;
  PW_ASSIGN(request->imported, ReadProgram(bytes, options, *request, &several));
  if (!several.empty()) {
    request->notes.push_back(
        fmt::format("of {} --inputs holds several batches, so the recording does not look at them",
                    PrintableList(several)));
  }
  return Ok();
}

}  // namespace

Status ChooseSource(const ModelOptions& options, CaptureRequest* request) {
  const std::string& model = request->model;
  if (MayBeModel(model)) {
    request->source = ModelSource::kZoo;
    return CheckOptions(options, *request);
  }
  PW_ASSIGN(const bool torch, IsTorchFile(model));
  if (torch) {
    PW_ASSIGN(TorchArchive archive, ReadTorchArchive(model));
    if (archive.kind != TorchArchive::Kind::kScript) return TorchArchiveError(model, archive.kind);
    request->source = ModelSource::kTorchScript;
    request->weights = std::move(archive.weights);
  } else {
    PW_RETURN_IF_ERROR(ChooseGraph(options, request));
  }
  PW_RETURN_IF_ERROR(CheckOptions(options, *request));
  if (!options.loss.empty()) {
    PW_ASSIGN(request->loss, ParseLoss(options.loss));
  }
  for (const std::string& text : options.inputs) {
    PW_ASSIGN(ModelInput input, ParseModelInput(text));
    request->inputs.push_back(std::move(input));
  }
  return Ok();
}

}  // namespace placewright
