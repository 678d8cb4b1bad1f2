#include "formats/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <new>
#include <vector>

#include "base/text.h"
#include "cluster/catalogue.h"
#include "formats/aten/reader.h"
#include "formats/cluster/cluster_reader.h"
#include "formats/costs/costgraph_reader.h"
#include "formats/dnn_partitioning/workload_graph.h"
#include "formats/dnn_partitioning/workload_reader.h"
#include "formats/graphdef/devices.h"
#include "formats/graphdef/message.h"
#include "formats/graphdef/reader.h"
#include "formats/onnx/reader.h"
#include "formats/pipedream/profile_graph.h"
#include "formats/plan/plan_json.h"
#include "formats/text/file.h"
#include "formats/text/json.h"
#include "formats/text/yaml.h"
#include "formats/torch_archive/archive.h"

namespace placewright {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kCostGraphPrefix = "placewright.costgraph/";

// Reads top-level keys until one tells the format: "schema", or the "inputs" of an ATen graph.
class TopLevelKeys : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t& text) override {
    if (depth_ != 1 || key_ != "schema") return true;
    schema = text;
    return false;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override {
    ++depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    key_ = name;
    tensors = tensors || name == "tensors";
    devices = devices || name == "devices";
    nodes = nodes || name == "nodes";
    accelerators = accelerators || name == "maxFPGAs" || name == "maxSizePerFPGA";
    split = split || name == "fpgas" || name == "cpus";
    ops = ops || name == "ops";
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ == 1 && key_ == "inputs") {
      inputs = true;
      return false;
    }
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    broken = true;
    return false;
  }

  std::string schema;
  // Keys seen.
  bool inputs = false, tensors = false, devices = false, ops = false;
  bool nodes = false, accelerators = false, split = false;
  bool broken = false;

 private:
  int64_t depth_ = 0;
  std::string key_;
};

Error Unknown(std::string message) {
  return MakeError(ErrorCode::kFormatUnknown, std::move(message));
}

Result<GraphFormat> SniffJson(std::string_view text) {
  TopLevelKeys top;
  try {
    Json::sax_parse(text.begin(), text.end(), &top);
  } catch (const std::bad_alloc&) {
    throw;                           // base/out_of_memory.h
  } catch (const std::exception&) {  // numbers out of range
    top.broken = true;
  }
  if (top.inputs) return GraphFormat::kAten;
  if (top.schema.starts_with(kCostGraphPrefix)) return GraphFormat::kCostGraph;
  if (!top.schema.empty()) {
    return Unknown(
        fmt::format("this is JSON of the schema \"{}\", not a graph", Printable(top.schema, 80)));
  }
  if (top.broken) {
    PW_RETURN_IF_ERROR(ParseJson(text));  // for its line and column
  }
  if (top.tensors && top.devices) return GraphFormat::kCostGraph;
  if (top.ops) return GraphFormat::kAten;
  if (top.nodes && top.accelerators) return GraphFormat::kDnnPartitioning;
  if (top.split) {
    return Unknown("this is a dnn-partitioning split, not a graph; give it as --placement");
  }
  return Unknown(
      "this is JSON, but neither an ATen training graph (\"inputs\", \"ops\") nor a cost graph "
      "(\"schema\": \"placewright.costgraph/1\") nor a dnn-partitioning workload (\"maxFPGAs\", "
      "\"nodes\")");
}

// True if the bytes may begin an ONNX ModelProto: the first tag is one of its fields.
bool MayBeModelProto(std::string_view bytes) {
  struct Field {
    int number, wire_type;  // 0: varint, 2: length-delimited
  };
  constexpr std::array<Field, 11> kFields = {
      {{1, 0}, {2, 2}, {3, 2}, {4, 2}, {5, 0}, {6, 2}, {7, 2}, {8, 2}, {14, 2}, {20, 2}, {25, 2}}};
  const auto byte = [bytes](size_t i) {
    return i < bytes.size() ? static_cast<int>(static_cast<unsigned char>(bytes[i])) : 0;
  };
  const int tag = byte(0) < 128 ? byte(0) : (byte(0) & 127) | byte(1) << 7;
  return std::any_of(kFields.begin(), kFields.end(), [tag](const Field& field) {
    return tag == (field.number << 3 | field.wire_type);
  });
}

bool LooksLikeText(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 512);
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 32 || kWhiteSpace.find(c) != std::string_view::npos;
  });
}

