#include "formats/graphdef/format.h"

#include <utility>

#include "formats/graphdef/devices.h"
#include "formats/graphdef/message.h"
#include "formats/graphdef/reader.h"

namespace placewright {
namespace {

using graphdef::LooksLikeBinaryGraphDef;
using graphdef::LooksLikeTextGraphDef;

// A binary one begins with a line feed, its second byte may be a brace.
Match RecognizeGraphDef(const GraphHead& head) {
  if (LooksLikeBinaryGraphDef(head.bytes)) return Match::kCertain;
  if (head.json != nullptr) return Match::kNone;
  if (LooksLikeTextGraphDef(head.bytes)) return Match::kCertain;
  // No other format's first field.
  return head.bytes.starts_with('\x0a') ? Match::kPossible : Match::kNone;
}

Status LoadGraphDef(std::string_view bytes, const GraphInputOptions& options, LoadedGraph* loaded) {
  GraphDefReport report;
  PW_ASSIGN(
      loaded->graph,
      ReadGraphDef(bytes, {options.batch, options.dimensions, options.assume_dimensions}, &report));
  loaded->assumed_shapes = std::move(report.assumed_shapes);
  loaded->assumed_dimensions = std::move(report.assumed_dimensions);
  loaded->notes = std::move(report.notes);
  return Ok();
}

std::optional<Result<NamedPlacement>> PlacementFrom(const PlacementSource& source,
                                                    const LoadedGraph& graph,
                                                    const Cluster& cluster) {
  if (!LooksLikeBinaryGraphDef(source.text) && !LooksLikeTextGraphDef(source.text)) {
    return std::nullopt;
  }
  return PlacementOfGraphDef(source.text, graph.graph, cluster);
}

}  // namespace

constinit const GraphFormat kGraphDefFormat = {
    .name = "a TensorFlow GraphDef",
    .extension = ".pb",
    .takes_batch = true,
    .takes_dimensions = true,
    .recognize = RecognizeGraphDef,
    .read = LoadGraphDef,
    .placement = PlacementFrom,
};

}  // namespace placewright
