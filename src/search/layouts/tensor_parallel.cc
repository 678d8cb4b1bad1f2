#include "search/layouts/tensor_parallel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "graph/ownership/module_path.h"
#include "search/layouts/routed_experts.h"

namespace placewright {
namespace {

class CutFinder {
 public:
  CutFinder(const Graph& graph, const NamedAxes& axes, int64_t degree, std::vector<AxisId> tokens)
      : graph_(graph),
        axes_(axes),
        degree_(degree),
        tokens_(std::move(tokens)),
        cuts_(graph.group_count(), {AxisId(), axes.batch()}),
        inside_(graph.group_count(), false),
        readers_(graph.tensor_count(), 0) {
    for (const OpId op : graph.ops()) {
      for (const TensorId input : graph.op(op).inputs) ++readers_[input];
    }
  }

  IdVector<GroupId, TensorCut> Find(const ModelStructure& structure) {
    std::vector<AxisId> by = structure.heads;
    by.insert(by.end(), structure.widths.begin(), structure.widths.end());
    by.insert(by.end(), structure.words.begin(), structure.words.end());
    const std::set<AxisId> rows = RowsOfWords();
    by.insert(by.end(), rows.begin(), rows.end());
    CutBy(by);
    const RoutedExperts routed(graph_, axes_);
    for (const AxisId axis : structure.experts) CutByExperts(axis, routed);
    CutRegionsAlike(routed.regions());
    if (!tokens_.empty()) CutTokens();
    return std::move(cuts_);
  }

 private:
  // A group by the last of the axes that any of its ops can be split by.
  void CutBy(const std::vector<AxisId>& by) {
    IdVector<AxisId, size_t> rank(axes_.axis_count(), 0);
    for (size_t i = 0; i < by.size(); ++i) {
      if (axes_.axis(by[i]).size >= degree_) rank[by[i]] = i + 1;
    }
    IdVector<GroupId, size_t> last(graph_.group_count(), 0);
    for (const OpId op : graph_.ops()) {
      const OpRule* const rule = axes_.rule(op);
      if (rule == nullptr) continue;
      size_t& of_group = last[graph_.group(op)];
      for (const RuleAxisId axis : IdRange<RuleAxisId>(rule->axes.size())) {
        if (rule->axes[axis].parts == Parts::kWhole) continue;
        for (const AxisId factor : axes_.FactorsOf(op, axis)) {
          of_group = std::max(of_group, rank[factor]);
        }
      }
    }
    for (const GroupId group : IdRange<GroupId>(graph_.group_count())) {
      if (last[group] == 0) continue;
      cuts_[group].over_group = by[last[group] - 1];
      inside_[group] = true;
    }
  }

  // Before inner widths: small products are not made smaller.
  void CutByExperts(AxisId axis, const RoutedExperts& routed) {
    if (axes_.axis(axis).size < degree_) return;
    CutBy({axis});
    const IdVector<GroupId, bool> rows = routed.GroupsOf(axis);
    for (const GroupId group : IdRange<GroupId>(graph_.group_count())) {
      if (!rows[group]) continue;
      cuts_[group].over_group = axis;
      inside_[group] = true;
    }
  }

  // Rows that are sorted by their expert have one layout from the sort to the return.
  void CutRegionsAlike(const std::vector<std::vector<OpId>>& regions) {
    for (const std::vector<OpId>& region : regions) {
      AxisId axis;
      for (const OpId op : region) {
        const AxisId own = cuts_[graph_.group(op)].over_group;
        if (!axis.valid()) axis = own;
      }
      for (const OpId op : region) {
        cuts_[graph_.group(op)].over_group = axis;
        inside_[graph_.group(op)] = true;
      }
    }
  }

