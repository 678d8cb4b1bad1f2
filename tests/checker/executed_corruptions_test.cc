// Rewritten steps broken as engines are: by a stale copy of a parameter, a micro-batch that counts twice, a mask that is
// drawn anew, a sum over the wrong devices; and in any one place. The checker refuses each, or what it lets pass is executed
// and leaves what the step leaves. Steps are in micro-batches, compute random modules again, are done twice, fetch
// parameters for every pass, and lie on meshes and in random boxes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check_plan/transforms/congruence.h"
#include "check_plan/transforms/micro_batches.h"
#include "cluster/cluster_builder.h"
#include "compiled_step.h"
#include "executed_step.h"
#include "executed_steps.h"
#include "graph/transform.h"
#include "mutations.h"
#include "named_corruptions.h"
#include "search/layouts/mesh_strategies.h"
#include "transforms/reorder.h"
#include "transforms/transforms.h"
#include "twice.h"

namespace placewright::tests {
namespace {

constexpr int64_t kCorruptedBatch = 12;
constexpr int kOfEachKind = 3, kInAnyPlace = 4;  // corruptions of one draw

// Every device is as good as any other; two hosts of them.
Cluster TwoHostsAlike(size_t devices) {
  ClusterBuilder builder("hosts");
  DeviceKind model{.name = "K", .memory = Bytes(int64_t{1} << 40)};
  model.peak.f32 = model.peak.f64 = 1e12;
  model.memory_bandwidth = BytesPerSecond(int64_t{1} << 36);
  const int32_t kind = builder.AddKind(model).Take();
  for (size_t i = 0; i < devices; ++i) {
    (void)builder
        .AddDevice({.name = "d" + std::to_string(i),
                    .kind = kind,
                    .host = static_cast<int32_t>(2 * i / devices),
                    .capacity = Bytes(int64_t{1} << 40)})
        .Take();
  }
  return std::move(builder).Build().Take();
}

Graph CopyOf(const Graph& step) {
  std::vector<OpId> order;
  for (const OpId op : step.ops()) order.push_back(op);
  return WithOrder(step, order).Take();
}

// All of it on one device.
DistributedStep OnOneDevice(const Graph& step) {
  DistributedStep whole;
  whole.graph = CopyOf(step);
  whole.placement = Placement(step.op_count(), DeviceId(0));
  for (const OpId op : step.ops()) whole.origin.push_back(op);
  for (const TensorId id : step.tensors()) {
    if (!step.tensor(id).producer.valid()) whole.inputs.push_back({id, id, {}});
  }
  return whole;
}

// A compiled step, and what it is held to.
struct DrawnStep {
  RecordedStep step;
  size_t devices = 4;
  StatedLayouts stated;
  DistributedStep compiled;

  Cluster cluster() const { return DevicesAlike(devices); }
  std::string Verdict(const DistributedStep& of, std::string* message = nullptr) const {
    return VerdictOn(step, of, cluster(), stated.spec, message);
  }
};

class ExecutedCorruptions : public ExecutedLayouts {
 protected:
  void SetUp() override {
    batch_ = kCorruptedBatch;
    Prepare(true);
  }

  // Groups by halves of the batch and of another axis on a mesh of two by two, or each parameter in parts (of steps done
  // `twice` mostly, as these are gathered), or by an engine's strategy, or at random.
  StatedLayouts DrawStated(Random& random, bool twice, DrawnStep& drawn,
                           StepSwitches& switches) const {
    const NamedAxes& axes = *drawn.step.axes;
    const int64_t samples = axes.axis(axes.batch()).size;
    const uint64_t form = twice && random.Below(4) > 0 ? 1 : random.Below(4);
    if (form == 0) {
      const AxisId other(random.Below(axes.axis_count()));
      const int64_t size = axes.axis(other).size;
      if (other == axes.batch() || size < 2 || samples < 2) return DrawBoxes(random, drawn);
      Layout mesh;
      for (size_t d = 0; d < 4; ++d) {
        const int64_t row = d < 2 ? 0 : samples / 2, column = d % 2 == 0 ? 0 : size / 2;
        std::vector<AxisInterval> box = {{axes.batch(), {row, d < 2 ? samples / 2 : samples}},
                                         {other, {column, d % 2 == 0 ? size / 2 : size}}};
        std::sort(box.begin(), box.end());
        mesh.shares.push_back({DeviceId(d), {box.begin(), box.end()}});
      }
      const size_t groups = drawn.step.graph->group_count();
      return State(drawn.step, {{mesh}, IdVector<GroupId, LayoutId>(groups, LayoutId(0))}, 4);
    }
    if (form == 1 && samples >= 4) {
      return SplitUpdates(drawn.step, axes.axis(axes.batch()).name, {samples - 3, 1, 1, 1});
    }
    if (form == 1) {
      return SplitUpdates(drawn.step, axes.axis(axes.batch()).name, {samples - 1, 1});
    }
    if (form == 2) {
      const Cluster cluster = TwoHostsAlike(drawn.devices);
      auto problem =
          LayoutProblem::Make(*drawn.step.graph, cluster, {}, SchedulingPolicy::kProgram);
      constexpr MeshStrategy kStrategies[] = {MeshStrategy::kZero1, MeshStrategy::kZero2,
                                              MeshStrategy::kFsdp, MeshStrategy::kHsdp,
                                              MeshStrategy::kHybridZero2};
      const MeshStrategy strategy = kStrategies[random.Below(std::size(kStrategies))];
      if (problem.ok()) {
        Result<StepPlan> plan = LayOutOnMesh(*problem.value(), strategy);
        if (plan.ok()) {
          switches = plan.value().switches;
          return State(drawn.step, plan.value().layouts, drawn.devices);
        }
      }
    }
    return DrawBoxes(random, drawn);
  }
  static StatedLayouts DrawBoxes(Random& random, DrawnStep& drawn) {
    return BoxesAtRandom(drawn.step, drawn.devices, random);
  }

