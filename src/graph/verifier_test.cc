#include "graph/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "graph/test_graphs.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

// Parameter 0 with a transposed view (op 0), a reader (1), a slice of its result (2) that is
// written in place (3), a reader of that (4) and the parameter's update (5).
// Tensors: 0 w, 1 x, 2 t, 3 mm, 4 slice, 5 relu_, 6 sum, 7 update.
// Storages: 0 w, 1 x, 2 mm, 3 sum.
Graph SampleToBreak() {
  TinyGraph tiny;
  const TensorId w = tiny.Input("param:m.w", TensorKind::kParameter, {4, 4});
  const TensorId x = tiny.Input("x", TensorKind::kInput, {4, 4});
  tiny.In(Phase::kForward, "m");
  const TensorId t = tiny.View("t", "aten.t.default", w, {4, 4});
  const TensorId mm = tiny.Fresh("mm", {x, t}, {4, 4});
  const TensorId slice =
      tiny.View("slice", "aten.slice.Tensor", mm, {2, 4}, {Int(0), Int(1), Int(3)});
  const TensorId relu = tiny.InPlace("relu_", {slice}, {2, 4});
  const TensorId sum = tiny.Fresh("sum", {relu, mm}, {4});
  tiny.In(Phase::kOptimizer).InPlace("update", {w, sum}, {4, 4});
  return tiny.Build();
}

struct Corruption {
  const char* what;
  std::function<void(GraphData&)> apply;
  const char* message;  // a part of the error
  ErrorCode code = ErrorCode::kGraphInconsistent;
};

TEST(Verifier, AcceptsASoundGraph) {
  Graph graph = SampleToBreak();
  EXPECT_TRUE(CheckGraphConsistent(GraphTestPeer::Data(graph)).ok());
}

void ExpectFound(const std::vector<Corruption>& corruptions) {
  for (const Corruption& corruption : corruptions) {
    Graph graph = SampleToBreak();
    corruption.apply(GraphTestPeer::Data(graph));
    const Status status = CheckGraphConsistent(GraphTestPeer::Data(graph));
    ASSERT_FALSE(status.ok()) << corruption.what;
    EXPECT_EQ(status.error().code, corruption.code) << corruption.what;
    EXPECT_THAT(status.error().ToString(), HasSubstr(corruption.message)) << corruption.what;
  }
}

TEST(Verifier, FindsBrokenOps) {
  ExpectFound({
      {"type", [](GraphData& g) { g.ops[OpId(1)].type = ""; }, "op mm"},
      {"module", [](GraphData& g) { g.ops[OpId(1)].module = ModuleId(9); }, "no module"},
      {"versions", [](GraphData& g) { g.ops[OpId(1)].input_versions.pop_back(); }, "a version"},
      {"input", [](GraphData& g) { g.ops[OpId(1)].inputs[0] = TensorId(99); }, "no tensor"},
      {"output", [](GraphData& g) { g.ops[OpId(1)].outputs[0] = TensorId(0); }, "another producer"},
      {"output twice",
       [](GraphData& g) { g.ops[OpId(1)].outputs.push_back(g.ops[OpId(1)].outputs[0]); },
       "order of their indices"},
      {"write", [](GraphData& g) { g.ops[OpId(1)].writes = {TensorId(0)}; }, "none of its inputs"},
      {"after", [](GraphData& g) { g.ops[OpId(1)].after = {OpId(77)}; }, "is no op"},
      {"argument", [](GraphData& g) { g.ops[OpId(1)].args = {Ref(2)}; }, "none of its inputs"},
      {"nested argument",
       [](GraphData& g) {
         g.ops[OpId(1)].attributes = {{"k", Value(Value::List{Value(Value::List{Ref(-1)})})}};
       },
       "none of its inputs"},
      {"op name", [](GraphData& g) { g.ops[OpId(1)].name = "sum"; }, "not unique"},
      {"tensor name", [](GraphData& g) { g.tensors[TensorId(1)].name = ""; }, "empty name"},
      {"name index", [](GraphData& g) { std::swap(g.ops_by_name[0], g.ops_by_name[1]); },
       "not sorted"},
  });
}

