// A batch norm in training and its backward, in three uneven parts of the batch: values, gradients and running
// statistics of the whole, in every type of numbers and form.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aten/dtype_names.h"
#include "cluster/cluster_builder.h"
#include "compile/compiler.h"
#include "graph/graph_builder.h"
#include "runtime/executor/executor.h"

namespace placewright {
namespace {

struct NormCase {
  std::string name;
  std::vector<int64_t> shape;
  DType dtype = DType::kF64;       // of x
  DType statistics = DType::kF64;  // of weights and statistics
  bool affine = true, running = true;
  double mean = 0;           // of x, whose deviation is 1
  double tolerance = 1e-12;  // of each tensor's largest magnitude, or of 1
  bool statistics_are_outputs = true;
};

// y, statistics and gradients of a batch norm, as a step.
class NormGraph {
 public:
  explicit NormGraph(const NormCase& one) : one_(one), builder_("norm", "aten") {
    builder_.set_batch(one.shape[0]);
    const int64_t channels = one.shape[1];
    x_ = Input("input:x", TensorKind::kInput, one.dtype, one.shape);
    grad_ = Input("input:g", TensorKind::kInput, one.dtype, one.shape);
    if (one.affine) {
      weight_ = Input("param:w", TensorKind::kParameter, one.statistics, {channels});
      bias_ = Input("param:b", TensorKind::kParameter, one.statistics, {channels});
    }
    if (one.running) {
      mean_ = Input("buffer:m", TensorKind::kBuffer, one.statistics, {channels});
      var_ = Input("buffer:v", TensorKind::kBuffer, one.statistics, {channels});
    }
    const OutputSpec whole{.dtype = one.dtype, .shape = one.shape};
    const OutputSpec vector{.dtype = one.statistics, .shape = {channels}};
    const std::vector<TensorId> made =
        Call("bn", "aten.native_batch_norm.default", {x_, weight_, bias_, mean_, var_},
             {Value(true), Value(0.3), Value(1e-5)}, {whole, vector, vector}, one.running);
    const std::vector<TensorId> grads =
        Call("back", "aten.native_batch_norm_backward.default",
             {grad_, x_, weight_, mean_, var_, made[1], made[2]},
             {Value(true), Value(1e-5), Value(Value::List{Value(true), Value(true), Value(true)})},
             {whole, vector, vector}, false);
    if (one.statistics_are_outputs) {
      builder_.SetOutputs({made[0], made[1], made[2], grads[0], grads[1], grads[2]});
    } else {
      builder_.SetOutputs({made[0], grads[0], grads[1], grads[2]});
    }
  }
  Graph Build() && { return std::move(builder_).Build().Take(); }

 private:
  TensorId Input(const char* name, TensorKind kind, DType dtype, std::vector<int64_t> shape) {
    return builder_.AddInput(name, kind, dtype, std::move(shape)).Take();
  }
  std::vector<TensorId> Call(const char* name, const char* type,
                             const std::vector<TensorId>& tensors, std::vector<Value> others,
                             std::vector<OutputSpec> outputs, bool writes) {
    OpSpec op{.name = name, .type = type};
    for (const TensorId tensor : tensors) {
      if (writes && (tensor == mean_ || tensor == var_)) {
        op.writes.push_back(static_cast<int32_t>(op.inputs.size()));
      }
      op.args.push_back(tensor.valid() ? Value(InputRef{static_cast<int32_t>(op.inputs.size())})
                                       : Value());
      if (tensor.valid()) op.inputs.push_back(tensor);
    }
    op.args.insert(op.args.end(), others.begin(), others.end());
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i].name = std::string(name) + ":" + std::to_string(i);
    }
    op.outputs = std::move(outputs);
    return builder_.AddOp(std::move(op)).Take();
  }

  const NormCase& one_;
  GraphBuilder builder_;
  TensorId x_, grad_, weight_, bias_, mean_, var_;
};

std::vector<std::unique_ptr<RuntimeDevice>> NormDevices(size_t count) {
  std::vector<std::unique_ptr<RuntimeDevice>> devices;
  for (size_t i = 0; i < count; ++i) {
    devices.push_back(MakeSimulatedDevice({"d" + std::to_string(i), 1, 0}));
  }
  return devices;
}

