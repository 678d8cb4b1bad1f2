#include "check_plan/transforms/precision.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/text.h"
#include "check_plan/transforms/value_numbers.h"
#include "transforms/op_copy.h"
#include "transforms/precision.h"

namespace placewright::check {
namespace {

constexpr std::string_view kToType = "aten._to_copy.default";

class PrecisionChecker {
 public:
  PrecisionChecker(const Graph& original, const Graph& step, PrecisionTypes types)
      : original_(original),
        step_(step),
        types_(std::move(types)),
        of_(step.tensor_count()),
        casts_(step.tensor_count(), 0) {}

  MaybeViolation Check() {
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckInputs());
    for (const OpId op : original_.ops()) {
      if (step_.FindOp(original_.op(op).name).valid()) continue;
      return Violation{ViolationKind::kMissingOp,
                       fmt::format("the step has no op {}", Name(original_, op)), "transforms"};
    }
    for (const OpId op : step_.ops()) {
      const OpId same = original_.FindOp(step_.op(op).name);
      CHECK_PLAN_RETURN_IF_VIOLATED(same.valid() ? Compare(op, same) : CheckCast(op));
    }
    return CheckEnd();
  }

 private:
  // Which tensor of the original it is, up to casts, and with what content.
  struct Of {
    TensorId tensor;
    int32_t version = 0;  // of a cast: at which it was cast
  };

  static std::string Name(const Graph& graph, OpId op) { return Printable(graph.op(op).name, 80); }
  static std::string Name(const Graph& graph, TensorId id) {
    return Printable(graph.tensor(id).name, 80);
  }
  Violation At(OpId op, ViolationKind kind, std::string message) const {
    return {kind, std::move(message), fmt::format("ops[{}] ({})", op.value(), Name(step_, op))};
  }
  bool MayBeMaster(const Tensor& tensor) const {
    const bool updated = original_.storage(tensor.storage).versions.size() > 1;
    return updated &&
           (tensor.kind == TensorKind::kParameter || tensor.kind == TensorKind::kOptimizerState);
  }

  MaybeViolation CheckInputs() {
    size_t inputs = 0;
    for (const TensorId id : step_.tensors()) inputs += step_.tensor(id).producer.valid() ? 0 : 1;
    for (const TensorId id : original_.tensors()) {
      const Tensor& tensor = original_.tensor(id);
      if (tensor.producer.valid()) continue;
      const TensorId other = step_.FindTensor(tensor.name);
      const bool there = other.valid() && !step_.tensor(other).producer.valid() &&
                         step_.tensor(other).kind == tensor.kind &&
                         step_.tensor(other).shape == tensor.shape &&
                         (step_.tensor(other).dtype == tensor.dtype ||
                          (MayBeMaster(tensor) && step_.tensor(other).dtype == types_.master));
      if (!there) {
        return Violation{ViolationKind::kMissingOp,
                         fmt::format("the step has no such input {}", Name(original_, id)),
                         "transforms"};
      }
      of_[other] = {id, 0};
      --inputs;
    }
    if (inputs == 0) return std::nullopt;
    return Violation{ViolationKind::kMissingOp, "the step has inputs that the original has not",
                     "transforms"};
  }

  // Of the original's storage, as the op of the step reads it. What was cast is there as it was then, and what the update
  // does to a cast in place comes on top.
  int32_t VersionRead(OpId op, size_t input) const {
    const TensorId id = step_.op(op).inputs[input];
    const int32_t read = step_.op(op).input_versions[input];
    return casts_[Root(id)] > 0 ? of_[Root(id)].version + read : read;
  }
  // The tensor whose storage it is in.
  TensorId Root(TensorId id) const { return step_.storage(step_.tensor(id).storage).first; }

