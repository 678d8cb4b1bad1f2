#include "check_plan/distributed/counted_draws.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"

namespace placewright::check {
namespace {

constexpr std::string_view kCounter = "buffer:placewright.step";
constexpr std::string_view kIncrement = "placewright.step.add_";
constexpr std::string_view kBernoulli = "placewright.counter_bernoulli_.default";
constexpr std::string_view kDropout = "placewright.counter_dropout.default";
constexpr size_t kSeedAt = 2;  // among the arguments of a draw

// The seed of the step's first draw.
int64_t SeedOf(const Graph& step) {
  for (const OpId id : step.ops()) {
    const Op& op = step.op(id);
    if (op.type != kBernoulli && op.type != kDropout) continue;
    if (op.args.size() > kSeedAt && op.args[kSeedAt].AsInt()) return *op.args[kSeedAt].AsInt();
  }
  return 0;
}

// What draws in place of an op, or "".
std::string_view DrawFor(const Op& op) {
  if (op.inputs.size() != 1) return "";
  const bool bernoulli = op.type == "aten.bernoulli_.float";
  if (bernoulli && op.args.size() == 1) return kBernoulli;  // p is 0.5
  const bool numbered =
      op.args.size() >= 2 && (op.args[1].AsDouble() != nullptr || op.args[1].AsInt() != nullptr);
  if (!numbered) return "";
  if (bernoulli) return kBernoulli;
  const bool* const training = op.args.size() > 2 ? op.args[2].AsBool() : nullptr;
  const bool drops = op.type == "aten.native_dropout.default" && (training == nullptr || *training);
  return drops ? kDropout : "";
}

class Rewriter {
 public:
  Rewriter(const Graph& graph, int64_t seed)
      : graph_(graph),
        seed_(seed),
        builder_(graph.name(), std::string(graph.format())),
        tensors_(graph.tensor_count()) {}

  Result<Graph> Rewrite() {
    builder_.set_batch(graph_.batch());
    PW_ASSIGN(counter_,
              builder_.AddInput(std::string(kCounter), TensorKind::kBuffer, DType::kI64, {}));
    for (const TensorId id : graph_.tensors()) {
      const Tensor& tensor = graph_.tensor(id);
      if (tensor.producer.valid()) continue;
      PW_ASSIGN(tensors_[id],
                builder_.AddInput(tensor.name, tensor.kind, tensor.dtype, tensor.shape));
    }
    for (const OpId op : graph_.ops()) PW_RETURN_IF_ERROR(Copy(op));
    PW_RETURN_IF_ERROR(AddIncrement());
    KeepGroups();
    std::vector<TensorId> outputs;
    for (const TensorId id : graph_.outputs()) outputs.push_back(tensors_[id]);
    builder_.SetOutputs(std::move(outputs));
    PW_ASSIGN(Graph built, std::move(builder_).Build());
    if (graph_.batch_scaling() == nullptr) return built;
    return WithBatchScaling(std::move(built), Laws(built.tensor_count(), built.op_count()));
  }

 private:
  bool Writes(const Op& op, TensorId input) const {
    return std::find(op.writes.begin(), op.writes.end(), input) != op.writes.end();
  }

  Status Copy(OpId id) {
    const Op& op = graph_.op(id);
    OpSpec spec{.name = op.name, .type = std::string(op.type), .phase = op.phase};
    spec.module = graph_.module_path(op.module);
    spec.in_root = spec.module.empty();
    for (const TensorId input : op.inputs) spec.inputs.push_back(tensors_[input]);
    spec.args = op.args;
    spec.attributes = op.attributes;
    AddOutputs(op, spec);
    if (const std::string_view draw = DrawFor(op); !draw.empty()) Count(op, draw, spec);
    PW_ASSIGN(const std::vector<TensorId> made, builder_.AddOp(std::move(spec)));
    for (size_t i = 0; i < made.size(); ++i) tensors_[op.outputs[i]] = made[i];
    return Ok();
  }

