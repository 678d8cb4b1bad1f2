#include "check_plan/distributed/share_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "check_plan/distributed/cover.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/norms/definition.h"
#include "check_plan/distributed/norms/formula_check.h"
#include "cost/communication/coalesced_types.h"
#include "sharding/separable_results.h"
#include "sharding/unsplit_writes.h"

namespace placewright::check {
namespace {

class ShareCheck {
 public:
  ShareCheck(const Graph& original, const NamedAxes& axes, const DistributedStep& step,
             const Cluster& cluster, const GroupLayouts& layouts,
             const IdVector<OpId, FoundCut>& cuts)
      : original_(original),
        axes_(axes),
        step_(step),
        cluster_(cluster),
        layouts_(layouts),
        cuts_(cuts),
        drawn_once_(original.group_count(), false) {
    FindDrawnOnce();
    FindUnsplit();
  }

  MaybeViolation Run() const {
    for (const OpId instance : step_.graph.ops()) {
      const bool known = step_.origin[instance].valid() && cuts_[instance].found;
      if (!known || BroughtTo(step_, instance, layouts_).valid()) continue;
      CHECK_PLAN_RETURN_IF_VIOLATED(CheckInstance(instance));
    }
    return std::nullopt;
  }

 private:
  // One device draws for all of a layout's.
  void FindDrawnOnce() {
    IdVector<GroupId, DeviceId> first(original_.group_count());
    IdVector<GroupId, bool> several(original_.group_count(), false);
    for (const OpId instance : step_.graph.ops()) {
      const OpId origin = step_.origin[instance];
      if (!origin.valid() || BroughtTo(step_, instance, layouts_).valid()) continue;
      const GroupId group = original_.group(origin);
      if (!first[group].valid()) first[group] = step_.placement[instance];
      several[group] = several[group] || first[group] != step_.placement[instance];
    }
    for (const OpId op : original_.ops()) {
      const GroupId group = original_.group(op);
      const OpRule* const rule = axes_.rule(op);
      if (rule != nullptr && rule->draws_random && !several[group]) drawn_once_[group] = true;
    }
  }

  void FindUnsplit() {
    std::set<AxisId> axes;
    for (const GroupId group : IdRange<GroupId>(original_.group_count())) {
      for (const AxisId axis : layouts_.axes(group)) axes.insert(axis);
    }
    unsplit_ = FindUnsplitWrites(original_, axes_, axes);
  }

  MaybeViolation CheckInstance(OpId instance) const {
    const OpId origin = step_.origin[instance];
    const GroupId group = original_.group(origin);
    if (layouts_.spec_of(group) < 0) return std::nullopt;
    const Cut& cut = cuts_[instance].cut;
    const Cut due = DueOf(origin, step_.placement[instance]);
    if (Same(instance, cut, due) || Same(instance, cut, WithoutWhole(instance, cut, due))) {
      return std::nullopt;
    }
    return Violation{
        ViolationKind::kWrongPart,
        fmt::format("{} computes {}, where layouts[{}] gives {} {}",
                    NameOf(original_, step_, instance), ToString(cut), layouts_.spec_of(group),
                    Printable(cluster_.device(step_.placement[instance]).name, 80),
                    DueText(origin, step_.placement[instance], due)),
        PlaceOf(step_, instance)};
  }

  std::string DueText(OpId origin, DeviceId device, const Cut& due) const {
    if (due.whole()) return "all of it";
    std::string text;
    for (const auto& [axis, share] : layouts_.ShareOn(original_.group(origin), device)) {
      text += fmt::format("{}[{}, {}) of \"{}\"", text.empty() ? "" : ", ", share.from, share.to,
                          Printable(axes_.axis(axis).name, 80));
    }
    return text;
  }

  // Other factors of the rule's axis stand before the layout's axis, or behind it.
  Cut DueOf(OpId origin, DeviceId device) const {
    const GroupId group = original_.group(origin);
    std::vector<CutAlong> along;
    for (const auto& [axis, share] : layouts_.ShareOn(group, device)) {
      const RuleAxisId split = axes_.SplitBy(origin, axis);
      if (unsplit_.at(axis)[group] || !split.valid()) continue;
      int64_t outer = 1, inner = 1;
      bool passed = false;
      for (const AxisId factor : axes_.FactorsOf(origin, split)) {
        if (factor == axis && !passed) {
          passed = true;
        } else {
          (passed ? inner : outer) *= axes_.axis(factor).size;
        }
      }
      along.push_back({split, outer, axes_.axis(axis).size * inner, share.from * inner,
                       share.to * inner, false});
    }
    return Merged(std::move(along));
  }

