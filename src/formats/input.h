// Files of any readable format, by path: which format it is follows from the content, never from
// the name. Graphs (graph_formats.cc has the table; plain or gzip), clusters (file or preset) and
// placements (a map, anything with a `placement`, files of the graph formats' own).
#ifndef PLACEWRIGHT_FORMATS_INPUT_H_
#define PLACEWRIGHT_FORMATS_INPUT_H_

#include <any>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "graph/graph.h"
#include "graph/transform.h"
#include "plan/placement.h"
#include "plan/sequence.h"

namespace placewright {

struct GraphFormat;  // formats/graph_format.h

// The format of expanded bytes. Errors: kFormatUnknown (empty, text or JSON of another kind: the
// message says what it looks like), kSyntax (broken JSON before anything shows the format).
// Complexity: linear at worst; stops at the first top-level key that decides.
Result<const GraphFormat*> SniffGraph(std::string_view bytes);

struct GraphInputOptions {
  // --batch: ONNX and GraphDef; recorded steps whose file proves how they scale
  std::optional<int64_t> batch;
  std::string sha256;  // if set, a file with another hash is kPlanMismatch before it is parsed
  std::map<std::string, int64_t> dimensions{};  // --dim: ONNX and GraphDef only (their options)
  bool assume_dimensions = false;               // open ones become 1 (OnnxOptions)
  bool prove_batch = false;                     // ONNX: how sizes follow the batch (OnnxOptions)
  Transforms transforms{};  // the graph is what these make of the file's (transforms/transforms.h)
};

struct LoadedGraph {
  std::string path;    // as given
  std::string sha256;  // of the file's bytes as stored
  const GraphFormat* format = nullptr;
  Graph graph;
  // Cost graphs and workloads carry their own devices and times, and perhaps a placement.
  std::optional<Cluster> cluster;
  std::optional<CostTable> costs;
  std::optional<NamedPlacement> placement;
  NamedSequences sequences;  // of the placement
  // PipeDream: every op's time, whatever the device (GivenTimes).
  std::optional<IdVector<OpId, Nanos>> times;
  // What of the file the graph does not carry, or otherwise than it was meant: sentences.
  std::vector<std::string> notes;
  // ONNX, GraphDef: ops whose output shapes nothing stated, so that they were assumed (OnnxReport).
  std::vector<std::string> assumed_shapes;
  // ONNX, GraphDef: open dimensions that options.assume_dimensions gave a value.
  std::map<std::string, int64_t> assumed_dimensions;
  // What only those ask for who know the format: its format.h names the type.
  std::any details;

  template <class T>
  const T* Details() const {  // nullptr where the details are of another type
    return std::any_cast<T>(&details);
  }
};

// Errors name the file: those of the readers, kFileUnreadable, kFormatUnknown, kUsage (a batch
// or dimensions that the format cannot take), kPlanMismatch, those of ApplyTransforms.
Result<LoadedGraph> LoadGraph(const std::string& path, const GraphInputOptions& options = {});

// Its graph becomes what the transforms make of it, and what lies beside it follows. `made`: what they make of it, where that
// is there already. Errors: those of ApplyTransforms.
Status TransformLoaded(const Transforms& transforms, LoadedGraph& loaded,
                       std::unique_ptr<Graph> made = nullptr);

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

// A placement of `graph` on `cluster`: `{op: device}`, or a plan or cost graph with a `placement`,
// or for a workload a split, or for a PipeDream profile one with stages. Errors: those of the
// readers; kUsage for a split or stages of another graph.
struct LoadedPlacement {
  NamedPlacement placement;
  NamedSequences sequences;  // of a cost graph, or beside a map's `placement`: its `sequence`
};
Result<LoadedPlacement> LoadPlacement(const std::string& path, const LoadedGraph& graph,
                                      const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_INPUT_H_
