// A distributed step is the step: executed over simulated devices by random layouts and by those of
// expert-hybrid, steps of the zoo's small models give the parameters, states and losses of the step on one
// device, in float64 to 1e-9; and the checker proves it.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "capture/step/model_step.h"
#include "capture/step/tiny_models.h"
#include "check_plan/distributed/interpreter.h"
#include "check_plan/transforms/congruence.h"
#include "check_plan/transforms/micro_batches.h"
#include "check_plan/transforms/precision.h"
#include "cluster/catalogue.h"
#include "cluster/cluster_builder.h"
#include "compile/compiler.h"
#include "compile/drawn_layouts.h"
#include "formats/aten/reader.h"
#include "formats/aten/writer.h"
#include "formats/plan/layout_words.h"
#include "runtime/executor/executor.h"
#include "runtime/inputs/piece_values.h"
#include "runtime/inputs/seeded_inputs.h"
#include "search/layouts/expert_hybrid.h"
#include "search/layouts/mesh_strategies.h"
#include "search/layouts/pipelines.h"
#include "search/sfb/embedding_rows.h"
#include "transforms/counter_draws.h"
#include "transforms/layers.h"
#include "transforms/offload.h"
#include "transforms/pipeline_schedule.h"
#include "transforms/precision.h"
#include "transforms/recompute.h"
#include "transforms/reorder.h"
#include "transforms/split_backward.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

constexpr double kTolerance = 1e-9;  // of the largest magnitude
constexpr double kFloatTolerance = 1e-5;
constexpr double kNoiseFactor =
    64;  // of what one rounding of the parameters comes to; sums round more often
constexpr double kNoise = 1e-9;  // of a step whose parameters are of the order of 1
// Three steps; two of a network of batch norms, of which every step multiplies the rounding of the one before
// by 20 to 60 (one last bit of the parameters is 4e-10 of a momentum after three).
constexpr int kSteps = 3, kNormSteps = 2;
constexpr uint64_t kSeed = 5;

int LayoutsOfEach() {
  const char* const stated = std::getenv("PLACEWRIGHT_LAYOUTS");
  return stated == nullptr ? 3 : std::atoi(stated);
}

// Draws of the tests of whole steps: these, each by a seed of its own, so that a long run can be made in pieces.
struct Draws {
  int from = 0, to = 0;
};
Draws DrawsOr(int count) {
  const char* const from = std::getenv("PLACEWRIGHT_DRAWS_FROM");
  const char* const to = std::getenv("PLACEWRIGHT_DRAWS_TO");
  return {from == nullptr ? 0 : std::atoi(from), to == nullptr ? count : std::atoi(to)};
}

// Up to three modules of the forward pass, at any depth.
std::vector<std::string> RandomModules(Random& random, const Graph& step) {
  std::set<std::string> computing;
  for (const OpId op : step.ops()) {
    const std::string& path = step.module_path(step.op(op).module);
    if (step.op(op).phase != Phase::kForward) continue;
    for (size_t end = path.find('.'); !path.empty(); end = path.find('.', end + 1)) {
      computing.insert(path.substr(0, end));
      if (end == std::string::npos) break;
    }
  }
  const std::vector<std::string> paths(computing.begin(), computing.end());
  std::vector<std::string> modules;
  for (size_t i = 0; i <= random.Below(3); ++i) {
    modules.push_back(paths[random.Below(paths.size())]);
  }
  return modules;
}

