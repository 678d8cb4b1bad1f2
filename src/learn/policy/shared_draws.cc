#include "learn/policy/shared_draws.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <tuple>

#include "base/check.h"

namespace placewright {

SharedDraws::SharedDraws(int64_t units, std::span<const UnitEdge> edges,
                         std::span<const double> weights, int64_t devices)
    : units_(units),
      devices_(devices),
      first_(static_cast<size_t>(units) + 1),
      neighbours_(2 * edges.size()) {
  PW_CHECK(edges.size() == weights.size());
  for (const double weight : weights) log_weights_.push_back(std::log(weight));
  for (const auto& [from, to] : edges) {
    ++first_[static_cast<size_t>(from) + 1];
    ++first_[static_cast<size_t>(to) + 1];
  }
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  std::vector<size_t> next(first_.begin(), first_.end() - 1);
  for (size_t edge = 0; edge < edges.size(); ++edge) {
    const auto& [from, to] = edges[edge];
    neighbours_[next[static_cast<size_t>(from)]++] = {to, edge};
    neighbours_[next[static_cast<size_t>(to)]++] = {from, edge};
  }
}

std::span<const SharedDraws::Neighbour> SharedDraws::NeighboursOf(int64_t unit) const {
  const auto i = static_cast<size_t>(unit);
  return std::span(neighbours_).subspan(first_[i], first_[i + 1] - first_[i]);
}

void SharedDraws::DrawLengths(Random& random, std::span<double> lengths) const {
  const double power = std::max(0.0, 2 * random.Unit() - 1);
  for (size_t edge = 0; edge < lengths.size(); ++edge) {
    lengths[edge] = random.Unit() * std::exp(-power * log_weights_[edge]);
  }
}

void SharedDraws::Grow(std::span<const int64_t> roots, std::span<const double> lengths,
                       std::span<int64_t> root_of) const {
  using Reached =
      std::tuple<double, int64_t, int64_t>;  // the length of a way, the unit there, its root
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> reached;
  for (const int64_t root : roots) reached.emplace(0, root, root);
  while (!reached.empty()) {
    const auto [length, unit, root] = reached.top();
    reached.pop();
    int64_t& own = root_of[static_cast<size_t>(unit)];
    if (own >= 0) continue;
    own = root;
    for (const Neighbour& next : NeighboursOf(unit)) {
      if (root_of[static_cast<size_t>(next.unit)] < 0) {
        reached.emplace(length + lengths[next.edge], next.unit, root);
      }
    }
  }
}

at::Tensor SharedDraws::Share(const at::Tensor& noise, Random& random) const {
  const at::Tensor regions = Regions(noise.size(-3), random).to(noise.device());
  return noise.gather(-2, regions.unsqueeze(-1).expand(noise.sizes()));
}

at::Tensor SharedDraws::Regions(int64_t count, Random& random) const {
  const at::Tensor regions = at::full({count, units_}, -1, at::TensorOptions().dtype(at::kLong));
  const double fewest = std::log(static_cast<double>(std::min(devices_, units_))),
               most = std::log(static_cast<double>(units_));
  std::vector<double> lengths(log_weights_.size());
  for (int64_t i = 0; i < count; ++i) {
    const double drawn = fewest + random.Unit() * (most - fewest);
    std::vector<int64_t> roots = RandomPermutation(units_, random);
    roots.resize(
        static_cast<size_t>(std::clamp<int64_t>(std::llround(std::exp(drawn)), 1, units_)));
    DrawLengths(random, lengths);
    const std::span root_of(regions.data_ptr<int64_t>() + i * units_, static_cast<size_t>(units_));
    Grow(roots, lengths, root_of);
    for (size_t unit = 0; unit < root_of.size(); ++unit) {
      if (root_of[unit] < 0) root_of[unit] = static_cast<int64_t>(unit);  // no way leads there
    }
  }
  return regions;
}

}  // namespace placewright
