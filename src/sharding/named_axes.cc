#include "sharding/named_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sharding/factors.h"

namespace placewright {
class AxisFinder {
 public:
  explicit AxisFinder(NamedAxes& axes) : axes_(axes), graph_(axes.graph_) {}

  void Find() {
    AddDimensions();
    AddBatch();
    axes_.rules_.resize(graph_.op_count());
    parts_.resize(graph_.op_count());
    for (const OpId op : graph_.ops()) {
      axes_.rules_[op] = RuleOf(graph_, op);
      if (axes_.rules_[op]) {
        Apply(op);
        SeedFresh(op);
      } else {
        for (const TensorId output : graph_.op(op).outputs) SeedBatch(output, true);
      }
    }
    SeedInputs(/*flattened=*/true);
    NameAxes();
  }

 private:
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

  Factors::List ListOf(TensorId tensor, size_t dimension) {
    Factors::List list;
    const int32_t factor = DimensionOf(tensor, dimension);
    if (factor >= 0) factors_.Expand(factor, list);
    return list;
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

  // Flattened ones behind the ops, which may say where in the dimension the batch is: "[b s]" or "[s b]".
  void SeedInputs(bool flattened) {
    for (const TensorId id : graph_.tensors()) {
      if (!graph_.tensor(id).producer.valid()) SeedBatch(id, flattened);
    }
  }

  // Of an op whose outputs have an axis to split that no input has: what it makes from nothing, or repeats.
  void SeedFresh(OpId id) {
    const OpRule& rule = *axes_.rules_[id];
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
    for (const DimensionSlope& item : graph_.batch_scaling()->dimensions[id]) {
      const size_t dimension = static_cast<size_t>(item.dimension);
      if (graph_.tensor(id).shape[dimension] != item.slope * graph_.batch()) continue;
      if (item.slope != 1 && !flattened) continue;
      Factors::List list = ListOf(id, dimension), outer;
      const int32_t batch = factors_.Root(batch_);
      if (std::find(list.begin(), list.end(), batch) != list.end()) continue;
      if (factors_.Cut(list, graph_.batch(), outer)) factors_.Unify(outer, {batch_});
    }
  }

  // A rule's axis is one list of factors in all tensors that have it.
  void Apply(OpId id) {
    const OpRule& rule = *axes_.rules_[id];
    const Op& op = graph_.op(id);
    std::vector<std::vector<Factors::List>> found(rule.axes.size());
    std::vector<bool> broken(rule.axes.size(), false);
    const auto collect = [&](const std::vector<TensorId>& tensors,
                             const std::vector<TensorAxes>& all) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        for (size_t d = 0; d < all[i].size(); ++d) {
          Factors::List list = ListOf(tensors[i], d);
          bool aligned = true;
          for (const RuleAxisId axis : all[i][d]) {
            Factors::List outer;
            aligned = aligned && factors_.Cut(list, rule.axes[axis].size, outer);
            if (aligned) {
              found[axis.index()].push_back(std::move(outer));
            } else {
              broken[axis.index()] = true;
            }
          }
        }
      }
    };
    collect(op.inputs, rule.inputs);
    collect(op.outputs, rule.outputs);
    for (size_t axis = 0; axis < found.size(); ++axis) {
      for (size_t i = 1; i < found[axis].size(); ++i) {
        if (!factors_.Unify(Expanded(found[axis][0]), Expanded(found[axis][i]))) {
          broken[axis] = true;
        }
      }
      parts_[id].push_back(broken[axis] || found[axis].empty() ? Factors::List() : found[axis][0]);
    }
  }

  // Of factors that may have been refined since.
  Factors::List Expanded(const Factors::List& list) {
    Factors::List expanded;
    for (const int32_t factor : list) factors_.Expand(factor, expanded);
    return expanded;
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
        const Factors::List list = ListOf(id, d);
        for (size_t i = 0; i < list.size(); ++i) {
          AxisId& axis = id_of(list[i]);
          if (!axis.valid()) {
            axis =
                axes_.axes_.push_back({NameOf(id, d, i, list.size()), factors_.Size(list[i]), 0});
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
    axes_.rule_factors_.resize(graph_.op_count());
    for (const OpId op : graph_.ops()) {
      for (const Factors::List& list : parts_[op]) {
        std::vector<AxisId>& axes = axes_.rule_factors_[op].emplace_back();
        for (const int32_t root : Expanded(list)) axes.push_back(id_of(root));
      }
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
  IdVector<OpId, std::vector<Factors::List>>
      parts_;  // of each axis of the op's rule; none: not aligned
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
  for (size_t i = 0; i < rule_factors_[op].size(); ++i) {
    const RuleAxisId id(i);
    if (rules_[op]->axes[id].parts == Parts::kWhole) continue;
    const std::vector<AxisId>& factors = rule_factors_[op][i];
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
  return split.valid() ? VerdictOf(*rules_[op], split, output) : PartVerdict::kWhole;
}

}  // namespace placewright