// An order in which each op comes behind what it needs, drawn op by op from those that are ready.
std::vector<OpId> RandomOrder(Random& random, const Graph& step) {
  std::vector<std::vector<OpId>> next(step.op_count());
  std::vector<int> waits(step.op_count(), 0);
  const auto add = [&](OpId from, OpId to) {
    next[from.index()].push_back(to);
    ++waits[to.index()];
  };
  for (const OpId op : step.ops()) {
    for (const OpId producer : step.producers(op)) add(producer, op);
  }
  for (const OrderEdge& edge : step.order_edges()) add(edge.from, edge.to);
  std::vector<OpId> ready, order;
  for (const OpId op : step.ops()) {
    if (waits[op.index()] == 0) ready.push_back(op);
  }
  while (!ready.empty()) {
    std::swap(ready[random.Below(ready.size())], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    for (const OpId op : next[order.back().index()]) {
      if (--waits[op.index()] == 0) ready.push_back(op);
    }
  }
  return order;
}

std::vector<std::unique_ptr<RuntimeDevice>> SimulatedDevices(size_t count) {
  std::vector<std::unique_ptr<RuntimeDevice>> devices;
  for (size_t i = 0; i < count; ++i) {
    devices.push_back(MakeSimulatedDevice({"d" + std::to_string(i), 1, 0}));
  }
  return devices;
}

// A recorded step and what it does on one device, found once for all tests of a model.
struct WholeStep {
  std::unique_ptr<Graph> graph;
  std::unique_ptr<NamedAxes> axes;
  int steps = kSteps;
  std::vector<std::pair<TensorId, at::Tensor>> inputs;
  std::vector<at::Tensor> after;
  at::Tensor loss;
};

// The step of the model; `wide`: with every float of 64 bits.
WholeStep& WholeStepOf(const TinyModel& model, int64_t batch, bool wide) {
  static std::map<std::string, WholeStep> of_models;
  return of_models[NameOf(model) + " of " + std::to_string(batch) + (wide ? " in float64" : "")];
}

class ExecutedLayouts : public ::testing::TestWithParam<TinyModel> {
 protected:
  void SetUp() override { Prepare(true); }

  // `wide`: every float of 64 bits; else as it was recorded, for one step.
  void Prepare(bool wide) {
    at::set_num_threads(1);
    if (wide) c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
    tolerance_ = wide ? kTolerance : kFloatTolerance;
    WholeStep& whole = WholeStepOf(GetParam(), batch_, wide);
    if (!whole.loss.defined()) Record(wide, whole);
    if (HasFatalFailure()) return;
    graph_ = whole.graph.get();
    axes_ = whole.axes.get();
    steps_ = whole.steps;
    inputs_ = whole.inputs;
    after_ = whole.after;
    loss_ = whole.loss;
  }
  void TearDown() override { c10::set_default_dtype(usual_); }

  void Record(bool wide, WholeStep& whole) {
    CaptureRequest request = GetParam().Request();
    request.values["batch"] = static_cast<double>(batch_);
    // Enough places in an image that the statistics of a batch norm are well conditioned.
    if (request.values.contains("width")) {
      request.values["size"] = std::max(request.values["size"], 128.0);
      steps_ = kNormSteps;
    }
    Result<Capture> capture = CaptureZooModel(request);
    ASSERT_TRUE(capture.ok()) << capture.error().ToString();
    Graph recorded = wide ? InDouble(capture.value()) : std::move(capture.value().graph);
    whole.graph = std::make_unique<Graph>(UseCounterBasedDraws(std::move(recorded), kSeed).Take());
    graph_ = whole.graph.get();
    if (!wide) steps_ = 1;
    whole.steps = steps_;
    whole.axes = std::make_unique<NamedAxes>(graph());
    ASSERT_TRUE(whole.axes->batch().valid());
    RunWhole();
    if (HasFatalFailure()) return;
    whole.inputs = inputs_;
    whole.after = after_;
    whole.loss = loss_;
  }

  // The same step with every float of 64 bits.
  static Graph InDouble(const Capture& capture) {
    std::string text = WriteAtenGraph(capture.graph, capture.module_stated, nullptr).Take();
    for (const auto& [word, wider] :
         {std::pair("\"f32\"", "\"f64\""), std::pair("torch.float32", "torch.float64")}) {
      for (size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
        text.replace(at, std::strlen(word), wider);
      }
    }
    return std::move(ReadAtenFile(text, std::nullopt).Take().graph);
  }

  const Graph& graph() const { return *graph_; }

  void RunWhole() {
    inputs_ = SeededInputs(graph(), kSeed).Take();
    const auto after = StepFrom(inputs_);
    ASSERT_TRUE(after.has_value());
    after_ = after->first;
    loss_ = after->second;
  }

  // What the inputs hold behind the steps on one device, and the loss.
  std::optional<std::pair<std::vector<at::Tensor>, at::Tensor>> StepFrom(
      const std::vector<std::pair<TensorId, at::Tensor>>& inputs) {
    auto executor =
        Executor::Create(graph(), Placement(graph().op_count(), DeviceId(0)), SimulatedDevices(1))
            .Take();
    for (const auto& [id, tensor] : inputs) {
      if (!executor->SetInput(id, tensor).ok()) return std::nullopt;
    }
    at::manual_seed(kSeed);
    for (int step = 0; step < steps_; ++step) {
      if (!executor->Step().ok()) return std::nullopt;
    }
    std::vector<at::Tensor> after;
    for (const auto& [id, tensor] : inputs) after.push_back(executor->Input(id).clone());
    return std::pair(std::move(after), executor->Output(0).clone());
  }

  // How far the step itself carries a rounding of the parameters: in float32 nothing can be closer than that. Each
  // element is rounded its own way: a batch norm takes back what scales a whole weight.
  void FindNoise() {
    at::manual_seed(kSeed);
    auto shaken = inputs_;
    for (auto& [id, tensor] : shaken) {
      if (graph().tensor(id).kind != TensorKind::kParameter) continue;
      const at::Tensor up_or_down = 2 * at::randint(2, tensor.sizes(), tensor.options()) - 1;
      tensor = tensor + tensor * up_or_down * std::numeric_limits<float>::epsilon();
    }
    const auto after = StepFrom(shaken);
    ASSERT_TRUE(after.has_value());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!after_[i].defined() || !after_[i].is_floating_point() || after_[i].numel() == 0)
        continue;
      const double change = (after->first[i] - after_[i]).abs().max().item<double>();
      noise_[graph().tensor(inputs_[i].first).name] = change;
      if (graph().tensor(inputs_[i].first).kind == TensorKind::kOptimizerState) {
        largest_gradient_ = std::max(largest_gradient_, after_[i].abs().max().item<double>());
      }
    }
  }

  Layouts DataParallel(const std::vector<int64_t>& lengths) const {
    return DataParallelLayouts(graph(), *axes_, lengths);
  }

  // Samples of all devices; each parameter and its update on one of them in turn, or in uneven parts of an
  // axis of its own where it has one that is long enough.
  Layouts ForParameters(const std::vector<int64_t>& lengths, bool in_parts) const {
    Layouts layouts = DataParallel(lengths);
    size_t next = 0;
    for (const TensorId id : graph().tensors()) {
      const Tensor& tensor = graph().tensor(id);
      const OpId home = graph().home_op(tensor.storage);
      if (tensor.kind != TensorKind::kParameter || tensor.producer.valid() || !home.valid()) {
        continue;
      }
      Layout layout = PlacedOn(DeviceId(next++ % lengths.size()));
      if (in_parts) layout = OwnParts(id, lengths);
      layouts.of_group[graph().group(home)] = LayoutId(layouts.layouts.size());
      layouts.layouts.push_back(std::move(layout));
    }
    return layouts;
  }

  // All but one of the elements of the axis on the last device, one on each of the others.
  Layout OwnParts(TensorId parameter, const std::vector<int64_t>& samples) const {
    const Layout batch = DataParallel(samples).layouts.front();
    const auto count = static_cast<int64_t>(samples.size());
    for (size_t d = 0; d < graph().tensor(parameter).shape.size(); ++d) {
      for (const AxisId axis : axes_->factors(parameter, d)) {
        const int64_t size = axes_->axis(axis).size;
        if (size < count) continue;
        std::vector<int64_t> lengths(samples.size(), 1);
        lengths.back() = size - count + 1;
        return SplitOver(axis, DevicesOf(batch), lengths);
      }
    }
    return batch;
  }

  void ExpectEqual(const at::Tensor& found, const at::Tensor& expected, const std::string& what) {
    ASSERT_EQ(found.sizes(), expected.sizes()) << what;
    if (!found.is_floating_point()) {
      ASSERT_TRUE(found.equal(expected)) << what;
      return;
    }
    if (found.numel() == 0) return;
    // What three steps leave at rounding noise (a bias that shifts all scores alike) is no figure.
    const double magnitude = expected.abs().max().item<double>();
    if (magnitude < kNoise && found.abs().max().item<double>() < kNoise) return;
    const double scale = std::max(magnitude, 1e-3 * largest_gradient_);
    const auto noise = noise_.find(what);
    const double allowed =
        std::max(tolerance_ * scale, noise == noise_.end() ? 0 : kNoiseFactor * noise->second);
    ASSERT_LE((found - expected).abs().max().item<double>(), allowed) << what;
  }

  // `through_file`: what is executed has been written and read.
  void RunLayouts(const Layouts& layouts, size_t devices, const CompileOptions& options = {},
                  bool through_file = false) {
    const Cluster cluster = has_host_ ? DevicesWithHost(devices) : DevicesAlike(devices);
    Result<DistributedStep> compiled = Compile(graph(), *axes_, layouts, cluster, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().ToString();
    DistributedStep step = compiled.Take();
    for (const OpId op : step.graph.ops()) {
      all_to_alls_ += step.graph.op(op).type == "placewright.all_to_all.default" ? 1 : 0;
    }
    const check::Findings proof = check::Interpret(graph(), step);
    ASSERT_FALSE(proof.violation) << proof.violation->place << ": " << proof.violation->message;
    ASSERT_TRUE(proof.not_proven.empty()) << proof.not_proven.front().message;
    if (through_file) {
      const std::string text = FormatAtenStep(step, graph(), cluster).Take();
      Result<DistributedStep> read = ReadAtenStep(text, graph(), cluster);
      ASSERT_TRUE(read.ok()) << read.error().ToString();
      EXPECT_EQ(read.value().origin, step.origin);
      step = read.Take();
    }
    auto created =
        Executor::Create(step.graph, step.placement, SimulatedDevices(cluster.device_count()));
    ASSERT_TRUE(created.ok()) << created.error().ToString();
    Executor& executor = *created.value();
    std::map<TensorId, std::pair<at::Tensor, at::Tensor>> of_whole;  // before, after
    for (size_t i = 0; i < inputs_.size(); ++i) {
      of_whole[inputs_[i].first] = {inputs_[i].second, after_[i]};
    }
    for (const DistributedStep::InputPiece& input : step.inputs) {
      const Status set =
          executor.SetInput(input.piece, PartOf(of_whole[input.original].first, input.box));
      ASSERT_TRUE(set.ok()) << set.error().ToString();
    }
    at::manual_seed(kSeed);
    for (int i = 0; i < steps_; ++i) {
      const Status ran = executor.Step();
      ASSERT_TRUE(ran.ok()) << ran.error().ToString();
    }
    ExpectEqual(executor.Output(0), loss_, "the loss");
    for (const DistributedStep::InputPiece& input : step.inputs) {
      const at::Tensor found = executor.Input(input.piece);
      const at::Tensor& after = of_whole[input.original].second;
      if (!found.defined() || !after.defined()) continue;
      ExpectEqual(found, PartOf(after, input.box), graph().tensor(input.original).name);
      if (HasFatalFailure()) return;
    }
  }

  int64_t batch_ = 5;
  bool has_host_ = false;    // a CPU beside the devices
  int64_t all_to_alls_ = 0;  // members in the steps that were run
  int steps_ = kSteps;
  double tolerance_ = kTolerance;
  double largest_gradient_ = 1;
  std::map<std::string, double> noise_;                      // by tensor
  const caffe2::TypeMeta usual_ = c10::get_default_dtype();  // before Prepare changes it
  const Graph* graph_ = nullptr;
  const NamedAxes* axes_ = nullptr;
  std::vector<std::pair<TensorId, at::Tensor>> inputs_;
  std::vector<at::Tensor> after_;
  at::Tensor loss_;
};

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

