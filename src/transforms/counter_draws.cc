#include "transforms/counter_draws.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"
#include "plan/distributed_step.h"
#include "transforms/op_copy.h"

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

// How an operator draws, and where its numbers stand among its arguments.
struct DrawForm {
  std::string_view type;
  std::string_view distribution;
  int32_t first = -1, second = -1;  // -1: it has none
  // Where recorded ops leave them out; nothing: they are stated.
  std::optional<double> default_first = 0, default_second = 0;
  int32_t size = -1;  // of what is made from nothing; else it draws for the tensor that it reads
};

constexpr std::optional<double> kStated = std::nullopt;
constexpr DrawForm kForms[] = {
    {"aten.uniform_.default", "uniform", 1, 2, 0, 1},
    {"aten.normal_.default", "normal", 1, 2, 0, 1},
    {"aten.log_normal_.default", "log_normal", 1, 2, 1, 2},
    {"aten.cauchy_.default", "cauchy", 1, 2, 0, 1},
    {"aten.exponential_.default", "exponential", 1, -1, 1, 0},
    {"aten.geometric_.default", "geometric", 1, -1, kStated, 0},
    {"aten.random_.from", "integers", 1, 2, kStated, kStated},
    {"aten.random_.to", "integers", -1, 1, 0, kStated},
    {"aten.rand_like.default", "uniform", -1, -1, 0, 1},
    {"aten.randn_like.default", "normal", -1, -1, 0, 1},
    {"aten.randint_like.default", "integers", -1, 1, 0, kStated},
    {"aten.randint_like.low_dtype", "integers", 1, 2, kStated, kStated},
    {"aten.rand.default", "uniform", -1, -1, 0, 1, 0},
    {"aten.randn.default", "normal", -1, -1, 0, 1, 0},
    {"aten.randint.default", "integers", -1, 0, 0, kStated, 1},
    {"aten.randint.low", "integers", 0, 1, kStated, kStated, 2},
    {"aten.normal.float_float", "normal", 0, 1, kStated, kStated, 2},
};

// A draw that can count.
struct CountedDraw {
  std::string_view type;
  std::string_view distribution;  // "" of masks
  std::vector<double> numbers;    // the probability; else both numbers of the distribution
  const DrawForm* form = nullptr;
};

std::optional<double> NumberArgument(const Op& op, int32_t place, std::optional<double> otherwise) {
  if (place < 0 || static_cast<size_t>(place) >= op.args.size()) return otherwise;
  const Value& value = op.args[static_cast<size_t>(place)];
  if (const double* const number = value.AsDouble()) return *number;
  if (const int64_t* const whole = value.AsInt()) return static_cast<double>(*whole);
  return std::nullopt;
}

// Keywords that say how a tensor lies in memory, not what is drawn.
bool SaysMemoryAlone(const Op& op) {
  constexpr std::string_view kMemory[] = {"dtype", "layout", "device", "pin_memory",
                                          "memory_format"};
  return std::all_of(op.attributes.begin(), op.attributes.end(), [&](const NamedValue& named) {
    return std::find(std::begin(kMemory), std::end(kMemory), named.name) != std::end(kMemory);
  });
}

bool IsReal(DType dtype) {
  return dtype != DType::kOpaque && dtype != DType::kC64 && dtype != DType::kC128;
}

std::optional<CountedDraw> CountedForm(const Graph& graph, const Op& op, const DrawForm& form) {
  constexpr double kLargestInteger = 9007199254740992.0;  // 2^53
  const bool fresh = form.size >= 0;
  const auto first = NumberArgument(op, form.first, form.default_first);
  const auto second = NumberArgument(op, form.second, form.default_second);
  if (!first || !second || op.inputs.size() != (fresh ? 0u : 1u) || op.outputs.size() != 1 ||
      !SaysMemoryAlone(op) || !IsReal(graph.tensor(op.outputs[0]).dtype)) {
    return std::nullopt;
  }
  if (fresh && (static_cast<size_t>(form.size) >= op.args.size() ||
                op.args[static_cast<size_t>(form.size)].AsList() == nullptr)) {
    return std::nullopt;
  }
  if (form.distribution == "integers" &&
      !(*first < *second && *first >= -kLargestInteger && *second <= kLargestInteger)) {
    return std::nullopt;
  }
  const std::string_view type = fresh               ? "placewright.counter_draw_new.default"
                                : op.writes.empty() ? "placewright.counter_draw_like.default"
                                                    : "placewright.counter_draw_.default";
  return CountedDraw{type, form.distribution, {*first, *second}, &form};
}

