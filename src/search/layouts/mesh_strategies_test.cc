#include "search/layouts/mesh_strategies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/catalogue.h"
#include "graph/batch/at_batch.h"
#include "search/evaluation/compiled_step.h"
#include "search/layouts/test_layer_writer.h"
#include "transforms/accumulate.h"
#include "transforms/precision.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kSamples = 32, kWidth = 96;
constexpr int kLayers = 6;

// Six layers, each a product with a square weight, and a head that is one, too; every weight is read in both passes and
// updated with a momentum.
class Layers : private LayerWriter {
 public:
  Graph Build() {
    builder_.set_batch(kSamples);
    TensorId x = Input("input:x", TensorKind::kInput, {kSamples, kWidth});
    std::vector<std::string> modules;
    for (int i = 0; i < kLayers; ++i) modules.push_back("layers." + std::to_string(i));
    modules.emplace_back("head");
    std::vector<TensorId> weights, read;
    for (const std::string& module : modules) {
      module_ = module;
      read.push_back(x);
      weights.push_back(Input("param:" + module + ".weight", TensorKind::kParameter, kSquare));
      x = Add("aten.mm.default", {x, weights.back()}, {kSamples, kWidth}, AliasKind::kFresh);
    }
    phase_ = Phase::kBackward;
    TensorId g = x;
    std::vector<TensorId> gradients(modules.size());
    for (size_t i = modules.size(); i-- > 0;) {
      module_ = modules[i];
      const TensorId across =
          Add("aten.t.default", {read[i]}, {kWidth, kSamples}, AliasKind::kView);
      gradients[i] = Add("aten.mm.default", {across, g}, kSquare, AliasKind::kFresh);
      const TensorId t = Add("aten.t.default", {weights[i]}, kSquare, AliasKind::kView);
      g = Add("aten.mm.default", {g, t}, {kSamples, kWidth}, AliasKind::kFresh);
    }
    phase_ = Phase::kOptimizer;
    std::vector<TensorId> outputs = {x, g};
    for (size_t i = 0; i < modules.size(); ++i) {
      module_ = modules[i];
      const TensorId momentum =
          Input("opt_state:" + module_ + ".weight.m", TensorKind::kOptimizerState, kSquare);
      outputs.push_back(
          Add("aten.add_.Tensor", {momentum, gradients[i]}, kSquare, AliasKind::kInPlace));
      outputs.push_back(
          Add("aten.sub_.Tensor", {weights[i], outputs.back()}, kSquare, AliasKind::kInPlace));
    }
    builder_.SetOutputs(outputs);
    return Scaled(std::move(builder_).Build().Take(), kSamples);
  }

 private:
  const std::vector<int64_t> kSquare = {kWidth, kWidth};
};

struct OnCluster {
  explicit OnCluster(const char* preset, Graph step = Layers().Build())
      : graph(std::move(step)),
        cluster(MakePreset(preset).Take()),
        problem(LayoutProblem::Make(graph, cluster, {}, SchedulingPolicy::kProgram).Take()) {}

  StepPlan Plan(MeshStrategy strategy) const { return LayOutOnMesh(*problem, strategy).Take(); }
  CompiledStep Compile(MeshStrategy strategy) const {
    return CompileStep(*problem, Plan(strategy)).Take();
  }
  Bytes PeakOf(MeshStrategy strategy) const {
    Bytes peak;
    for (const Evaluation::Device& device : EvaluateStep(Compile(strategy)).devices) {
      peak = std::max(peak, device.peak);
    }
    return peak;
  }

  const Graph graph;
  const Cluster cluster;
  const std::unique_ptr<LayoutProblem> problem;
};

std::vector<OpId> MembersOf(const CompiledStep& step, const std::string& type) {
  const Graph& graph = step.step.graph;
  std::vector<OpId> first;
  for (const CollectiveId id : graph.collectives()) {
    const OpId member = graph.collective(id).members.front();
    if (graph.op(member).type == type) first.push_back(member);
  }
  return first;
}
size_t GathersOf(const CompiledStep& step) {
  return MembersOf(step, "placewright.all_gather.default").size();
}

// The layers, not the head.
TEST(Fsdp, FetchesLayersAnewOneAhead) {
  const OnCluster step("8xH100");
  const StepPlan plan = step.Plan(MeshStrategy::kFsdp);
  EXPECT_THAT(plan.switches.regather, ElementsAre("layers.*"));
  EXPECT_EQ(plan.switches.prefetch, 1);
  EXPECT_EQ(plan.layouts.layouts, step.Plan(MeshStrategy::kZero2).layouts.layouts);
  EXPECT_EQ(GathersOf(step.Compile(MeshStrategy::kFsdp)), 2u * kLayers + 1);
}

