// What tests of executed steps share: steps of the zoo's small models, what they do on one device, and how a distributed
// step is run over simulated devices, held to that and proven by the checker.
#ifndef PLACEWRIGHT_TESTS_COMPILE_EXECUTED_STEPS_H_
#define PLACEWRIGHT_TESTS_COMPILE_EXECUTED_STEPS_H_

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
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
#include "compile/compiler.h"
#include "compile/drawn_layouts.h"
#include "formats/aten/reader.h"
#include "formats/aten/writer.h"
#include "runtime/executor/executor.h"
#include "runtime/inputs/piece_values.h"
#include "runtime/inputs/seeded_inputs.h"
#include "transforms/counter_draws.h"

namespace placewright {

inline constexpr double kTolerance = 1e-9;  // of the largest magnitude
inline constexpr double kFloatTolerance = 1e-5;
inline constexpr double kNoiseFactor =
    64;  // of what one rounding of the parameters comes to; sums round more often
inline constexpr double kNoise = 1e-9;  // of a step whose parameters are of the order of 1
// Three steps; two of a network of batch norms, of which every step multiplies the rounding of the one before
// by 20 to 60 (one last bit of the parameters is 4e-10 of a momentum after three).
inline constexpr int kSteps = 3, kNormSteps = 2;
inline constexpr uint64_t kSeed = 5;

inline int LayoutsOfEach() {
  const char* const stated = std::getenv("PLACEWRIGHT_LAYOUTS");
  return stated == nullptr ? 2 : std::atoi(stated);
}

// Draws of the tests of whole steps: these, each by a seed of its own, so that a long run can be made in pieces.
struct Draws {
  int from = 0, to = 0;
};
inline Draws DrawsOr(int count) {
  const char* const from = std::getenv("PLACEWRIGHT_DRAWS_FROM");
  const char* const to = std::getenv("PLACEWRIGHT_DRAWS_TO");
  return {from == nullptr ? 0 : std::atoi(from), to == nullptr ? count : std::atoi(to)};
}

// Up to three modules of the forward pass, at any depth.
inline std::vector<std::string> RandomModules(Random& random, const Graph& step) {
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
inline std::vector<OpId> RandomOrder(Random& random, const Graph& step) {
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

inline size_t CountOf(const Graph& graph, std::string_view type) {
  size_t count = 0;
  for (const OpId op : graph.ops()) count += graph.op(op).type == type ? 1 : 0;
  return count;
}

inline std::vector<std::unique_ptr<RuntimeDevice>> SimulatedDevices(size_t count) {
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
inline WholeStep& WholeStepOf(const TinyModel& model, int64_t batch, bool wide) {
  static std::map<std::string, WholeStep> of_models;
  std::string key = NameOf(model) + (wide ? " in float64" : "");
  for (const auto& [name, value] : model.values) key += " " + name + "=" + std::to_string(value);
  return of_models[key + " of " + std::to_string(batch)];
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
    // Enough places in an image that the statistics of a batch norm are well conditioned: more of them in float32.
    if (request.values.contains("width")) {
      request.values["size"] = std::max(request.values["size"], wide ? 96.0 : 128.0);
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

// Batch norms are those of micro-batches; a loss of how tokens are spread over experts couples all samples.
inline bool MayBeCut(const TinyModel& model) {
  const std::string name = model.model;
  const auto balance = model.values.find("balance");
  const bool is_balanced = balance == model.values.end() || balance->second > 0;
  return name != "resnet-50" && name != "mixtral-8x7b" &&
         (name != "moe-transformer" || !is_balanced);
}

// Products, convolutions with batch norms, LSTMs, attention, experts; both optimizers.
inline std::vector<TinyModel> Models() {
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

inline std::vector<TinyModel> ModelsOfSgd() {
  std::vector<TinyModel> models = Models();
  std::erase_if(models, [](const TinyModel& model) { return model.training != Training::kSgd; });
  return models;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_COMPILE_EXECUTED_STEPS_H_