Cluster NormCluster() {
  ClusterBuilder builder("devices");
  const int32_t kind = builder.AddKind({.name = "K", .memory = Bytes(int64_t{1} << 30)}).Take();
  for (const char* name : {"d0", "d1", "d2"}) {
    (void)builder.AddDevice({.name = name, .kind = kind, .capacity = Bytes(int64_t{1} << 30)})
        .Take();
  }
  return std::move(builder).Build().Take();
}

// The step on one device and in parts, with the same values.
struct NormRun {
  NormRun(const NormCase& one, const CompileOptions& options) : graph(NormGraph(one).Build()) {
    at::set_num_threads(1);
    at::manual_seed(1);
    for (const TensorId id : graph.tensors()) {
      const Tensor& tensor = graph.tensor(id);
      if (tensor.producer.valid()) continue;
      at::Tensor value = at::randn(tensor.shape, at::kDouble);
      if (tensor.name == "input:x") value += one.mean;
      if (tensor.name == "buffer:v") value = value.abs();
      inputs[id] = value.to(*ScalarTypeOf(tensor.dtype));
    }
    const Placement together(graph.op_count(), DeviceId(0));
    whole = Executor::Create(graph, together, NormDevices(1)).Take();
    for (const auto& [id, tensor] : inputs) EXPECT_TRUE(whole->SetInput(id, tensor).ok());
    EXPECT_TRUE(whole->Step().ok());
    const NamedAxes axes(graph);
    Layouts layouts;
    layouts.layouts.push_back(SplitOver(axes.Find("input:x[0]"),
                                        {DeviceId(0), DeviceId(1), DeviceId(2)},
                                        {kEnds[0], kEnds[1] - kEnds[0], one.shape[0] - kEnds[1]}));
    layouts.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0));
    step = std::make_unique<DistributedStep>(
        Compile(graph, axes, layouts, NormCluster(), options).Take());
    auto created = Executor::Create(step->graph, step->placement, NormDevices(3));
    EXPECT_TRUE(created.ok()) << created.error().ToString();
    parts = created.Take();
    for (const DistributedStep::InputPiece& input : step->inputs) {
      at::Tensor part = inputs[input.original];
      for (const auto& [place, interval] : input.box) {
        part = part.narrow(place.dimension, interval.from, interval.length());
      }
      EXPECT_TRUE(parts->SetInput(input.piece, part.contiguous()).ok());
    }
    const Status ran = parts->Step();
    EXPECT_TRUE(ran.ok()) << ran.error().ToString();
  }

  static constexpr int64_t kEnds[] = {2, 4};
  Graph graph;
  std::map<TensorId, at::Tensor> inputs;
  std::unique_ptr<DistributedStep> step;
  std::unique_ptr<Executor> whole, parts;
};

void ExpectNear(const at::Tensor& found, const at::Tensor& expected, double tolerance,
                const std::string& what) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  ASSERT_EQ(found.scalar_type(), expected.scalar_type()) << what;
  const at::Tensor a = found.to(at::kDouble), b = expected.to(at::kDouble);
  const double scale = std::max(b.abs().max().item<double>(), 1.0);
  EXPECT_LE((a - b).abs().max().item<double>(), tolerance * scale) << what;
}

class ExecutedBatchNorm : public ::testing::TestWithParam<NormCase> {};

TEST_P(ExecutedBatchNorm, UnevenPartsMakeTheWhole) {
  const NormCase& one = GetParam();
  CompileOptions options;
  options.collectives = false;
  const NormRun run(one, options);
  for (const OpId id : run.step->graph.ops()) {
    for (const TensorId output : run.step->graph.op(id).outputs) {
      ASSERT_NE(run.step->graph.tensor(output).shape, one.shape) << run.step->graph.op(id).name;
    }
  }
  for (size_t i = 0; i < 6; ++i) {
    const std::string what = "output " + std::to_string(i);
    const at::Tensor expected = run.whole->Output(i);
    std::vector<at::Tensor> pieces;
    for (size_t part = 0; part < 3; ++part) pieces.push_back(run.parts->Output(3 * i + part));
    if (i % 3 == 0) {
      ExpectNear(at::cat(pieces), expected, one.tolerance, what);
      continue;
    }
    for (const at::Tensor& piece : pieces) {
      ExpectNear(piece, expected, one.tolerance, what);
      EXPECT_TRUE(piece.equal(pieces[0])) << what << " is another one on each device";
    }
  }
  for (const DistributedStep::InputPiece& input : run.step->inputs) {
    const std::string& name = run.graph.tensor(input.original).name;
    if (!name.starts_with("buffer:")) continue;
    ExpectNear(run.parts->Input(input.piece), run.whole->Input(input.original), one.tolerance,
               name);
  }
}