// For formats without symbolic dimensions.
Status CheckNoDimensions(const GraphInputOptions& options) {
  if (options.dimensions.empty()) return Ok();
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("--dim {}={} cannot be applied: the file's shapes are fixed",
                  Printable(options.dimensions.begin()->first), options.dimensions.begin()->second),
      "", "Leave --dim out, or give an ONNX model with symbolic dimensions.");
}

// For formats that know no batch either.
Status CheckFixedShapes(const GraphInputOptions& options) {
  PW_RETURN_IF_ERROR(CheckNoDimensions(options));
  if (!options.batch) return Ok();
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("--batch {} cannot be applied: the file's shapes are fixed", *options.batch), "",
      "Leave --batch out, or give an ONNX model or a step that `placewright capture` recorded.");
}

Status TakeGraphDef(std::string_view bytes, const GraphInputOptions& options, LoadedGraph& loaded) {
  GraphDefReport report;
  PW_ASSIGN(
      loaded.graph,
      ReadGraphDef(bytes, {options.batch, options.dimensions, options.assume_dimensions}, &report));
  loaded.assumed_shapes = std::move(report.assumed_shapes);
  loaded.assumed_dimensions = std::move(report.assumed_dimensions);
  loaded.notes = std::move(report.notes);
  return Ok();
}

void TakeCostGraph(CostGraph cost_graph, LoadedGraph& loaded) {
  loaded.graph = std::move(cost_graph.graph);
  loaded.cluster = std::move(cost_graph.cluster);
  loaded.costs = std::move(cost_graph.costs);
  loaded.placement = std::move(cost_graph.placement);
}

Status ReadGraph(std::string_view bytes, const GraphInputOptions& options, LoadedGraph& loaded) {
  switch (loaded.format) {
    case GraphFormat::kAten: {
      PW_RETURN_IF_ERROR(CheckNoDimensions(options));
      PW_ASSIGN(AtenGraph file, ReadAtenFile(bytes, options.batch));
      loaded.graph = std::move(file.graph);
      loaded.module_stated = std::move(file.module_stated);
      loaded.wrapped = file.wrapped;
      loaded.placement = std::move(file.placement);
      if (options.batch == 1 && file.recorded_batch > 1) {
        loaded.notes.push_back("recorded at batch " + std::to_string(file.recorded_batch) +
                               ": LibTorch omits some copies and sums at batch 1, so a step "
                               "recorded there may have fewer ops");
      }
      return Ok();
    }
    case GraphFormat::kOnnx: {
      OnnxOptions onnx;
      onnx.batch = options.batch;
      onnx.dimensions = options.dimensions;
      onnx.assume_dimensions = options.assume_dimensions;
      onnx.folder = std::filesystem::path(loaded.path).parent_path().string();
      if (onnx.folder.empty()) onnx.folder = ".";
      OnnxReport report;
      PW_ASSIGN(loaded.graph, ReadOnnx(bytes, onnx, &report));
      loaded.assumed_shapes = std::move(report.assumed_shapes);
      loaded.assumed_dimensions = std::move(report.assumed_dimensions);
      return Ok();
    }
    case GraphFormat::kCostGraph: {
      PW_RETURN_IF_ERROR(CheckFixedShapes(options));
      PW_ASSIGN(const Json document, ParseJson(bytes));
      PW_ASSIGN(CostGraph cost_graph, ReadCostGraph(document));
      TakeCostGraph(std::move(cost_graph), loaded);
      return Ok();
    }
    case GraphFormat::kDnnPartitioning: {
      PW_RETURN_IF_ERROR(CheckFixedShapes(options));
      PW_ASSIGN(const Json document, ParseJson(bytes));
      PW_ASSIGN(loaded.workload, ReadWorkload(document));
      PW_ASSIGN(CostGraph cost_graph, WorkloadToCostGraph(*loaded.workload));
      TakeCostGraph(std::move(cost_graph), loaded);
      loaded.notes = WorkloadNotes(*loaded.workload);
      return Ok();
    }
    case GraphFormat::kGraphDef: return TakeGraphDef(bytes, options, loaded);
    case GraphFormat::kPipeDream: {
      PW_RETURN_IF_ERROR(CheckFixedShapes(options));
      PW_ASSIGN(loaded.profile, ReadPipeDream(bytes));
      PW_ASSIGN(ProfileGraph profile_graph, ProfileToGraph(*loaded.profile));
      loaded.graph = std::move(profile_graph.graph);
      loaded.times = std::move(profile_graph.times);
      loaded.notes = ProfileNotes(*loaded.profile);
      return Ok();
    }
  }
  return Ok();
}

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (const Preset& preset : Presets()) names.emplace_back(preset.name);
  return names;
}

