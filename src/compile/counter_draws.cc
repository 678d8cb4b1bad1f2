#include "compile/counter_draws.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compile/op_copy.h"
#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

bool IsTraining(const Op& op) {
  if (op.args.size() < 3) return true;
  const bool* const train = op.args[2].AsBool();
  return train == nullptr || *train;
}

// The probability that it draws with; nothing where it is no number.
std::optional<double> ProbabilityOf(const Op& op) {
  // Recorded ops leave out arguments that have their default.
  if (op.args.size() == 1 && op.type == "aten.bernoulli_.float") return 0.5;
  if (op.args.size() < 2) return std::nullopt;
  if (const double* const number = op.args[1].AsDouble()) return *number;
  if (const int64_t* const whole = op.args[1].AsInt()) return static_cast<double>(*whole);
  return std::nullopt;
}

// The operator that draws by counting, or "".
std::string_view CountingType(const Op& op) {
  if (op.inputs.size() != 1 || !ProbabilityOf(op)) return "";
  if (op.type == "aten.bernoulli_.float") return "placewright.counter_bernoulli_.default";
  if (op.type == "aten.native_dropout.default" && IsTraining(op)) {
    return "placewright.counter_dropout.default";
  }
  return "";
}

// Copies a graph op by op, with other draws.
class DrawRewriter {
 public:
  DrawRewriter(const Graph& graph, uint64_t seed)
      : graph_(graph),
        seed_(seed),
        builder_(graph.name(), std::string(graph.format())),
        made_(graph.tensor_count()) {
    builder_.set_batch(graph.batch());
  }

  Result<Graph> Rewrite() {
    PW_ASSIGN(counter_,
              builder_.AddInput(std::string(kStepCounter), TensorKind::kBuffer, DType::kI64, {}));
    original_.push_back(TensorId());
    for (const TensorId id : graph_.tensors()) {
      if (graph_.tensor(id).producer.valid()) continue;
      PW_ASSIGN(made_[id], CopyInput(graph_, id, builder_));
      original_.push_back(id);
    }
    for (const OpId id : graph_.ops()) PW_RETURN_IF_ERROR(CopyOp(id));
    PW_RETURN_IF_ERROR(AddIncrement());
    KeepGroups();
    std::vector<TensorId> outputs;
    for (const TensorId id : graph_.outputs()) outputs.push_back(made_[id]);
    builder_.SetOutputs(std::move(outputs));
    PW_ASSIGN(Graph built, std::move(builder_).Build());
    if (graph_.batch_scaling() == nullptr) return built;
    return WithBatchScaling(std::move(built), Laws(built));
  }

 private:
  Status CopyOp(OpId id) {
    const Op& op = graph_.op(id);
    const std::string_view counting = CountingType(op);
    OpSpec spec = CopyOfOp(graph_, id, made_);
    if (!counting.empty()) {
      spec.type = std::string(counting);
      std::erase_if(spec.after, [&](const std::string& earlier) {
        return !CountingType(graph_.op(graph_.FindOp(earlier))).empty();
      });
    }
    if (!counting.empty()) CountDraw(op, spec);
    PW_ASSIGN(const std::vector<TensorId> made, builder_.AddOp(std::move(spec)));
    for (size_t i = 0; i < made.size(); ++i) {
      made_[op.outputs[i]] = made[i];
      original_.push_back(op.outputs[i]);
    }
    return Ok();
  }

  // (x, p, ...) -> (x, step, seed, draw, p, place)
  void CountDraw(const Op& op, OpSpec& spec) {
    spec.inputs.push_back(counter_);
    spec.args = {Value(InputRef{0}), Value(InputRef{1}),        Value(static_cast<int64_t>(seed_)),
                 Value(draws_++),    Value(*ProbabilityOf(op)), Value(Value::List())};
    spec.attributes.clear();
  }

  Status AddIncrement() {
    OpSpec spec;
    spec.name = "placewright.step.add_";
    spec.type = "aten.add_.Scalar";
    spec.phase = Phase::kOptimizer;
    spec.in_root = true;
    spec.inputs = {counter_};
    spec.args = {Value(InputRef{0}), Value(int64_t{1})};
    OutputSpec output{.name = spec.name, .dtype = DType::kI64, .shape = {}};
    output.alias = AliasKind::kInPlace;
    output.alias_of = 0;
    spec.outputs = {output};
    PW_RETURN_IF_ERROR(builder_.AddOp(std::move(spec)));
    original_.push_back(TensorId());
    return Ok();
  }

  // Also those that follow from what a graph does not keep, as tied weights.
  void KeepGroups() {
    IdVector<GroupId, OpId> last(graph_.group_count());
    for (const OpId op : graph_.ops()) {
      OpId& earlier = last[graph_.group(op)];
      if (earlier.valid()) builder_.Colocate(graph_.op(earlier).name, graph_.op(op).name);
      earlier = op;
    }
  }

  // The laws of the original, for the tensors and ops of `built`.
  BatchScaling Laws(const Graph& built) const {
    const BatchScaling& laws = *graph_.batch_scaling();
    BatchScaling copied{laws.sizes, laws.reason, {}, {}, laws.smaller};
    if (!laws.reason.empty()) return copied;
    const auto add = [](auto& rows, const auto& items) {
      rows.items.insert(rows.items.end(), items.begin(), items.end());
      rows.offsets.push_back(static_cast<int32_t>(rows.items.size()));
    };
    for (const TensorId id : original_) {
      add(copied.dimensions, id.valid() ? laws.dimensions[id] : std::span<const DimensionLaw>());
    }
    for (const OpId op : built.ops()) {
      const bool copy = op.index() < graph_.op_count() && CountingType(graph_.op(op)).empty();
      add(copied.arguments, copy ? laws.arguments[op] : std::span<const ArgumentLaw>());
    }
    return copied;
  }

  const Graph& graph_;
  const uint64_t seed_;
  GraphBuilder builder_;
  IdVector<TensorId, TensorId> made_;  // by the original's
  std::vector<TensorId> original_;     // by the copy's; none: it is new
  TensorId counter_;
  int64_t draws_ = 0;
};

bool Draws(const Graph& graph) {
  for (const OpId op : graph.ops()) {
    if (!CountingType(graph.op(op)).empty()) return true;
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<const Graph>> WithCountedDraws(const Graph& graph, uint64_t seed) {
  if (!Draws(graph)) return std::unique_ptr<const Graph>();
  PW_ASSIGN(Graph counted, DrawRewriter(graph, seed).Rewrite());
  return std::make_unique<const Graph>(std::move(counted));
}

Result<Graph> UseCounterBasedDraws(Graph graph, uint64_t seed) {
  if (!Draws(graph)) return graph;
  return DrawRewriter(graph, seed).Rewrite();
}

}  // namespace placewright
