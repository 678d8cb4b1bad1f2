// A distributed step is the step: executed over simulated devices by random layouts and by those of
// expert-hybrid, steps of the zoo's small models give the parameters, states and losses of the step on one
// device, in float64 to 1e-9; and the checker proves it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "cluster/catalogue.h"
#include "cluster/cluster_builder.h"
#include "compile/compiler.h"
#include "compile/drawn_layouts.h"
#include "executed_steps.h"
#include "search/layouts/expert_hybrid.h"
#include "search/layouts/mesh_strategies.h"
#include "search/sfb/embedding_rows.h"

namespace placewright {
namespace {

TEST_P(ExecutedLayouts, DataParallelGivesTheStep) {
  RunLayouts(DataParallel({2, 3}), 2, {},
             /*through_file=*/true);
}

// Every device sums and gathers for itself.
TEST_P(ExecutedLayouts, SoDoesItWithoutCollectives) {
  CompileOptions options;
  options.collectives = false;
  RunLayouts(DataParallel({2, 3}), 2, options);
}

// Gradients reduced together, some at a time and all at once.
TEST_P(ExecutedLayouts, SoDoesItInBuckets) {
  for (const Bytes fusion : {Bytes(4 << 10), Bytes(64 << 20)}) {
    CompileOptions options;
    options.switches.fusion = fusion;
    RunLayouts(DataParallel({2, 1, 2}), 3, options, /*through_file=*/true);
  }
}

// Parameters on one device each, from which the others get them by broadcasts, or by single transfers.
TEST_P(ExecutedLayouts, SoDoParameterServers) {
  const std::vector<int64_t> lengths = {2, 1, 1, 1};
  RunLayouts(ForParameters(lengths, /*in_parts=*/false), 4, {}, /*through_file=*/true);
  CompileOptions options;
  options.switches.broadcasts = false;
  RunLayouts(ForParameters(lengths, /*in_parts=*/false), 4, options);
}

// Gradients are scattered to the parts that update them, parameters gathered from these. What is gathered has
// other strides, so that products round otherwise: networks of batch norms take one step.
TEST_P(ExecutedLayouts, SoDoUpdatesInParts) {
  if (steps_ == kNormSteps) {
    steps_ = 1;
    RunWhole();
  }
  RunLayouts(ForParameters({2, 1, 2}, /*in_parts=*/true), 3, {}, /*through_file=*/true);
}

// Of which of the model's tables the rows that 5 samples ask for are fewer bytes. Those of BERT are the words' and the
// positions', GPT-2's words are its scores', too. Positions' rows are sums over the samples: where the table is
// everywhere, its gradient is so, too.
int64_t SparseTablesOf(const std::string& model, bool everywhere) {
  const int64_t positions = everywhere ? 0 : 1;
  if (model.starts_with("bert-")) return 1 + positions;
  return model == "gpt-2" ? positions : 0;
}

// Gradients of embeddings made of gathered rows where their tables are updated: by all, on one device each, in parts.
TEST_P(ExecutedLayouts, SoDoRowsOfEmbeddings) {
  const std::vector<int64_t> lengths = {2, 1, 2};
  bool everywhere = true;
  for (const Layouts& layouts : {DataParallel(lengths), ForParameters(lengths, /*in_parts=*/false),
                                 ForParameters(lengths, /*in_parts=*/true)}) {
    const EmbeddingRows rows = GatherEmbeddingRows(graph(), *axes_, layouts);
    EXPECT_EQ(rows.gradients, SparseTablesOf(GetParam().model, everywhere));
    everywhere = false;
    if (rows.gradients > 0) RunLayouts(rows.layouts, 3, {}, /*through_file=*/true);
    if (HasFatalFailure()) return;
  }
}

// Axes, by all that have them: some, evenly chosen, of a network that has one for each of many layers.
TEST_P(ExecutedLayouts, SoDoesASplitOfAnyAxis) {
  std::vector<AxisId> axes;
  for (const AxisId axis : axes_->axes()) {
    if (axes_->axis(axis).size >= 2) axes.push_back(axis);
  }
  const size_t some = std::min(axes.size(), static_cast<size_t>(2 * LayoutsOfEach()));
  for (size_t i = 0; i < some; ++i) {
    const AxisId axis = axes[i * axes.size() / some];
    const int64_t size = axes_->axis(axis).size;
    SCOPED_TRACE(axes_->axis(axis).name);
    Layouts layouts;
    const int64_t first = std::max<int64_t>(1, size / 3);
    layouts.layouts.push_back(SplitOver(axis, {DeviceId(0), DeviceId(1)}, {first, size - first}));
    layouts.of_group = IdVector<GroupId, LayoutId>(graph().group_count(), LayoutId(0));
    RunLayouts(layouts, 2);
    if (HasFatalFailure()) return;
  }
}

// The vocabulary of each embedding, by all that it splits; the rest by the batch. The shares are uneven.
TEST_P(ExecutedLayouts, SoDoesASplitOfAVocabulary) {
  std::set<AxisId> vocabularies;
  for (const OpId op : graph().ops()) {
    if (graph().op(op).type != "aten.embedding.default") continue;
    const auto rows = axes_->factors(graph().op(op).inputs[0], 0);
    if (rows.size() == 1) vocabularies.insert(rows[0]);
  }
  for (const AxisId axis : vocabularies) {
    const int64_t size = axes_->axis(axis).size;
    for (size_t devices = 2; devices <= 4 && static_cast<int64_t>(devices) <= size; devices += 2) {
      SCOPED_TRACE(testing::Message() << axes_->axis(axis).name << " over " << devices);
      std::vector<DeviceId> all;
      for (size_t d = 0; d < devices; ++d) all.push_back(DeviceId(d));
      Random random(devices);
      Layouts layouts = DataParallel(RandomLengths(random, devices, 5));
      layouts.layouts.push_back(SplitOver(axis, all, RandomLengths(random, devices, size)));
      for (const OpId op : graph().ops()) {
        if (axes_->SplitBy(op, axis).valid()) layouts.of_group[graph().group(op)] = LayoutId(1);
      }
      const Cluster cluster = DevicesAlike(devices);
      const DistributedStep step = Compile(graph(), *axes_, layouts, cluster).Take();
      EXPECT_GE(CountOf(step.graph, "placewright.embedding_part.default"), devices);
      size_t losses = 0;  // of words that are the rows of this embedding
      for (const OpId op : graph().ops()) {
        const bool loss = graph().op(op).type == "aten.nll_loss_forward.default";
        losses += loss && axes_->SplitBy(op, axis).valid() ? 1 : 0;
      }
      EXPECT_EQ(CountOf(step.graph, "placewright.nll_loss_part.default"), losses * devices);
      RunLayouts(layouts, devices, {}, /*through_file=*/true);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ExecutedLayouts, SoDoRandomLayouts) {
  Random random(3);
  for (int i = 0; i < LayoutsOfEach() && !HasFailure(); ++i) {
    const size_t devices = 2 + random.Below(3);
    SCOPED_TRACE(testing::Message() << "layouts " << i << " over " << devices << " devices");
    RunLayouts(RandomLayouts(random, graph(), *axes_, devices), devices);
  }
}

// Parameters in parts, whole where samples are: fetched anew for the backward pass, so many units ahead. Networks of
// batch norms take one step, as with updates in parts.
TEST_P(ExecutedLayouts, SoDoFetchesOfTwoEpochs) {
  if (steps_ == kNormSteps) {
    steps_ = 1;
    RunWhole();
  }
  Random random(4);
  for (int i = 0; i < LayoutsOfEach() && !HasFailure(); ++i) {
    const size_t devices = 2 + random.Below(2);
    SCOPED_TRACE(testing::Message() << "layouts " << i << " over " << devices << " devices");
    CompileOptions options;
    options.collectives = i % 5 != 1;
    options.switches.regather = {"*"};
    if (i % 3 > 0) options.switches.prefetch = i % 3 - 1;
    options.switches.unit_collectives = i % 2 == 0;
    const auto lengths = RandomLengths(random, devices, 5);
    const Layouts layouts = i % 2 == 0 ? ForParameters(lengths, /*in_parts=*/true)
                                       : RandomLayouts(random, graph(), *axes_, devices);
    RunLayouts(layouts, devices, options, /*through_file=*/true);
  }
}

// A mesh of samples and each of some other axes, by all that have them; on the wider one replicas, too.
TEST_P(ExecutedLayouts, SoDoesAMesh) {
  std::vector<AxisId> axes;
  for (const AxisId axis : axes_->axes()) {
    if (axis != axes_->batch() && axes_->axis(axis).size >= 2) axes.push_back(axis);
  }
  const size_t some = std::min(axes.size(), static_cast<size_t>(1 + LayoutsOfEach() / 2));
  for (size_t i = 0; i < some; ++i) {
    const AxisId axis = axes[i * axes.size() / some];
    const int64_t size = axes_->axis(axis).size, first = std::max<int64_t>(1, size / 3);
    SCOPED_TRACE(axes_->axis(axis).name);
    const size_t replicas = 1 + i % 2;
    Layout mesh;
    for (size_t d = 0; d < 4 * replicas; ++d) {
      const AxisInterval samples{axes_->batch(), d % 4 < 2 ? Interval{0, 2} : Interval{2, 5}};
      const AxisInterval other{axis, d % 2 == 0 ? Interval{0, first} : Interval{first, size}};
      const bool before = samples.axis < other.axis;
      mesh.shares.push_back({DeviceId(d), {before ? samples : other, before ? other : samples}});
    }
    RunLayouts({{mesh}, IdVector<GroupId, LayoutId>(graph().group_count(), LayoutId(0))},
               4 * replicas, {}, /*through_file=*/true);
    if (HasFatalFailure()) return;
  }
}

TEST_P(ExecutedLayouts, SoDoRandomBoxes) {
  Random random(6);
  for (int i = 0; i < LayoutsOfEach() && !HasFailure(); ++i) {
    const size_t devices = 3 + random.Below(4);
    SCOPED_TRACE(testing::Message() << "layouts " << i << " over " << devices << " devices");
    CompileOptions options;
    options.collectives = i % 3 < 2;
    RunLayouts(RandomBoxLayouts(random, graph(), *axes_, devices), devices, options);
  }
}

// Splits that move from one axis to another and back: groups have one of two axes each, over the same devices; of a mesh
// over those of the same samples. Drawn until some have moved.
TEST_P(ExecutedLayouts, SoDoSplitsThatMove) {
  std::vector<AxisId> axes;
  for (const AxisId axis : axes_->axes()) {
    if (axis != axes_->batch() && axes_->axis(axis).size >= 2) axes.push_back(axis);
  }
  Random random(7);
  const auto goes_on = [&](int i) { return i < LayoutsOfEach() || (all_to_alls_ == 0 && i < 40); };
  for (int i = 0; goes_on(i) && !HasFailure(); ++i) {
    SCOPED_TRACE(testing::Message() << "layouts " << i);
    const bool mesh = i % 2 == 1;
    const AxisId one = mesh ? axes[random.Below(axes.size())] : axes_->batch();
    Layouts layouts;
    for (const AxisId axis : {one, axes[random.Below(axes.size())]}) {
      const int64_t size = axes_->axis(axis).size, first = RandomLengths(random, 2, size)[0];
      Layout& layout = layouts.layouts.emplace_back();
      for (size_t d = 0; d < (mesh ? 4 : 2); ++d) {
        std::vector<AxisInterval> box = {
            {axis, d % 2 == 0 ? Interval{0, first} : Interval{first, size}}};
        if (mesh) box.push_back({axes_->batch(), d < 2 ? Interval{0, 2} : Interval{2, 5}});
        std::sort(box.begin(), box.end());
        layout.shares.push_back({DeviceId(d), {box.begin(), box.end()}});
      }
    }
    for (size_t group = 0; group < graph().group_count(); ++group) {
      layouts.of_group.push_back(LayoutId(random.Below(2)));
    }
    RunLayouts(layouts, mesh ? 4 : 2, {}, /*through_file=*/true);
  }
  EXPECT_GT(all_to_alls_, 0);
}

// Two hosts with two devices each.
Cluster TwoHosts() {
  ClusterBuilder builder("two-hosts");
  DeviceKind model{.name = "K", .memory = Bytes(int64_t{1} << 40)};
  model.peak.f32 = model.peak.f64 = 1e12;
  model.memory_bandwidth = BytesPerSecond(int64_t{1} << 36);
  const int32_t kind = builder.AddKind(model).Take();
  for (int32_t i = 0; i < 4; ++i) {
    (void)builder
        .AddDevice({.name = "host" + std::to_string(i / 2) + "/d" + std::to_string(i % 2),
                    .kind = kind,
                    .host = i / 2,
                    .capacity = Bytes(int64_t{1} << 40)})
        .Take();
  }
  return std::move(builder).Build().Take();
}

// Networks of batch norms take one step, as with updates in parts.
TEST_P(ExecutedLayouts, SoDoStrategiesOnMeshes) {
  if (steps_ == kNormSteps) {
    steps_ = 1;
    RunWhole();
  }
  const Cluster cluster = TwoHosts();
  const auto problem = LayoutProblem::Make(graph(), cluster, {}, SchedulingPolicy::kFifo).Take();
  for (const MeshStrategy strategy :
       {MeshStrategy::kTensor, MeshStrategy::kTwoD, MeshStrategy::kZero1, MeshStrategy::kZero2,
        MeshStrategy::kHybridZero2, MeshStrategy::kFsdp, MeshStrategy::kHsdp,
        MeshStrategy::kUlysses, MeshStrategy::kContext, MeshStrategy::kExperts}) {
    SCOPED_TRACE(MeshStrategyPlanner(strategy).name());
    const bool tensor = strategy == MeshStrategy::kTensor, two = strategy == MeshStrategy::kTwoD;
    const Result<StepPlan> plan = LayOutOnMesh(*problem, strategy, {.sequence = !tensor});
    const std::string& model = GetParam().model;
    const bool heads = model != "mlp" && model != "resnet-50" && !model.starts_with("gnmt") &&
                       !model.starts_with("rnnlm") && !model.starts_with("moe");
    // These models attend by products and a softmax, and have experts that are modules.
    const bool special = strategy == MeshStrategy::kUlysses || strategy == MeshStrategy::kContext ||
                         strategy == MeshStrategy::kExperts;
    ASSERT_EQ(plan.ok(), !special && (heads || (!tensor && !two))) << plan.error().ToString();
    if (!plan.ok()) continue;
    const CompileOptions options{.switches = plan.value().switches};
    RunLayouts(plan.value().layouts, 4, options, /*through_file=*/true);
    if (HasFatalFailure()) return;
  }
}

// By which strategy `expert-hybrid` distributes a model, as its note says.
std::string StrategyFor(const std::string& model) {
  if (model == "moe-transformer") return "(GShard)";
  if (model == "mlp") return "(one weird trick)";
  if (model == "resnet-50") return "convolutions without";
  const bool recurrent = model == "gnmt-2" || model == "rnnlm-2";
  return recurrent ? "(GNMT)" : "(Megatron-LM)";
}

TEST_P(ExecutedLayouts, SoDoWhatExpertsDoByHand) {
  for (const char* const preset : {"2xP100-16GB", "4xP100-16GB"}) {
    SCOPED_TRACE(preset);
    const Cluster cluster = MakePreset(preset).Take();
    const auto problem = LayoutProblem::Make(graph(), cluster, {}, SchedulingPolicy::kFifo).Take();
    Result<HybridLayouts> hybrid = LayOutAsExperts(*problem);
    ASSERT_TRUE(hybrid.ok()) << hybrid.error().ToString();
    EXPECT_NE(hybrid.value().note.find(StrategyFor(GetParam().model)), std::string::npos)
        << hybrid.value().note;
    RunLayouts(hybrid.value().plan.layouts, cluster.device_count(), {}, /*through_file=*/true);
    if (HasFatalFailure()) return;
  }
}

// In float32, of plain gradient descent: what a step does to the parameters, and momenta, which are the
// gradients after one step.
class ExecutedLayoutsInFloat : public ExecutedLayouts {
 protected:
  void SetUp() override {
    Prepare(false);
    if (!HasFatalFailure()) FindNoise();
  }
};

TEST_P(ExecutedLayoutsInFloat, LayoutsGiveTheStep) {
  RunLayouts(DataParallel({2, 3}), 2);
  Random random(4);
  for (int i = 0; i < LayoutsOfEach() && !HasFailure(); ++i) {
    const size_t devices = 2 + random.Below(3);
    SCOPED_TRACE(testing::Message() << "layouts " << i << " over " << devices << " devices");
    RunLayouts(RandomLayouts(random, graph(), *axes_, devices), devices);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedLayoutsInFloat, ::testing::ValuesIn(ModelsOfSgd()),
                         [](const auto& test) { return NameOf(test.param); });
INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedLayouts, ::testing::ValuesIn(Models()),
                         [](const auto& test) { return NameOf(test.param); });

}  // namespace
}  // namespace placewright
