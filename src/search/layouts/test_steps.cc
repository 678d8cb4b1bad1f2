#include "search/layouts/test_steps.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster_builder.h"
#include "cost/signature.h"
#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/test_layout_optimum.h"

namespace placewright {
namespace {

Value Listed(std::vector<int64_t> numbers) {
  Value::List list;
  for (const int64_t number : numbers) list.push_back(Value(number));
  return Value(list);
}

class StepDrawer {
 public:
  explicit StepDrawer(Random& random)
      : random_(random), builder_("drawn", "aten"), samples_(2 + Below(3)) {
    builder_.set_batch(samples_);
  }

  Graph Draw() {
    TensorId x = Input("input:x", TensorKind::kInput, {samples_, Size()}, 0);
    const int64_t ops = 1 + Below(3);
    for (int64_t i = 0; i < ops; ++i) x = Next(std::to_string(i), x);
    outputs_.push_back(x);
    builder_.SetOutputs(outputs_);
    return WithLaws(std::move(builder_).Build().Take());
  }

 private:
  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(limit)));
  }
  int64_t Size() { return 2 + Below(2); }
  std::vector<int64_t> ShapeOf(TensorId id) const { return builder_.added().tensors[id].shape; }

  // `samples`: the dimension of the batch, or -1.
  TensorId Input(const std::string& name, TensorKind kind, std::vector<int64_t> shape,
                 int samples = -1) {
    if (samples >= 0) batch_of_[name] = samples;
    return builder_.AddInput(name, kind, DType::kF32, std::move(shape)).Take();
  }

  struct Made {
    std::vector<int64_t> shape;
    int samples = -1;
    int in_place = -1;  // of which input
  };
  std::vector<TensorId> Add(const std::string& name, const char* type, std::vector<TensorId> inputs,
                            std::vector<Made> made, std::vector<Value> further = {},
                            Phase phase = Phase::kForward, std::vector<int32_t> writes = {}) {
    OpSpec op{.name = name, .type = type, .phase = phase};
    op.module = "layer" + name.substr(name.size() - 1);
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.args.insert(op.args.end(), further.begin(), further.end());
    op.inputs = std::move(inputs);
    op.writes = std::move(writes);
    for (size_t i = 0; i < made.size(); ++i) {
      OutputSpec output{.name = made.size() == 1 ? name : name + ":" + std::to_string(i),
                        .shape = made[i].shape};
      if (made[i].samples >= 0) batch_of_[output.name] = made[i].samples;
      if (made[i].in_place >= 0) {
        output.alias = AliasKind::kInPlace;
        output.alias_of = made[i].in_place;
      }
      op.outputs.push_back(std::move(output));
    }
    return builder_.AddOp(std::move(op)).Take();
  }

  TensorId Next(const std::string& number, TensorId x) {
    switch (Below(9)) {
      case 0:
      case 1: return Product(number, x, /*update=*/false);
      case 2: return Product(number, x, /*update=*/true);
      case 3: return Add("relu" + number, "aten.relu.default", {x}, {{ShapeOf(x), 0}})[0];
      case 4:
        return Add("softmax" + number, "aten._softmax.default", {x}, {{ShapeOf(x), 0}},
                   {Value(int64_t{1}), Value(false)})[0];
      case 5: return InPlace(number, x);
      case 6: return Norm(number, x);
      case 7: return Gradients(number, x);
      default: return Mean(number, x);
    }
  }

  TensorId Product(const std::string& number, TensorId x, bool update) {
    const int64_t width = ShapeOf(x)[1], next = Size();
    const TensorId w = Input("param:w" + number, TensorKind::kParameter, {width, next});
    const TensorId y =
        Add("product" + number, "aten.mm.default", {x, w}, {{{samples_, next}, 0}})[0];
    if (!update) return y;
    const TensorId across = Input("input:t" + number, TensorKind::kInput, {width, samples_}, 1);
    const TensorId gradient = Add("gradient" + number, "aten.mm.default", {across, y},
                                  {{{width, next}}}, {}, Phase::kBackward)[0];
    outputs_.push_back(Add("update" + number, "aten.sub_.Tensor", {w, gradient},
                           {{{width, next}, -1, 0}}, {}, Phase::kOptimizer)[0]);
    return y;
  }

  // What is written may be a sum.
  TensorId InPlace(const std::string& number, TensorId x) {
    const TensorId y = Product(number, x, false);
    return Add("relu_" + number, "aten.relu_.default", {y}, {{ShapeOf(y), 0, 0}})[0];
  }

  TensorId Norm(const std::string& number, TensorId x) {
    const int64_t width = ShapeOf(x)[1];
    std::vector<TensorId> inputs = {x};
    for (const char* name : {"param:gamma", "param:beta", "buffer:mean", "buffer:var"}) {
      const bool buffer = std::string(name).starts_with("buffer");
      inputs.push_back(
          Input(name + number, buffer ? TensorKind::kBuffer : TensorKind::kParameter, {width}));
    }
    return Add("norm" + number, "aten.native_batch_norm.default", std::move(inputs),
               {{ShapeOf(x), 0}, {{width}}, {{width}}}, {Value(true), Value(0.1), Value(1e-5)},
               Phase::kForward, {3, 4})[0];
  }

  // Of a convolution that is not part of the step, by an input, and the update by the one of its weight.
  TensorId Gradients(const std::string& number, TensorId x) {
    const int64_t channels = 2, filters = 2;
    const std::vector<int64_t> image = {samples_, channels, 2, 2}, made = {samples_, filters, 2, 2};
    const TensorId y = Input("input:y" + number, TensorKind::kInput, image, 0);
    const TensorId gradient = Input("input:g" + number, TensorKind::kInput, made, 0);
    const std::vector<int64_t> taps = {filters, channels, 1, 1};
    const TensorId w = Input("param:w" + number, TensorKind::kParameter, taps);
    const std::vector<TensorId> gradients =
        Add("back" + number, "aten.convolution_backward.default", {gradient, y, w},
            {{image, 0}, {taps}},
            {Value(), Listed({1, 1}), Listed({0, 0}), Listed({1, 1}), Value(false), Listed({0, 0}),
             Value(int64_t{1}), Value(Value::List{Value(true), Value(true), Value(false)})},
            Phase::kBackward);
    outputs_.push_back(gradients[0]);
    outputs_.push_back(Add("update" + number, "aten.sub_.Tensor", {w, gradients[1]},
                           {{taps, -1, 0}}, {}, Phase::kOptimizer)[0]);
    return x;
  }

  // Beside the step's result; what goes on is x.
  TensorId Mean(const std::string& number, TensorId x) {
    outputs_.push_back(Add("mean" + number, "aten.mean.default", {x}, {{{}}})[0]);
    return x;
  }

  Graph WithLaws(Graph graph) const {
    BatchScaling laws;
    laws.sizes = {samples_, samples_ + 1, 2 * samples_ + 3};
    for (const TensorId id : graph.tensors()) {
      const auto found = batch_of_.find(graph.tensor(id).name);
      if (found != batch_of_.end()) laws.dimensions.items.push_back({found->second, 1});
      laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
    }
    laws.arguments.offsets.resize(graph.op_count() + 1, 0);
    return WithBatchScaling(std::move(graph), laws).Take();
  }

  Random& random_;
  GraphBuilder builder_;
  const int64_t samples_;
  std::vector<TensorId> outputs_;
  std::map<std::string, int> batch_of_;
};

}  // namespace

