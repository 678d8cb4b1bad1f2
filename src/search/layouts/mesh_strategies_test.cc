#include "search/layouts/mesh_strategies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/catalogue.h"
#include "graph/batch/at_batch.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/test_attention.h"
#include "search/layouts/test_layer_writer.h"
#include "sharding/mixture.h"
#include "transforms/accumulate.h"
#include "transforms/precision.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kSamples = 32, kWidth = 96;
constexpr int kLayers = 6;

// Six layers, each a product with a square weight, and a head that is one, too; every weight is read in both passes and
// updated with a momentum. Where `clips` by gradients that are scaled by the sum of all their squares. `products`: of each
// layer, with a weight each.
class Layers : private LayerWriter {
 public:
  explicit Layers(int64_t width = kWidth, int products = 1) : width_(width), products_(products) {}

  Graph Build(bool clips = false) {
    builder_.set_batch(kSamples);
    TensorId x = Input("input:x", TensorKind::kInput, {kSamples, width_});
    std::vector<std::string> modules;
    for (int i = 0; i < kLayers; ++i) {
      const std::string layer = "layers." + std::to_string(i);
      for (int product = 0; product < products_; ++product) {
        modules.push_back(product == 0 ? layer : layer + "." + std::to_string(product));
      }
    }
    modules.emplace_back("head");
    std::vector<TensorId> weights, read;
    for (const std::string& module : modules) {
      module_ = module;
      read.push_back(x);
      weights.push_back(Input("param:" + module + ".weight", TensorKind::kParameter, square_));
      x = Add("aten.mm.default", {x, weights.back()}, {kSamples, width_}, AliasKind::kFresh);
    }
    phase_ = Phase::kBackward;
    TensorId g = x;
    std::vector<TensorId> gradients(modules.size());
    for (size_t i = modules.size(); i-- > 0;) {
      module_ = modules[i];
      const TensorId across =
          Add("aten.t.default", {read[i]}, {width_, kSamples}, AliasKind::kView);
      gradients[i] = Add("aten.mm.default", {across, g}, square_, AliasKind::kFresh);
      const TensorId t = Add("aten.t.default", {weights[i]}, square_, AliasKind::kView);
      g = Add("aten.mm.default", {g, t}, {kSamples, width_}, AliasKind::kFresh);
    }
    phase_ = Phase::kOptimizer;
    if (clips) Clip(gradients);
    std::vector<TensorId> outputs = {x, g};
    for (size_t i = 0; i < modules.size(); ++i) {
      module_ = modules[i];
      const TensorId momentum =
          Input("opt_state:" + module_ + ".weight.m", TensorKind::kOptimizerState, square_);
      outputs.push_back(
          Add("aten.add_.Tensor", {momentum, gradients[i]}, square_, AliasKind::kInPlace));
      outputs.push_back(
          Add("aten.sub_.Tensor", {weights[i], outputs.back()}, square_, AliasKind::kInPlace));
    }
    builder_.SetOutputs(outputs);
    return Scaled(std::move(builder_).Build().Take(), kSamples);
  }

 private:
  void Clip(std::vector<TensorId>& gradients) {
    module_.clear();
    TensorId total;
    for (const TensorId gradient : gradients) {
      const TensorId squares =
          Add("aten.mul.Tensor", {gradient, gradient}, square_, AliasKind::kFresh);
      const TensorId sum = Add("aten.sum.default", {squares}, {}, AliasKind::kFresh);
      total = total.valid() ? Add("aten.add.Tensor", {total, sum}, {}, AliasKind::kFresh) : sum;
    }
    const TensorId share = Add("aten.reciprocal.default", {total}, {}, AliasKind::kFresh);
    for (TensorId& gradient : gradients) {
      gradient = Add("aten.mul.Tensor", {gradient, share}, square_, AliasKind::kFresh);
    }
  }

  const int64_t width_;
  const int products_;
  const std::vector<int64_t> square_ = {width_, width_};
};

