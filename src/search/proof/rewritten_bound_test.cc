// Bounds and proofs against plans of rewritten steps: in micro-batches, with modules that are computed again, with
// activations in host memory, each under layouts drawn at random, those of samples, those on one device, and what a search
// makes of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster_builder.h"
#include "compile/drawn_layouts.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/layout_search.h"
#include "search/layouts/test_clusters.h"
#include "search/layouts/test_layer_writer.h"
#include "search/proof/replicated_bound.h"
#include "search/proof/replicated_memory.h"
#include "transforms/layers.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

constexpr int64_t kRewrittenSamples = 16;

// Steps of two layers with all of their gradients, and plain gradient descent.
class RewrittenSteps : private LayerWriter {
 public:
  using Shape = std::vector<int64_t>;

  RewrittenSteps() { builder_.set_batch(kSamples); }

  // Two products with an activation between them.
  Graph Perceptron(int64_t in, int64_t width, int64_t out) {
    const TensorId x = Input("input:x", TensorKind::kInput, {kSamples, in});
    module_ = "layers.0.inner";
    const TensorId w = Parameter("w", {in, width});
    const TensorId y = Op("y", "mm.default", {x, w}, {{kSamples, width}})[0];
    const TensorId a = Op("a", "tanh.default", {y}, {{kSamples, width}})[0];
    module_ = "layers.1.inner";
    const TensorId v = Parameter("v", {width, out});
    const TensorId z = Op("z", "mm.default", {a, v}, {{kSamples, out}})[0];
    phase_ = Phase::kBackward;
    const TensorId vt = View("vt", v, {out, width}), at = View("at", a, {width, kSamples});
    const TensorId gv = Op("gv", "mm.default", {at, z}, {{width, out}})[0];
    const TensorId ga = Op("ga", "mm.default", {z, vt}, {{kSamples, width}})[0];
    module_ = "layers.0.inner";
    const TensorId gy = Op("gy", "tanh_backward.default", {ga, a}, {{kSamples, width}})[0];
    const TensorId xt = View("xt", x, {in, kSamples});
    const TensorId gw = Op("gw", "mm.default", {xt, gy}, {{in, width}})[0];
    Update({{w, gw}, {v, gv}});
    return Finish(z);
  }

  // Two products with a norm between them.
  Graph Normalised(int64_t in, int64_t width, int64_t out) {
    const TensorId x = Input("input:x", TensorKind::kInput, {kSamples, in});
    module_ = "layers.0.inner";
    const TensorId w = Parameter("w", {in, width});
    const TensorId gain = Parameter("gain", {width}), bias = Parameter("bias", {width});
    const TensorId y = Op("y", "mm.default", {x, w}, {{kSamples, width}})[0];
    const Value over(Value::List{Value(width)});
    const std::vector<TensorId> norm = Op("norm", "native_layer_norm.default", {y, gain, bias},
                                          {{kSamples, width}, {kSamples, 1}, {kSamples, 1}},
                                          {At(0), over, At(1), At(2), Value(1e-5)});
    module_ = "layers.1.inner";
    const TensorId v = Parameter("v", {width, out});
    const TensorId a = Op("a", "tanh.default", {norm[0]}, {{kSamples, width}})[0];
    const TensorId z = Op("z", "mm.default", {a, v}, {{kSamples, out}})[0];
    phase_ = Phase::kBackward;
    const TensorId vt = View("vt", v, {out, width}), at = View("at", a, {width, kSamples});
    const TensorId gv = Op("gv", "mm.default", {at, z}, {{width, out}})[0];
    const TensorId ga = Op("ga", "mm.default", {z, vt}, {{kSamples, width}})[0];
    const TensorId gn = Op("gn", "tanh_backward.default", {ga, a}, {{kSamples, width}})[0];
    module_ = "layers.0.inner";
    const Value all(Value::List{Value(true), Value(true), Value(true)});
    const std::vector<TensorId> gy =
        Op("gy", "native_layer_norm_backward.default", {gn, y, norm[1], norm[2], gain, bias},
           {{kSamples, width}, {width}, {width}},
           {At(0), At(1), over, At(2), At(3), At(4), At(5), all});
    const TensorId xt = View("xt", x, {in, kSamples});
    const TensorId gw = Op("gw", "mm.default", {xt, gy[0]}, {{in, width}})[0];
    Update({{w, gw}, {gain, gy[1]}, {bias, gy[2]}, {v, gv}});
    return Finish(z);
  }

