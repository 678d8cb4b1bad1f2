// Laws of the batch: what three recordings prove, what they refuse, and what the laws say of other
// batches. Steps are built by a function of the batch, as recordings of a model are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <limits>

#include "base/random.h"
#include "graph/batch/at_batch.h"
#include "graph/batch/proof.h"
#include "graph/test_graphs.h"
#include "graph/text_form.h"

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Args = std::vector<Value>;

// A step of one op on an input of [batch, 6].
struct Call {
  Args args = {Ref(0)};
  std::vector<NamedValue> attributes = {};
  std::vector<int64_t> shape = {4};
  std::string type = "aten.test.default";
  AliasKind alias = AliasKind::kFresh;
};

GraphBuilder Step(int64_t batch, const Call& call) {
  GraphBuilder builder("step", "aten");
  builder.set_batch(batch);
  const TensorId x = builder.AddInput("x", TensorKind::kInput, DType::kF32, {batch, 6}).Take();
  OpSpec spec;
  spec.name = "op";
  spec.type = call.type;
  spec.inputs = {x};
  spec.args = call.args;
  spec.attributes = call.attributes;
  OutputSpec output;
  output.name = "op";
  output.shape = call.shape;
  output.alias = call.alias;
  output.alias_of = call.alias == AliasKind::kFresh ? -1 : 0;
  spec.outputs = {output};
  builder.SetOutputs(builder.AddOp(std::move(spec)).Take());
  return builder;
}

using CallAt = std::function<Call(int64_t batch)>;

BatchScaling Laws(const CallAt& call, std::array<int64_t, 3> sizes = {4, 5, 11}) {
  const Graph graph = Step(sizes[0], call(sizes[0])).Build().Take();
  return DeriveBatchScaling(graph, Step(sizes[1], call(sizes[1])), Step(sizes[2], call(sizes[2])));
}

Graph Proven(const CallAt& call, int64_t batch) {
  Result<Graph> graph = WithBatchScaling(Step(batch, call(batch)).Build().Take(),
                                         Laws(call, {batch, batch + 1, 2 * batch + 3}));
  EXPECT_TRUE(graph.ok()) << graph.error().ToString();
  return graph.Take();
}

Call Sized(int64_t batch) {
  Call call;
  call.args = {Ref(0), Ints({batch, 3, 2 * batch - 1}), Int(7)};
  call.attributes = {{"size", Ints({1, 6 * batch})}};
  call.shape = {6 * batch, 3};
  return call;
}

// At batch 4: args %0, [4, 3, 7], 7 and size = [1, 24]. Numbers in order: 4, 3, 7, 7, 1, 24; those
// at 0, 2 and 5 grow by 1, 2 and 6 a sample. Tensors: x [4, 6] by 1, op [24, 3] by 6.
TEST(BatchScaling, AreFoundWhereverNumbersLie) {
  const BatchScaling laws = Laws(Sized);
  EXPECT_EQ(laws.reason, "");
  EXPECT_EQ(laws.arguments.items, (std::vector<ArgumentLaw>{{0, SizeScaling::kLinear, 1},
                                                            {2, SizeScaling::kLinear, 2},
                                                            {5, SizeScaling::kLinear, 6}}));
  EXPECT_EQ(laws.dimensions.items, (std::vector<DimensionSlope>{{0, 1}, {0, 6}}));
  EXPECT_EQ(laws.dimensions.offsets, (std::vector<int32_t>{0, 1, 2}));
}

// At batch 10: [10, 3, 19], 7, size = [1, 60], shape [60, 3].
TEST(BatchScaling, TellTheSizesAtAnotherBatch) {
  const Graph graph = Proven(Sized, 4);
  const OpId op(size_t{0});
  const TensorId x(size_t{0}), made(size_t{1});
  EXPECT_THAT(graph.batch_scaling()->dimensions[x], ElementsAre(DimensionSlope{0, 1}));
  EXPECT_THAT(graph.batch_scaling()->dimensions[made], ElementsAre(DimensionSlope{0, 6}));
  EXPECT_EQ(ShapeAt(graph, made, 10).Take(), (std::vector<int64_t>{60, 3}));
  const OpArguments arguments = ArgumentsAt(graph, op, 10).Take();
  EXPECT_EQ(arguments.args, (Args{Ref(0), Ints({10, 3, 19}), Int(7)}));
  EXPECT_EQ(arguments.attributes, (std::vector<NamedValue>{{"size", Ints({1, 60})}}));
  EXPECT_EQ(ArgumentsAt(graph, op, 4).Take().args, graph.op(op).args);
  EXPECT_THAT(ToText(graph), HasSubstr("batch 4, 5, 11: scales\nslope x[0] 1\nslope op[0] 6\n"
                                       "law op.args[1][0] linear 1\nlaw op.args[1][2] linear 2\n"
                                       "law op.kwargs.size[1] linear 6\n"));
}

