#include "search/layouts/offload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster_builder.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/test_layer_writer.h"
#include "search/problem/problem.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kRows = 64, kInner = 512;
constexpr int64_t kWeightBytes = kInner * kInner * 4;
constexpr int kCount = 6;

// Six layers, each a product with a square weight, which the backward pass reads again; updated with a momentum, or frozen.
class OffloadedStep : private LayerWriter {
 public:
  explicit OffloadedStep(bool frozen) {
    std::vector<TensorId> weights, read, outputs;
    TensorId x = Input("input:x", TensorKind::kInput, {kRows, kInner});
    for (int i = 0; i < kCount; ++i) {
      module_ = "layers." + std::to_string(i);
      read.push_back(x);
      weights.push_back(Input("param:" + module_ + ".weight", TensorKind::kParameter, kSquare));
      x = Add("aten.mm.default", {x, View(weights.back(), kSquare)}, {kRows, kInner});
    }
    phase_ = Phase::kBackward;
    TensorId g = x;
    std::vector<TensorId> gradients(kCount);
    for (size_t i = kCount; i-- > 0;) {
      module_ = "layers." + std::to_string(i);
      if (!frozen) {
        gradients[i] = Add("aten.mm.default", {View(read[i], {kInner, kRows}), g}, kSquare);
      }
      g = Add("aten.mm.default", {g, View(weights[i], kSquare)}, {kRows, kInner});
    }
    outputs = {x, g};
    phase_ = Phase::kOptimizer;
    for (size_t i = 0; i < kCount && !frozen; ++i) {
      module_ = "layers." + std::to_string(i);
      const TensorId m =
          Input("opt_state:" + module_ + ".weight.m", TensorKind::kOptimizerState, kSquare);
      outputs.push_back(Write("aten.add_.Tensor", {m, gradients[i]}));
      outputs.push_back(Write("aten.sub_.Tensor", {weights[i], outputs.back()}));
    }
    builder_.SetOutputs(outputs);
  }
  Graph Build() { return std::move(builder_).Build().Take(); }

 private:
  const std::vector<int64_t> kSquare = {kInner, kInner};

  TensorId View(TensorId of, std::vector<int64_t> shape) {
    return Add("aten.t.default", {of}, std::move(shape), AliasKind::kView);
  }
  TensorId Write(const char* type, std::vector<TensorId> inputs) {
    return Add(type, std::move(inputs), kSquare, AliasKind::kInPlace);
  }
};

