// The public interface as its users see it: graphs built by hand, and files. A cost store is written by its own module.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <placewright/placewright.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "cost/measured_links.h"
#include "formats/cost_store/cost_store.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

// `length` matrix products, each of the one before and a parameter, every second one also added to
// the one before that.
Graph Layers(const std::string& name, int length, int64_t width) {
  GraphBuilder builder(name, "test");
  std::vector<TensorId> outputs;
  for (int i = 0; i < length; ++i) {
    const std::string layer = "layer" + std::to_string(i);
    const TensorId weight =
        builder.AddInput(layer + ".weight", TensorKind::kParameter, DType::kF32, {width, width})
            .Take();
    OpSpec product;
    product.name = layer;
    product.type = "aten.mm.default";
    product.module = layer;
    product.inputs = {i > 0 ? outputs.back() : weight, weight};
    product.outputs = {{.name = layer + ".out", .shape = {width, width}}};
    TensorId made = builder.AddOp(product).Take()[0];
    if (i > 1 && i % 2 == 0) {
      OpSpec sum;
      sum.name = layer + ".sum";
      sum.type = "aten.add.Tensor";
      sum.module = layer;
      sum.inputs = {made, outputs[static_cast<size_t>(i) - 2]};
      sum.outputs = {{.name = layer + ".sum.out", .shape = {width, width}}};
      made = builder.AddOp(sum).Take()[0];
    }
    outputs.push_back(made);
  }
  builder.SetOutputs({outputs.back()});
  return std::move(builder).Build().Take();
}

PlanRequest Iterations(int64_t count) {
  PlanRequest request;
  request.iterations = count;
  return request;
}

TEST(PlanStep, PlansWhatIsBuiltByHand) {
  const Graph graph = Layers("layers", 12, 512);
  const Cluster cluster = ReadCluster("4xP100").Take();
  const Result<PlannedStep> planned = PlanStep(graph, cluster, Iterations(200));
  ASSERT_TRUE(planned.ok()) << planned.error().ToString();
  const PlannedStep& step = planned.value();
  EXPECT_TRUE(step.plan.feasible);
  EXPECT_EQ(step.plan.graph_name, "layers");
  EXPECT_EQ(step.plan.cluster_name, "4xP100");
  EXPECT_LE(step.plan.lower_bound, step.plan.step_time);
  EXPECT_FALSE(step.bound_argument.empty());
  EXPECT_EQ(step.plan.space, PlanSpace::kPlaced);
  EXPECT_EQ(step.plan.bound_space, PlanSpace::kPlaced);
  EXPECT_EQ(step.placement.size(), graph.op_count());
  EXPECT_EQ(step.plan.placement.size(), graph.op_count());
  Nanos end;
  for (OpId op : graph.ops()) end = std::max(end, step.schedule.ops[op].end);
  EXPECT_EQ(end, step.plan.step_time);
  for (const Baseline& baseline : step.plan.baselines) {
    if (!baseline.feasible) continue;
    EXPECT_GE(baseline.step_time, step.plan.step_time) << baseline.algorithm;
  }
}

// Four products with a parameter each, whose first dimension is of the samples.
Graph Perceptron(int64_t samples, DType dtype = DType::kF32) {
  constexpr int64_t kWidth = 4096;
  GraphBuilder builder("perceptron", "test");
  builder.set_batch(samples);
  TensorId now = builder.AddInput("x", TensorKind::kInput, dtype, {samples, kWidth}).Take();
  for (int i = 0; i < 4; ++i) {
    const std::string layer = "layer" + std::to_string(i);
    const TensorId weight =
        builder.AddInput(layer + ".weight", TensorKind::kParameter, dtype, {kWidth, kWidth}).Take();
    OpSpec product;
    product.name = product.module = layer;
    product.type = "aten.mm.default";
    product.inputs = {now, weight};
    product.args = {Value(InputRef{0}), Value(InputRef{1})};
    product.outputs = {{.name = layer + ".out", .dtype = dtype, .shape = {samples, kWidth}}};
    now = builder.AddOp(product).Take()[0];
  }
  builder.SetOutputs({now});
  Graph graph = std::move(builder).Build().Take();
  BatchScaling laws;
  laws.sizes = {samples, samples + 1, 2 * samples + 3};
  for (const TensorId id : graph.tensors()) {
    if (graph.tensor(id).shape[0] == samples) laws.dimensions.items.push_back({0, 1});
    laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
  }
  laws.arguments.offsets.resize(graph.op_count() + 1, 0);
  return WithBatchScaling(std::move(graph), laws).Take();
}

