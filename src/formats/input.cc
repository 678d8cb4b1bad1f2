#include "formats/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "cluster/catalogue.h"
#include "cluster/machine_presets.h"
#include "cluster/random_topology.h"
#include "formats/aten/format.h"
#include "formats/cluster/cluster_reader.h"
#include "formats/costs/costgraph_reader.h"
#include "formats/graph_format.h"
#include "formats/plan/plan_json.h"
#include "formats/text/file.h"
#include "formats/text/json.h"
#include "formats/text/yaml.h"
#include "formats/torch_archive/archive.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

// Errors: kUsage.
Status CheckTakes(const GraphFormat& format, const GraphInputOptions& options) {
  if (!format.takes_dimensions && !options.dimensions.empty()) {
    const auto& [name, value] = *options.dimensions.begin();
    return MakeError(ErrorCode::kUsage,
                     fmt::format("--dim {}={} cannot be applied: the file's shapes are fixed",
                                 Printable(name), value),
                     "", "Leave --dim out, or give an ONNX model with symbolic dimensions.");
  }
  if (format.takes_batch || !options.batch) return Ok();
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("--batch {} cannot be applied: the file's shapes are fixed", *options.batch), "",
      "Leave --batch out, or give an ONNX model or a step that `placewright capture` recorded.");
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
    const std::string_view machines = WithoutCommunicator(path_or_preset);
    const bool preset = std::find(names.begin(), names.end(), machines) != names.end() ||
                        FindMachines(machines).count > 0 ||
                        RandomTopologySeed(machines).has_value();
    if (!preset) {
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
          "",
          fmt::format("`placewright cluster show` lists the presets; of a machine up to {} are "
                      "written as \"4x 8xH100\".",
                      kMaxMachines));
    }
    return LoadPreset(path_or_preset);
  }
  LoadedCluster loaded;
  loaded.path = path_or_preset;
  constexpr ReadLimits kLimits{kMaxYamlBytes, kMaxYamlBytes};
  PW_ASSIGN(std::string bytes, ReadFileRaw(path_or_preset, kLimits));
  loaded.sha256 = Sha256(bytes);
  PW_ASSIGN(bytes, Expand(std::move(bytes), kLimits).InFile(path_or_preset));
  PW_ASSIGN(loaded.cluster, ParseCluster(bytes).InFile(path_or_preset));
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
  PW_RETURN_IF_ERROR(CheckTakes(*loaded.format, options).InFile(path));
  PW_RETURN_IF_ERROR(loaded.format->read(bytes, options, &loaded).InFile(path));
  PW_RETURN_IF_ERROR(TransformLoaded(options.transforms, loaded).InFile(path));
  return loaded;
}

Status TransformLoaded(const Transforms& transforms, LoadedGraph& loaded,
                       std::unique_ptr<Graph> made) {
  if (made == nullptr) {
    PW_ASSIGN(made, ApplyTransforms(loaded.graph, transforms));
  }
  const Transforms& done = made == nullptr ? loaded.graph.transforms() : made->transforms();
  for (const Transform& asked : transforms) {
    if (asked.kind != Transform::kRecompute) continue;
    if (std::find(done.begin(), done.end(), asked) != done.end()) continue;
    loaded.notes.push_back(
        fmt::format("nothing is computed again: the backward pass reads no activation of {}",
                    fmt::join(asked.modules, ", ")));
  }
  if (made == nullptr) return Ok();
  if (const AtenDetails* const of_file = loaded.Details<AtenDetails>()) {
    AtenDetails details = *of_file;
    details.module_stated = {};
    for (const OpId op : made->ops()) {
      const OpId before = loaded.graph.FindOp(made->op(op).name);
      const bool stated =
          !before.valid() || of_file->module_stated.empty() || of_file->module_stated[before];
      details.module_stated.push_back(stated);
    }
    loaded.details = std::move(details);
  }
  if (!RewriteAlike(transforms, {})) {
    loaded.notes.push_back(fmt::format("the step is rewritten ({}): {} ops became {}",
                                       Describe(made->transforms()), loaded.graph.op_count(),
                                       made->op_count()));
  }
  loaded.graph = std::move(*made);
  return Ok();
}

Result<LoadedCluster> LoadCluster(const std::string& path_or_preset,
                                  const ClusterInputOptions& options) {
  PW_ASSIGN(LoadedCluster loaded, LoadDescription(path_or_preset));
  if (!options.as_described) {
    PW_RETURN_IF_ERROR(ApplyMemoryReserve(options.reserve, &loaded.cluster));
  }
  return loaded;
}

namespace {

// Beside a `placement`; a flat map may well place an op called "sequence".
Result<NamedSequences> SequencesBeside(const Json& document) {
  const auto sequence = document.find("sequence");
  const auto placement = document.find("placement");
  for (const auto& [key, value] : document.items()) {
    const bool beside = placement != document.end() && placement->is_object();
    if (!beside || key == "sequence" || EditDistance(key, "sequence") > 2) continue;
    return MakeError(ErrorCode::kField, "did you mean \"sequence\"?", key);
  }
  if (sequence == document.end() || placement == document.end() || !placement->is_object()) {
    return NamedSequences();
  }
  if (!sequence->is_object()) {
    return MakeError(ErrorCode::kField, "must be an object {device: [op, ...]}", "sequence");
  }
  return SequencesFromJson(*sequence, "sequence");
}

Result<LoadedPlacement> ReadPlacement(std::string_view text, const LoadedGraph& graph,
                                      const Cluster& cluster) {
  const Result<Json> document = ParseJson(text);
  const PlacementSource source{text, document.ok() ? &document.value() : nullptr};
  for (const GraphFormat* format : GraphFormats()) {
    if (format->placement == nullptr) continue;
    if (auto placement = format->placement(source, graph, cluster)) {
      PW_ASSIGN(NamedPlacement named, std::move(*placement));
      return LoadedPlacement{std::move(named), {}};
    }
  }
  if (!document.ok()) return document.error();
  LoadedPlacement loaded;
  PW_ASSIGN(loaded.placement, PlacementFromJson(document.value()));
  PW_ASSIGN(loaded.sequences, SequencesBeside(document.value()));
  return loaded;
}

}  // namespace

Result<LoadedPlacement> LoadPlacement(const std::string& path, const LoadedGraph& graph,
                                      const Cluster& cluster) {
  PW_ASSIGN(const std::string text, ReadFile(path));
  return ReadPlacement(text, graph, cluster).InFile(path);
}

}  // namespace placewright
