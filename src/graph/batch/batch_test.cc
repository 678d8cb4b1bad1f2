// Laws of the batch: what three recordings prove, what they refuse, and what the laws say of other
// batches. Steps are built by a function of the batch, as recordings of a model are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "base/random.h"
#include "graph/batch/at_batch.h"
#include "graph/batch/batch_product.h"
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
  EXPECT_EQ(laws.arguments.items, (std::vector<ArgumentLaw>{{0, 1}, {2, 2}, {5, 6}}));
  EXPECT_EQ(laws.dimensions.items, (std::vector<DimensionLaw>{{0, 1}, {0, 6}}));
  EXPECT_EQ(laws.dimensions.offsets, (std::vector<int32_t>{0, 1, 2}));
}

// At batch 10: [10, 3, 19], 7, size = [1, 60], shape [60, 3].
TEST(BatchScaling, TellTheSizesAtAnotherBatch) {
  const Graph graph = Proven(Sized, 4);
  const OpId op(size_t{0});
  const TensorId x(size_t{0}), made(size_t{1});
  EXPECT_THAT(graph.batch_scaling()->dimensions[x], ElementsAre(DimensionLaw{0, 1}));
  EXPECT_THAT(graph.batch_scaling()->dimensions[made], ElementsAre(DimensionLaw{0, 6}));
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
            (std::vector<ArgumentLaw>{
                {0, 6}, {1, 0, {{1, 0, 2}}}, {2, 0, {{1, 0, -2}}}, {3, 0, {{1, 0, -2}}}}));
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
            "nor proportional to a product of such terms, at batch 4, 5 and 11");
  // Half of 4, 8 and 12: a law of multiples of 2 would be one of what is rounded, too.
  EXPECT_NE(Laws(with_number([](int64_t b) { return Int(b / 2); }), {4, 8, 12}).reason, "");
  // The first two agree by chance.
  EXPECT_THAT(Reason(with_number([](int64_t b) { return Int(b < 10 ? 1 : 2); })),
              HasSubstr("is 1, 1 and 2"));
  EXPECT_THAT(Reason(with_number([](int64_t b) { return Int(1 + b * b); })),
              HasSubstr("is 17, 26 and 122"));
  EXPECT_THAT(Reason(with_number([](int64_t b) { return Value(static_cast<double>(1 + b * b)); })),
              HasSubstr("is 17.0, 26.0 and 122.0"));
  EXPECT_THAT(Reason(with_number([](int64_t b) { return b > 4 ? Value() : Int(1); })),
              HasSubstr("is 1, null and null"));
  EXPECT_THAT(Reason(with_number([](int64_t b) { return b > 4 ? Value(1.0) : Int(1); })),
              HasSubstr("is 1, 1.0 and 1.0"));
  EXPECT_THAT(Reason(with_number([](int64_t b) { return Value(b > 4); })),
              HasSubstr("is false, true and true"));
  EXPECT_THAT(Reason([](int64_t b) {
                Call call;
                call.shape = {2, b * b + 1};
                return call;
              }),
              HasSubstr("dimension 1 of output 0 of op op (aten.test.default) is 17, 26 and 122"));
}

// What number follows which product; at every batch it is what the formula gives.
TEST(BatchScaling, NumbersFollowProductsOfLinearTerms) {
  struct ProductCase {
    double (*number)(double n);
    const char* law;
  };
  const ProductCase cases[] = {
      {[](double n) { return 2 / (n - 1); }, "1/(N-1)"},          // unbiased variance
      {[](double n) { return 2 / (48 * n - 1); }, "1/(48*N-1)"},  // the same of 48 numbers a sample
      {[](double n) { return 0.3 / (n - 1); }, "1/(N-1)"},
      {[](double n) { return 1 / (n * n); }, "1/N/N"},  // mean over all pairs
      {[](double n) { return n * n; }, "N*N"},
      {[](double n) { return n * n * n; }, "N*N*N"},                // over all triples
      {[](double n) { return n * (n - 1); }, "N*(N-1)"},            // pairs without the diagonal
      {[](double n) { return 2 * n * (2 * n - 1); }, "N*(2*N-1)"},  // of two views of each sample
      {[](double n) { return 1 / ((n - 1) * (n - 1)); }, "1/(N-1)/(N-1)"},
      {[](double n) { return 1 / (n * (n - 3)); }, "1/N/(N-3)"},  // unbiased HSIC
      {[](double n) { return n / (n - 1); }, "N/(N-1)"},          // Bessel's correction
      {[](double n) { return std::sqrt(n); }, "sqrt(N)"},
      {[](double n) { return 1e-3 / std::sqrt(n - 1); }, "1/sqrt(N-1)"},
      {[](double n) { return std::sqrt(n / (n - 1)); }, "sqrt(N)/sqrt(N-1)"},
  };
  for (const ProductCase& c : cases) {
    const CallAt call = [&](int64_t batch) {
      Call one;
      one.args = {Ref(0), Value(c.number(static_cast<double>(batch)))};
      return one;
    };
    const BatchScaling laws = Laws(call);
    ASSERT_EQ(laws.arguments.items.size(), 1u) << c.law << laws.reason;
    EXPECT_EQ(ToText(laws.arguments.items[0].product), c.law);
    EXPECT_EQ(ParseBatchProduct(c.law), laws.arguments.items[0].product);
    const Graph graph = Proven(call, 8);
    for (const int64_t batch : {4, 5, 13, 64, 1001}) {
      const Args found = ArgumentsAt(graph, OpId(size_t{0}), batch).Take().args;
      EXPECT_DOUBLE_EQ(*found[1].AsDouble(), c.number(static_cast<double>(batch))) << c.law;
    }
  }
  // 2 / 7 at batch 8 is the nearest real number to 2 / 3 at 4, to the last bit.
  EXPECT_EQ(RealAt(std::sqrt(8.0), *ParseBatchProduct("sqrt(N)"), 8, 4), 2.0);
  EXPECT_EQ(RealAt(2.0 / 7, *ParseBatchProduct("1/(N-1)"), 8, 4), 2.0 / 3);
}

