#include "compile/rewrites/statistics.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "compile/rewrites/rewrites.h"

namespace placewright {
namespace {

// One op for all parts; what is of a part are vectors, parallel to these.
class StatisticsInParts {
 public:
  StatisticsInParts(Emitter& emitter, const OpInParts& op, const StatisticsCall& call,
                    bool collectives)
      : emitter_(emitter),
        op_(op),
        call_(call),
        collectives_(collectives),
        sums_(DTypeOfSums(emitter.dtype(op.read.front()[static_cast<size_t>(call.x)]))) {
    for (size_t part = 0; part < op.devices.size(); ++part) parts_.emplace_back(emitter, op, part);
    const TensorId x = op.graph.op(op.op).inputs[static_cast<size_t>(call.x)];
    for (const int64_t dimension : call.dimensions) {
      elements_ *= op.graph.tensor(x).shape[static_cast<size_t>(dimension)];
    }
  }

  MadeInParts Emit() {
    made_.assign(parts_.size(), std::vector<TensorId>(op_.graph.op(op_.op).outputs.size()));
    switch (call_.kind) {
      case StatisticsCall::kNorm: Norm(); break;
      case StatisticsCall::kMax: Extremum("aten.amax.default"); break;
      case StatisticsCall::kMin: Extremum("aten.amin.default"); break;
      case StatisticsCall::kLayerNorm:
      case StatisticsCall::kRmsNorm: Normalize(); break;
      case StatisticsCall::kLayerNormBackward:
      case StatisticsCall::kRmsNormBackward: Gradients(); break;
    }
    return std::move(made_);
  }

 private:
  using OfParts = std::vector<TensorId>;

  OfParts Read(int32_t input) {
    OfParts read;
    for (PartWriter& part : parts_) read.push_back(part.Cast(part.Read(input), sums_));
    return read;
  }
  // As an op of ATen makes of tensors of each part, elementwise: of the first one's sizes.
  OfParts Each(const std::string& type, const std::vector<OfParts>& of,
               std::vector<Value> numbers = {}, bool kernel = false) {
    OfParts made;
    for (size_t part = 0; part < parts_.size(); ++part) {
      PlainOp call{.type = type, .kernel = kernel};
      for (const OfParts& one : of) call.inputs.push_back(one[part]);
      if (!numbers.empty()) {
        call.args = References(of.size());
        call.args.insert(call.args.end(), numbers.begin(), numbers.end());
      }
      made.push_back(
          parts_[part].Add(std::move(call), parts_[part].shape(of.front()[part]), sums_));
    }
    return made;
  }
  OfParts Times(const OfParts& a, const OfParts& b, bool kernel = false) {
    return Each("aten.mul.Tensor", {a, b}, {}, kernel);
  }
  OfParts Minus(const OfParts& a, const OfParts& b) { return Each("aten.sub.Tensor", {a, b}); }
  OfParts DividedByElements(const OfParts& of) {
    return Each("aten.div.Scalar", {of}, {Value(elements_)});
  }

  std::vector<int64_t> Without(const std::vector<int64_t>& shape,
                               const std::vector<int64_t>& dimensions, bool keeps) const {
    std::vector<int64_t> left;
    size_t next = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
      const bool gone = next < dimensions.size() && dimensions[next] == static_cast<int64_t>(i);
      if (gone) ++next;
      if (!gone || keeps) left.push_back(gone ? 1 : shape[i]);
    }
    return left;
  }
  // Along dimensions of each part.
  OfParts Reduce(const std::string& type, const OfParts& of, const std::vector<int64_t>& dimensions,
                 bool keeps, std::vector<Value> before = {}) {
    OfParts made;
    for (size_t part = 0; part < parts_.size(); ++part) {
      PlainOp call{.type = type, .inputs = {of[part]}, .kernel = true};
      call.args = References(1);
      call.args.insert(call.args.end(), before.begin(), before.end());
      call.args.push_back(IntegerList(dimensions));
      call.args.emplace_back(keeps);
      made.push_back(parts_[part].Add(
          std::move(call), Without(parts_[part].shape(of[part]), dimensions, keeps), sums_));
    }
    return made;
  }
  OfParts SumOfRows(const OfParts& of) {
    return Reduce("aten.sum.dim_IntList", of, call_.dimensions, /*keeps=*/true);
  }