  // So many micro-batches, and modules that are computed again.
  Rewriting DrawRewriting(Random& random) const {
    Rewriting asked;
    if (MayBeCut(GetParam()) && random.Below(4) > 0) {
      asked.micro_batches = 2 + static_cast<int64_t>(random.Below(3));
    }
    if (random.Below(4) > 0) asked.recompute = RandomModules(random, graph());
    return asked;
  }
  // nullptr: that changes nothing.
  std::unique_ptr<Graph> Rewritten(const Rewriting& asked) const {
    Result<std::unique_ptr<Graph>> made = ApplyTransforms(graph(), TransformsFor(asked));
    EXPECT_TRUE(made.ok()) << made.error().ToString();
    return made.ok() ? made.Take() : nullptr;
  }

  std::optional<DrawnStep> Draw(uint64_t seed) const {
    Random random(seed);
    const std::unique_ptr<Graph> made = Rewritten(DrawRewriting(random));
    const Graph& rewritten = made == nullptr ? graph() : *made;
    DrawnStep drawn;
    // Done twice, parameters are gathered anew for what reads them behind their update.
    const bool twice = seed % 2 == 1;
    drawn.step.name = Describe(rewritten.transforms()) + (twice ? ", twice" : "");
    drawn.step.graph = std::make_unique<Graph>(twice ? Twice(rewritten) : CopyOf(rewritten));
    drawn.step.axes = std::make_unique<NamedAxes>(*drawn.step.graph);
    CompileOptions options;
    options.collectives = random.Below(4) > 0;
    drawn.stated = DrawStated(random, twice, drawn, options.switches);
    if (random.Below(2) == 0) options.switches.regather = {"*"};
    if (random.Below(2) == 0) options.switches.prefetch = static_cast<int32_t>(random.Below(3));
    drawn.stated.spec.switches = options.switches;
    Result<DistributedStep> compiled = Compile(*drawn.step.graph, *drawn.step.axes,
                                               drawn.stated.layouts, drawn.cluster(), options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().ToString();
    if (!compiled.ok()) return std::nullopt;
    drawn.compiled = compiled.Take();
    return drawn;
  }

  // Whether the checker names what is wrong; else it is executed.
  template <class Holds>
  void Try(const StepEditor& editor, const char* kind, size_t devices, const Holds& holds) {
    const std::optional<DistributedStep> broken = editor.Build();
    if (!broken) return;
    ++made_[kind];
    if (!holds(*broken)) return;
    ++harmless_[kind];
    EXPECT_EQ(original_->Differs(*broken, devices), "") << kind << " holds";
  }

  // A kind of corruptions of a step on one device, which was rewritten.
  template <class Holds>
  void CorruptRewritten(const Graph& step, std::string_view kind, Random& random,
                        const Holds& holds) {
    const DistributedStep whole = OnOneDevice(step);
    ASSERT_TRUE(holds(StepEditor(whole).Build().value())) << kind;
    for (const NamedCorruption& one : NamedCorruptions()) {
      for (int i = 0; one.name == kind && i < 2 * kOfEachKind; ++i) {
        StepEditor editor(whole);
        if (one.corrupt(step, whole, editor, random)) Try(editor, one.name, 1, holds);
      }
    }
  }

  void CorruptRewriting(uint64_t seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const Rewriting asked = DrawRewriting(random);
    const std::unique_ptr<Graph> cut = Rewritten({.micro_batches = asked.micro_batches});
    const std::unique_ptr<Graph> again = Rewritten(asked);
    if (cut != nullptr) {
      CorruptRewritten(*cut, "micro_batch_counted_twice", random, [&](const DistributedStep& of) {
        return !check::CheckMicroBatches(graph(), of.graph, asked.micro_batches);
      });
    }
    if (again != nullptr && !asked.recompute.empty()) {
      const Graph& before = cut == nullptr ? graph() : *cut;
      CorruptRewritten(
          *again, "recomputed_with_another_draw", random,
          [&](const DistributedStep& of) { return !check::CheckCongruence(before, of.graph); });
    }
  }

  void RecordKinds() {
    for (const auto& [kind, made] : made_) {
      RecordProperty(kind, made);
      RecordProperty(kind + "_harmless", harmless_[kind]);
    }
  }

  void Corrupt(uint64_t seed) {
    const std::optional<DrawnStep> drawn = Draw(seed);
    if (!drawn) return;
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << drawn->step.name);
    std::string message;
    ASSERT_EQ(drawn->Verdict(drawn->compiled, &message), "holds") << message;
    original_ = std::make_unique<ExecutedOriginal>(*drawn->step.graph);
    ASSERT_EQ(original_->failure(), "");
    ASSERT_EQ(original_->Differs(drawn->compiled, drawn->devices), "");
    const auto holds = [&](const DistributedStep& of) { return drawn->Verdict(of) == "holds"; };
    Random random(seed + 1);
    for (const NamedCorruption& one : NamedCorruptions()) {
      for (int i = 0; i < kOfEachKind; ++i) {
        StepEditor editor(drawn->compiled);
        if (!one.corrupt(*drawn->step.graph, drawn->compiled, editor, random)) break;
        Try(editor, one.name, drawn->devices, holds);
      }
    }
    for (int i = 0; i < kInAnyPlace; ++i) {
      StepEditor editor(drawn->compiled);
      const Mutation& any = Mutations()[random.Below(Mutations().size())];
      if (any.mutate(drawn->compiled, editor, random)) {
        Try(editor, "in_any_place", drawn->devices, holds);
      }
    }
  }

