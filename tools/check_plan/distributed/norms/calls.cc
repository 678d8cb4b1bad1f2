#include "check_plan/distributed/norms/calls.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace placewright::check {
namespace {

using Values = std::optional<std::vector<NormValue>>;

// The arguments of an op, by position.
class NormArgs {
 public:
  NormArgs(const Op& op, const std::vector<const NormValue*>& inputs,
           const std::vector<NormPart>& parts)
      : parts_(parts), op_(op), inputs_(inputs) {}

  // nullptr: none there.
  const NormValue* Tensor(size_t at) const { return Of(op_.args[at]); }
  bool IsNone(size_t at) const { return op_.args[at].IsNone(); }
  bool Is(size_t at, bool flag) const { return op_.args[at] == Value(flag); }
  bool Is(size_t at, const Value& value) const { return op_.args[at] == value; }
  std::optional<double> Number(size_t at) const { return NumberOf(op_.args[at]); }
  std::optional<int64_t> Integer(size_t at) const {
    const int64_t* const number = op_.args[at].AsInt();
    return number == nullptr ? std::nullopt : std::optional<int64_t>(*number);
  }
  // Nothing where one of the list is none.
  std::optional<std::vector<int64_t>> Integers(size_t at) const {
    const Value::List* const list = op_.args[at].AsList();
    if (list == nullptr) return std::nullopt;
    std::vector<int64_t> numbers;
    for (const Value& item : *list) {
      if (item.AsInt() == nullptr) return std::nullopt;
      numbers.push_back(*item.AsInt());
    }
    return numbers;
  }
  std::vector<const NormValue*> Tensors(size_t at) const {
    std::vector<const NormValue*> tensors;
    const Value::List* const list = op_.args[at].AsList();
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) tensors.push_back(Of((*list)[i]));
    return tensors;
  }
  std::optional<double> Named(std::string_view name, double otherwise) const {
    for (const NamedValue& named : op_.attributes) {
      if (named.name == name) return NumberOf(named.value);
    }
    return otherwise;
  }
  const std::vector<double>& WeightsOf(const NormValue& value) const {
    return parts_[static_cast<size_t>(value.part)].weights;
  }

 private:
  static std::optional<double> NumberOf(const Value& value) {
    if (const double* number = value.AsDouble()) return *number;
    if (const int64_t* number = value.AsInt()) return static_cast<double>(*number);
    return std::nullopt;
  }
  const NormValue* Of(const Value& value) const {
    const InputRef* const input = value.AsInput();
    const bool there =
        input != nullptr && input->index >= 0 && static_cast<size_t>(input->index) < inputs_.size();
    return there ? inputs_[static_cast<size_t>(input->index)] : nullptr;
  }

  const std::vector<NormPart>& parts_;
  const Op& op_;
  const std::vector<const NormValue*>& inputs_;
};

Values One(std::optional<NormValue> value) {
  if (!value) return std::nullopt;
  std::vector<NormValue> values;
  values.push_back(*std::move(value));
  return values;
}

bool IsSmall(const NormValue* value, size_t rank) {
  return value != nullptr && value->part < 0 && value->shape.size() == rank;
}

Values Same(const NormArgs& args) {
  if (args.Tensor(0) == nullptr) return std::nullopt;
  return One(*args.Tensor(0));
}

// (x, None, None, momentum): mean and biased variance of all elements of a channel.
Values PartStatistics(const NormArgs& args) {
  const NormValue* const x = args.Tensor(0);
  if (x == nullptr || x->part < 0 || !args.IsNone(1) || !args.IsNone(2)) return std::nullopt;
  const std::vector<double>& weights = args.WeightsOf(*x);
  const size_t channels = ChannelsOf(x->shape);
  NormValue mean{{x->shape[1]}, std::vector<double>(channels), -1};
  NormValue variance = mean;
  for (size_t c = 0; c < channels; ++c) {
    double count = 0, sum = 0, squares = 0;
    for (size_t row = 0; row < weights.size(); ++row) {
      count += weights[row];
      sum += weights[row] * x->numbers[row * channels + c];
    }
    for (size_t row = 0; row < weights.size(); ++row) {
      const double away = x->numbers[row * channels + c] - sum / count;
      squares += weights[row] * away * away;
    }
    mean.numbers[c] = sum / count;
    variance.numbers[c] = squares / count;
  }
  return std::vector<NormValue>{std::move(mean), std::move(variance)};
}