// Real numbers. 24.0 = 6 * 4 is whole: linear. 0.1 * 4 = 0.4: proportional. 1 / (4 * 49) is a
// reciprocal, given to the last bit at every batch.
TEST(BatchScaling, RealNumbersAreLinearProportionalOrInverse) {
  const CallAt call = [](int64_t batch) {
    Call c;
    const auto b = static_cast<double>(batch);
    c.args = {Ref(0),         Value(6 * b),
              Value(0.1 * b), Value(1 / (b * 49)),
              Value(0.3 / b), Value(std::numeric_limits<double>::quiet_NaN())};
    return c;
  };
  EXPECT_EQ(Laws(call).arguments.items,
            (std::vector<ArgumentLaw>{{0, SizeScaling::kLinear, 6},
                                      {1, SizeScaling::kProportional, 0},
                                      {2, SizeScaling::kInverse, 0},
                                      {3, SizeScaling::kInverse, 0}}));
  const Graph graph = Proven(call, 4);
  for (const int64_t batch : {1, 3, 7, 64, 1001}) {
    const Args found = ArgumentsAt(graph, OpId(size_t{0}), batch).Take().args;
    const Args expected = call(batch).args;
    EXPECT_EQ(found[1], expected[1]) << batch;
    EXPECT_DOUBLE_EQ(*found[2].AsDouble(), *expected[2].AsDouble()) << batch;
    EXPECT_EQ(found[3], expected[3]) << batch;
    EXPECT_DOUBLE_EQ(*found[4].AsDouble(), *expected[4].AsDouble()) << batch;
  }
}

std::string Reason(const CallAt& call) { return Laws(call).reason; }

// ceil(4 / 2) = 2, ceil(5 / 2) = 3, ceil(11 / 2) = 6: a line through the first two gives 9 at 11.
TEST(BatchScaling, WhatFollowsNoLawIsNamedWithItsValues) {
  const auto with_number = [](auto number) {
    return [number](int64_t batch) {
      Call call;
      call.args = {Ref(0), Value(Args{Int(3), number(batch)})};
      return call;
    };
  };
  EXPECT_EQ(Reason(with_number([](int64_t b) { return Int((b + 1) / 2); })),
            "args[1][1] of op op (aten.test.default) is 2, 3 and 6, neither linear in the batch "
            "nor proportional to it, at "
            "batch 4, 5 and 11");
  // The first two agree by chance.
  EXPECT_THAT(Reason(with_number([](int64_t b) { return Int(b < 10 ? 1 : 2); })),
              HasSubstr("is 1, 1 and 2"));
  EXPECT_THAT(Reason(with_number([](int64_t b) { return Int(b * b); })),
              HasSubstr("is 16, 25 and 121"));
  EXPECT_THAT(Reason(with_number([](int64_t b) { return Value(static_cast<double>(b * b)); })),
              HasSubstr("is 16.0, 25.0 and 121.0"));
  EXPECT_THAT(Reason(with_number([](int64_t b) { return b > 4 ? Value() : Int(1); })),
              HasSubstr("is 1, null and null"));
  EXPECT_THAT(Reason(with_number([](int64_t b) { return b > 4 ? Value(1.0) : Int(1); })),
              HasSubstr("is 1, 1.0 and 1.0"));
  EXPECT_THAT(Reason(with_number([](int64_t b) { return Value(b > 4); })),
              HasSubstr("is false, true and true"));
  EXPECT_THAT(Reason([](int64_t b) {
                Call call;
                call.shape = {2, b * b};
                return call;
              }),
              HasSubstr("dimension 1 of output 0 of op op (aten.test.default) is 16, 25 and 121"));
}

TEST(BatchScaling, AnotherCallIsNoStepOfTheSameModel) {
  const auto from = [](void (*change)(Call&)) {
    return [change](int64_t batch) {
      Call call;
      if (batch == 11) change(call);
      return call;
    };
  };
  EXPECT_THAT(Reason(from([](Call& c) { c.type = "aten.other.default"; })),
              HasSubstr("op op (aten.test.default) is op (aten.other.default) at batch 11"));
  EXPECT_THAT(Reason(from([](Call& c) { c.args.push_back(Int(1)); })), HasSubstr("more arguments"));
  EXPECT_THAT(Reason(from([](Call& c) {
                c.attributes = {{"dim", Int(1)}};
              })),
              HasSubstr("more arguments"));
  EXPECT_THAT(Reason(from([](Call& c) { c.alias = AliasKind::kView; })),
              HasSubstr("has other outputs"));
  EXPECT_THAT(Reason(from([](Call& c) {
                c.shape = {4, 1};
              })),
              HasSubstr("the number of dimensions of output 0"));
}