Graph DrawStep(Random& random) {
  for (;;) {
    Graph graph = StepDrawer(random).Draw();
    if (graph.group_count() >= 2 && graph.group_count() <= 5) return graph;
  }
}

Cluster DrawCluster(Random& random, size_t devices, int64_t capacity) {
  ClusterBuilder builder("drawn");
  std::vector<int32_t> kinds;
  const uint64_t distinct = 1 + random.Below(devices);
  const Nanos launch(static_cast<int64_t>(random.Below(2) * (1 + random.Below(2000))));
  for (uint64_t i = 0; i < distinct; ++i) {
    DeviceKind kind{.name = "K" + std::to_string(i)};
    if (random.Below(2) == 0) kind.device_class = DeviceClass::kGpu;
    kind.peak.f32 = 1e7 * static_cast<double>(1 + random.Below(4));
    kind.memory_bandwidth = BytesPerSecond(int64_t{1} << (23 + random.Below(4)));
    kind.launch_overhead = launch;
    kinds.push_back(builder.AddKind(kind).Take());
  }
  for (size_t i = 0; i < devices; ++i) {
    (void)builder
        .AddDevice({.name = "d" + std::to_string(i),
                    .kind = kinds[std::min<size_t>(i, kinds.size() - 1)],
                    .capacity = Bytes(capacity)})
        .Take();
  }
  const BytesPerSecond bandwidth(int64_t{1} << (22 + random.Below(12)));
  for (size_t i = 0; i < devices; ++i) {
    for (size_t j = i + 1; j < devices; ++j) {
      EXPECT_TRUE(builder
                      .Connect("d" + std::to_string(i), "d" + std::to_string(j), bandwidth,
                               Nanos(10), Duplex::kFull, "")
                      .ok());
    }
  }
  return std::move(builder).Build().Take();
}

