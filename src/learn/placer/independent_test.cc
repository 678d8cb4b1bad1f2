// Placers whose decisions are independent: MLP, GCN, Transformer-XL.
#include "learn/placer/independent.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "learn/encoder/gcn.h"
#include "learn/encoder/graph_sage.h"
#include "learn/nn/gradient_check.h"
#include "learn/placer/transformer_xl.h"

namespace placewright {
namespace {

// Three units in a chain, two of four devices forbidden for the last.
PlacerInputs ThreeUnits(const at::Tensor& embeddings) {
  const std::vector<NodeEdge> chain = {{0, 1}, {1, 2}};
  at::Tensor forbidden = at::zeros({3, 4}, kDoubles);
  forbidden[2][0] = forbidden[2][3] = -INFINITY;
  return {embeddings, NormalizedAdjacency(3, chain, kDoubles), forbidden};
}

TEST(MlpPlacer, UnitByUnit) {
  Parameters parameters(Random(3), kDoubles);
  const MlpPlacer placer(2, 4, 5, "placer", parameters);
  const at::Tensor x = Leaf({1, 3, 2}, 1);
  const at::Tensor devices = at::zeros({1, 2, 3}, at::kLong);
  const at::Tensor logits = placer.Logits(ThreeUnits(x), devices);
  EXPECT_EQ(logits.sizes(), at::IntArrayRef({1, 2, 3, 4}));
  EXPECT_EQ(logits[0][1][2][3].item<double>(), -INFINITY);
  // A unit's logits do not depend on the others.
  const at::Tensor changed = x.detach().clone();
  changed[0][1].add_(1);
  const at::Tensor other = placer.Logits(ThreeUnits(changed), devices);
  EXPECT_TRUE(at::equal(other[0][0][0], logits[0][0][0]));
  EXPECT_FALSE(at::equal(other[0][0][1], logits[0][0][1]));
}

// Less their mean over the three units, and ten times the preference.
TEST(IndependentPlacers, ScoresCanBeCentred) {
  const at::Tensor x = Leaf({1, 3, 2}, 1), devices = at::zeros({1, 1, 3}, at::kLong);
  PlacerInputs inputs = ThreeUnits(x);
  inputs.forbidden.zero_();
  const auto logits = [&](const auto& make) {
    std::vector<at::Tensor> of;
    for (const bool centred : {false, true}) {
      Parameters parameters(Random(3), kDoubles);
      const auto placer = make(parameters, centred);
      const at::NoGradGuard no_gradients;
      if (centred) {
        EXPECT_EQ(parameters.named().back().first, "placer.preference");
        parameters.named().back().second.copy_(at::arange(4, kDoubles));
      }
      of.push_back(placer.Logits(inputs, devices)[0][0]);
    }
    return of;
  };
  const auto expect_centred = [&](const std::vector<at::Tensor>& of) {
    EXPECT_TRUE(at::allclose(of[1], of[0] - of[0].mean(0, true) + at::arange(4, kDoubles) * 10));
  };
  expect_centred(logits([](Parameters& parameters, bool centred) {
    return MlpPlacer(2, 4, 5, "placer", parameters, centred);
  }));
  expect_centred(logits([](Parameters& parameters, bool centred) {
    return GcnPlacer(2, 4, 5, "placer", parameters, centred);
  }));
}

TEST(GcnPlacer, IsItsFormulaSparseAndDense) {
  Parameters parameters(Random(3), kDoubles);
  const GcnPlacer placer(2, 4, 5, "placer", parameters);
  const at::Tensor w1 = parameters.named()[0].second, w2 = parameters.named()[1].second;
  const at::Tensor x = Leaf({1, 3, 2}, 1);
  PlacerInputs inputs = ThreeUnits(x);
  const at::Tensor a = inputs.adjacency.to_dense();
  const at::Tensor expected =
      at::matmul(a, at::matmul(at::relu(at::matmul(a, at::matmul(x[0], w1))), w2)) +
      inputs.forbidden;
  const at::Tensor devices = at::zeros({1, 1, 3}, at::kLong);
  EXPECT_TRUE(at::allclose(placer.Logits(inputs, devices)[0][0], expected));
  at::Tensor ones = at::zeros({1, 3, 3}, kDoubles);
  for (const auto& [i, j] : {std::pair(0, 1), std::pair(1, 2)}) ones[0][i][j] = ones[0][j][i] = 1;
  inputs.adjacency = NormalizeDense(ones);
  EXPECT_TRUE(at::allclose(inputs.adjacency[0], a));
  EXPECT_TRUE(at::allclose(placer.Logits(inputs, devices)[0][0], expected));
}

TEST(TransformerXl, SeesItsSegmentAndTheOneBefore) {
  Parameters parameters(Random(3), kDoubles);
  TransformerXlOptions options{6, 1, 2, 3, 8, 2};
  const TransformerXlPlacer placer(2, 4, options, "placer", parameters);
  const at::Tensor x = Leaf({1, 7, 2}, 1);
  const PlacerInputs inputs{x, at::Tensor(), at::zeros({7, 4}, kDoubles)};
  const at::Tensor devices = at::zeros({1, 1, 7}, at::kLong);
  const at::Tensor logits = placer.Logits(inputs, devices)[0][0];
  for (int64_t changed = 0; changed < 7; ++changed) {
    PlacerInputs other = inputs;
    other.embeddings = x.detach().clone();
    other.embeddings[0][changed].add_(0.5);
    const at::Tensor moved = placer.Logits(other, devices)[0][0];
    for (int64_t unit = 0; unit < 7; ++unit) {
      const int64_t behind = unit / 2 - changed / 2;  // segments of two
      EXPECT_EQ(!at::equal(moved[unit], logits[unit]), behind == 0 || behind == 1)
          << changed << " " << unit;
    }
  }
  // No gradient passes through the memory: that of the last unit reaches its own segment alone.
  logits[6].sum().backward();
  EXPECT_EQ(x.grad()[0].narrow(0, 0, 6).abs().sum().item<double>(), 0);
  EXPECT_GT(x.grad()[0][6].abs().sum().item<double>(), 0);
}

// Conditioning begins at 1, whatever the units; once its weights are not 0 it depends on the unit, and
// on the segment before by attention of its own.
TEST(TransformerXl, SuperpositionBeginsAsNone) {
  TransformerXlOptions options{6, 1, 2, 3, 8, 2};
  Parameters plain_parameters(Random(3), kDoubles), parameters(Random(3), kDoubles);
  const TransformerXlPlacer plain(2, 4, options, "placer", plain_parameters);
  options.superposition = true;
  const TransformerXlPlacer placer(2, 4, options, "placer", parameters);
  const PlacerInputs inputs{Leaf({1, 7, 2}, 1), at::Tensor(), at::zeros({7, 4}, kDoubles)};
  const at::Tensor devices = at::zeros({1, 1, 7}, at::kLong);
  const at::Tensor before = placer.Logits(inputs, devices);
  EXPECT_TRUE(at::equal(before, plain.Logits(inputs, devices)));
  before.select(3, 0).sum().backward();
  int conditions = 0;
  for (const auto& [name, tensor] : parameters.named()) {
    if (name.find("before_") == std::string::npos) continue;
    ++conditions;
    EXPECT_GT(tensor.grad().abs().sum().item<double>(), 0) << name;
    const at::NoGradGuard no_gradients;
    tensor.copy_(at::arange(tensor.numel(), kDoubles).cos().view(tensor.sizes()) * 0.3);
  }
  EXPECT_EQ(conditions, 5);  // heads, joined, inner, outer, output
  EXPECT_FALSE(at::allclose(placer.Logits(inputs, devices), before));
}

TEST(TransformerXl, CentredScoresAverageToThePreferences) {
  TransformerXlOptions options{6, 1, 2, 3, 8, 2};
  options.centred = true;
  Parameters parameters(Random(3), kDoubles);
  const TransformerXlPlacer placer(2, 4, options, "placer", parameters);
  for (const auto& [name, tensor] : parameters.named()) {
    const at::NoGradGuard no_gradients;
    if (name == "placer.preference") tensor.copy_(at::tensor({0.1, 0.0, -0.2, 0.0}, kDoubles));
  }
  const PlacerInputs inputs{Leaf({1, 7, 2}, 1), at::Tensor(), at::zeros({7, 4}, kDoubles)};
  const at::Tensor logits = placer.Logits(inputs, at::zeros({1, 1, 7}, at::kLong))[0][0];
  EXPECT_TRUE(at::allclose(logits.mean(0), at::tensor({1.0, 0.0, -2.0, 0.0}, kDoubles)));
  EXPECT_GT(logits.std().item<double>(), 0.01);
}

TEST(TransformerXl, WithoutAttentionUnitsAreAlone) {
  TransformerXlOptions options{6, 2, 2, 3, 8, 4};
  options.attention = false;
  for (const bool superposition : {false, true}) {
    options.superposition = superposition;
    Parameters parameters(Random(3), kDoubles);
    const TransformerXlPlacer placer(2, 4, options, "placer", parameters);
    const at::Tensor x = Leaf({1, 7, 2}, 1);
    PlacerInputs inputs{x, at::Tensor(), at::zeros({7, 4}, kDoubles)};
    const at::Tensor devices = at::zeros({1, 1, 7}, at::kLong);
    const at::Tensor logits = placer.Logits(inputs, devices)[0][0];
    inputs.embeddings = x.detach().clone();
    inputs.embeddings[0][3].add_(0.5);
    const at::Tensor moved = placer.Logits(inputs, devices)[0][0];
    for (int64_t unit = 0; unit < 7; ++unit) {
      EXPECT_EQ(!at::equal(moved[unit], logits[unit]), unit == 3);
    }
  }
}

// Described devices may be any number in any order: scores go with them.
TEST(TransformerXl, DescribedDevicesAreNotNumbers) {
  TransformerXlOptions options{6, 1, 2, 3, 8, 4};
  options.centred = true;
  options.device_features = 3;
  Parameters parameters(Random(3), kDoubles);
  const TransformerXlPlacer two(2, 2, options, "placer", parameters);
  const TransformerXlPlacer three(2, 3, options, "placer", parameters);
  EXPECT_EQ(parameters.mismatch(), "");
  for (const auto& [name, tensor] : parameters.named()) {
    const at::NoGradGuard no_gradients;
    if (name == "placer.preference") tensor.copy_(at::tensor({0.1, 0.0, -0.2}, kDoubles));
  }
  const at::Tensor x = Leaf({1, 7, 2}, 1), devices = Leaf({3, 3}, 2).detach();
  const at::Tensor decided = at::zeros({1, 1, 7}, at::kLong);
  const at::Tensor all =
      three.Logits({x, at::Tensor(), at::zeros({7, 3}, kDoubles), devices}, decided)[0][0];
  const at::Tensor order = at::tensor({2, 0}, at::kLong);
  const at::Tensor some =
      two.Logits({x, at::Tensor(), at::zeros({7, 2}, kDoubles), devices.index_select(0, order)},
                 decided)[0][0];
  EXPECT_TRUE(at::allclose(some, all.index_select(1, order)));
  EXPECT_TRUE(
      at::allclose(all.mean(0), at::matmul(devices, at::tensor({1.0, 0.0, -2.0}, kDoubles))));
}

// Of every parameter, in one segment: no gradient passes through what is remembered.
TEST(TransformerXl, Gradients) {
  TransformerXlOptions options{4, 1, 2, 3, 5, 0};
  options.superposition = options.centred = true;
  options.device_features = 2;
  Parameters parameters(Random(3), kDoubles);
  const TransformerXlPlacer placer(2, 3, options, "placer", parameters);
  const at::Tensor devices = Leaf({3, 2}, 2).detach();
  std::vector<at::Tensor> inputs = {Leaf({1, 5, 2}, 1)};
  for (const auto& [name, tensor] : parameters.named()) {
    const at::NoGradGuard no_gradients;
    // Conditioning that begins at 0 would hide what is behind it.
    if (name.find("before_") != std::string::npos) {
      tensor.copy_(at::arange(tensor.numel(), kDoubles).cos().view(tensor.sizes()) * 0.3);
    }
    inputs.push_back(tensor);
  }
  ExpectGradients(inputs, [&](const std::vector<at::Tensor>& in) {
    return std::vector<at::Tensor>{
        placer.Logits({in[0], at::Tensor(), at::zeros({5, 3}, kDoubles), devices},
                      at::zeros({1, 1, 5}, at::kLong))};
  });
}

// Without gradients a segment uses the keys and values that the one before has made.
TEST(TransformerXl, InferenceAgreesWithTraining) {
  TransformerXlOptions options{6, 2, 2, 3, 8, 3};
  for (const bool superposition : {false, true}) {
    options.superposition = superposition;
    Parameters parameters(Random(3), kDoubles);
    const TransformerXlPlacer placer(2, 4, options, "placer", parameters);
    for (const auto& [name, tensor] : parameters.named()) {
      const at::NoGradGuard no_gradients;
      if (name.find("before_") == std::string::npos) continue;
      tensor.copy_(at::arange(tensor.numel(), kDoubles).cos().view(tensor.sizes()) * 0.3);
    }
    const PlacerInputs inputs{Leaf({1, 11, 2}, 1), at::Tensor(), at::zeros({11, 4}, kDoubles), {}};
    const at::Tensor devices = at::zeros({1, 1, 11}, at::kLong);
    const at::Tensor training = placer.Logits(inputs, devices);
    const at::NoGradGuard no_gradients;
    EXPECT_TRUE(at::allclose(placer.Logits(inputs, devices), training, 1e-10, 1e-12));
  }
}

TEST(IndependentPlacer, DrawsTheLargestSum) {
  Parameters parameters(Random(3), kDoubles);
  const MlpPlacer placer(2, 4, 5, "placer", parameters);
  at::Tensor noise = at::zeros({1, 2, 3, 4}, kDoubles);
  for (int64_t unit = 0; unit < 3; ++unit) noise[0][1][unit][1] = 1e9;
  noise[0][0][2][3] = 1e9;  // forbidden all the same
  const at::Tensor drawn = placer.Sample(ThreeUnits(at::zeros({1, 3, 2}, kDoubles)), noise);
  EXPECT_TRUE(at::equal(drawn[0][1], at::ones({3}, at::kLong)));
  EXPECT_NE(drawn[0][0][2].item<int64_t>(), 3);
}

TEST(GraphSage, SamplesAtMostSoManyNeighbours) {
  std::vector<NodeEdge> star;
  for (int64_t i = 1; i < 12; ++i) star.emplace_back(0, i);
  const at::Tensor neighbours = SampleNeighbours(12, star, 5, Random(1));
  EXPECT_TRUE(at::equal(neighbours, SampleNeighbours(12, star, 5, Random(1))));
  EXPECT_EQ(std::get<0>(at::_unique(neighbours[0])).numel(), 5);
  EXPECT_FALSE((neighbours[0] == 0).any().item<bool>());
  for (int64_t i = 1; i < 12; ++i) {
    EXPECT_TRUE(at::equal(neighbours[i], at::tensor({int64_t{0}, i, i, i, i}, at::kLong)));
  }
}

TEST(GraphSage, ExactLooksAtAllNeighbours) {
  std::vector<NodeEdge> star;
  for (int64_t i = 1; i < 6; ++i) star.emplace_back(0, i);
  const at::Tensor entries = AllNeighbours(7, star);  // node 6 is alone
  EXPECT_EQ(entries.numel(), 7 + 7 + 5 + 5);
  Parameters parameters(Random(3), kDoubles), same(Random(3), kDoubles);
  const GraphSageEncoder exact(2, {2, 3, true}, "encoder", parameters);
  const GraphSageEncoder sampled(2, {2, 3, false}, "encoder", same);
  const at::Tensor x = Leaf({7, 2}, 5), y = x.detach().clone().requires_grad_();
  const at::Tensor a = exact.Encode(entries, x);
  const at::Tensor b = sampled.Encode(SampleNeighbours(7, star, 6, Random(1)), y);
  EXPECT_TRUE(at::allclose(a, b));  // five neighbours at most, and the node itself
  a.square().sum().backward();
  b.square().sum().backward();
  EXPECT_TRUE(at::allclose(x.grad(), y.grad()));
}

TEST(GraphSage, Gradients) {
  for (const bool exact : {false, true}) {
    Parameters parameters(Random(3), kDoubles);
    GraphSageEncoder::Options options{2, 3, exact};
    options.embedded = true;
    const GraphSageEncoder encoder(2, options, "encoder", parameters);
    const std::vector<NodeEdge> edges = {{0, 1}, {1, 2}, {3, 2}, {0, 4}};
    const at::Tensor structure =
        exact ? AllNeighbours(5, edges) : SampleNeighbours(5, edges, 2, Random(1));
    std::vector<at::Tensor> inputs = {Leaf({5, 2}, 1)};
    for (const at::Tensor& tensor : parameters.tensors()) inputs.push_back(tensor);
    EXPECT_EQ(parameters.named().front().first, "encoder.embedding");
    ExpectGradients(inputs, [&](const std::vector<at::Tensor>& in) {
      return std::vector<at::Tensor>{encoder.Encode(structure, in[0])};
    });
  }
}

TEST(GraphSage, IsItsFormula) {
  Parameters parameters(Random(3), kDoubles);
  const GraphSageEncoder encoder(2, {1, 3}, "encoder", parameters);
  const at::Tensor x = Leaf({2, 2}, 1);
  const at::Tensor pool = parameters.named()[0].second, combine = parameters.named()[2].second;
  // Node 0 sees node 1, node 1 sees itself.
  const at::Tensor h = encoder.Encode(at::tensor({1, 1}, at::kLong).view({2, 1}), x);
  const at::Tensor around = at::sigmoid(at::matmul(x[1], pool.t()));
  for (int64_t node = 0; node < 2; ++node) {
    EXPECT_TRUE(
        at::allclose(h[node], at::relu(at::matmul(at::cat({x[node], around}), combine.t()))));
  }
}

}  // namespace
}  // namespace placewright
