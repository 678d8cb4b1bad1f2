#include "formats/dnn_partitioning/format.h"

#include <utility>

#include "formats/costs/format.h"
#include "formats/dnn_partitioning/workload_graph.h"
#include "formats/dnn_partitioning/workload_reader.h"
#include "formats/plan/plan_json.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

Match RecognizeWorkload(const GraphHead& head) {
  const JsonHead* json = head.json;
  const bool workload = json != nullptr && json->Has("nodes") &&
                        (json->Has("maxFPGAs") || json->Has("maxSizePerFPGA"));
  return workload ? Match::kPossible : Match::kNone;
}

std::string_view NoGraph(const JsonHead& head) {
  if (!head.Has("fpgas") && !head.Has("cpus")) return "";
  return "a dnn-partitioning split, not a graph; give it as --placement";
}

Status LoadWorkload(std::string_view bytes, const GraphInputOptions&, LoadedGraph* loaded) {
  PW_ASSIGN(const Json document, ParseJson(bytes));
  PW_ASSIGN(PipelineWorkload workload, ReadWorkload(document));
  PW_ASSIGN(CostGraph cost_graph, WorkloadToCostGraph(workload));
  TakeCostGraph(std::move(cost_graph), loaded);
  loaded->notes = WorkloadNotes(workload);
  loaded->details = std::move(workload);
  return Ok();
}

// `{}` says of a workload that nothing runs anywhere, as a split does.
bool IsSplitOf(bool workload, const Json& document) {
  return IsSplit(document) || (workload && document.is_object() && document.empty());
}

std::optional<Result<NamedPlacement>> PlacementFrom(const PlacementSource& source,
                                                    const LoadedGraph& graph, const Cluster&) {
  const auto* workload = graph.Details<PipelineWorkload>();
  if (source.document == nullptr || !IsSplitOf(workload != nullptr, *source.document)) {
    return std::nullopt;
  }
  const Result<Split> split = ReadSplit(*source.document);
  if (!split.ok()) return split.error();
  if (workload != nullptr) return PlacementOfSplit(*workload, split.value());
  return MakeError(ErrorCode::kUsage,
                   "this is a dnn-partitioning split, whose ids are those of a workload; the graph "
                   "is none",
                   "", std::string(kPlacementRemedy));
}

}  // namespace

Result<PipelineWorkload> LoadWorkload(const std::string& path) {
  PW_ASSIGN(const std::string bytes, ReadFile(path));
  PW_ASSIGN(const GraphFormat* format, SniffGraph(bytes).InFile(path));
  if (format != &kDnnPartitioningFormat) {
    Error error = MakeError(ErrorCode::kUsage, "this is not a dnn-partitioning workload", "",
                            "Throughput and latency are defined for these only.");
    error.file = path;
    return error;
  }
  PW_ASSIGN(const Json document, ParseJson(bytes).InFile(path));
  return ReadWorkload(document).InFile(path);
}

Result<SplitOrPlacement> LoadSplitOrPlacement(const std::string& path) {
  PW_ASSIGN(const std::string text, ReadFile(path));
  PW_ASSIGN(const Json document, ParseJson(text).InFile(path));
  SplitOrPlacement result;
  if (IsSplitOf(true, document)) {
    PW_ASSIGN(result.split, ReadSplit(document).InFile(path));
  } else {
    PW_ASSIGN(result.placement, PlacementFromJson(document).InFile(path));
  }
  return result;
}

constinit const GraphFormat kDnnPartitioningFormat = {
    .name = "a dnn-partitioning workload",
    .extension = ".json",
    .json_signature = "\"maxFPGAs\", \"nodes\"",
    .recognize = RecognizeWorkload,
    .read = LoadWorkload,
    .no_graph = NoGraph,
    .placement = PlacementFrom,
};

}  // namespace placewright