  // What has no place is compared by the sizes of all tensors.
  bool Same(OpId instance, const Cut& cut, const Cut& due) const {
    if (!cut.somewhere()) return cut == due;
    const OpId origin = step_.origin[instance];
    const Op &stated = original_.op(origin), &made = step_.graph.op(instance);
    const OpRule& rule = *axes_.rule(origin);
    const auto fits = [&](const TensorAxes& axes, TensorId whole, TensorId piece) {
      const std::vector<int64_t>& shape = original_.tensor(whole).shape;
      const auto sizes = ShapeOf(shape, PartIn(rule, axes, shape, due));
      return sizes && *sizes == step_.graph.tensor(piece).shape;
    };
    for (size_t i = 0; i < std::min(stated.inputs.size(), made.inputs.size()); ++i) {
      if (IsUnread(rule, i)) continue;
      if (!fits(rule.inputs[i], stated.inputs[i], made.inputs[i])) return false;
    }
    for (size_t i = 0; i < made.outputs.size(); ++i) {
      const TensorId output = OutputOf(origin, step_.graph.tensor(made.outputs[i]).output_index, i);
      const auto at = std::find(stated.outputs.begin(), stated.outputs.end(), output);
      const auto number = static_cast<size_t>(at - stated.outputs.begin());
      if (at == stated.outputs.end() || !fits(rule.outputs[number], output, made.outputs[i])) {
        return false;
      }
    }
    return true;
  }

  // An op with a mask makes some of the results.
  TensorId OutputOf(OpId origin, int32_t index, size_t number) const {
    const std::vector<TensorId>& outputs = original_.op(origin).outputs;
    for (const TensorId id : outputs) {
      if (index >= 0 && original_.tensor(id).output_index == index) return id;
    }
    return number < outputs.size() ? outputs[number] : TensorId();
  }

  // All of each axis that may be whole, and is.
  Cut WithoutWhole(OpId instance, const Cut& cut, const Cut& due) const {
    const OpId origin = step_.origin[instance];
    std::vector<RuleAxisId> left = AxesOf(cut);
    for (const AxisId axis : layouts_.axes(original_.group(origin))) {
      if (!MayBeWhole(origin, axis)) left.push_back(axes_.SplitBy(origin, axis));
    }
    return Along(due, left);
  }

  bool MayBeWhole(OpId origin, AxisId axis) const {
    const OpRule* const rule = axes_.rule(origin);
    const bool is_norm = rule != nullptr && (rule->form == PartForm::kBatchNorm ||
                                             rule->form == PartForm::kBatchNormBackward);
    const bool is_formula = FormulaCheck::Knows(original_, origin);
    return drawn_once_[original_.group(origin)] || WritesWhole(origin, axis) ||
           (is_norm && !StatedNormOf(original_.op(origin))) ||
           ((is_norm || is_formula) && !HaveStatistics(origin));
  }

  // Whether devices that are alike but for the axes of a norm's statistics (a softmax's sums) have all of these among them: each part
  // once, or each as often.
  bool HaveStatistics(OpId norm) const {
    const GroupId group = original_.group(norm);
    struct Alike {
      Box beside;               // of the other axes
      std::vector<Part> parts;  // an axis is a dimension
    };
    std::vector<Alike> rows;
    for (const DeviceId device : layouts_.devices(layouts_.spec_of(group))) {
      std::vector<AxisInterval> beside;
      std::vector<PartAlong> over;
      for (const AxisInterval& one : layouts_.ShareOn(group, device)) {
        const RuleAxisId split = axes_.SplitBy(norm, one.axis);
        if (!split.valid() || unsplit_.at(one.axis)[group]) continue;
        if (axes_.rule(norm)->axes[split].parts != Parts::kSynchronised) {
          beside.push_back(one);
          continue;
        }
        over.push_back({static_cast<int32_t>(one.axis.index()), 1, axes_.axis(one.axis).size,
                        one.interval.from, one.interval.to, false});
      }
      const Box box = {beside.begin(), beside.end()};
      auto row = std::find_if(rows.begin(), rows.end(),
                              [&](const Alike& one) { return one.beside == box; });
      if (row == rows.end()) row = rows.insert(row, {box, {}});
      row->parts.push_back(Merged(std::move(over)));
    }
    return std::all_of(rows.begin(), rows.end(), [](const Alike& row) {
      const auto copies = [&](const Part& part) {
        return std::count(row.parts.begin(), row.parts.end(), part);
      };
      return CoverageOf(row.parts).kind == Coverage::kOnce &&
             std::all_of(row.parts.begin(), row.parts.end(), [&](const Part& part) {
               return copies(part) == copies(row.parts.front());
             });
    });
  }