Values Full(const NormArgs& args) {
  const auto shape = args.Integers(1);
  const auto number = args.Number(2);
  if (args.Tensor(0) == nullptr || !shape || *shape != std::vector<int64_t>{1} || !number) {
    return std::nullopt;
  }
  return One(NormValue{*shape, {*number}, -1});
}

Values Cat(const NormArgs& args) {
  NormValue joined{{0}, {}, -1};
  if (!args.Is(1, Value(int64_t{0}))) return std::nullopt;
  for (const NormValue* const value : args.Tensors(0)) {
    if (!IsSmall(value, 1)) return std::nullopt;
    joined.numbers.insert(joined.numbers.end(), value->numbers.begin(), value->numbers.end());
  }
  joined.shape[0] = static_cast<int64_t>(joined.numbers.size());
  return One(std::move(joined));
}

Values View(const NormArgs& args) {
  const NormValue* const value = args.Tensor(0);
  const auto shape = args.Integers(1);
  const bool fits =
      value != nullptr && value->part < 0 && shape && CountOf(*shape) == CountOf(value->shape);
  if (!fits) return std::nullopt;
  return One(NormValue{*shape, value->numbers, -1});
}

// [from, to) of the last dimension.
std::optional<NormValue> Columns(const NormValue& value, int64_t from, int64_t to) {
  const int64_t width = value.shape.back();
  if (from < 0 || from >= to || to > width) return std::nullopt;
  NormValue made{value.shape, {}, -1};
  made.shape.back() = to - from;
  const int64_t rows = CountOf(value.shape) / width;
  for (int64_t row = 0; row < rows; ++row) {
    const auto begin = value.numbers.begin() + row * width;
    made.numbers.insert(made.numbers.end(), begin + from, begin + to);
  }
  return made;
}

Values Slice(const NormArgs& args) {
  const NormValue* const value = args.Tensor(0);
  const auto dimension = args.Integer(1), from = args.Integer(2), to = args.Integer(3);
  if (value == nullptr || value->part >= 0 || value->shape.empty() || !dimension || !from || !to) {
    return std::nullopt;
  }
  const bool last = *dimension == static_cast<int64_t>(value->shape.size()) - 1;
  if (!last || !args.Is(4, Value(int64_t{1}))) return std::nullopt;
  return One(Columns(*value, *from, *to));
}

// A row or a column of a matrix.
Values Select(const NormArgs& args) {
  const NormValue* const value = args.Tensor(0);
  const auto dimension = args.Integer(1), index = args.Integer(2);
  if (!IsSmall(value, 2) || !dimension || !index) return std::nullopt;
  const int64_t rows = value->shape[0], columns = value->shape[1];
  if (*dimension == 1) {
    auto column = Columns(*value, *index, *index + 1);
    if (column) column->shape.pop_back();
    return One(std::move(column));
  }
  if (*dimension != 0 || *index < 0 || *index >= rows) return std::nullopt;
  const auto begin = value->numbers.begin() + *index * columns;
  return One(NormValue{{columns}, std::vector<double>(begin, begin + columns), -1});
}

Values Transposed(const NormArgs& args) {
  const NormValue* const value = args.Tensor(0);
  if (!IsSmall(value, 2)) return std::nullopt;
  const auto rows = static_cast<size_t>(value->shape[0]);
  const auto columns = static_cast<size_t>(value->shape[1]);
  NormValue made{{value->shape[1], value->shape[0]}, {}, -1};
  for (size_t c = 0; c < columns; ++c) {
    for (size_t row = 0; row < rows; ++row) {
      made.numbers.push_back(value->numbers[row * columns + c]);
    }
  }
  return One(std::move(made));
}

template <class F>
Values Both(const NormArgs& args, F f) {
  if (args.Tensor(0) == nullptr || args.Tensor(1) == nullptr) return std::nullopt;
  return One(Elementwise({args.Tensor(0), args.Tensor(1)},
                         [&](const std::vector<double>& of) { return f(of[0], of[1]); }));
}

