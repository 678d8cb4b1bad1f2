#include "check_plan/transforms/congruence.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/text.h"
#include "check_plan/transforms/value_numbers.h"
#include "sharding/separable_results.h"
#include "transforms/offload.h"

namespace placewright::check {
namespace {

constexpr std::string_view kCountedDraw = "placewright.counter_";
constexpr size_t kDrawAt = 3;  // its number, among its arguments

class CongruenceChecker {
 public:
  CongruenceChecker(const Graph& original, const Graph& step)
      : original_(original), step_(step), due_(original, table_), found_(step, table_) {
    for (const OpId op : original.ops()) calls_.insert(due_.Call(op));
  }

  MaybeViolation Check() const {
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckInputs());
    for (const OpId op : original_.ops()) {
      if (step_.FindOp(original_.op(op).name).valid()) continue;
      return Violation{ViolationKind::kMissingOp,
                       fmt::format("the step has no op {}", Name(original_, op)), "transforms"};
    }
    for (const OpId op : step_.ops()) {
      const OpId same = original_.FindOp(step_.op(op).name);
      CHECK_PLAN_RETURN_IF_VIOLATED(same.valid() ? Compare(op, same) : CheckCopy(op));
    }
    return CheckEnd();
  }

 private:
  static std::string Name(const Graph& graph, OpId op) { return Printable(graph.op(op).name, 80); }
  static std::string Name(const Graph& graph, TensorId id) {
    return Printable(graph.tensor(id).name, 80);
  }
  Violation At(OpId op, ViolationKind kind, std::string message) const {
    return {kind, std::move(message), fmt::format("ops[{}] ({})", op.value(), Name(step_, op))};
  }

  MaybeViolation CheckInputs() const {
    size_t inputs = 0;
    for (const TensorId id : original_.tensors()) {
      const Tensor& tensor = original_.tensor(id);
      if (tensor.producer.valid()) continue;
      ++inputs;
      const TensorId other = step_.FindTensor(tensor.name);
      const bool same = other.valid() && !step_.tensor(other).producer.valid() &&
                        step_.tensor(other).kind == tensor.kind &&
                        step_.tensor(other).dtype == tensor.dtype &&
                        step_.tensor(other).shape == tensor.shape;
      if (same) continue;
      return Violation{ViolationKind::kMissingOp,
                       fmt::format("the step has no such input {}", Name(original_, id)),
                       "transforms"};
    }
    for (const TensorId id : step_.tensors()) inputs -= step_.tensor(id).producer.valid() ? 0 : 1;
    if (inputs == 0) return std::nullopt;
    return Violation{ViolationKind::kMissingOp, "the step has inputs that the original has not",
                     "transforms"};
  }

  MaybeViolation CheckCopy(OpId op) const {
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckWrites(op));
    const std::optional<GradientMask> mask = SeparableResults(step_.op(op));
    if (mask) CHECK_PLAN_RETURN_IF_VIOLATED(CheckMask(op, step_.op(op), *mask));
    if (step_.op(op).is_view || calls_.contains(found_.Call(op))) return std::nullopt;
    const bool copies = HostCopyOf(step_.op(op)) != HostCopy::kNone &&
                        found_.Last(step_.op(op).outputs.front()) == found_.Read(op, 0);
    if (copies) return std::nullopt;
    // Of an op that it is named after, what differs.
    const std::string_view name = step_.op(op).name;
    const OpId origin = original_.FindOp(name.substr(0, name.rfind('@')));
    if (origin.valid()) CHECK_PLAN_RETURN_IF_VIOLATED(Compare(op, origin));
    return At(op, ViolationKind::kWrongArgument,
              fmt::format("{} makes what no op of the original makes", Name(step_, op)));
  }

  MaybeViolation CheckWrites(OpId op) const {
    for (const TensorId written : step_.op(op).writes) {
      const OpId maker = step_.storage(step_.tensor(written).storage).versions.front().writer;
      if (maker.valid() && !original_.FindOp(step_.op(maker).name).valid()) continue;
      return At(op, ViolationKind::kDoubledSample,
                fmt::format("{} writes {} a second time", Name(step_, op), Name(step_, written)));
    }
    return std::nullopt;
  }

