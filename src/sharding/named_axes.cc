#include "sharding/named_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sharding/factors.h"
#include "sharding/routing.h"
#include "sharding/rule_memo.h"

namespace placewright {
class AxisFinder {
 public:
  explicit AxisFinder(NamedAxes& axes) : axes_(axes), graph_(axes.graph_), memo_(graph_) {}

  void Find() {
    AddDimensions();
    AddBatch();
    RoutedRows routed = FindRoutedRows(graph_);
    axes_.in_own_order_ = std::move(routed.tensors);
    for (const OpId op : graph_.ops()) {
      const auto own = routed.rules.find(op);
      axes_.rule_of_.push_back(own == routed.rules.end() ? memo_.Find(op)
                                                         : memo_.Add(std::move(own->second)));
      const std::optional<OpRule>& rule = memo_.rule(axes_.rule_of_[op]);
      axes_.first_row_.push_back(static_cast<int32_t>(parts_.offsets.size()) - 1);
      if (rule) {
        Apply(op, *rule);
        SeedFresh(op, *rule);
      } else {
        for (const TensorId output : graph_.op(op).outputs) SeedBatch(output, true);
      }
    }
    if (batch_ >= 0) SeedInputs(/*flattened=*/true);
    NameAxes();
    axes_.rules_ = std::move(memo_).TakeRules();
  }

 private:
  using PartId = Id<struct PartTag>;

  // The factors that stand for an axis of a rule, once for each place that it has; memory is kept.
  struct Found {
    std::vector<Factors::List> kept;
    size_t lists = 0;
    bool broken = false;

    void Clear() {
      lists = 0;
      broken = false;
    }
    Factors::List& Next() {  // which counts once `lists` does
      if (lists == kept.size()) kept.emplace_back();
      kept[lists].clear();
      return kept[lists];
    }
    const Factors::List& list(size_t i) const { return kept[i]; }
  };

  void AddDimensions() {
    int32_t dimensions = 0;
    for (const TensorId id : graph_.tensors()) {
      axes_.first_dimension_.push_back(dimensions);
      for (const int64_t size : graph_.tensor(id).shape) {
        dimension_.push_back(size == 1 ? -1 : factors_.Add(size));
        ++dimensions;
      }
    }
  }

  int32_t& DimensionOf(TensorId tensor, size_t dimension) {
    return dimension_[static_cast<size_t>(axes_.first_dimension_[tensor]) + dimension];
  }

  void ListOf(TensorId tensor, size_t dimension, Factors::List& list) {
    list.clear();
    const int32_t factor = DimensionOf(tensor, dimension);
    if (factor >= 0) factors_.Expand(factor, list);
  }

  void AddBatch() {
    if (graph_.batch_scaling() == nullptr || !graph_.batch_scaling()->reason.empty() ||
        graph_.batch() < 2) {
      return;
    }
    batch_ = factors_.Add(graph_.batch());
    factors_.Pin(batch_);
    SeedInputs(/*flattened=*/false);
  }

  // Flattened ones behind the ops, which may say where in the dimension the batch is: "[b s]" or "[s b]". Slices into
  // micro-batches come first: what they are of has the batch as the inner factor.
  void SeedInputs(bool flattened) {
    for (const OpId op : graph_.ops()) {
      if (CutsMicroBatch(graph_.op(op))) SeedBatch(graph_.op(op).outputs[0], flattened);
    }
    for (const TensorId id : graph_.tensors()) {
      if (!graph_.tensor(id).producer.valid()) SeedBatch(id, flattened);
    }
  }

  // A slice of a dimension that grows faster with the batch than the slice does.
  bool CutsMicroBatch(const Op& op) const {
    if (op.type != "aten.slice.Tensor" || op.inputs.size() != 1 || op.outputs.size() != 1) {
      return false;
    }
    const auto of = graph_.batch_scaling()->dimensions[op.inputs[0]];
    const auto slice = graph_.batch_scaling()->dimensions[op.outputs[0]];
    return of.size() == 1 && slice.size() == 1 && of[0].dimension == slice[0].dimension &&
           slice[0].slope > 0 && of[0].slope > slice[0].slope;
  }

