#include "report/strategy/step_strategy.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cost/communication/collective_kind.h"
#include "report/graph_summary.h"

namespace placewright {
namespace {

constexpr std::string_view kAddN = "placewright.add_n.default";
constexpr std::string_view kConcat = "placewright.concat.default";
constexpr std::string_view kUnpack = "placewright.unpack.default";

// "param:layer3.attention.query.weight[0].1" -> "query.weight[0].1": layers that are split alike are one.
std::string WithoutPath(const std::string& axis) {
  const size_t end = axis.find('[');
  if (end == std::string::npos) return axis;
  const size_t last = axis.rfind('.', end);
  if (last == std::string::npos || last == 0) return axis.substr(axis.find(':') + 1);
  const size_t before = axis.find_last_of(".:", last - 1);
  return axis.substr(before == std::string::npos ? 0 : before + 1);
}

// What stands between the gradients of a group's parameters and their update.
struct GradientPaths {
  bool reduced = false, in_buckets = false, scattered = false, summed = false, gathered = false;
};

class StrategyFinder {
 public:
  explicit StrategyFinder(const StrategyInputs& inputs)
      : inputs_(inputs), original_(inputs.original), step_(inputs.step) {
    instances_.resize(original_.op_count());
    for (const OpId op : step_.ops()) {
      const OpId origin = inputs_.origin[op];
      if (origin.valid() && !step_.op(op).is_view) instances_[origin].push_back(op);
    }
    updates_.resize(original_.group_count());
    for (const OpId op : original_.ops()) {
      if (original_.op(op).phase == Phase::kOptimizer) {
        updates_[original_.group(op).index()].push_back(op);
      }
    }
  }

  StepStrategy Find() {
    StepStrategy found;
    found.ops.resize(original_.op_count());
    found.times.resize(original_.op_count());
    for (const OpId op : original_.ops()) {
      found.ops[op] = ComputeOf(op);
      for (const OpId instance : instances_[op]) {
        const OpSpan& span = inputs_.schedule.ops[instance];
        const int64_t devices = DevicesLike(inputs_.lanes, inputs_.placement[instance]);
        found.times[op] += Nanos((span.end - span.start).count * devices);
      }
    }
    const ParameterModules modules(original_);
    for (const StorageId id : original_.storages()) {
      const Storage& storage = original_.storage(id);
      const OpId home = original_.home_op(id);
      if (storage.kind != TensorKind::kParameter || !home.valid()) continue;
      found.parameters.push_back(ParameterOf(id, original_.group(home), modules.Of(id)));
    }
    return found;
  }

 private:
  std::vector<DeviceId> DevicesOf(const std::vector<OpId>& instances) const {
    std::vector<DeviceId> devices;
    const auto make_distinct = [&] {
      std::sort(devices.begin(), devices.end());
      devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    };
    for (const OpId op : instances) devices.push_back(inputs_.placement[op]);
    make_distinct();
    if (inputs_.lanes == nullptr) return devices;
    const auto [known, is_new] = like_.try_emplace(devices);
    if (!is_new) return known->second;
    for (const DeviceId first : std::exchange(devices, {})) {
      const std::vector<DeviceId>& alike = inputs_.lanes->members[first];
      devices.insert(devices.end(), alike.begin(), alike.end());
    }
    make_distinct();
    return known->second = devices;
  }

  // Whether an instance reads or makes less than the op that it is of.
  bool IsPart(OpId instance) const {
    const Op& part = step_.op(instance);
    const Op& whole = original_.op(inputs_.origin[instance]);
    const auto differ = [&](const std::vector<TensorId>& of_part,
                            const std::vector<TensorId>& of_whole) {
      if (of_part.size() != of_whole.size()) return true;  // one of several that make up the op
      for (size_t i = 0; i < of_part.size(); ++i) {
        if (step_.tensor(of_part[i]).bytes != original_.tensor(of_whole[i]).bytes) return true;
      }
      return false;
    };
    return differ(part.inputs, whole.inputs) || differ(part.outputs, whole.outputs);
  }

  const LayoutSpec* SpecOf(OpId op) const {
    if (inputs_.spec_of_group.empty()) return nullptr;
    return inputs_.spec_of_group[original_.group(op).index()];
  }

  ComputeStrategy ComputeOf(OpId op) const {
    ComputeStrategy found;
    found.devices = DevicesOf(instances_[op]);
    if (found.devices.size() < 2) return found;
    const bool split = std::any_of(instances_[op].begin(), instances_[op].end(),
                                   [&](OpId instance) { return IsPart(instance); });
    found.kind = split ? ComputeKind::kSplit : ComputeKind::kCopied;
    const LayoutSpec* const spec = SpecOf(op);
    if (!split || spec == nullptr) return found;
    found.axis = AxesOfLayout(*spec);
    const IdVector<DeviceId, int64_t>& lengths = LengthsOf(*spec);
    for (const DeviceId device : found.devices) {
      if (lengths[device] >= 0) found.shares.push_back(lengths[device]);
    }
    if (found.shares.size() != found.devices.size()) found.shares.clear();
    return found;
  }

  // Of its one axis what each device has; -1: none, or parts of several.
  const IdVector<DeviceId, int64_t>& LengthsOf(const LayoutSpec& spec) const {
    const auto [made, is_new] = lengths_.try_emplace(&spec);
    IdVector<DeviceId, int64_t>& lengths = made->second;
    if (!is_new) return lengths;
    lengths = IdVector<DeviceId, int64_t>(inputs_.cluster.device_count(), -1);
    for (const LayoutSpec::Device& stated : spec.devices) {
      const DeviceId device = inputs_.cluster.FindDevice(stated.name);
      if (!device.valid() || stated.box.size() != 1) continue;
      lengths[device] = stated.box.front().to - stated.box.front().from;
    }
    return lengths;
  }