// Statistics of each part: what it gives by itself.
TEST(ExecutedLocalBatchNorm, IsThatOfEachPart) {
  NormCase one{.name = "Local", .shape = {7, 3, 4}};
  one.statistics_are_outputs = false;
  CompileOptions options;
  options.collectives = false;
  options.switches.local_batch_norm = true;
  NormRun run(one, options);
  const auto input = [&](const char* name) { return run.inputs[run.graph.FindTensor(name)]; };
  at::Tensor grad_weight = at::zeros({3}, at::kDouble);
  const int64_t ends[] = {0, NormRun::kEnds[0], NormRun::kEnds[1], 7};
  for (size_t part = 0; part < 3; ++part) {
    const auto piece = [&](const char* name) {
      return input(name).narrow(0, ends[part], ends[part + 1] - ends[part]).contiguous();
    };
    at::Tensor mean = input("buffer:m").clone(), var = input("buffer:v").clone();
    const auto [y, saved, invstd] = at::native_batch_norm(
        piece("input:x"), input("param:w"), input("param:b"), mean, var, true, 0.3, 1e-5);
    const auto [of_x, of_weight, of_bias] =
        at::native_batch_norm_backward(piece("input:g"), piece("input:x"), input("param:w"), mean,
                                       var, saved, invstd, true, 1e-5, {true, true, true});
    ExpectNear(run.parts->Output(part), y, 1e-12, "y");
    ExpectNear(run.parts->Output(3 + part), of_x, 1e-12, "the gradient of x");
    grad_weight += of_weight;
    for (const DistributedStep::InputPiece& state : run.step->inputs) {
      if (run.graph.tensor(state.original).name != "buffer:m") continue;
      if (run.step->graph.tensor(state.piece).name.ends_with("@d" + std::to_string(part))) {
        ExpectNear(run.parts->Input(state.piece), mean, 1e-12, "the running mean");
      }
    }
  }
  ExpectNear(run.parts->Output(6), grad_weight, 1e-12, "the gradient of the weight");
}

INSTANTIATE_TEST_SUITE_P(
    Norms, ExecutedBatchNorm,
    ::testing::Values(NormCase{.name = "Images", .shape = {7, 3, 4, 5}},
                      NormCase{.name = "Vectors", .shape = {7, 3}},
                      NormCase{.name = "Signals", .shape = {7, 3, 2}},
                      NormCase{.name = "NoWeights", .shape = {7, 3, 4}, .affine = false},
                      NormCase{.name = "NoRunningStatistics", .shape = {7, 3, 4}, .running = false},
                      NormCase{.name = "OneChannel", .shape = {5, 1, 4, 5}},
                      // Far from 0: sums of squares would have lost all digits of the variance.
                      NormCase{.name = "FarFromZero",
                               .shape = {64, 3, 4, 5},
                               .dtype = DType::kF32,
                               .statistics = DType::kF32,
                               .mean = 1e4,
                               .tolerance = 5e-3},
                      NormCase{.name = "Single",
                               .shape = {7, 3, 4, 5},
                               .dtype = DType::kF32,
                               .statistics = DType::kF32,
                               .tolerance = 2e-6},
                      NormCase{.name = "Mixed",
                               .shape = {7, 3, 4, 5},
                               .dtype = DType::kBF16,
                               .statistics = DType::kF32,
                               .tolerance = 1e-2},
                      NormCase{.name = "Narrow",
                               .shape = {7, 3, 4, 5},
                               .dtype = DType::kBF16,
                               .statistics = DType::kBF16,
                               .tolerance = 2e-2}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace placewright