DrawnProblem::DrawnProblem(uint64_t seed, bool large, bool tight) : random(seed) {
  graph = std::make_unique<const Graph>(DrawStep(random));
  const bool three = large && graph->group_count() <= 3 && random.Below(3) == 0;
  const int64_t capacity =
      tight ? 512 * static_cast<int64_t>(1 + random.Below(12)) : int64_t{1} << 28;
  cluster = std::make_unique<const Cluster>(DrawCluster(random, three ? 3 : 2, capacity));
  layouts = LayoutProblem::Make(*graph, *cluster, CostOptions(), SchedulingPolicy::kFifo).Take();
  problem =
      BuildProblem(*graph, *cluster, layouts->costs, Constraints(), SchedulingPolicy::kFifo).Take();
  problem.layouts = layouts.get();
}

void DrawnProblem::Measure() {
  const auto state = [&] {
    const auto time = [&] { return Nanos(static_cast<int64_t>(500 + random.Below(1500))); };
    return MachineState{time(), time(), time()};
  };
  CostOptions options;
  for (const DeviceKind& kind : cluster->kinds()) {
    MeasuredDevice device;
    device.on.kind = kind.name;
    device.on.cores = kind.cores;
    if (random.Below(2) == 0) device.now = state();
    options.measured.push_back(std::move(device));
  }
  std::vector<std::vector<Layout>> choices;
  for (size_t g = 0; g < graph->group_count(); ++g) {
    choices.push_back(LayoutsOf(*layouts, GroupId(g)));
  }
  std::map<std::pair<std::string, int32_t>, bool> seen;
  for (int i = 0; i < 20; ++i) {
    Layouts drawn;
    for (const std::vector<Layout>& choice : choices) {
      drawn.of_group.push_back(LayoutId(drawn.layouts.size()));
      drawn.layouts.push_back(choice[random.Below(choice.size())]);
    }
    const Result<CompiledStep> compiled = DecideAndCompile(*layouts, {drawn, {}});
    if (!compiled.ok()) continue;
    const Graph& step = compiled.value().step.graph;
    for (const OpId op : step.ops()) {
      if (step.op(op).is_view) continue;
      const DeviceId device = compiled.value().step.placement[op];
      const int32_t kind = cluster->device(device).kind;
      MeasuredOp row;
      row.signature = SignatureOf(step, op).text;
      if (!seen.emplace(std::pair(row.signature, kind), true).second) continue;
      if (random.Below(2) == 0) continue;
      const auto modelled = static_cast<double>(compiled.value().costs.time(op, device).count);
      row.time = Nanos(static_cast<int64_t>(modelled * (0.2 + 4.8 * random.Unit())));
      if (random.Below(2) == 0) row.state = state();
      options.measured[static_cast<size_t>(kind)].ops.push_back(std::move(row));
    }
  }
  layouts = LayoutProblem::Make(*graph, *cluster, options, SchedulingPolicy::kFifo).Take();
  problem =
      BuildProblem(*graph, *cluster, layouts->costs, Constraints(), SchedulingPolicy::kFifo).Take();
  problem.layouts = layouts.get();
}

}  // namespace placewright
