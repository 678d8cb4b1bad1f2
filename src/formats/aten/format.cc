#include "formats/aten/format.h"

#include <utility>

#include "formats/aten/reader.h"

namespace placewright {
namespace {

Match RecognizeAten(const GraphHead& head) {
  if (head.json == nullptr) return Match::kNone;
  if (head.json->list == kAtenFormat.json_list) return Match::kCertain;
  // A cost graph without its schema has ops, too.
  const bool cost_graph = head.json->Has("tensors") && head.json->Has("devices");
  return head.json->Has("ops") && !cost_graph ? Match::kPossible : Match::kNone;
}

Status LoadAten(std::string_view bytes, const GraphInputOptions& options, LoadedGraph* loaded) {
  PW_ASSIGN(AtenGraph file, ReadAtenFile(bytes, options.batch));
  loaded->graph = std::move(file.graph);
  loaded->details = AtenDetails{std::move(file.module_stated), file.wrapped, std::move(file.origin),
                                std::move(file.pieces)};
  loaded->placement = std::move(file.placement);
  loaded->notes = std::move(file.notes);
  return Ok();
}

}  // namespace

Result<DistributedStep> StepOfFile(const LoadedGraph& file, const Graph& original,
                                   const Cluster& cluster) {
  const AtenDetails none, *const details = file.Details<AtenDetails>();
  const AtenDetails& of = details != nullptr ? *details : none;
  return ResolveStep(file.graph, {of.origin, of.pieces, file.placement}, original, cluster);
}

constinit const GraphFormat kAtenFormat = {
    .name = "an ATen training graph",
    .extension = ".json",
    .json_list = "inputs",
    .json_signature = "\"inputs\", \"ops\"",
    .takes_batch = true,
    .recognize = RecognizeAten,
    .read = LoadAten,
};

}  // namespace placewright