  std::vector<Piece> Pieces(const OfParts& own) const {
    std::vector<Piece> pieces;
    for (size_t i = 0; i < own.size(); ++i) pieces.push_back({parts_[i].device(), own[i]});
    return pieces;
  }
  OfParts OverAll(const OfParts& own) { return SumOnAll(emitter_, Pieces(own), collectives_); }

  // The operator's result of that number, of every part, in its type; where the step has it.
  void Set(int32_t result, const OfParts& of) {
    const std::vector<TensorId>& outputs = op_.graph.op(op_.op).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& tensor = op_.graph.tensor(outputs[i]);
      if (tensor.output_index != result) continue;
      for (size_t part = 0; part < parts_.size(); ++part) {
        made_[part][i] = parts_[part].Cast(of[part], tensor.dtype);
      }
    }
  }
  bool Wants(int32_t result) const {
    for (const TensorId output : op_.graph.op(op_.op).outputs) {
      if (op_.graph.tensor(output).output_index == result) return true;
    }
    return false;
  }

  void Norm() {
    const bool extremum = std::isinf(call_.order);
    const OfParts own = Reduce("aten.linalg_vector_norm.default", Read(call_.x), call_.dimensions,
                               call_.keeps || extremum, {Value(call_.order)});
    if (extremum)
      return ExtremumOf(own, call_.order > 0 ? "aten.amax.default" : "aten.amin.default");
    if (call_.order != 2) return Set(0, OverAll(own));
    Set(0, Each("aten.sqrt.default", {OverAll(Times(own, own))}));
  }

  void Extremum(const std::string& type) {
    ExtremumOf(Reduce(type, Read(call_.x), call_.dimensions, /*keeps=*/true), type);
  }
  void ExtremumOf(const OfParts& own, const std::string& type) {
    const AxisPlace place = {static_cast<int32_t>(call_.dimensions.front()), 1,
                             static_cast<int64_t>(own.size()), 1};
    const OfParts all = JoinOnAll(emitter_, Pieces(own), place, collectives_);
    Set(0, Reduce(type, all, call_.dimensions, call_.keeps));
  }

  void Normalize() {
    OfParts x = Read(call_.x);
    if (call_.centers()) {
      const OfParts mean = DividedByElements(OverAll(SumOfRows(x)));
      Set(1, mean);
      x = Minus(x, mean);
    }
    const OfParts variance = DividedByElements(OverAll(SumOfRows(Times(x, x))));
    const OfParts rstd =
        Each("aten.rsqrt.default", {Each("aten.add.Scalar", {variance}, {Value(call_.eps)})});
    Set(call_.centers() ? 2 : 1, rstd);
    OfParts y = Times(x, rstd, /*kernel=*/true);
    if (call_.weight >= 0) y = Times(y, Read(call_.weight));
    if (call_.bias >= 0) y = Each("aten.add.Tensor", {y, Read(call_.bias)});
    Set(0, y);
  }

  void Gradients() {
    const OfParts g = Read(call_.grad), rstd = Read(call_.rstd);
    OfParts x = Read(call_.x);
    if (call_.centers()) x = Minus(x, Read(call_.mean));
    const OfParts h = Times(x, rstd);
    if (Wants(0)) {
      const OfParts k = call_.weight >= 0 ? Times(g, Read(call_.weight)) : g;
      OfParts apart = k;
      if (call_.centers()) apart = Minus(k, DividedByElements(OverAll(SumOfRows(k))));
      const OfParts along = DividedByElements(OverAll(SumOfRows(Times(k, h))));
      Set(0, Times(Minus(apart, Times(h, along)), rstd, /*kernel=*/true));
    }
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < call_.dimensions.front(); ++i) rows.push_back(i);
    const auto over_rows = [&](const OfParts& of) {
      return Reduce("aten.sum.dim_IntList", of, rows, /*keeps=*/false);
    };
    if (call_.weight >= 0 && Wants(1)) Set(1, over_rows(Times(g, h)));
    if (call_.bias >= 0 && Wants(2)) Set(2, over_rows(g));
  }

  Emitter& emitter_;
  const OpInParts& op_;
  const StatisticsCall& call_;
  const bool collectives_;
  const DType sums_;
  int64_t elements_ = 1;  // of a row
  std::vector<PartWriter> parts_;
  MadeInParts made_;
};

}  // namespace

MadeInParts EmitStatistics(Emitter& emitter, const OpInParts& op, const StatisticsCall& call,
                           bool collectives) {
  return StatisticsInParts(emitter, op, call, collectives).Emit();
}

}  // namespace placewright
