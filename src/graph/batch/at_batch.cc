#include "graph/batch/at_batch.h"

#include <fmt/format.h>

#include <limits>

#include "base/text.h"
#include "graph/batch/batch_product.h"
#include "graph/batch/numbers.h"

namespace placewright {
namespace {

constexpr int64_t kLargestWholeReal = int64_t{1} << 53;  // below, every integer is a double

std::optional<int64_t> Fitting(__int128 number, int64_t max) {
  if (number > max || number < -static_cast<__int128>(max)) return std::nullopt;
  return static_cast<int64_t>(number);
}

// The integer that a real one is.
std::optional<int64_t> WholeOf(double value) {
  constexpr auto kMax = static_cast<double>(kLargestWholeReal);
  if (!(value >= -kMax && value <= kMax)) return std::nullopt;
  const auto whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? std::optional<int64_t>(whole) : std::nullopt;
}

std::optional<int64_t> At(int64_t value, int64_t slope, const BatchProduct& product, int64_t from,
                          int64_t to) {
  return product.empty() ? LinearAt(value, slope, from, to) : IntegerAt(value, product, from, to);
}

std::optional<double> At(double value, const ArgumentLaw& law, int64_t from, int64_t to) {
  if (!law.product.empty()) return RealAt(value, law.product, from, to);
  const std::optional<int64_t> whole = WholeOf(value);
  if (!whole) return std::nullopt;
  const std::optional<int64_t> scaled = LinearAt(*whole, law.slope, from, to);
  if (!scaled || !Fitting(*scaled, kLargestWholeReal)) return std::nullopt;
  return static_cast<double>(*scaled);
}

Error OutOfRange(int64_t to, std::string place) {
  return MakeError(ErrorCode::kBatchScaling,
                   fmt::format("at batch {} it would be out of range", to), std::move(place),
                   "Choose a batch size closer to those at which the step was recorded.");
}

Error Inconsistent(std::string message, std::string place = "") {
  return MakeError(ErrorCode::kGraphInconsistent, std::move(message), std::move(place));
}

template <class Row, class Item>
bool HasRows(const Csr<Row, Item>& rows, size_t count) {
  return rows.offsets.size() == count + 1 &&
         static_cast<size_t>(rows.offsets.back()) == rows.items.size();
}

Status CheckDimensions(const Tensor& tensor, std::span<const DimensionLaw> slopes) {
  int32_t last = -1;
  for (const DimensionLaw& item : slopes) {
    const bool known =
        item.dimension > last && static_cast<size_t>(item.dimension) < tensor.shape.size();
    if (!known || (item.slope == 0) == item.product.empty()) {
      return Inconsistent("a slope of no dimension", "tensor " + Printable(tensor.name, 120));
    }
    last = item.dimension;
  }
  return Ok();
}

Status CheckArguments(const Op& op, std::span<const ArgumentLaw> laws, int64_t batch) {
  if (laws.empty()) return Ok();
  size_t next = 0;
  int32_t number = 0;
  VisitNumbers(op.args, op.attributes, [&](const Value& value, const NumberPlace&) {
    if (next < laws.size() && laws[next].number == number) {
      const bool linear = laws[next].product.empty();
      if (linear == (laws[next].slope != 0) && NumberAt(value, laws[next], batch, batch)) ++next;
    }
    ++number;
  });
  if (next == laws.size()) return Ok();
  return Inconsistent("a law of no number, or of another kind of number",
                      "op " + Printable(op.name, 120));
}

}  // namespace

Status CheckBatchAllowed(const BatchScaling* laws, int64_t from, int64_t to) {
  if (to == from || (laws != nullptr && laws->reason.empty())) return Ok();
  const std::string recording = fmt::format(
      "`placewright capture MODEL --batch {0} -o FILE`, or from PyTorch export(..., batch={0}) "
      "(docs/formats/pytorch.md).",
      to);
  if (from == 0) {
    return MakeError(ErrorCode::kBatchScaling,
                     fmt::format("it cannot be taken at batch {}: the file does not state the "
                                 "batch size of the recorded step",
                                 to),
                     "", "Record it with its batch size: " + recording);
  }
  const std::string reason = laws == nullptr
                                 ? ", since no recordings at other sizes prove how it scales"
                                 : ": " + laws->reason;
  return MakeError(ErrorCode::kBatchScaling,
                   fmt::format("it cannot be taken at batch {}: the step is valid for batch {} "
                               "only{}",
                               to, from, reason),
                   "", "Record it at that size: " + recording);
}

std::optional<int64_t> LinearAt(int64_t value, int64_t slope, int64_t from, int64_t to) {
  // |to - from| and |slope| below 2^64 and 2^63: the product of the two stays below 2^127.
  const __int128 change = static_cast<__int128>(slope) * (static_cast<__int128>(to) - from);
  return Fitting(change + value, std::numeric_limits<int64_t>::max());
}

std::optional<Value> NumberAt(const Value& number, const ArgumentLaw& law, int64_t from,
                              int64_t to) {
  if (const int64_t* whole = number.AsInt()) {
    const std::optional<int64_t> scaled = At(*whole, law.slope, law.product, from, to);
    return scaled ? std::optional<Value>(Value(*scaled)) : std::nullopt;
  }
  const double* real = number.AsDouble();
  if (real == nullptr) return std::nullopt;
  const std::optional<double> scaled = At(*real, law, from, to);
  return scaled ? std::optional<Value>(Value(*scaled)) : std::nullopt;
}

Result<std::vector<int64_t>> ShapeAt(std::vector<int64_t> shape,
                                     std::span<const DimensionLaw> slopes, int64_t from,
                                     int64_t to) {
  for (const DimensionLaw& item : slopes) {
    int64_t& size = shape[static_cast<size_t>(item.dimension)];
    const std::optional<int64_t> scaled = At(size, item.slope, item.product, from, to);
    if (!scaled || *scaled < 0 || *scaled > kMaxQuantity) {
      return OutOfRange(to, fmt::format("shape[{}]", item.dimension));
    }
    size = *scaled;
  }
  return shape;
}

Result<std::vector<int64_t>> ShapeAt(const Graph& graph, TensorId tensor, int64_t to) {
  const std::vector<int64_t>& shape = graph.tensor(tensor).shape;
  PW_RETURN_IF_ERROR(CheckBatchAllowed(graph.batch_scaling(), graph.batch(), to));
  if (to == graph.batch()) return shape;
  return ShapeAt(shape, graph.batch_scaling()->dimensions[tensor], graph.batch(), to);
}

Result<OpArguments> ArgumentsAt(OpArguments arguments, std::span<const ArgumentLaw> laws,
                                int64_t from, int64_t to) {
  if (laws.empty()) return arguments;
  size_t next = 0;
  int32_t number = 0;
  std::optional<Error> error;
  VisitNumbers(arguments.args, arguments.attributes, [&](Value& value, const NumberPlace& place) {
    const int32_t at = number++;
    if (next == laws.size() || laws[next].number != at) return;
    const std::optional<Value> scaled = NumberAt(value, laws[next++], from, to);
    if (scaled) value = *scaled;
    if (!scaled && !error) error = OutOfRange(to, ToString(place));
  });
  if (error) return *error;
  return arguments;
}

Result<OpArguments> ArgumentsAt(const Graph& graph, OpId id, int64_t to) {
  const Op& op = graph.op(id);
  PW_RETURN_IF_ERROR(CheckBatchAllowed(graph.batch_scaling(), graph.batch(), to));
  if (to == graph.batch()) return OpArguments{op.args, op.attributes};
  return ArgumentsAt(OpArguments{op.args, op.attributes}, graph.batch_scaling()->arguments[id],
                     graph.batch(), to);
}

void VisitLaws(const Op& op, std::span<const ArgumentLaw> laws,
               const std::function<void(const NumberPlace&, const ArgumentLaw&)>& visit) {
  if (laws.empty()) return;
  size_t next = 0;
  int32_t number = 0;
  VisitNumbers(op.args, op.attributes, [&](const Value&, const NumberPlace& place) {
    const int32_t at = number++;
    if (next < laws.size() && laws[next].number == at) visit(place, laws[next++]);
  });
}

Result<Graph> WithBatchScaling(Graph graph, BatchScaling laws) {
  if (!laws.reason.empty()) {
    graph.data_.batch_scaling = BatchScaling{laws.sizes, std::move(laws.reason), {}, {}};
    return graph;
  }
  if (!HasRows(laws.dimensions, graph.tensor_count()) ||
      !HasRows(laws.arguments, graph.op_count())) {
    return Inconsistent("slopes of another graph");
  }
  for (const TensorId id : graph.tensors()) {
    PW_RETURN_IF_ERROR(CheckDimensions(graph.tensor(id), laws.dimensions[id]));
  }
  for (const OpId id : graph.ops()) {
    PW_RETURN_IF_ERROR(CheckArguments(graph.op(id), laws.arguments[id], graph.batch()));
  }
  graph.data_.batch_scaling = std::move(laws);
  return graph;
}

}  // namespace placewright
