#include "sharding/unsplit_writes.h"

#include <algorithm>
#include <vector>

#include "sharding/axis_places.h"

namespace placewright {
namespace {

bool Writes(const Op& op, size_t input) {
  return std::find(op.writes.begin(), op.writes.end(), op.inputs[input]) != op.writes.end();
}

bool WritesThroughViews(const Graph& graph) {
  const auto of_view = [&](TensorId id) {
    const OpId maker = graph.tensor(id).producer;
    return maker.valid() && graph.op(maker).is_view;
  };
  for (const OpId id : graph.ops()) {
    const std::vector<TensorId>& writes = graph.op(id).writes;
    if (std::any_of(writes.begin(), writes.end(), of_view)) return true;
  }
  return false;
}

// What every tensor is where all groups are split: the states of a compiled step (tensor_state.h) without pieces.
class Split {
 public:
  Split(const Graph& graph, const NamedAxes& axes, AxisId axis, IdVector<GroupId, bool>& whole)
      : graph_(graph),
        axes_(axes),
        axis_(axis),
        whole_(whole),
        states_(graph.tensor_count()),
        stale_(graph.storage_count()) {}

  // Whether it found one more group.
  bool Run() {
    for (const TensorId id : graph_.tensors()) {
      if (!graph_.tensor(id).producer.valid()) SetInput(id);
    }
    for (const OpId op : graph_.ops()) Visit(op);
    for (const TensorId id : graph_.outputs()) CheckKept(id);
    for (const TensorId id : graph_.tensors()) {
      if (!graph_.tensor(id).producer.valid()) CheckKept(id);
    }
    return found_;
  }

 private:
  enum class Kind : uint8_t { kWhole, kSplit, kPartial };
  struct State {
    Kind kind = Kind::kWhole;
    AxisPlace place;
    bool of_copies = false;
    bool Is(const State& other) const {
      return kind == other.kind && (kind != Kind::kSplit || place == other.place);
    }
  };

  void SetInput(TensorId id) {
    const OpId home = graph_.home_op(graph_.tensor(id).storage);
    if (!home.valid() || whole_[graph_.group(home)]) return;
    const AxisPlace place = PlaceInTensor(graph_, axes_, id, axis_);
    if (place.dimension >= 0) states_[id] = {Kind::kSplit, place, false};
  }

  void Visit(OpId id) {
    const Op& op = graph_.op(id);
    const RuleAxisId split = SplitOf(id, op);
    const std::vector<int32_t>* const partial = split.valid() ? nullptr : PartialInputs(id, op);
    std::vector<State> wanted;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      wanted.push_back(Wanted(id, i, split, partial));
      const State& state = states_[op.inputs[i]];
      const StorageId storage = graph_.tensor(op.inputs[i]).storage;
      if (stale_[storage].valid() && !state.of_copies) Mark(stale_[storage]);
      if (Writes(op, i) && state.of_copies) stale_[storage] = graph_.group(id);
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      states_[op.outputs[i]] = Made(id, i, split, partial != nullptr);
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) SetShared(op, i, wanted[i]);
  }

  RuleAxisId SplitOf(OpId id, const Op& op) const {
    if (whole_[graph_.group(id)]) return RuleAxisId();
    const RuleAxisId split = axes_.SplitBy(id, axis_);
    for (size_t i = 0; split.valid() && i < op.inputs.size(); ++i) {
      if (!Writes(op, i)) continue;
      const OpRule& rule = *axes_.rule(id);
      const State& state = states_[op.inputs[i]];
      const bool may = Holds(rule.inputs[i], split)
                           ? state.Is({Kind::kSplit, PlaceIn(id, split, rule.inputs[i]), false})
                           : rule.axes[split].parts != Parts::kSum;
      if (!may) return RuleAxisId();
    }
    return split;
  }