Result<LoadedCluster> LoadPreset(std::string_view name) {
  LoadedCluster loaded;
  PW_ASSIGN(loaded.cluster, MakePreset(name));
  // The catalogue's own spelling, whatever the case of `name`.
  loaded.path = fmt::format("{}{}", kPresetPrefix, name);
  loaded.sha256 = ClusterHash(loaded.cluster);
  return loaded;
}

// What a user means by a path, even if no file is there.
bool LooksLikePath(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".yaml") ||
         text.ends_with(".yml") || text.ends_with(".json");
}

Result<LoadedCluster> LoadDescription(const std::string& path_or_preset) {
  if (path_or_preset.starts_with(kPresetPrefix)) {
    return LoadPreset(std::string_view(path_or_preset).substr(kPresetPrefix.size()));
  }
  std::error_code ignored;
  const auto status = std::filesystem::status(path_or_preset, ignored);
  const bool file = path_or_preset == kStandardInput ||
                    (std::filesystem::exists(status) && !std::filesystem::is_directory(status));
  if (!file && !LooksLikePath(path_or_preset)) {
    const auto names = PresetNames();
    if (std::find(names.begin(), names.end(), path_or_preset) == names.end()) {
      if (const std::string_view why = WhyNotInCatalogue(path_or_preset); !why.empty()) {
        return MakeError(
            ErrorCode::kUnknownName,
            fmt::format("\"{}\" cannot be planned for: {}", Printable(path_or_preset, 80), why), "",
            std::string(kNotInCatalogueRemedy));
      }
      return MakeError(
          ErrorCode::kUnknownName,
          fmt::format("\"{}\" is neither a file nor a preset cluster{}",
                      Printable(path_or_preset, 80), DidYouMean(path_or_preset, names)),
          "", "`placewright cluster show` lists the presets.");
    }
    return LoadPreset(path_or_preset);
  }
  LoadedCluster loaded;
  loaded.path = path_or_preset;
  constexpr ReadLimits kLimits{kMaxYamlBytes, kMaxYamlBytes};
  PW_ASSIGN(std::string bytes, ReadFileRaw(path_or_preset, kLimits));
  loaded.sha256 = Sha256(bytes);
  PW_ASSIGN(bytes, Expand(std::move(bytes), kLimits).InFile(path_or_preset));
  PW_ASSIGN(loaded.cluster, ReadCluster(bytes).InFile(path_or_preset));
  return loaded;
}

// Models of PyTorch hold no step. What cannot be read is the reader's to say.
Status RejectTorchFile(const std::string& path) {
  const Result<bool> refused = IsTorchFile(path);
  if (!refused.ok() || !refused.value()) return Ok();
  PW_ASSIGN(const TorchArchive archive, ReadTorchArchive(path));
  return TorchArchiveError(path, archive.kind);
}

}  // namespace

Error OtherContent(std::string_view what, std::string_view expected, std::string_view found) {
  return MakeError(
      ErrorCode::kPlanMismatch,
      fmt::format("this {} is not the one of the plan: its SHA-256 is {}..., the plan names {}...",
                  what, found.substr(0, 12), expected.substr(0, 12)));
}

Result<GraphFormat> SniffGraph(std::string_view bytes) {
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  const size_t first = bytes.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) return Unknown("the file is empty");
  // Its first byte is a line feed, its second may be a brace.
  if (graphdef::LooksLikeBinaryGraphDef(bytes)) return GraphFormat::kGraphDef;
  if (bytes[first] == '{') return SniffJson(bytes);
  if (LooksLikePipeDream(bytes)) return GraphFormat::kPipeDream;
  if (graphdef::LooksLikeTextGraphDef(bytes)) return GraphFormat::kGraphDef;
  if (LooksLikeText(bytes)) {
    if (Json::accept(bytes)) {
      return Unknown(fmt::format("this is JSON, but {} where an object is expected",
                                 bytes[first] == '['   ? "a list"
                                 : bytes[first] == '"' ? "a text"
                                                       : "a single value"));
    }
    return Unknown(fmt::format("this is text that begins with \"{}\", not JSON",
                               Printable(bytes.substr(first), 24)));
  }
  if (MayBeModelProto(bytes)) return GraphFormat::kOnnx;
  if (bytes[0] == '\x0a') return GraphFormat::kGraphDef;  // no other format's first field
  return Unknown("the first bytes are those of no known format");
}