  // What the op writes in place is all there: another op has made it so, or is blamed for it. What is there before
  // the step lies as the layout says.
  bool WritesWhole(OpId origin, AxisId axis) const {
    const std::vector<TensorId>& writes = original_.op(origin).writes;
    return std::any_of(writes.begin(), writes.end(), [&](TensorId written) {
      return original_.tensor(written).producer.valid() || !axes_.Holds(written, axis);
    });
  }

  const Graph& original_;
  const NamedAxes& axes_;
  const DistributedStep& step_;
  const Cluster& cluster_;
  const GroupLayouts& layouts_;
  const IdVector<OpId, FoundCut>& cuts_;
  IdVector<GroupId, bool> drawn_once_;
  std::map<AxisId, IdVector<GroupId, bool>> unsplit_;
};

// The norms of a step whose results several ops make together, or each part alone.
class LocalNormCheck {
 public:
  LocalNormCheck(const Graph& original, const NamedAxes& axes, const DistributedStep& step,
                 const IdVector<OpId, FoundCut>& cuts)
      : original_(original), axes_(axes) {
    for (const OpId instance : step.graph.ops()) {
      const OpId origin = step.origin[instance];
      if (!origin.valid() || !StatedNormOf(original.op(origin)) || cuts[instance].cut.whole())
        continue;
      Parts& parts = parts_[origin];
      parts.cuts[step.placement[instance]] = cuts[instance].cut;
      parts.together = parts.together || step.graph.op(instance).type != original.op(origin).type;
    }
  }

  MaybeViolation Run() const {
    for (const auto& [norm, parts] : parts_) {
      if (!parts.together || !MayBeLocal(norm, parts)) continue;
      return Violation{ViolationKind::kWrongStatistics,
                       fmt::format("\"{}\" has statistics of all parts, where batch_norm is local",
                                   Printable(original_.op(norm).name, 80)),
                       "batch_norm"};
    }
    return std::nullopt;
  }

 private:
  struct Parts {
    std::map<DeviceId, Cut> cuts;
    bool together = false;  // other ops than the norm compute it
  };

  bool MayBeLocal(OpId norm, const Parts& parts) const {
    const Op& op = original_.op(norm);
    const StatedNorm stated = *StatedNormOf(op);
    if (stated.backward) return false;
    const auto is_statistic = [&](TensorId id) {
      return original_.tensor(id).producer == norm && original_.tensor(id).output_index > 0;
    };
    const auto outputs = original_.outputs();
    if (std::any_of(outputs.begin(), outputs.end(), is_statistic)) return false;
    for (const OpId reader : original_.consumers(norm)) {
      const Op& one = original_.op(reader);
      if (std::none_of(one.inputs.begin(), one.inputs.end(), is_statistic)) continue;
      const auto backward = parts_.find(reader);
      const auto is_backward = StatedNormOf(one);
      if (!is_backward || !is_backward->backward || backward == parts_.end()) return false;
      if (!(backward->second.cuts == parts.cuts)) return false;
    }
    const std::vector<int64_t>& x =
        original_.tensor(op.inputs[static_cast<size_t>(stated.x)]).shape;
    // Each channel has its own.
    const OpRule& rule = *axes_.rule(norm);
    const TensorAxes& of_x = rule.inputs[static_cast<size_t>(stated.x)];
    return std::all_of(parts.cuts.begin(), parts.cuts.end(), [&](const auto& part) {
      const auto sizes = ShapeOf(x, PartIn(rule, of_x, x, part.second));
      int64_t own = 1;
      for (size_t d = 0; sizes && d < x.size(); ++d) own *= d == 1 ? 1 : (*sizes)[d];
      return own > 1;
    });
  }

