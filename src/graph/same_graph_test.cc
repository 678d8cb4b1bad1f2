#include "graph/same_graph.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "graph/batch/at_batch.h"
#include "graph/test_graphs.h"

namespace placewright {
namespace {

// A parameter with a transposed view, a product, and the parameter's update.
Graph Sample(const std::string& module = "m", double factor = 0.5) {
  TinyGraph tiny;
  const TensorId w = tiny.Input("param:m.w", TensorKind::kParameter, {4, 4});
  const TensorId x = tiny.Input("x", TensorKind::kInput, {4, 4});
  tiny.In(Phase::kForward, module);
  const TensorId t = tiny.View("t", "aten.t.default", w, {4, 4}, {Value(factor)});
  const TensorId mm = tiny.Fresh("mm", {x, t}, {4, 4});
  tiny.In(Phase::kOptimizer).InPlace("update", {w, mm}, {4, 4});
  tiny.builder().SetOutputs({mm});
  return tiny.Build();
}

TEST(SameGraph, IsTheSameHoweverOftenItIsBuilt) {
  EXPECT_TRUE(SameGraph(Sample(), Sample()));
  Graph other_format = Sample();
  GraphTestPeer::Data(other_format).format = "onnx";
  EXPECT_TRUE(SameGraph(Sample(), other_format));
}

TEST(SameGraph, ComparesTheLawsOfTheBatch) {
  const auto with_reason = [](const char* reason) {
    return WithBatchScaling(Sample(), {{1, 2, 5}, reason, {}, {}}).Take();
  };
  EXPECT_TRUE(SameGraph(with_reason("a"), with_reason("a")));
  EXPECT_FALSE(SameGraph(with_reason("a"), with_reason("b")));
  EXPECT_FALSE(SameGraph(with_reason("a"), Sample()));
}

TEST(SameGraph, ComparesNumbersByTheirBits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(SameGraph(Sample("m", nan), Sample("m", -nan)));
  EXPECT_FALSE(SameGraph(Sample("m", nan), Sample("m", 1.0)));
  EXPECT_FALSE(SameGraph(Sample("m", 0.0), Sample("m", -0.0)));
  EXPECT_FALSE(SameGraph(Sample("m"), Sample("n")));  // module paths
}

// Each field of the plain content makes a difference.
TEST(SameGraph, SeesEveryField) {
  const std::vector<std::pair<const char*, std::function<void(GraphData&)>>> changes = {
      {"name", [](GraphData& g) { g.name = "other"; }},
      {"batch", [](GraphData& g) { g.batch = 7; }},
      {"op name", [](GraphData& g) { g.ops[OpId(1)].name = "other"; }},
      {"op type", [](GraphData& g) { g.ops[OpId(1)].type = "aten.mul.Tensor"; }},
      {"phase", [](GraphData& g) { g.ops[OpId(1)].phase = Phase::kBackward; }},
      {"view", [](GraphData& g) { g.ops[OpId(0)].is_view = false; }},
      {"inputs", [](GraphData& g) { g.ops[OpId(1)].inputs[0] = TensorId(0); }},
      {"versions", [](GraphData& g) { g.ops[OpId(1)].input_versions[1] = 1; }},
      {"outputs", [](GraphData& g) { g.ops[OpId(1)].outputs.clear(); }},
      {"writes", [](GraphData& g) { g.ops[OpId(2)].writes.clear(); }},
      {"after", [](GraphData& g) { g.ops[OpId(2)].after = {OpId(0)}; }},
      {"arguments", [](GraphData& g) { g.ops[OpId(0)].args.pop_back(); }},
      {"argument", [](GraphData& g) { g.ops[OpId(0)].args[1] = Int(1); }},
      {"attributes",
       [](GraphData& g) {
         g.ops[OpId(0)].attributes = {{"dim", Int(1)}};
       }},
      {"consumers", [](GraphData& g) { g.consumers.items[0] = OpId(2); }},
      {"group", [](GraphData& g) { g.group_of[OpId(1)] = GroupId(0); }},
      {"tensor name", [](GraphData& g) { g.tensors[TensorId(1)].name = "y"; }},
      {"kind", [](GraphData& g) { g.tensors[TensorId(1)].kind = TensorKind::kBuffer; }},
      {"dtype", [](GraphData& g) { g.tensors[TensorId(1)].dtype = DType::kI32; }},
      {"shape", [](GraphData& g) { g.tensors[TensorId(1)].shape = {16}; }},
      {"strides", [](GraphData& g) { g.tensors[TensorId(2)].strides.clear(); }},
      {"producer", [](GraphData& g) { g.tensors[TensorId(2)].producer = OpId(1); }},
      {"output index", [](GraphData& g) { g.tensors[TensorId(2)].output_index = 1; }},
      {"bytes", [](GraphData& g) { g.tensors[TensorId(1)].bytes = Bytes(1); }},
      {"storage", [](GraphData& g) { g.tensors[TensorId(2)].storage = StorageId(1); }},
      {"version", [](GraphData& g) { g.tensors[TensorId(2)].version = 1; }},
      {"offset", [](GraphData& g) { g.tensors[TensorId(2)].offset = Bytes(1); }},
      {"length", [](GraphData& g) { g.tensors[TensorId(2)].length = Bytes(1); }},
      {"first", [](GraphData& g) { g.storages[StorageId(0)].first = TensorId(2); }},
      {"storage kind", [](GraphData& g) { g.storages[StorageId(1)].kind = TensorKind::kBuffer; }},
      {"storage bytes", [](GraphData& g) { g.storages[StorageId(1)].bytes = Bytes(1); }},
      {"storage versions", [](GraphData& g) { g.storages[StorageId(0)].versions.pop_back(); }},
      {"home", [](GraphData& g) { g.home_op[StorageId(1)] = OpId(0); }},
      {"given home", [](GraphData& g) { g.given_homes.assign(3, DeviceId(0)); }},
      {"graph outputs", [](GraphData& g) { g.outputs.clear(); }},
      {"order edges",
       [](GraphData& g) {
         g.order_edges.push_back({OpId(0), OpId(2), OrderKind::kWriteAfterRead});
       }},
      {"order", [](GraphData& g) { std::swap(g.topological_order[0], g.topological_order[1]); }},
  };
  for (const auto& [what, change] : changes) {
    Graph graph = Sample();
    change(GraphTestPeer::Data(graph));
    EXPECT_FALSE(SameGraph(Sample(), graph)) << what;
  }
}

}  // namespace
}  // namespace placewright