TEST(PlanStep, SplitsOpsWhereItMay) {
  const Graph graph = Perceptron(1024);
  const Cluster cluster = ReadCluster("4xP100").Take();
  PlanRequest request = Iterations(100);
  request.space = PlanSpace::kPlaced;
  const Result<PlannedStep> placed = PlanStep(graph, cluster, request);
  ASSERT_TRUE(placed.ok()) << placed.error().ToString();
  EXPECT_FALSE(placed.value().compiled);
  request.space.reset();  // as `placewright plan` does where the batch is proven to follow
  const Result<PlannedStep> planned = PlanStep(graph, cluster, request);
  ASSERT_TRUE(planned.ok()) << planned.error().ToString();
  const PlannedStep& step = planned.value();
  ASSERT_TRUE(step.compiled);
  EXPECT_TRUE(step.plan.feasible);
  EXPECT_EQ(step.plan.space, PlanSpace::kReplicated);
  // Four devices share samples that one had, beside transfers of theirs.
  EXPECT_LT(step.plan.step_time.count, placed.value().plan.step_time.count * 2 / 3);
  ASSERT_TRUE(step.plan.lower_bound);
  EXPECT_LE(*step.plan.lower_bound, step.plan.step_time);
  EXPECT_FALSE(step.bound_argument.empty());
  EXPECT_GT(step.compiled->op_count(), graph.op_count());
  EXPECT_EQ(step.placement.size(), step.compiled->op_count());
  Nanos end;
  for (const OpId op : step.compiled->ops()) end = std::max(end, step.schedule.ops[op].end);
  EXPECT_EQ(end, step.plan.step_time);
  EXPECT_FALSE(step.plan.distribution.layouts.empty());
  EXPECT_EQ(step.plan.samples, 1024);
  // Again, with the same seed and budget.
  const Result<PlannedStep> again = PlanStep(graph, cluster, request);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().plan.step_time, step.plan.step_time);
  EXPECT_EQ(again.value().plan.distribution, step.plan.distribution);
}

// Two layers with their gradients and updates: w -= x^T relu(x w), a square of 1,024 each, from 16 samples.
Graph TrainedLayers() {
  constexpr int64_t kSamples = 16, kWidth = 1024;
  GraphBuilder builder("trained", "test");
  builder.set_batch(kSamples);
  std::vector<TensorId> outputs;
  const auto add = [&](const std::string& name, const char* type, std::vector<TensorId> inputs,
                       std::vector<int64_t> shape, Phase phase) {
    OpSpec op{.name = name, .type = type, .phase = phase};
    op.module = "layer" + name.substr(name.size() - 1);
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape)}};
    if (phase == Phase::kOptimizer) op.outputs[0].alias = AliasKind::kInPlace;
    if (phase == Phase::kOptimizer) op.outputs[0].alias_of = 0;
    return builder.AddOp(std::move(op)).Take()[0];
  };
  const auto input = [&](const std::string& name, TensorKind kind, std::vector<int64_t> shape) {
    return builder.AddInput(name, kind, DType::kF32, std::move(shape)).Take();
  };
  TensorId x = input("input:x", TensorKind::kInput, {kSamples, kWidth});
  for (const std::string layer : {"0", "1"}) {
    const TensorId across = input("input:t" + layer, TensorKind::kInput, {kWidth, kSamples});
    const TensorId w = input("param:w" + layer, TensorKind::kParameter, {kWidth, kWidth});
    const TensorId y =
        add("product" + layer, "aten.mm.default", {x, w}, {kSamples, kWidth}, Phase::kForward);
    x = add("relu" + layer, "aten.relu.default", {y}, {kSamples, kWidth}, Phase::kForward);
    const TensorId gradient =
        add("gradient" + layer, "aten.mm.default", {across, x}, {kWidth, kWidth}, Phase::kBackward);
    outputs.push_back(add("update" + layer, "aten.sub_.Tensor", {w, gradient}, {kWidth, kWidth},
                          Phase::kOptimizer));
  }
  outputs.push_back(x);
  builder.SetOutputs(outputs);
  Graph graph = std::move(builder).Build().Take();
  BatchScaling laws;
  laws.sizes = {kSamples, kSamples + 1, 2 * kSamples + 3};
  for (const TensorId id : graph.tensors()) {
    const std::vector<int64_t>& shape = graph.tensor(id).shape;
    if (shape[0] == kSamples) laws.dimensions.items.push_back({0, 1});
    if (shape[1] == kSamples) laws.dimensions.items.push_back({1, 1});
    laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
  }
  laws.arguments.offsets.resize(graph.op_count() + 1, 0);
  return WithBatchScaling(std::move(graph), laws).Take();
}