  // Of embeddings that look up what samples hold, in more rows than these are wide: no positions, no types of tokens.
  std::set<AxisId> RowsOfWords() const {
    std::set<AxisId> rows;
    for (const OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      if (op.type != "aten.embedding.default" || op.inputs.size() != 2) continue;
      const std::vector<int64_t>& table = graph_.tensor(op.inputs[0]).shape;
      if (!axes_.Holds(op.inputs[1], axes_.batch()) || table.size() != 2) continue;
      const auto factors = axes_.factors(op.inputs[0], 0);
      if (table[0] > table[1] && factors.size() == 1) rows.insert(factors[0]);
    }
    return rows;
  }

  void CutTokens() {
    FindFollowers();
    IdVector<TensorId, bool> partial(graph_.tensor_count(), false);
    for (const OpId op : graph_.topological_order()) {
      const bool inside = inside_[graph_.group(op)], sums = AddsUp(op, partial);
      const auto& outputs = graph_.op(op).outputs;
      for (size_t i = 0; i < outputs.size(); ++i) {
        partial[outputs[i]] = sums || (inside && IsSum(op, i));
      }
      if (inside || sums || !follows_[op] || !HasBoth(op)) continue;
      cuts_[graph_.group(op)].over_group = FirstSplit(axes_, op, tokens_);
    }
  }

  bool HasBoth(OpId op) const {
    return FirstSplit(axes_, op, tokens_).valid() && axes_.SplitBy(op, axes_.batch()).valid();
  }

  // What follows from parameters; and what is made for that alone, as the masks of dropout.
  void FindFollowers() {
    follows_ = IdVector<OpId, bool>(graph_.op_count(), false);
    const auto order = graph_.topological_order();
    for (const OpId id : order) {
      for (const TensorId input : graph_.op(id).inputs) {
        const Tensor& tensor = graph_.tensor(input);
        const bool parameter = graph_.storage(tensor.storage).kind == TensorKind::kParameter;
        follows_[id] =
            follows_[id] || parameter || (tensor.producer.valid() && follows_[tensor.producer]);
      }
    }
    for (size_t i = order.size(); i-- > 0;) {
      const OpId id = order[i];
      const auto readers = graph_.consumers(id);
      if (follows_[id] || readers.empty() || !HasBoth(id)) continue;
      follows_[id] = std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
        return follows_[reader] && !inside_[graph_.group(reader)] && HasBoth(reader);
      });
    }
  }

  bool IsSum(OpId op, size_t output) const {
    const AxisId axis = cuts_[graph_.group(op)].over_group;
    return axes_.SplitBy(op, axis).valid() && axes_.verdict(op, axis, output) == PartVerdict::kSum;
  }

  // It views or adds sums that are still to be completed and that nothing else reads: what is read elsewhere is completed
  // there anyway, as a residual before a norm.
  bool AddsUp(OpId id, const IdVector<TensorId, bool>& partial) const {
    const Op& op = graph_.op(id);
    const OpRule* const rule = axes_.rule(id);
    if (rule == nullptr || op.inputs.empty() || (op.inputs.size() == 1 && !op.is_view))
      return false;
    const bool all = std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId input) {
      return partial[input] && readers_[input] == 1;
    });
    return all && std::any_of(rule->linear.begin(), rule->linear.end(), [&](const auto& together) {
             return together.size() == op.inputs.size();
           });
  }

  const Graph& graph_;
  const NamedAxes& axes_;
  const int64_t degree_;
  const std::vector<AxisId> tokens_;
  IdVector<GroupId, TensorCut> cuts_;
  IdVector<GroupId, bool> inside_;  // of attention, a perceptron or words
  IdVector<TensorId, int32_t> readers_;
  IdVector<OpId, bool> follows_;
};

}  // namespace

