#include "search/floors/part_floors.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "cost/cost_model.h"
#include "cost/rows/op_view.h"
#include "cost/signature.h"
#include "graph/is_read.h"
#include "sharding/separable_results.h"
#include "sharding/softmax_call.h"
#include "transforms/offload.h"

namespace placewright {
namespace {

constexpr int64_t kRounding = 2;  // ns: a time is rounded up, and its parts are numbers of 53 bits

bool IsConvolution(OpClass op_class) {
  return op_class == OpClass::kConvDense || op_class == OpClass::kConvWinograd ||
         op_class == OpClass::kConvPointwise || op_class == OpClass::kConvDepthwise;
}

// Of a convolution, as it states them; 2 where they are not known.
int64_t GroupsOf(const Graph& graph, const Op& op) {
  const OpView view(graph, op);
  if (!op.type.starts_with("aten.")) return OpView::IntegerOr(view.Attribute("group"), 1);
  if (op.type.starts_with("aten.convolution_backward")) return OpView::IntegerOr(view.Arg(9), 2);
  if (op.type.starts_with("aten.convolution.")) return OpView::IntegerOr(view.Arg(8), 2);
  return 2;
}

// In which a part of an op may be.
std::vector<OpClass> ClassesOfParts(const Graph& graph, const Op& op, OpClass op_class) {
  if (!IsConvolution(op_class)) return {op_class};
  if (GroupsOf(graph, op) == 1) return {op_class, OpClass::kConvDense};
  return {op_class, OpClass::kConvDense, OpClass::kConvPointwise, OpClass::kConvWinograd};
}

bool MovesDataOnly(OpClass op_class) {
  return op_class == OpClass::kDataMovement || op_class == OpClass::kCreation ||
         op_class == OpClass::kOther;
}

bool IsBatchNorm(const OpRule* rule) {
  return rule != nullptr &&
         (rule->form == PartForm::kBatchNorm || rule->form == PartForm::kBatchNormBackward);
}

// What every way to compute a batch norm in training reads and writes: twice for y or the gradient of x, of which the
// sums come first; once for the sums alone, where nothing reads these.
void SetNormTraffic(const Graph& graph, const Op& op, Work& work) {
  int64_t largest = 0, sum = 0, written = 0;
  for (const TensorId input : op.inputs) {
    const int64_t bytes = TouchedBytes(graph.tensor(input));
    sum = bytes > largest ? bytes : bytes == largest ? SaturatingAdd(sum, bytes) : sum;
    largest = std::max(largest, bytes);
  }
  for (const TensorId output : op.outputs) {
    const bool of_x = graph.tensor(output).output_index == 0;
    if (of_x && IsRead(graph, output)) written = TouchedBytes(graph.tensor(output));
  }
  const int64_t passes = written > 0 ? 2 : 1;
  work.bytes_read = std::min(work.bytes_read, Bytes(SaturatingMultiply(passes, sum)));
  work.bytes_written = std::min(work.bytes_written, Bytes(written));
}

// Two of its tensors may be one where the step is put together anew.
bool ReadsStorageTwice(const Graph& graph, const Op& op) {
  std::map<StorageId, TensorId> seen;
  return std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
    const auto [item, added] = seen.emplace(graph.tensor(input).storage, input);
    return !added && item->second != input;
  });
}

int64_t LargestInputs(const Graph& graph, const Op& op) {
  std::map<StorageId, int64_t> bytes;
  for (const TensorId input : op.inputs) {
    int64_t& largest = bytes[graph.tensor(input).storage];
    largest = std::max(largest, TouchedBytes(graph.tensor(input)));
  }
  int64_t sum = 0;
  for (const auto& [storage, largest] : bytes) sum = SaturatingAdd(sum, largest);
  return sum;
}

bool OverrideMatches(const CostOverride& line, const Op& op, const Device& device,
                     const DeviceKind& kind) {
  const auto like = [](const std::string& pattern, std::string_view text) {
    return pattern.empty() || GlobMatch(pattern, text);
  };
  return !op.is_view && like(line.op, op.name) && like(line.type, op.type) &&
         like(line.device, device.name) && like(line.kind, kind.name);
}

int64_t ScaledDown(int64_t time, double scale) {
  const double scaled = static_cast<double>(time) * scale;
  return scaled < static_cast<double>(kMaxQuantity) ? static_cast<int64_t>(scaled) : kMaxQuantity;
}