// 4 MiB of each gradient are more than the 64 KiB that it is made of.
// A T4 has no bf16.
TEST(PlanStep, SaysWhyCpusComputeWhereThereAreGpus) {
  const Cluster cluster = ReadCluster("2xT4").Take();
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    const PlannedStep step = PlanStep(Perceptron(64, dtype), cluster, Iterations(10)).Take();
    const bool said = std::any_of(step.notes.begin(), step.notes.end(), [](const auto& note) {
      return note.find("CPUs compute: T4 does not run aten.mm.default in bf16 (op layer0)") !=
             std::string::npos;
    });
    EXPECT_EQ(said, dtype == DType::kBF16);
  }
}

TEST(PlanStep, RecomputesGradientsFromFactors) {
  const Graph graph = TrainedLayers();
  const Cluster cluster = ReadCluster("4xP100").Take();
  PlanRequest request = Iterations(1);
  request.algorithm = "data-parallel";
  const PlannedStep synchronised = PlanStep(graph, cluster, request).Take();
  request.sfb = SfbMode::kCut;
  const PlannedStep recomputed = PlanStep(graph, cluster, request).Take();
  EXPECT_EQ(synchronised.plan.algorithm, "data-parallel");
  EXPECT_EQ(recomputed.plan.algorithm, "data-parallel+sfb");
  EXPECT_LT(recomputed.plan.step_time, synchronised.plan.step_time);
  const auto says = [](const std::string& note) { return note.find("gradients") != note.npos; };
  EXPECT_TRUE(std::any_of(recomputed.notes.begin(), recomputed.notes.end(), says));
}

// They stay in their words; what is wrong in them is said.
TEST(PlanStep, TakesLayoutsByHand) {
  const Graph graph = Perceptron(1024);
  const Cluster cluster = ReadCluster("4xP100").Take();
  const std::string path = testing::TempDir() + "/by_hand.json";
  const auto write = [&](const std::string& module) {
    std::ofstream(path) << R"({"layouts": [)"
                        << R"({"groups": "*", "option": "all-reduce", "devices": ["host0/gpu*"]},)"
                        << R"({"groups": ")" << module
                        << R"(", "option": "place", "devices": ["host0/gpu3"]}]})";
  };
  write("layer1");
  PlanRequest request;
  const Result<DistributionSpec> read = ReadLayouts(path);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  request.layouts = read.value();
  const PlannedStep planned = PlanStep(graph, cluster, request).Take();
  EXPECT_EQ(planned.plan.algorithm, "layouts");
  EXPECT_EQ(planned.plan.distribution.layouts.size(), 2u);
  EXPECT_EQ(planned.plan.distribution.layouts[1].groups, "layer1");
  ASSERT_TRUE(planned.compiled);
  const OpId alone = planned.compiled->FindOp("layer1");
  ASSERT_TRUE(alone.valid());
  EXPECT_EQ(planned.placement[alone], cluster.FindDevice("host0/gpu3"));
  write("layer9");
  request.layouts = ReadLayouts(path).Take();
  EXPECT_THAT(PlanStep(graph, cluster, request).error().message, HasSubstr("layer9"));
  request.space = PlanSpace::kPlaced;
  EXPECT_EQ(PlanStep(graph, cluster, request).error().code, ErrorCode::kUsage);
}

