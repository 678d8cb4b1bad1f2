#include "compile/rewrites/batch_norm.h"

#include <utility>

#include "compile/rewrites/norm_in_parts.h"

namespace placewright {
namespace {

class BatchNormForward : NormInParts {
 public:
  BatchNormForward(Emitter& emitter, const OpInParts& op, const BatchNormCall& call)
      : NormInParts(emitter, op, call), sums_(DTypeOfSums(DTypeOf(call.x))) {
    const Op& original = op.graph.op(op.op);
    statistics_ = DTypeOf(call.x);
    for (const TensorId output : original.outputs) {
      const Tensor& tensor = op.graph.tensor(output);
      if (tensor.output_index > 0) statistics_ = tensor.dtype;
    }
    if (DTypeOfSums(statistics_) == statistics_) sums_ = statistics_;
  }

  MadeInParts Emit(bool collectives) {
    std::vector<Piece> rows;
    for (size_t part = 0; part < parts_.size(); ++part) {
      rows.push_back({parts_[part].device(), OwnStatistics(part)});
    }
    const AxisPlace place = {0, 1, static_cast<int64_t>(rows.size()), 2 * channels_ + 1};
    const std::vector<TensorId> all = JoinOnAll(emitter_, rows, place, collectives);
    std::vector<Outputs> outputs;
    for (size_t part = 0; part < parts_.size(); ++part) {
      const Statistics whole = Combine(parts_[part], all[part]);
      Update(parts_[part], whole);
      Outputs made = Normalise(parts_[part], whole);
      outputs.push_back(std::move(made));
    }
    return outputs;
  }

 private:
  struct Statistics {
    TensorId mean, variance;  // [c], in the type of sums
  };

  // [mean, variance, share of the elements] of a part.
  TensorId OwnStatistics(size_t part) {
    PartWriter& ops = parts_[part];
    const TensorId x = ops.Cast(ops.Read(call_.x), sums_);
    const OutputSpec vector{.dtype = sums_, .shape = {channels_}};
    const Outputs own = ops.AddAll({"aten.batch_norm_update_stats.default",
                                    {x},
                                    {Value(InputRef{0}), Value(), Value(), Value(0.0)},
                                    {},
                                    AliasKind::kFresh,
                                    /*kernel=*/true},
                                   {vector, vector});
    const double share = static_cast<double>(counts_[part]) / static_cast<double>(count_);
    const TensorId weight = ops.Add({"aten.new_full.default",
                                     {own[0]},
                                     {Value(InputRef{0}), IntegerList({1}), Value(share)},
                                     {},
                                     AliasKind::kFresh,
                                     /*kernel=*/true},
                                    {1}, sums_);
    return ops.Join({own[0], own[1], weight});
  }

  // Of [parts * (2 c + 1)]: a row of each part.
  Statistics Combine(PartWriter& ops, TensorId all) {
    const int64_t parts = static_cast<int64_t>(parts_.size());
    const std::vector<int64_t> matrix = {parts, 2 * channels_ + 1};
    const TensorId rows = ops.Add({"aten.view.default",
                                   {all},
                                   {Value(InputRef{0}), IntegerList(matrix)},
                                   {},
                                   AliasKind::kView},
                                  matrix, sums_);
    const TensorId means = ops.Slice(rows, 0, channels_);
    const TensorId variances = ops.Slice(rows, channels_, 2 * channels_);
    const TensorId shares = ops.Add({"aten.select.int",
                                     {rows},
                                     {Value(InputRef{0}), Value(int64_t{1}), Value(2 * channels_)},
                                     {},
                                     AliasKind::kView},
                                    {parts}, sums_);
    const TensorId first = ops.Add({"aten.select.int",
                                    {means},
                                    {Value(InputRef{0}), Value(int64_t{0}), Value(int64_t{0})},
                                    {},
                                    AliasKind::kView},
                                   {channels_}, sums_);
    Statistics whole;
    const TensorId apart = Away(ops, means, first);
    const TensorId steps = Transposed(ops, apart);
    whole.mean =
        ops.Add({.type = "aten.addmv.default", .inputs = {first, steps, shares}, .kernel = true},
                {channels_}, sums_);
    const TensorId away = Away(ops, means, whole.mean);
    const TensorId squares =
        ops.Add({"aten.addcmul.default", {variances, away, away}}, {parts, channels_}, sums_);
    const TensorId columns = Transposed(ops, squares);
    whole.variance = ops.Add({"aten.mv.default", {columns, shares}}, {channels_}, sums_);
    return whole;
  }