template <class F>
Values WithNumber(const NormArgs& args, F f) {
  const auto number = args.Number(1);
  if (args.Tensor(0) == nullptr || !number) return std::nullopt;
  return One(Elementwise({args.Tensor(0)},
                         [&](const std::vector<double>& of) { return f(of[0], *number); }));
}

Values Sub(const NormArgs& args) {
  return Both(args, [](double a, double b) { return a - b; });
}
Values Mul(const NormArgs& args) {
  return Both(args, [](double a, double b) { return a * b; });
}
Values AddNumber(const NormArgs& args) {
  return WithNumber(args, [](double a, double b) { return a + b; });
}
Values MulNumber(const NormArgs& args) {
  return WithNumber(args, [](double a, double b) { return a * b; });
}

Values Rsqrt(const NormArgs& args) {
  if (args.Tensor(0) == nullptr) return std::nullopt;
  return One(Elementwise({args.Tensor(0)},
                         [](const std::vector<double>& of) { return 1 / std::sqrt(of[0]); }));
}

// (a, b, number), in place on a.
Values Lerp(const NormArgs& args) {
  const NormValue *const from = args.Tensor(0), *const to = args.Tensor(1);
  const auto number = args.Number(2);
  if (from == nullptr || to == nullptr || from->shape != to->shape || !number) return std::nullopt;
  return One(Elementwise({from, to}, [&](const std::vector<double>& of) {
    return of[0] + *number * (of[1] - of[0]);
  }));
}

// (a, b, c, value=): a + value b c.
Values Addcmul(const NormArgs& args) {
  const auto factor = args.Named("value", 1);
  for (size_t i = 0; i < 3; ++i) {
    if (args.Tensor(i) == nullptr) return std::nullopt;
  }
  if (!factor) return std::nullopt;
  return One(
      Elementwise({args.Tensor(0), args.Tensor(1), args.Tensor(2)},
                  [&](const std::vector<double>& of) { return of[0] + *factor * of[1] * of[2]; }));
}

std::optional<NormValue> Product(const NormValue* matrix, const NormValue* vector) {
  if (!IsSmall(matrix, 2) || !IsSmall(vector, 1) || matrix->shape[1] != vector->shape[0]) {
    return std::nullopt;
  }
  const size_t width = vector->numbers.size();
  NormValue made{{matrix->shape[0]}, {}, -1};
  for (size_t row = 0; row < static_cast<size_t>(matrix->shape[0]); ++row) {
    double sum = 0;
    for (size_t i = 0; i < width; ++i) sum += matrix->numbers[row * width + i] * vector->numbers[i];
    made.numbers.push_back(sum);
  }
  return made;
}

Values Mv(const NormArgs& args) { return One(Product(args.Tensor(0), args.Tensor(1))); }

Values Addmv(const NormArgs& args) {
  const auto product = Product(args.Tensor(1), args.Tensor(2));
  if (args.Tensor(0) == nullptr || !product || args.Tensor(0)->shape != product->shape) {
    return std::nullopt;
  }
  return One(Elementwise({args.Tensor(0), &*product},
                         [](const std::vector<double>& of) { return of[0] + of[1]; }));
}

// One number for each channel of a part.
bool IsOfChannels(const NormValue* value, const NormValue& part) {
  return IsSmall(value, 1) && value->shape[0] == part.shape[1];
}

// (x, weight?, bias?, mean, variance, training, momentum, eps) with given statistics.
Values Normalised(const NormArgs& args) {
  const NormValue* const x = args.Tensor(0);
  const auto eps = args.Number(7);
  if (x == nullptr || x->part < 0 || !args.Is(5, false) || !eps) return std::nullopt;
  for (size_t i = 1; i < 5; ++i) {
    const bool may_be_none = i < 3 && args.IsNone(i);
    if (!may_be_none && !IsOfChannels(args.Tensor(i), *x)) return std::nullopt;
  }
  const NormValue one{{1}, {1}, -1}, zero{{1}, {0}, -1};
  const NormValue* const weight = args.IsNone(1) ? &one : args.Tensor(1);
  const NormValue* const bias = args.IsNone(2) ? &zero : args.Tensor(2);
  NormValue made{x->shape, {}, x->part};
  const size_t channels = ChannelsOf(x->shape);
  for (size_t i = 0; i < x->numbers.size(); ++i) {
    const auto of = [&](const NormValue* value) {
      return value->numbers.size() == 1 ? value->numbers[0] : value->numbers[i % channels];
    };
    const double deviation = std::sqrt(of(args.Tensor(4)) + *eps);
    made.numbers.push_back((x->numbers[i] - of(args.Tensor(3))) / deviation * of(weight) +
                           of(bias));
  }
  return One(std::move(made));
}

