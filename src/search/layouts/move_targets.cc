#include "search/layouts/move_targets.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>

#include "plan/sharing_out.h"
#include "search/layouts/layout_devices.h"
#include "search/layouts/model_structure.h"

namespace placewright {
namespace {

constexpr size_t kAllAxes = 16;    // steps with as few axes are split by each
constexpr size_t kAllSubsets = 4;  // up to so many devices every set of them is in question

class TargetFinder {
 public:
  TargetFinder(const Problem& problem, LayoutBook& book)
      : problem_(problem), layouts_(*problem.layouts), times_(TimesOf(layouts_)), book_(book) {}

  Result<MoveTargets> Find() {
    PW_ASSIGN(static_cast<LayoutUnits&>(found_), FindLayoutUnits(problem_));
    FindBeside();
    FindAlike();
    PW_RETURN_IF_ERROR(FindLayouts());
    return std::move(found_);
  }

 private:
  IdVector<GroupId, Bytes> FindParameters();
  std::vector<AxisId> AxesOfUpdate(TensorId parameter, std::span<const OpId> ops) const;
  void FindBeside();
  void FindAlike();
  Status FindLayouts();
  void FindDeviceSets(const std::vector<DeviceId>& devices);
  void AddSplits(AxisId axis);
  void AddModelAxes();
  void AddAxisChoices();