  const std::vector<int32_t>* PartialInputs(OpId id, const Op& op) const {
    if (whole_[graph_.group(id)] || axes_.rule(id) == nullptr) return nullptr;
    for (const std::vector<int32_t>& together : axes_.rule(id)->linear) {
      const bool all = std::all_of(together.begin(), together.end(), [&](int32_t input) {
        return states_[op.inputs[static_cast<size_t>(input)]].kind == Kind::kPartial;
      });
      if (all && !together.empty()) return &together;
    }
    return nullptr;
  }

  State Wanted(OpId id, size_t input, RuleAxisId split, const std::vector<int32_t>* partial) const {
    const auto number = static_cast<int32_t>(input);
    if (partial != nullptr &&
        std::find(partial->begin(), partial->end(), number) != partial->end()) {
      return {Kind::kPartial, {}, false};
    }
    if (!split.valid() || !Holds(axes_.rule(id)->inputs[input], split)) return {};
    return {Kind::kSplit, PlaceIn(id, split, axes_.rule(id)->inputs[input]), false};
  }

  State Made(OpId id, size_t output, RuleAxisId split, bool partial) const {
    if (partial) return {Kind::kPartial, {}, false};
    if (!split.valid()) return {};
    const OpRule& rule = *axes_.rule(id);
    switch (VerdictOf(rule, split, output)) {
      case PartVerdict::kSum: return {Kind::kPartial, {}, false};
      case PartVerdict::kConcat:
        return {Kind::kSplit, PlaceIn(id, split, rule.outputs[output]), false};
      case PartVerdict::kWhole: break;
    }
    return {};
  }

  // A view of something else than the pieces is one of copies; what is written over them goes back to the pieces.
  void SetShared(const Op& op, size_t input, const State& wanted) {
    const State before = states_[op.inputs[input]];
    const bool own = !before.of_copies && before.Is(wanted), written = Writes(op, input);
    for (const TensorId output : op.outputs) {
      if (graph_.tensor(output).storage != graph_.tensor(op.inputs[input]).storage) continue;
      if (written && !before.Is(wanted)) {
        states_[output] = before;
      } else if (!own && !(written && !before.of_copies)) {
        states_[output].of_copies = true;
      }
    }
  }

  void CheckKept(TensorId id) {
    const StorageId storage = graph_.tensor(id).storage;
    if (stale_[storage].valid() && !states_[id].of_copies) Mark(stale_[storage]);
  }

  void Mark(GroupId group) {
    found_ = found_ || !whole_[group];
    whole_[group] = true;
  }

  AxisPlace PlaceIn(OpId op, RuleAxisId split, const TensorAxes& tensor) const {
    return PlaceInRule(axes_, op, split, axis_, tensor);
  }

  const Graph& graph_;
  const NamedAxes& axes_;
  const AxisId axis_;
  IdVector<GroupId, bool>& whole_;
  IdVector<TensorId, State> states_;
  IdVector<StorageId, GroupId> stale_;  // in which it was written through a view of copies
  bool found_ = false;
};

}  // namespace

IdVector<GroupId, bool> FindUnsplitWrites(const Graph& graph, const NamedAxes& axes, AxisId axis) {
  return FindUnsplitWrites(graph, axes, std::set<AxisId>{axis}).at(axis);
}

std::map<AxisId, IdVector<GroupId, bool>> FindUnsplitWrites(const Graph& graph,
                                                            const NamedAxes& axes,
                                                            const std::set<AxisId>& of) {
  std::map<AxisId, IdVector<GroupId, bool>> whole;
  const bool any = WritesThroughViews(graph);
  for (const AxisId axis : of) {
    IdVector<GroupId, bool>& by_axis =
        whole.emplace(axis, IdVector<GroupId, bool>(graph.group_count(), false)).first->second;
    if (!any || !axis.valid()) continue;
    while (Split(graph, axes, axis, by_axis).Run()) {
    }
  }
  return whole;
}

}  // namespace placewright
