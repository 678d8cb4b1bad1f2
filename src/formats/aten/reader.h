// The ATen training graph (fx JSON): one whole step recorded op by op. docs/formats/aten-graph.md.
#ifndef PLACEWRIGHT_FORMATS_ATEN_READER_H_
#define PLACEWRIGHT_FORMATS_ATEN_READER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/aten/records.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"
#include "plan/placement.h"

namespace placewright {

struct AtenGraph {
  Graph graph;
  IdVector<OpId, bool> module_stated;       // by the file; else it was worked out
  std::optional<NamedPlacement> placement;  // where ops state a `device`
  std::optional<bool> wrapped;  // stated: paths begin with "m.", a recorder's wrapper, or do not
  // What of the file holds for the graph only with a reservation: sentences.
  std::vector<std::string> notes;
  // Of a distributed step: the op of the original that each is an instance of, "" for those that move or
  // join pieces; and what each input of the graph is of the original's, in the order of the inputs.
  IdVector<OpId, std::string> origin{};  // empty: no distributed step
  std::vector<NamedPiece> pieces{};
};

// `text` is the expanded JSON. With `batch` the step is taken to that batch size, which needs the
// file's proof of how it scales (graph/batch/batch_scaling.h). Errors name "ops[12] (add_1)" and
// the like; kBatchScaling.
Result<AtenGraph> ReadAtenFile(std::string_view text, std::optional<int64_t> batch = std::nullopt);
// The graph alone.
Result<Graph> ReadAtenGraph(std::string_view text);
// A distributed step of `original` on `cluster`. Errors: those above; kField where the file is none, or
// an op has no device; kUnknownName; kPlanMismatch where a piece is not of its input.
Result<DistributedStep> ReadAtenStep(std::string_view text, const Graph& original,
                                     const Cluster& cluster);

// What a file that was read says of a distributed step beside its graph, as AtenGraph has it.
struct NamedStep {
  const IdVector<OpId, std::string>& origin;
  const std::vector<NamedPiece>& pieces;
  const std::optional<NamedPlacement>& placement;
};
// The same step without its graph, which is `graph` and may be large: of a file that was read already.
Result<DistributedStep> ResolveStep(const Graph& graph, const NamedStep& named,
                                    const Graph& original, const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_ATEN_READER_H_
