// A rewritten step is the step: in micro-batches, with activations computed again or in host memory, with casts, on one
// device and laid out over simulated ones; in float64 to 1e-9, and the checker proves it.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "capture/step/tiny_models.h"
#include "check_plan/transforms/congruence.h"
#include "check_plan/transforms/micro_batches.h"
#include "check_plan/transforms/precision.h"
#include "compile/compiler.h"
#include "compile/drawn_layouts.h"
#include "executed_micro_batches.h"
#include "executed_steps.h"
#include "search/layouts/mesh_strategies.h"
#include "transforms/offload.h"
#include "transforms/precision.h"
#include "transforms/recompute.h"
#include "transforms/reorder.h"
#include "transforms/split_backward.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

TEST_P(ExecutedMicroBatches, GiveTheStep) {
  for (const int64_t micro_batches : {2, 3, 4}) {
    SCOPED_TRACE(testing::Message() << micro_batches << " micro-batches");
    CutBatch(micro_batches);
    if (HasFatalFailure()) return;
    const auto after = StepFrom(inputs_);
    ASSERT_TRUE(after.has_value());
    ExpectEqual(after->second, loss_, "the loss");
    for (size_t i = 0; i < inputs_.size(); ++i) {
      ExpectEqual(after->first[i], after_[i], graph().tensor(inputs_[i].first).name);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ExecutedMicroBatches, SoDoTheirParts) {
  for (const int64_t micro_batches : {2, 3, 4}) {
    SCOPED_TRACE(testing::Message() << micro_batches << " micro-batches");
    CutBatch(micro_batches);
    if (HasFatalFailure()) return;
    RunLayouts(DataParallel({batch_ / micro_batches - 1, 1}), 2, {}, /*through_file=*/true);
  }
}

// Parameters in shards, to which sums over micro-batches are scattered each time, or once.
TEST_P(ExecutedMicroBatches, SoDoShardsOfTheirSums) {
  steps_ = 1;
  RunWhole();
  CutBatch(3);
  if (HasFatalFailure()) return;
  const Cluster cluster = EqualDevices(2);
  const auto problem = LayoutProblem::Make(graph(), cluster, {}, SchedulingPolicy::kProgram).Take();
  for (const MeshStrategy strategy : {MeshStrategy::kZero1, MeshStrategy::kZero2}) {
    for (const bool by_unit : {false, true}) {
      const Result<StepPlan> plan = LayOutOnMesh(*problem, strategy, {.by_unit = by_unit});
      ASSERT_TRUE(plan.ok()) << plan.error().ToString();
      RunLayouts(plan.value().layouts, 2, {.switches = plan.value().switches});
      if (HasFatalFailure()) return;
    }
  }
}

// Shards whose collectives are those of layers, over devices that share nothing out evenly, too: of all samples, and in
// micro-batches.
class ExecutedUnits : public ExecutedMicroBatches {};

TEST_P(ExecutedUnits, GiveTheStep) {
  steps_ = 1;
  RunWhole();
  for (const int64_t micro_batches : {1, 2}) {
    if (micro_batches > 1) CutBatch(micro_batches);
    for (const size_t devices : {2, 3, 4}) {
      SCOPED_TRACE(testing::Message()
                   << micro_batches << " micro-batches over " << devices << " devices");
      if (HasFatalFailure()) return;
      const Cluster cluster = EqualDevices(static_cast<int64_t>(devices));
      const auto problem =
          LayoutProblem::Make(graph(), cluster, {}, SchedulingPolicy::kProgram).Take();
      const Result<StepPlan> plan = LayOutOnMesh(*problem, MeshStrategy::kFsdp);
      ASSERT_TRUE(plan.ok()) << plan.error().ToString();
      const CompileOptions options{.switches = plan.value().switches};
      const Graph step =
          Compile(graph(), *axes_, plan.value().layouts, cluster, options).Take().graph;
      EXPECT_GT(CountOf(step, "placewright.all_gather.coalesced"), 0u);
      EXPECT_GT(CountOf(step, "placewright.reduce_scatter.coalesced"), 0u);
      RunLayouts(plan.value().layouts, devices, options, /*through_file=*/true);
    }
  }
}

// Two hosts of two: scattered within, added up across.
TEST_P(ExecutedUnits, GiveTheStepOverHosts) {
  steps_ = 1;
  RunWhole();
  const Cluster cluster = EqualDevices(4, 2);
  const auto problem = LayoutProblem::Make(graph(), cluster, {}, SchedulingPolicy::kProgram).Take();
  const Result<StepPlan> plan = LayOutOnMesh(*problem, MeshStrategy::kHsdp);
  ASSERT_TRUE(plan.ok()) << plan.error().ToString();
  const CompileOptions options{.switches = plan.value().switches};
  const Graph step = Compile(graph(), *axes_, plan.value().layouts, cluster, options).Take().graph;
  EXPECT_GT(CountOf(step, "placewright.reduce_scatter.coalesced"), 0u);
  EXPECT_GT(CountOf(step, "placewright.all_reduce.coalesced"), 0u);
  RunLayouts(plan.value().layouts, 4, options, /*through_file=*/true);
}

// Steps rewritten and laid out by chance: micro-batches, what is computed again, what lies in host memory between the
// passes, the order of ops, when parameters are fetched, boxes. One step each.
class ExecutedDraws : public ExecutedMicroBatches {
 protected:
  void SetUp() override {
    ExecutedMicroBatches::SetUp();
    if (HasFatalFailure()) return;
    steps_ = 1;
    RunWhole();
  }

  void Draw(uint64_t seed) {
    Random random(seed);
    Rewriting asked;
    if (MayBeCut(GetParam())) asked.micro_batches = 1 + static_cast<int64_t>(random.Below(4));
    if (random.Below(2) == 0) asked.recompute = RandomModules(random, original());
    const bool shuffled = random.Below(2) == 0;
    const size_t devices = 3 + random.Below(4);
    CompileOptions options;
    options.collectives = random.Below(4) > 0;
    if (random.Below(2) == 0) options.switches.regather = {"*"};
    if (random.Below(2) == 0) options.switches.prefetch = static_cast<int32_t>(random.Below(3));
    options.switches.unit_collectives = seed % 2 == 1;
    if (random.Below(2) == 0) asked.offload = RandomModules(random, original());
    has_host_ = !asked.offload.empty();
    SCOPED_TRACE(testing::Message()
                 << "seed " << seed << ": " << asked.micro_batches << " micro-batches, again "
                 << testing::PrintToString(asked.recompute) << ", in host memory "
                 << testing::PrintToString(asked.offload) << (shuffled ? ", shuffled" : "")
                 << ", over " << devices << " devices");
    Result<std::unique_ptr<Graph>> made = ApplyTransforms(original(), TransformsFor(asked));
    ASSERT_TRUE(made.ok()) << made.error().ToString();
    cut_ = made.Take();
    if (cut_ != nullptr) ExpectProven(*cut_, asked.micro_batches);
    for (const OpId op : cut_ == nullptr ? IdRange<OpId>(0) : cut_->ops()) {
      offloaded_ += HostCopyOf(cut_->op(op)) == HostCopy::kToHost ? 1 : 0;
    }
    const Graph& rewritten = cut_ == nullptr ? original() : *cut_;
    if (shuffled || cut_ == nullptr) {
      std::vector<OpId> order;
      for (const OpId op : rewritten.ops()) order.push_back(op);
      if (shuffled) order = RandomOrder(random, rewritten);
      Result<Graph> ordered = WithOrder(rewritten, order);
      ASSERT_TRUE(ordered.ok()) << ordered.error().ToString();
      cut_ = std::make_unique<Graph>(ordered.Take());
    }
    cut_axes_ = std::make_unique<NamedAxes>(*cut_);
    graph_ = cut_.get();
    axes_ = cut_axes_.get();
    inputs_ = InputsOf(*cut_);
    RunLayouts(RandomBoxLayouts(random, graph(), *axes_, devices), devices, options,
               /*through_file=*/seed % 4 == 0);
  }

  // The checker proves micro-batches, and of these what is computed again or copied.
  void ExpectProven(const Graph& step, int64_t micro_batches) {
    Result<std::unique_ptr<Graph>> made =
        ApplyTransforms(original(), TransformsFor({.micro_batches = micro_batches}));
    ASSERT_TRUE(made.ok()) << made.error().ToString();
    const Graph& in_micro_batches = made.value() == nullptr ? original() : *made.value();
    check::MaybeViolation wrong;
    if (micro_batches > 1) {
      wrong = check::CheckMicroBatches(original(), in_micro_batches, micro_batches);
    }
    if (!wrong) wrong = check::CheckCongruence(in_micro_batches, step);
    EXPECT_FALSE(wrong) << wrong->place << ": " << wrong->message;
  }

  int64_t offloaded_ = 0;  // activations
};

TEST_P(ExecutedDraws, AreTheStep) {
  const Draws draws = DrawsOr(20);
  for (int i = draws.from; i < draws.to && !HasFailure(); ++i) Draw(static_cast<uint64_t>(i));
  RecordProperty("offloaded", static_cast<int>(offloaded_));
  // Those of the small perceptron are not worth a copy.
  if (GetParam().model != std::string("mlp") && draws.to - draws.from >= 20) {
    EXPECT_GT(offloaded_, 0);
  }
}

// A batch norm sees one micro-batch at a time, as in so many forward and backward passes before one update: plain
// gradient descent makes of them the mean of what it makes of each, and running statistics follow them in order.
class ExecutedMicroBatchNorms : public ExecutedMicroBatches {};

TEST_P(ExecutedMicroBatchNorms, AreThoseOfSeparatePasses) {
  batch_ /= 2;
  Prepare(true);
  const Graph& half_step = graph();
  batch_ *= 2;
  Prepare(true);
  if (HasFatalFailure()) return;
  steps_ = 1;
  CutBatch(2);
  if (HasFatalFailure()) return;
  const auto together = StepFrom(inputs_);
  ASSERT_TRUE(together.has_value());
  const auto of_batch = [&](TensorId id, const at::Tensor& tensor, int64_t half) {
    const Tensor& input = original().tensor(id);
    if (input.kind != TensorKind::kInput) return tensor;
    return tensor.narrow(0, half * (batch_ / 2), batch_ / 2);
  };
  // The same step of half of the batch, twice: the second begins with the buffers that the first has left.
  const auto inputs = WholeStepOf(GetParam(), batch_, true).inputs;
  std::vector<std::vector<at::Tensor>> after;
  std::vector<at::Tensor> losses;
  graph_ = &half_step;
  for (int64_t half = 0; half < 2; ++half) {
    std::vector<std::pair<TensorId, at::Tensor>> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto& [id, tensor] = inputs[i];
      const Tensor& input = original().tensor(id);
      const bool follows = half > 0 && input.kind == TensorKind::kBuffer;
      given.emplace_back(half_step.FindTensor(input.name),
                         follows ? after[0][i] : of_batch(id, tensor, half));
    }
    const auto one = StepFrom(given);
    ASSERT_TRUE(one.has_value());
    after.push_back(one->first);
    losses.push_back(one->second);
  }
  ExpectEqual(together->second, (losses[0] + losses[1]) / 2, "the loss");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = original().tensor(inputs[i].first);
    if (input.kind == TensorKind::kInput) continue;
    const bool last = input.kind == TensorKind::kBuffer;
    ExpectEqual(together->first[i], last ? after[1][i] : (after[0][i] + after[1][i]) / 2,
                input.name);
    if (HasFatalFailure()) return;
  }
}