// (grad, x, weight?, running_mean?, running_var?, save_mean, save_invstd, train, eps, mask): the sums of
// grad xhat and of grad, its results 1 and 2. Without the first result no other argument counts.
Values SumsOfGradients(const NormArgs& args) {
  const NormValue *const grad = args.Tensor(0), *const x = args.Tensor(1);
  const NormValue *const mean = args.Tensor(5), *const invstd = args.Tensor(6);
  const Value mask(Value::List{Value(false), Value(true), Value(true)});
  const bool fits = grad != nullptr && x != nullptr && x->part >= 0 && grad->part == x->part &&
                    IsOfChannels(mean, *x) && IsOfChannels(invstd, *x) && args.Is(7, true) &&
                    args.Is(9, mask);
  if (!fits) return std::nullopt;
  const std::vector<double>& weights = args.WeightsOf(*x);
  const size_t channels = ChannelsOf(x->shape);
  NormValue of_weight{{x->shape[1]}, std::vector<double>(channels), -1};
  NormValue of_bias = of_weight;
  for (size_t row = 0; row < weights.size(); ++row) {
    for (size_t c = 0; c < channels; ++c) {
      const size_t at = row * channels + c;
      const double xhat = (x->numbers[at] - mean->numbers[c]) * invstd->numbers[c];
      of_weight.numbers[c] += weights[row] * grad->numbers[at] * xhat;
      of_bias.numbers[c] += weights[row] * grad->numbers[at];
    }
  }
  return std::vector<NormValue>{NormValue(), std::move(of_weight), std::move(of_bias)};
}

struct NormCallRow {
  std::string_view type;
  size_t args;                 // how many
  std::string_view attribute;  // the one that it may have
  Values (*run)(const NormArgs& args);
};
constexpr std::array<NormCallRow, 19> kNormCalls = {{
    {"aten._to_copy.default", 1, "dtype", Same},
    {"aten.batch_norm_update_stats.default", 4, "", PartStatistics},
    {"aten.new_full.default", 3, "", Full},
    {"aten.cat.default", 2, "", Cat},
    {"aten.view.default", 2, "", View},
    {"aten.slice.Tensor", 5, "", Slice},
    {"aten.select.int", 3, "", Select},
    {"aten.t.default", 1, "", Transposed},
    {"aten.sub.Tensor", 2, "", Sub},
    {"aten.mul.Tensor", 2, "", Mul},
    {"aten.mul.Scalar", 2, "", MulNumber},
    {"aten.add.Scalar", 2, "", AddNumber},
    {"aten.rsqrt.default", 1, "", Rsqrt},
    {"aten.lerp_.Scalar", 3, "", Lerp},
    {"aten.addcmul.default", 3, "value", Addcmul},
    {"aten.mv.default", 2, "", Mv},
    {"aten.addmv.default", 3, "", Addmv},
    {"aten.native_batch_norm.default", 8, "", Normalised},
    {"aten.native_batch_norm_backward.default", 10, "", SumsOfGradients},
}};

const NormCallRow* RowOf(std::string_view type) {
  const auto* const row = std::find_if(kNormCalls.begin(), kNormCalls.end(),
                                       [&](const NormCallRow& one) { return one.type == type; });
  return row == kNormCalls.end() ? nullptr : row;
}

}  // namespace

bool IsNormCall(std::string_view type) { return RowOf(type) != nullptr; }

std::optional<std::vector<NormValue>> RunNormCall(const Op& op,
                                                  const std::vector<const NormValue*>& inputs,
                                                  const std::vector<NormPart>& parts) {
  const NormCallRow* const row = RowOf(op.type);
  if (row == nullptr || op.args.size() != row->args) return std::nullopt;
  for (const NamedValue& named : op.attributes) {
    if (named.name != row->attribute) return std::nullopt;
  }
  return row->run(NormArgs(op, inputs, parts));
}

}  // namespace placewright::check
