#include "search/floors/measured_parts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "sharding/softmax_call.h"

namespace placewright {
namespace {

std::string_view OperatorOf(std::string_view signature) {
  return signature.substr(0, signature.find('('));
}

bool IsOfName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The operator's tensors in the order of its arguments, as signatures name them; all inputs where it has none.
std::vector<TensorId> TensorsOf(const Op& op) {
  std::vector<TensorId> tensors;
  const std::function<void(const Value&)> look = [&](const Value& value) {
    if (const InputRef* input = value.AsInput()) {
      tensors.push_back(op.inputs[static_cast<size_t>(input->index)]);
    }
    if (const Value::List* list = value.AsList()) {
      for (const Value& item : *list) look(item);
    }
  };
  if (op.args.empty()) tensors = op.inputs;
  for (const Value& value : op.args) look(value);
  for (const NamedValue& named : op.attributes) look(named.value);
  return tensors;
}

// Every number of `text`, which ends at a ']' or a ';'.
bool ReadShape(std::string_view text, std::vector<int64_t>& shape) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0) return false;
    shape.push_back(size);
    at = next;
    if (at != end && *at++ != ',') return false;
  }
  return true;
}

// The machine may be faster than it was; by how much at most, whatever an op does.
double FastestNow(const MachineState& then, const MachineState& now) {
  if (!then.known() || !now.known()) return 1;
  const auto ratio = [](Nanos a, Nanos b) {
    return static_cast<double>(a.count) / static_cast<double>(b.count);
  };
  return std::min({ratio(now.arithmetic, then.arithmetic), ratio(now.cache, then.cache),
                   ratio(now.memory, then.memory)});
}

constexpr double kOfDoubles = 1e-9;

int64_t RoundedDown(double time) {
  const double smallest = time * (1 - kOfDoubles) - 1;
  return smallest <= 0                                         ? 0
         : smallest < static_cast<double>(kMaxQuantity - 1024) ? static_cast<int64_t>(smallest)
                                                               : kMaxQuantity;
}

}  // namespace

MeasuredParts::Row MeasuredParts::RowOf(const MeasuredOp& op, const MachineState& now) {
  Row row;
  row.signature = op.signature;
  row.time = RoundedDown(static_cast<double>(op.time.count) * FastestNow(op.state, now));
  const std::string_view text = row.signature;
  // Texts among its arguments may look like tensors.
  row.known = text.find('"') == std::string_view::npos && text.find('\'') == std::string_view::npos;
  for (size_t open = text.find('['); open != std::string_view::npos; open = text.find('[', open)) {
    size_t begin = open;
    while (begin > 0 && IsOfName(text[begin - 1])) --begin;
    const size_t end = text.find_first_of("];", ++open);
    if (begin == open - 1 || end == std::string_view::npos) continue;
    TensorText tensor{text.substr(begin, open - 1 - begin), {}};
    row.known = row.known && ReadShape(text.substr(open, end - open), tensor.shape);
    row.tensors.push_back(std::move(tensor));
  }
  return row;
}

MeasuredParts::MeasuredParts(const Cluster& cluster, const std::vector<MeasuredDevice>& measured)
    : rows_(cluster.kinds().size()) {
  for (size_t kind = 0; kind < rows_.size(); ++kind) {
    const DeviceKind& of = cluster.kinds()[kind];
    for (const MeasuredDevice& device : measured) {
      if (device.on.kind != of.name || device.on.cores != of.cores) continue;
      for (const MeasuredOp& op : device.ops) {
        rows_[kind][OperatorOf(op.signature)].push_back(RowOf(op, device.now));
      }
    }
  }
}

bool MeasuredParts::AnyKind() const {
  return std::any_of(rows_.begin(), rows_.end(), [](const auto& rows) { return !rows.empty(); });
}

double MeasuredParts::RatioOf(const Row& row, const Graph& graph,
                              const std::vector<TensorId>& inputs) {
  if (!row.known) return 1;
  if (row.tensors.size() != inputs.size()) return 0;
  double ratio = 1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& tensor = graph.tensor(inputs[i]);
    const TensorText& of_row = row.tensors[i];
    if (of_row.shape.size() != tensor.shape.size()) return 0;
    if (of_row.dtype != ToString(tensor.dtype)) return 0;
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      const int64_t whole = tensor.shape[d], part = of_row.shape[d];
      if (part > whole || (part == 0 && whole > 0)) return 0;
      if (part > 0) {
        ratio = std::max(ratio, static_cast<double>(whole) / static_cast<double>(part));
      }
    }
  }
  return ratio;
}

MeasuredParts::Smallest MeasuredParts::Of(const Graph& graph, OpId id, const OpRule* rule,
                                          size_t kind) const {
  Smallest smallest;
  if (!Any(kind)) return smallest;
  const Op& op = graph.op(id);
  const auto& of_kind = rows_[kind];
  // Where other operators compute a part of it, any row of theirs may be what that takes.
  if (rule != nullptr) {
    const bool several =
        (rule->form != PartForm::kSameOp && rule->form != PartForm::kWeightedMean) ||
        HasSynchronisedAxis(*rule);
    const bool other = !rule->part_type.empty() && of_kind.contains(rule->part_type);
    const bool of_axis =
        std::any_of(rule->axis_parts.begin(), rule->axis_parts.end(),
                    [&](const AxisPartOp& part) { return of_kind.contains(part.type); });
    if (several || other || of_axis) return {0, 0};
  }
  const auto rows = of_kind.find(op.type);
  if (rows == of_kind.end()) return smallest;
  const std::vector<TensorId> inputs = TensorsOf(op);
  for (const Row& row : rows->second) {
    const double ratio = RatioOf(row, graph, inputs);
    if (ratio == 0) continue;
    smallest.part = std::min(smallest.part, row.time);
    smallest.whole = std::min(smallest.whole, RoundedDown(static_cast<double>(row.time) * ratio));
  }
  return smallest;
}

int64_t MeasuredParts::OfSignature(const std::string& signature, size_t kind) const {
  int64_t smallest = kMaxQuantity;
  const auto rows = rows_[kind].find(OperatorOf(signature));
  if (rows == rows_[kind].end()) return smallest;
  for (const Row& row : rows->second) {
    if (row.signature == signature) smallest = std::min(smallest, row.time);
  }
  return smallest;
}

}  // namespace placewright
