// Properties of the graphs that random sequences of fresh, view and in-place ops build.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "graph/contraction.h"
#include "graph/edges.h"
#include "graph/graph_builder.h"
#include "graph/test_graphs.h"
#include "graph/text_form.h"
#include "graph/verifier.h"

namespace placewright {
namespace {

// A graph in file order: a few inputs, then ops on any earlier tensors.
Graph RandomGraph(uint64_t seed) {
  Random random(seed);
  TinyGraph tiny;
  std::vector<TensorId> tensors;
  const size_t inputs = 1 + random.Below(4);
  for (size_t i = 0; i < inputs; ++i) {
    const TensorKind kinds[] = {TensorKind::kParameter, TensorKind::kInput, TensorKind::kBuffer};
    tensors.push_back(
        tiny.Input("param:m" + std::to_string(i) + ".w", kinds[random.Below(3)], {4}));
  }
  if (inputs > 1 && random.Below(2) == 0) tiny.builder().Tie(tensors[0], tensors[1]);
  const size_t ops = random.Below(40);
  for (size_t i = 0; i < ops; ++i) {
    const Phase phase =
        3 * i < ops ? Phase::kForward : (3 * i < 2 * ops ? Phase::kBackward : Phase::kOptimizer);
    tiny.In(phase, random.Below(2) == 0 ? "m" + std::to_string(random.Below(3)) : "");
    const std::string name = "op" + std::to_string(i);
    const auto any = [&] { return tensors[random.Below(tensors.size())]; };
    if (i > 0 && random.Below(8) == 0) tiny.After({"op" + std::to_string(random.Below(i))});
    switch (random.Below(4)) {
      case 0: tensors.push_back(tiny.Fresh(name, {any(), any()})); break;
      case 1: tensors.push_back(tiny.View(name, "aten.detach.default", any(), {4})); break;
      case 2: tensors.push_back(tiny.InPlace(name, {any(), any()})); break;
      default: tensors.push_back(tiny.Fresh(name, {})); break;
    }
  }
  return tiny.Build();
}

TEST(GraphProperties, BuiltGraphsVerify) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    Graph graph = RandomGraph(seed);
    const Status status = CheckGraphConsistent(GraphTestPeer::Data(graph));
    if (!status.ok()) RC_FAIL(status.error().ToString());
  }));
}

TEST(GraphProperties, TheOrderRespectsEveryEdge) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    const Graph graph = RandomGraph(seed);
    IdVector<OpId, size_t> position(graph.op_count());
    for (size_t i = 0; i < graph.op_count(); ++i) position[graph.topological_order()[i]] = i;
    for (OpId op : graph.ops()) {
      for (OpId consumer : graph.consumers(op)) RC_ASSERT(position[op] < position[consumer]);
    }
    for (const OrderEdge& edge : graph.order_edges()) {
      RC_ASSERT(position[edge.from] < position[edge.to]);
    }
  }));
}

// Replays the ops in topological order on integers for bytes: every read must see the content that
// the recorded order would have shown it.
TEST(GraphProperties, AnyTopologicalOrderReadsTheSameContents) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    const Graph graph = RandomGraph(seed);
    const auto reads = [&](std::span<const OpId> order) {
      std::map<StorageId, int32_t> version;
      std::map<OpId, std::vector<int32_t>> seen;
      for (OpId id : order) {
        const Op& op = graph.op(id);
        std::vector<StorageId> written;
        for (TensorId input : op.inputs) {
          if (!op.is_view) seen[id].push_back(version[graph.tensor(input).storage]);
        }
        for (TensorId tensor : op.writes) {
          const StorageId storage = graph.tensor(tensor).storage;
          if (std::find(written.begin(), written.end(), storage) != written.end()) continue;
          written.push_back(storage);
          ++version[storage];
        }
      }
      return seen;
    };
    // The opposite preference among the ready: largest id first.
    std::vector<int> waiting(graph.op_count(), 0);
    std::vector<OpId> order, ready;
    const auto each_edge = [&](OpId from, const auto& visit) {
      for (OpId to : graph.consumers(from)) visit(to);
      for (const OrderEdge& edge : graph.order_edges()) {
        if (edge.from == from) visit(edge.to);
      }
    };
    for (OpId op : graph.ops()) each_edge(op, [&](OpId to) { ++waiting[to.index()]; });
    for (OpId op : graph.ops()) {
      if (waiting[op.index()] == 0) ready.push_back(op);
    }
    while (!ready.empty()) {
      const auto last = std::max_element(ready.begin(), ready.end());
      const OpId op = *last;
      ready.erase(last);
      order.push_back(op);
      each_edge(op, [&](OpId to) {
        if (--waiting[to.index()] == 0) ready.push_back(to);
      });
    }
    RC_ASSERT(order.size() == graph.op_count());
    std::vector<OpId> file_order(graph.topological_order().begin(),
                                 graph.topological_order().end());
    std::sort(file_order.begin(), file_order.end());
    RC_ASSERT(reads(order) == reads(file_order));
  }));
}

TEST(GraphProperties, ContractionHasEveryEdgeInBothDirections) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    const Graph graph = RandomGraph(seed);
    IdVector<OpId, GroupId> grouping(graph.op_count());
    for (OpId op : graph.ops()) grouping[op] = graph.group(op);
    const ContractedGraph contracted = Contract(graph, grouping, graph.group_count());
    RC_ASSERT(contracted.group_count() == graph.group_count());
    size_t edges = 0;
    for (GroupId group : IdRange<GroupId>(contracted.group_count())) {
      for (const GroupEdge& edge : contracted.successors[group]) {
        RC_ASSERT(edge.group != group);
        const auto row = contracted.predecessors[edge.group];
        RC_ASSERT(std::count(row.begin(), row.end(), GroupEdge{group, edge.bytes}) == 1);
        ++edges;
      }
    }
    RC_ASSERT(edges == contracted.predecessors.items.size());
  }));
}

TEST(GraphProperties, SameGraphSameText) {
  rc::check(
      [](uint64_t seed) { RC_ASSERT(ToText(RandomGraph(seed)) == ToText(RandomGraph(seed))); });
}

}  // namespace
}  // namespace placewright
