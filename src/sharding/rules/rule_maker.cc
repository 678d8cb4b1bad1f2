#include "sharding/rules/rule_maker.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"
#include "graph/batch/numbers.h"

namespace placewright {
namespace {

const std::vector<int64_t> kNoShape;

int64_t ProductOf(const OpRule& rule, const std::vector<RuleAxisId>& axes) {
  __int128 product = 1;
  for (const RuleAxisId axis : axes) {
    product *= rule.axes[axis].size;
    if (product > kMaxQuantity) return -1;
  }
  return static_cast<int64_t>(product);
}

int32_t CountNumbers(const Value& value) {
  int32_t count = 0;
  NumberPlace place;
  VisitNumbersOf(value, place, [&](const Value&, const NumberPlace&) { ++count; });
  return count;
}

}  // namespace

RuleMaker::RuleMaker(const Graph& graph, OpId op) : graph_(graph), op_(graph.op(op)) {
  rule_.inputs.resize(op_.inputs.size());
  rule_.outputs.resize(op_.outputs.size());
}

const std::vector<int64_t>& RuleMaker::in(size_t input) const {
  return input < op_.inputs.size() ? graph_.tensor(op_.inputs[input]).shape : kNoShape;
}
const std::vector<int64_t>& RuleMaker::out(size_t output) const {
  return output < op_.outputs.size() ? graph_.tensor(op_.outputs[output]).shape : kNoShape;
}

int32_t RuleMaker::InputAt(size_t argument) const {
  if (argument >= op_.args.size()) return -1;
  const InputRef* const input = op_.args[argument].AsInput();
  return input == nullptr ? -1 : input->index;
}

const Value* RuleMaker::Argument(size_t position, std::string_view name) const {
  if (position < op_.args.size()) return &op_.args[position];
  for (const NamedValue& named : op_.attributes) {
    if (named.name == name) return &named.value;
  }
  return nullptr;
}

int64_t RuleMaker::Integer(size_t position, std::string_view name, int64_t otherwise) const {
  const Value* const value = Argument(position, name);
  const int64_t* const number = value == nullptr ? nullptr : value->AsInt();
  return number == nullptr ? otherwise : *number;
}

bool RuleMaker::Flag(size_t position, std::string_view name, bool otherwise) const {
  const Value* const value = Argument(position, name);
  if (value == nullptr) return otherwise;
  if (const bool* flag = value->AsBool()) return *flag;
  if (const int64_t* number = value->AsInt()) return *number != 0;
  return otherwise;
}

std::optional<std::vector<int64_t>> RuleMaker::Integers(size_t position,
                                                        std::string_view name) const {
  const Value* const value = Argument(position, name);
  if (value == nullptr) return std::nullopt;
  if (const int64_t* number = value->AsInt()) return std::vector<int64_t>{*number};
  const Value::List* const list = value->AsList();
  if (list == nullptr) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Value& item : *list) {
    const int64_t* const number = item.AsInt();
    if (number == nullptr) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

RuleAxisId RuleMaker::Axis(int64_t size, Parts parts) {
  return rule_.axes.push_back({size, parts});
}

TensorAxes RuleMaker::AxesOf(const std::vector<int64_t>& shape, Parts parts) {
  TensorAxes axes;
  for (const int64_t size : shape) axes.push_back({Axis(size, parts)});
  return axes;
}

TensorAxes RuleMaker::Broadcast(const std::vector<int64_t>& shape, const TensorAxes& axes,
                                const std::vector<int64_t>& full) {
  TensorAxes result(shape.size());
  if (shape.size() > full.size()) {
    Fail();
    return result;
  }
  const size_t before = full.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == full[before + i]) {
      result[i] = axes[before + i];
    } else if (shape[i] != 1) {
      Fail();
    }
  }
  return result;
}

