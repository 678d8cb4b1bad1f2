// What a step in micro-batches needs of memory on one device, by formula.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"
#include "sim/one_device.h"
#include "transforms/accumulate.h"

namespace placewright {
namespace {

constexpr int64_t kBatch = 8, kWidth = 128;  // a sample's activation takes one granule of 512 bytes

// y_i = y_(i-1) w, three times, kept for the backward pass; w is then changed by its gradient, a sum over samples.
class Chain {
 public:
  Chain() {
    builder_.set_batch(kBatch);
    const TensorId w =
        builder_.AddInput("param:w", TensorKind::kParameter, DType::kF32, {kWidth}).Take();
    TensorId y =
        builder_.AddInput("input:x", TensorKind::kInput, DType::kF32, {kBatch, kWidth}).Take();
    std::vector<TensorId> kept;
    for (const char* name : {"y1", "y2", "y3"}) kept.push_back(y = Op(name, "mul.Tensor", {y, w}));
    phase_ = Phase::kBackward;
    TensorId g = Op("g3", "mul.Tensor", {kept[2], kept[2]});
    g = Op("g2", "mul.Tensor", {g, kept[1]});
    g = Op("g1", "mul.Tensor", {g, kept[0]});
    const TensorId gw =
        Op("gw", "sum.dim_IntList", {g}, {Value(Value::List{Value(int64_t{0})})}, {kWidth});
    phase_ = Phase::kOptimizer;
    OpSpec update{.name = "update", .type = "aten.sub_.Tensor", .phase = phase_};
    update.inputs = {w, gw};
    update.args = {Value(InputRef{0}), Value(InputRef{1})};
    update.outputs = {
        {.name = "update", .shape = {kWidth}, .alias = AliasKind::kInPlace, .alias_of = 0}};
    builder_.SetOutputs({builder_.AddOp(std::move(update)).Take()[0]});
  }

  Graph Build() {
    Graph graph = std::move(builder_).Build().Take();
    BatchScaling laws;
    laws.sizes = {kBatch, kBatch + 1, kBatch + 3};
    for (const TensorId id : graph.tensors()) {
      if (graph.tensor(id).shape.size() == 2) laws.dimensions.items.push_back({0, 1});
      laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
    }
    laws.arguments.offsets.assign(graph.op_count() + 1, 0);
    return WithBatchScaling(std::move(graph), std::move(laws)).Take();
  }

 private:
  TensorId Op(const char* name, const char* type, std::vector<TensorId> inputs,
              std::vector<Value> more = {}, std::vector<int64_t> shape = {kBatch, kWidth}) {
    OpSpec op{.name = name, .type = std::string("aten.") + type, .phase = phase_};
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    op.args.insert(op.args.end(), more.begin(), more.end());
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape)}};
    return builder_.AddOp(std::move(op)).Take()[0];
  }

  GraphBuilder builder_{"chain", "aten"};
  Phase phase_ = Phase::kForward;
};

int64_t PeakOf(const Graph& graph) { return SimulateOnOneDevice(graph, nullptr)->peak.count; }

// w (512) and x (8 x 512) are there all along. While g3 is made y1, y2, y3 and it are there, of 8 samples: 16,384.
// Of K micro-batches the four are of 8 / K samples, and from the second on the gradient of those before is there, too.
TEST(AccumulatedMemory, IsThatOfOneMicroBatchAndTheAccumulator) {
  const Graph step = Chain().Build();
  EXPECT_EQ(PeakOf(step), 512 + 4096 + 4 * 4096);
  for (const int64_t micro_batches : {2, 4, 8}) {
    const auto made = WithAccumulation(step, micro_batches).Take();
    EXPECT_EQ(PeakOf(*made), 512 + 4096 + 4 * 4096 / micro_batches + 512) << micro_batches;
  }
}

}  // namespace
}  // namespace placewright