// The step is made anew at every batch that is tried. A batch of b keeps 4 layers of 16 KiB b: of 16 GiB some 100,000 fit.
TEST(PlanStep, FindsTheLargestBatch) {
  const Cluster cluster = ReadCluster("2xP100-16GB").Take();
  std::vector<int64_t> batches;
  const GraphAtBatch graph_at = [&](int64_t batch) -> Result<Graph> {
    batches.push_back(batch);
    return Perceptron(batch);
  };
  PlanRequest request = Iterations(10);
  request.algorithm = "data-parallel";
  const Result<PlannedBatch> planned = PlanLargestBatch(graph_at, cluster, request, 1024);
  ASSERT_TRUE(planned.ok()) << planned.error().ToString();
  const PlannedBatch& found = planned.value();
  EXPECT_TRUE(found.step.plan.feasible);
  EXPECT_EQ(found.step.plan.samples, found.found.batch);
  EXPECT_GT(found.found.batch, 100'000);
  ASSERT_NE(found.found.Above(), nullptr);
  EXPECT_EQ(found.found.Above()->batch, found.found.batch + 1);
  EXPECT_FALSE(found.rates.empty());
  EXPECT_GT(batches.size(), 10u);
  // What fits one device by far less than two.
  request.algorithm = "single";
  const Result<PlannedBatch> single = PlanLargestBatch(graph_at, cluster, request, 1024);
  ASSERT_TRUE(single.ok()) << single.error().ToString();
  EXPECT_LT(single.value().found.batch, found.found.batch * 2 / 3);
}

TEST(PlanStep, SaysWhereNoBatchFits) {
  const Cluster cluster = ReadCluster("2xP100-16GB").Take();
  const GraphAtBatch huge = [](int64_t batch) -> Result<Graph> {
    return Layers("layers" + std::to_string(batch), 3, 1 << 17);  // of 64 GiB each
  };
  const Result<PlannedBatch> none = PlanLargestBatch(huge, cluster, Iterations(1));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kInfeasible);
  const GraphAtBatch failing = [](int64_t) -> Result<Graph> {
    return MakeError(ErrorCode::kNotRecordable, "no step can be made");
  };
  EXPECT_EQ(PlanLargestBatch(failing, cluster, Iterations(1)).error().code,
            ErrorCode::kNotRecordable);
}

// Gradients of 8 MiB cross links of which a store knows that they take 1 ms for a KiB.
TEST(PlanStep, TakesLinksAsTheyWereMeasured) {
  ClusterBuilder builder("two");
  DeviceKind worker{.name = "worker", .cores = 1};
  worker.peak.f32 = 1e12;
  worker.memory_bandwidth = BytesPerSecond(int64_t{1} << 34);
  const int32_t kind = builder.AddKind(worker).Take();
  for (const char* name : {"host0/a", "host0/b"}) {
    ASSERT_TRUE(
        builder.AddDevice({.name = name, .kind = kind, .capacity = Bytes(int64_t{1} << 34)}).ok());
  }
  ASSERT_TRUE(builder
                  .Connect("host0/a", "host0/b", BytesPerSecond(int64_t{1} << 33), Nanos(1000),
                           Duplex::kFull, "given")
                  .ok());
  const Cluster cluster = std::move(builder).Build().Take();
  PlanRequest request = Iterations(1);
  request.algorithm = "data-parallel";
  const Graph graph = TrainedLayers();
  const Result<PlannedStep> planned = PlanStep(graph, cluster, request);
  ASSERT_TRUE(planned.ok()) << planned.error().ToString();
  request.cost_store = testing::TempDir() + "/slow_links.sqlite";
  std::filesystem::remove(request.cost_store);
  const MeasuredOn on{"worker", 1, false, "2.0.0", "blas"};
  const std::vector<MeasuredTransfers> slow = {
      {on, on, {{Bytes(1024), Nanos(1'000'000), 5}, {Bytes(2048), Nanos(2'000'000), 5}}}};
  ASSERT_TRUE(CostStore::Open(request.cost_store, true).Take().Put({}, slow).ok());
  const Result<PlannedStep> measured = PlanStep(graph, cluster, request);
  ASSERT_TRUE(measured.ok()) << measured.error().ToString();
  EXPECT_GT(measured.value().plan.step_time.count, 10 * planned.value().plan.step_time.count);
}