  const Graph& original_;
  const NamedAxes& axes_;
  std::map<OpId, Parts> parts_;
};

}  // namespace

MaybeViolation CheckShares(const Graph& original, const NamedAxes& axes,
                           const DistributedStep& step, const Cluster& cluster,
                           const GroupLayouts& layouts, const IdVector<OpId, FoundCut>& cuts) {
  return ShareCheck(original, axes, step, cluster, layouts, cuts).Run();
}

MaybeViolation CheckLocalNorms(const Graph& original, const NamedAxes& axes,
                               const DistributedStep& step, const IdVector<OpId, FoundCut>& cuts) {
  return LocalNormCheck(original, axes, step, cuts).Run();
}

MaybeViolation CheckSwitches(const Graph& original, const DistributedStep& step,
                             const DistributionSpec& spec) {
  bool any_apart = false;
  for (const OpId id : step.graph.ops()) {
    const Op& op = step.graph.op(id);
    const auto wrong = [&](std::string message) {
      return Violation{ViolationKind::kWrongArgument,
                       fmt::format("\"{}\" {}", Printable(op.name, 80), message),
                       PlaceOf(step, id)};
    };
    if (op.type == "placewright.broadcast.default" && !spec.switches.broadcasts) {
      return wrong("is a broadcast, where the plan says that there are none");
    }
    if (IsCoalesced(op.type) && !spec.switches.unit_collectives) {
      return wrong("is of several tensors, where the plan says that each has its own collective");
    }
    const OpId origin = step.origin[id];
    const auto mask = origin.valid() ? SeparableResults(op) : std::nullopt;
    const bool apart = mask && mask != SeparableResults(original.op(origin));
    any_apart = any_apart || apart;
    if (apart && !spec.switches.gradients_apart.value_or(true)) {
      return wrong(
          "makes some of its gradients alone, where the plan says that none is made apart");
    }
    if (op.type != "placewright.pack.default" || op.outputs.empty()) continue;
    const int64_t bytes = step.graph.tensor(op.outputs.front()).bytes.count;
    if (bytes <= spec.switches.fusion.count) continue;
    return wrong(fmt::format("joins {} bytes of gradients, where fusion_bytes is {}", bytes,
                             spec.switches.fusion.count));
  }
  if (any_apart || !spec.switches.gradients_apart.value_or(false)) return std::nullopt;
  return Violation{ViolationKind::kWrongArgument,
                   "no gradient is made apart, where the plan says that some are", "plan"};
}

namespace {

OpId MakerOf(const DistributedStep& step, TensorId tensor) {
  return step.graph.storage(step.graph.tensor(tensor).storage).versions.front().writer;
}

bool IsParameter(const DistributedStep& step, TensorId tensor) {
  return step.graph.storage(step.graph.tensor(tensor).storage).kind == TensorKind::kParameter;
}

// What an op gathers the storage's tensor of; none: it is gathered by none.
TensorId GatheredFrom(const DistributedStep& step, StorageId storage) {
  const OpId maker = step.graph.storage(storage).versions.front().writer;
  if (!maker.valid()) return TensorId();
  const Op& op = step.graph.op(maker);
  const bool several = op.type == "placewright.all_gather.coalesced";
  if (!several && op.type != "placewright.all_gather.default") return TensorId();
  for (size_t i = 0; i < std::min(op.outputs.size(), op.inputs.size()); ++i) {
    if (step.graph.tensor(op.outputs[i]).storage == storage) return op.inputs[i];
  }
  return TensorId();
}

// Of what is there before the step, perhaps in another type, and perhaps along one axis after the other.
bool GathersParameter(const DistributedStep& step, StorageId storage) {
  while (true) {
    const TensorId read = GatheredFrom(step, storage);
    if (!read.valid()) return false;
    if (IsParameter(step, read)) return true;
    storage = step.graph.tensor(read).storage;
    const OpId maker = MakerOf(step, read);
    const bool cast = maker.valid() && step.graph.op(maker).type == "aten._to_copy.default";
    if (cast && IsParameter(step, step.graph.op(maker).inputs.front())) return true;
  }
}

}  // namespace

DeviceId BroughtTo(const DistributedStep& step, OpId instance, const GroupLayouts& layouts) {
  const Op& op = step.graph.op(instance);
  if (!op.is_view || op.outputs.empty()) return DeviceId();
  TensorId brought = op.outputs.front();
  OpId maker = MakerOf(step, brought);
  if (!maker.valid()) return DeviceId();
  const Op& copied = step.graph.op(maker);
  // Out of a flat buffer.
  if (copied.type == "placewright.concat.default" && copied.inputs.size() == 1) {
    brought = copied.inputs.front();
    maker = MakerOf(step, brought);
    if (!maker.valid()) return DeviceId();
  }
  const std::string_view type = step.graph.op(maker).type;
  const bool here = step.placement[maker] == step.placement[instance];
  const bool copy = type == "placewright.broadcast.default" ||
                    GathersParameter(step, step.graph.tensor(brought).storage) ||
                    (layouts.gathers_anew() && here);
  return copy ? step.placement[maker] : DeviceId();
}

}  // namespace placewright::check
