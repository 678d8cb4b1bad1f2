#include "formats/costs/format.h"

#include <utility>

namespace placewright {
namespace {

constexpr std::string_view kSchemaPrefix = "placewright.costgraph/";

Match RecognizeCostGraph(const GraphHead& head) {
  if (head.json == nullptr) return Match::kNone;
  if (head.json->schema.starts_with(kSchemaPrefix)) return Match::kCertain;
  return head.json->Has("tensors") && head.json->Has("devices") ? Match::kPossible : Match::kNone;
}

Status LoadCostGraph(std::string_view bytes, const GraphInputOptions&, LoadedGraph* loaded) {
  PW_ASSIGN(CostGraph cost_graph, ReadCostGraphText(bytes));
  TakeCostGraph(std::move(cost_graph), loaded);
  return Ok();
}

}  // namespace

void TakeCostGraph(CostGraph cost_graph, LoadedGraph* loaded) {
  loaded->graph = std::move(cost_graph.graph);
  loaded->cluster = std::move(cost_graph.cluster);
  loaded->costs = std::move(cost_graph.costs);
  loaded->placement = std::move(cost_graph.placement);
  loaded->sequences = std::move(cost_graph.sequences);
}

constinit const GraphFormat kCostGraphFormat = {
    .name = "a cost graph",
    .extension = ".json",
    .json_signature = "\"schema\": \"placewright.costgraph/1\"",
    .recognize = RecognizeCostGraph,
    .read = LoadCostGraph,
};

}  // namespace placewright