  MaybeViolation Compare(OpId id, OpId due_id) {
    const Op& op = step_.op(id);
    const Op& due = original_.op(due_id);
    const bool update = due.phase == Phase::kOptimizer;
    if (op.type != due.type || op.phase != due.phase || ArgumentsOf(op) != ArgumentsOf(due) ||
        op.inputs.size() != due.inputs.size() || op.outputs.size() != due.outputs.size()) {
      return At(id, ViolationKind::kWrongArgument,
                fmt::format("{} is not the original's op", Name(step_, id)));
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      CHECK_PLAN_RETURN_IF_VIOLATED(CompareInput(id, i, due.inputs[i], due.input_versions[i]));
      CHECK_PLAN_RETURN_IF_VIOLATED(
          CheckType(id, op.inputs[i], original_.tensor(due.inputs[i]).dtype, update));
    }
    if (update) CHECK_PLAN_RETURN_IF_VIOLATED(CheckGradients(id, due_id));
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const Tensor& made = original_.tensor(due.outputs[i]);
      CHECK_PLAN_RETURN_IF_VIOLATED(CheckType(id, op.outputs[i], made.dtype, update));
      if (step_.tensor(op.outputs[i]).shape != made.shape) {
        return At(id, ViolationKind::kWrongArgument,
                  fmt::format("{} has another shape", Name(step_, op.outputs[i])));
      }
      of_[op.outputs[i]] = {due.outputs[i], made.version};
    }
    return std::nullopt;
  }