size_t CountOf(const Graph& graph, std::string_view type) {
  size_t count = 0;
  for (const OpId op : graph.ops()) count += graph.op(op).type == type ? 1 : 0;
  return count;
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

// The step in micro-batches is the step, on one device and by layouts.
class ExecutedMicroBatches : public ExecutedLayouts {
 protected:
  void SetUp() override {
    batch_ = 12;
    Prepare(true);
  }

  // From here on the step is the one in micro-batches; what is expected stays what the whole batch gives.
  void CutBatch(int64_t micro_batches) {
    Rewrite({.micro_batches = micro_batches});
    if (HasFatalFailure()) return;
    ASSERT_EQ(cut_axes_->axis(cut_axes_->batch()).size, batch_ / micro_batches);
    const check::MaybeViolation wrong = check::CheckMicroBatches(original(), *cut_, micro_batches);
    ASSERT_FALSE(wrong) << wrong->place << ": " << wrong->message;
  }
  void Rewrite(const Rewriting& rewriting) {
    Result<std::unique_ptr<Graph>> made = ApplyTransforms(original(), TransformsFor(rewriting));
    ASSERT_TRUE(made.ok()) << made.error().ToString();
    cut_ = made.Take();
    cut_axes_ = std::make_unique<NamedAxes>(*cut_);
    graph_ = cut_.get();
    axes_ = cut_axes_.get();
    inputs_ = InputsOf(*cut_);
  }
  const Graph& original() const { return *WholeStepOf(GetParam(), batch_, true).graph; }

  // What the original step is given.
  std::vector<std::pair<TensorId, at::Tensor>> InputsOf(const Graph& step) const {
    std::vector<std::pair<TensorId, at::Tensor>> inputs =
        WholeStepOf(GetParam(), batch_, true).inputs;
    for (auto& [id, tensor] : inputs) id = step.FindTensor(original().tensor(id).name);
    return inputs;
  }

  static Cluster EqualDevices(int64_t count) {
    ClusterBuilder builder("equal");
    DeviceKind model{.name = "K", .memory = Bytes(int64_t{1} << 40)};
    model.peak.f32 = model.peak.f64 = 1e12;
    model.memory_bandwidth = BytesPerSecond(int64_t{1} << 36);
    const int32_t kind = builder.AddKind(model).Take();
    for (int64_t i = 0; i < count; ++i) {
      (void)builder
          .AddDevice(
              {.name = "d" + std::to_string(i), .kind = kind, .capacity = Bytes(int64_t{1} << 40)})
          .Take();
    }
    return std::move(builder).Build().Take();
  }

  std::unique_ptr<Graph> cut_;
  std::unique_ptr<NamedAxes> cut_axes_;
};

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
    const Result<StepPlan> plan = LayOutOnMesh(*problem, strategy);
    ASSERT_TRUE(plan.ok()) << plan.error().ToString();
    RunLayouts(plan.value().layouts, 2);
    if (HasFatalFailure()) return;
  }
}

