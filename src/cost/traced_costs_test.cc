#include "cost/traced_costs.h"

#include <gtest/gtest.h>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

// A chain of products with weights, as a reader of ONNX makes it; widths of all layers.
class ProductChain {
 public:
  explicit ProductChain(int64_t width) : builder_("net", "onnx"), width_(width) {
    x_ = builder_.AddInput("x", TensorKind::kInput, DType::kF32, {8, width}).Take();
  }
  ProductChain& Add(const std::string& type, const std::string& name, int64_t width) {
    const TensorId w =
        builder_.AddInput(name + ".w", TensorKind::kParameter, DType::kF32, {width_, width}).Take();
    OpSpec op;
    op.name = name;
    op.type = type;
    op.inputs = {x_, w};
    if (type == "Gemm") {
      op.inputs.push_back(
          builder_.AddInput(name + ".b", TensorKind::kParameter, DType::kF32, {width}).Take());
    }
    op.outputs = {{name + ".y", DType::kF32, {8, width}, OutputSpec::Alias::kFresh}};
    x_ = builder_.AddOp(std::move(op)).Take().front();
    width_ = width;
    return *this;
  }
  Graph Take() { return std::move(builder_).Build().Take(); }

 private:
  GraphBuilder builder_;
  TensorId x_;
  int64_t width_;
};

TracedOp Ran(const std::string& type, const std::string& name,
             std::vector<std::vector<int64_t>> inputs, std::vector<int64_t> output, int64_t time) {
  TracedOp op{type, name, {}, Nanos(time)};
  for (std::vector<int64_t>& shape : inputs) op.inputs.push_back({DType::kF32, std::move(shape)});
  if (!output.empty()) op.outputs = {{DType::kF32, std::move(output)}};
  return op;
}

OpTrace Profile(std::vector<TracedOp> ops) {
  OpTrace trace;
  trace.source = "ONNX Runtime";
  trace.leaves_weights_out = true;
  trace.ops = std::move(ops);
  return trace;
}

// Gemm(x, w, bias) of which the profile names x and the bias.
TEST(TracedCosts, PackedWeightsAreMissingAmongTheInputs) {
  const Graph graph = ProductChain(784).Add("Gemm", "fc0", 128).Add("Gemm", "fc1", 10).Take();
  const OpTrace trace = Profile({Ran("Gemm", "Gemm_0", {{8, 784}, {128}}, {8, 128}, 50),
                                 Ran("Gemm", "Gemm_1", {{8, 128}, {10}}, {8, 10}, 7)});
  const TraceMatch match = MatchTrace(graph, trace);
  ASSERT_EQ(match.rows.size(), 2U);
  EXPECT_EQ(match.used, Nanos(57));
  EXPECT_EQ(match.rows[0].time, Nanos(7));  // by signature: f32[8,128] before f32[8,784]
  EXPECT_EQ(match.rows[1].time, Nanos(50));
  // A trace of PyTorch lists all inputs: what lacks one is another op.
  OpTrace all = trace;
  all.leaves_weights_out = false;
  EXPECT_TRUE(MatchTrace(graph, all).rows.empty());
}

// [8, 64] is the input of two products, which differ by their outputs, and without these by their names.
TEST(TracedCosts, AmbiguousRunsAreNotTaken) {
  const Graph graph =
      ProductChain(64).Add("MatMul", "a", 32).Add("MatMul", "b", 64).Add("MatMul", "c", 10).Take();
  const auto matched = [&](std::vector<TracedOp> ops) {
    return MatchTrace(graph, Profile(std::move(ops))).rows.size();
  };
  EXPECT_EQ(
      matched({Ran("MatMul", "", {{8, 64}}, {8, 32}, 5), Ran("MatMul", "", {{8, 64}}, {8, 10}, 3),
               Ran("MatMul", "", {{8, 32}}, {8, 64}, 4)}),
      3U);
  EXPECT_EQ(matched({Ran("MatMul", "", {{8, 64}}, {}, 5), Ran("MatMul", "", {{8, 64}}, {}, 3),
                     Ran("MatMul", "", {{8, 32}}, {}, 4)}),
            1U);
  EXPECT_EQ(matched({Ran("MatMul", "a", {{8, 64}}, {}, 5), Ran("MatMul", "c", {{8, 64}}, {}, 3)}),
            2U);
  // Only weights may be missing, and not all that is left may be something else.
  EXPECT_EQ(matched({Ran("MatMul", "a", {{64, 32}}, {8, 32}, 5)}), 0U);
  EXPECT_EQ(matched({Ran("MatMul", "a", {{8, 63}}, {8, 32}, 5)}), 0U);
  EXPECT_EQ(matched({Ran("MatMul", "a", {{8, 64}}, {8, 31}, 5)}), 0U);
}

// A weight of the shape of the input: the one that is left is the input.
TEST(TracedCosts, SquareWeightsAreTriedBothWays) {
  const Graph graph = ProductChain(8).Add("Gemm", "square", 8).Take();
  EXPECT_EQ(MatchTrace(graph, Profile({Ran("Gemm", "", {{8, 8}, {8}}, {8, 8}, 5)})).rows.size(),
            1U);
  EXPECT_EQ(MatchTrace(graph, Profile({Ran("Gemm", "", {{8, 8}}, {8, 8}, 5)})).rows.size(), 1U);
  EXPECT_EQ(MatchTrace(graph, Profile({Ran("Gemm", "", {{8}}, {8, 8}, 5)})).rows.size(), 0U);
}

}  // namespace
}  // namespace placewright