TEST(Verifier, FindsBrokenTensorsAndStorages) {
  ExpectFound({
      {"storage", [](GraphData& g) { g.tensors[TensorId(3)].storage = StorageId(); },
       "tensor mm: it has no storage"},
      {"version", [](GraphData& g) { g.tensors[TensorId(3)].version = 7; }, "no version 7"},
      {"kind", [](GraphData& g) { g.tensors[TensorId(3)].kind = TensorKind::kGradient; },
       "its kind"},
      {"bytes", [](GraphData& g) { g.tensors[TensorId(3)].bytes = Bytes(63); }, "its shape"},
      {"offset", [](GraphData& g) { g.tensors[TensorId(4)].offset = Bytes(40); }, "outside"},
      {"negative", [](GraphData& g) { g.tensors[TensorId(4)].offset = Bytes(-1); }, "outside"},
      {"strides", [](GraphData& g) { g.tensors[TensorId(2)].strides = {1}; }, "strides"},
      {"hull",
       [](GraphData& g) {
         g.tensors[TensorId(2)].strides = {2, 4};
       },
       "claims"},
      {"producer", [](GraphData& g) { g.tensors[TensorId(3)].producer = OpId(99); },
       "another producer"},
      {"made by no op", [](GraphData& g) { g.tensors[TensorId(1)].producer = OpId(1); },
       "does not list it"},
      {"first", [](GraphData& g) { g.storages[StorageId(2)].first = TensorId(4); },
       "whole first content"},
      {"no version", [](GraphData& g) { g.storages[StorageId(3)].versions.clear(); },
       "no version 0"},
      {"writer", [](GraphData& g) { g.storages[StorageId(2)].versions[1].writer = OpId(4); },
       "no op that writes it"},
      {"written input",
       [](GraphData& g) { g.storages[StorageId(1)].versions.push_back({OpId(1)}); },
       "an input of the graph"},
  });
}

TEST(Verifier, FindsBrokenVersions) {
  ExpectFound({
      {"version of the future", [](GraphData& g) { g.ops[OpId(4)].input_versions[0] = 5; },
       "cannot be"},
      {"version of the past", [](GraphData& g) { g.ops[OpId(4)].input_versions[0] = 0; },
       "cannot be"},
      {"write without version", [](GraphData& g) { g.ops[OpId(4)].writes = {TensorId(5)}; },
       "made no version"},
      {"view flag", [](GraphData& g) { g.ops[OpId(0)].is_view = false; }, "not marked as one"},
      {"no view", [](GraphData& g) { g.ops[OpId(1)].is_view = true; }, "marked as a view"},
  });
}

TEST(Verifier, FindsBrokenEdgesAndOrder) {
  ExpectFound({
      {"consumers", [](GraphData& g) { g.consumers.items[0] = OpId(5); }, "consumers"},
      {"producers", [](GraphData& g) { g.producers.items[0] = OpId(5); }, "producers"},
      {"lost edge",
       [](GraphData& g) {
         g.consumers.items.pop_back();
         for (int32_t& offset : g.consumers.offsets) {
           offset = std::min<int32_t>(offset, static_cast<int32_t>(g.consumers.items.size()));
         }
       },
       "consumers"},
      {"order edge", [](GraphData& g) { g.order_edges.pop_back(); }, "order edges"},
      {"order twice", [](GraphData& g) { g.topological_order[0] = g.topological_order[1]; },
       "every op once"},
      {"order", [](GraphData& g) { std::swap(g.topological_order[0], g.topological_order[1]); },
       "before t, which it needs"},
      {"cycle",
       [](GraphData& g) {  // t -> mm -> ... -> update, and back by `after`
         g.ops[OpId(0)].after = {OpId(5)};
         g.consumers.items.push_back(OpId(0));
         ++g.consumers.offsets.back();
         g.producers.items.insert(g.producers.items.begin(), OpId(5));
         for (size_t i = 1; i < g.producers.offsets.size(); ++i) ++g.producers.offsets[i];
       },
       "wait for each other", ErrorCode::kGraphCycle},
  });
}

TEST(Verifier, FindsBrokenGroupsHomesAndSizes) {
  ExpectFound({
      {"group", [](GraphData& g) { g.group_of[OpId(1)] = GroupId(5); }, "numbered densely"},
      {"split group",
       [](GraphData& g) { g.group_of[OpId(5)] = GroupId(static_cast<int32_t>(g.group_count++)); },
       "another group's"},
      {"empty group", [](GraphData& g) { ++g.group_count; }, "groups without ops"},
      {"home", [](GraphData& g) { g.home_op[StorageId(1)] = OpId(); }, "no home"},
      {"array", [](GraphData& g) { g.group_of.resize(2); }, "one entry for each op"},
      {"homes", [](GraphData& g) { g.home_op.resize(1); }, "one entry for each storage"},
      {"root", [](GraphData& g) { g.modules[ModuleId(0)] = "m"; }, "root"},
      {"two modules", [](GraphData& g) { g.modules.push_back("m"); }, "one path"},
      {"graph output", [](GraphData& g) { g.outputs = {TensorId(50)}; }, "no tensor"},
  });
}

}  // namespace
}  // namespace placewright
