#include "cli/request/unrecorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/request/configurations.h"
#include "cli/shell/case_tables.h"
#include "formats/text/json.h"
#include "formats/torch_archive/archive.h"

namespace placewright {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHub = "https://huggingface.co/";
constexpr size_t kMaxConfiguration = 1 << 20;  // bytes; they have some kilobytes

std::string Word(const std::string& text) { return ShellWord(Printable(text, 4096)); }

// "net/train.py" -> "train": the step's name.
std::string StemOf(const std::string& path) {
  const std::string name = fs::path(path).stem().string();
  return name.empty() ? "model" : name;
}

std::string Head(const std::string& path, size_t bytes) {
  std::ifstream file(path, std::ios::binary);
  std::string head(bytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(bytes));
  head.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  return head;
}

// Weights in the formats of other libraries, by their first bytes.
std::string_view KindOfWeights(std::string_view head) {
  if (head.starts_with("GGUF")) return "GGUF";
  // The length of a header, then the header in JSON.
  const bool header = head.size() > 9 && head[8] == '{' && head[9] == '"';
  if (header && std::all_of(head.begin() + 4, head.begin() + 8, [](char c) { return c == 0; })) {
    return "safetensors";
  }
  return head.starts_with("\x89HDF\r\n\x1a\n") ? "HDF5" : "";
}

// A small file that is a JSON object, else nothing.
Json ObjectIn(const std::string& path) {
  std::error_code ignored;
  const auto size = fs::file_size(path, ignored);
  if (ignored || size > kMaxConfiguration) return {};
  const std::string text = Head(path, kMaxConfiguration);
  Result<Json> read = ParseJson(text);
  return read.ok() && read.value().is_object() ? std::move(read.value()) : Json();
}

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// A configuration of transformers.
bool IsModelConfiguration(const std::string& path) {
  const Json object = ObjectIn(path);
  return object.is_object() && object.contains("model_type") && object["model_type"].is_string();
}

std::string PlanConfiguration(const std::string& path) {
  return fmt::format("placewright plan {} -c CLUSTER", Word("hf:" + path));
}

// What records the function `build` of a program.
std::string RecordFunction(const std::string& program, const std::string& function,
                           const std::string& name) {
  const std::string step = Word(name + ".step.json.gz");
  return fmt::format("{} {} {} -o {}, then placewright plan {} -c CLUSTER", Word(ExporterPython()),
                     Word(ExporterPath()), Word(program + ":" + function), step, step);
}

constexpr std::string_view kBuild =
    "a function build() that returns model, example inputs, loss, optimizer and targets";

Error Program(Error error, const std::string& file, const std::string& function) {
  error.code = ErrorCode::kFormatUnknown;
  error.message = "this is a program in Python, of which no step is recorded yet";
  const std::string chosen = function.empty() ? "build" : function;
  std::ifstream text(file);
  bool defined = false;
  for (std::string line; !defined && std::getline(text, line);) {
    defined = line.starts_with("def " + chosen + "(");
  }
  error.remedy = fmt::format("Record one: {}{}.", RecordFunction(file, chosen, StemOf(file)),
                             defined ? ""
                                     : fmt::format("; {} needs {} for it (docs/formats/pytorch.md)",
                                                   Printable(file, 200), kBuild));
  return error;
}

Error Notebook(Error error, const std::string& file) {
  error.message = "this is a notebook, of which no step is recorded yet";
  error.remedy = fmt::format(
      "Record one in it: import sys; sys.path.append({}); from placewright_export import export; "
      "export(model, example_inputs, loss, optimizer, {}, targets=targets)",
      Json(fs::path(ExporterPath()).parent_path().string()).dump(),
      Json(StemOf(file) + ".step.json.gz").dump());
  return error;
}

// `message`, where it is not said already what the file is.
Error Weights(Error error, const std::string& path, const std::string& message) {
  if (!message.empty()) error.message = message;
  const fs::path beside = fs::path(path).parent_path() / "config.json";
  if (IsModelConfiguration(beside.string())) {
    const std::string folder = beside.parent_path().empty() ? "." : beside.parent_path().string();
    error.remedy = fmt::format("Its configuration lies beside it: {}.", PlanConfiguration(folder));
    return error;
  }
  error.remedy = fmt::format(
      "Record a step where the model is built, its weights are not needed: {}, where train.py has "
      "{} "
      "(docs/formats/pytorch.md).",
      RecordFunction("train.py", "build", StemOf(path)), kBuild);
  return error;
}

Error OfTransformers(Error error, const std::string& path, std::string_view what) {
  error.code = ErrorCode::kFormatUnknown;
  error.message = fmt::format("this is {} of a model of transformers, not a graph", what);
  error.remedy = fmt::format("A step of it is recorded first: {}.", PlanConfiguration(path));
  return error;
}

Error OfHub(Error error, const std::string& name) {
  const std::string folder = name.substr(name.find('/') + 1);
  error.code = ErrorCode::kUnknownName;
  error.message =
      fmt::format("there is no file \"{}\", and models of the Hugging Face hub are not fetched",
                  Printable(name, 200));
  error.remedy =
      fmt::format("Its configuration is enough: hf download {} config.json --local-dir {} && {}",
                  Word(name), Word(folder), PlanConfiguration(folder));
  return error;
}

// "meta-llama/Llama-3-8B", also as the page's address; "" for what is none.
std::string HubName(std::string graph) {
  if (graph.starts_with(kHub)) graph.erase(0, kHub.size());
  while (graph.ends_with('/')) graph.pop_back();
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  };
  const bool pair = std::count(graph.begin(), graph.end(), '/') == 1 && graph[0] != '/';
  if (!pair || !std::all_of(graph.begin(), graph.end(), plain) || graph[0] == '.') return "";
  constexpr std::array<std::string_view, 16> kFiles = {
      ".json", ".gz",  ".onnx", ".pb",  ".pbtxt", ".pt",  ".pth", ".pt2",
      ".yaml", ".yml", ".txt",  ".bin", ".ckpt",  ".csv", ".py",  ".safetensors"};
  for (const std::string_view ending : kFiles) {
    if (graph.ends_with(ending)) return "";
  }
  // The name of a file in a folder that is there was misspelled.
  std::error_code ignored;
  return fs::exists(graph.substr(0, graph.find('/')), ignored) ? "" : graph;
}