// On each host its own.
TEST(Fsdp, OfHybridsGathersWithinHosts) {
  const OnCluster step("4x 8xH100");
  EXPECT_EQ(step.Plan(MeshStrategy::kHsdp).layouts.layouts,
            step.Plan(MeshStrategy::kHybridZero2).layouts.layouts);
  EXPECT_EQ(GathersOf(step.Compile(MeshStrategy::kHsdp)), 4u * (2 * kLayers + 1));
}

// Parameters and momenta of 7 layers, 36,864 B each, on k devices: a k-th of their sum, and up to a granule and a row of
// each more.
TEST(Fsdp, KeepsAShareOfWhatPersists) {
  for (const auto& [preset, devices] :
       {std::pair("8xH100", int64_t{8}), std::pair("4x 8xH100", int64_t{32})}) {
    const OnCluster on(preset);
    const CompiledStep compiled = on.Compile(MeshStrategy::kFsdp);
    std::map<std::string, int64_t> kept;  // by device
    for (const DistributedStep::InputPiece& input : compiled.step.inputs) {
      const Tensor& piece = compiled.step.graph.tensor(input.piece);
      if (!IsPersistent(on.graph.tensor(input.original).kind)) continue;
      const OpId home = compiled.step.graph.home_op(piece.storage);
      kept[on.cluster.device(compiled.step.placement[home]).name] +=
          RoundUpToGranule(piece.bytes).count;
    }
    ASSERT_EQ(static_cast<int64_t>(kept.size()), devices);
    constexpr int64_t kTensors = 2 * (kLayers + 1), kBytes = kWidth * kWidth * 4;
    for (const auto& [device, bytes] : kept) {
      EXPECT_GE(bytes, kTensors * kBytes / devices) << device;
      EXPECT_LE(bytes, kTensors * (kBytes / devices + 512)) << device;
    }
  }
}

// Copies of two layers and of the head, where without epochs there are those of all.
TEST(Fsdp, NeedsLessMemory) {
  const OnCluster step("8xH100");
  constexpr int64_t kWeight = kWidth * kWidth * 4;
  const Bytes kept = step.PeakOf(MeshStrategy::kZero2), anew = step.PeakOf(MeshStrategy::kFsdp);
  EXPECT_LE(anew.count, kept.count - (kLayers - 3) * kWeight);
}

// Each weight's gradients of four micro-batches: four times, or once, behind the last of them.
TEST(Zero1, ScattersSumsOfMicroBatches) {
  const OnCluster step("8xH100", std::move(*WithAccumulation(Layers().Build(), 4).Take()));
  const auto scatters = [&](MeshStrategy strategy) {
    return MembersOf(step.Compile(strategy), "placewright.reduce_scatter.default").size();
  };
  EXPECT_EQ(scatters(MeshStrategy::kZero2), 4u * (kLayers + 1));
  EXPECT_EQ(scatters(MeshStrategy::kZero1), kLayers + 1u);
  const OnCluster whole("8xH100");
  EXPECT_EQ(whole.Plan(MeshStrategy::kZero1).layouts.layouts,
            whole.Plan(MeshStrategy::kZero2).layouts.layouts);
}

// Parameters of 64 bits, with which the step computes in 32: what is cast is gathered, as often as the parameter
// would be, and a layer ahead; gradients are scattered in 64 bits.
TEST(Fsdp, GathersWhatIsCast) {
  const OnCluster wider(
      "8xH100", std::move(*WithPrecision(Layers().Build(), {"reduce=f64", "master=f64"}).Take()));
  const CompiledStep cast = wider.Compile(MeshStrategy::kFsdp);
  EXPECT_EQ(GathersOf(cast), 2u * kLayers + 1);
  const Graph& graph = cast.step.graph;
  const auto bytes_read = [&](OpId op) { return graph.tensor(graph.op(op).inputs[0]).bytes; };
  size_t waits = 0;
  for (const OpId op : MembersOf(cast, "placewright.all_gather.default")) {
    EXPECT_EQ(bytes_read(op), Bytes(kWidth * kWidth * 4 / 8));
    waits += graph.op(op).after.empty() ? 0 : 1;
  }
  EXPECT_EQ(waits, 2u * kLayers);  // all but the first
  const auto scattered = MembersOf(cast, "placewright.reduce_scatter.default");
  EXPECT_EQ(scattered.size(), kLayers + 1u);
  for (const OpId op : scattered) EXPECT_EQ(bytes_read(op), Bytes(kWidth * kWidth * 8));
}

}  // namespace
}  // namespace placewright