  // Everything between the instance of an update and the ops that made the gradients. Other ops of the update
  // (gradients clipped by their norm) are looked through along tensors of one size: what scales a gradient
  // does not bring it; and so are sums of gradients (of micro-batches, of the uses of a tied weight). An op
  // that is made of several (a batch norm in parts) is looked through as far as it goes.
  void Follow(OpId update, GradientPaths& paths) const {
    std::vector<OpId> open = {update};
    std::set<OpId> seen = {update};
    while (!open.empty()) {
      const OpId op = open.back();
      open.pop_back();
      for (const TensorId tensor : step_.op(op).inputs) {
        const OpId maker = step_.tensor(tensor).producer;
        if (!maker.valid() || (op != update && !LeadsOn(op, tensor, maker))) continue;
        if (seen.insert(maker).second && Note(maker, paths)) open.push_back(maker);
      }
    }
  }

  // Whether the gradient that `op` hands on comes by `input`, made by `maker`.
  bool LeadsOn(OpId op, TensorId input, OpId maker) const {
    const OpId origin = inputs_.origin[op];
    if (!origin.valid()) return true;
    const Op& original = original_.op(origin);
    if (original.phase == Phase::kOptimizer || original.type == "aten.add.Tensor") {
      return IsAsLarge(input, op);
    }
    return inputs_.origin[maker] == origin;
  }

  bool IsAsLarge(TensorId input, OpId op) const {
    const std::vector<TensorId>& outputs = step_.op(op).outputs;
    return !outputs.empty() && step_.tensor(input).bytes == step_.tensor(outputs.front()).bytes;
  }

  // False where what lies behind the op says nothing more.
  bool Note(OpId op, GradientPaths& paths) const {
    const std::string_view type = step_.op(op).type;
    const auto kind = CollectiveKindOf(type);
    paths.reduced |= kind == CollectiveKind::kAllReduce;
    paths.scattered |= kind == CollectiveKind::kReduceScatter;
    paths.gathered |=
        kind == CollectiveKind::kAllGather || kind == CollectiveKind::kAllToAll || type == kConcat;
    paths.in_buckets |= type == kUnpack;
    paths.summed |= type == kAddN;
    return kind != CollectiveKind::kReduceScatter;
  }

  ParameterStrategy ParameterOf(StorageId id, GroupId group, ModuleId module) const {
    ParameterStrategy found{id, module, original_.storage(id).bytes, SyncKind::kNone, false, {}};
    GradientPaths paths;
    std::vector<OpId> instances;
    bool parts = false;
    for (const OpId update : updates_[group.index()]) {
      for (const OpId instance : instances_[update]) {
        instances.push_back(instance);
        Follow(instance, paths);
        parts |= IsPart(instance);
      }
    }
    found.devices = DevicesOf(instances);
    found.sync = Classify(paths, found.devices.size(), parts);
    found.in_buckets = found.sync == SyncKind::kAllReduce && paths.in_buckets;
    return found;
  }

  static SyncKind Classify(const GradientPaths& paths, size_t devices, bool parts) {
    if (paths.reduced) {
      return paths.scattered ? SyncKind::kReduceScatterAllReduce : SyncKind::kAllReduce;
    }
    if (paths.scattered) return SyncKind::kReduceScatter;
    if (paths.summed) return devices == 1 ? SyncKind::kServer : SyncKind::kSummed;
    if (paths.gathered) return SyncKind::kGathered;
    if (devices < 2) return SyncKind::kNone;
    return parts ? SyncKind::kParts : SyncKind::kEverywhere;
  }

  const StrategyInputs& inputs_;
  const Graph& original_;
  const Graph& step_;
  IdVector<OpId, std::vector<OpId>> instances_;  // of the original's ops; views have none
  std::vector<std::vector<OpId>> updates_;       // of each group, in the original
  mutable std::map<const LayoutSpec*, IdVector<DeviceId, int64_t>> lengths_;
  // By first devices of classes, all of these classes.
  mutable std::map<std::vector<DeviceId>, std::vector<DeviceId>> like_;
};

}  // namespace

std::string_view ToString(ComputeKind kind) {
  switch (kind) {
    case ComputeKind::kPlaced: return "placed";
    case ComputeKind::kSplit: return "split";
    case ComputeKind::kCopied: return "copied";
  }
  return "placed";
}

std::string_view ToString(SyncKind kind) {
  switch (kind) {
    case SyncKind::kNone: return "none";
    case SyncKind::kAllReduce: return "all-reduce";
    case SyncKind::kServer: return "parameter-server";
    case SyncKind::kReduceScatter: return "reduce-scatter";
    case SyncKind::kReduceScatterAllReduce: return "reduce-scatter-all-reduce";
    case SyncKind::kSummed: return "summed";
    case SyncKind::kGathered: return "gathered";
    case SyncKind::kParts: return "parts";
    case SyncKind::kEverywhere: return "everywhere";
  }
  return "none";
}

std::string AxesOfLayout(const LayoutSpec& spec) {
  if (!spec.axis.empty() || spec.devices.empty()) return WithoutPath(spec.axis);
  std::string axes;
  for (const LayoutSpec::Interval& one : spec.devices.front().box) {
    axes += (axes.empty() ? "" : " x ") + WithoutPath(one.axis);
  }
  return axes;
}

StepStrategy FindStrategy(const StrategyInputs& inputs) { return StrategyFinder(inputs).Find(); }

}  // namespace placewright
