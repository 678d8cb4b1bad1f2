#include "search/layouts/test_tiny_steps.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster_builder.h"
#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/simulated.h"

namespace placewright {

Graph TinyStep(Random& random, size_t layers, bool alike, const TinySize& of) {
  GraphBuilder builder("tiny", "aten");
  builder.set_batch(of.samples);
  const auto size = [&] { return of.least_width << random.Below(6); };
  const auto add = [&](std::string name, const char* type, std::vector<TensorId> inputs,
                       std::vector<int64_t> shape, bool in_place = false) {
    OpSpec op{.name = name, .type = type};
    op.phase = in_place ? Phase::kOptimizer : Phase::kForward;
    op.module = "layer" + name.substr(name.size() - 1);
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape)}};
    if (in_place) op.outputs[0].alias = AliasKind::kInPlace;
    if (in_place) op.outputs[0].alias_of = 0;
    return builder.AddOp(std::move(op)).Take()[0];
  };
  const auto input = [&](std::string name, TensorKind kind, std::vector<int64_t> shape) {
    return builder.AddInput(std::move(name), kind, DType::kF32, std::move(shape)).Take();
  };
  int64_t width = size();
  TensorId x = input("input:x", TensorKind::kInput, {of.samples, width});
  std::vector<TensorId> outputs;
  if (layers == 0) layers = 1 + random.Below(2);
  for (size_t layer = 0; layer < layers; ++layer) {
    const std::string number = std::to_string(layer);
    const int64_t next = alike ? width : size();
    const TensorId across = input("input:t" + number, TensorKind::kInput, {width, of.samples});
    const TensorId w = input("param:w" + number, TensorKind::kParameter, {width, next});
    const TensorId y = add("product" + number, "aten.mm.default", {x, w}, {of.samples, next});
    x = add("activation" + number, "aten.relu.default", {y}, {of.samples, next});
    const TensorId gradient =
        add("gradient" + number, "aten.mm.default", {across, x}, {width, next});
    outputs.push_back(
        add("update" + number, "aten.sub_.Tensor", {w, gradient}, {width, next}, true));
    width = next;
  }
  outputs.push_back(x);
  builder.SetOutputs(outputs);
  Graph graph = std::move(builder).Build().Take();
  BatchScaling laws;
  laws.sizes = {of.samples, of.samples + 1, 2 * of.samples + 3};
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    const bool across = tensor.name.starts_with("input:t");
    const bool samples = across || tensor.name == "input:x" || tensor.name.starts_with("product") ||
                         tensor.name.starts_with("activation");
    if (samples) laws.dimensions.items.push_back({across ? 1 : 0, 1});
    laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
  }
  laws.arguments.offsets.resize(graph.op_count() + 1, 0);
  return WithBatchScaling(std::move(graph), laws).Take();
}

Cluster TinyCluster(Random& random) {
  ClusterBuilder builder("two");
  for (const char* name : {"a", "b"}) {
    DeviceKind kind{.name = std::string("K") + name};
    kind.peak.f32 = 1e9 * static_cast<double>(1 + random.Below(4));
    kind.memory_bandwidth = BytesPerSecond(int64_t{1} << (28 + random.Below(3)));
    const int32_t number = builder.AddKind(kind).Take();
    (void)builder.AddDevice({.name = name, .kind = number, .capacity = Bytes(1 << 28)}).Take();
  }
  const BytesPerSecond bandwidth(int64_t{1} << (24 + random.Below(10)));
  EXPECT_TRUE(builder.Connect("a", "b", bandwidth, Nanos(100), Duplex::kFull, "").ok());
  return std::move(builder).Build().Take();
}

LayeredProblem::LayeredProblem(uint64_t seed, const Constraints& constraints, size_t layers) {
  Random random(seed);
  graph = std::make_unique<const Graph>(TinyStep(random, layers));
  cluster = std::make_unique<const Cluster>(TinyCluster(random));
  Complete(constraints);
}

LayeredProblem::LayeredProblem(Graph of, Cluster on, const Constraints& constraints)
    : graph(std::make_unique<const Graph>(std::move(of))),
      cluster(std::make_unique<const Cluster>(std::move(on))) {
  Complete(constraints);
}

void LayeredProblem::Complete(const Constraints& constraints) {
  layouts = LayoutProblem::Make(*graph, *cluster, CostOptions(), SchedulingPolicy::kFifo).Take();
  problem =
      BuildProblem(*graph, *cluster, layouts->costs, constraints, SchedulingPolicy::kFifo).Take();
  problem.layouts = layouts.get();
}

PlannerResult LayeredProblem::Search(LayoutRule rule, int64_t moves, uint64_t seed,
                                     int threads) const {
  PlannerOptions options;
  options.budget.iterations = moves;
  options.seed = seed;
  options.threads = threads;
  return SearchTiny(problem, options, rule);
}

PlannerResult SearchTiny(const Problem& problem, const PlannerOptions& options, LayoutRule rule) {
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(problem, options.threads);
  return SearchLayouts(problem, *evaluator, options, rule, "layout-search", {}).Take();
}

DistributionSpec EvenSplit() {
  LayoutSpec spec;
  spec.groups = "*";
  spec.option = LayoutOption::kAllReduce;
  spec.axis = "batch";
  spec.devices = {{"a", {}}, {"b", {}}};
  DistributionSpec all;
  all.layouts = {spec};
  return all;
}

Result<Evaluation> EvaluateState(const LayoutProblem& problem, LayoutBook& book,
                                 const LayoutState& state) {
  return EvaluateCompiled(problem, PlanOf(book, state));
}

}  // namespace placewright
