#include "permuted_step.h"

#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"

namespace placewright::tests {
namespace {

// Ops one after the other.
class ByOps {
 protected:
  explicit ByOps(const char* name) : builder_(name, "aten") {}

  static std::vector<Value> Sizes(std::vector<int64_t> sizes) {
    Value::List list;
    for (const int64_t size : sizes) list.emplace_back(size);
    return {Value(std::move(list))};
  }

  TensorId Input(const char* name, TensorKind kind, std::vector<int64_t> shape,
                 DType dtype = DType::kF32) {
    return builder_.AddInput(name, kind, dtype, std::move(shape)).Take();
  }

  TensorId Add(std::string name, std::string type, std::vector<TensorId> inputs,
               std::vector<int64_t> shape, AliasKind alias = AliasKind::kFresh,
               std::vector<Value> more = {}) {
    OpSpec op{.name = name, .type = std::move(type)};
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.args.insert(op.args.end(), more.begin(), more.end());
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape), .alias = alias}};
    if (alias != AliasKind::kFresh) op.outputs[0].alias_of = 0;
    if (op.type == "aten.sub_.Tensor") op.attributes = {{"alpha", Value(0.5)}};
    return AddOp(std::move(op));
  }

  TensorId View(std::string name, std::string type, TensorId of, std::vector<int64_t> shape,
                std::vector<Value> more = {}) {
    return Add(std::move(name), std::move(type), {of}, std::move(shape), AliasKind::kView,
               std::move(more));
  }

  TensorId Turned(std::string name, TensorId of, std::vector<int64_t> shape) {
    return View(std::move(name), "aten.transpose.int", of, std::move(shape),
                {Value(int64_t{0}), Value(int64_t{1})});
  }

  TensorId AddOp(OpSpec op) {
    op.phase = phase_;
    return builder_.AddOp(std::move(op)).Take()[0];
  }
  void SetPhase(Phase phase) { phase_ = phase; }
  Graph Finish(std::vector<TensorId> outputs) {
    builder_.SetOutputs(std::move(outputs));
    return std::move(builder_).Build().Take();
  }

 private:
  GraphBuilder builder_;
  Phase phase_ = Phase::kForward;
};

class Permuted : public ByOps {
 public:
  Permuted() : ByOps("permuted") {}

  Graph Build() {
    const TensorId x = Input("input:x", TensorKind::kInput, {24, 8});
    const TensorId a = Input("param:a", TensorKind::kParameter, {8, 8});
    const TensorId b = Input("param:b", TensorKind::kParameter, {8, 3});
    const TensorId h = Add("h", "aten.mm.default", {x, a}, {24, 8});
    const TensorId rows = View("rows", "aten.view.default", h, {6, 4, 8}, Sizes({6, 4, 8}));
    const TensorId turned = Turned("turned", rows, {4, 6, 8});
    const TensorId doubled = Add("doubled", "aten.mul.Tensor", {turned, turned}, {4, 6, 8});
    const TensorId back = Turned("back", doubled, {6, 4, 8});
    const TensorId flat = View("flat", "aten.view.default", back, {24, 8}, Sizes({24, 8}));
    const TensorId y = Add("y", "aten.mm.default", {flat, b}, {24, 3});
    const TensorId loss = Add("loss", "aten.sum.default", {y}, {});
    // dy = y; db = flat' dy; dflat = dy b'.
    const TensorId flat_t = View("flat_t", "aten.t.default", flat, {8, 24});
    const TensorId db = Add("db", "aten.mm.default", {flat_t, y}, {8, 3});
    const TensorId bt = View("bt", "aten.t.default", b, {3, 8});
    const TensorId dflat = Add("dflat", "aten.mm.default", {y, bt}, {24, 8});
    const TensorId drows = View("drows", "aten.view.default", dflat, {6, 4, 8}, Sizes({6, 4, 8}));
    const TensorId dturned = Turned("dturned", drows, {4, 6, 8});
    const TensorId both = Add("both", "aten.mul.Tensor", {dturned, turned}, {4, 6, 8});
    const TensorId dback = Turned("dback", both, {6, 4, 8});
    const TensorId dh = View("dh", "aten.view.default", dback, {24, 8}, Sizes({24, 8}));
    const TensorId xt = View("xt", "aten.t.default", x, {8, 24});
    const TensorId da = Add("da", "aten.mm.default", {xt, dh}, {8, 8});
    // A sum over the parts that lies transposed: its negative does, too.
    const TensorId dat = View("dat", "aten.t.default", da, {8, 8});
    const TensorId less = Add("less", "aten.neg.default", {dat}, {8, 8});
    const TensorId right = View("right", "aten.t.default", less, {8, 8});
    const TensorId line = View("line", "aten.view.default", right, {64}, Sizes({64}));
    const TensorId step = View("step", "aten.view.default", line, {8, 8}, Sizes({8, 8}));
    SetPhase(Phase::kOptimizer);
    Add("a1", "aten.add_.Tensor", {a, step}, {8, 8}, AliasKind::kInPlace);
    Add("b1", "aten.sub_.Tensor", {b, db}, {8, 3}, AliasKind::kInPlace);
    return Finish({loss});
  }
};

class OneHot : public ByOps {
 public:
  OneHot() : ByOps("one-hot") {}

  Graph Build() {
    const TensorId x = Input("param:x", TensorKind::kParameter, {6, 4});
    const TensorId index = Input("input:index", TensorKind::kInput, {6, 1}, DType::kI64);
    const TensorId w = Input("param:w", TensorKind::kParameter, {4});
    const TensorId zeros =
        Add("zeros", "aten.zeros.default", {}, {6, 4}, AliasKind::kFresh, Sizes({6, 4}));
    OpSpec op{.name = "ones", .type = "aten.scatter_.value", .inputs = {zeros, index}};
    op.args = {Value(InputRef{0}), Value(int64_t{1}), Value(InputRef{1}), Value(int64_t{1})};
    op.outputs = {{.name = "ones", .shape = {6, 4}, .alias = AliasKind::kInPlace, .alias_of = 0}};
    const TensorId ones = AddOp(std::move(op));
    const TensorId rows = Add("rows", "aten.mul.Tensor", {ones, x}, {6, 4});
    const TensorId share = Add("share", "aten.mean.dim", {rows}, {4}, AliasKind::kFresh,
                               {Value(Value::List{Value(int64_t{0})}), Value(false)});
    const TensorId weighed = Add("weighed", "aten.mul.Tensor", {share, w}, {4});
    const TensorId loss = Add("loss", "aten.sum.default", {weighed}, {});
    SetPhase(Phase::kOptimizer);
    Add("w1", "aten.sub_.Tensor", {w, share}, {4}, AliasKind::kInPlace);
    Add("x1", "aten.sub_.Tensor", {x, rows}, {6, 4}, AliasKind::kInPlace);
    return Finish({loss});
  }
};

}  // namespace

Graph PermutedStep() { return Permuted().Build(); }

Graph OneHotStep() { return OneHot().Build(); }

}  // namespace placewright::tests