// Steps that compute activations again: on one device the bits of the step, over several by random boxes the step.
class ExecutedRecomputation : public ExecutedLayouts {
 protected:
  // Goes on with the step so rewritten; false where it stays as it is.
  bool Recompute(const std::vector<std::string>& set) {
    return GoOnWith(WithRecomputation(recorded(), set));
  }
  bool GoOnWith(Result<std::unique_ptr<Graph>> made) {
    if (!Take(std::move(made))) return false;
    const check::MaybeViolation violation = check::CheckCongruence(recorded(), *rewritten_);
    EXPECT_FALSE(violation) << violation->place << ": " << violation->message;
    return true;
  }
  bool Take(Result<std::unique_ptr<Graph>> made) {
    EXPECT_TRUE(made.ok()) << made.error().ToString();
    if (!made.ok() || made.value() == nullptr) return false;
    rewritten_ = made.Take();
    rewritten_axes_ = std::make_unique<NamedAxes>(*rewritten_);
    graph_ = rewritten_.get();
    axes_ = rewritten_axes_.get();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const TensorId id = WholeStepOf(GetParam(), batch_, true).inputs[i].first;
      inputs_[i].first = graph().FindTensor(recorded().tensor(id).name);
    }
    return true;
  }
  const Graph& recorded() const { return *WholeStepOf(GetParam(), batch_, true).graph; }

  void ExpectTheSameBits() {
    const auto found = StepFrom(inputs_);
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(found->second.equal(loss_));
    for (size_t i = 0; i < after_.size(); ++i) {
      if (!after_[i].defined()) continue;
      EXPECT_TRUE(found->first[i].equal(after_[i])) << graph().tensor(inputs_[i].first).name;
    }
  }

 private:
  std::unique_ptr<Graph> rewritten_;
  std::unique_ptr<NamedAxes> rewritten_axes_;
};

