// The network: a hand-computed pass, its gradient against differences, several states at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "placeto/network/kernels.h"
#include "placeto/network/pass.h"

namespace placewright {
namespace {

using Edges = std::vector<std::pair<int32_t, int32_t>>;

PlacetoGraph Diamond() {  // 0 -> 1, 2 -> 3, and 4 alone
  const std::vector<double> cost = {1, 2, 4, 1, 2}, bytes = {8, 2, 0, 4, 1};
  return PlacetoGraph(cost, bytes, Edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 1}});
}

TEST(PlacetoGraph, LevelsNeighboursAndRelations) {
  const PlacetoGraph graph = Diamond();
  ASSERT_EQ(graph.levels(), 3);
  EXPECT_EQ(graph.Level(0), std::pair(0, 2));  // 0 and 4
  const int32_t first = graph.NodeOf(0), left = graph.NodeOf(1), last = graph.NodeOf(3),
                alone = graph.NodeOf(4);
  EXPECT_THAT(graph.Children(first), testing::ElementsAre(left, graph.NodeOf(2)));
  EXPECT_THAT(graph.Parents(last), testing::ElementsAre(left, graph.NodeOf(2)));
  EXPECT_EQ(graph.Relation(last, first), PlacetoRelation::kAncestor);
  EXPECT_EQ(graph.Relation(first, last), PlacetoRelation::kDescendant);
  EXPECT_EQ(graph.Relation(left, graph.NodeOf(2)), PlacetoRelation::kPeer);
  EXPECT_EQ(graph.Relation(alone, first), PlacetoRelation::kPeer);
  EXPECT_EQ(graph.Relation(left, left), PlacetoRelation::kSelf);
  EXPECT_EQ(graph.relative_cost()[static_cast<size_t>(graph.NodeOf(3))], 0.25);
  EXPECT_EQ(graph.relative_bytes()[static_cast<size_t>(graph.NodeOf(3))], 0.5);
}

// Sets every weight to `diagonal` on the diagonal, else 0, and every bias to 0.
std::vector<double> Diagonal(const PlacetoLayout& layout, double diagonal) {
  std::vector<double> values(layout.size, 0);
  for (const PlacetoLayer* layer : layout.layers()) {
    for (int32_t i = 0; i < std::min(layer->inputs, layer->outputs); ++i) {
      values[layer->weights + static_cast<size_t>(i * layer->columns + i)] = diagonal;
    }
  }
  return values;
}

// With identities everywhere the network adds up features along paths. Only the first feature, the
// cost, is not 0: on the diamond (1, 2, 4, 1)/4 and 2/4.
//   along:   h(0) = .25, h(1) = .5 + .25 = .75, h(2) = 1 + .25 = 1.25, h(3) = .25 + .75 + 1.25 = 2.25
//   against: h(3) = .25, h(1) = .75, h(2) = 1.25, h(0) = .25 + 2 = 2.25
// Node 1 has the ancestor 0, the descendant 3 and the peers 2 and 4 (.5 both ways):
//   joined = (a: .25, 2.25; c: 2.25, .25; p: 1.75, 1.75; e: .75, .75), each at its place
// The classifier passes on its first inputs: those of `a`, the logits are its first two numbers.
TEST(PlacetoPass, AddsUpAsComputedByHand) {
  const PlacetoGraph graph = Diamond();
  const PlacetoLayout layout(2, false);
  ASSERT_EQ(layout.width, 7);
  std::vector<double> values = Diagonal(layout, 1);
  PlacetoPass<double> pass(graph, layout);
  pass.SetValues(values);
  pass.Reserve(1);
  for (int32_t node = 0; node < graph.size(); ++node) {
    const auto to = pass.Features(node, 0);
    std::fill(to.begin(), to.end(), 0);
    to[0] = graph.relative_cost()[static_cast<size_t>(node)];
  }
  const std::vector<int32_t> nodes = {graph.NodeOf(1)};
  pass.Forward(nodes);
  EXPECT_THAT(pass.Logits(0), testing::ElementsAre(0.25, 0));
  // The second logit from another place of the joined numbers: [14] is c's first, [28] p's, [42] e's,
  // and 7 further those of the other sweep.
  const double expected[] = {0.25, 2.25, 2.25, 0.25, 1.75, 1.75, 0.75, 0.75};
  for (int32_t part = 0; part < 8; ++part) {
    std::vector<double> changed = values;
    const PlacetoLayer& first = layout.classifier[0];
    changed[first.weights + static_cast<size_t>(7 * part * first.columns + 1)] += 1;
    if (part == 0) changed[first.weights + static_cast<size_t>(first.columns + 1)] = 0;
    pass.SetValues(changed);
    pass.Forward(nodes);
    EXPECT_DOUBLE_EQ(pass.Logits(0)[1], expected[part]) << part;
  }
}