  MaybeViolation Compare(OpId id, OpId due_id) const {
    const Op& op = step_.op(id);
    const Op& due = original_.op(due_id);
    CHECK_PLAN_RETURN_IF_VIOLATED(CompareArguments(id, due));
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const int64_t value = due_.Read(due_id, i);
      if (found_.Read(id, i) == value) continue;
      return DifferentInput(id, i, value, Name(original_, due.inputs[i]));
    }
    return std::nullopt;
  }

  MaybeViolation CompareArguments(OpId id, const Op& due) const {
    const Op& op = step_.op(id);
    const std::optional<GradientMask> all = SeparableResults(due), some = SeparableResults(op);
    const bool apart = all && some && *all != *some;
    if (apart) {
      CHECK_PLAN_RETURN_IF_VIOLATED(CheckMask(id, due, *all));
    } else if (op.type != due.type || op.inputs.size() != due.inputs.size() ||
               op.outputs.size() != due.outputs.size()) {
      return At(id, ViolationKind::kWrongArgument,
                fmt::format("{} of {} to {} tensors is {} of {} to {}", op.type, op.inputs.size(),
                            op.outputs.size(), due.type, due.inputs.size(), due.outputs.size()));
    }
    if (ArgumentsOf(op, apart) == ArgumentsOf(due, apart)) return std::nullopt;
    const bool draws = op.type.starts_with(kCountedDraw) && op.args.size() > kDrawAt &&
                       due.args.size() > kDrawAt && op.args[kDrawAt] != due.args[kDrawAt];
    if (draws) {
      return At(id, ViolationKind::kWrongArgument,
                fmt::format("{} draws as number {}, the original as number {}", Name(step_, id),
                            ToString(op.args[kDrawAt]), ToString(due.args[kDrawAt])));
    }
    return At(id, ViolationKind::kWrongArgument,
              fmt::format("{} has the arguments {}, the original {}", Name(step_, id),
                          Printable(ArgumentsOf(op)), Printable(ArgumentsOf(due))));
  }

  // It makes some of the results: each that it has is of its mask, and of the original's.
  MaybeViolation CheckMask(OpId id, const Op& due, const GradientMask& all) const {
    const Op& op = step_.op(id);
    const GradientMask mask = *SeparableResults(op);
    bool right = op.inputs.size() == due.inputs.size();
    for (size_t result = 0; result < mask.size(); ++result) right &= all[result] || !mask[result];
    for (const TensorId output : op.outputs) {
      const auto result = static_cast<size_t>(step_.tensor(output).output_index);
      right = right && result < mask.size() && mask[result];
    }
    if (right) return std::nullopt;
    return At(id, ViolationKind::kWrongArgument,
              fmt::format("{} makes results that its mask leaves out", Name(step_, id)));
  }

  Violation DifferentInput(OpId id, size_t input, int64_t value, const std::string& due) const {
    const Op& op = step_.op(id);
    const Tensor& tensor = step_.tensor(op.inputs[input]);
    const auto versions = static_cast<int32_t>(step_.storage(tensor.storage).versions.size());
    for (int32_t v = 0; v < versions; ++v) {
      if (found_.ReadAt(op.inputs[input], v) != value) continue;
      return At(id, ViolationKind::kStaleParameter,
                fmt::format("{} reads {} at version {}, where version {} is due", Name(step_, id),
                            Name(step_, op.inputs[input]), op.input_versions[input], v));
    }
    return At(id, ViolationKind::kWrongInput,
              fmt::format("{} reads {}, which is not what {} holds", Name(step_, id),
                          Name(step_, op.inputs[input]), due));
  }

  MaybeViolation CheckEnd() const {
    const auto outputs = step_.outputs(), due = original_.outputs();
    for (size_t i = 0; i < due.size(); ++i) {
      if (i < outputs.size() && found_.Last(outputs[i]) == due_.Last(due[i])) continue;
      return Violation{ViolationKind::kWrongInput,
                       fmt::format("output {} is not {}", i, Name(original_, due[i])), "outputs"};
    }
    for (const StorageId id : original_.storages()) {
      const TensorId first = original_.storage(id).first;
      if (original_.tensor(first).producer.valid()) continue;
      const TensorId other = step_.FindTensor(original_.tensor(first).name);
      if (found_.LastContent(step_.tensor(other).storage) == due_.LastContent(id)) continue;
      return Violation{ViolationKind::kStaleParameter,
                       fmt::format("{} is left with another content", Name(original_, first)),
                       "transforms"};
    }
    return std::nullopt;
  }

  const Graph& original_;
  const Graph& step_;
  ValueTable table_;
  const StepValues due_, found_;
  std::unordered_set<int64_t> calls_;
};

}  // namespace

MaybeViolation CheckCongruence(const Graph& original, const Graph& step) {
  return CongruenceChecker(original, step).Check();
}

}  // namespace placewright::check
