#include "compile/rewrites/softmax.h"

#include <utility>

namespace placewright {
namespace {

class SoftmaxInParts {
 public:
  SoftmaxInParts(Emitter& emitter, const OpInParts& op, const SoftmaxCall& call)
      : emitter_(emitter), op_(op), call_(call) {
    const Tensor& made = op.graph.tensor(op.graph.op(op.op).outputs.front());
    made_ = made.dtype;
    const auto rank = static_cast<int64_t>(made.shape.size());
    dimension_ = call.dimension < 0 ? call.dimension + rank : call.dimension;
    sums_ = DTypeOfSums(emitter.dtype(op.read.front().front()));
    for (size_t part = 0; part < op.devices.size(); ++part) ops_.emplace_back(emitter, op, part);
  }

  MadeInParts Emit(bool collectives) {
    std::vector<Row> rows;
    for (PartWriter& ops : ops_) rows.push_back(call_.backward ? OwnSum(ops) : OwnLogSum(ops));
    std::vector<Piece> own;
    for (size_t part = 0; part < rows.size(); ++part) {
      own.push_back({ops_[part].device(), rows[part].over});
    }
    const AxisPlace place = {static_cast<int32_t>(dimension_), 1, static_cast<int64_t>(own.size()),
                             1};
    const std::vector<TensorId> all = call_.backward ? SumOnAll(emitter_, own, collectives)
                                                     : JoinOnAll(emitter_, own, place, collectives);
    MadeInParts made;
    for (size_t part = 0; part < rows.size(); ++part) {
      PartWriter& ops = ops_[part];
      const TensorId result = call_.backward ? Gradient(ops, rows[part], all[part])
                                             : Result(ops, rows[part], all[part]);
      made.push_back({result});
    }
    return made;
  }

 private:
  // What a part goes on with, and what it has of a number for each row.
  struct Row {
    TensorId x, y, over;
  };

  TensorId Read(PartWriter& ops, int32_t input) const { return ops.Cast(ops.Read(input), sums_); }
  std::vector<int64_t> OneOf(PartWriter& ops, TensorId x) const {
    std::vector<int64_t> shape = ops.shape(x);
    shape[static_cast<size_t>(dimension_)] = 1;
    return shape;
  }
  // Along the dimension, which stays with size 1.
  TensorId Reduce(PartWriter& ops, std::string type, TensorId x) const {
    std::vector<Value> args = {Value(InputRef{0}), IntegerList({dimension_}), Value(true)};
    return ops.Add({std::move(type), {x}, std::move(args), {}, AliasKind::kFresh, /*kernel=*/true},
                   OneOf(ops, x), sums_);
  }
  TensorId Each(PartWriter& ops, std::string type, std::vector<TensorId> of, bool kernel = false,
                std::vector<NamedValue> attributes = {}) const {
    std::vector<int64_t> shape = ops.shape(of.front());
    return ops.Add({.type = std::move(type),
                    .inputs = std::move(of),
                    .attributes = std::move(attributes),
                    .kernel = kernel},
                   std::move(shape), sums_);
  }

  Row OwnLogSum(PartWriter& ops) const {
    Row row;
    row.x = Read(ops, 0);
    row.over = Reduce(ops, "aten.logsumexp.default", row.x);
    return row;
  }
  TensorId Result(PartWriter& ops, const Row& row, TensorId all) const {
    const TensorId whole = Reduce(ops, "aten.logsumexp.default", all);
    TensorId y = Each(ops, "aten.sub.Tensor", {row.x, whole}, /*kernel=*/true);
    if (!call_.logarithm) y = Each(ops, "aten.exp.default", {y});
    return ops.Cast(y, made_);
  }

  Row OwnSum(PartWriter& ops) const {
    Row row;
    row.x = Read(ops, 0);
    row.y = Read(ops, 1);
    const TensorId summed = call_.logarithm ? row.x : Each(ops, "aten.mul.Tensor", {row.x, row.y});
    row.over = Reduce(ops, "aten.sum.dim_IntList", summed);
    return row;
  }
  TensorId Gradient(PartWriter& ops, const Row& row, TensorId sum) const {
    TensorId gradient;
    if (call_.logarithm) {
      const TensorId softmax = Each(ops, "aten.exp.default", {row.y});
      gradient = Each(ops, "aten.addcmul.default", {row.x, softmax, sum}, /*kernel=*/true,
                      {{"value", Value(-1.0)}});
    } else {
      const TensorId apart = Each(ops, "aten.sub.Tensor", {row.x, sum});
      gradient = Each(ops, "aten.mul.Tensor", {row.y, apart}, /*kernel=*/true);
    }
    return ops.Cast(gradient, made_);
  }

  Emitter& emitter_;
  const OpInParts& op_;
  const SoftmaxCall call_;
  DType made_ = DType::kF32, sums_ = DType::kF32;
  int64_t dimension_ = 0;
  std::vector<PartWriter> ops_;
};

}  // namespace

MadeInParts EmitSoftmax(Emitter& emitter, const OpInParts& op, const SoftmaxCall& call,
                        bool collectives) {
  return SoftmaxInParts(emitter, op, call).Emit(collectives);
}

}  // namespace placewright
