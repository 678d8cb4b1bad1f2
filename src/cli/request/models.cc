#include "cli/request/models.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "base/thread_pool.h"
#include "cli/request/child_capture.h"
#include "cli/request/configurations.h"
#include "cli/request/unrecorded.h"
#include "formats/aten/format.h"
#include "formats/aten/writer.h"
#include "formats/plan/plan_files.h"
#include "formats/text/file.h"
#include "torch_api/torch_library.h"

namespace placewright {

namespace fs = std::filesystem;

namespace {

CaptureRequest StepOf(const std::string& model, std::optional<int64_t> batch) {
  CaptureRequest request;
  request.model = model;
  if (batch) request.values["batch"] = static_cast<double>(*batch);
  return request;
}

bool HoldsAlready(const std::string& path, const std::string& bytes) {
  std::error_code ignored;
  if (fs::file_size(path, ignored) != bytes.size() || ignored) return false;
  const Result<std::string> there = ReadFileRaw(path);
  return there.ok() && there.value() == bytes;
}

Status Store(const std::string& model, const std::string& bytes, const StepStore& store) {
  if (HoldsAlready(store.path, bytes)) return Ok();
  std::error_code ignored;
  if (!store.kept || !fs::exists(store.path, ignored)) {
    return WriteFileAtomically(store.path, bytes);
  }
  Error error = MakeError(
      ErrorCode::kUsage,
      fmt::format(
          "holds another step than {} as it is recorded now, and belongs to a plan that this "
          "command reads",
          Printable(model, 80)),
      "", "Write the results to another folder with -o, or give this file in place of the model.");
  error.file = store.path;
  return error;
}

// "foo.plan.json", "graph", ".onnx" -> "foo.plan.graph.onnx", with ".gz" where standard input is
// gzip.
std::string StoredInputPath(const std::string& plan_path, const std::string& what,
                            std::string_view extension) {
  std::string path = PathBeside(plan_path, what);
  for (const std::string_view suffix : {".gz", ".json"}) {
    if (path.ends_with(suffix)) path.resize(path.size() - suffix.size());
  }
  const Result<std::string> stored = ReadFileRaw(std::string(kStandardInput));
  const bool gzip = stored.ok() && stored.value().starts_with("\x1f\x8b");
  return fmt::format("{}{}{}", path, extension, gzip ? ".gz" : "");
}

// As files of its format are called; of what cannot be read the reader says why.
std::string_view ExtensionOfInput() {
  const Result<std::string> bytes = ReadFile(std::string(kStandardInput));
  if (!bytes.ok()) return ".json";
  const Result<const GraphFormat*> format = SniffGraph(bytes.value());
  return format.ok() ? format.value()->extension : ".json";
}

// The exporter's option that its sentences name is one of `capture`.
RecordingSays SaidElsewhere(const RecordingSays& say) {
  if (!say) return say;
  return [say](std::string_view sentence) {
    constexpr std::string_view kOption = "--one-batch (rebatch=False)";
    std::string text(sentence);
    const size_t at = text.find(kOption);
    if (at != std::string::npos)
      text.replace(at, kOption.size(), "`placewright capture` with --one-batch");
    say(text);
  };
}

// Recorded by the exporter for PyTorch users, and read back as the file that it wrote.
Result<LoadedGraph> LoadConfiguration(const std::string& graph, const GraphInputOptions& options,
                                      const StepStore& store, const RecordingSays& say) {
  if (!options.dimensions.empty()) {
    return MakeError(
        ErrorCode::kUsage,
        "--dim is not for " + Printable(graph, 200) + ", a model of transformers", "",
        "Open dimensions are ONNX's; --batch changes the batch, hf:PATH@sequence=N the words.");
  }
  PW_ASSIGN(RecordedConfiguration recorded,
            RecordConfiguration(graph, options.batch, {}, store.path, SaidElsewhere(say)));
  GraphInputOptions as_recorded = options;
  as_recorded.batch.reset();
  LoadedGraph loaded;
  if (store.path.empty()) {
    loaded.path = graph;
    loaded.sha256 = Sha256(recorded.bytes);
    loaded.format = &kAtenFormat;
    PW_RETURN_IF_ERROR(kAtenFormat.read(recorded.bytes, as_recorded, &loaded).InFile(graph));
    PW_RETURN_IF_ERROR(TransformLoaded(options.transforms, loaded).InFile(graph));
  } else {
    PW_RETURN_IF_ERROR(Store(graph, recorded.bytes, store));
    PW_ASSIGN(loaded, LoadGraph(store.path, as_recorded));
  }
  loaded.notes.insert(loaded.notes.begin(), recorded.notes.begin(), recorded.notes.end());
  return loaded;
}

// The name was meant as a file, too.
Error NeitherNor(Error error, const std::string& name) {
  const bool unknown = error.code == ErrorCode::kUnknownName && !error.message.empty();
  if (!unknown && error.code != ErrorCode::kMissingRuntime) return error;
  error.message = fmt::format(
      "there is no file \"{}\"{}{}", Printable(name, 80),
      unknown ? ", and " : ", and a model of that name cannot be recorded: ", error.message);
  return error;
}

}  // namespace

Result<const CaptureService*> CaptureServiceOf(const TorchLibrary& library) {
  if (const CaptureService* service = library.api().capture()) return service;
  return MakeError(ErrorCode::kMissingRuntime, library.path() + " does not record models");
}

bool MayBeModel(const std::string& graph) {
  const auto digit = [&](size_t i) {
    return i < graph.size() && graph[i] >= '0' && graph[i] <= '9';
  };
  const auto plain = [&](size_t i) {
    const char c = graph[i];
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || digit(i) || c == '-' || c == '_' ||
           c == '@' || (c == '.' && i > 0 && digit(i - 1) && digit(i + 1));
  };
  if (graph.empty() || graph[0] == '-') return false;
  for (size_t i = 0; i < graph.size(); ++i) {
    if (!plain(i)) return false;
  }
  std::error_code ignored;
  return !fs::exists(graph, ignored) || fs::is_directory(graph, ignored);
}

Result<RecordedModel> RecordModel(const CaptureRequest& request, const std::string& file) {
  const bool zoo = request.source == ModelSource::kZoo;
  PW_ASSIGN(const TorchLibrary library,
            TorchLibrary::Open(zoo ? TorchLibrary::Part::kMain : TorchLibrary::Part::kFiles));
  PW_ASSIGN(const CaptureService* service, CaptureServiceOf(library));
  if (request.source == ModelSource::kTorchScript) {
    PW_RETURN_IF_ERROR(CaptureInChildProcess(*service, request));
  }
  Result<Capture> captured = service->CaptureModel(request).InFile(zoo ? "" : request.model);
  if (!captured.ok()) {
    Error& error = captured.error();
    if (zoo && error.code == ErrorCode::kNotRecordable && error.remedy.empty()) {
      error.remedy =
          fmt::format("Choose other sizes with --param; `placewright zoo {}` lists them.",
                      Printable(request.model, 80));
    }
    return std::move(error);
  }
  Capture& capture = captured.value();
  PW_ASSIGN(std::string text,
            FormatAtenGraph(capture.graph, capture.module_stated, nullptr, false));
  const bool compress = file.ends_with(".gz");
  std::string compressed;
  Status reads_back = Ok();
  ThreadPool(compress ? 2 : 1).ParallelFor(compress ? 2 : 1, [&](int i) {
    if (i == 0) reads_back = CheckReadsBack(text, capture.graph);
    if (i == 1) compressed = Gzip(text);
  });
  if (!reads_back.ok()) return std::move(reads_back.error());
  return RecordedModel{std::move(capture), compress ? std::move(compressed) : std::move(text)};
}

std::string RecordedPath(const std::string& model) {
  if (IsConfiguration(model)) return ConfigurationName(model) + ".step.json.gz";
  if (MayBeModel(model)) return model + ".step.json.gz";
  fs::path name = fs::path(model).filename();
  if (name.extension() == ".gz") name = name.stem();
  return name.stem().string() + ".step.json.gz";
}

std::string StoredPath(const std::string& graph, std::optional<int64_t> batch,
                       const std::string& plan_path) {
  if (graph == kStandardInput) return StoredInputPath(plan_path, "graph", ExtensionOfInput());
  if (!MayBeModel(graph) && !IsConfiguration(graph)) return "";
  const std::string model = IsConfiguration(graph) ? ConfigurationName(graph) : graph;
  const std::string name = batch ? fmt::format("{}-batch{}", model, *batch) : model;
  return (fs::path(plan_path).parent_path() / (name + ".step.json.gz")).string();
}

std::string StoredClusterPath(const std::string& cluster, const std::string& plan_path) {
  return cluster == kStandardInput ? StoredInputPath(plan_path, "cluster", ".yaml") : "";
}

Result<LoadedGraph> LoadGraphOrModel(const std::string& graph, const GraphInputOptions& options,
                                     const StepStore& store, const std::atomic<bool>* interrupted,
                                     const RecordingSays& say) {
  if (graph == kStandardInput && !store.path.empty()) {
    PW_ASSIGN(LoadedGraph loaded, LoadGraph(graph, options));
    PW_ASSIGN(const std::string bytes, ReadFileRaw(graph));
    PW_RETURN_IF_ERROR(WriteFileAtomically(store.path, bytes));
    loaded.path = store.path;
    return loaded;
  }
  if (IsConfiguration(graph)) return LoadConfiguration(graph, options, store, say);
  if (!MayBeModel(graph)) {
    Result<LoadedGraph> loaded = LoadGraph(graph, options);
    if (!loaded.ok()) return WithRecorder(std::move(loaded.error()), graph);
    return loaded;
  }
  if (!options.dimensions.empty()) {
    return MakeError(ErrorCode::kUsage, "--dim is not for " + graph + ", a model of the zoo", "",
                     "Open dimensions are ONNX's; --batch changes the batch, `placewright capture` "
                     "other sizes.");
  }
  CaptureRequest request = StepOf(graph, options.batch);
  request.interrupted = interrupted;
  Result<RecordedModel> recorded = RecordModel(request, RecordedPath(graph));
  if (!recorded.ok()) {
    std::error_code ignored;
    if (fs::is_directory(graph, ignored)) {
      return WithRecorder(std::move(LoadGraph(graph, options).error()), graph);  // says so
    }
    return NeitherNor(std::move(recorded.error()), graph);
  }
  RecordedModel& model = recorded.value();
  if (!store.path.empty()) PW_RETURN_IF_ERROR(Store(graph, model.bytes, store));
  LoadedGraph loaded;
  loaded.path = store.path.empty() ? graph : store.path;
  loaded.sha256 = Sha256(model.bytes);
  loaded.format = &kAtenFormat;
  loaded.graph = std::move(model.capture.graph);
  loaded.details = AtenDetails{std::move(model.capture.module_stated), false};
  PW_RETURN_IF_ERROR(TransformLoaded(options.transforms, loaded).InFile(graph));
  return loaded;
}

}  // namespace placewright