// What draws by counting in the place of an op; nothing where it does not draw, or cannot count.
std::optional<CountedDraw> CountedDrawOf(const Graph& graph, const Op& op) {
  if (op.type == "aten.bernoulli.default" && op.inputs.size() == 1 && SaysMemoryAlone(op)) {
    return CountedDraw{"placewright.counter_bernoulli_of.default", "", {}, nullptr};
  }
  for (const DrawForm& form : kForms) {
    if (op.type == form.type) return CountedForm(graph, op, form);
  }
  if (op.inputs.size() != 1 || !ProbabilityOf(op)) return std::nullopt;
  if (op.type == "aten.bernoulli_.float") {
    return CountedDraw{"placewright.counter_bernoulli_.default", "", {*ProbabilityOf(op)}, nullptr};
  }
  if (op.type == "aten.native_dropout.default" && IsTraining(op)) {
    return CountedDraw{"placewright.counter_dropout.default", "", {*ProbabilityOf(op)}, nullptr};
  }
  return std::nullopt;
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
    std::vector<OpId> ops;
    for (const OpId id : graph_.ops()) ops.push_back(id);
    HoldCopies(graph_, original_, ops, {}, builder_);
    PW_RETURN_IF_ERROR(AddIncrement());
    KeepGroups();
    std::vector<TensorId> outputs;
    for (const TensorId id : graph_.outputs()) outputs.push_back(made_[id]);
    builder_.SetOutputs(std::move(outputs));
    PW_ASSIGN(Graph built, std::move(builder_).Build());
    if (graph_.batch_scaling() == nullptr) return built;
    const BatchScaling laws = Laws(built);
    return WithBatchScaling(std::move(built), laws);
  }

 private:
  Status CopyOp(OpId id) {
    const Op& op = graph_.op(id);
    const std::optional<CountedDraw> counted = CountedDrawOf(graph_, op);
    OpSpec spec = CopyOfOp(graph_, id, made_);
    if (counted) {
      spec.type = std::string(counted->type);
      std::erase_if(spec.after, [&](const std::string& earlier) {
        return CountedDrawOf(graph_, graph_.op(graph_.FindOp(earlier))).has_value();
      });
      CountDraw(op, *counted, spec);
    }
    PW_ASSIGN(const std::vector<TensorId> made, builder_.AddOp(std::move(spec)));
    for (size_t i = 0; i < made.size(); ++i) {
      made_[op.outputs[i]] = made[i];
      original_.push_back(op.outputs[i]);
    }
    return Ok();
  }

  // (x or the sizes, numbers, ...) -> (x or the sizes, step, seed, draw, distribution, numbers, place)
  void CountDraw(const Op& op, const CountedDraw& counted, OpSpec& spec) {
    spec.inputs.push_back(counter_);
    spec.args.clear();
    if (counted.form != nullptr && counted.form->size >= 0) {
      spec.args.push_back(op.args[static_cast<size_t>(counted.form->size)]);
    } else {
      spec.args.push_back(Value(InputRef{0}));
    }
    spec.args.push_back(Value(InputRef{static_cast<int32_t>(spec.inputs.size()) - 1}));
    spec.args.push_back(Value(static_cast<int64_t>(seed_)));
    spec.args.push_back(Value(draws_++));
    if (!counted.distribution.empty()) {
      spec.args.push_back(Value(std::string(counted.distribution)));
    }
    for (const double number : counted.numbers) spec.args.push_back(Value(number));
    spec.args.push_back(Value(Value::List()));
    const bool makes =
        counted.form != nullptr && op.writes.empty();  // a tensor, as its keywords say
    if (!makes) spec.attributes.clear();
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
      add(copied.arguments,
          op.index() < graph_.op_count() ? LawsOf(op) : std::vector<ArgumentLaw>());
    }
    return copied;
  }

  // Of the op's copy. Of numbers that draws by counting keep, sizes come first, behind them seed and draw.
  std::vector<ArgumentLaw> LawsOf(OpId id) const {
    const Op& op = graph_.op(id);
    const auto laws = graph_.batch_scaling()->arguments[id];
    const std::optional<CountedDraw> counted = CountedDrawOf(graph_, op);
    if (!counted) return {laws.begin(), laws.end()};
    std::vector<ArgumentLaw> kept;
    if (counted->form == nullptr) return kept;
    const int32_t size = counted->form->size;
    const auto sizes =
        size < 0 ? 0 : static_cast<int32_t>(op.args[static_cast<size_t>(size)].AsList()->size());
    VisitLaws(op, laws, [&](const NumberPlace& place, const ArgumentLaw& law) {
      if (place.keyword != nullptr) return;
      ArgumentLaw moved = law;
      if (place.path[0] == size) {
        moved.number = static_cast<int32_t>(place.path[1]);
      } else if (place.path[0] == counted->form->first) {
        moved.number = sizes + 2;
      } else if (place.path[0] == counted->form->second) {
        moved.number = sizes + 3;
      } else {
        return;
      }
      kept.push_back(std::move(moved));
    });
    std::sort(kept.begin(), kept.end(),
              [](const ArgumentLaw& a, const ArgumentLaw& b) { return a.number < b.number; });
    return kept;
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
    if (CountedDrawOf(graph, graph.op(op))) return true;
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<Graph>> WithCountedDraws(const Graph& graph, uint64_t seed) {
  if (!Draws(graph)) return std::unique_ptr<Graph>();
  PW_ASSIGN(Graph counted, DrawRewriter(graph, seed).Rewrite());
  return std::make_unique<Graph>(std::move(counted));
}

Result<Graph> UseCounterBasedDraws(Graph graph, uint64_t seed) {
  if (!Draws(graph)) return graph;
  return DrawRewriter(graph, seed).Rewrite();
}

}  // namespace placewright