// A GPU of that capacity and, unless left out, a CPU with plenty, 8 GB/s apart.
Cluster OneCard(int64_t capacity, bool cpu = true) {
  ClusterBuilder builder("card");
  DeviceKind gpu{.name = "Card", .device_class = DeviceClass::kGpu};
  gpu.peak.f32 = 1e12;
  gpu.memory_bandwidth = BytesPerSecond(100'000'000'000);
  DeviceKind host{.name = "Host", .device_class = DeviceClass::kCpu};
  host.peak.f32 = 1e11;
  host.memory_bandwidth = BytesPerSecond(50'000'000'000);
  const int32_t card = builder.AddKind(gpu).Take(), socket = builder.AddKind(host).Take();
  (void)builder.AddDevice({.name = "gpu", .kind = card, .capacity = Bytes(capacity)}).Take();
  if (cpu) {
    (void)builder.AddDevice({.name = "cpu", .kind = socket, .capacity = Bytes(1 << 30)}).Take();
    const auto joined = builder.Connect("cpu", "gpu", BytesPerSecond(8'000'000'000), Nanos(1000),
                                        Duplex::kFull, "");
    PW_CHECK(joined.ok());
  }
  return std::move(builder).Build().Take();
}

struct OnCard {
  OnCard(bool frozen, int64_t capacity, bool cpu = true)
      : graph(OffloadedStep(frozen).Build()),
        cluster(OneCard(capacity, cpu)),
        problem(LayoutProblem::Make(graph, cluster, {}, SchedulingPolicy::kProgram).Take()) {}

  OffloadLayouts Layouts() const { return OffloadLayouts::Make(*problem, 1000).Take(); }
  Evaluation Of(size_t count, bool anew) const {
    return EvaluateCompiled(*problem, Layouts().PlanOf(count, anew)).Take();
  }
  int64_t PeakOf(size_t count, bool anew) const { return Of(count, anew).devices[0].peak.count; }

  const Graph graph;
  const Cluster cluster;
  const std::unique_ptr<LayoutProblem> problem;
};

std::vector<int> LayersOnHost(const OnCard& on, const StepPlan& plan) {
  std::vector<int> layers;
  for (int i = 0; i < kCount; ++i) {
    const TensorId weight = on.graph.FindTensor("param:layers." + std::to_string(i) + ".weight");
    const OpId home = on.graph.home_op(on.graph.tensor(weight).storage);
    const Layout& layout = plan.layouts.Of(on.graph.group(home));
    if (layout.shares.front().device == DeviceId(1)) layers.push_back(i);
  }
  return layers;
}

TEST(Offload, SpreadsLayersEvenly) {
  const OnCard on(/*frozen=*/false, 1 << 28);
  const OffloadLayouts layouts = on.Layouts();
  ASSERT_EQ(layouts.unit_count(), static_cast<size_t>(kCount));
  EXPECT_THAT(LayersOnHost(on, layouts.PlanOf(1, false)), ElementsAre(5));
  EXPECT_THAT(LayersOnHost(on, layouts.PlanOf(3, false)), ElementsAre(1, 3, 5));
  EXPECT_THAT(LayersOnHost(on, layouts.PlanOf(6, true)), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_TRUE(layouts.PlanOf(0, false).IsPlaced());
}

// Frozen weights that are fetched for each pass: at no time more than two of six are on the GPU. Kept, all are in the end.
TEST(Offload, HasTwoLayersOfThoseFetchedAnew) {
  const OnCard on(/*frozen=*/true, 1 << 28);
  const int64_t all = on.PeakOf(0, false);
  EXPECT_LE(on.PeakOf(6, true), all - 4 * kWeightBytes);
  EXPECT_GE(on.PeakOf(6, false), all - kWeightBytes);
}

// Each weight crosses twice, 1 MiB at 8 GB/s: nothing is faster than 12 of these, and computing hides behind them. Kept,
// it crosses once, and computes for as long as three crossings behind the last.
TEST(Offload, TakesWhatTheLinkTakes) {
  const OnCard on(/*frozen=*/true, 1 << 28);
  const int64_t crossing = 1000 + kWeightBytes / 8;
  const int64_t step = on.Of(6, true).step_time.count;
  EXPECT_GE(step, 12 * crossing);
  EXPECT_LE(step, 13 * crossing);
  EXPECT_LT(on.Of(6, false).step_time.count, 9 * crossing);
}

// Momenta and updates are on the host: the GPU has the weights, and one gradient or two at a time.
TEST(Offload, KeepsTheStateOnTheHost) {
  const OnCard on(/*frozen=*/false, 1 << 28);
  const Evaluation of = on.Of(6, false);
  EXPECT_GE(of.devices[1].peak.count, 2 * kCount * kWeightBytes);
  EXPECT_LE(of.devices[0].peak.count, on.PeakOf(0, false) - kCount * kWeightBytes);
}

// What the planner comes to.
PlannerResult PlanOffload(const OnCard& on, std::vector<std::string> settings = {}) {
  Problem problem = BuildProblem(on.graph, on.cluster, on.problem->costs, Constraints(),
                                 SchedulingPolicy::kProgram)
                        .Take();
  problem.layouts = on.problem.get();
  settings.push_back("smallest=1000");
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(problem);
  return OffloadPlanner(settings).Plan(problem, *evaluator, {}).Take();
}

TEST(OffloadPlans, OffloadNothingWhereAllFits) {
  const OnCard on(/*frozen=*/false, 1 << 28);
  const PlannerResult result = PlanOffload(on);
  EXPECT_TRUE(result.feasible);
  EXPECT_THAT(LayersOnHost(on, result.plan), ElementsAre());
}

// By brute force over all numbers of layers, at capacities from what the fewest need to what all need.
TEST(OffloadPlans, OffloadAsFewLayersAsFit) {
  const OnCard all(/*frozen=*/true, 1 << 28);
  const int64_t largest = all.PeakOf(0, false), smallest = all.PeakOf(kCount, true);
  ASSERT_GT(largest - smallest, 3 * kWeightBytes);
  for (int64_t capacity = smallest; capacity < largest; capacity += kWeightBytes) {
    const OnCard on(/*frozen=*/true, capacity);
    size_t fewest = 0;
    while (!on.Of(fewest, true).feasible) ++fewest;
    const PlannerResult result = PlanOffload(on);
    EXPECT_TRUE(result.feasible) << capacity;
    EXPECT_EQ(LayersOnHost(on, result.plan).size(), fewest) << capacity;
  }
}

TEST(OffloadPlans, AreWhatSettingsState) {
  const OnCard on(/*frozen=*/false, 1 << 28);
  const PlannerResult result = PlanOffload(on, {"layers=2", "copies=fetched-anew"});
  EXPECT_THAT(LayersOnHost(on, result.plan), ElementsAre(2, 5));
  EXPECT_THAT(result.plan.switches.regather, ElementsAre("layers.2", "layers.5"));
}

TEST(OffloadPlans, NeedACpu) {
  const OnCard on(/*frozen=*/false, 1 << 28, /*cpu=*/false);
  const auto layouts = OffloadLayouts::Make(*on.problem, 1000);
  ASSERT_FALSE(layouts.ok());
  EXPECT_EQ(layouts.error().code, ErrorCode::kClusterUnsuited);
  EXPECT_THAT(layouts.error().message, HasSubstr("whose CPU is a device"));
}

}  // namespace
}  // namespace placewright