  const Problem& problem_;
  const LayoutProblem& layouts_;
  const DeviceTimes times_;
  LayoutBook& book_;
  std::vector<std::vector<DeviceId>>
      sets_;  // of several devices: those that something may be split or copied over
  MoveTargets found_;
};

// Fills `parameters` and their axes; returns their bytes, by group.
IdVector<GroupId, Bytes> TargetFinder::FindParameters() {
  const Graph& graph = layouts_.graph;
  const Csr<GroupId, OpId> members = graph.GroupMembers();
  IdVector<GroupId, Bytes> bytes(graph.group_count()), largest(graph.group_count());
  IdVector<GroupId, bool> found(graph.group_count(), false);
  found_.parameter_axes = IdVector<GroupId, std::vector<AxisId>>(graph.group_count());
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
    const OpId home = graph.home_op(tensor.storage);
    if (!home.valid()) continue;
    const GroupId group = graph.group(home);
    bytes[group] += tensor.bytes;
    if (!found[group]) found_.parameters.push_back(group);
    found[group] = true;
    if (tensor.bytes <= largest[group]) continue;
    largest[group] = tensor.bytes;
    found_.parameter_axes[group] = AxesOfUpdate(id, members[group]);
  }
  return bytes;
}

// The parameter's axes that split all that has them among the ops of its group.
std::vector<AxisId> TargetFinder::AxesOfUpdate(TensorId parameter,
                                               std::span<const OpId> ops) const {
  const NamedAxes& axes = layouts_.axes;
  std::vector<AxisId> split;
  for (size_t d = 0; d < layouts_.graph.tensor(parameter).shape.size(); ++d) {
    for (const AxisId axis : axes.factors(parameter, d)) {
      const bool splits = std::all_of(ops.begin(), ops.end(), [&](OpId op) {
        return !axes.Touches(op, axis) || axes.SplitBy(op, axis).valid();
      });
      if (splits) split.push_back(axis);
    }
  }
  return split;
}

// What a group reads or is read by: there, an equal layout saves a transfer.
void TargetFinder::FindBeside() {
  const Graph& graph = layouts_.graph;
  found_.beside = IdVector<GroupId, std::vector<GroupId>>(graph.group_count());
  for (const OpId op : graph.ops()) {
    for (const OpId producer : graph.producers(op)) {
      const GroupId from = graph.group(producer), to = graph.group(op);
      if (from == to) continue;
      found_.beside[from].push_back(to);
      found_.beside[to].push_back(from);
    }
  }
  for (std::vector<GroupId>& groups : found_.beside) {
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  }
}

// By types and result sizes of all ops, in their order, and not by names: layers of any model. Parameters with the
// most bytes come first, as they are tried in this order and time may end before all were.
void TargetFinder::FindAlike() {
  const Graph& graph = layouts_.graph;
  IdVector<GroupId, std::string> keys(graph.group_count());
  for (const OpId id : graph.ops()) {
    std::string& key = keys[graph.group(id)];
    key += graph.op(id).type;
    for (const TensorId result : graph.op(id).outputs) {
      key += ' ' + std::to_string(graph.tensor(result).bytes.count);
    }
    key += '\n';
  }
  const IdVector<GroupId, Bytes> bytes = FindParameters();
  const auto bytes_of = [&](const std::vector<GroupId>& of) {
    Bytes sum(0);
    for (const GroupId group : of) sum += bytes[group];
    return sum;
  };
  const std::set<GroupId> hold_parameters(found_.parameters.begin(), found_.parameters.end());
  std::map<std::string, std::vector<GroupId>> groups, parameters;
  for (const GroupId group : IdRange<GroupId>(keys.size())) {
    groups[keys[group]].push_back(group);
    if (hold_parameters.contains(group)) parameters[keys[group]].push_back(group);
  }
  for (auto& [key, of] : groups) {
    if (of.size() > 1) found_.alike.push_back(std::move(of));
  }
  for (auto& [key, of] : parameters) found_.alike_parameters.push_back(std::move(of));
  std::stable_sort(found_.alike_parameters.begin(), found_.alike_parameters.end(),
                   [&](const auto& a, const auto& b) { return bytes_of(a) > bytes_of(b); });
}

// All devices, those of one kind in a machine, and of few devices every set.
void TargetFinder::FindDeviceSets(const std::vector<DeviceId>& devices) {
  std::set<std::vector<DeviceId>> sets = {devices};
  for (std::vector<DeviceId>& usable : UsableGroups(layouts_.cluster.host_groups(), devices)) {
    sets.insert(std::move(usable));
  }
  for (uint32_t bits = 1; devices.size() <= kAllSubsets && bits < 1U << devices.size(); ++bits) {
    std::vector<DeviceId> subset;
    for (size_t i = 0; i < devices.size(); ++i) {
      if ((bits >> i & 1U) != 0) subset.push_back(devices[i]);
    }
    sets.insert(std::move(subset));
  }
  for (const std::vector<DeviceId>& set : sets) {
    if (set.size() > 1) sets_.push_back(set);
  }
}

// Shared out evenly, and by speed.
void TargetFinder::AddSplits(AxisId axis) {
  const NamedAxis& split = layouts_.axes.axis(axis);
  std::vector<std::vector<DeviceId>> sets = sets_;
  // Which part is whose makes a difference where few have one.
  for (std::vector<DeviceId> order : sets_) {
    const bool small = layouts_.axes.axis_count() <= kAllAxes && order.size() <= 3;
    while (small && std::next_permutation(order.begin(), order.end())) sets.push_back(order);
  }
  for (const std::vector<DeviceId>& set : sets) {
    if (split.size < static_cast<int64_t>(set.size())) continue;
    for (const bool by_speed : {false, true}) {
      std::vector<double> weights;
      for (const DeviceId device : set) {
        weights.push_back(by_speed ? 1 / std::max(1.0, times_.Total(device)) : 1);
      }
      const std::vector<int64_t> lengths = SharesInProportion(split.size, weights);
      const LayoutId id = book_.Add(SplitOver(axis, set, lengths));
      const bool known = std::find(found_.candidates.begin(), found_.candidates.end(), id) !=
                         found_.candidates.end();
      if (!known) found_.candidates.push_back(id);
    }
  }
}

Status TargetFinder::FindLayouts() {
  PW_ASSIGN(const std::vector<DeviceId> devices, DevicesToSplitOver(layouts_, times_));
  FindDeviceSets(devices);
  found_.equal = std::all_of(devices.begin(), devices.end(), [&](DeviceId device) {
    return layouts_.cluster.device(device).kind == layouts_.cluster.device(devices.front()).kind;
  });
  std::set<DeviceId> places(devices.begin(), devices.end());
  for (const std::vector<GroupId>& members : found_.singles) {  // --pin may ask for any
    for (const GroupId group : members) {
      for (size_t d = 0; d < found_.allowed[group].size(); ++d) {
        if (found_.allowed[group][d]) places.insert(DeviceId(d));
      }
    }
  }
  for (const DeviceId device : places) {
    found_.candidates.push_back(book_.Add(PlacedOn(device)));
  }
  if (layouts_.axes.batch().valid()) AddSplits(layouts_.axes.batch());
  // Of small steps every axis is in question.
  for (const AxisId axis : layouts_.axes.axes()) {
    const bool small = layouts_.axes.axis_count() <= kAllAxes;
    if (small && axis != layouts_.axes.batch()) AddSplits(axis);
  }
  for (const std::vector<DeviceId>& set : sets_) {
    found_.candidates.push_back(book_.Add(CopiesOn(set)));
  }
  AddModelAxes();
  AddAxisChoices();
  for (const LayoutId id : found_.candidates) {
    const Layout& layout = book_[id];
    std::vector<LayoutId>& alike = layout.shares.size() == 1 ? found_.to_device
                                   : !layout.axis().valid()  ? found_.to_copies
                                                             : found_.to_parts;
    alike.push_back(id);
  }
  return Ok();
}

// The axes of layers that are alike belong together: a move splits one of them or all.
void TargetFinder::AddModelAxes() {
  const ModelStructure found = StructureOf(layouts_.graph, layouts_.axes);
  for (const auto* axes :
       {&found.experts, &found.heads, &found.widths, &found.words, &found.outputs}) {
    std::vector<MoveTargets::ModelAxis> alike;
    for (const AxisId axis : *axes) {
      MoveTargets::ModelAxis of;
      const size_t before = found_.candidates.size();
      AddSplits(axis);
      // Of single groups they are drawn with their axis, not by chance.
      of.layouts.assign(found_.candidates.begin() + static_cast<std::ptrdiff_t>(before),
                        found_.candidates.end());
      found_.candidates.resize(before);
      std::set<GroupId> groups;
      for (const OpId op : layouts_.graph.ops()) {
        if (layouts_.axes.SplitBy(op, axis).valid()) groups.insert(layouts_.graph.group(op));
      }
      of.groups.assign(groups.begin(), groups.end());
      if (!of.layouts.empty() && !of.groups.empty()) alike.push_back(std::move(of));
    }
    if (!alike.empty()) found_.model_axes.push_back(std::move(alike));
  }
}

// All layers of a kind, and one by one where they are few (a model's one output layer, the embedding beside it).
void TargetFinder::AddAxisChoices() {
  constexpr size_t kFew = 4;
  for (size_t of = 0; of < found_.model_axes.size(); ++of) {
    found_.axis_choices.emplace_back(of, std::nullopt);
    const size_t layers = found_.model_axes[of].size();
    for (size_t one = 0; layers > 1 && layers <= kFew && one < layers; ++one) {
      found_.axis_choices.emplace_back(of, one);
    }
  }
}

}  // namespace

Result<MoveTargets> FindMoveTargets(const Problem& problem, LayoutBook& book) {
  return TargetFinder(problem, book).Find();
}

}  // namespace placewright
