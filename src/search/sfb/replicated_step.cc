#include "search/sfb/replicated_step.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"

namespace placewright {
namespace {

class ReplicationFinder {
 public:
  ReplicationFinder(const LayoutProblem& problem, const Layouts& layouts, const Layout& split,
                    bool local_batch_norm, std::span<const Feedback::Instance> instances)
      : problem_(problem),
        graph_(problem.graph),
        axes_(problem.axes),
        layouts_(layouts),
        split_(split),
        axis_(split.axis()),
        local_batch_norm_(local_batch_norm),
        instances_(instances),
        inside_(graph_.group_count(), false),
        state_(graph_.tensor_count(), State::kWhole),
        work_(graph_.op_count(), Work::kWhole) {}

  ReplicatedStep Find() {
    step_.devices = DevicesOf(split_);
    for (const GroupId group : IdRange<GroupId>(graph_.group_count())) {
      inside_[group] = layouts_.Of(group) == split_;
    }
    for (const OpId op : graph_.topological_order()) FindStates(op);
    AddNodes();
    AddTimes();
    for (const OpId op : graph_.ops()) AddReads(op);
    Finish();
    return std::move(step_);
  }

 private:
  enum class State : uint8_t { kWhole, kParts, kSum };
  // kAdds: takes parts of sums and gives parts of a sum. What is made elsewhere is fetched in the parts that are
  // read, so that it counts as in parts.
  enum class Work : uint8_t { kWhole, kPart, kAdds, kElsewhere };

  bool IsPartialSum(const Op& op, size_t input) const {
    return state_[op.inputs[input]] == State::kSum;
  }

  // Whether the op takes this input as a part of a sum.
  bool AddsUp(OpId id, size_t input) const {
    if (work_[id] != Work::kAdds) return false;
    const Op& op = graph_.op(id);
    for (const std::vector<int32_t>& together : axes_.rule(id)->linear) {
      const bool has = std::find(together.begin(), together.end(), static_cast<int32_t>(input)) !=
                       together.end();
      if (has && AllPartial(op, together)) return true;
    }
    return false;
  }

  bool AllPartial(const Op& op, const std::vector<int32_t>& inputs) const {
    return !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [&](int32_t input) {
      return IsPartialSum(op, static_cast<size_t>(input));
    });
  }

  void FindStates(OpId id) {
    const Op& op = graph_.op(id);
    if (!inside_[graph_.group(id)]) {
      work_[id] = Work::kElsewhere;
      for (const TensorId output : op.outputs) state_[output] = State::kParts;
      return;
    }
    const OpRule* const rule = axes_.rule(id);
    if (axes_.SplitBy(id, axis_).valid()) {
      work_[id] = Work::kPart;
      // The gradients of its weight and bias are those of each part's own statistics, then added up.
      const bool own_norm = local_batch_norm_ && rule->form == PartForm::kBatchNormBackward;
      for (size_t i = 0; i < op.outputs.size(); ++i) {
        const PartVerdict verdict = axes_.verdict(id, axis_, i);
        state_[op.outputs[i]] = verdict == PartVerdict::kConcat            ? State::kParts
                                : verdict == PartVerdict::kSum || own_norm ? State::kSum
                                                                           : State::kWhole;
      }
      return;
    }
    if (rule == nullptr) return;
    for (const std::vector<int32_t>& together : rule->linear) {
      if (!AllPartial(op, together)) continue;
      work_[id] = Work::kAdds;
      for (const TensorId output : op.outputs) state_[output] = State::kSum;
      return;
    }
  }

