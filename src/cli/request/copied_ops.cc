#include "cli/request/copied_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "compile/whole_on_batch.h"
#include "cost/communication/collective_kind.h"
#include "sharding/named_axes.h"
#include "sharding/unsplit_writes.h"

namespace placewright {
namespace {

constexpr size_t kMaxTypes = 4;  // in words

// The tensors of the step that hold a share of a sum over devices: what parts of an op make that do not have its
// axis, and what ops make of that until a collective or an op that moves pieces has completed it.
IdVector<TensorId, bool> FindShares(const StrategyInputs& step, const StepStrategy& strategy) {
  IdVector<TensorId, bool> shares(step.step.tensor_count(), false);
  for (const OpId id : step.step.ops()) {
    const Op& op = step.step.op(id);
    const OpId origin = step.origin[id];
    if (CollectiveKindOf(op.type) || op.type == "placewright.add_n.default") continue;
    const bool reads = std::any_of(op.inputs.begin(), op.inputs.end(),
                                   [&](TensorId input) { return shares[input]; });
    const bool split = origin.valid() && strategy.ops[origin].kind == ComputeKind::kSplit;
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const bool whole = split && i < step.original.op(origin).outputs.size() &&
                         step.step.tensor(op.outputs[i]).bytes ==
                             step.original.tensor(step.original.op(origin).outputs[i]).bytes;
      shares[op.outputs[i]] = split ? whole : reads;
    }
  }
  return shares;
}

// Several devices have an instance, each of everything: of the same, unless these are shares of a sum.
class Copies {
 public:
  Copies(const StrategyInputs& step, const StepStrategy& strategy)
      : step_(step), strategy_(strategy), shares_(FindShares(step, strategy)) {}

  bool Has(OpId instance) const {
    const OpId origin = step_.origin[instance];
    const Op& op = step_.step.op(instance);
    return origin.valid() && !op.is_view && step_.original.op(origin).phase != Phase::kOptimizer &&
           strategy_.ops[origin].kind == ComputeKind::kCopied &&
           std::none_of(op.outputs.begin(), op.outputs.end(),
                        [&](TensorId output) { return shares_[output]; });
  }

 private:
  const StrategyInputs& step_;
  const StepStrategy& strategy_;
  IdVector<TensorId, bool> shares_;
};

// A box may state an axis of which every device has everything.
bool Splits(const LayoutSpec& layout) {
  if (layout.devices.empty() || layout.devices.front().box.empty()) return !layout.axis.empty();
  return std::any_of(layout.devices.begin(), layout.devices.end(),
                     [&](const auto& one) { return one.box != layout.devices.front().box; });
}

// Of an op that the batch could split.
std::string ReasonOfLayout(const StrategyInputs& step, const ComputeStrategy& computed, OpId op) {
  const LayoutSpec* const layout =
      step.spec_of_group.empty() ? nullptr : step.spec_of_group[step.original.group(op).index()];
  const std::string axes = layout == nullptr || !Splits(*layout) ? "" : AxesOfLayout(*layout);
  if (axes.empty()) {
    return fmt::format("its layout copies it to {} devices, though the batch can split it",
                       computed.devices.size());
  }
  return fmt::format("its layout splits {}, by which this op cannot be split", Printable(axes, 80));
}

std::string ReasonOf(const StrategyInputs& step, const ComputeStrategy& computed,
                     const NamedAxes& axes, const IdVector<GroupId, bool>& unsplit, OpId op) {
  const std::string_view why = WhyWholeOnBatch(step.original, axes, op, unsplit);
  if (!why.empty()) return std::string(why);
  if (axes.batch().valid() && !axes.Touches(op, axes.batch())) return "it has no batch";
  return ReasonOfLayout(step, computed, op);
}

double ShareOfTime(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

CopiedOps FindCopiedOps(const StrategyInputs& step, const StepStrategy& strategy) {
  std::vector<int64_t> all(step.cluster.device_count(), 0), copies = all;
  const auto time_of = [&](OpId op) {
    const OpSpan& span = step.schedule.ops[op];
    return (span.end - span.start).count;
  };
  const Copies is_copy(step, strategy);
  for (const OpId op : step.step.ops()) {
    if (step.step.op(op).is_view || !step.placement[op].valid()) continue;
    const size_t device = step.placement[op].index();
    all[device] += time_of(op);
    if (is_copy.Has(op)) copies[device] += time_of(op);
  }
  CopiedOps found;
  for (size_t d = 0; d < all.size(); ++d) {
    if (copies[d] == 0 || ShareOfTime(copies[d], all[d]) <= found.share) continue;
    found.share = ShareOfTime(copies[d], all[d]);
    found.device = DeviceId(d);
  }
  if (!found.device.valid()) return found;
  const NamedAxes axes(step.original);
  const IdVector<GroupId, bool> unsplit = FindUnsplitWrites(step.original, axes, axes.batch());
  std::map<std::pair<std::string_view, std::string>, CopiedOps::Row> rows;
  for (const OpId op : step.step.ops()) {
    if (step.placement[op] != found.device || !is_copy.Has(op)) continue;
    const OpId origin = step.origin[op];
    const std::string_view type = step.original.op(origin).type;
    CopiedOps::Row& row = rows[{type, ReasonOf(step, strategy.ops[origin], axes, unsplit, origin)}];
    row.type = type;
    ++row.ops;
    row.time.count += time_of(op);
  }
  for (auto& [key, row] : rows) {
    row.reason = key.second;
    row.share = ShareOfTime(row.time.count, all[found.device.index()]);
    found.rows.push_back(std::move(row));
  }
  std::stable_sort(found.rows.begin(), found.rows.end(),
                   [](const auto& a, const auto& b) { return a.time.count > b.time.count; });
  return found;
}

std::string DescribeCopies(const CopiedOps& copied, const Cluster& cluster) {
  if (copied.share < kCopiesWorthAWarning) return "";
  std::string text = fmt::format(
      "warning: {:.1f}% of the time of {} goes into ops that other devices compute as well, each "
      "all of it:\n",
      100 * copied.share, cluster.device(copied.device).name);
  for (size_t i = 0; i < std::min(copied.rows.size(), kMaxTypes); ++i) {
    const CopiedOps::Row& row = copied.rows[i];
    text += fmt::format("  {:.1f}%  {} of {}: {}\n", 100 * row.share, row.ops,
                        Printable(row.type, 80), row.reason);
  }
  if (copied.rows.size() > kMaxTypes) {
    text += fmt::format("  and {} more types, with --json\n", copied.rows.size() - kMaxTypes);
  }
  return text + "  `placewright inspect GRAPH --axes` says by which axes every op can be split\n";
}

Json ToJson(const CopiedOps& copied, const Cluster& cluster) {
  if (!copied.device.valid()) return nullptr;
  Json rows = Json::array();
  for (const CopiedOps::Row& row : copied.rows) {
    rows.push_back({{"type", row.type},
                    {"ops", row.ops},
                    {"time_ns", row.time.count},
                    {"time_share", row.share},
                    {"reason", row.reason}});
  }
  return {{"device", cluster.device(copied.device).name},
          {"time_share", copied.share},
          {"types", std::move(rows)}};
}

}  // namespace placewright