  // Of an op whose outputs have an axis to split that no input has: what it makes from nothing, or repeats.
  void SeedFresh(OpId id, const OpRule& rule) {
    const Op& op = graph_.op(id);
    const auto is_fresh = [&](const std::vector<RuleAxisId>& dimension) {
      return dimension.size() == 1 && rule.axes[dimension[0]].parts == Parts::kSplit &&
             std::none_of(rule.inputs.begin(), rule.inputs.end(), [&](const TensorAxes& input) {
               return placewright::Holds(input, dimension[0]);
             });
    };
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      if (std::any_of(rule.outputs[i].begin(), rule.outputs[i].end(), is_fresh)) {
        SeedBatch(op.outputs[i], false);
      }
    }
  }

  // The dimensions that follow the batch have it; of several factors as the outermost, unless they have it
  // elsewhere.
  void SeedBatch(TensorId id, bool flattened) {
    if (batch_ < 0) return;
    for (const DimensionLaw& item : graph_.batch_scaling()->dimensions[id]) {
      const size_t dimension = static_cast<size_t>(item.dimension);
      // Of a product of the batch with itself, rules say which factor is split.
      if (item.slope == 0 || graph_.tensor(id).shape[dimension] != item.slope * graph_.batch()) {
        continue;
      }
      if (item.slope != 1 && !flattened) continue;
      ListOf(id, dimension, list_);
      const int32_t batch = factors_.Root(batch_);
      if (std::find(list_.begin(), list_.end(), batch) != list_.end()) continue;
      Factors::List outer;
      if (factors_.Cut(list_, graph_.batch(), outer)) factors_.Unify(outer, {batch_});
    }
  }

  // A rule's axis is one list of factors in all tensors that have it.
  void Apply(OpId id, const OpRule& rule) {
    const Op& op = graph_.op(id);
    found_.resize(std::max(found_.size(), rule.axes.size()));
    for (size_t axis = 0; axis < rule.axes.size(); ++axis) found_[axis].Clear();
    Collect(op.inputs, rule, rule.inputs);
    Collect(op.outputs, rule, rule.outputs);
    for (size_t axis = 0; axis < rule.axes.size(); ++axis) {
      Found& found = found_[axis];
      for (size_t i = 1; i < found.lists; ++i) {
        if (!factors_.Unify(found.list(0), found.list(i))) found.broken = true;
      }
      if (!found.broken && found.lists > 0) {
        parts_.items.insert(parts_.items.end(), found.list(0).begin(), found.list(0).end());
      }
      parts_.offsets.push_back(static_cast<int32_t>(parts_.items.size()));
    }
  }

  // What stands for each axis of the rule in these tensors.
  void Collect(const std::vector<TensorId>& tensors, const OpRule& rule,
               const std::vector<TensorAxes>& all) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      for (size_t d = 0; d < all[i].size(); ++d) {
        ListOf(tensors[i], d, list_);
        bool aligned = true;
        for (const RuleAxisId axis : all[i][d]) {
          Found& found = found_[axis.index()];
          aligned = aligned && factors_.Cut(list_, rule.axes[axis].size, found.Next());
          if (aligned) {
            ++found.lists;
          } else {
            found.broken = true;
          }
        }
      }
    }
  }

  void NameAxes() {
    std::vector<AxisId> axis_of;
    const auto id_of = [&](int32_t root) -> AxisId& {
      if (axis_of.size() <= static_cast<size_t>(root))
        axis_of.resize(static_cast<size_t>(root) + 1);
      return axis_of[static_cast<size_t>(root)];
    };
    if (batch_ >= 0) {
      axes_.batch_ = axes_.axes_.push_back({"batch", graph_.batch(), 0});
      id_of(factors_.Root(batch_)) = axes_.batch_;
    }
    std::vector<AxisId> of_tensor;
    for (const TensorId id : graph_.tensors()) {
      of_tensor.clear();
      for (size_t d = 0; d < graph_.tensor(id).shape.size(); ++d) {
        ListOf(id, d, list_);
        for (size_t i = 0; i < list_.size(); ++i) {
          AxisId& axis = id_of(list_[i]);
          if (!axis.valid()) {
            axis =
                axes_.axes_.push_back({NameOf(id, d, i, list_.size()), factors_.Size(list_[i]), 0});
          }
          of_tensor.push_back(axis);
          axes_.factors_.items.push_back(axis);
        }
        axes_.factors_.offsets.push_back(static_cast<int32_t>(axes_.factors_.items.size()));
      }
      std::sort(of_tensor.begin(), of_tensor.end());
      of_tensor.erase(std::unique(of_tensor.begin(), of_tensor.end()), of_tensor.end());
      for (const AxisId axis : of_tensor) ++axes_.axes_[axis].tensors;
    }
    // Factors of rules may have been refined since.
    for (size_t row = 0; row + 1 < parts_.offsets.size(); ++row) {
      list_.clear();
      for (const int32_t factor : parts_[PartId(row)]) factors_.Expand(factor, list_);
      for (const int32_t root : list_) axes_.rule_factors_.items.push_back(id_of(root));
      axes_.rule_factors_.offsets.push_back(static_cast<int32_t>(axes_.rule_factors_.items.size()));
    }
  }

  std::string NameOf(TensorId id, size_t dimension, size_t factor, size_t count) const {
    const std::string name = fmt::format("{}[{}]", graph_.tensor(id).name, dimension);
    return count == 1 ? name : fmt::format("{}.{}", name, factor);
  }

  NamedAxes& axes_;
  const Graph& graph_;
  Factors factors_;
  std::vector<int32_t> dimension_;  // the factor of each dimension; -1: of size 1
  int32_t batch_ = -1;
  Csr<PartId, int32_t> parts_;  // of each axis of the ops' rules; empty: not aligned
  RuleMemo memo_;
  std::vector<Found> found_;  // by axis of one op's rule
  Factors::List list_;        // what one function works on, kept for its memory
};

