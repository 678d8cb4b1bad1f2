#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "learn/encoder/gcn.h"
#include "learn/encoder/infomax.h"
#include "learn/nn/gradient_check.h"

namespace placewright {
namespace {

TEST(Gcn, AdjacencyByHand) {
  // 0 - 1 - 2, given as 0>1, 1>0, 1>2: degrees with loops 2, 3, 2.
  const std::vector<NodeEdge> edges = {{0, 1}, {1, 0}, {1, 2}};
  const at::Tensor a = NormalizedAdjacency(3, edges, kDoubles).to_dense();
  const double side = 1 / std::sqrt(6.0);
  const at::Tensor expected =
      at::tensor({0.5, side, 0.0, side, 1.0 / 3, side, 0.0, side, 0.5}, at::kDouble).view({3, 3});
  EXPECT_TRUE(at::allclose(a, expected));
}

TEST(Gcn, OneLayerByHand) {
  // Two joined nodes with features 1 and -3, theta 2: A = 1/2 everywhere, so both come to -2, and
  // to -0.5 behind PReLU with a slope of 0.25.
  Parameters parameters(Random(1), kDoubles);
  const GcnEncoder encoder(1, {1, 1}, "gcn", parameters);
  parameters.tensors()[0].data().fill_(2);
  const at::Tensor a = NormalizedAdjacency(2, std::vector<NodeEdge>{{0, 1}}, kDoubles);
  const at::Tensor h = encoder.Encode(a, at::tensor({1.0, -3.0}, at::kDouble).view({2, 1}));
  EXPECT_TRUE(at::allclose(h, at::full({2, 1}, -0.5, kDoubles)));
}

TEST(Gcn, Gradients) {
  const std::vector<NodeEdge> edges = {{0, 1}, {1, 2}, {3, 2}};
  const at::Tensor a = NormalizedAdjacency(4, edges, kDoubles);
  ExpectGradients({Leaf({4, 2}, 1)}, [&](const std::vector<at::Tensor>& in) {
    return std::vector<at::Tensor>{Propagate(a, in[0])};
  });
}

TEST(Infomax, LossByHand) {
  // h = (1, -1), mean 0, s = 1/2, W = 2: W s = 1. h~ = (0, 2).
  // -1/4 (log sigmoid(1) + log sigmoid(-1) + log(1 - sigmoid(0)) + log(1 - sigmoid(2)))
  const auto log_sigmoid = [](double x) { return -std::log(1 + std::exp(-x)); };
  const double expected =
      -(log_sigmoid(1) + log_sigmoid(-1) + log_sigmoid(0) + log_sigmoid(-2)) / 4;
  const at::Tensor h = at::tensor({1.0, -1.0}, at::kDouble).view({2, 1});
  const at::Tensor corrupted = at::tensor({0.0, 2.0}, at::kDouble).view({2, 1});
  const at::Tensor w = at::full({1, 1}, 2.0, kDoubles);
  EXPECT_NEAR(InfomaxLoss(h, corrupted, w).item<double>(), expected, 1e-12);
}

TEST(Infomax, LearnsToTellAGraphFromItsPermutations) {
  // A path of 40 nodes, the first half of one type: neighbours are alike, but for permutations.
  std::vector<NodeEdge> edges;
  at::Tensor features = at::zeros({40, 2});
  for (int64_t i = 0; i < 40; ++i) {
    if (i > 0) edges.emplace_back(i - 1, i);
    features[i][i < 20 ? 0 : 1] = 1;
  }
  const at::TensorOptions floats = at::TensorOptions().dtype(at::kFloat);
  const at::Tensor a = NormalizedAdjacency(40, edges, floats);
  const auto train = [&](uint64_t seed) {
    Parameters parameters(Random(seed), floats);
    GcnEncoder encoder(2, {2, 16}, "gcn", parameters);
    InfomaxOptions options;
    options.iterations = 200;
    options.learning_rate = 0.01;
    return PretrainByInfomax(encoder, a, features, Random(seed), {}, options);
  };
  const InfomaxResult result = train(1);
  ASSERT_EQ(result.losses.size(), 200u);
  EXPECT_NEAR(result.losses[0], std::log(2.0), 0.2);  // nothing known yet
  EXPECT_LT(result.losses[static_cast<size_t>(result.best)], 0.45);
  EXPECT_EQ(result.losses, train(1).losses);  // same seed, same curve
  EXPECT_NE(result.losses, train(2).losses);
}

TEST(Infomax, AnEndedBudgetTrainsNothing) {
  const at::TensorOptions floats = at::TensorOptions().dtype(at::kFloat);
  Parameters parameters(Random(1), floats);
  GcnEncoder encoder(2, {1, 4}, "gcn", parameters);
  const at::Tensor before = parameters.tensors()[0].detach().clone();
  StopSource stop;
  stop.RequestStop();
  Budget budget;
  budget.stop = stop.token();
  const at::Tensor a = NormalizedAdjacency(2, std::vector<NodeEdge>{{0, 1}}, floats);
  const InfomaxResult result = PretrainByInfomax(encoder, a, at::ones({2, 2}), Random(1), budget);
  EXPECT_EQ(result.best, -1);
  EXPECT_TRUE(at::equal(before, parameters.tensors()[0]));
}

}  // namespace
}  // namespace placewright