struct OnCluster {
  explicit OnCluster(const char* preset, int64_t width = kWidth, bool clips = false)
      : OnCluster(preset, Layers(width).Build(clips)) {}
  OnCluster(const char* preset, Graph step)
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

constexpr const char *kGathers = "placewright.all_gather.coalesced",
                     *kScatters = "placewright.reduce_scatter.coalesced",
                     *kSums = "placewright.all_reduce.coalesced";

// Of tensors, not of numbers: the first member of each.
std::vector<OpId> MembersOf(const CompiledStep& step, std::string_view type) {
  const Graph& graph = step.step.graph;
  std::vector<OpId> first;
  for (const CollectiveId id : graph.collectives()) {
    const OpId member = graph.collective(id).members.front();
    const Op& op = graph.op(member);
    if (op.type == type && !graph.tensor(op.outputs.front()).shape.empty()) first.push_back(member);
  }
  return first;
}
size_t CollectivesOf(const CompiledStep& step, std::string_view type) {
  return MembersOf(step, type).size();
}
size_t GathersOf(const CompiledStep& step) {
  return CollectivesOf(step, "placewright.all_gather.default");
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

// Of three weights a layer one gather for each pass and one scatter; the head has one of each.
TEST(Fsdp, HasOneCollectiveALayer) {
  const OnCluster step("8xH100", Layers(kWidth, 3).Build());
  const CompiledStep by_unit = step.Compile(MeshStrategy::kFsdp);
  EXPECT_EQ(CollectivesOf(by_unit, kGathers), 2u * kLayers);
  EXPECT_EQ(CollectivesOf(by_unit, kScatters), 1u * kLayers);
  EXPECT_EQ(GathersOf(by_unit), 1u);
  EXPECT_EQ(CollectivesOf(by_unit, "placewright.reduce_scatter.default"), 1u);
  const StepPlan each = LayOutOnMesh(*step.problem, MeshStrategy::kFsdp, {.by_unit = false}).Take();
  const CompiledStep apart = CompileStep(*step.problem, each).Take();
  EXPECT_EQ(GathersOf(apart), 3u * 2 * kLayers + 1);
  EXPECT_EQ(CollectivesOf(apart, "placewright.reduce_scatter.default"), 3u * kLayers + 1);
  // A ring of eight goes round once where it went round three times.
  EXPECT_LT(EvaluateStep(by_unit).step_time, EvaluateStep(apart).step_time);
}

// Of each micro-batch one scatter a layer, or one behind the last; and what hosts add up across them is one, too.
TEST(Fsdp, HasOneCollectiveALayerOfMicroBatchesAndHosts) {
  const OnCluster step("8xH100", std::move(*WithAccumulation(Layers(kWidth, 2).Build(), 2).Take()));
  EXPECT_EQ(CollectivesOf(step.Compile(MeshStrategy::kFsdp), kScatters), 2u * kLayers);
  EXPECT_EQ(CollectivesOf(step.Compile(MeshStrategy::kZero1), kScatters), 1u * kLayers);
  const OnCluster hosts("2x 8xH100", Layers(kWidth, 2).Build());
  const CompiledStep hybrid = hosts.Compile(MeshStrategy::kHsdp);
  EXPECT_EQ(CollectivesOf(hybrid, kScatters), 2u * kLayers);
  EXPECT_EQ(CollectivesOf(hybrid, kSums), 8u * kLayers);
}

// Square parameters and momenta of 7 layers on k devices: a k-th of their sum, and up to a granule of each more; where k
// divides no dimension, a row of each besides.
TEST(Fsdp, KeepsAShareOfWhatPersists) {
  struct Case {
    const char* preset;
    int64_t devices, width;
  };
  for (const auto& [preset, devices, width] :
       {Case{"8xH100", 8, kWidth}, Case{"4x 8xH100", 32, kWidth}, Case{"3x 8xH100", 24, 100},
        Case{"4x 8xH100", 32, 100}}) {
    const OnCluster on(preset, width);
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
    constexpr int64_t kTensors = 2 * (kLayers + 1);
    const int64_t share = width * width * 4 / devices, row = width % devices == 0 ? 0 : width * 4;
    int64_t all = 0;
    for (const auto& [device, bytes] : kept) {
      EXPECT_LE(bytes, kTensors * (share + 512 + row)) << device;
      all += bytes;
    }
    EXPECT_GE(all, kTensors * width * width * 4);
  }
}

// Squares are added up in shards, and shards are scaled: a gradient is scattered once and never gathered.
TEST(Fsdp, ClipsShardsOfGradients) {
  const OnCluster on("8xH100", kWidth, /*clips=*/true);
  const CompiledStep step = on.Compile(MeshStrategy::kFsdp);
  EXPECT_EQ(GathersOf(step), 2u * kLayers + 1);
  EXPECT_EQ(CollectivesOf(step, "placewright.reduce_scatter.default"), kLayers + 1u);
  EXPECT_EQ(CollectivesOf(step, "placewright.all_reduce.default"), 0u);
}

// Copies of two layers and of the head, whose gradient stays until the backward pass has ended; without epochs there are
// copies of all.
TEST(Fsdp, NeedsLessMemory) {
  const OnCluster step("8xH100");
  constexpr int64_t kWeight = kWidth * kWidth * 4;
  const Bytes kept = step.PeakOf(MeshStrategy::kZero2), anew = step.PeakOf(MeshStrategy::kFsdp);
  EXPECT_LE(anew.count, kept.count - (kLayers - 5) * kWeight);
}

// A mask that is turned and looked up by the numbers of samples, before a product.
class Padded : private LayerWriter {
 public:
  Graph Build() {
    builder_.set_batch(kSamples);
    const TensorId mask = Input("input:mask", TensorKind::kInput, {kSamples, kWidth});
    const TensorId rows =
        builder_.AddInput("input:rows", TensorKind::kInput, DType::kI64, {kSamples}).Take();
    const TensorId weight = Input("param:w", TensorKind::kParameter, {kWidth, kWidth});
    const TensorId turned = Add("aten.neg.default", {mask}, {kSamples, kWidth});
    OpSpec found{.name = "found", .type = "aten.index.Tensor"};
    found.inputs = {turned, rows};
    found.args = {Value(InputRef{0}), Value(Value::List{Value(InputRef{1})})};
    found.outputs = {{.name = "found", .shape = {kSamples, kWidth}}};
    const TensorId x = builder_.AddOp(std::move(found)).Take()[0];
    builder_.SetOutputs({Add("aten.mm.default", {x, weight}, {kSamples, kWidth})});
    return Scaled(std::move(builder_).Build().Take(), kSamples);
  }
};

// The mask is on every GPU, and nothing but the parameter may be gathered.
TEST(MeshStrategies, InputsThatAreReadWholeAreNotGathered) {
  const OnCluster step("8xH100", Padded().Build());
  const StepPlan plan = step.Plan(MeshStrategy::kZero2);
  const auto layout_of = [&](const char* op) {
    return plan.layouts.Of(step.graph.group(step.graph.FindOp(op)));
  };
  EXPECT_FALSE(layout_of("op0").IsSplit());
  EXPECT_EQ(layout_of("op0").shares.size(), 8u);
  EXPECT_TRUE(layout_of("found").IsSplit());
  EXPECT_LE(GathersOf(step.Compile(MeshStrategy::kZero2)), 1u);
}

// By the names of kinds and of hosts: of a V100, two GTX 1080 Ti and a T4, each on a host of its own.
TEST(MeshStrategies, TakeGpusByKindAndHost) {
  const OnCluster step("mixed-lab");
  const auto devices = [&](const char* gpus) {
    const StepPlan plan = LayOutOnMesh(*step.problem, MeshStrategy::kZero2, {.gpus = gpus}).Take();
    return plan.layouts.layouts.front().shares.size();
  };
  EXPECT_EQ(devices("all"), 4U);
  EXPECT_EQ(devices("V100-32GB"), 1U);
  EXPECT_EQ(devices("host1"), 2U);
  EXPECT_EQ(devices("V100-32GB+host1"), 3U);
  const auto unknown = LayOutOnMesh(*step.problem, MeshStrategy::kZero2, {.gpus = "A100"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_THAT(unknown.error().remedy, ::testing::HasSubstr("V100-32GB"));
}

// Shares by speed, of products that read more than they are launched for: a faster GPU has no fewer samples than a slower
// one, the V100 more than the T4.
TEST(MeshStrategies, SharesFollowSpeed) {
  const OnCluster step("mixed-lab", 8192);
  const StepPlan plan = LayOutOnMesh(*step.problem, MeshStrategy::kFsdp, {.by_speed = true}).Take();
  const DeviceTimes times = TimesOf(*step.problem);
  int64_t all = 0;
  std::vector<std::pair<double, int64_t>> by_time;
  for (const placewright::Share& share : plan.layouts.layouts.front().shares) {
    const int64_t samples = share.box.front().interval.length();
    all += samples;
    by_time.emplace_back(times.split[share.device], samples);
  }
  std::sort(by_time.begin(), by_time.end());
  EXPECT_EQ(all, kSamples);
  for (size_t i = 1; i < by_time.size(); ++i) {
    EXPECT_GE(by_time[i - 1].second, by_time[i].second);
  }
  EXPECT_GT(by_time.front().second, by_time.back().second);
}

// Gathers and scatters of eight GPUs: one communicator, a ring of 24 channels of 10 MiB. With 100 MiB left beside tensors
// and context each lacks 140, whether all of them are simulated or one of each class.
TEST(Fsdp, CountsTheBuffersOfItsCommunicator) {
  constexpr int64_t kMebibyte = 1 << 20;
  const OnCluster plenty("8xH100");
  const StepPlan plan = plenty.Plan(MeshStrategy::kFsdp);
  for (const LaneUse lanes : {LaneUse::kNever, LaneUse::kAlways}) {
    const Evaluation before =
        LayoutEvaluator(*plenty.problem, lanes).Evaluate(plan.layouts, plan.switches).Take();
    EXPECT_TRUE(before.feasible);
    Cluster cluster = plenty.cluster;
    std::vector<DeviceId> gpus;
    for (const DeviceId id : cluster.devices()) {
      if (cluster.kind(id).device_class == DeviceClass::kGpu) gpus.push_back(id);
    }
    for (const DeviceId id : gpus) {
      const Bytes memory = cluster.device(id).capacity + cluster.device(id).reserve;
      const Bytes capacity = before.devices[id.index()].peak + Bytes(100 * kMebibyte);
      ASSERT_TRUE(cluster.SetReserve(id, memory - capacity).ok());
    }
    const auto tight =
        LayoutProblem::Make(plenty.graph, cluster, {}, SchedulingPolicy::kProgram).Take();
    const Evaluation after =
        LayoutEvaluator(*tight, lanes).Evaluate(plan.layouts, plan.switches).Take();
    EXPECT_FALSE(after.feasible);
    EXPECT_EQ(after.step_time, before.step_time);
    for (const DeviceId id : gpus) {
      EXPECT_EQ(after.devices[id.index()].over.count, 140 * kMebibyte) << id.index();
    }
  }
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

// Under ZeRO-1 a weight that is cast is gathered once, though the backward pass reads a view of it.
TEST(Zero1, GathersACastOnce) {
  const OnCluster wider(
      "8xH100", std::move(*WithPrecision(Layers().Build(), {"reduce=f64", "master=f64"}).Take()));
  EXPECT_EQ(GathersOf(wider.Compile(MeshStrategy::kZero1)), kLayers + 1u);
}

// Queries of the first places see few keys: the first GPU has more of them, and takes as long as the last one.
TEST(Context, SharesTokensOutByWork) {
  const OnCluster step("2xH100", SelfAttention(/*causal=*/true, /*places=*/4096));
  MeshOptions options;
  const auto first_tokens = [&] {
    const StepPlan plan = LayOutOnMesh(*step.problem, MeshStrategy::kContext, options).Take();
    EXPECT_TRUE(CompileStep(*step.problem, plan).ok());
    const AxisId tokens = step.problem->axes.Find("input:x[1]");
    int64_t found = 0;
    for (const AxisInterval& one : plan.layouts.layouts.front().shares.front().box) {
      if (one.axis == tokens) found = one.interval.length();
    }
    return found;
  };
  EXPECT_EQ(first_tokens(), 2048);
  options.tokens_by_work = true;
  EXPECT_GT(first_tokens(), 2048 + 64);
  EXPECT_LT(first_tokens(), 2897);  // the root of a half: attention alone
}

// Two experts over the GPUs of each of two hosts: from the sort to the return a GPU has the rows of its expert, of all
// tokens of its host.
TEST(Experts, HaveTheirRowsOfAllTokensOfAHost) {
  const OnCluster step("2x 2xH100", MixtureOfExperts(/*biased=*/false).Build());
  const StepPlan plan = step.Plan(MeshStrategy::kExperts);
  const NamedAxes& axes = step.problem->axes;
  const AxisId experts = axes.Find("param:w[0]");
  const auto box_of = [&](GroupId group, size_t device) {
    return plan.layouts.layouts[plan.layouts.of_group[group].index()].shares[device].box;
  };
  const auto group_of = [&](const char* op) { return step.graph.group(step.graph.FindOp(op)); };
  const Box due = {{axes.batch(), {4, 8}}, {experts, {1, 2}}};
  for (const char* const op : {"sort", "y", "home", "of_w", "zeros"}) {
    EXPECT_EQ(box_of(group_of(op), 3), due) << op;
  }
  EXPECT_TRUE(CompileStep(*step.problem, plan).ok());
}

TEST(Experts, AreNoMoreGpusThanDivideThem) {
  const OnCluster step("2x 2xH100", MixtureOfExperts(/*biased=*/false).Build());
  MeshOptions options;
  options.degree = 4;
  const Result<StepPlan> plan = LayOutOnMesh(*step.problem, MeshStrategy::kExperts, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kUsage);
  EXPECT_THAT(plan.error().ToString(), testing::HasSubstr("experts"));
  // The two rows of a sample are not those of four experts: these stay together.
  const OnCluster four("2x 2xH100", MixtureOfExperts(/*biased=*/true, /*experts=*/4).Build());
  EXPECT_FALSE(LayOutOnMesh(*four.problem, MeshStrategy::kExperts).ok());
}

// A GPU has the biases of its own expert, too.
TEST(Experts, HaveTheirBiases) {
  const OnCluster step("2x 2xH100", MixtureOfExperts(/*biased=*/true, /*experts=*/2).Build());
  const StepPlan plan = step.Plan(MeshStrategy::kExperts);
  const NamedAxes& axes = step.problem->axes;
  const AxisId experts = axes.Find("param:w[0]");
  const Box due = {{axes.batch(), {4, 8}}, {experts, {1, 2}}};
  for (const char* const op : {"y", "own", "sum", "gradient", "home"}) {
    const GroupId group = step.graph.group(step.graph.FindOp(op));
    const Layout& layout = plan.layouts.layouts[plan.layouts.of_group[group].index()];
    EXPECT_EQ(layout.shares[3].box, due) << op;
  }
  EXPECT_TRUE(CompileStep(*step.problem, plan).ok());
}

// Where tokens are split, rows are those of experts, of all tokens of a group's samples: the order of a sort has no tokens.
TEST(Tokens, RowsOfExpertsAreOfWholeSamples) {
  for (const MeshStrategy strategy : {MeshStrategy::kContext, MeshStrategy::kUlysses}) {
    for (const int64_t experts : {2, 3}) {
      const int64_t places = 12;
      const OnCluster step("2x 2xH100", SelfAttention(false, places, experts));
      MeshOptions options;
      options.degree = 2;
      const StepPlan plan = LayOutOnMesh(*step.problem, strategy, options).Take();
      const NamedAxes& axes = step.problem->axes;
      const AxisId by = axes.Find("param:experts[0]");
      const auto box = [&](const char* op) {
        const GroupId group = step.graph.group(step.graph.FindOp(op));
        return plan.layouts.layouts[plan.layouts.of_group[group].index()].shares[3].box;
      };
      const Interval own = experts == 2 ? Interval{1, 2} : Interval{1, 3};
      EXPECT_EQ(box("product"), (Box{{axes.batch(), {4, 8}}, {by, own}}));
      EXPECT_EQ(box("sort"), box("home"));
      const auto compiled = CompileStep(*step.problem, plan);
      EXPECT_TRUE(compiled.ok()) << (compiled.ok() ? "" : compiled.error().ToString());
    }
  }
}

}  // namespace
}  // namespace placewright