Result<LoadedGraph> LoadGraph(const std::string& path, const GraphInputOptions& options) {
  LoadedGraph loaded;
  loaded.path = path;
  PW_RETURN_IF_ERROR(RejectTorchFile(path));
  PW_ASSIGN(std::string bytes, ReadFileRaw(path));
  loaded.sha256 = Sha256(bytes);
  if (!options.sha256.empty() && options.sha256 != loaded.sha256) {
    Error error = OtherContent("graph", options.sha256, loaded.sha256);
    error.file = path;
    return error;
  }
  PW_ASSIGN(bytes, Expand(std::move(bytes)).InFile(path));
  PW_ASSIGN(loaded.format, SniffGraph(bytes).InFile(path));
  PW_RETURN_IF_ERROR(ReadGraph(bytes, options, loaded).InFile(path));
  return loaded;
}

Result<LoadedCluster> LoadCluster(const std::string& path_or_preset,
                                  const ClusterInputOptions& options) {
  PW_ASSIGN(LoadedCluster loaded, LoadDescription(path_or_preset));
  if (!options.as_described) {
    PW_RETURN_IF_ERROR(ApplyMemoryReserve(options.reserve, &loaded.cluster));
  }
  return loaded;
}

std::string ClusterHash(const Cluster& cluster) {
  const nlohmann::json canonical = ClusterToJson(cluster);
  return Sha256(canonical.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

Result<PipelineWorkload> LoadWorkload(const std::string& path) {
  PW_ASSIGN(const std::string bytes, ReadFile(path));
  PW_ASSIGN(const GraphFormat format, SniffGraph(bytes).InFile(path));
  if (format != GraphFormat::kDnnPartitioning) {
    Error error = MakeError(ErrorCode::kUsage, "this is not a dnn-partitioning workload", "",
                            "Throughput and latency are defined for these only.");
    error.file = path;
    return error;
  }
  PW_ASSIGN(const Json document, ParseJson(bytes).InFile(path));
  return ReadWorkload(document).InFile(path);
}

namespace {

// `{}` says of a workload that nothing runs anywhere, as a split does.
Result<SplitOrPlacement> ReadSplitOrPlacement(std::string_view text, bool of_workload) {
  PW_ASSIGN(const Json document, ParseJson(text));
  SplitOrPlacement result;
  if (IsSplit(document) || (of_workload && document.is_object() && document.empty())) {
    PW_ASSIGN(result.split, ReadSplit(document));
  } else {
    PW_ASSIGN(result.placement, PlacementFromJson(document));
  }
  return result;
}

Result<NamedPlacement> ReadPlacement(std::string_view text, const LoadedGraph& graph,
                                     const Cluster& cluster) {
  constexpr const char* kRemedy = "Give a plan or a JSON map from op to device.";
  if (LooksLikePipeDream(text)) {
    PW_ASSIGN(const PipeDreamProfile staged, ReadPipeDream(text));
    if (graph.profile) return PlacementOfStages(staged, graph.graph, cluster);
    return MakeError(ErrorCode::kUsage,
                     "these are stages of a PipeDream profile; the graph is none", "", kRemedy);
  }
  if (graphdef::LooksLikeBinaryGraphDef(text) || graphdef::LooksLikeTextGraphDef(text)) {
    return PlacementOfGraphDef(text, graph.graph, cluster);
  }
  PW_ASSIGN(SplitOrPlacement loaded, ReadSplitOrPlacement(text, graph.workload.has_value()));
  if (!loaded.split) return std::move(loaded.placement);
  if (graph.workload) return PlacementOfSplit(*graph.workload, *loaded.split);
  return MakeError(ErrorCode::kUsage,
                   "this is a dnn-partitioning split, whose ids are those of a workload; the graph "
                   "is none",
                   "", kRemedy);
}

}  // namespace

Result<SplitOrPlacement> LoadSplitOrPlacement(const std::string& path) {
  PW_ASSIGN(const std::string text, ReadFile(path));
  return ReadSplitOrPlacement(text, true).InFile(path);
}

Result<NamedPlacement> LoadPlacement(const std::string& path, const LoadedGraph& graph,
                                     const Cluster& cluster) {
  PW_ASSIGN(const std::string text, ReadFile(path));
  return ReadPlacement(text, graph, cluster).InFile(path);
}

}  // namespace placewright