// n (n - 1) / 2 pairs: 6, 10 and 55; n^2 / 4 rounded down is none.
TEST(BatchScaling, SizesFollowProductsExactly) {
  const CallAt pairs = [](int64_t batch) {
    Call call;
    call.args = {Ref(0), Int(batch * batch), Int((77 * batch - 1) * (77 * batch - 1))};
    call.shape = {batch * (batch - 1) / 2, batch};
    return call;
  };
  const BatchScaling laws = Laws(pairs);
  EXPECT_EQ(laws.dimensions.items,
            (std::vector<DimensionLaw>{{0, 1}, {0, 0, {{1, 0, 2}, {1, -1, 2}}}, {1, 1}}));
  EXPECT_EQ(laws.arguments.items,
            (std::vector<ArgumentLaw>{{0, 0, {{1, 0, 4}}}, {1, 0, {{77, -1, 4}}}}));
  const Graph graph = Proven(pairs, 4);
  EXPECT_EQ(ShapeAt(graph, TensorId(size_t{1}), 9).Take(), (std::vector<int64_t>{36, 9}));
  EXPECT_EQ(ArgumentsAt(graph, OpId(size_t{0}), 9).Take().args, pairs(9).args);
  EXPECT_THAT(ToText(graph), HasSubstr("slope op[0] N*(N-1)\nslope op[1] 1\nlaw op.args[1] N*N\n"));
  // Of one sample there are no pairs: no such size follows a law that the batch's other sizes do.
  EXPECT_EQ(ShapeAt(graph, TensorId(size_t{1}), 1).error().code, ErrorCode::kBatchScaling);
  EXPECT_NE(Reason([](int64_t b) {
              Call call;
              call.shape = {b * b / 4};
              return call;
            }),
            "");
}

// Rounded sizes of all kinds at all batches: none is taken for a product that it does not follow.
TEST(BatchScaling, RoundedNumbersFollowNoProduct) {
  std::vector<std::function<int64_t(int64_t)>> rounded;
  for (int64_t q = 2; q < 9; ++q) {
    for (int64_t p = 1; p <= q; ++p) {
      for (const int64_t c : {-1, 0, 1, 2}) {
        rounded.push_back([=](int64_t n) { return n * p / q + c; });
        rounded.push_back([=](int64_t n) { return (n * p + q - 1) / q + c; });
      }
    }
  }
  for (const int64_t m : {2, 3, 4, 8, 16, 32, 64}) {
    rounded.push_back([=](int64_t n) { return (n + m - 1) / m * m; });
    rounded.push_back([=](int64_t n) { return n % m + 1; });
    rounded.push_back([=](int64_t n) { return std::min(n, m); });
    rounded.push_back([=](int64_t n) { return n * ((n + m - 1) / m * m); });
  }
  rounded.push_back([](int64_t n) { return static_cast<int64_t>(std::bit_ceil(uint64_t(n))); });
  rounded.push_back([](int64_t n) { return n * std::bit_width(static_cast<uint64_t>(n)); });
  int64_t tried = 0;
  for (const auto& number : rounded) {
    for (int64_t batch = 1; batch <= 64; ++batch) {
      const std::array<int64_t, 3> sizes = {batch, batch + 1, 2 * batch + 3};
      const std::array<int64_t, 3> whole = {number(sizes[0]), number(sizes[1]), number(sizes[2])};
      const bool line = (whole[1] - whole[0]) * (sizes[2] - sizes[0]) ==
                        (whole[2] - whole[0]) * (sizes[1] - sizes[0]);
      if (line) continue;  // which is taken first, right or wrong
      const std::array<double, 3> real = {double(whole[0]), double(whole[1]), double(whole[2])};
      const auto of_integers = ProductThrough(whole, sizes), of_reals = ProductThrough(real, sizes);
      for (int64_t to = 1; to < 99; ++to) {
        if (of_integers) {
          ASSERT_EQ(IntegerAt(whole[0], *of_integers, batch, to).value_or(number(to)), number(to))
              << ToText(*of_integers) << " from " << batch;
        }
        if (of_reals) {
          ASSERT_EQ(RealAt(real[0], *of_reals, batch, to).value_or(double(number(to))),
                    double(number(to)))
              << ToText(*of_reals) << " from " << batch;
        }
      }
      ++tried;
    }
  }
  EXPECT_GT(tried, 10000);
}