TEST(PlanStep, SaysWhatIsWrongWithACostStore) {
  const Cluster cluster = ReadCluster("4xP100").Take();
  PlanRequest request = Iterations(1);
  request.cost_store = testing::TempDir() + "/no_such_store.sqlite";
  EXPECT_EQ(PlanStep(Perceptron(8), cluster, request).error().code, ErrorCode::kFileUnreadable);
}

TEST(PlanStep, SaysWhyOpsCannotBeSplit) {
  const Cluster cluster = ReadCluster("4xP100").Take();
  PlanRequest request = Iterations(10);
  request.space = PlanSpace::kReplicated;
  const Result<PlannedStep> unproven = PlanStep(Layers("layers", 3, 64), cluster, request);
  ASSERT_FALSE(unproven.ok());
  EXPECT_EQ(unproven.error().code, ErrorCode::kUsage);
  EXPECT_THAT(unproven.error().message, HasSubstr("follow its batch"));
  request.space = PlanSpace::kPipelined;
  const Result<PlannedStep> pipelined = PlanStep(Perceptron(8), cluster, request);
  ASSERT_FALSE(pipelined.ok());
  EXPECT_EQ(pipelined.error().code, ErrorCode::kUsage);
  request.space = PlanSpace::kReplicated;
  const Graph graph = Layers("layers", 3, 64);
  const CostTable costs;
  const Result<PlannedStep> given = PlanStep(graph, cluster, costs, request);
  ASSERT_FALSE(given.ok());
  EXPECT_THAT(given.error().message, HasSubstr("costs of whole ops"));
}

TEST(PlanStep, SaysWhatIsWrong) {
  const Graph graph = Layers("layers", 4, 64);
  const Cluster cluster = ReadCluster("4xP100").Take();
  PlanRequest request = Iterations(1);
  request.algorithm = "hefty";
  EXPECT_THAT(PlanStep(graph, cluster, request).error().ToString(), HasSubstr("heft"));
  request = Iterations(1);
  request.constraints.pins = {{"layer1", "host0/gpu9"}};
  EXPECT_EQ(PlanStep(graph, cluster, request).error().code, ErrorCode::kConstraint);
  request = Iterations(1);
  request.cost_profile = "guess";
  EXPECT_EQ(PlanStep(graph, cluster, request).error().code, ErrorCode::kUsage);
  EXPECT_EQ(ReadGraph("/nowhere").error().code, ErrorCode::kFileUnreadable);
  EXPECT_EQ(ReadCluster("5xP1000").error().code, ErrorCode::kUnknownName);
}

TEST(PlanStep, KeepsToConstraintsAndStarts) {
  const Graph graph = Layers("layers", 8, 256);
  const Cluster cluster = ReadCluster("4xP100").Take();
  const DeviceId wanted = cluster.FindDevice("host0/gpu2");
  PlanRequest request = Iterations(50);
  request.constraints.pins = {{"layer3", "host0/gpu2"}};
  const PlannedStep pinned = PlanStep(graph, cluster, request).Take();
  for (OpId op : graph.ops()) {
    if (!graph.op(op).name.starts_with("layer3")) continue;
    EXPECT_EQ(pinned.placement[op], wanted);
  }
  PlanRequest from = Iterations(0);
  from.initial = pinned.placement;
  EXPECT_LE(PlanStep(graph, cluster, from).Take().plan.step_time, pinned.plan.step_time);
}