  void AddOutputs(const Op& op, OpSpec& spec) const {
    std::vector<bool> returned(op.inputs.size(), false);
    for (const TensorId id : op.outputs) {
      const Tensor& tensor = graph_.tensor(id);
      OutputSpec output{.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape};
      output.output_index = tensor.output_index;
      for (size_t i = op.inputs.size(); i-- > 0;) {
        if (graph_.tensor(op.inputs[i]).storage != tensor.storage) continue;
        output.alias = Writes(op, op.inputs[i]) ? AliasKind::kInPlace : AliasKind::kView;
        output.alias_of = static_cast<int32_t>(i);
      }
      if (output.alias == AliasKind::kInPlace)
        returned[static_cast<size_t>(output.alias_of)] = true;
      spec.outputs.push_back(std::move(output));
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const bool unreturned = Writes(op, op.inputs[i]) && !returned[i];
      if (unreturned) spec.writes.push_back(static_cast<int32_t>(i));
    }
  }

  void Count(const Op& op, std::string_view draw, OpSpec& spec) {
    Value p(0.5);
    if (op.args.size() > 1) p = op.args[1];
    if (const int64_t* const integer = p.AsInt()) p = Value(static_cast<double>(*integer));
    spec.type = std::string(draw);
    spec.inputs.push_back(counter_);
    spec.args = {Value(InputRef{0}),  Value(InputRef{1}), Value(seed_), Value(draws_++), p,
                 Value(Value::List())};
    spec.attributes.clear();
  }

  Status AddIncrement() {
    OpSpec spec{.name = std::string(kIncrement), .type = "aten.add_.Scalar"};
    spec.phase = Phase::kOptimizer;
    spec.in_root = true;
    spec.inputs = {counter_};
    spec.args = {Value(InputRef{0}), Value(int64_t{1})};
    spec.outputs = {
        {.name = spec.name, .dtype = DType::kI64, .alias = AliasKind::kInPlace, .alias_of = 0}};
    PW_RETURN_IF_ERROR(builder_.AddOp(std::move(spec)));
    return Ok();
  }

  // Also what only the file said, as tied weights.
  void KeepGroups() {
    IdVector<GroupId, OpId> last(graph_.group_count());
    for (const OpId op : graph_.ops()) {
      OpId& before = last[graph_.group(op)];
      if (before.valid()) builder_.Colocate(graph_.op(before).name, graph_.op(op).name);
      before = op;
    }
  }

  // Those of the original's tensors. Of arguments there are none: this graph is of one batch.
  BatchScaling Laws(size_t tensors, size_t ops) const {
    const BatchScaling& laws = *graph_.batch_scaling();
    BatchScaling copied{laws.sizes, laws.reason, {}, {}, laws.smaller};
    if (!laws.reason.empty()) return copied;
    IdVector<TensorId, TensorId> original(tensors);
    for (const TensorId id : graph_.tensors()) original[tensors_[id]] = id;
    for (const TensorId id : original) {
      const auto slopes = id.valid() ? laws.dimensions[id] : std::span<const DimensionSlope>();
      copied.dimensions.items.insert(copied.dimensions.items.end(), slopes.begin(), slopes.end());
      copied.dimensions.offsets.push_back(static_cast<int32_t>(copied.dimensions.items.size()));
    }
    copied.arguments.offsets.resize(ops + 1, 0);
    return copied;
  }

  const Graph& graph_;
  const int64_t seed_;
  GraphBuilder builder_;
  IdVector<TensorId, TensorId> tensors_;  // of the copy, by those of `graph_`
  TensorId counter_;
  int64_t draws_ = 0;
};

}  // namespace

bool CountsDraws(const Graph& step) {
  for (const TensorId id : step.tensors()) {
    const Tensor& tensor = step.tensor(id);
    if (!tensor.producer.valid() && tensor.name.starts_with(kCounter)) return true;
  }
  return false;
}

Result<Graph> WithDrawsThatCount(const Graph& original, const Graph& step) {
  return Rewriter(original, SeedOf(step)).Rewrite();
}

}  // namespace placewright::check