  std::map<std::string, int> made_, harmless_;
  std::unique_ptr<ExecutedOriginal> original_;  // of what was drawn last
};

TEST_P(ExecutedCorruptions, AreRefusedOrHarmless) {
  // Of larger steps a draw takes seconds: they are on record (bench/records/draws.jsonl).
  const std::map<std::string, int> few = {{"mlp", 6}, {"gpt-2", 1}};
  const auto count = few.find(GetParam().model);
  const Draws draws = DrawsOr(count == few.end() ? 0 : count->second);
  if (draws.to == draws.from) GTEST_SKIP() << "of this model tools/record_draws makes the draws";
  for (int i = draws.from; i < draws.to && !HasFailure(); ++i) Corrupt(static_cast<uint64_t>(i));
  RecordKinds();
  // The perceptron has masks, micro-batches and few ops: in so many draws there is something of every kind.
  if (GetParam().model != std::string("mlp") || draws.to - draws.from < 6) return;
  for (const NamedCorruption& one : NamedCorruptions()) {
    EXPECT_GT(made_[one.name], harmless_[one.name]) << one.name;
  }
}

// The same of what rewrites the step, before it is laid out.
TEST_P(ExecutedCorruptions, OfRewritingsAreRefusedOrHarmless) {
  original_ = std::make_unique<ExecutedOriginal>(graph());
  ASSERT_EQ(original_->failure(), "");
  const Draws draws = DrawsOr(2);
  for (int i = draws.from; i < draws.to && !HasFailure(); ++i) {
    CorruptRewriting(static_cast<uint64_t>(i));
  }
  RecordKinds();
  if (MayBeCut(GetParam())) {
    EXPECT_GT(made_["micro_batch_counted_twice"], harmless_["micro_batch_counted_twice"]);
  }
}

// A step done twice is two steps.
TEST_P(ExecutedCorruptions, StepsDoneTwiceAreTwoSteps) {
  steps_ = 2;
  RunWhole();
  const auto inputs = inputs_;
  const auto after = after_;
  const Graph& once = graph();
  const Graph twice = Twice(once);
  steps_ = 1;
  graph_ = &twice;
  for (auto& [id, tensor] : inputs_) id = twice.FindTensor(once.tensor(id).name);
  const auto found = StepFrom(inputs_);
  graph_ = &once;
  ASSERT_TRUE(found.has_value());
  for (size_t i = 0; i < after.size(); ++i) {
    if (after[i].defined()) {
      ExpectEqual(found->first[i], after[i], once.tensor(inputs[i].first).name);
    }
    if (HasFatalFailure()) return;
  }
}

// A perceptron, attention with masks, grouped queries, experts, convolutions with batch norms.
std::vector<TinyModel> CorruptedModels() {
  const std::set<std::string> names = {"bert-base", "gpt-2",     "llama-3-8b",     "mixtral-8x7b",
                                       "mlp",       "resnet-50", "moe-transformer"};
  std::vector<TinyModel> models = TinyModels();
  std::erase_if(models, [&](const TinyModel& model) {
    const std::string name = model.model;
    const Training wanted = name == "resnet-50" ? Training::kSgd : Training::kAdam;
    return model.precision != CapturePrecision::kAsIs || model.training != wanted ||
           !names.contains(name);
  });
  return models;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedCorruptions, ::testing::ValuesIn(CorruptedModels()),
                         [](const auto& test) { return NameOf(test.param); });

}  // namespace
}  // namespace placewright::tests