namespace {

// Parameters that the forward pass does something else with than adding them to samples, as it does learned positions.
IdVector<TensorId, bool> NotJustAdded(const Graph& graph, const NamedAxes& axes) {
  IdVector<TensorId, bool> added(graph.tensor_count(), false), else_read = added;
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.phase != Phase::kForward) continue;
    const bool adds = op.type == "aten.add.Tensor" && axes.batch().valid() &&
                      axes.SplitBy(id, axes.batch()).valid();
    for (const TensorId input : op.inputs) (adds ? added : else_read)[input] = true;
  }
  for (const TensorId id : graph.tensors()) else_read[id] = else_read[id] || !added[id];
  return else_read;
}

IdVector<AxisId, bool> AxesOfParameters(const Graph& graph, const NamedAxes& axes) {
  const IdVector<TensorId, bool> counts = NotJustAdded(graph, axes);
  IdVector<AxisId, bool> of_parameter(axes.axis_count(), false);
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    const bool updated = tensor.producer.valid();
    if (tensor.kind != TensorKind::kParameter || updated || !counts[id]) continue;
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      for (const AxisId axis : axes.factors(id, d)) of_parameter[axis] = true;
    }
  }
  return of_parameter;
}

// How many tensors have `axis` and one of `others`.
int64_t TensorsWithBoth(const Graph& graph, const NamedAxes& axes, AxisId axis,
                        const std::vector<AxisId>& others) {
  int64_t count = 0;
  for (const TensorId id : graph.tensors()) {
    const bool has = axes.Holds(id, axis);
    const bool both = has && std::any_of(others.begin(), others.end(),
                                         [&](AxisId other) { return axes.Holds(id, other); });
    count += both ? 1 : 0;
  }
  return count;
}

}  // namespace

AxisId TokensOf(const Graph& graph, const NamedAxes& axes) {
  const IdVector<AxisId, bool> of_parameter = AxesOfParameters(graph, axes);
  AxisId best;
  int64_t most = 0;
  for (const AxisId axis : axes.axes()) {
    const int64_t tensors = axes.axis(axis).tensors;
    if (axis == axes.batch() || of_parameter[axis] || tensors <= most) continue;
    most = tensors;
    best = axis;
  }
  return best;
}

std::vector<AxisId> TokenAxes(const Graph& graph, const NamedAxes& axes) {
  // An axis has an eighth of the tensors that it is compared with, and shares a tenth of its own at most.
  constexpr int64_t kPart = 8, kFew = 10;
  const AxisId first = TokensOf(graph, axes);
  if (!first.valid() || kPart * axes.axis(first).tensors < axes.axis(axes.batch()).tensors) {
    return {};
  }
  const IdVector<AxisId, bool> of_parameter = AxesOfParameters(graph, axes);
  std::vector<AxisId> others, tokens = {first};
  for (const AxisId axis : axes.axes()) {
    const bool many = kPart * axes.axis(axis).tensors >= axes.axis(first).tensors;
    if (axis == axes.batch() || axis == first || of_parameter[axis] || !many) continue;
    others.push_back(axis);
  }
  std::stable_sort(others.begin(), others.end(),
                   [&](AxisId a, AxisId b) { return axes.axis(a).tensors > axes.axis(b).tensors; });
  for (const AxisId axis : others) {
    const int64_t both = TensorsWithBoth(graph, axes, axis, tokens);
    if (kFew * both <= axes.axis(axis).tensors) tokens.push_back(axis);
  }
  return tokens;
}

AxisId FirstSplit(const NamedAxes& axes, OpId op, const std::vector<AxisId>& among) {
  const auto it = std::find_if(among.begin(), among.end(),
                               [&](AxisId axis) { return axes.SplitBy(op, axis).valid(); });
  return it == among.end() ? AxisId() : *it;
}

IdVector<GroupId, TensorCut> TensorCuts(const Graph& graph, const NamedAxes& axes,
                                        const ModelStructure& structure, int64_t degree,
                                        bool sequence) {
  std::vector<AxisId> tokens;
  if (sequence) tokens = TokenAxes(graph, axes);
  std::erase_if(tokens, [&](AxisId axis) { return axes.axis(axis).size < degree; });
  return CutFinder(graph, axes, degree, std::move(tokens)).Find(structure);
}