  // Of every row of [parts c].
  TensorId Away(PartWriter& ops, TensorId rows, TensorId from) {
    const int64_t parts = static_cast<int64_t>(parts_.size());
    return ops.Add({"aten.sub.Tensor", {rows, from}}, {parts, channels_}, sums_);
  }

  TensorId Transposed(PartWriter& ops, TensorId rows) {
    const std::vector<int64_t> shape = {channels_, static_cast<int64_t>(parts_.size())};
    return ops.Add({"aten.t.default", {rows}, {}, {}, AliasKind::kView}, shape, sums_);
  }

  void Update(PartWriter& ops, const Statistics& whole) const {
    const auto follow = [&](TensorId running, TensorId value) -> void {
      const TensorId end = ops.Cast(value, ops.dtype(running));
      ops.Write({"aten.lerp_.Scalar",
                 {running, end},
                 {Value(InputRef{0}), Value(InputRef{1}), Value(call_.momentum)},
                 {}});
    };
    if (call_.running_mean >= 0) {
      follow(ops.Read(call_.running_mean), whole.mean);
    }
    if (call_.running_var < 0) return;
    const double unbiased = static_cast<double>(count_) / static_cast<double>(count_ - 1);
    const TensorId variance =
        ops.Add({"aten.mul.Scalar", {whole.variance}, {Value(InputRef{0}), Value(unbiased)}, {}},
                {channels_}, sums_);
    return follow(ops.Read(call_.running_var), variance);
  }

  Outputs Normalise(PartWriter& ops, const Statistics& whole) const {
    Outputs outputs = NoOutputs();
    const TensorId mean = ops.Cast(whole.mean, statistics_);
    Set(outputs, 1, mean);
    if (Wants(2)) {
      const TensorId shifted =
          ops.Add({"aten.add.Scalar", {whole.variance}, {Value(InputRef{0}), Value(call_.eps)}, {}},
                  {channels_}, sums_);
      const TensorId exact = ops.Add({"aten.rsqrt.default", {shifted}}, {channels_}, sums_);
      const TensorId invstd = ops.Cast(exact, statistics_);
      Set(outputs, 2, invstd);
    }
    if (!Wants(0)) return outputs;
    const TensorId variance = ops.Cast(whole.variance, statistics_);
    PlainOp call{.type = "aten.native_batch_norm.default", .kernel = true};
    AddTensors({ops.Read(call_.x), ops.Read(call_.weight), ops.Read(call_.bias), mean, variance},
               call);
    call.args.push_back(Value(false));
    call.args.push_back(Value(0.0));
    call.args.push_back(Value(call_.eps));
    const TensorId x = ops.Read(call_.x);
    const OutputSpec y{.dtype = ops.dtype(x), .shape = ops.shape(x), .output_index = 0};
    const Outputs made = ops.AddAll(std::move(call), {y}, /*main=*/true);
    Set(outputs, 0, made.front());
    return outputs;
  }

  DType sums_, statistics_;
};

}  // namespace

MadeInParts EmitBatchNorm(Emitter& emitter, const OpInParts& op, const BatchNormCall& call,
                          bool collectives) {
  return BatchNormForward(emitter, op, call).Emit(collectives);
}

}  // namespace placewright