// Steps rewritten and laid out by chance: micro-batches, what is computed again, the order of ops, when parameters are
// fetched, boxes. One step each.
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
    const std::string& model = GetParam().model;
    // Batch norms are those of micro-batches; a loss of how tokens are spread over experts couples all samples.
    const bool may_cut =
        model != "resnet-50" && model != "moe-transformer" && model != "mixtral-8x7b";
    Rewriting asked;
    if (may_cut) asked.micro_batches = 1 + static_cast<int64_t>(random.Below(4));
    if (random.Below(2) == 0) asked.recompute = RandomModules(random, original());
    const bool shuffled = random.Below(2) == 0;
    const size_t devices = 3 + random.Below(4);
    CompileOptions options;
    options.collectives = random.Below(4) > 0;
    if (random.Below(2) == 0) options.switches.regather = {"*"};
    if (random.Below(2) == 0) options.switches.prefetch = static_cast<int32_t>(random.Below(3));
    SCOPED_TRACE(testing::Message()
                 << "seed " << seed << ": " << asked.micro_batches << " micro-batches, again "
                 << testing::PrintToString(asked.recompute) << (shuffled ? ", shuffled" : "")
                 << ", over " << devices << " devices");
    Result<std::unique_ptr<Graph>> made = ApplyTransforms(original(), TransformsFor(asked));
    ASSERT_TRUE(made.ok()) << made.error().ToString();
    cut_ = made.Take();
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
};