  void AddNodes() {
    step_.node_of = IdVector<GroupId, int32_t>(graph_.group_count(), ReplicatedStep::kOutside);
    IdVector<GroupId, bool> in_parts(graph_.group_count(), false), pinned = in_parts;
    for (const OpId op : graph_.ops()) {
      if (work_[op] == Work::kPart || work_[op] == Work::kAdds) {
        in_parts[graph_.group(op)] = true;
        const bool norm = axes_.rule(op)->form == PartForm::kBatchNorm ||
                          axes_.rule(op)->form == PartForm::kBatchNormBackward;
        if (norm && local_batch_norm_) pinned[graph_.group(op)] = true;
      }
    }
    for (const GroupId group : IdRange<GroupId>(graph_.group_count())) {
      if (!in_parts[group]) continue;
      step_.node_of[group] = static_cast<int32_t>(step_.nodes.size());
      step_.nodes.push_back({group, Nanos(0), Nanos(0), pinned[group]});
    }
  }

  // By node and device: the instances, and the original's ops.
  void AddTimes() {
    const size_t devices = step_.devices.size();
    IdVector<DeviceId, int32_t> slot(problem_.cluster.device_count(), -1);
    for (size_t d = 0; d < devices; ++d) slot[step_.devices[d]] = static_cast<int32_t>(d);
    std::vector<Nanos> part(step_.nodes.size() * devices), whole = part;
    const auto add = [](Nanos& sum, Nanos time) {
      sum = Nanos(SaturatingAdd(sum.count, std::max<int64_t>(0, time.count)));
    };
    for (const auto& [origin, device, start, end] : instances_) {
      const int32_t node = origin.valid() ? step_.node_of[graph_.group(origin)] : -1;
      if (node < 0 || slot[device] < 0) continue;
      add(part[static_cast<size_t>(node) * devices + static_cast<size_t>(slot[device])],
          end - start);
    }
    for (const OpId op : graph_.ops()) {
      const int32_t node = step_.node_of[graph_.group(op)];
      if (node < 0) continue;
      for (size_t d = 0; d < devices; ++d) {
        add(whole[static_cast<size_t>(node) * devices + d],
            problem_.costs.time(op, step_.devices[d]));
      }
    }
    for (size_t node = 0; node < step_.nodes.size(); ++node) {
      size_t slowest = 0;
      for (size_t d = 1; d < devices; ++d) {
        if (whole[node * devices + d] > whole[node * devices + slowest]) slowest = d;
      }
      step_.nodes[node].part = part[node * devices + slowest];
      step_.nodes[node].whole = whole[node * devices + slowest];
    }
  }

  // The storage at the version that the op reads, with what the parts of it are.
  ReplicatedStep::Tensor& TensorOf(TensorId id, int32_t version) {
    const Tensor& tensor = graph_.tensor(id);
    const auto [at, added] = index_.try_emplace({tensor.storage, version}, step_.tensors.size());
    if (added) step_.tensors.emplace_back();
    ReplicatedStep::Tensor& made = step_.tensors[at->second];
    const OpId writer =
        graph_.storage(tensor.storage).versions[static_cast<size_t>(version)].writer;
    const OpId producer = writer.valid() ? writer : tensor.producer;
    if (producer.valid()) made.from = step_.node_of[graph_.group(producer)];
    made.sum = made.sum || state_[id] == State::kSum;
    if (tensor.bytes > made.whole) {
      made.whole = tensor.bytes;
      made.slice = made.sum ? tensor.bytes : SliceOf(tensor.bytes);
    }
    return made;
  }

  // Of the largest share.
  Bytes SliceOf(Bytes whole) const {
    int64_t largest = 0;
    for (const Share& share : split_.shares) {
      largest = std::max(largest, share.Along(axis_).length());
    }
    const int64_t size = axes_.axis(axis_).size;
    return Bytes(static_cast<int64_t>(static_cast<__int128>(whole.count) * largest / size));
  }

  void AddReads(OpId id) {
    const Op& op = graph_.op(id);
    const bool shapes_only = op.is_view;  // of its own group's storage: moves nothing
    for (size_t i = 0; i < op.inputs.size() && !shapes_only; ++i) {
      const TensorId input = op.inputs[i];
      if (state_[input] == State::kWhole || !graph_.tensor(input).producer.valid()) continue;
      ReplicatedStep::Tensor& tensor = TensorOf(input, op.input_versions[i]);
      AddRead(id, i, tensor);
    }
  }

