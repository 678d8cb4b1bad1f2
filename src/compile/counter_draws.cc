#include "compile/counter_draws.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

bool IsTraining(const Op& op) {
  if (op.args.size() < 3) return true;
  const bool* const train = op.args[2].AsBool();
  return train == nullptr || *train;
}

// The operator that draws by counting, or "".
std::string_view CountingType(const Op& op) {
  const bool numbered = op.inputs.size() == 1 && op.args.size() >= 2 &&
                        (op.args[1].AsDouble() != nullptr || op.args[1].AsInt() != nullptr);
  if (!numbered) return "";
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
      if (!graph_.tensor(id).producer.valid()) PW_RETURN_IF_ERROR(CopyInput(id));
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
  Status CopyInput(TensorId id) {
    const Tensor& tensor = graph_.tensor(id);
    const Storage& storage = graph_.storage(tensor.storage);
    const TensorKind kind = tensor.kind;
    PW_ASSIGN(made_[id],
              builder_.AddInput(tensor.name, kind, tensor.dtype, tensor.shape,
                                tensor.dtype == DType::kOpaque ? storage.bytes : Bytes(0)));
    if (tensor.below > 0) builder_.SetBelow(made_[id], tensor.below);
    original_.push_back(id);
    return Ok();
  }

  Status CopyOp(OpId id) {
    const Op& op = graph_.op(id);
    const std::string_view counting = CountingType(op);
    OpSpec spec;
    spec.name = op.name;
    spec.type = std::string(counting.empty() ? op.type : counting);
    spec.phase = op.phase;
    spec.module = graph_.module_path(op.module);
    spec.in_root = spec.module.empty();
    for (const TensorId input : op.inputs) spec.inputs.push_back(made_[input]);
    spec.args = op.args;
    spec.attributes = op.attributes;
    spec.outputs = OutputsOf(op);
    AddUnreturnedWrites(op, spec);
    for (const OpId earlier : op.after) {
      const bool both = !counting.empty() && !CountingType(graph_.op(earlier)).empty();
      if (!both) spec.after.push_back(graph_.op(earlier).name);
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
    const Value p = op.args[1].AsInt() == nullptr ? op.args[1]
                                                  : Value(static_cast<double>(*op.args[1].AsInt()));
    spec.args = {Value(InputRef{0}),
                 Value(InputRef{1}),
                 Value(static_cast<int64_t>(seed_)),
                 Value(draws_++),
                 p,
                 Value(Value::List())};
    spec.attributes.clear();
  }

  static bool IsWritten(const Op& op, TensorId input) {
    return std::find(op.writes.begin(), op.writes.end(), input) != op.writes.end();
  }

  // Fresh, or a view of an input, or an input that was written.
  std::vector<OutputSpec> OutputsOf(const Op& op) const {
    std::vector<OutputSpec> outputs;
    for (const TensorId id : op.outputs) {
      const Tensor& tensor = graph_.tensor(id);
      OutputSpec spec{.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape};
      spec.output_index = tensor.output_index;
      if (tensor.dtype == DType::kOpaque) spec.opaque_bytes = tensor.bytes;
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (graph_.tensor(op.inputs[i]).storage != tensor.storage) continue;
        spec.alias = IsWritten(op, op.inputs[i]) ? AliasKind::kInPlace : AliasKind::kView;
        spec.alias_of = static_cast<int32_t>(i);
        break;
      }
      outputs.push_back(std::move(spec));
    }
    return outputs;
  }

  static void AddUnreturnedWrites(const Op& op, OpSpec& spec) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const bool returned =
          std::any_of(spec.outputs.begin(), spec.outputs.end(), [&](const OutputSpec& output) {
            return output.alias == AliasKind::kInPlace &&
                   output.alias_of == static_cast<int32_t>(i);
          });
      if (IsWritten(op, op.inputs[i]) && !returned) {
        spec.writes.push_back(static_cast<int32_t>(i));
      }
    }
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
      add(copied.dimensions, id.valid() ? laws.dimensions[id] : std::span<const DimensionSlope>());
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

}  // namespace

Result<Graph> UseCounterBasedDraws(Graph graph, uint64_t seed) {
  bool draws = false;
  for (const OpId op : graph.ops()) draws = draws || !CountingType(graph.op(op)).empty();
  if (!draws) return graph;
  return DrawRewriter(graph, seed).Rewrite();
}

}  // namespace placewright
