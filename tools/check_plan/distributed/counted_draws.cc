#include "check_plan/distributed/counted_draws.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"

namespace placewright::check {
namespace {

constexpr std::string_view kCounter = "buffer:placewright.step";
constexpr std::string_view kDraws = "placewright.counter_";
constexpr size_t kSeedAt = 2;  // among the arguments of a draw

// The seed of the step's first draw.
int64_t SeedOf(const Graph& step) {
  for (const OpId id : step.ops()) {
    const Op& op = step.op(id);
    if (!op.type.starts_with(kDraws)) continue;
    if (op.args.size() > kSeedAt && op.args[kSeedAt].AsInt()) return *op.args[kSeedAt].AsInt();
  }
  return 0;
}

// An op that draws by counting in place of another: what it is, and its numbers behind the draw's.
struct Draw {
  std::string type;
  std::vector<Value> numbers;
  bool sized = false;  // it makes a tensor of a stated size, which stands at `size_at`
  size_t size_at = 0;
  bool keeps_keywords = false;
};

// The numbers of a distribution, in the order of the op's arguments; `lacking` are defaults, none: not left out.
struct Distribution {
  const char* name;
  size_t numbers_at;
  std::vector<double> lacking;
  bool starts_at_zero = false;  // of integers below one bound
  int size_at = -1;
};

const std::map<std::string_view, Distribution>& Distributions() {
  static const auto* const all = new std::map<std::string_view, Distribution>{
      {"aten.rand.default", {"uniform", 99, {0, 1}, false, 0}},
      {"aten.randn.default", {"normal", 99, {0, 1}, false, 0}},
      {"aten.rand_like.default", {"uniform", 99, {0, 1}}},
      {"aten.randn_like.default", {"normal", 99, {0, 1}}},
      {"aten.uniform_.default", {"uniform", 1, {0, 1}}},
      {"aten.normal_.default", {"normal", 1, {0, 1}}},
      {"aten.normal.float_float", {"normal", 0, {}, false, 2}},
      {"aten.log_normal_.default", {"log_normal", 1, {1, 2}}},
      {"aten.cauchy_.default", {"cauchy", 1, {0, 1}}},
      {"aten.exponential_.default", {"exponential", 1, {1}}},
      {"aten.geometric_.default", {"geometric", 1, {}}},
      {"aten.random_.to", {"integers", 1, {}, true}},
      {"aten.random_.from", {"integers", 1, {}}},
      {"aten.randint_like.default", {"integers", 1, {}, true}},
      {"aten.randint_like.low_dtype", {"integers", 1, {}}},
      {"aten.randint.default", {"integers", 0, {}, true, 1}},
      {"aten.randint.low", {"integers", 0, {}, false, 2}}};
  return *all;
}

std::optional<double> StatedNumber(const Value& value) {
  if (value.AsInt() != nullptr) return static_cast<double>(*value.AsInt());
  return value.AsDouble() != nullptr ? std::optional<double>(*value.AsDouble()) : std::nullopt;
}

bool HasOtherKeyword(const Op& op) {
  static const std::set<std::string_view> harmless = {"dtype", "device", "layout", "memory_format",
                                                      "pin_memory"};
  return std::any_of(op.attributes.begin(), op.attributes.end(),
                     [](const NamedValue& one) { return !harmless.contains(one.name); });
}

std::optional<Draw> OfDistribution(const Graph& graph, const Op& op, const Distribution& known) {
  const bool sized = known.size_at >= 0;
  if (op.inputs.size() != (sized ? 0u : 1u) || op.outputs.size() != 1 || HasOtherKeyword(op))
    return {};
  const DType dtype = graph.tensor(op.outputs[0]).dtype;
  if (dtype == DType::kOpaque || dtype == DType::kC64 || dtype == DType::kC128) return {};
  const size_t wanted = std::string_view(known.name) == "exponential" ||
                                std::string_view(known.name) == "geometric" || known.starts_at_zero
                            ? 1
                            : 2;
  std::vector<double> numbers;
  for (size_t i = 0; i < wanted; ++i) {
    const size_t at = known.numbers_at + i;
    if (at >= op.args.size()) {
      if (i >= known.lacking.size()) return {};
      numbers.push_back(known.lacking[i]);
    } else if (const auto number = StatedNumber(op.args[at])) {
      numbers.push_back(*number);
    } else {
      return {};
    }
  }
  if (known.starts_at_zero) numbers.insert(numbers.begin(), 0.0);
  numbers.resize(2, 0.0);
  const double bound = std::ldexp(1.0, 53);
  const bool integers = std::string_view(known.name) == "integers";
  if (integers && (numbers[0] >= numbers[1] || numbers[0] < -bound || numbers[1] > bound))
    return {};
  const auto size_at = static_cast<size_t>(std::max(known.size_at, 0));
  if (sized && (size_at >= op.args.size() || op.args[size_at].AsList() == nullptr)) return {};
  Draw draw{.sized = sized, .size_at = size_at, .keeps_keywords = op.writes.empty()};
  draw.type = std::string(kDraws) + (sized               ? "draw_new"
                                     : op.writes.empty() ? "draw_like"
                                                         : "draw_");
  draw.numbers = {Value(std::string(known.name)), Value(numbers[0]), Value(numbers[1])};
  return draw;
}

// What draws in place of an op, if anything does.
std::optional<Draw> DrawFor(const Graph& graph, const Op& op) {
  const auto known = Distributions().find(op.type);
  if (known != Distributions().end()) return OfDistribution(graph, op, known->second);
  if (op.inputs.size() != 1) return {};
  if (op.type == "aten.bernoulli.default" && !HasOtherKeyword(op)) {
    return Draw{.type = std::string(kDraws) + "bernoulli_of"};
  }
  const bool bernoulli = op.type == "aten.bernoulli_.float";
  std::optional<double> p = op.args.size() > 1 ? StatedNumber(op.args[1]) : std::nullopt;
  if (bernoulli && op.args.size() == 1) p = 0.5;
  if (!p) return {};
  if (bernoulli) return Draw{.type = std::string(kDraws) + "bernoulli_", .numbers = {Value(*p)}};
  const bool* const training = op.args.size() > 2 ? op.args[2].AsBool() : nullptr;
  const bool drops = op.type == "aten.native_dropout.default" && (training == nullptr || *training);
  if (!drops) return {};
  return Draw{.type = std::string(kDraws) + "dropout", .numbers = {Value(*p)}};
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
    const BatchScaling laws = Laws(built.tensor_count(), built.op_count());
    return WithBatchScaling(std::move(built), laws);
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
    if (const std::optional<Draw> draw = DrawFor(graph_, op)) Count(op, *draw, spec);
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

  void Count(const Op& op, const Draw& draw, OpSpec& spec) {
    spec.type = draw.type + ".default";
    const auto counter = static_cast<int32_t>(spec.inputs.size());
    spec.inputs.push_back(counter_);
    spec.args = {draw.sized ? op.args[draw.size_at] : Value(InputRef{0}), Value(InputRef{counter}),
                 Value(seed_), Value(draws_++)};
    spec.args.insert(spec.args.end(), draw.numbers.begin(), draw.numbers.end());
    spec.args.push_back(Value(Value::List()));
    if (!draw.keeps_keywords) spec.attributes.clear();
  }

  Status AddIncrement() {
    OpSpec spec{.name = std::string(kCounterIncrement), .type = "aten.add_.Scalar"};
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
      const auto slopes = id.valid() ? laws.dimensions[id] : std::span<const DimensionLaw>();
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
