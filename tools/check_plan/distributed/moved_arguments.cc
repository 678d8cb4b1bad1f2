#include "check_plan/distributed/moved_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace placewright::check {
namespace {

struct Form {
  std::string_view type;
  bool list = false;   // its inputs are one argument, a list
  size_t numbers = 0;  // integers behind them
  size_t others = 0;   // arguments behind these
  size_t each = 0;     // of each input a list of so many integers, behind these
};

constexpr std::array kForms = {
    Form{"placewright.split.default", false, 5},
    Form{"placewright.concat.default", true, 2},
    Form{"placewright.add_n.default", true},
    Form{"placewright.pack.default", true},
    Form{"placewright.unpack.default", false, 1, 1},  // a shape
    Form{"placewright.all_reduce.default"},
    Form{"placewright.all_gather.default", false, 5},
    Form{"placewright.reduce_scatter.default", false, 5},
    Form{"placewright.broadcast.default"},
    Form{"placewright.all_to_all.default", false, 10},
    Form{"placewright.all_reduce.coalesced", true},
    Form{"placewright.all_gather.coalesced", true, 0, 0, 5},
    Form{"placewright.reduce_scatter.coalesced", true, 0, 0, 5},
    Form{"aten.zeros_like.default"},
    Form{"aten.div.Scalar", false, 1},
    Form{"aten.div.Tensor"},
    Form{"aten.copy_.default"},
    Form{"aten.zero_.default"},
};

bool IsListOf(size_t integers, const Value& value) {
  const Value::List* const list = value.AsList();
  return list != nullptr && list->size() == integers &&
         std::all_of(list->begin(), list->end(),
                     [](const Value& item) { return item.AsInt() != nullptr; });
}

std::string Differs(size_t at, const Value& made, const Value& due) {
  return fmt::format("has args[{}] {}, where {} is due", at, ToString(made), ToString(due));
}

}  // namespace

std::optional<std::string> WrongMovedArguments(const Op& op) {
  const auto* const form = std::find_if(kForms.begin(), kForms.end(),
                                        [&](const Form& one) { return one.type == op.type; });
  if (form == kForms.end()) return std::nullopt;
  std::vector<Value> due;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    due.emplace_back(InputRef{static_cast<int32_t>(i)});
  }
  if (form->list) due = {Value(Value::List(due))};
  const size_t lists = form->each > 0 ? op.inputs.size() : 0;
  const size_t count = due.size() + form->numbers + form->others + lists;
  if (op.args.size() != count) {
    return fmt::format("has {} arguments, where {} are due", op.args.size(), count);
  }
  for (size_t i = 0; i < due.size(); ++i) {
    if (!(op.args[i] == due[i])) return Differs(i, op.args[i], due[i]);
  }
  for (size_t i = due.size(); i < due.size() + form->numbers; ++i) {
    if (op.args[i].AsInt() != nullptr) continue;
    return fmt::format("has args[{}] {}, where an integer is due", i, ToString(op.args[i]));
  }
  for (size_t i = count - lists; i < count; ++i) {
    if (IsListOf(form->each, op.args[i])) continue;
    return fmt::format("has args[{}] {}, where {} integers are due", i, ToString(op.args[i]),
                       form->each);
  }
  if (op.attributes.empty()) return std::nullopt;
  return fmt::format("has the keyword argument {}, where none is due", op.attributes.front().name);
}

}  // namespace placewright::check
