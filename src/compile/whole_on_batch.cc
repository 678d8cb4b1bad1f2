#include "compile/whole_on_batch.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cluster/catalogue.h"
#include "cluster/cluster_builder.h"
#include "cost/cost_model.h"
#include "cost/work.h"
#include "sharding/unsplit_writes.h"
#include "sharding/whole_by_nature.h"

namespace placewright {
namespace {

Result<Cluster> OneDevice(const DeviceKind& kind) {
  ClusterBuilder builder("reference");
  PW_ASSIGN(const int32_t number, builder.AddKind(kind));
  PW_RETURN_IF_ERROR(
      builder.AddDevice({.name = "device", .kind = number, .capacity = Bytes(int64_t{1} << 40)}));
  return std::move(builder).Build();
}

// A tensor of it has a dimension that follows the batch.
bool FollowsBatch(const Graph& graph, OpId id) {
  const BatchScaling* const laws = graph.batch_scaling();
  if (laws == nullptr || !laws->reason.empty()) return false;
  const auto follows = [&](TensorId tensor) { return !laws->dimensions[tensor].empty(); };
  const Op& op = graph.op(id);
  return std::any_of(op.inputs.begin(), op.inputs.end(), follows) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), follows);
}

// An axis of the op's rule has the batch among its factors.
bool HasAxisOfBatch(const NamedAxes& axes, OpId op) {
  for (const RuleAxisId axis : IdRange<RuleAxisId>(axes.rule(op)->axes.size())) {
    const auto factors = axes.FactorsOf(op, axis);
    if (std::find(factors.begin(), factors.end(), axes.batch()) != factors.end()) return true;
  }
  return false;
}

}  // namespace

std::string_view WhyWholeOnBatch(const Graph& graph, const NamedAxes& axes, OpId op,
                                 const IdVector<GroupId, bool>& unsplit) {
  if (!axes.batch().valid()) return "";
  const bool can = axes.SplitBy(op, axes.batch()).valid();
  if (can && unsplit[graph.group(op)]) {
    return "written in place through a view that the batch does not split";
  }
  if (can) return "";
  if (!axes.Touches(op, axes.batch()) && !FollowsBatch(graph, op)) return "";
  const std::string_view type = graph.op(op).type;
  const std::string_view nature = WhyWholeByNature(type);
  if (!nature.empty()) return nature;
  if (!HasRule(graph.format(), type)) return "no rule for its type";
  if (axes.rule(op) == nullptr) return "its arguments or sizes do not fit its rule";
  return HasAxisOfBatch(axes, op) ? "it needs all samples"
                                  : "the batch is no factor of its dimensions";
}

Result<WholeOnBatch> FindWholeOnBatch(const Graph& graph, const NamedAxes& axes,
                                      const DeviceKind* kind) {
  WholeOnBatch whole;
  if (!axes.batch().valid()) return whole;
  if (kind == nullptr) kind = FindKind(kWholeReferenceKind);
  whole.times_of = kind->name;
  PW_ASSIGN(const Cluster cluster, OneDevice(*kind));
  PW_ASSIGN(const CostTable costs, ModelCosts(graph, cluster, {}));
  std::map<std::pair<std::string_view, std::string_view>, WholeOnBatch::Row> rows;
  const IdVector<GroupId, bool> unsplit = FindUnsplitWrites(graph, axes, axes.batch());
  int64_t all = 0;
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.phase == Phase::kOptimizer) continue;
    const bool supported = costs.Supports(id, DeviceId(0));
    whole.unsupported += supported ? 0 : 1;
    const int64_t time = supported ? costs.time(id, DeviceId(0)).count : int64_t{0};
    all += time;
    const std::string_view reason = WhyWholeOnBatch(graph, axes, id, unsplit);
    if (reason.empty()) continue;
    WholeOnBatch::Row& row = rows[{op.type, reason}];
    row.type = op.type;
    row.reason = reason;
    ++row.ops;
    row.macs += WorkOf(graph, id).macs;
    row.time.count += time;
  }
  for (auto& [key, row] : rows) {
    row.share = all > 0 ? static_cast<double>(row.time.count) / static_cast<double>(all) : 0;
    whole.share += row.share;
    whole.rows.push_back(std::move(row));
  }
  std::stable_sort(whole.rows.begin(), whole.rows.end(),
                   [](const auto& a, const auto& b) { return a.time.count > b.time.count; });
  return whole;
}

}  // namespace placewright
