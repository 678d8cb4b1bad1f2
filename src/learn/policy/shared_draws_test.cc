#include "learn/policy/shared_draws.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "learn/encoder/graph_sage.h"
#include "learn/placer/independent.h"
#include "learn/policy/encoder_placer.h"
#include "learn/policy/table.h"

namespace placewright {
namespace {

constexpr int64_t kSide = 8, kUnits = kSide * kSide;

std::vector<UnitEdge> Grid() {
  std::vector<UnitEdge> edges;
  for (int64_t unit = 0; unit < kUnits; ++unit) {
    if (unit % kSide + 1 < kSide) edges.emplace_back(unit, unit + 1);
    if (unit + kSide < kUnits) edges.emplace_back(unit, unit + kSide);
  }
  return edges;
}

std::vector<int64_t> Row(const at::Tensor& rows, int64_t i) {
  const int64_t* const data = rows.data_ptr<int64_t>() + i * rows.size(1);
  return {data, data + rows.size(1)};
}

TEST(SharedDraws, RegionsAreConnected) {
  const std::vector<UnitEdge> edges = Grid();
  const SharedDraws draws(kUnits, edges, std::vector<double>(edges.size(), 1), 2);
  Random random(5);
  const at::Tensor regions = draws.Regions(400, random);
  std::vector<size_t> numbers;
  for (int64_t i = 0; i < regions.size(0); ++i) {
    const std::vector<int64_t> root_of = Row(regions, i);
    // Along edges within regions, all of a region are reached from its root.
    std::vector<int64_t> reached(kUnits);
    std::iota(reached.begin(), reached.end(), 0);
    const auto first = [&](int64_t unit) {
      while (reached[static_cast<size_t>(unit)] != unit) unit = reached[static_cast<size_t>(unit)];
      return unit;
    };
    for (const auto& [a, b] : edges) {
      if (root_of[static_cast<size_t>(a)] != root_of[static_cast<size_t>(b)]) continue;
      reached[static_cast<size_t>(first(a))] = first(b);
    }
    for (int64_t unit = 0; unit < kUnits; ++unit) {
      EXPECT_EQ(first(unit), first(root_of[static_cast<size_t>(unit)]));
    }
    numbers.push_back(std::set<int64_t>(root_of.begin(), root_of.end()).size());
  }
  std::sort(numbers.begin(), numbers.end());
  EXPECT_GE(numbers.front(), 2u);
  EXPECT_LE(numbers.back(), static_cast<size_t>(kUnits));
  // The root of 2 times 64 is 11.3.
  EXPECT_NEAR(std::log(static_cast<double>(numbers[200])), std::log(11.3), 0.3);
}

TEST(SharedDraws, WhatTakesLongToMoveHoldsTogether) {
  std::vector<UnitEdge> edges;
  std::vector<double> weights;
  for (int64_t unit = 0; unit + 1 < kUnits; ++unit) {
    edges.emplace_back(unit, unit + 1);
    weights.push_back(unit % 2 == 0 ? 1e6 : 1);
  }
  const SharedDraws draws(kUnits, edges, weights, 2);
  Random random(6);
  const at::Tensor regions = draws.Regions(1000, random);
  int64_t heavy = 0, light = 0;
  for (int64_t i = 0; i < regions.size(0); ++i) {
    const std::vector<int64_t> root_of = Row(regions, i);
    for (size_t edge = 0; edge < edges.size(); ++edge) {
      if (root_of[edge] != root_of[edge + 1]) ++(weights[edge] > 1 ? heavy : light);
    }
  }
  EXPECT_LT(heavy, light * 0.85);
  EXPECT_GT(heavy, light / 4);  // half of the placements see no weights
}

TEST(SharedDraws, UnitsWithoutEdgesAreAlone) {
  const SharedDraws draws(3, {}, {}, 8);
  Random random(1);
  EXPECT_TRUE(at::equal(draws.Regions(1, random)[0], at::arange(3)));
}

// Each unit's devices are drawn as often as the policy says; those of neighbours go together.
TEST(SharedDraws, KeepTheDistributionOfEveryUnit) {
  const std::vector<UnitEdge> edges = Grid();
  const auto parameters =
      std::make_shared<Parameters>(Random(3), at::TensorOptions().dtype(at::kFloat));
  UnitGraph graph{at::rand({kUnits, 4}),
                  SampleNeighbours(kUnits, edges, 2, Random(1)),
                  {},
                  at::zeros({kUnits, 3}),
                  {},
                  nullptr};
  graph.shared =
      std::make_shared<SharedDraws>(kUnits, edges, std::vector<double>(edges.size(), 1), 3);
  const EncoderPlacerPolicy policy(
      graph,
      std::make_unique<GraphSageEncoder>(4, GraphSageEncoder::Options{1, 5}, "encoder",
                                         *parameters),
      [](int64_t width, Parameters& of) -> std::unique_ptr<PlacerNet> {
        return std::make_unique<MlpPlacer>(width, 3, 6, "placer", of);
      },
      0.1, parameters);
  Random random(7);
  constexpr int64_t kDraws = 4000;
  const at::Tensor drawn = policy.Sample(kDraws, random, {});
  double agree = 0, agree_alone = 0;
  std::vector<at::Tensor> chances;
  for (int64_t device = 0; device < 3; ++device) {
    const at::Tensor chance =
        policy.Evaluate(at::full({1, kUnits}, device, at::kLong)).log_probability[0].exp();
    const at::Tensor share = (drawn == device).to(at::kFloat).mean(0);
    const double deviation = (share - chance).abs().max().item<double>();
    EXPECT_LT(deviation, 5 * std::sqrt(0.25 / kDraws)) << device;
    chances.push_back(chance);
  }
  for (const auto& [a, b] : edges) {
    agree += (drawn.select(1, a) == drawn.select(1, b)).to(at::kFloat).mean().item<double>();
    for (const at::Tensor& chance : chances) agree_alone += (chance[a] * chance[b]).item<double>();
  }
  EXPECT_GT(agree, 1.5 * agree_alone);
  // So does Post's table, whose units all take each device with probability 1/3.
  const TablePolicy table(
      graph.forbidden, 0,
      std::make_shared<Parameters>(Random(3), at::TensorOptions().dtype(at::kFloat)), graph.shared);
  const at::Tensor of_table = table.Sample(kDraws, random, {});
  EXPECT_LT(((of_table == 1).to(at::kFloat).mean(0) - 1.0 / 3).abs().max().item<double>(),
            5 * std::sqrt(0.25 / kDraws));
  double agree_in_table = 0;
  for (const auto& [a, b] : edges) {
    agree_in_table +=
        (of_table.select(1, a) == of_table.select(1, b)).to(at::kFloat).mean().item<double>();
  }
  EXPECT_GT(agree_in_table / static_cast<double>(edges.size()), 1.5 / 3);
  // The likeliest placement needs no draws.
  const uint64_t before = random.state();
  policy.Sample(1, random, {.greedy = true});
  EXPECT_EQ(random.state(), before);
}

}  // namespace
}  // namespace placewright