TEST_P(ExecutedRecomputation, OfRandomModulesGivesTheBits) {
  Random random(7);
  size_t rewritten = 0;
  for (int i = 0; i < 4 * LayoutsOfEach() && !HasFailure(); ++i) {
    const std::vector<std::string> set = RandomModules(random, recorded());
    SCOPED_TRACE(testing::PrintToString(set));
    if (!Recompute(set)) continue;
    ++rewritten;
    ExpectTheSameBits();
  }
  EXPECT_GT(rewritten, 0u);
}

// The sets that have a word, of models that have what it means.
TEST_P(ExecutedRecomputation, OfNamedSetsGivesTheBits) {
  const std::string model = GetParam().model;
  for (const char* word : {"full", "selective", "megatron"}) {
    const Result<std::unique_ptr<Graph>> made = WithRecomputation(recorded(), {word});
    const bool has_layers = model != "mlp";
    const bool has_it = word == std::string("megatron")
                            ? has_layers && model != "resnet-50" && !model.starts_with("gnmt")
                            : has_layers;
    SCOPED_TRACE(word);
    ASSERT_EQ(made.ok(), has_it) << (made.ok() ? "" : made.error().ToString());
    if (has_it && Recompute({word})) ExpectTheSameBits();
  }
}

std::vector<TinyModel> RecomputedModels() {
  const std::set<std::string> names = {"bert-base", "gpt-2",     "llama-3-8b", "mixtral-8x7b",
                                       "mlp",       "resnet-50", "vit-b-16"};
  std::vector<TinyModel> models = TinyModels();
  std::erase_if(models, [&](const TinyModel& model) {
    return model.precision != CapturePrecision::kAsIs || model.training == Training::kNone ||
           !names.contains(model.model);
  });
  return models;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedRecomputation, ::testing::ValuesIn(RecomputedModels()),
                         [](const auto& test) { return NameOf(test.param); });