  // A weight that leads into a layer and, transposed, out of it: its gradient is the sum of two.
  Graph Tied(int64_t words, int64_t width) {
    const TensorId x = Input("input:x", TensorKind::kInput, {kSamples, words});
    module_ = "layers.0.inner";
    const TensorId w = Parameter("w", {words, width});
    const TensorId y = Op("y", "mm.default", {x, w}, {{kSamples, width}})[0];
    const TensorId a = Op("a", "tanh.default", {y}, {{kSamples, width}})[0];
    module_ = "layers.1.inner";
    const TensorId wt = View("wt", w, {width, words});
    const TensorId z = Op("z", "mm.default", {a, wt}, {{kSamples, words}})[0];
    phase_ = Phase::kBackward;
    const TensorId zt = View("zt", z, {words, kSamples});
    const TensorId above = Op("above", "mm.default", {zt, a}, {{words, width}})[0];
    const TensorId ga = Op("ga", "mm.default", {z, w}, {{kSamples, width}})[0];
    module_ = "layers.0.inner";
    const TensorId gy = Op("gy", "tanh_backward.default", {ga, a}, {{kSamples, width}})[0];
    const TensorId xt = View("xt", x, {words, kSamples});
    const TensorId below = Op("below", "mm.default", {xt, gy}, {{words, width}})[0];
    const TensorId gw = Op("gw", "add.Tensor", {above, below}, {{words, width}})[0];
    Update({{w, gw}});
    return Finish(z);
  }

  // Scores of every place for every place of its sample, softmax, and a mean of values by them; the weight is before it.
  Graph Attention(int64_t places, int64_t width) {
    const Shape samples = {kSamples, places, width}, scores = {kSamples, places, places};
    const TensorId x = Input("input:x", TensorKind::kInput, {kSamples, width});
    const TensorId k = Input("input:k", TensorKind::kInput, samples);
    module_ = "layers.0.inner";
    const TensorId w = Parameter("w", {width, width});
    const TensorId y = Op("y", "mm.default", {x, w}, {{kSamples, width}})[0];
    const TensorId row = Op("row", "unsqueeze.default", {y}, {{kSamples, 1, width}},
                            {At(0), Value(int64_t{1})}, AliasKind::kView)[0];
    const TensorId q = Op("q", "mul.Tensor", {k, row}, {samples})[0];
    module_ = "layers.1.inner";
    const TensorId kt = Op("kt", "transpose.int", {k}, {{kSamples, width, places}},
                           {At(0), Value(int64_t{1}), Value(int64_t{2})}, AliasKind::kView)[0];
    const TensorId s = Op("s", "bmm.default", {q, kt}, {scores})[0];
    const TensorId p =
        Op("p", "_softmax.default", {s}, {scores}, {At(0), Value(int64_t{-1}), Value(false)})[0];
    const TensorId o = Op("o", "bmm.default", {p, k}, {samples})[0];
    phase_ = Phase::kBackward;
    const TensorId gp = Op("gp", "bmm.default", {o, kt}, {scores})[0];
    const TensorId gs = Op("gs", "mul.Tensor", {gp, p}, {scores})[0];
    const TensorId gq = Op("gq", "bmm.default", {gs, k}, {samples})[0];
    module_ = "layers.0.inner";
    const TensorId by = Op("by", "mul.Tensor", {gq, k}, {samples})[0];
    const TensorId gy = Op("gy", "sum.dim_IntList", {by}, {{kSamples, width}},
                           {At(0), Value(Value::List{Value(int64_t{1})}), Value(false)})[0];
    const TensorId xt = View("xt", x, {width, kSamples});
    const TensorId gw = Op("gw", "mm.default", {xt, gy}, {{width, width}})[0];
    Update({{w, gw}});
    return Finish(o);
  }

 private:
  static constexpr int64_t kSamples = kRewrittenSamples;

  static Value At(int32_t i) { return Value(InputRef{i}); }

  TensorId Parameter(const std::string& name, Shape shape) {
    return Input("param:" + name, TensorKind::kParameter, std::move(shape));
  }
  TensorId View(const std::string& name, TensorId of, const Shape& shape) {
    return Op(name, "t.default", {of}, {shape}, {At(0)}, AliasKind::kView)[0];
  }
  // `args`: none: its inputs.
  std::vector<TensorId> Op(const std::string& name, const std::string& type,
                           std::vector<TensorId> inputs, const std::vector<Shape>& shapes,
                           std::vector<Value> args = {}, AliasKind alias = AliasKind::kFresh) {
    OpSpec op{.name = name, .type = "aten." + type, .phase = phase_, .module = module_};
    for (size_t i = 0; i < inputs.size() && args.size() < inputs.size(); ++i) {
      if (args.size() == i) args.push_back(At(static_cast<int32_t>(i)));
    }
    op.args = std::move(args);
    op.inputs = std::move(inputs);
    for (size_t i = 0; i < shapes.size(); ++i) {
      op.outputs.push_back({.name = shapes.size() == 1 ? name : name + ":" + std::to_string(i),
                            .shape = shapes[i],
                            .alias = alias});
      if (alias != AliasKind::kFresh) op.outputs.back().alias_of = 0;
    }
    return builder_.AddOp(std::move(op)).Take();
  }
  void Update(const std::vector<std::pair<TensorId, TensorId>>& gradients) {
    phase_ = Phase::kOptimizer;
    for (const auto& [parameter, gradient] : gradients) {
      updated_.push_back(Op("update" + std::to_string(updated_.size()), "sub_.Tensor",
                            {parameter, gradient}, {builder_.added().tensors[parameter].shape}, {},
                            AliasKind::kInPlace)[0]);
    }
  }
  Graph Finish(TensorId result) {
    updated_.push_back(result);
    builder_.SetOutputs(updated_);
    return Scaled(std::move(builder_).Build().Take(), kSamples);
  }

