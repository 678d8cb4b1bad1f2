#include "search/layouts/gradient_sums.h"

#include <algorithm>
#include <utility>

namespace placewright {
namespace {

class SummandFinder {
 public:
  explicit SummandFinder(const LayoutProblem& problem)
      : graph_(problem.graph), axes_(problem.axes), batch_(problem.axes.batch()) {}

  std::vector<GroupId> Find(size_t max_groups) const {
    if (!batch_.valid()) return {};
    IdVector<OpId, std::vector<OpId>> summands(graph_.op_count());
    IdVector<OpId, bool> summed_up(graph_.op_count(), false);  // by another sum
    for (const OpId op : graph_.topological_order()) {
      if (!IsSum(op)) continue;
      for (const TensorId input : graph_.op(op).inputs) {
        const OpId maker = MakerOf(input);
        if (!maker.valid()) continue;
        if (!summands[maker].empty()) summed_up[maker] = true;
        if (!summands[maker].empty() || IsPartialSum(maker)) summands[op].push_back(maker);
      }
      if (summands[op].size() < 2) summands[op].clear();
    }
    std::vector<std::pair<int64_t, GroupId>> found;
    for (const OpId op : graph_.ops()) {
      if (summed_up[op]) continue;
      const int64_t bytes =
          summands[op].empty() ? 0 : graph_.tensor(graph_.op(op).outputs.front()).bytes.count;
      for (const OpId maker : summands[op]) found.emplace_back(-bytes, graph_.group(maker));
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
  // Adds up tensors of one shape, none of which has the batch.
  bool IsSum(OpId id) const {
    const Op& op = graph_.op(id);
    if (op.phase != Phase::kBackward || op.is_view || op.outputs.size() != 1) return false;
    if (op.inputs.size() < 2 || axes_.Touches(id, batch_)) return false;
    const std::vector<int64_t>& shape = graph_.tensor(op.outputs.front()).shape;
    return std::all_of(op.inputs.begin(), op.inputs.end(),
                       [&](TensorId input) { return graph_.tensor(input).shape == shape; });
  }

  // Behind views.
  OpId MakerOf(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    return graph_.storage(tensor.storage).versions[static_cast<size_t>(tensor.version)].writer;
  }

  // Over the samples: split by them, it makes something without them.
  bool IsPartialSum(OpId id) const {
    if (!axes_.SplitBy(id, batch_).valid()) return false;
    const Op& op = graph_.op(id);
    return std::none_of(op.outputs.begin(), op.outputs.end(), [&](TensorId output) {
      for (size_t d = 0; d < graph_.tensor(output).shape.size(); ++d) {
        const auto factors = axes_.factors(output, d);
        if (std::find(factors.begin(), factors.end(), batch_) != factors.end()) return true;
      }
      return false;
    });
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
