// A mixture of experts made by hand: for tests.
#ifndef PLACEWRIGHT_SHARDING_MIXTURE_H_
#define PLACEWRIGHT_SHARDING_MIXTURE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "sharding/test_ops.h"

namespace placewright {

// 8 samples of one token each, 2 experts a token: 16 rows. With biases of 4 experts; or without, of 2, of which a sample
// has a row each.
class MixtureOfExperts {
 public:
  explicit MixtureOfExperts(bool biased = true) : MixtureOfExperts(biased, biased ? 4 : 2) {}
  MixtureOfExperts(bool biased, int64_t experts) : experts_(experts), biased_(biased) {
    builder_.set_batch(8);
    x_ = In("input:x", TensorKind::kInput, DType::kF32, {8, 6});
    keys_ = In("input:keys", TensorKind::kInput, DType::kI64, {16});
    w_ = In("param:w", TensorKind::kParameter, DType::kF32, {experts_, 6, 5});
    if (biased) bias_ = In("param:bias", TensorKind::kParameter, DType::kF32, {experts_, 5});
  }

  // What makes it no region.
  enum class Flaw { kNone, kDescending, kFreeBins, kOtherCounts, kNoEnds, kOtherSort };

  // `by`: by which the places of rows are divided to find their tokens.
  Graph Build(int64_t by = 2, bool with_stray_reader = false, Flaw flaw = Flaw::kNone) {
    const std::vector<TensorId> sort =
        AddAll("sort", "aten.sort.default", {keys_},
               {Input(0), Value(int64_t{-1}), Value(flaw == Flaw::kDescending)}, {{16}, {16}},
               DType::kI64);
    const TensorId token = Add("token", "aten.floor_divide.default", {sort[1]},
                               {Input(0), Value(by)}, {16}, DType::kI64);
    const TensorId rows =
        Add("rows", "aten.index.Tensor", {x_, token}, {Input(0), List(1)}, {16, 6});
    // Of keys; or of some other number of each row.
    const TensorId other =
        Add("other", "aten.index.Tensor", {keys_, sort[1]}, {Input(0), List(1)}, {16}, DType::kI64);
    const TensorId cast = Add("cast", "aten._to_copy.default",
                              {flaw == Flaw::kOtherCounts ? other : sort[0]}, {Input(0)}, {16});
    const int64_t last = flaw == Flaw::kFreeBins ? 0 : experts_ - 1;
    const TensorId counts =
        Add("counts", "aten.histc.default", {cast},
            {Input(0), Value(experts_), Value(int64_t{0}), Value(last)}, {experts_});
    const TensorId ends =
        flaw == Flaw::kNoEnds
            ? Add("ends", "aten._to_copy.default", {counts}, {Input(0)}, {experts_}, DType::kI32)
            : Add("ends", "aten.cumsum.default", {counts}, {Input(0), Value(int64_t{0})},
                  {experts_}, DType::kI32);
    const TensorId y = Add("y", "aten._grouped_mm.default", {rows, w_, ends},
                           {Input(0), Input(1), Input(2)}, {16, 5});
    TensorId sum = y;
    if (biased_) {
      // Each row has the bias of its expert, whose gradient is a sum over rows.
      const TensorId own =
          Add("own", "aten.index.Tensor", {bias_, sort[0]}, {Input(0), List(1)}, {16, 5});
      sum = Add("sum", "aten.add.Tensor", {y, own}, {Input(0), Input(1)}, {16, 5});
    }
    const TensorId relu = Add("relu", "aten.relu.default", {sum}, {Input(0)}, {16, 5});
    if (biased_) {
      const TensorId zeros = Add("zeros", "aten.new_zeros.default", {relu},
                                 {Input(0), Integers({experts_, 5})}, {experts_, 5});
      Add("gradient", "aten.index_put.default", {zeros, sort[0], relu},
          {Input(0), List(1), Input(2), Value(true)}, {experts_, 5});
    } else {
      AddGradients(relu, rows, ends, flaw == Flaw::kOtherSort);
    }
    const TensorId empty =
        Add("empty", "aten.empty_like.default", {sort[1]}, {Input(0)}, {16}, DType::kI64);
    const TensorId count =
        Add("count", "aten.arange.default", {}, {Value(int64_t{16})}, {16}, DType::kI64);
    const TensorId back = AddInPlace("back", "aten.index_put_.default", {empty, sort[1], count},
                                     {Input(0), List(1), Input(2)}, {16}, DType::kI64);
    const TensorId home =
        Add("home", "aten.index.Tensor", {relu, back}, {Input(0), List(1)}, {16, 5});
    if (with_stray_reader) {
      // A row beside its neighbour in the order of the sort.
      Add("flip", "aten.flip.default", {relu}, {Input(0), Integers({0})}, {16, 5});
    }
    builder_.SetOutputs({home});
    return FollowingItsBatch(std::move(builder_).Build().Take());
  }