  std::vector<TensorId> updated_;
};

// Widths are so many times the smallest.
std::vector<Graph> StepsToRewrite(int64_t times) {
  std::vector<Graph> steps;
  steps.push_back(RewrittenSteps().Perceptron(40 * times, 64 * times, 32 * times));
  steps.push_back(RewrittenSteps().Normalised(48 * times, 96 * times, 24 * times));
  steps.push_back(RewrittenSteps().Tied(160 * times, 40 * times));
  steps.push_back(RewrittenSteps().Attention(6, 48 * times));
  return steps;
}

// A step under every rewriting that it allows: micro-batches, what is computed again and, `with_host`, what lies in host
// memory.
struct RewrittenGraph {
  std::string words;
  std::unique_ptr<Graph> graph;  // nullptr: the step as it is
};

std::vector<RewrittenGraph> AllRewritings(const Graph& step, bool with_host,
                                          const std::vector<int64_t>& micro_batches) {
  std::vector<std::vector<std::string>> sets = {{}, {"full"}};
  for (const std::string& layer : LayersOf(step).names) sets.push_back({layer});
  std::vector<RewrittenGraph> all;
  for (const int64_t count : micro_batches) {
    for (const auto& again : sets) {
      for (const bool offloads : {false, true}) {
        if (offloads && !with_host) continue;
        Rewriting asked{.micro_batches = count, .recompute = again};
        if (offloads) asked.offload = {"full"};
        const Transforms transforms = TransformsFor(asked);
        Result<std::unique_ptr<Graph>> made = ApplyTransforms(step, transforms);
        EXPECT_TRUE(made.ok()) << made.error().ToString();
        if (!made.ok() || (made.value() == nullptr && !all.empty())) continue;
        all.push_back({Describe(transforms), made.Take()});
      }
    }
  }
  return all;
}

struct PosedStep {
  PosedStep(const Graph& of, const Cluster& on)
      : layouts(LayoutProblem::Make(of, on, CostOptions(), SchedulingPolicy::kProgram).Take()),
        problem(BuildProblem(of, on, layouts->costs, {}, SchedulingPolicy::kProgram).Take()) {
    problem.layouts = layouts.get();
  }
  std::unique_ptr<LayoutProblem> layouts;
  Problem problem;
};

std::vector<StepPlan> DrawPlans(const PosedStep& posed, int count, Random& random) {
  const Graph& graph = posed.layouts->graph;
  const NamedAxes& axes = posed.layouts->axes;
  const size_t devices = posed.layouts->cluster.device_count();
  std::vector<StepPlan> plans;
  for (size_t d = 0; d < devices; ++d) {
    const Layouts one{{PlacedOn(DeviceId(d))},
                      IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0))};
    plans.push_back({one, {}});
  }
  for (int i = 0; i < count && devices > 1; ++i) {
    const size_t some = 2 + random.Below(devices - 1);
    const int64_t samples = axes.axis(axes.batch()).size;
    const bool apart = i % 4 == 0 && samples >= static_cast<int64_t>(some);
    Layouts layouts = apart ? DataParallelLayouts(graph, axes, RandomLengths(random, some, samples))
                            : RandomBoxLayouts(random, graph, axes, devices);
    plans.push_back({std::move(layouts), {}});
  }
  return plans;
}

// The best of the drawn plans, and of what a search makes in so many moves.
Score BestOfDrawn(const PosedStep& posed, int drawn, int64_t moves, Random& random) {
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(posed.problem);
  Score best;
  for (const auto& one : evaluator->EvaluatePlans(DrawPlans(posed, drawn, random), {})) {
    if (one.ok()) best = std::min(best, one.value().score());
  }
  if (moves == 0) return best;
  PlannerOptions options;
  options.budget.iterations = moves;
  const Result<PlannerResult> searched = SearchLayouts(
      posed.problem, *evaluator, options, LayoutRule::kLocalSearch, "layout-search", {});
  EXPECT_TRUE(searched.ok()) << searched.error().ToString();
  if (!searched.ok()) return best;
  const PlannerResult& found = searched.value();
  if (found.feasible) best = std::min(best, {true, 0, found.step_time.count});
  return best;
}

