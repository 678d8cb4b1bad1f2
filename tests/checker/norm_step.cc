#include "norm_step.h"

#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"

namespace placewright::tests {
namespace {

const std::vector<int64_t> kShape = {7, 4, 3}, kChannels = {4};

class NormStepBuilder {
 public:
  Graph Build() {
    const TensorId x = Input("input:x", TensorKind::kInput, kShape);
    const TensorId p = Input("param:p", TensorKind::kParameter, {3});
    const TensorId w = Input("param:w", TensorKind::kParameter, kChannels);
    const TensorId b = Input("param:b", TensorKind::kParameter, kChannels);
    const Running first = RunningOf("1"), second = RunningOf("2"), third = RunningOf("3");
    const TensorId scaled = Add("scaled", "aten.mul.Tensor", {x, p}, kShape);
    const auto y = Norm("bn1", scaled, w, b, first);
    const TensorId rectified = Add("relu", "aten.relu.default", {y[0]}, kShape);
    const auto side = Norm("bn3", scaled, TensorId(), TensorId(), third);
    const TensorId both = Add("both", "aten.add.Tensor", {rectified, side[0]}, kShape);
    const auto z = Norm("bn2", both, TensorId(), TensorId(), second);
    const TensorId squares = Add("squares", "aten.mul.Tensor", {z[0], z[0]}, kShape);
    const TensorId loss = Add("loss", "aten.sum.default", {squares}, {});
    phase_ = Phase::kBackward;
    const TensorId dz = Add("dz", "aten.mul.Scalar", {z[0]}, kShape, {Value(2.0)});
    const auto of_both = Back("back2", {dz, both, TensorId(), second, z});
    const TensorId dy = Add("dy", "aten.threshold_backward.default", {of_both[0], rectified},
                            kShape, {Value(int64_t{0})});
    const auto gradients = Back("back1", {dy, scaled, w, first, y});
    const auto of_side = Back("back3", {of_both[0], scaled, TensorId(), third, side});
    const TensorId ds = Add("ds", "aten.add.Tensor", {gradients[0], of_side[0]}, kShape);
    const TensorId products = Add("products", "aten.mul.Tensor", {ds, x}, kShape);
    const TensorId dp =
        Add("dp", "aten.sum.dim_IntList", {products}, {3},
            {Value(Value::List{Value(int64_t{0}), Value(int64_t{1})}), Value(false)});
    phase_ = Phase::kOptimizer;
    const TensorId decayed =
        Write("decay", "aten.mul_.Scalar", {gradients[1]}, kChannels, {Value(0.5)});
    Write("w1", "aten.sub_.Tensor", {w, decayed}, kChannels);
    Write("b1", "aten.sub_.Tensor", {b, gradients[2]}, kChannels);
    Write("p1", "aten.sub_.Tensor", {p, dp}, {3});
    builder_.SetOutputs({loss});
    return std::move(builder_).Build().Take();
  }

 private:
  struct Running {
    TensorId mean, variance;
  };
  struct BackwardInputs {
    TensorId grad, x, weight;
    Running running;
    std::vector<TensorId> results;  // of the norm
  };

  TensorId Input(const std::string& name, TensorKind kind, std::vector<int64_t> shape) {
    return builder_.AddInput(name, kind, DType::kF32, std::move(shape)).Take();
  }
  Running RunningOf(const std::string& number) {
    return {Input("buffer:m" + number, TensorKind::kBuffer, kChannels),
            Input("buffer:v" + number, TensorKind::kBuffer, kChannels)};
  }

  OpSpec Call(const char* name, const char* type, const std::vector<TensorId>& tensors,
              const std::vector<Value>& more) const {
    OpSpec op{.name = name, .type = type, .phase = phase_};
    for (const TensorId id : tensors) {
      const auto input = static_cast<int32_t>(op.inputs.size());
      op.args.push_back(id.valid() ? Value(InputRef{input}) : Value());
      if (id.valid()) op.inputs.push_back(id);
    }
    op.args.insert(op.args.end(), more.begin(), more.end());
    return op;
  }
  TensorId Add(const char* name, const char* type, const std::vector<TensorId>& tensors,
               std::vector<int64_t> shape, const std::vector<Value>& more = {}) {
    OpSpec op = Call(name, type, tensors, more);
    op.outputs = {{.name = name, .shape = std::move(shape)}};
    return builder_.AddOp(std::move(op)).Take()[0];
  }
  TensorId Write(const char* name, const char* type, const std::vector<TensorId>& tensors,
                 std::vector<int64_t> shape, const std::vector<Value>& more = {}) {
    OpSpec op = Call(name, type, tensors, more);
    op.outputs = {{.name = name, .shape = std::move(shape), .alias = AliasKind::kInPlace}};
    op.outputs[0].alias_of = 0;
    return builder_.AddOp(std::move(op)).Take()[0];
  }

  std::vector<TensorId> Norm(const char* name, TensorId x, TensorId weight, TensorId bias,
                             const Running& running) {
    OpSpec op = Call(name, "aten.native_batch_norm.default",
                     {x, weight, bias, running.mean, running.variance},
                     {Value(true), Value(0.1), Value(1e-5)});
    const auto inputs = static_cast<int32_t>(op.inputs.size());
    op.writes = {inputs - 2, inputs - 1};
    op.outputs = Results(name, 3);
    return builder_.AddOp(std::move(op)).Take();
  }
  std::vector<TensorId> Back(const char* name, const BackwardInputs& of) {
    const bool affine = of.weight.valid();
    OpSpec op = Call(
        name, "aten.native_batch_norm_backward.default",
        {of.grad, of.x, of.weight, of.running.mean, of.running.variance, of.results[1],
         of.results[2]},
        {Value(true), Value(1e-5), Value(Value::List{Value(true), Value(affine), Value(affine)})});
    op.outputs = Results(name, affine ? 3 : 1);
    return builder_.AddOp(std::move(op)).Take();
  }
  static std::vector<OutputSpec> Results(const std::string& name, int32_t count) {
    std::vector<OutputSpec> results;
    for (int32_t i = 0; i < count; ++i) {
      OutputSpec result{.name = name + ":" + std::to_string(i)};
      result.shape = i == 0 ? kShape : kChannels;
      result.output_index = i;
      results.push_back(std::move(result));
    }
    return results;
  }

  GraphBuilder builder_{"norms", "aten"};
  Phase phase_ = Phase::kForward;
};

}  // namespace

Graph NormStep() { return NormStepBuilder().Build(); }

}  // namespace placewright::tests
