#include "search/layouts/gradient_sums.h"

#include <algorithm>
#include <utility>

#include "graph/edges.h"
#include "sharding/op_rule.h"

namespace placewright {
namespace {

class SummandFinder {
 public:
  explicit SummandFinder(const LayoutProblem& problem)
      : graph_(problem.graph), axes_(problem.axes), batch_(problem.axes.batch()) {}

  std::vector<GroupId> Find(size_t max_groups) const {
    if (!batch_.valid()) return {};
    IdVector<OpId, Sum> sums(graph_.op_count());
    IdVector<OpId, bool> summed_up(graph_.op_count(), false);  // by a later sum
    for (const OpId op : graph_.topological_order()) {
      if (!AddsUp(op)) continue;
      std::vector<OpId> inner;
      for (size_t i = 0; i < graph_.op(op).inputs.size(); ++i) {
        const OpId maker = WriterOf(graph_, graph_.op(op), i);
        if (!maker.valid()) continue;
        const Sum& of = sums[maker];
        if (of.count > 1) inner.push_back(maker);
        if (of.count == 1) sums[op].makers.push_back(of.makers.front());
        const bool makes = of.count == 0 && MakesPartialSum(maker, graph_.op(op).inputs[i]);
        if (makes) sums[op].makers.push_back(maker);
        sums[op].count += of.count + (makes ? 1 : 0);
      }
      for (const OpId one : inner) summed_up[one] = true;
      // Something is added that is no such sum, as by a penalty on weights.
      if (inner.size() == 1 && sums[op].makers.empty()) sums[op].makers = sums[inner[0]].makers;
    }
    std::vector<std::pair<int64_t, GroupId>> found;
    for (const OpId op : graph_.ops()) {
      if (summed_up[op] || sums[op].count < 2) continue;
      const int64_t bytes = graph_.tensor(graph_.op(op).outputs.front()).bytes.count;
      for (const OpId maker : sums[op].makers) found.emplace_back(-bytes, graph_.group(maker));
    }
    std::sort(found.begin(), found.end());
    std::vector<GroupId> groups;
    for (const auto& [bytes, group] : found) {
      const bool known = std::find(groups.begin(), groups.end(), group) != groups.end();
      if (!known && groups.size() < max_groups) groups.push_back(group);
    }
    return groups;
  }

 private:
  // What an op that adds up has behind it.
  struct Sum {
    int64_t count = 0;         // of partial sums over the samples
    std::vector<OpId> makers;  // of those that this op is the first to add to another
  };

  bool AddsUp(OpId id) const {
    const Op& op = graph_.op(id);
    if (op.phase != Phase::kBackward || op.is_view || op.outputs.size() != 1) return false;
    const OpRule* const rule = axes_.rule(id);
    if (op.inputs.size() < 2 || rule == nullptr || axes_.Touches(id, batch_)) return false;
    return std::any_of(
        rule->linear.begin(), rule->linear.end(),
        [&](const std::vector<int32_t>& together) { return together.size() == op.inputs.size(); });
  }

  // Of what lies where `read` does: split by the samples, the op makes a part of a sum over them.
  bool MakesPartialSum(OpId id, TensorId read) const {
    if (!axes_.SplitBy(id, batch_).valid()) return false;
    const std::vector<TensorId>& outputs = graph_.op(id).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (graph_.tensor(outputs[i]).storage != graph_.tensor(read).storage) continue;
      return axes_.verdict(id, batch_, i) == PartVerdict::kSum;
    }
    return false;
  }

  const Graph& graph_;
  const NamedAxes& axes_;
  const AxisId batch_;
};

}  // namespace

std::vector<GroupId> GroupsOfSummands(const LayoutProblem& problem, size_t max_groups) {
  return SummandFinder(problem).Find(max_groups);
}

}  // namespace placewright