void RuleMaker::Size(size_t position, std::string_view name, size_t element,
                     std::vector<RuleAxisId> axes, int64_t multiplier) {
  int32_t number = 0;
  const Value* value = nullptr;
  for (size_t i = 0; i < op_.args.size() && value == nullptr; ++i) {
    if (i == position) {
      value = &op_.args[i];
    } else {
      number += CountNumbers(op_.args[i]);
    }
  }
  for (size_t i = 0; i < op_.attributes.size() && value == nullptr; ++i) {
    if (op_.attributes[i].name == name) {
      value = &op_.attributes[i].value;
    } else {
      number += CountNumbers(op_.attributes[i].value);
    }
  }
  if (value == nullptr) return;
  if (const Value::List* list = value->AsList()) {
    if (element >= list->size()) return Fail();
    value = &(*list)[element];
    number += static_cast<int32_t>(element);
  } else if (element != 0) {
    return Fail();
  }
  const int64_t* const stated = value->AsInt();
  if (stated == nullptr || *stated < 0) return;
  if (*stated != multiplier * ProductOf(rule_, axes)) return Fail();
  rule_.sizes.push_back({number, multiplier, std::move(axes)});
}

void RuleMaker::Sizes(size_t position, std::string_view name, const TensorAxes& axes) {
  for (size_t i = 0; i < axes.size(); ++i) Size(position, name, i, axes[i]);
}

void RuleMaker::DivideByReduced() {
  std::vector<RuleAxisId> summed;
  for (const RuleAxisId axis : IdRange<RuleAxisId>(rule_.axes.size())) {
    if (rule_.axes[axis].parts == Parts::kSum) summed.push_back(axis);
  }
  rule_.divisor = ProductOf(rule_, summed);
  if (rule_.divisor < 0) Fail();
}

size_t RuleMaker::Dimension(int64_t stated, size_t rank) {
  if (stated < 0) stated += static_cast<int64_t>(rank);
  if (stated >= 0 && stated < static_cast<int64_t>(rank)) return static_cast<size_t>(stated);
  Fail();
  return 0;
}

bool RuleMaker::Fits(const TensorAxes& axes, const std::vector<int64_t>& shape) const {
  if (axes.size() != shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (ProductOf(rule_, axes[i]) != shape[i]) return false;
  }
  return true;
}

// At several arguments: a * a is not linear in a.
bool RuleMaker::StandsTwice(int32_t input) const {
  int count = 0;
  const std::function<void(const Value&)> visit = [&](const Value& value) {
    const InputRef* const reference = value.AsInput();
    count += reference != nullptr && reference->index == input ? 1 : 0;
    if (const Value::List* list = value.AsList()) {
      for (const Value& item : *list) visit(item);
    }
  };
  for (const Value& value : op_.args) visit(value);
  for (const NamedValue& named : op_.attributes) visit(named.value);
  return count > 1;
}

// Sums of what becomes another kind of number are not the number of the sum.
bool RuleMaker::IsAdditive(const std::vector<int32_t>& inputs) const {
  std::vector<DType> dtypes;
  for (const int32_t input : inputs) {
    if (StandsTwice(input)) return false;
    dtypes.push_back(dtype(static_cast<size_t>(input)));
  }
  for (const TensorId output : op_.outputs) dtypes.push_back(graph_.tensor(output).dtype);
  const auto is_float = [](DType type) {
    return type == DType::kF16 || type == DType::kBF16 || type == DType::kF32 ||
           type == DType::kF64 || type == DType::kC64 || type == DType::kC128;
  };
  return std::all_of(dtypes.begin(), dtypes.end(), is_float);
}

std::optional<OpRule> RuleMaker::Take() && {
  if (failed_) return std::nullopt;
  for (size_t i = 0; i < op_.inputs.size() && !repeats_; ++i) {
    if (StandsTwice(static_cast<int32_t>(i))) return std::nullopt;
  }
  std::erase_if(rule_.linear, [&](const auto& inputs) { return !IsAdditive(inputs); });
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    if (!Fits(rule_.inputs[i], in(i))) return std::nullopt;
  }
  for (size_t i = 0; i < op_.outputs.size(); ++i) {
    if (!Fits(rule_.outputs[i], out(i))) return std::nullopt;
  }
  return std::move(rule_);
}

}  // namespace placewright