NamedAxes::NamedAxes(const Graph& graph) : graph_(graph) { AxisFinder(*this).Find(); }

int64_t NamedAxes::samples() const {
  if (batch_.valid()) return axes_[batch_].size;
  const BatchScaling* const scaling = graph_.batch_scaling();
  return scaling != nullptr && scaling->reason.empty() && graph_.batch() == 1 ? 1 : 0;
}

Error NamedAxes::WhyNoBatch() const {
  const BatchScaling* const scaling = graph_.batch_scaling();
  const bool tried = scaling != nullptr && !scaling->reason.empty();
  return MakeError(
      ErrorCode::kBatchScaling,
      "the batch cannot be split: " +
          (tried ? scaling->reason : "nothing proves how the step follows it"),
      "",
      "Split another axis, or give a step that follows its batch: `placewright capture` "
      "proves it of what it records.");
}

AxisId NamedAxes::Find(std::string_view name) const {
  for (const AxisId id : axes()) {
    if (axes_[id].name == name) return id;
  }
  return AxisId();
}

std::span<const AxisId> NamedAxes::factors(TensorId tensor, size_t dimension) const {
  return factors_[Id<struct DimensionTag>(first_dimension_[tensor] +
                                          static_cast<int32_t>(dimension))];
}

bool NamedAxes::Holds(TensorId tensor, AxisId axis) const {
  for (size_t d = 0; d < graph_.tensor(tensor).shape.size(); ++d) {
    for (const AxisId factor : factors(tensor, d)) {
      if (factor == axis) return true;
    }
  }
  return false;
}

RuleAxisId NamedAxes::SplitBy(OpId op, AxisId axis) const {
  const OpRule* const found = rule(op);
  if (found == nullptr) return RuleAxisId();
  for (size_t i = 0; i < found->axes.size(); ++i) {
    const RuleAxisId id(i);
    if (found->axes[id].parts == Parts::kWhole) continue;
    std::span<const AxisId> factors = FactorsOf(op, id);
    // Parts of an inner factor lie apart, which such an operator cannot say.
    if (HasUnevenParts(*found, id)) factors = factors.first(std::min<size_t>(1, factors.size()));
    if (std::find(factors.begin(), factors.end(), axis) != factors.end()) return id;
  }
  return RuleAxisId();
}

bool NamedAxes::Touches(OpId op, AxisId axis) const {
  const auto holds = [&](TensorId tensor) { return Holds(tensor, axis); };
  const Op& one = graph_.op(op);
  return std::any_of(one.inputs.begin(), one.inputs.end(), holds) ||
         std::any_of(one.outputs.begin(), one.outputs.end(), holds);
}

PartVerdict NamedAxes::verdict(OpId op, AxisId axis, size_t output) const {
  const RuleAxisId split = SplitBy(op, axis);
  return split.valid() ? VerdictOf(*rule(op), split, output) : PartVerdict::kWhole;
}

}  // namespace placewright