struct Case {
  PlacetoGraph graph;
  std::vector<int32_t> nodes;
  std::vector<double> features;  // [node][state][d]
};

Case RandomCase(uint64_t seed, int32_t nodes, int32_t states, int32_t width) {
  Random random(seed);
  std::vector<double> cost, bytes;
  Edges edges;
  for (int32_t i = 0; i < nodes; ++i) {
    cost.push_back(random.Unit());
    bytes.push_back(random.Unit());
    for (int k = 0; i > 0 && k < 2; ++k) {
      edges.emplace_back(static_cast<int32_t>(random.Below(static_cast<uint64_t>(i))), i);
    }
  }
  Case made{PlacetoGraph(cost, bytes, edges), {}, {}};
  for (int32_t state = 0; state < states; ++state) {
    made.nodes.push_back(static_cast<int32_t>(random.Below(static_cast<uint64_t>(nodes))));
  }
  for (int32_t i = 0; i < nodes * states * width; ++i) {
    made.features.push_back(2 * random.Unit() - 1);
  }
  return made;
}

template <class Real>
void Fill(PlacetoPass<Real>& pass, const Case& of, const std::vector<int32_t>& states,
          int32_t width) {
  pass.Reserve(static_cast<int32_t>(states.size()));
  const auto all = static_cast<int32_t>(of.nodes.size());
  for (int32_t node = 0; node < of.graph.size(); ++node) {
    for (size_t s = 0; s < states.size(); ++s) {
      const auto to = pass.Features(node, static_cast<int32_t>(s));
      const double* const from =
          of.features.data() + (node * all + states[s]) * static_cast<int64_t>(width);
      for (int32_t i = 0; i < width; ++i) to[static_cast<size_t>(i)] = static_cast<Real>(from[i]);
    }
  }
}

class Gradient : public testing::TestWithParam<std::pair<int32_t, bool>> {};

