// Costs, schedule and placement files against a fixed small problem.
#include "cluster/catalogue.h"
#include "formats/plan/plan_json.h"
#include "graph/graph_builder.h"

namespace {

using namespace placewright;

Graph SmallGraph() {
  GraphBuilder builder("small", "aten");
  const TensorId x = builder.AddInput("x", TensorKind::kInput, DType::kF32, {4, 4}).Take();
  OpSpec op;
  op.name = "a";
  op.type = "aten.relu.default";
  op.inputs = {x};
  op.outputs = {{"a", DType::kF32, {4, 4}}};
  const TensorId a = builder.AddOp(op).Take()[0];
  op.name = "b";
  op.inputs = {a};
  op.outputs = {{"b", DType::kF32, {4, 4}}};
  (void)builder.AddOp(op).Take();
  return std::move(builder).Build().Take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Graph graph = SmallGraph();
  static const Cluster cluster = MakePreset("2xV100").Take();
  auto document = ParseJson({reinterpret_cast<const char*>(data), size});
  if (!document.ok()) return 0;
  (void)CostsFromJson(document.value(), graph, cluster);
  (void)ScheduleFromJson(document.value(), graph, cluster);
  auto placement = PlacementFromJson(document.value());
  if (placement.ok()) (void)ResolvePlacement(placement.value(), graph, cluster);
  return 0;
}