// 1 by an integer that was rounded up to a multiple: 1/ceil_128(197 N), 1/ceil_8(7.5 N).
TEST(BatchScaling, ReciprocalsOfRoundedNumbersFollowNoProduct) {
  using Reals = std::array<double, 3>;
  EXPECT_EQ(ProductThrough(Reals{1.0 / 640, 1.0 / 896, 1.0 / 1792}, {3, 4, 9}), std::nullopt);
  EXPECT_EQ(ProductThrough(Reals{1.0 / 24, 1.0 / 40, 1.0 / 104}, {2, 3, 7}), std::nullopt);
  const auto text = [](double a, double b, double c) {
    const auto product = ProductThrough(Reals{a, b, c}, {4, 5, 11});
    return product ? ToText(*product) : "";
  };
  EXPECT_EQ(text(1.0 / 191, 1.0 / 239, 1.0 / 527), "1/(48*N-1)");
  EXPECT_EQ(text(1.0 / 56, 1.0 / 90, 1.0 / 462), "1/N/(2*N-1)");  // pairs of 2 N samples
  EXPECT_EQ(text(1.0 / 24, 1.0 / 32, 1.0 / 80), "1/(N-1)");
}

TEST(BatchScaling, ProductsAreReadAsTheyAreWritten) {
  for (const char* text : {"N", "1/N", "N*N", "1/(N-1)", "N*(2*N-1)/(N-2)", "sqrt(N)",
                           "1/sqrt(3*N+1)", "N*sqrt(N)", "N*N/(N-1)/(N+1)"}) {
    const auto product = ParseBatchProduct(text);
    ASSERT_TRUE(product) << text;
    EXPECT_EQ(ToText(*product), text);
  }
  EXPECT_EQ(ToText(*ParseBatchProduct("1/(N-1)*N")), "N/(N-1)");
  for (const char* text : {"", "1", "2*N", "N+1", "N/N", "(N)*", "(0*N+1)", "(-1*N)", "(2*N-2)",
                           "N-1", "N*1", "n", "sqrt N", "sqrt((N-1))", "(N--1)", "(N+-1)", "1/1/N",
                           "(N-99999999999999999999)", "N*N*N*N*N*N*N*N*N"}) {
    EXPECT_FALSE(ParseBatchProduct(text)) << text;
  }
  // A term of 0, and products beyond 64 and 128 bits.
  EXPECT_EQ(RealAt(0.5, *ParseBatchProduct("1/(N-1)"), 3, 1), std::nullopt);
  EXPECT_EQ(IntegerAt(1, *ParseBatchProduct("N*N*N"), 1, int64_t{1} << 40), std::nullopt);
  EXPECT_DOUBLE_EQ(*RealAt(1, *ParseBatchProduct("N*N*N"), 1, int64_t{1} << 50),
                   std::ldexp(1, 150));
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
  EXPECT_EQ(NumberAt(Value(1e308), {0, 0, {{1, 0, 2}}}, 1, 100), std::nullopt);
  EXPECT_EQ(NumberAt(Value(0.5), {0, 1}, 1, 2), std::nullopt);
  EXPECT_EQ(NumberAt(Value(true), {0, 1}, 1, 2), std::nullopt);
  EXPECT_EQ(NumberAt(Value(0.0), {0, 0, {{1, 0, -2}}}, 1, 2), Value(0.0));
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
  EXPECT_TRUE(refused([](BatchScaling& l) { l.arguments.items[0] = {0, 1, {{1, 0, -2}}}; }));
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
