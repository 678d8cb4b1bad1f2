#include "search/tag/floor_prior.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace placewright {

FloorPrior::FloorPrior(const Strategies& strategies, const StrategyWork& work)
    : strategies_(strategies), work_(work), edges_of_(strategies.units().size()) {
  for (size_t i = 0; i < work.edges().size(); ++i) {
    edges_of_[work.edges()[i].from].push_back(i);
    edges_of_[work.edges()[i].to].push_back(i);
  }
}

void FloorPrior::AddUnit(size_t unit, int32_t number, Sums& sums) const {
  const Slice& slice = strategies_.slices()[static_cast<size_t>(number)];
  const SliceUse& use = work_.UseOf(number);
  const auto n = static_cast<double>(slice.devices.size());
  const bool whole_ops = slice.option == SliceOption::kModelParallel;
  const bool servers = HasServers(slice.option);
  for (size_t i = 0; i < slice.groups.size(); ++i) {
    const auto group = static_cast<size_t>(slice.groups[i]);
    const DeviceId device = strategies_.device_groups()[group].front();
    const UnitWork& work = work_.Of(unit, device);
    const double time =
        whole_ops ? (work.fixed + work.shared + work.update) * use.share[i]
                  : work.fixed + work.shared * use.share[i] + work.update / (servers ? n : 1);
    sums.busy[group] += time;
  }
  if (slice.shares.empty()) return;
  const double times = servers ? use.widest : 2 * (n - 1) / n;
  sums.gradients += times * work_.Gradients(unit) / use.rate;
}

void FloorPrior::AddEdge(const WorkEdge& edge, int32_t from, int32_t to, Sums& sums) const {
  if (from == to) return;
  const Slice& source = strategies_.slices()[static_cast<size_t>(from)];
  const Slice& reader = strategies_.slices()[static_cast<size_t>(to)];
  const SliceUse &has = work_.UseOf(from), &needs = work_.UseOf(to);
  double moved = 0;
  size_t at = 0;
  for (size_t i = 0; i < reader.groups.size(); ++i) {
    while (at < source.groups.size() && source.groups[at] < reader.groups[i]) ++at;
    const bool both = at < source.groups.size() && source.groups[at] == reader.groups[i];
    moved += std::max(0.0, needs.has[i] - (both ? has.has[at] : 0));
  }
  if (moved <= 0) return;
  const double rate = std::min(
      {has.rate, needs.rate, work_.RateBetween(source.devices.front(), reader.devices.back())});
  if (rate < std::numeric_limits<double>::infinity()) {
    sums.crossing += moved * edge.bytes / rate;
  }
}

double FloorPrior::StepOf(const Sums& sums) {
  const double busy = *std::max_element(sums.busy.begin(), sums.busy.end());
  return busy / 3 + std::max(busy * 2 / 3, sums.gradients) + sums.crossing;
}

double FloorPrior::StepOf(std::span<const int32_t> slices) const {
  Sums sums{std::vector<double>(strategies_.device_groups().size(), 0)};
  for (size_t unit = 0; unit < slices.size(); ++unit) AddUnit(unit, slices[unit], sums);
  for (const WorkEdge& edge : work_.edges())
    AddEdge(edge, slices[edge.from], slices[edge.to], sums);
  return StepOf(sums);
}

void FloorPrior::Fill(std::span<const int32_t> decided, const StrategyFeedback*,
                      std::span<const int32_t> actions, std::span<double> priors) {
  const size_t unit = decided.size();
  std::vector<double> steps;
  if (decided.empty()) {
    for (const int32_t action : actions) {
      steps.push_back(StepOf(strategies_.SlicesOf(std::span(&action, 1))));
    }
  } else {
    // All but the unit and its edges is the same.
    std::vector<int32_t> slices = strategies_.SlicesOf(decided);
    Sums others{std::vector<double>(strategies_.device_groups().size(), 0)};
    for (size_t other = 0; other < slices.size(); ++other) {
      if (other != unit) AddUnit(other, slices[other], others);
    }
    for (const WorkEdge& edge : work_.edges()) {
      if (edge.from == unit || edge.to == unit) continue;
      AddEdge(edge, slices[edge.from], slices[edge.to], others);
    }
    for (const int32_t action : actions) {
      Sums sums = others;
      slices[unit] = action;
      AddUnit(unit, action, sums);
      for (const size_t number : edges_of_[unit]) {
        const WorkEdge& edge = work_.edges()[number];
        AddEdge(edge, slices[edge.from], slices[edge.to], sums);
      }
      steps.push_back(StepOf(sums));
    }
  }
  std::vector<size_t> order(steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return steps[a] < steps[b]; });
  for (size_t rank = 0; rank < order.size(); ++rank) {
    priors[order[rank]] = 1 / static_cast<double>(1 + rank);
  }
}

}  // namespace placewright