 private:
  static Value List(int32_t input) { return Value(Value::List{Input(input)}); }
  TensorId In(const char* name, TensorKind kind, DType dtype, std::vector<int64_t> shape) {
    return builder_.AddInput(name, kind, dtype, std::move(shape)).Take();
  }
  std::vector<TensorId> AddAll(const char* name, const char* type, std::vector<TensorId> inputs,
                               std::vector<Value> args, std::vector<std::vector<int64_t>> shapes,
                               DType dtype) {
    OpSpec op{.name = name, .type = type};
    op.phase = phase_;
    op.inputs = std::move(inputs);
    op.args = std::move(args);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const std::string own =
          shapes.size() == 1 ? name : std::string(name) + ":" + std::to_string(i);
      op.outputs.push_back({.name = own, .dtype = dtype, .shape = shapes[i]});
    }
    return builder_.AddOp(std::move(op)).Take();
  }
  TensorId Add(const char* name, const char* type, std::vector<TensorId> inputs,
               std::vector<Value> args, std::vector<int64_t> shape, DType dtype = DType::kF32) {
    return AddAll(name, type, std::move(inputs), std::move(args), {std::move(shape)}, dtype)[0];
  }

  // As if `gradient` were that of the product: of its matrices, and of the rows where they came from.
  // As in a step that computes some of it again, the keys are sorted once more; or others.
  void AddGradients(TensorId gradient, TensorId rows, TensorId ends, bool of_others) {
    phase_ = Phase::kBackward;
    TensorId keys = keys_;
    if (of_others) {
      keys = Add("flipped", "aten.bitwise_not.default", {keys_}, {Input(0)}, {16}, DType::kI64);
    }
    const TensorId places =
        AddAll("again", "aten.sort.default", {keys}, {Input(0), Value(int64_t{-1}), Value(false)},
               {{16}, {16}}, DType::kI64)[1];
    const TensorId turned =
        Add("turned", "aten.t.default", {gradient}, {Input(0)}, {5, 16}, DType::kF32);
    Add("of_w", "aten._grouped_mm.default", {turned, rows, ends}, {Input(0), Input(1), Input(2)},
        {experts_, 5, 6});
    const TensorId zeros =
        Add("zeros", "aten.new_zeros.default", {gradient}, {Input(0), Integers({16, 5})}, {16, 5});
    Add("of_x", "aten.index_put.default", {zeros, places, gradient},
        {Input(0), List(1), Input(2), Value(true)}, {16, 5});
    phase_ = Phase::kForward;
  }
  TensorId AddInPlace(const char* name, const char* type, std::vector<TensorId> inputs,
                      std::vector<Value> args, std::vector<int64_t> shape, DType dtype) {
    OpSpec op{.name = name, .type = type};
    op.inputs = std::move(inputs);
    op.args = std::move(args);
    op.outputs.push_back({.name = name, .dtype = dtype, .shape = std::move(shape)});
    op.outputs.back().alias = AliasKind::kInPlace;
    op.outputs.back().alias_of = 0;
    return builder_.AddOp(std::move(op)).Take()[0];
  }

  GraphBuilder builder_{"mixture", "aten"};
  const int64_t experts_;
  const bool biased_;
  Phase phase_ = Phase::kForward;
  TensorId x_, keys_, w_, bias_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_MIXTURE_H_