// Casts that change nothing, to types that all has already, are in the places of those that do: parameters are cast where
// they lie, in parts and fetched for each pass, gradients before they are summed and behind it.
class ExecutedPrecision : public ExecutedRecomputation {};

TEST_P(ExecutedPrecision, ByItsCastsGivesTheStep) {
  const std::vector<std::string> types = {"param=f64", "reduce=f64", "master=f64"};
  ASSERT_TRUE(Take(WithPrecision(recorded(), types, /*always=*/true)));
  ExpectTheSameBits();
  steps_ = 1;
  RunWhole();
  for (int i = 0; i < 3 && !HasFailure(); ++i) {
    CompileOptions options;
    if (i > 0) options.switches.regather = {"*"};
    if (i > 1) options.switches.prefetch = 1;
    RunLayouts(ForParameters({2, 1, 2}, /*in_parts=*/true), 3, options, /*through_file=*/true);
  }
  Random random(11);
  for (int i = 0; i < LayoutsOfEach() && !HasFailure(); ++i) {
    RunLayouts(RandomBoxLayouts(random, graph(), *axes_, 3), 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedPrecision, ::testing::ValuesIn(RecomputedModels()),
                         [](const auto& test) { return NameOf(test.param); });

// A step in float32 whose parameters, state and update are of 64 bits: what it computes before the update has the same
// bits, and what it leaves is the same up to float32.
class ExecutedMasters : public ExecutedLayouts {
 protected:
  void SetUp() override { Prepare(false); }
};

TEST_P(ExecutedMasters, AreTheStepUpToItsType) {
  const std::vector<std::string> types = {"param=f32", "reduce=f64", "master=f64"};
  const auto made = WithPrecision(graph(), types).Take();
  ASSERT_NE(made, nullptr);
  const check::MaybeViolation violation = check::CheckPrecision(graph(), *made, types);
  ASSERT_FALSE(violation) << violation->place << ": " << violation->message;
  const Graph& recorded = graph();
  auto wider = inputs_;
  size_t masters = 0;
  for (auto& [id, tensor] : wider) {
    id = made->FindTensor(recorded.tensor(id).name);
    if (made->tensor(id).dtype != DType::kF64 || !tensor.defined()) continue;
    masters += tensor.scalar_type() == at::kFloat ? 1 : 0;
    tensor = tensor.to(at::kDouble);
  }
  EXPECT_GT(masters, 0u);
  graph_ = made.get();
  const auto after = StepFrom(wider);
  graph_ = &recorded;
  ASSERT_TRUE(after.has_value());
  EXPECT_TRUE(after->second.equal(loss_));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!after_[i].defined()) continue;
    ExpectEqual(after->first[i].to(after_[i].scalar_type()), after_[i],
                recorded.tensor(inputs_[i].first).name);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedMasters, ::testing::ValuesIn(RecomputedModels()),
                         [](const auto& test) { return NameOf(test.param); });

// Gradients of convolutions' inputs and weights by two ops.
class ExecutedSplitBackward : public ExecutedRecomputation {};

TEST_P(ExecutedSplitBackward, GivesTheStep) {
  steps_ = 1;
  RunWhole();
  ASSERT_TRUE(GoOnWith(WithSplitBackward(recorded())));
  const auto found = StepFrom(inputs_);
  ASSERT_TRUE(found.has_value());
  for (size_t i = 0; i < after_.size(); ++i) {
    if (after_[i].defined()) {
      ExpectEqual(found->first[i], after_[i], graph().tensor(inputs_[i].first).name);
    }
    if (HasFatalFailure()) return;
  }
  Random random(3);
  for (int i = 0; i < 2 && !HasFailure(); ++i) {
    RunLayouts(RandomBoxLayouts(random, graph(), *axes_, 3), 3, {}, /*through_file=*/true);
  }
}

std::vector<TinyModel> ModelsOfConvolutions() {
  const std::set<std::string> names = {"resnet-50", "wavenet-2x18"};
  std::vector<TinyModel> models = TinyModels();
  std::erase_if(models, [&](const TinyModel& model) {
    return model.precision != CapturePrecision::kAsIs || model.training == Training::kNone ||
           !names.contains(model.model);
  });
  return models;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedSplitBackward, ::testing::ValuesIn(ModelsOfConvolutions()),
                         [](const auto& test) { return NameOf(test.param); });

// Activations of random modules, however small, that lie in host memory between the passes, where half of the steps
// compute others again: over several devices by random boxes, and on one. Drawn until some have moved.
class ExecutedOffloading : public ExecutedRecomputation {
 protected:
  void SetUp() override {
    ExecutedRecomputation::SetUp();
    has_host_ = true;
  }
  bool Offload(const Graph& step, const std::vector<std::string>& set) {
    return GoOnWith(WithOffloading(step, set, /*smallest=*/Bytes(1)));
  }
};

TEST_P(ExecutedOffloading, OfRandomModulesOverRandomBoxesGivesTheStep) {
  Random random(9);
  size_t offloaded = 0;
  const auto goes_on = [&](int i) { return i < LayoutsOfEach() || (offloaded == 0 && i < 20); };
  for (int i = 0; goes_on(i) && !HasFailure(); ++i) {
    const std::vector<std::string> set = RandomModules(random, recorded());
    const size_t devices = 1 + random.Below(4);
    SCOPED_TRACE(testing::PrintToString(set) + " over " + std::to_string(devices));
    std::unique_ptr<Graph> again;
    if (i % 2 == 1) again = WithRecomputation(recorded(), RandomModules(random, recorded())).Take();
    if (!Offload(again == nullptr ? recorded() : *again, set)) continue;
    ++offloaded;
    ExpectTheSameBits();
    const Layouts layouts =
        devices == 1 ? Layouts{{PlacedOn(DeviceId(0))},
                               IdVector<GroupId, LayoutId>(graph().group_count(), LayoutId(0))}
                     : RandomBoxLayouts(random, graph(), *axes_, devices);
    RunLayouts(layouts, devices, {}, /*through_file=*/i % 2 == 0);
  }
  EXPECT_GT(offloaded, 0u);
}

INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedOffloading, ::testing::ValuesIn(RecomputedModels()),
                         [](const auto& test) { return NameOf(test.param); });