TEST_P(ExecutedDraws, AreTheStep) {
  const Draws draws = DrawsOr(8);
  for (int i = draws.from; i < draws.to && !HasFailure(); ++i) Draw(static_cast<uint64_t>(i));
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

// So many layers in as many chunks as are asked for, each of at least one.
std::vector<int64_t> DrawStageLayers(Random& random, int64_t layers, int64_t chunks) {
  std::vector<int64_t> of_chunk(static_cast<size_t>(chunks), 1);
  for (int64_t i = chunks; i < layers; ++i) {
    ++of_chunk[random.Below(static_cast<uint64_t>(chunks))];
  }
  return of_chunk;
}

// Stages of a pipeline on one or two devices each, under every schedule, are the step: whatever the micro-batches, the
// layers of each stage, what is computed again, and weights that two stages read.
class ExecutedPipelines : public ExecutedMicroBatches {};

TEST_P(ExecutedPipelines, GiveTheStep) {
  const auto layers = static_cast<int64_t>(LayersOf(original()).names.size());
  ASSERT_GE(layers, 2);
  const Draws draws = DrawsOr(5);
  for (int i = draws.from; i < draws.to && !HasFailure(); ++i) {
    Random random(static_cast<uint64_t>(i));
    const std::string schedule(kPipelineSchedules[static_cast<size_t>(i) % 4]);
    const bool interleaved = schedule == "interleaved";
    Rewriting asked{.schedule = schedule, .chunks = interleaved ? 2 : 1};
    if (interleaved && layers < 4) asked.schedule = "1f1b", asked.chunks = 1;
    asked.stages =
        2 + static_cast<int64_t>(random.Below(static_cast<uint64_t>(layers / asked.chunks) - 1));
    asked.stages = std::min<int64_t>(asked.stages, 4);
    const std::vector<int64_t> numbers = {1, 2, 3, 4, 6};
    asked.micro_batches = asked.chunks > 1 ? (asked.stages == 2 ? 4 : asked.stages)
                                           : numbers[random.Below(numbers.size())];
    if (random.Below(3) == 0) asked.recompute = {"full"};
    if (random.Below(2) == 0) {
      asked.layers = DrawStageLayers(random, layers, asked.stages * asked.chunks);
    }
    const int64_t of_stage = 1 + static_cast<int64_t>(random.Below(2));
    SCOPED_TRACE(testing::Message()
                 << asked.schedule << ", " << asked.stages << " stages of " << of_stage
                 << " devices, " << asked.micro_batches << " micro-batches, layers "
                 << testing::PrintToString(asked.layers)
                 << (asked.recompute.empty() ? "" : ", recomputed"));
    Rewrite(asked);
    if (HasFatalFailure()) return;
    if (asked.micro_batches > 1 && asked.recompute.empty()) {
      const auto wrong = check::CheckMicroBatches(original(), *cut_, asked.micro_batches);
      ASSERT_FALSE(wrong) << wrong->place << ": " << wrong->message;
    }
    const Cluster cluster = EqualDevices(asked.stages * of_stage);
    const auto problem =
        LayoutProblem::Make(graph(), cluster, {}, SchedulingPolicy::kProgram).Take();
    const Result<StepPlan> plan = LayOutPipeline(*problem, asked.schedule);
    ASSERT_TRUE(plan.ok()) << plan.error().ToString();
    RunLayouts(plan.value().layouts, cluster.device_count(), {}, /*through_file=*/i % 2 == 0);
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

// Products, convolutions with batch norms, LSTMs, attention, experts; both optimizers.
std::vector<TinyModel> Models() {
  const std::set<std::string> names = {"bert-base", "bert-small", "gnmt-2",
                                       "gpt-2",     "mlp",        "moe-transformer",
                                       "resnet-50", "rnnlm-2",    "transformer-xl-2"};
  std::vector<TinyModel> models;
  for (const TinyModel& model : TinyModels()) {
    const bool trained = model.training != Training::kNone;
    if (model.precision == CapturePrecision::kAsIs && trained && names.contains(model.model)) {
      models.push_back(model);
    }
  }
  return models;
}

std::vector<TinyModel> ModelsOfSgd() {
  std::vector<TinyModel> models = Models();
  std::erase_if(models, [](const TinyModel& model) { return model.training != Training::kSgd; });
  return models;
}

// Batch norms are those of micro-batches; a loss of how tokens are spread over experts couples all samples.
std::vector<TinyModel> ModelsOfMicroBatches() {
  std::vector<TinyModel> models = Models();
  std::erase_if(models, [](const TinyModel& model) {
    return std::string(model.model) == "resnet-50" || std::string(model.model) == "moe-transformer";
  });
  return models;
}

std::vector<TinyModel> ModelsOfLayers() {
  std::vector<TinyModel> models = ModelsOfMicroBatches();
  std::erase_if(models, [](const TinyModel& model) {
    return std::string(model.model) == "mlp" || std::string(model.model) == "rnnlm-2";
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
// in one weight and as modules.
std::vector<TinyModel> DrawnModels() {
  std::vector<TinyModel> models = RecomputedModels();
  for (const TinyModel& model : TinyModels()) {
    const bool recorded =
        model.precision == CapturePrecision::kAsIs && model.training == Training::kAdam;
    if (recorded && std::string(model.model) == "moe-transformer") models.push_back(model);
  }
  std::erase_if(models, [](const TinyModel& model) {
    return std::string(model.model) == "mlp" && model.training == Training::kSgd;
  });
  return models;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedDraws, ::testing::ValuesIn(DrawnModels()),
                         [](const auto& test) { return NameOf(test.param); });
INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedMicroBatches, ::testing::ValuesIn(ModelsOfMicroBatches()),
                         [](const auto& test) { return NameOf(test.param); });
INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedPipelines, ::testing::ValuesIn(ModelsOfLayers()),
                         [](const auto& test) { return NameOf(test.param); });
INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedMicroBatchNorms, ::testing::ValuesIn(BatchNormsOfSgd()),
                         [](const auto& test) { return NameOf(test.param); });
INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedLayoutsInFloat, ::testing::ValuesIn(ModelsOfSgd()),
                         [](const auto& test) { return NameOf(test.param); });
INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedLayouts, ::testing::ValuesIn(Models()),
                         [](const auto& test) { return NameOf(test.param); });

}  // namespace
}  // namespace placewright