TEST(BatchScaling, OnlyAProvenStepIsTakenToAnotherBatch) {
  Graph plain = Step(4, Sized(4)).Build().Take();
  const Status unproven = CheckBatchAllowed(plain.batch_scaling(), 4, 7);
  EXPECT_EQ(unproven.error().code, ErrorCode::kBatchScaling);
  EXPECT_THAT(unproven.error().ToString(), HasSubstr("the step is valid for batch 4 only"));
  EXPECT_THAT(unproven.error().remedy, HasSubstr("--batch 7"));
  EXPECT_TRUE(CheckBatchAllowed(plain.batch_scaling(), 4, 4).ok());
  const Status unstated = CheckBatchAllowed(nullptr, 0, 7);
  EXPECT_EQ(unstated.error().message,
            "it cannot be taken at batch 7: the file does not state the batch size of the recorded "
            "step");
  EXPECT_THAT(unstated.error().remedy, HasSubstr("export(..., batch=7)"));
  BatchScaling laws;
  laws.reason = "op pool differs";
  const Graph refused = WithBatchScaling(std::move(plain), laws).Take();
  EXPECT_THAT(ShapeAt(refused, TensorId(size_t{0}), 7).error().message,
              HasSubstr("op pool differs"));
  EXPECT_EQ(ArgumentsAt(refused, OpId(size_t{0}), 7).error().code, ErrorCode::kBatchScaling);
}

// 2 b - 9 is 3 at batch 6, and below 0 at batch 4.
TEST(BatchScaling, SizesOutOfRangeAreErrors) {
  const Graph graph = Proven(
      [](int64_t batch) {
        Call call;
        call.shape = {2 * batch - 9};
        return call;
      },
      6);
  EXPECT_EQ(ShapeAt(graph, TensorId(size_t{1}), 5).Take(), (std::vector<int64_t>{1}));
  EXPECT_EQ(ShapeAt(graph, TensorId(size_t{1}), 4).error().code, ErrorCode::kBatchScaling);
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(LinearAt(5, 2, 6, 8), 9);
  EXPECT_EQ(LinearAt(0, kMax, 1, 2), kMax);
  EXPECT_EQ(LinearAt(1, kMax, 1, 2), std::nullopt);
  EXPECT_EQ(LinearAt(-kMax, -kMax, 1, kMax), std::nullopt);
  EXPECT_EQ(NumberAt(Value(1e308), {0, SizeScaling::kProportional, 0}, 1, 100), std::nullopt);
  EXPECT_EQ(NumberAt(Value(0.5), {0, SizeScaling::kLinear, 1}, 1, 2), std::nullopt);
  EXPECT_EQ(NumberAt(Value(true), {0, SizeScaling::kLinear, 1}, 1, 2), std::nullopt);
  EXPECT_EQ(NumberAt(Value(0.0), {0, SizeScaling::kInverse, 0}, 1, 2), Value(0.0));
}

TEST(BatchScaling, LawsOfAnotherGraphAreRefused) {
  const auto refused = [](void (*change)(BatchScaling&)) {
    BatchScaling laws = Laws(Sized);
    change(laws);
    const Result<Graph> graph = WithBatchScaling(Step(4, Sized(4)).Build().Take(), std::move(laws));
    return !graph.ok() && graph.error().code == ErrorCode::kGraphInconsistent;
  };
  EXPECT_FALSE(refused([](BatchScaling&) {}));
  EXPECT_TRUE(refused([](BatchScaling& l) { l.dimensions.offsets.push_back(2); }));
  EXPECT_TRUE(refused([](BatchScaling& l) { l.dimensions.items[0].dimension = 2; }));
  EXPECT_TRUE(refused([](BatchScaling& l) { l.dimensions.items[0].slope = 0; }));
  EXPECT_TRUE(refused([](BatchScaling& l) { l.arguments.items[2].number = 6; }));
  EXPECT_TRUE(refused([](BatchScaling& l) { l.arguments.items[1].number = 0; }));
  EXPECT_TRUE(refused([](BatchScaling& l) { l.arguments.items[0].slope = 0; }));
  EXPECT_TRUE(refused([](BatchScaling& l) {
    l.arguments.items[0] = {0, SizeScaling::kInverse, 0};
  }));
}

// Random lines through every number of a step: the laws are those, and give every batch.
TEST(BatchScaling, GiveEveryBatchOfRandomSteps) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    const CallAt call = [seed](int64_t batch) {
      Random random(seed);
      const auto line = [&] {
        const auto slope = static_cast<int64_t>(random.Below(2000)) - 1000;
        return (random.Below(2) == 0 ? slope * batch : 0) + static_cast<int64_t>(random.Below(50));
      };
      Call c;
      c.args = {Ref(0)};
      for (uint64_t i = random.Below(5); i > 0; --i) {
        if (random.Below(2) == 0) {
          c.args.push_back(Ints({line(), line()}));
        } else {
          c.args.push_back(Int(line()));
        }
        if (random.Below(3) == 0) c.args.push_back(Value(static_cast<double>(line())));
      }
      c.shape = {static_cast<int64_t>(random.Below(9)) * batch, 3};
      return c;
    };
    Random random(seed + 1);
    const auto batch = static_cast<int64_t>(1 + random.Below(300));
    const auto other = static_cast<int64_t>(1 + random.Below(300));
    const Graph graph = Proven(call, batch);
    const auto arguments = ArgumentsAt(graph, OpId(size_t{0}), other);
    RC_ASSERT(arguments.ok());
    RC_ASSERT(arguments.value().args == call(other).args);
    RC_ASSERT(ShapeAt(graph, TensorId(size_t{1}), other).Take() == call(other).shape);
  }));
}

}  // namespace
}  // namespace placewright
