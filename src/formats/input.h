// Files of any readable format, by path: which format it is follows from the content, never from
// the name. Graphs (ATen JSON, ONNX, GraphDef, cost graph, dnn-partitioning workload, PipeDream
// profile; plain or gzip), clusters (file or preset) and placements (a map, anything with a
// `placement`, a split).
#ifndef PLACEWRIGHT_FORMATS_INPUT_H_
#define PLACEWRIGHT_FORMATS_INPUT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "formats/pipedream/profile.h"
#include "graph/graph.h"
#include "plan/pipeline_workload.h"
#include "plan/placement.h"
#include "plan/split.h"

namespace placewright {

enum class GraphFormat : uint8_t {
  kAten,
  kOnnx,
  kCostGraph,
  kDnnPartitioning,
  kPipeDream,
  kGraphDef
};

// The format of expanded bytes. Errors: kFormatUnknown (empty, text or JSON of another kind: the
// message says what it looks like), kSyntax (broken JSON before anything tells the format).
// Complexity: linear at worst; stops at the first top-level key that decides.
Result<GraphFormat> SniffGraph(std::string_view bytes);

struct GraphInputOptions {
  // --batch: ONNX and GraphDef; recorded steps whose file proves how they scale
  std::optional<int64_t> batch;
  std::string sha256;  // if set, a file with another hash is kPlanMismatch before it is parsed
  std::map<std::string, int64_t> dimensions{};  // --dim: ONNX and GraphDef only (their options)
  bool assume_dimensions = false;               // open ones become 1 (OnnxOptions)
};

struct LoadedGraph {
  std::string path;    // as given
  std::string sha256;  // of the file's bytes as stored
  GraphFormat format = GraphFormat::kAten;
  Graph graph;
  // Cost graphs and workloads carry their own devices and times, and perhaps a placement.
  std::optional<Cluster> cluster;
  std::optional<CostTable> costs;
  std::optional<NamedPlacement> placement;
  // ATen: of every op, whether the file states its module.
  IdVector<OpId, bool> module_stated;
  // ATen, where the file says so: whether its paths are those of a wrapper `m` around the model.
  std::optional<bool> wrapped;
  // PipeDream: every op's time, whatever the device (GivenTimes).
  std::optional<IdVector<OpId, Nanos>> times;
  // What these files say beyond the graph.
  std::optional<PipelineWorkload> workload;
  std::optional<PipeDreamProfile> profile;
  // What of the file the graph does not carry, or otherwise than it was meant: sentences.
  std::vector<std::string> notes;
  // ONNX, GraphDef: ops whose output shapes nothing told, so that they were assumed (OnnxReport).
  std::vector<std::string> assumed_shapes;
  // ONNX, GraphDef: open dimensions that options.assume_dimensions gave a value.
  std::map<std::string, int64_t> assumed_dimensions;
};

// Errors name the file: those of the readers, kFileUnreadable, kFormatUnknown, kUsage (a batch
// or dimensions that the format cannot take), kPlanMismatch.
Result<LoadedGraph> LoadGraph(const std::string& path, const GraphInputOptions& options = {});

struct LoadedCluster {
  std::string path;  // as given; "preset:4xP100" for a preset
  // Of the file's bytes as stored; of the canonical JSON of presets as they are described, without
  // a default reserve.
  std::string sha256;
  Cluster cluster;
};

struct ClusterInputOptions {
  // --memory-reserve: of every GPU, whatever the file states; else the default of those for which
  // it states none (cluster/memory_reserve.h).
  std::optional<MemoryReserve> reserve{};
  bool as_described = false;  // no default either: for plans, which say what they reserve
};

// A file (YAML or JSON; "-": standard input) or a preset's name; a file of that name wins,
// "preset:NAME" is always the preset. Errors: those of the reader and of ApplyMemoryReserve,
// kUnknownName with near names.
Result<LoadedCluster> LoadCluster(const std::string& path_or_preset,
                                  const ClusterInputOptions& options = {});

// The hash that stands for a cluster without a file of its own: of its canonical JSON.
std::string ClusterHash(const Cluster& cluster);

// kPlanMismatch: a file (`what`: "graph", "costs file") with another hash than the plan names.
Error OtherContent(std::string_view what, std::string_view expected, std::string_view found);

// The workload of a dnn-partitioning file, without a graph made of it: cycles and any number of
// devices are possible. Errors: as LoadGraph; kUsage where the file is of another format.
Result<PipelineWorkload> LoadWorkload(const std::string& path);

// A placement of `graph` on `cluster`: `{op: device}`, or a plan or cost graph with a `placement`,
// or for a workload a split, or for a PipeDream profile one with stages. Errors: those of the
// readers; kUsage for a split or stages of another graph.
Result<NamedPlacement> LoadPlacement(const std::string& path, const LoadedGraph& graph,
                                     const Cluster& cluster);

// What a placement file says to a workload: the split that it is, or else names. Errors: those of
// the readers.
struct SplitOrPlacement {
  std::optional<Split> split;
  NamedPlacement placement;  // where it is no split
};
Result<SplitOrPlacement> LoadSplitOrPlacement(const std::string& path);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_INPUT_H_
