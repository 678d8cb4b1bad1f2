#include "search/engines/engine_layouts.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "graph/ownership/module_path.h"
#include "plan/layout_book.h"
#include "search/layouts/model_structure.h"

namespace placewright {
namespace {

constexpr Bytes kDdpBucket(int64_t{25} << 20);  // bucket_cap_mb of DistributedDataParallel

bool IsIndex(std::string_view component) {
  return !component.empty() && std::all_of(component.begin(), component.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

// "layers.3.mlp.up" -> "layers.*.mlp.up".
std::string WithoutNumbers(std::string_view path) {
  std::string text;
  for (size_t from = 0; from <= path.size();) {
    const size_t end = std::min(path.find('.', from), path.size());
    const std::string_view component = path.substr(from, end - from);
    text += (from > 0 ? "." : "") + std::string(IsIndex(component) ? "*" : component);
    from = end + 1;
  }
  return text;
}

class ShardedUnits {
 public:
  ShardedUnits(const LayoutProblem& problem, size_t devices)
      : graph_(problem.graph),
        axes_(problem.axes),
        devices_(static_cast<int64_t>(devices)),
        members_(problem.graph.GroupMembers()) {}

  std::vector<EngineUnit> Find() {
    FindModules();
    std::vector<EngineUnit> units;
    std::map<std::string_view, size_t> number;
    for (const std::string_view path : order_) {
      const Module& module = modules_[path];
      if (!module.splits) continue;
      const std::string_view layer = LayerOf(path), block = layer.empty() ? path : layer;
      const auto [at, added] = number.emplace(block, units.size());
      if (added) units.push_back({WithoutNumbers(block), {}});
      auto& splits = units[at->second].splits;
      splits.insert(splits.end(), module.splits->begin(), module.splits->end());
    }
    return units;
  }

 private:
  // None: one of its parameters has no equal parts, so that it is no unit of fully_shard.
  struct Module {
    std::optional<std::vector<std::pair<GroupId, AxisId>>> splits{std::in_place};
  };

  void FindModules() {
    std::set<GroupId> seen, several;
    std::vector<std::pair<TensorId, GroupId>> parameters;
    for (const TensorId id : graph_.tensors()) {
      const Tensor& tensor = graph_.tensor(id);
      if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
      const OpId home = graph_.home_op(tensor.storage);
      if (!home.valid()) continue;
      const GroupId group = graph_.group(home);
      parameters.emplace_back(id, group);
      if (!seen.insert(group).second) several.insert(group);
    }
    for (const auto& [id, group] : parameters) {
      const std::string_view path = ModuleOfParameter(graph_.tensor(id).name);
      if (!modules_.contains(path)) order_.push_back(path);
      auto& splits = modules_[path].splits;
      const AxisId axis = several.contains(group) ? AxisId() : AxisOf(id, group);
      if (!axis.valid()) {
        splits.reset();
      } else if (splits) {
        splits->emplace_back(group, axis);
      }
    }
  }

  // The outermost factor of the first dimension that it cuts into equal parts, with its update.
  AxisId AxisOf(TensorId parameter, GroupId group) const {
    for (size_t d = 0; d < graph_.tensor(parameter).shape.size(); ++d) {
      const auto factors = axes_.factors(parameter, d);
      if (factors.empty() || axes_.axis(factors.front()).size % devices_ != 0) continue;
      const AxisId axis = factors.front();
      const auto ops = members_[group];
      const bool splits = std::all_of(ops.begin(), ops.end(), [&](OpId op) {
        return !axes_.Touches(op, axis) || axes_.SplitBy(op, axis).valid();
      });
      if (splits) return axis;
    }
    return AxisId();
  }

  const Graph& graph_;
  const NamedAxes& axes_;
  const int64_t devices_;
  const Csr<GroupId, OpId> members_;
  std::map<std::string_view, Module> modules_;
  std::vector<std::string_view> order_;
};

// Of products that follow one another every second one makes an axis that the next sums over; the last makes none.
std::vector<AxisId> EverySecond(const std::vector<AxisId>& outputs) {
  std::vector<AxisId> chosen;
  for (size_t i = 0; i + 1 < outputs.size(); i += 2) chosen.push_back(outputs[i]);
  return chosen;
}

// Columns of a linear layer with its bias, or rows: each parameter that has the axis has it outermost in a dimension, a
// matrix and its bias both in the first.
bool IsOfLinearLayers(const LayoutProblem& problem, AxisId axis) {
  const Graph& graph = problem.graph;
  std::map<std::string_view, size_t> matrices, biases;  // by module: the dimension
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
    if (!problem.axes.Holds(id, axis)) continue;
    const size_t dimensions = tensor.shape.size();
    size_t at = 0;
    const auto outermost = [&](size_t d) {
      const auto factors = problem.axes.factors(id, d);
      return !factors.empty() && factors.front() == axis;
    };
    while (at < dimensions && !outermost(at)) ++at;
    if (at == dimensions || dimensions > 2) return false;
    (dimensions == 2 ? matrices : biases)[ModuleOfParameter(tensor.name)] = at;
  }
  return std::all_of(biases.begin(), biases.end(), [&](const auto& bias) {
    const auto matrix = matrices.find(bias.first);
    return matrix != matrices.end() && matrix->second == 0;
  });
}

std::vector<EngineUnit> ColumnsAndRows(const LayoutProblem& problem, size_t devices) {
  const ModelStructure found = StructureOf(problem.graph, problem.axes);
  std::vector<AxisId> axes = found.heads;
  axes.insert(axes.end(), found.widths.begin(), found.widths.end());
  if (found.kind == ModelKind::kFullyConnected) axes = EverySecond(found.outputs);
  std::vector<EngineUnit> units;
  for (const AxisId axis : axes) {
    const NamedAxis& named = problem.axes.axis(axis);
    if (named.size % static_cast<int64_t>(devices) != 0) continue;
    if (!IsOfLinearLayers(problem, axis)) continue;
    EngineUnit unit{WithoutNumbers(named.name), {}};
    std::set<GroupId> groups;
    for (const OpId op : problem.graph.ops()) {
      if (problem.axes.SplitBy(op, axis).valid()) groups.insert(problem.graph.group(op));
    }
    for (const GroupId group : groups) unit.splits.emplace_back(group, axis);
    units.push_back(std::move(unit));
  }
  return units;
}

Layout InEqualParts(const LayoutProblem& problem, AxisId axis,
                    const std::vector<DeviceId>& devices) {
  const int64_t part = problem.axes.axis(axis).size / static_cast<int64_t>(devices.size());
  return SplitOver(axis, devices, std::vector<int64_t>(devices.size(), part));
}

}  // namespace

std::vector<EngineUnit> UnitsOf(TrainingEngine engine, const LayoutProblem& problem,
                                size_t devices) {
  switch (engine) {
    case TrainingEngine::kDdp: return {};
    case TrainingEngine::kFsdp2: return ShardedUnits(problem, devices).Find();
    case TrainingEngine::kTensorParallel: return ColumnsAndRows(problem, devices);
  }
  return {};
}

StepPlan PlanOf(TrainingEngine engine, const LayoutProblem& problem,
                const std::vector<DeviceId>& devices, const std::vector<EngineUnit>& units,
                const std::vector<bool>& on) {
  LayoutBook book;
  const LayoutId base = book.Add(engine == TrainingEngine::kTensorParallel
                                     ? CopiesOn(devices)
                                     : InEqualParts(problem, problem.axes.batch(), devices));
  IdVector<GroupId, LayoutId> of_group(problem.graph.group_count(), base);
  for (size_t i = 0; i < units.size(); ++i) {
    if (!on[i]) continue;
    for (const auto& [group, axis] : units[i].splits) {
      of_group[group] = book.Add(InEqualParts(problem, axis, devices));
    }
  }
  StepPlan plan;
  plan.layouts = book.Of(of_group);
  plan.switches.local_batch_norm = problem.local_batch_norm;
  plan.switches.gradients_apart = false;  // PyTorch makes both by one operator
  if (engine == TrainingEngine::kDdp) plan.switches.fusion = kDdpBucket;
  return plan;
}

}  // namespace placewright