Error OfFolder(Error error, const std::string& path) {
  if (IsModelConfiguration((fs::path(path) / "config.json").string())) {
    return OfTransformers(std::move(error), path, "the folder");
  }
  for (const char* file : {"model_index.json", "adapter_config.json"}) {
    if (!IsFile(fs::path(path) / file)) continue;
    const bool pipeline = std::string_view(file) == "model_index.json";
    return Weights(std::move(error), path,
                   pipeline ? "this is the folder of a pipeline of diffusers, not a graph"
                            : "this is the folder of an adapter of peft, not a graph");
  }
  return error;
}

}  // namespace

Error WithRecorder(Error error, const std::string& graph) {
  std::error_code ignored;
  if (fs::is_directory(graph, ignored)) return OfFolder(std::move(error), graph);
  const size_t colon = graph.rfind(".py:");
  const std::string file = colon == std::string::npos ? graph : graph.substr(0, colon + 3);
  if (!IsFile(file)) {
    const bool missing = error.code == ErrorCode::kFileUnreadable;
    const std::string hub = missing ? HubName(graph) : "";
    return hub.empty() ? error : OfHub(std::move(error), hub);
  }
  if (file.ends_with(".py")) {
    return Program(std::move(error), file, graph.substr(std::min(graph.size(), file.size() + 1)));
  }
  if (error.code != ErrorCode::kFormatUnknown) return error;
  if (file.ends_with(".ipynb")) return Notebook(std::move(error), file);
  const std::string head = Head(file, 16);
  if (const std::string_view kind = KindOfWeights(head); !kind.empty()) {
    return Weights(std::move(error), file,
                   fmt::format("these are weights ({}), which hold no code to run", kind));
  }
  if (head.starts_with('\x80') || head.starts_with("PK")) {  // the error says what they are
    const Result<TorchArchive> archive = ReadTorchArchive(file);
    // Script modules are recorded as they are.
    const bool script = archive.ok() && archive.value().kind == TorchArchive::Kind::kScript;
    if (script || !archive.ok()) return error;
    error = Weights(std::move(error), file, "");
    error.remedy +=
        " Or save it with its code, torch.jit.save(torch.jit.script(model), FILE), and give that "
        "to "
        "`placewright capture`.";
    return error;
  }
  const Json object = ObjectIn(file);
  if (!object.is_object()) return error;
  if (object.contains("weight_map")) {
    return Weights(std::move(error), file, "this is a list of files with weights, not a graph");
  }
  if (object.contains("model_type")) {
    return OfTransformers(std::move(error), file, "the configuration");
  }
  return error;
}

}  // namespace placewright