// Two cards and a host, to whose memory activations can go, each with room for so much.
Cluster CardsWithHost(int64_t capacity) {
  ClusterBuilder builder("cards");
  DeviceKind card{.name = "Card"};
  card.peak.f32 = 1e11;
  card.memory_bandwidth = BytesPerSecond(int64_t{1} << 34);
  DeviceKind socket = card;
  socket.name = "Socket";
  socket.device_class = DeviceClass::kCpu;
  const int32_t of_cards = builder.AddKind(card).Take(), of_host = builder.AddKind(socket).Take();
  for (const char* const name : {"a", "b", "host"}) {
    const int32_t kind = name == std::string("host") ? of_host : of_cards;
    (void)builder.AddDevice({.name = name, .kind = kind, .capacity = Bytes(capacity)}).Take();
  }
  for (const auto& [one, other] : {std::pair("a", "b"), {"host", "a"}, {"host", "b"}}) {
    EXPECT_TRUE(
        builder.Connect(one, other, BytesPerSecond(1 << 30), Nanos(10), Duplex::kFull, "").ok());
  }
  return std::move(builder).Build().Take();
}

TEST(RewrittenBound, NoRewritingUnderAnyLayoutsIsBelowTheWork) {
  Random random(1);
  int by_work = 0, rewritten = 0;
  double smallest = 100;  // of a step, of its bound
  for (const Graph& step : StepsToRewrite(1)) {
    for (const int devices : {1, 2, 3}) {
      const bool with_host = devices == 3;
      const Cluster cluster = with_host ? CardsWithHost(1 << 28)
                                        : EqualDevices(devices, BytesPerSecond(int64_t{1} << 36));
      const Bound bound = ReplicatedLowerBound(PosedStep(step, cluster).problem).value();
      // Of a critical path micro-batches may make smaller parts: the bound under any rewriting is of the work alone.
      const bool of_all = bound.argument == "work";
      for (const auto& [words, graph] : AllRewritings(step, with_host, {1, 2, 8})) {
        SCOPED_TRACE(words);
        const PosedStep posed(graph == nullptr ? step : *graph, cluster);
        const Score best = BestOfDrawn(posed, 12, devices == 1 ? 0 : 40, random);
        const Bound own = ReplicatedLowerBound(posed.problem).value();
        EXPECT_GE(best.step_time, own.value.count) << own.argument;
        ++rewritten;
        if (!of_all) continue;
        EXPECT_GE(best.step_time, bound.value.count);
        smallest = std::min(
            smallest, static_cast<double>(best.step_time) / static_cast<double>(bound.value.count));
        ++by_work;
      }
    }
  }
  EXPECT_LT(smallest, 1.05);
  EXPECT_GT(by_work, 50);
  EXPECT_GT(rewritten, 120);
}

int64_t BytesOfParameters(const Graph& step) {
  int64_t bytes = 0;
  for (const TensorId id : step.tensors()) {
    const Tensor& tensor = step.tensor(id);
    if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
    int64_t size = 4;
    for (const int64_t length : tensor.shape) size *= length;
    bytes += size;
  }
  return bytes;
}

// Of parameters beside which what a product needs for itself is small: from room for a fifth of them to room for several
// times as much.
TEST(RewrittenMemory, NoRewritingFitsWhereTheStepIsProvenNotTo) {
  Random random(2);
  int proven = 0, fitting = 0;
  for (const Graph& step : StepsToRewrite(64)) {
    const std::vector<RewrittenGraph> rewritings = AllRewritings(step, true, {1, 4});
    for (const int64_t fifths : {1, 4, 5, 75}) {
      const Cluster cluster = CardsWithHost(BytesOfParameters(step) * fifths / 15);
      const PosedStep recorded(step, cluster);
      const bool excluded = !CheckNotProvenInfeasibleInParts(recorded.problem).ok();
      proven += excluded ? 1 : 0;
      for (const auto& [words, graph] : rewritings) {
        SCOPED_TRACE(testing::Message() << fifths << " fifths: " << words);
        const PosedStep posed(graph == nullptr ? step : *graph, cluster);
        const bool own = !CheckNotProvenInfeasibleInParts(posed.problem).ok();
        const bool fits = BestOfDrawn(posed, 6, 10, random).feasible;
        EXPECT_FALSE(fits && (excluded || own));
        fitting += fits ? 1 : 0;
      }
    }
  }
  EXPECT_GT(proven, 8);
  EXPECT_GT(fitting, 40);
}

}  // namespace
}  // namespace placewright
