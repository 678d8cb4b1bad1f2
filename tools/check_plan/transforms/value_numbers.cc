#include "check_plan/transforms/value_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "sharding/op_rule.h"
#include "sharding/separable_results.h"
#include "transforms/offload.h"

namespace placewright::check {
namespace {

bool DrawsInSequence(const Graph& step, OpId op) {
  const std::optional<OpRule> rule = RuleOf(step, op);
  return rule && rule->draws_random;
}

// (x, weight, bias, running mean, running variance, training, ...)
bool NormsByBatch(const Op& op) {
  constexpr size_t kTraining = 5;
  if (!op.type.starts_with("aten.native_batch_norm.") || op.args.size() <= kTraining) return false;
  const bool* const training = op.args[kTraining].AsBool();
  return training != nullptr && *training;
}
bool IsRunningStatistic(size_t argument) { return argument == 3 || argument == 4; }

// References are left to `refer`.
template <class Refer>
void AddValue(const Value& value, const Refer& refer, std::string& key) {
  if (const InputRef* const reference = value.AsInput()) {
    refer(reference->index, key);
  } else if (const Value::List* const list = value.AsList()) {
    key += '[';
    for (const Value& item : *list) {
      AddValue(item, refer, key);
      key += ',';
    }
    key += ']';
  } else if (const double* const number = value.AsDouble()) {
    key += fmt::format("r{:x}", std::bit_cast<uint64_t>(*number));
  } else {
    key += ToString(value);
  }
}

}  // namespace

StepValues::StepValues(const Graph& step, ValueTable& table)
    : step_(step), table_(table), contents_(step.storage_count()), calls_(step.op_count()) {
  IdVector<OpId, std::vector<std::pair<StorageId, int32_t>>> written(step.op_count());
  for (const StorageId id : step.storages()) {
    const std::vector<Version>& versions = step.storage(id).versions;
    contents_[id].resize(versions.size());
    for (size_t v = 0; v < versions.size(); ++v) {
      if (versions[v].writer.valid()) {
        written[versions[v].writer].emplace_back(id, static_cast<int32_t>(v));
      } else {
        contents_[id][v] = table.Number("input " + step.tensor(step.storage(id).first).name);
      }
    }
  }
  for (const OpId op : step.ops()) {
    calls_[op] = table.Number(KeyOf(op, /*statistics=*/false));
    const int64_t write = table.Number(KeyOf(op, /*statistics=*/true));
    const Op& made = step.op(op);
    for (const auto& [storage, version] : written[op]) {
      if (IsCopyOfAll(op)) {
        const TensorId copied = made.inputs.front();
        contents_[storage][static_cast<size_t>(version)] =
            Content(step.tensor(copied).storage, made.input_versions.front());
        continue;
      }
      std::string key;
      if (version == 0) {
        const auto output =
            std::find_if(made.outputs.begin(), made.outputs.end(),
                         [&](TensorId id) { return step.tensor(id).storage == storage; });
        const int32_t index = output == made.outputs.end() ? -1 : step.tensor(*output).output_index;
        key = fmt::format("result {} of {}", index, calls_[op]);
      } else {
        const auto input = std::find_if(made.writes.begin(), made.writes.end(), [&](TensorId id) {
          return step.tensor(id).storage == storage;
        });
        key = fmt::format("write {} of {}", input - made.writes.begin(), write);
      }
      contents_[storage][static_cast<size_t>(version)] = table.Number(std::move(key));
    }
  }
}

// A copy to the host or back, of which all is seen as what it copies.
bool StepValues::IsCopyOfAll(OpId id) const {
  const Op& op = step_.op(id);
  if (HostCopyOf(op) == HostCopy::kNone) return false;
  const Tensor &from = step_.tensor(op.inputs.front()), &to = step_.tensor(op.outputs.front());
  return from.offset == to.offset && from.dtype == to.dtype && from.shape == to.shape &&
         from.strides == to.strides;
}

std::string StepValues::KeyOf(OpId id, bool statistics) const {
  const Op& op = step_.op(id);
  std::string key = fmt::format("op {} ", op.type);
  if (DrawsInSequence(step_, id)) key += op.name;
  std::vector<bool> named(op.inputs.size(), false);
  const bool separable = SeparableResults(op).has_value();
  for (size_t i = 0; i < op.args.size(); ++i) {
    if (separable && i == kMaskOfResults) continue;
    const InputRef* const reference = op.args[i].AsInput();
    if (!statistics && NormsByBatch(op) && IsRunningStatistic(i)) {
      if (reference != nullptr) named[static_cast<size_t>(reference->index)] = true;
      key += "-;";
      continue;
    }
    AddArgument(id, op.args[i], named, key);
    key += ';';
  }
  for (const NamedValue& attribute : op.attributes) {
    key += attribute.name + '=';
    AddArgument(id, attribute.value, named, key);
    key += ';';
  }
  // What no argument names.
  for (size_t i = 0; i < named.size(); ++i) {
    if (!named[i]) key += fmt::format("#{};", Read(id, i));
  }
  return key;
}

void StepValues::AddArgument(OpId op, const Value& value, std::vector<bool>& named,
                             std::string& key) const {
  const auto refer = [&](int32_t index, std::string& text) {
    const auto input = static_cast<size_t>(index);
    if (input >= named.size()) return;
    named[input] = true;
    text += fmt::format("#{}", Read(op, input));
  };
  AddValue(value, refer, key);
}

int64_t StepValues::Read(OpId op, size_t input) const {
  return ReadAt(step_.op(op).inputs[input], step_.op(op).input_versions[input]);
}

int64_t StepValues::Last(TensorId tensor) const {
  return Through(tensor, LastContent(step_.tensor(tensor).storage));
}

int64_t StepValues::Through(TensorId id, int64_t content) const {
  const Tensor& tensor = step_.tensor(id);
  return table_.Number(fmt::format("of {} from {} {} [{}] strides [{}]", content,
                                   tensor.offset.count, ToString(tensor.dtype),
                                   fmt::join(tensor.shape, ","), fmt::join(tensor.strides, ",")));
}

std::string ArgumentsOf(const Op& op, bool but_mask) {
  const auto refer = [](int32_t, std::string& text) { text += '%'; };
  std::string key;
  for (size_t i = 0; i < op.args.size(); ++i) {
    if (but_mask && i == kMaskOfResults) continue;
    AddValue(op.args[i], refer, key);
    key += ';';
  }
  for (const NamedValue& attribute : op.attributes) {
    key += attribute.name + '=';
    AddValue(attribute.value, refer, key);
    key += ';';
  }
  return key;
}

}  // namespace placewright::check
