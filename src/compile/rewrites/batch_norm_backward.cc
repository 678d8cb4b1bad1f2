#include <utility>

#include "compile/rewrites/batch_norm.h"
#include "compile/rewrites/norm_in_parts.h"

namespace placewright {
namespace {

class BatchNormGradients : NormInParts {
 public:
  BatchNormGradients(Emitter& emitter, const OpInParts& op, const BatchNormCall& call)
      : NormInParts(emitter, op, call), sums_(DTypeOf(call.save_mean)) {
    // Of the gradients of weight and bias, which these sums are: recordings may have narrower statistics.
    for (const TensorId output : op.graph.op(op.op).outputs) {
      const Tensor& tensor = op.graph.tensor(output);
      if (tensor.output_index > 0) sums_ = tensor.dtype;
    }
  }

  MadeInParts Emit(bool collectives) {
    std::vector<Piece> sums;
    for (PartWriter& ops : parts_) sums.push_back({ops.device(), OwnSums(ops)});
    const std::vector<TensorId> all = SumOnAll(emitter_, sums, collectives);
    std::vector<Outputs> outputs;
    for (size_t part = 0; part < parts_.size(); ++part) {
      PartWriter& ops = parts_[part];
      Outputs made = NoOutputs();
      const TensorId weight = ops.Slice(all[part], 0, channels_);
      const TensorId bias = ops.Slice(all[part], channels_, 2 * channels_);
      Set(made, 1, weight);
      Set(made, 2, bias);
      if (Wants(0)) {
        const TensorId grad = GradOfX(ops, weight, bias);
        Set(made, 0, grad);
      }
      outputs.push_back(std::move(made));
    }
    return outputs;
  }

 private:
  // [sum of grad xhat, sum of grad] over the part: the op itself, asked for the other gradients.
  TensorId OwnSums(PartWriter& ops) {
    PlainOp call{.type = "aten.native_batch_norm_backward.default", .kernel = true};
    AddTensors({ops.Read(call_.grad), ops.Read(call_.x), ops.Read(call_.weight),
                ops.Read(call_.running_mean), ops.Read(call_.running_var),
                ops.Read(call_.save_mean), ops.Read(call_.save_invstd)},
               call);
    call.args.push_back(Value(true));
    call.args.push_back(Value(call_.eps));
    call.args.push_back(Value(Value::List{Value(false), Value(true), Value(true)}));
    const OutputSpec weight{.dtype = sums_, .shape = {channels_}, .output_index = 1};
    const OutputSpec bias{.dtype = sums_, .shape = {channels_}, .output_index = 2};
    const Outputs sums = ops.AddAll(std::move(call), {weight, bias}, /*main=*/true);
    return ops.Join(sums);
  }

  // Per channel: slope of grad, slope of x - mean (times -count), and what is added.
  struct Line {
    TensorId of_grad, of_x, constant;
  };
  Line LineOf(PartWriter& ops, TensorId grad_weight, TensorId grad_bias) {
    const auto product = [&](TensorId a, TensorId b) {
      return ops.Add({"aten.mul.Tensor", {a, b}}, {channels_}, sums_);
    };
    Line line;
    const TensorId invstd = ops.Cast(ops.Read(call_.save_invstd), sums_);
    const TensorId weight = ops.Read(call_.weight);
    line.of_grad = invstd;
    if (weight.valid()) {
      line.of_grad = product(invstd, weight);
    }
    const TensorId scaled = product(invstd, grad_weight);
    line.of_x = product(line.of_grad, scaled);
    const TensorId shift = product(line.of_grad, grad_bias);
    line.constant = ops.Add({"aten.mul.Scalar",
                             {shift},
                             {Value(InputRef{0}), Value(-1 / static_cast<double>(count_))},
                             {}},
                            {channels_}, sums_);
    for (TensorId* const vector : {&line.of_grad, &line.of_x, &line.constant}) {
      *vector = ops.PerChannel(*vector, rank_);
    }
    return line;
  }

  TensorId GradOfX(PartWriter& ops, TensorId grad_weight, TensorId grad_bias) {
    const Line line = LineOf(ops, grad_weight, grad_bias);
    const TensorId x = ops.Read(call_.x);
    const std::vector<int64_t> shape = ops.shape(x);
    const DType stated = ops.dtype(x);
    const TensorId saved = ops.Cast(ops.Read(call_.save_mean), sums_);
    const TensorId mean = ops.PerChannel(saved, rank_);
    const TensorId away = ops.Add({"aten.sub.Tensor", {x, mean}}, shape, sums_);
    const TensorId rest = ops.Add({"aten.addcmul.default",
                                   {line.constant, away, line.of_x},
                                   {},
                                   {{"value", Value(-1 / static_cast<double>(count_))}}},
                                  shape, sums_);
    const TensorId grad = ops.Add({.type = "aten.addcmul.default",
                                   .inputs = {rest, ops.Read(call_.grad), line.of_grad},
                                   .kernel = true},
                                  shape, sums_);
    return ops.Cast(grad, stated);
  }

  DType sums_;
};

}  // namespace

MadeInParts EmitBatchNormBackward(Emitter& emitter, const OpInParts& op, const BatchNormCall& call,
                                  bool collectives) {
  return BatchNormGradients(emitter, op, call).Emit(collectives);
}

}  // namespace placewright