// A perceptron without layers, tied embeddings, grouped queries.
std::vector<TinyModel> ModelsOfUnits() {
  std::vector<TinyModel> models = RecomputedModels();
  std::erase_if(models, [](const TinyModel& model) {
    const std::string name = model.model;
    const bool taken = name == "mlp" || name == "gpt-2" || name == "llama-3-8b";
    return !taken || model.training != Training::kAdam;
  });
  return models;
}

std::vector<TinyModel> BatchNormsOfSgd() {
  std::vector<TinyModel> models = ModelsOfSgd();
  std::erase_if(models,
                [](const TinyModel& model) { return std::string(model.model) != "resnet-50"; });
  return models;
}

// A perceptron, convolutions with batch norms, attention over images, BERT, GPT-2, a Llama with grouped queries, experts
// in one weight, whose loss couples samples, and as modules, whose loss does not.
std::vector<TinyModel> DrawnModels() {
  std::vector<TinyModel> models = RecomputedModels();
  models.push_back(UnbalancedExperts());
  std::erase_if(models, [](const TinyModel& model) {
    return std::string(model.model) == "mlp" && model.training == Training::kSgd;
  });
  return models;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedDraws, ::testing::ValuesIn(DrawnModels()),
                         [](const auto& test) { return NameOf(test.param); });
INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedUnits, ::testing::ValuesIn(ModelsOfUnits()),
                         [](const auto& test) { return NameOf(test.param); });
INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedMicroBatches, ::testing::ValuesIn(ModelsOfMicroBatches()),
                         [](const auto& test) { return NameOf(test.param); });
INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedMicroBatchNorms, ::testing::ValuesIn(BatchNormsOfSgd()),
                         [](const auto& test) { return NameOf(test.param); });

}  // namespace
}  // namespace placewright