  // What is updated in another type is so by gradients of that type, which were summed in theirs.
  MaybeViolation CheckGradients(OpId id, OpId due_id) const {
    const Op& op = step_.op(id);
    const Op& due = original_.op(due_id);
    bool wider = false;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const bool other = step_.tensor(op.inputs[i]).dtype != original_.tensor(due.inputs[i]).dtype;
      wider = wider || other || casts_[Root(op.inputs[i])] > 0;
    }
    for (size_t i = 0; wider && i < op.inputs.size(); ++i) {
      const Tensor& source = original_.tensor(due.inputs[i]);
      if (!source.producer.valid() && casts_[Root(op.inputs[i])] > 0) {
        return At(id, ViolationKind::kWrongInput,
                  fmt::format("{} reads {}, a cast of what it updates", Name(step_, id),
                              Name(step_, op.inputs[i])));
      }
      const bool gradient = source.producer.valid() && IsFloat(source.dtype) &&
                            original_.op(source.producer).phase != Phase::kOptimizer;
      const DType reduce = types_.reduce.value_or(source.dtype);
      const int casts = (reduce != source.dtype ? 1 : 0) + (reduce != types_.master ? 1 : 0);
      if (!gradient || casts_[Root(op.inputs[i])] == casts) continue;
      return At(
          id, ViolationKind::kWrongInput,
          fmt::format("{} reads {}, which was not summed in {} and cast to {}", Name(step_, id),
                      Name(step_, op.inputs[i]), ToString(reduce), ToString(types_.master)));
    }
    return std::nullopt;
  }
  static bool IsFloat(DType dtype) {
    return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kBF16 ||
           dtype == DType::kF16;
  }

  MaybeViolation CompareInput(OpId id, size_t input, TensorId due, int32_t version) const {
    const TensorId read = step_.op(id).inputs[input];
    if (of_[read].tensor != due) {
      return At(id, ViolationKind::kWrongInput,
                fmt::format("{} reads {}, where {} is due", Name(step_, id), Name(step_, read),
                            Name(original_, due)));
    }
    const int32_t found = VersionRead(id, input);
    if (found == version) return std::nullopt;
    return At(id, ViolationKind::kStaleParameter,
              fmt::format("{} reads {} at version {}, where version {} is due", Name(step_, id),
                          Name(step_, read), found, version));
  }

  MaybeViolation CheckType(OpId id, TensorId tensor, DType due, bool update) const {
    const DType found = step_.tensor(tensor).dtype;
    if (found == due || (update && found == types_.master)) return std::nullopt;
    return At(id, ViolationKind::kWrongInput,
              fmt::format("{} has {} in {}, where {} is due", Name(step_, id), Name(step_, tensor),
                          ToString(found), ToString(due)));
  }

  MaybeViolation CheckCast(OpId id) {
    const Op& op = step_.op(id);
    const bool casts = op.type == kToType && op.inputs.size() == 1 && op.outputs.size() == 1 &&
                       op.writes.empty() && op.args == std::vector<Value>{Value(InputRef{0})} &&
                       op.attributes.size() == 1 && op.attributes[0].name == "dtype" &&
                       of_[op.inputs[0]].tensor.valid() &&
                       step_.tensor(op.outputs[0]).shape == step_.tensor(op.inputs[0]).shape;
    if (!casts) {
      return At(id, ViolationKind::kWrongArgument,
                fmt::format("{} makes what no op of the original makes", Name(step_, id)));
    }
    const TensorId from = op.inputs[0], to = op.outputs[0];
    const Tensor& source = original_.tensor(of_[from].tensor);
    const DType type = step_.tensor(to).dtype;
    const std::string stated = op.attributes[0].value.AsString() == nullptr
                                   ? std::string()
                                   : *op.attributes[0].value.AsString();
    const bool parameter = !source.producer.valid();
    const DType reduce = types_.reduce.value_or(source.dtype);
    const int casts_before = casts_[from];
    const bool due = parameter
                         ? casts_before == 0 && type == source.dtype && op.input_versions[0] == 0
                         : (casts_before == 0 && type == reduce) ||
                               (type == types_.master && casts_before < 2 &&
                                (casts_before == 1 || reduce == source.dtype));
    if (!due || stated != WordOf(type)) {
      return At(id, ViolationKind::kWrongArgument,
                fmt::format("{} casts {} to {}", Name(step_, id), Name(step_, from),
                            stated.empty() ? "no type" : Printable(stated, 40)));
    }
    of_[to] = {of_[from].tensor, VersionRead(id, 0)};
    casts_[to] = casts_before + 1;
    return std::nullopt;
  }

  MaybeViolation CheckEnd() const {
    const auto outputs = step_.outputs(), due = original_.outputs();
    for (size_t i = 0; i < due.size(); ++i) {
      if (i < outputs.size() && of_[outputs[i]].tensor == due[i] && casts_[outputs[i]] == 0)
        continue;
      return Violation{ViolationKind::kWrongInput,
                       fmt::format("output {} is not {}", i, Name(original_, due[i])), "outputs"};
    }
    for (const StorageId id : original_.storages()) {
      const TensorId first = original_.storage(id).first;
      if (original_.tensor(first).producer.valid()) continue;
      const StorageId other = step_.tensor(step_.FindTensor(original_.tensor(first).name)).storage;
      const auto &found = step_.storage(other).versions, &all = original_.storage(id).versions;
      bool same = found.size() == all.size();
      for (size_t v = 1; same && v < all.size(); ++v) {
        same = step_.op(found[v].writer).name == original_.op(all[v].writer).name;
      }
      if (same) continue;
      return Violation{ViolationKind::kStaleParameter,
                       fmt::format("{} is left with another content", Name(original_, first)),
                       "transforms"};
    }
    return std::nullopt;
  }

  const Graph& original_;
  const Graph& step_;
  const PrecisionTypes types_;
  IdVector<TensorId, Of> of_;
  IdVector<TensorId, int> casts_;  // between it and what it is of
};

}  // namespace

MaybeViolation CheckPrecision(const Graph& original, const Graph& step,
                              const std::vector<std::string>& words) {
  Result<PrecisionTypes> types = ParsePrecision(words);
  if (!types.ok()) {
    return Violation{ViolationKind::kWrongArgument, types.error().message, "transforms"};
  }
  return PrecisionChecker(original, step, types.Take()).Check();
}

}  // namespace placewright::check
