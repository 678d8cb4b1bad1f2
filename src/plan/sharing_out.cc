#include "plan/sharing_out.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace placewright {

std::vector<int64_t> SharesInProportion(int64_t total, const std::vector<double>& weights) {
  std::vector<int64_t> shares(weights.size(), 0);
  double sum = 0;
  int64_t left = total;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    if (weights[i] > 0) shares[i] = 1, --left;
  }
  if (sum <= 0 || left <= 0) return shares;
  // What a share by weight has beyond the first sample, none below zero, scaled to what is left.
  std::vector<double> wanted(weights.size(), 0);
  double beyond = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    wanted[i] = std::max(0.0, static_cast<double>(total) * weights[i] / sum - 1);
    if (weights[i] > 0) beyond += wanted[i];
  }
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<double> remainder(weights.size(), 0);
  int64_t given = 0;
  for (size_t i = 0; i < weights.size() && beyond > 0; ++i) {
    const double part = wanted[i] * static_cast<double>(left) / beyond;
    const auto whole = static_cast<int64_t>(part);
    shares[i] += whole;
    given += whole;
    remainder[i] = part - static_cast<double>(whole);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return remainder[a] > remainder[b]; });
  for (size_t k = 0; given < left; k = (k + 1) % order.size()) {
    if (weights[order[k]] <= 0) continue;
    ++shares[order[k]];
    ++given;
  }
  return shares;
}

std::vector<GroupId> ParameterGroups(const Graph& graph) {
  std::vector<GroupId> groups;
  IdVector<GroupId, bool> done(graph.group_count(), false);
  for (const TensorId id : graph.tensors()) {
    if (graph.tensor(id).kind != TensorKind::kParameter) continue;
    const OpId home = graph.home_op(graph.tensor(id).storage);
    if (!home.valid() || graph.tensor(id).producer.valid()) continue;
    const GroupId group = graph.group(home);
    if (!done[group]) groups.push_back(group);
    done[group] = true;
  }
  return groups;
}

}  // namespace placewright