Interval EqualPart(int64_t part, int64_t parts, Interval of) {
  return {of.from + part * of.length() / parts, of.from + (part + 1) * of.length() / parts};
}

Layout LayoutOfCut(const NamedAxes& axes, const TensorCut& cut,
                   const std::vector<DeviceId>& devices, int64_t degree, int64_t shards) {
  const auto groups = static_cast<int64_t>(devices.size()) / degree;
  Layout layout;
  for (int64_t i = 0; i < static_cast<int64_t>(devices.size()); ++i) {
    std::vector<AxisInterval> box;
    const auto cut_by = [&](AxisId axis, int64_t part, int64_t parts) {
      if (!axis.valid() || parts == 1) return;
      box.push_back({axis, EqualPart(part, parts, {0, axes.axis(axis).size})});
    };
    cut_by(cut.over_group, i % degree, degree);
    const int64_t parts = shards == 0 || cut.over_groups == axes.batch() ? groups : shards;
    cut_by(cut.over_groups, i / degree % parts, parts);
    std::sort(box.begin(), box.end());
    layout.shares.push_back({devices[static_cast<size_t>(i)], {box.begin(), box.end()}});
  }
  return layout;
}

int64_t CommonSize(const NamedAxes& axes, const std::vector<AxisId>& of) {
  int64_t size = 0;
  for (const AxisId axis : of) size = std::gcd(size, axes.axis(axis).size);
  return size;
}

std::vector<std::string> LayerGlobs(const Graph& graph) {
  std::set<std::string> globs;
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
    const std::string_view layer = LayerOf(ModuleOfParameter(tensor.name));
    if (layer.empty()) continue;
    globs.insert(std::string(layer.substr(0, layer.find_last_not_of("0123456789") + 1)) + "*");
  }
  if (globs.empty()) return {"*"};
  return {globs.begin(), globs.end()};
}

std::vector<int64_t> PossibleDegrees(int64_t size, int64_t of_host) {
  std::vector<int64_t> possible;
  for (int64_t i = 2; i <= of_host && size > 0; ++i) {
    if (size % i == 0 && of_host % i == 0) possible.push_back(i);
  }
  return possible;
}

Result<int64_t> ChooseDegree(const DegreeChoice& choice) {
  constexpr int64_t kMax = 8;
  const std::vector<int64_t> possible = PossibleDegrees(choice.size, choice.of_host);
  const std::string others = "Take fsdp, zero-2 or data-parallel.";
  const int64_t asked = choice.asked;
  if (choice.size == 0) {
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("{} splits {}, and this step has none", choice.planner, choice.what), "",
        others);
  }
  if (possible.empty() && asked == 0) {
    return MakeError(ErrorCode::kUsage,
                     fmt::format("{} splits {} {} over {} GPUs of a host, and no number of these "
                                 "divides both",
                                 choice.planner, choice.size, choice.what, choice.of_host),
                     "", others);
  }
  if (asked == 0) {
    const auto above = std::upper_bound(possible.begin(), possible.end(), kMax);
    if (above != possible.begin()) return *(above - 1);
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("{} splits {} {} over {} GPUs at most, and none so few divide "
                    "them and the {} of a host",
                    choice.planner, choice.size, choice.what, kMax, choice.of_host),
        "", fmt::format("Take one of --set {}={}.", choice.setting, fmt::join(possible, ", ")));
  }
  if (std::count(possible.begin(), possible.end(), asked) > 0) return asked;
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("{} cannot split {} {} over {} of {} GPUs of a host", choice.planner, choice.size,
                  choice.what, asked, choice.of_host),
      fmt::format("--set {}={}", choice.setting, asked),
      possible.empty() ? others : fmt::format("Take one of {}.", fmt::join(possible, ", ")));
}

}  // namespace placewright