// Their arithmetic adds up to the whole's, and so do their bytes, each in shares of its own: the former is counted.
bool IsUnevenAlongAny(const OpRule* rule) {
  return rule != nullptr && std::any_of(rule->axis_parts.begin(), rule->axis_parts.end(),
                                        [](const AxisPartOp& one) { return one.uneven; });
}

bool MayBeMadeApart(const Op& op) {
  const auto mask = SeparableResults(op);
  return mask && std::count(mask->begin(), mask->end(), true) > 1;
}

}  // namespace

PartFloors::PartFloors(const LayoutProblem& problem)
    : problem_(problem), measured_(problem.cluster, problem.cost_options.measured) {
  FindSorts();
  whole_.assign(problem.graph.op_count() * firsts_.size(), -1);
  part_ = whole_;
  for (const OpId op : problem.graph.ops()) {
    parts_.push_back(CountParts(op));
    if (HostCopyOf(problem.graph.op(op)) != HostCopy::kNone) {  // it is no op of any device
      for (const DeviceId device : firsts_) {
        whole_[Index(op, device)] = part_[Index(op, device)] = 0;
      }
      continue;
    }
    const std::vector<int64_t> modelled = Modelled(op);
    for (const DeviceId device : firsts_) SetFloors(op, device, modelled);
  }
}

// Of one kind, with the same times; where overrides may name devices each is a sort of its own.
void PartFloors::FindSorts() {
  const Cluster& cluster = problem_.cluster;
  const bool by_name = !problem_.cost_options.overrides.empty();
  std::map<int32_t, DeviceId> of_kind;
  IdVector<DeviceId, DeviceId> like;
  for (const DeviceId device : cluster.devices()) {
    const auto kind = static_cast<int32_t>(cluster.device(device).kind);
    like.push_back(by_name ? device : of_kind.try_emplace(kind, device).first->second);
  }
  const CostTable& costs = problem_.costs;
  for (const DeviceId device : cluster.devices()) {
    if (costs.column(device) == costs.column(like[device])) continue;
    for (const OpId op : problem_.graph.ops()) {
      if (costs.time(op, device) != costs.time(op, like[device])) like[device] = device;
    }
  }
  std::map<DeviceId, size_t> sorts;
  for (const DeviceId device : cluster.devices()) {
    const auto [sort, is_new] = sorts.try_emplace(like[device], sorts.size());
    if (is_new) firsts_.push_back(device);
    sort_.push_back(sort->second);
  }
}

int64_t PartFloors::CountParts(OpId op) const {
  const OpRule* const rule = problem_.axes.rule(op);
  int64_t parts = 1;
  for (size_t i = 0; rule != nullptr && i < rule->axes.size(); ++i) {
    const RuleAxisId axis(i);
    if (rule->axes[axis].parts == Parts::kWhole) continue;
    for (const AxisId factor : problem_.axes.FactorsOf(op, axis)) {
      const int64_t size = problem_.axes.axis(factor).size;
      parts = parts > kMaxQuantity / size ? kMaxQuantity : parts * size;
    }
  }
  return parts;
}

Work PartFloors::WorkAtLeast(OpId id) const {
  const Graph& graph = problem_.graph;
  const Op& op = graph.op(id);
  Work work = WorkOf(graph, id);
  if (ReadsStorageTwice(graph, op)) {
    work.bytes_read = std::min(work.bytes_read, Bytes(LargestInputs(graph, op)));
  }
  if (parts_[id] == 1) return work;
  const OpRule* const rule = problem_.axes.rule(id);
  const bool others = rule->form != PartForm::kSameOp || HasSynchronisedAxis(*rule);
  if (others || MovesDataOnly(work.op_class)) work.flops = 0;
  if (IsBatchNorm(rule)) SetNormTraffic(graph, op, work);
  if (IsUnevenAlongAny(rule)) work.bytes_read = work.bytes_written = Bytes(0);
  return work;
}

std::vector<int64_t> PartFloors::Modelled(OpId id) const {
  const Graph& graph = problem_.graph;
  const Op& op = graph.op(id);
  if (op.is_view || (IsExact(id) && !measured_.AnyKind())) return {};
  Work work = WorkAtLeast(id);
  const DType dtype = ComputeDType(graph, id);
  const std::vector<OpClass> classes = ClassesOfParts(graph, op, work.op_class);
  std::vector<int64_t> floors;
  for (const DeviceKind& kind : problem_.cluster.kinds()) {
    int64_t floor = kMaxQuantity;
    for (const OpClass op_class : classes) {
      work.op_class = op_class;
      const Nanos time = RooflineTime(work, dtype, kind, problem_.cost_options.precision);
      floor = std::min(floor, std::max<int64_t>(0, time.count - kRounding));
    }
    floors.push_back(floor);
  }
  return floors;
}