TEST_P(Gradient, IsThatOfDifferences) {
  const auto [devices, learned] = GetParam();
  const PlacetoLayout layout(devices, learned);
  const int32_t states = 3;
  const Case of = RandomCase(7, 9, states, layout.width);
  std::vector<double> values = FirstPlacetoValues<double>(layout, Random(3));
  Random random(11);
  for (const PlacetoLayer* layer : layout.layers()) {  // biases that relu does not hide
    for (int32_t i = 0; i < layer->outputs; ++i) {
      values[layer->biases + static_cast<size_t>(i)] = 0.2 * random.Unit();
    }
  }
  std::vector<double> d_logits, d_values;
  for (int32_t i = 0; i < states * devices; ++i) d_logits.push_back(2 * random.Unit() - 1);
  for (int32_t i = 0; learned && i < states; ++i) d_values.push_back(2 * random.Unit() - 1);
  PlacetoPass<double> pass(of.graph, layout);
  const auto objective = [&](const std::vector<double>& at) {
    pass.SetValues(at);
    Fill(pass, of, {0, 1, 2}, layout.width);
    pass.Forward(of.nodes);
    double sum = 0;
    for (int32_t s = 0; s < states; ++s) {
      for (int32_t d = 0; d < devices; ++d) {
        sum +=
            d_logits[static_cast<size_t>(s * devices + d)] * pass.Logits(s)[static_cast<size_t>(d)];
      }
      if (learned) sum += d_values[static_cast<size_t>(s)] * pass.Value(s);
    }
    return sum;
  };
  objective(values);
  std::vector<double> gradient(layout.size, 0);
  pass.Backward(d_logits, d_values, gradient);
  double largest = 0;
  for (const PlacetoLayer* layer : layout.layers()) {
    // All of the small layers, some of the large.
    const int32_t step = layer->inputs * layer->outputs > 400 ? 37 : 3;
    const auto check = [&](size_t place, const std::string& name) {
      std::vector<double> changed = values;
      const double h = 1e-6;
      changed[place] += h;
      const double above = objective(changed);
      changed[place] -= 2 * h;
      const double below = objective(changed);
      EXPECT_NEAR(gradient[place], (above - below) / (2 * h), 1e-5) << name;
      largest = std::max(largest, std::abs(gradient[place]));
    };
    for (int32_t i = 0; i < layer->inputs * layer->outputs; i += step) {
      check(layer->weights +
                static_cast<size_t>(i / layer->outputs * layer->columns + i % layer->outputs),
            layer->name);
    }
    for (int32_t i = 0; i < layer->outputs; i += step) {
      check(layer->biases + static_cast<size_t>(i), layer->name + " bias");
    }
  }
  EXPECT_GT(largest, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Placeto, Gradient,
                         testing::Values(std::pair(2, false), std::pair(3, true),
                                         std::pair(8, false)));

TEST(PlacetoPass, SeveralStatesAtATimeAreEachAsAlone) {
  const PlacetoLayout layout(3, true);
  const Case of = RandomCase(5, 20, 5, layout.width);
  const std::vector<float> values = FirstPlacetoValues<float>(layout, Random(1));
  PlacetoPass<float> together(of.graph, layout), alone(of.graph, layout);
  together.SetValues(values);
  alone.SetValues(values);
  Fill(together, of, {0, 1, 2, 3, 4}, layout.width);
  together.Forward(of.nodes);
  for (int32_t state = 0; state < 5; ++state) {
    Fill(alone, of, {state}, layout.width);
    alone.Forward({of.nodes.data() + state, 1});
    EXPECT_THAT(alone.Logits(0), testing::ElementsAreArray(together.Logits(state)));  // to the bit
    EXPECT_EQ(alone.Value(0), together.Value(state));
  }
}

TEST(DenseKernel, IsThePlainSum) {
  Random random(2);
  for (const auto& [rows, depth, outputs] :
       std::vector<std::tuple<int, int, int>>{{1, 1, 1}, {5, 13, 13}, {9, 3, 17}, {4, 26, 40}}) {
    const int32_t columns = PaddedWidth(outputs), stride = PaddedWidth(depth);
    std::vector<float> x(static_cast<size_t>(rows * stride), 0),
        w(static_cast<size_t>(depth * columns), 0), b(static_cast<size_t>(columns), 0),
        y(static_cast<size_t>(rows * columns), 0);
    for (float& one : x) one = static_cast<float>(random.Unit() - 0.5);
    for (float& one : w) one = static_cast<float>(random.Unit() - 0.5);
    for (float& one : b) one = static_cast<float>(random.Unit() - 0.5);
    const DenseShape shape{rows, depth, columns, stride, columns};
    Dense(shape, x.data(), w.data(), b.data(), true, y.data());
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) {
        float sum = b[static_cast<size_t>(c)];
        for (int k = 0; k < depth; ++k) {
          // volatile: no fused multiply-add, whatever the compiler may do to this test
          volatile float product =
              x[static_cast<size_t>(r * stride + k)] * w[static_cast<size_t>(k * columns + c)];
          sum += product;
        }
        EXPECT_EQ(y[static_cast<size_t>(r * columns + c)], std::max(sum, 0.0F));
      }
    }
  }
}

}  // namespace
}  // namespace placewright