  void AddRead(OpId id, size_t input, ReplicatedStep::Tensor& tensor) {
    const GroupId group = graph_.group(id);
    const int32_t node = step_.node_of[group];
    const bool adds = AddsUp(id, input);
    const bool takes_parts = work_[id] == Work::kPart && !tensor.sum && SplitsInput(id, input);
    if (!adds && !takes_parts && work_[id] != Work::kElsewhere) tensor.completed = true;
    const bool update = graph_.op(id).phase == Phase::kOptimizer && HoldsParameter(group) &&
                        !adds && !takes_parts && tensor.sum && node < 0;
    if (update && tensor.from >= 0 && !tensor.updates.valid()) {
      tensor.updates = group;
      tensor.completed = true;  // with parameter servers, on one device
      if (work_[id] == Work::kElsewhere) step_.servers = true;
    }
    if (node < 0 || node == tensor.from) return;
    tensor.readers.push_back(node);
    if (adds) tensor.adders.push_back(node);
  }

  bool SplitsInput(OpId id, size_t input) const {
    const RuleAxisId split = axes_.SplitBy(id, axis_);
    return split.valid() && Holds(axes_.rule(id)->inputs[input], split);
  }

  bool HoldsParameter(GroupId group) {
    if (holds_parameter_.empty()) {
      holds_parameter_ = IdVector<GroupId, bool>(graph_.group_count(), false);
      for (const TensorId id : graph_.tensors()) {
        const Tensor& tensor = graph_.tensor(id);
        if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
        const OpId home = graph_.home_op(tensor.storage);
        if (home.valid()) holds_parameter_[graph_.group(home)] = true;
      }
    }
    return holds_parameter_[group];
  }

  void Finish() {
    for (size_t i = 0; i < step_.tensors.size(); ++i) {
      for (std::vector<int32_t>* nodes : {&step_.tensors[i].readers, &step_.tensors[i].adders}) {
        std::sort(nodes->begin(), nodes->end());
        nodes->erase(std::unique(nodes->begin(), nodes->end()), nodes->end());
      }
      if (step_.tensors[i].updates.valid()) step_.gradients.push_back(i);
    }
  }

  const LayoutProblem& problem_;
  const Graph& graph_;
  const NamedAxes& axes_;
  const Layouts& layouts_;
  const Layout& split_;
  const AxisId axis_;
  const bool local_batch_norm_;
  const std::span<const Feedback::Instance> instances_;
  IdVector<GroupId, bool> inside_;
  IdVector<TensorId, State> state_;
  IdVector<OpId, Work> work_;
  std::map<std::pair<StorageId, int32_t>, size_t> index_;
  IdVector<GroupId, bool> holds_parameter_;
  ReplicatedStep step_;
};

}  // namespace

std::vector<ReplicatedStep> FindReplicatedSteps(const LayoutProblem& problem,
                                                const Layouts& layouts, bool local_batch_norm,
                                                std::span<const Feedback::Instance> instances) {
  std::vector<ReplicatedStep> steps;
  std::vector<const Layout*> seen;
  if (!problem.axes.batch().valid()) return steps;
  for (const GroupId group : IdRange<GroupId>(problem.graph.group_count())) {
    const Layout& layout = layouts.Of(group);
    if (layout.axis() != problem.axes.batch() || layout.shares.size() < 2) continue;
    const bool known = std::any_of(seen.begin(), seen.end(),
                                   [&](const Layout* other) { return *other == layout; });
    if (known) continue;
    seen.push_back(&layout);
    steps.push_back(
        ReplicationFinder(problem, layouts, layout, local_batch_norm, instances).Find());
  }
  return steps;
}

}  // namespace placewright
