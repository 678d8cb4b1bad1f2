#include "formats/pipedream/format.h"

#include <utility>

#include "formats/pipedream/profile_graph.h"

namespace placewright {
namespace {

Match RecognizePipeDream(const GraphHead& head) {
  return head.json == nullptr && LooksLikePipeDream(head.bytes) ? Match::kCertain : Match::kNone;
}

Status LoadPipeDream(std::string_view bytes, const GraphInputOptions&, LoadedGraph* loaded) {
  PW_ASSIGN(PipeDreamProfile profile, ReadPipeDream(bytes));
  PW_ASSIGN(ProfileGraph profile_graph, ProfileToGraph(profile));
  loaded->graph = std::move(profile_graph.graph);
  loaded->times = std::move(profile_graph.times);
  loaded->notes = ProfileNotes(profile);
  loaded->details = std::move(profile);
  return Ok();
}

std::optional<Result<NamedPlacement>> PlacementFrom(const PlacementSource& source,
                                                    const LoadedGraph& graph,
                                                    const Cluster& cluster) {
  if (!LooksLikePipeDream(source.text)) return std::nullopt;
  const Result<PipeDreamProfile> staged = ReadPipeDream(source.text);
  if (!staged.ok()) return staged.error();
  if (graph.Details<PipeDreamProfile>() != nullptr) {
    return PlacementOfStages(staged.value(), graph.graph, cluster);
  }
  return MakeError(ErrorCode::kUsage, "these are stages of a PipeDream profile; the graph is none",
                   "", std::string(kPlacementRemedy));
}

}  // namespace

constinit const GraphFormat kPipeDreamFormat = {
    .name = "a PipeDream profile",
    .extension = ".txt",
    .recognize = RecognizePipeDream,
    .read = LoadPipeDream,
    .placement = PlacementFrom,
};

}  // namespace placewright