// Two problems on two threads at once give what each gives alone (run under the thread sanitizer).
TEST(PlanStep, ThreadsPlanDifferentProblemsAtOnce) {
  const Cluster p100 = ReadCluster("4xP100").Take(), v100 = ReadCluster("2xV100").Take();
  const Graph wide = Layers("wide", 10, 1024), deep = Layers("deep", 40, 256);
  PlanRequest request = Iterations(400);
  request.threads = 2;
  const PlannedStep wide_alone = PlanStep(wide, p100, request).Take();
  const PlannedStep deep_alone = PlanStep(deep, v100, request).Take();
  std::optional<PlannedStep> wide_beside, deep_beside;
  std::thread one([&] { wide_beside = PlanStep(wide, p100, request).Take(); });
  std::thread two([&] { deep_beside = PlanStep(deep, v100, request).Take(); });
  one.join();
  two.join();
  EXPECT_EQ(wide_beside->placement, wide_alone.placement);
  EXPECT_EQ(deep_beside->placement, deep_alone.placement);
}

TEST(PlanStep, NamesWhatDoesNotBelongTogether) {
  const Graph graph = Layers("layers", 6, 64);
  const Cluster cluster = ReadCluster("2xV100").Take();
  const auto error = [&](const PlanRequest& request) {
    return PlanStep(graph, cluster, request).error();
  };
  PlanRequest request = Iterations(-1);
  EXPECT_EQ(error(request).code, ErrorCode::kUsage);
  request = Iterations(1);
  request.threads = 1 << 20;
  EXPECT_EQ(error(request).code, ErrorCode::kUsage);
  request = Iterations(1);
  request.algorithm = "heft";
  request.initial = Placement(graph.op_count(), DeviceId(0));
  EXPECT_EQ(error(request).code, ErrorCode::kUsage);  // heft starts from nothing
  request.algorithm = "local-search";
  EXPECT_TRUE(PlanStep(graph, cluster, request).ok());
  // Costs of other devices, or of other ops
  EXPECT_EQ(PlanStep(graph, cluster, CostTable(graph.op_count(), 3), Iterations(1)).error().code,
            ErrorCode::kPlanMismatch);
  EXPECT_EQ(PlanStep(graph, cluster, CostTable(1, 2), Iterations(1)).error().code,
            ErrorCode::kPlanMismatch);
  request = Iterations(1);
  request.time = std::chrono::nanoseconds::max();  // no limit
  EXPECT_TRUE(PlanStep(graph, cluster, request).ok());
}

TEST(ReadGraph, RejectsFilesWhoseTimesItWouldDrop) {
  const std::string path = testing::TempDir() + "own_times.json";
  std::ofstream(path) << R"({"schema": "placewright.costgraph/1", "name": "g",
    "devices": [{"name": "d0", "memory_bytes": 4096}], "links": [], "routes": [],
    "tensors": [{"name": "x", "bytes": 8}],
    "ops": [{"name": "a", "inputs": [], "outputs": ["x"], "time_ns": [5]}]})";
  const Result<Graph> read = ReadGraph(path);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kUsage) << read.error().ToString();
  EXPECT_EQ(read.error().file, path);
}

TEST(PlanStep, EndsWhenItIsStopped) {
  const Graph graph = Layers("layers", 30, 512);
  const Cluster cluster = ReadCluster("4xP100").Take();
  StopSource before;
  before.RequestStop();
  PlanRequest request;
  request.time = std::chrono::hours(1);
  request.stop = before.token();
  EXPECT_EQ(PlanStep(graph, cluster, request).error().code, ErrorCode::kCancelled);

  StopSource during;
  std::atomic<int> reports = 0;
  request.stop = during.token();
  request.progress = [&](const PlanProgress& progress) {
    if (progress.feasible && ++reports == 1) during.RequestStop();
  };
  const Result<PlannedStep> planned = PlanStep(graph, cluster, request);  // not an hour
  ASSERT_TRUE(planned.ok());
  EXPECT_TRUE(planned.value().plan.feasible);
  EXPECT_GE(reports, 1);
}

}  // namespace
}  // namespace placewright
