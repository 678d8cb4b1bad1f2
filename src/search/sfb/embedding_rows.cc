#include "search/sfb/embedding_rows.h"

#include <algorithm>
#include <utility>

#include "graph/edges.h"
#include "sharding/op_rule.h"

namespace placewright {
namespace {

class RowGatherer {
 public:
  RowGatherer(const Graph& graph, const NamedAxes& axes, Layouts layouts)
      : graph_(graph),
        axes_(axes),
        batch_(axes.batch()),
        members_(graph.GroupMembers()),
        result_{std::move(layouts), 0, {}} {}

  EmbeddingRows Gather() {
    if (!batch_.valid()) return std::move(result_);
    FindLookups();
    for (const OpId id : graph_.ops()) {
      const Op& op = graph_.op(id);
      if (op.phase != Phase::kOptimizer || lookups_[graph_.group(id)].empty()) continue;
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        const OpId maker = WriterOf(graph_, op, i);
        if (!maker.valid() || graph_.group(maker) == graph_.group(id)) continue;
        std::vector<OpId> ops;
        const Bytes table = graph_.tensor(op.inputs[i]).bytes;
        if (!IsOfEmbeddings(maker, table, ops) || !IsSmaller(ops, table)) continue;
        if (HoldMore(ops)) continue;
        MakeAt(graph_.group(id), ops);
      }
    }
    return std::move(result_);
  }

 private:
  static constexpr std::string_view kLookup = "aten.embedding.default";
  static constexpr std::string_view kGradient = "aten.embedding_dense_backward.default";

  void FindLookups() {
    lookups_.resize(graph_.group_count());
    for (const OpId id : graph_.ops()) {
      if (graph_.op(id).type != kLookup) continue;
      const OpId home = graph_.home_op(graph_.tensor(graph_.op(id).inputs[0]).storage);
      if (home.valid()) lookups_[graph_.group(home)].push_back(id);
    }
  }

  // Whether what the op makes, of so many bytes, is linear in gradients of embeddings and in nothing else that is summed
  // over the samples; `ops`: it and those that lead to it, up to these gradients.
  bool IsOfEmbeddings(OpId id, Bytes table, std::vector<OpId>& ops) const {
    const Op& op = graph_.op(id);
    if (op.outputs.size() != 1 || graph_.tensor(op.outputs[0]).bytes != table) return false;
    if (op.type == kGradient) {
      ops.push_back(id);
      return true;
    }
    const OpRule* const rule = axes_.rule(id);
    if (rule == nullptr || axes_.SplitBy(id, batch_).valid()) return false;
    for (const std::vector<int32_t>& together : rule->linear) {
      std::vector<OpId> behind;
      const bool all = std::all_of(together.begin(), together.end(), [&](int32_t input) {
        const OpId maker = WriterOf(graph_, op, static_cast<size_t>(input));
        return maker.valid() && IsOfEmbeddings(maker, table, behind);
      });
      if (!all || behind.empty()) continue;
      ops.push_back(id);
      ops.insert(ops.end(), behind.begin(), behind.end());
      return true;
    }
    return false;
  }

  // Rows and indices of all those gradients together, beside the table.
  bool IsSmaller(const std::vector<OpId>& ops, Bytes table) const {
    Bytes factors;
    for (const OpId id : ops) {
      if (graph_.op(id).type != kGradient) continue;
      for (const TensorId input : graph_.op(id).inputs) factors += graph_.tensor(input).bytes;
    }
    return factors < table;
  }

  // Whether a group of theirs has other ops as well, or its samples are not split.
  bool HoldMore(const std::vector<OpId>& ops) const {
    return std::any_of(ops.begin(), ops.end(), [&](OpId id) {
      const GroupId group = graph_.group(id);
      const Layout& layout = result_.layouts.Of(group);
      if (layout.axis() != batch_ || layout.shares.size() < 2) return true;
      const auto members = members_[group];
      return std::any_of(members.begin(), members.end(), [&](OpId member) {
        return !graph_.op(member).is_view && std::find(ops.begin(), ops.end(), member) == ops.end();
      });
    });
  }

  void MakeAt(GroupId update, const std::vector<OpId>& ops) {
    const Layout home = result_.layouts.Of(update);
    if (home.IsSplit() && !home.axis().valid()) return;  // by boxes
    const bool whole = home.axis() == batch_ || (!home.IsSplit() && home.shares.size() > 1);
    // Of positions, say, whose rows are sums over the samples before: where every device has the table, each makes its
    // summand already, and copies of the op would be no other ones.
    const bool any_split = std::any_of(ops.begin(), ops.end(),
                                       [&](OpId id) { return axes_.SplitBy(id, batch_).valid(); });
    if (whole && !any_split) return;
    const LayoutId at(result_.layouts.layouts.size());
    result_.layouts.layouts.push_back(whole ? CopiesOn(DevicesOf(home)) : home);
    for (const OpId id : ops) Move(graph_.group(id), at);
    ++result_.gradients;
    if (!whole) LookUpAt(update, at);
  }

  void LookUpAt(GroupId update, LayoutId at) {
    for (const OpId id : lookups_[update]) {
      const Op& op = graph_.op(id);
      const Bytes rows = graph_.tensor(op.outputs[0]).bytes + graph_.tensor(op.inputs[1]).bytes;
      const Bytes table = graph_.tensor(op.inputs[0]).bytes;
      if (rows < table && !HoldMore({id})) Move(graph_.group(id), at);
    }
  }

  void Move(GroupId group, LayoutId to) {
    if (result_.layouts.of_group[group] == to) return;
    result_.layouts.of_group[group] = to;
    result_.moved.push_back(group);
  }

  const Graph& graph_;
  const NamedAxes& axes_;
  const AxisId batch_;
  const Csr<GroupId, OpId> members_;
  IdVector<GroupId, std::vector<OpId>> lookups_;  // of the tables that a group updates
  EmbeddingRows result_;
};

}  // namespace

EmbeddingRows GatherEmbeddingRows(const Graph& graph, const NamedAxes& axes, Layouts layouts) {
  return RowGatherer(graph, axes, std::move(layouts)).Gather();
}

}  // namespace placewright