// Every instance of it is the op itself.
bool PartFloors::IsExact(OpId op) const {
  return parts_[op] == 1 && !ReadsStorageTwice(problem_.graph, problem_.graph.op(op));
}

void PartFloors::SetFloors(OpId id, DeviceId device, const std::vector<int64_t>& modelled) {
  const Op& op = problem_.graph.op(id);
  const DeviceKind& kind = problem_.cluster.kind(device);
  int64_t &whole = whole_[Index(id, device)], &part = part_[Index(id, device)];
  if (op.is_view) {
    whole = part = 0;
    return;
  }
  // A part of a vocabulary is another op, which may be supported where the op is not.
  const OpRule* const rule = problem_.axes.rule(id);
  const bool other = rule != nullptr && !rule->axis_parts.empty();
  const Nanos time = problem_.costs.time(id, device);
  if (time == CostTable::kUnsupported && !other) return;
  const auto number = static_cast<size_t>(problem_.cluster.device(device).kind);
  if (IsExact(id) && !measured_.Any(number)) {
    whole = part = time.count;
    return;
  }
  whole = modelled[number];
  const int64_t smallest = IsUnevenAlongAny(rule) ? 0 : whole / parts_[id];
  part = std::max(smallest, std::min(whole, kind.launch_overhead.count));
  SetMeasured(id, number, whole, part);
  for (const CostOverride& line : problem_.cost_options.overrides) {
    if (!OverrideMatches(line, op, problem_.cluster.device(device), kind)) continue;
    whole = line.scale > 0 ? ScaledDown(whole, line.scale) : std::max<int64_t>(0, line.time.count);
    part = line.scale > 0 ? ScaledDown(part, line.scale) : whole;
  }
  if (parts_[id] > 1 && (IsBatchNorm(rule) || MayBeMadeApart(op))) part = 0;
  // What was said of the op holds of none of those that compute a part of it.
  const bool several = rule != nullptr && (HasSynchronisedAxis(*rule) || other);
  if (parts_[id] > 1 && several && IsOverridden(id, device)) part = 0;
}

bool PartFloors::IsOverridden(OpId id, DeviceId device) const {
  const Device& on = problem_.cluster.device(device);
  const auto& lines = problem_.cost_options.overrides;
  return std::any_of(lines.begin(), lines.end(), [&](const CostOverride& line) {
    return OverrideMatches(line, problem_.graph.op(id), on, problem_.cluster.kind(device));
  });
}

// Where what an instance reads may lie otherwise in memory than what the op states.
bool PartFloors::MaySignatureDiffer(OpId id) const {
  const Graph& graph = problem_.graph;
  const std::vector<TensorId>& inputs = graph.op(id).inputs;
  const OpRule* const rule = problem_.axes.rule(id);
  // A view is made anew of what its base has become, which may be contiguous where it was not.
  const auto may_lie_otherwise = [&](TensorId input) {
    const Tensor& tensor = graph.tensor(input);
    return !tensor.strides.empty() ||
           (tensor.producer.valid() && graph.op(tensor.producer).is_view);
  };
  return !IsExact(id) || (rule != nullptr && !rule->part_type.empty()) ||
         std::any_of(inputs.begin(), inputs.end(), may_lie_otherwise);
}

void PartFloors::SetMeasured(OpId id, size_t kind, int64_t& whole, int64_t& part) const {
  if (!measured_.Any(kind)) return;
  if (!MaySignatureDiffer(id)) {
    const int64_t own = measured_.OfSignature(SignatureOf(problem_.graph, id).text, kind);
    if (own < kMaxQuantity) whole = part = own;
    return;
  }
  const MeasuredParts::Smallest smallest =
      measured_.Of(problem_.graph, id, problem_.axes.rule(id), kind);
  whole = std::min(whole, smallest.whole);
  part = std::min(part, smallest.part);
}

int64_t PartFloors::Fixed(OpId op, DeviceId device) const {
  const auto kind = static_cast<size_t>(problem_.cluster.device(device).kind);
  if (measured_.Any(kind)) return 0;
  return std::min(Whole(op, device), problem_.cluster.kinds()[kind].launch_overhead.count);
}

}  // namespace placewright
