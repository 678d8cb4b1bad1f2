#include "transforms/accumulate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"
#include "sharding/named_axes.h"
#include "sharding/part_call.h"
#include "transforms/counter_draws.h"
#include "transforms/test_batched_steps.h"
#include "transforms/test_draws.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "p@1 [2 5] = mm(input:x@1, wt)", with numbers behind what is read.
std::string LinesOf(const Graph& graph) {
  std::string text = "\n";
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    std::vector<std::string> made, read;
    for (const TensorId tensor : op.outputs) {
      made.push_back(fmt::format("{} [{}]", graph.tensor(tensor).name,
                                 fmt::join(graph.tensor(tensor).shape, " ")));
    }
    for (const TensorId tensor : op.inputs) read.push_back(graph.tensor(tensor).name);
    for (const Value& value : op.args) {
      if (value.AsInt() != nullptr || (value.AsList() != nullptr && !value.AsList()->empty())) {
        read.push_back(ToString(value));
      }
    }
    const size_t dot = op.type.find('.');
    text +=
        fmt::format("{} = {}({})\n", fmt::join(made, ", "),
                    op.type.substr(dot + 1, op.type.rfind('.') - dot - 1), fmt::join(read, ", "));
  }
  std::vector<std::string> outputs;
  for (const TensorId id : graph.outputs()) outputs.push_back(graph.tensor(id).name);
  return text + fmt::format("-> {}\n", fmt::join(outputs, " "));
}

std::string Accumulated(const Graph& step, int64_t micro_batches) {
  auto made = WithAccumulation(step, micro_batches);
  return made.ok() ? LinesOf(*made.value()) : made.error().ToString();
}

// The derivative of the loss is held until the weight's gradient is there, in each micro-batch its own; the transposed
// weight, which there is once, until the last one's; the gradient that the update reads is the sum.
TEST(Accumulate, EachMicroBatchHoldsItsOwn) {
  BatchedStepWriter step(4);
  const TensorId x = step.Input("input:x", {4, 3}), w = step.Input("param:w", {5, 3});
  const TensorId wt = step.Op("wt", "mul.Scalar", {w}, {5, 3}, {Number(2)});
  const TensorId wtt = step.Op("wtt", "t.default", {wt}, {3, 5}, {}, AliasKind::kView);
  const TensorId p = step.Op("p", "mm.default", {x, wtt}, {4, 5});
  const TensorId loss = step.Op("loss", "sum.default", {p}, {});
  step.Begin(Phase::kBackward);
  const TensorId gp = step.Op("gp", "ones_like.default", {p}, {4, 5});
  const TensorId gpt = step.Op("gpt", "t.default", {gp}, {5, 4}, {}, AliasKind::kView);
  const TensorId gw = step.Op("gw", "mm.default", {gpt, x}, {5, 3});
  step.Begin(Phase::kOptimizer);
  const TensorId half = step.Op("half", "mul.Scalar", {gw}, {5, 3}, {Number(2)});
  step.Op("next", "sub_.Tensor", {w, half}, {5, 3}, {}, AliasKind::kInPlace);
  const auto op = [&](TensorId tensor) { return step.builder().added().tensors[tensor].producer; };
  step.builder().Hold(p, op(gw));
  step.builder().Hold(wt, op(gw));
  step.builder().Hold(gw, OpId(op(half).index() + 1));
  const auto made = WithAccumulation(step.Build({loss}), 2);
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  std::vector<std::string> held;
  for (const TensorId id : made.value()->tensors()) {
    const OpId holder = made.value()->tensor(id).held_until;
    if (!holder.valid()) continue;
    held.push_back(made.value()->tensor(id).name + " by " + made.value()->op(holder).name);
  }
  EXPECT_THAT(held, ElementsAre("wt by gw@2", "p@1 by gw@1", "p@2 by gw@2", "gw.sum@2 by next"));
}

// Of four micro-batches two: what these do is what they do among the four, and the update reads their sum.
TEST(Accumulate, SomeAreWrittenAsIfTheyWereAll) {
  const Graph step = Perceptron(4);
  const auto all = WithAccumulation(step, 4), some = WithAccumulation(step, 4, nullptr, 2);
  ASSERT_TRUE(all.ok() && some.ok());
  const Graph& whole = *all.value();
  const Graph& part = *some.value();
  EXPECT_EQ(part.batch(), whole.batch());
  int of_second = 0;
  for (const OpId id : part.ops()) {
    const OpId same = whole.FindOp(part.op(id).name);
    ASSERT_TRUE(same.valid()) << part.op(id).name;
    of_second += MicroBatchOf(part.op(id)) == 2 ? 1 : 0;
    EXPECT_LE(MicroBatchOf(part.op(id)), 2);
    if (MicroBatchOf(part.op(id)) == 0) continue;
    EXPECT_EQ(part.op(id).args, whole.op(same).args) << part.op(id).name;
  }
  EXPECT_GT(of_second, 5);
  EXPECT_EQ(part.tensor(part.outputs().front()).name, "loss.sum@2");
  EXPECT_EQ(LinesOf(*WithAccumulation(step, 2, nullptr, 3).value()), Accumulated(step, 2));
}

TEST(Accumulate, WhatJoinsAllPartsIsNotOfSome) {
  BatchedStepWriter step(4);
  const TensorId x = step.Input("input:x", {4, 3}), w = step.Input("param:w", {3, 5});
  const Graph graph = step.Build({step.Op("p", "mm.default", {x, w}, {4, 5})});
  EXPECT_TRUE(WithAccumulation(graph, 4).ok());
  const auto some = WithAccumulation(graph, 4, nullptr, 2);
  ASSERT_FALSE(some.ok());
  EXPECT_EQ(some.error().code, ErrorCode::kTransform);
  EXPECT_THAT(some.error().ToString(), HasSubstr("joins parts of all micro-batches"));
}

// All of the first micro-batch, then all of the second; the divisor of the mean is that of all 4 x 5 elements, and
// the transposed weight is made once.
TEST(Accumulate, OfAPerceptron) {
  EXPECT_EQ(Accumulated(Perceptron(4), 2), R"(
wt [3 5] = t(param:w)
input:x@1 [2 3] = slice(input:x, 0, 0, 2)
p@1 [2 5] = mm(input:x@1, wt)
input:y@1 [2 5] = slice(input:y, 0, 0, 2)
loss@1 [] = mse_loss(p@1, input:y@1, 2)
loss@1.mean [] = div(loss@1, 20)
one [] = ones_like(loss@1.mean)
gp@1 [2 5] = mse_loss_backward(one, p@1, input:y@1, 2)
gp@1.mean [2 5] = div(gp@1, 20)
gpt@1 [5 2] = t(gp@1.mean)
gw@1 [5 3] = mm(gpt@1, input:x@1)
input:x@2 [2 3] = slice(input:x, 0, 2, 4)
p@2 [2 5] = mm(input:x@2, wt)
input:y@2 [2 5] = slice(input:y, 0, 2, 4)
loss@2 [] = mse_loss(p@2, input:y@2, 2)
loss@2.mean [] = div(loss@2, 20)
loss.sum@2 [] = add(loss@1.mean, loss@2.mean)
gp@2 [2 5] = mse_loss_backward(one, p@2, input:y@2, 2)
gp@2.mean [2 5] = div(gp@2, 20)
gpt@2 [5 2] = t(gp@2.mean)
gw@2 [5 3] = mm(gpt@2, input:x@2)
gw.sum@2 [5 3] = add(gw@1, gw@2)
next [5 3] = sub_(param:w, gw.sum@2)
-> loss.sum@2 next
)");
}

// Two layers with one weight, whose gradient is the sum of what both make.
Graph TiedStep(int64_t batch) {
  BatchedStepWriter step(batch);
  const TensorId x = step.Input("input:x", {batch, 3}), w = step.Input("param:w", {3, 3});
  step.Enter("layers.0.lin");
  const TensorId y = step.Op("y", "mm.default", {x, w}, {batch, 3});
  step.Enter("layers.1.lin");
  const TensorId z = step.Op("z", "mm.default", {y, w}, {batch, 3});
  step.Begin(Phase::kBackward);
  const TensorId yt = step.Op("yt", "t.default", {y}, {3, batch}, {}, AliasKind::kView);
  const TensorId second = step.Op("second", "mm.default", {yt, z}, {3, 3});
  step.Enter("layers.0.lin");
  const TensorId xt = step.Op("xt", "t.default", {x}, {3, batch}, {}, AliasKind::kView);
  const TensorId first = step.Op("first", "mm.default", {xt, y}, {3, 3});
  step.Enter("");
  const TensorId gw = step.Op("gw", "add.Tensor", {second, first}, {3, 3});
  step.Begin(Phase::kOptimizer);
  step.Op("next", "sub_.Tensor", {w, gw}, {3, 3}, {}, AliasKind::kInPlace);
  Graph graph = step.Build({});
  BatchScaling laws = *graph.batch_scaling();
  laws.dimensions = {};
  for (const TensorId id : graph.tensors()) {
    const std::string& name = graph.tensor(id).name;
    if (name == "input:x" || name == "y" || name == "z") laws.dimensions.items.push_back({0, 1});
    if (name == "xt" || name == "yt") laws.dimensions.items.push_back({1, 1});
    laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
  }
  return WithBatchScaling(std::move(graph), std::move(laws)).Take();
}

// Of two micro-batches what is added: "gw = second.sum@2 first.sum@2; ".
std::string Additions(const Graph& step, const Transform* pipeline) {
  const auto made = WithAccumulation(step, 2, pipeline);
  if (!made.ok()) return made.error().ToString();
  const Graph& graph = *made.value();
  std::string text;
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.type != "aten.add.Tensor") continue;
    text += fmt::format("{} = {} {}; ", op.name, graph.tensor(op.inputs[0]).name,
                        graph.tensor(op.inputs[1]).name);
  }
  return text;
}

// One accumulator, to which the sum of both goes; where the layers are two stages each has its own, and the two are
// added once.
TEST(Accumulate, GradientsOfATiedWeightAreAddedUpByEachStage) {
  const Graph step = TiedStep(4);
  EXPECT_EQ(Additions(step, nullptr),
            "gw@1 = second@1 first@1; gw@2 = second@2 first@2; gw.sum@2 = gw@1 gw@2; ");
  Transform pipeline{.kind = Transform::kPipeline, .schedule = "1f1b", .stages = 2};
  EXPECT_EQ(Additions(step, &pipeline),
            "second.sum@2 = second@1 second@2; first.sum@2 = first@1 first@2; "
            "gw = second.sum@2 first.sum@2; ");
  pipeline.stages = 1;
  EXPECT_EQ(Additions(step, &pipeline),
            "gw@1 = second@1 first@1; gw@2 = second@2 first@2; gw.sum@2 = gw@1 gw@2; ");
  pipeline.stages = 3;
  EXPECT_EQ(WithAccumulation(step, 2, &pipeline).error().code, ErrorCode::kTransform);
}

TEST(Accumulate, CopiesAreInOneGroupAndAccumulatorsInAnother) {
  const auto made = WithAccumulation(Perceptron(6), 3).Take();
  const auto group = [&](const char* name) { return made->group(made->FindOp(name)); };
  EXPECT_EQ(group("p@1"), group("p@3"));
  EXPECT_EQ(group("gp@1.mean"), group("gp@2"));
  EXPECT_EQ(group("gw.sum@2"), group("gw.sum@3"));
  EXPECT_NE(group("gw.sum@2"), group("gw@2"));
  EXPECT_NE(group("gw.sum@2"), group("next"));
}

TEST(Accumulate, NumbersThatDoNotDivideTheBatchAreRefused) {
  const Graph step = Perceptron(4);
  EXPECT_EQ(WithAccumulation(step, 1).Take(), nullptr);
  for (const int64_t number : {-1, 0, 3, 8}) {
    EXPECT_THAT(WithAccumulation(step, number).error().ToString(),
                HasSubstr(fmt::format("{} micro-batches do not divide the batch of 4", number)));
  }
  // One sample each: no axis is left to split.
  const auto single = WithAccumulation(step, 4).Take();
  EXPECT_EQ(single->batch(), 1);
  EXPECT_EQ(single->tensor(single->FindTensor("p@4")).shape[0], 1);
}

TEST(Accumulate, StepsThatProveNoBatchAreRefused) {
  GraphBuilder builder("step", "aten");
  builder.set_batch(4);
  const auto made = WithAccumulation(std::move(builder).Build().Take(), 2);
  EXPECT_THAT(made.error().ToString(), HasSubstr("nothing proves how the step follows it"));
}

// What is proven of the step at 4 samples for one micro-batch of 2, taken at 3, is the step at 6.
TEST(Accumulate, LawsAreThoseOfAMicroBatch) {
  const auto four = WithAccumulation(Perceptron(4), 2).Take();
  const auto six = WithAccumulation(Perceptron(6), 2).Take();
  ASSERT_EQ(four->op_count(), six->op_count());
  EXPECT_EQ(four->batch(), 2);
  for (const TensorId id : four->tensors()) {
    EXPECT_EQ(ShapeAt(*four, id, 3).Take(), six->tensor(id).shape) << four->tensor(id).name;
  }
  for (const OpId id : four->ops()) {
    EXPECT_EQ(ArgumentsAt(*four, id, 3).Take().args, six->op(id).args) << four->op(id).name;
  }
}

// Devices share a micro-batch's samples as they share a batch's.
TEST(Accumulate, TheBatchAxisIsThatOfAMicroBatch) {
  const auto made = WithAccumulation(Perceptron(8), 2).Take();
  const NamedAxes axes(*made);
  ASSERT_TRUE(axes.batch().valid());
  EXPECT_EQ(axes.axis(axes.batch()).size, 4);
  for (const char* name : {"input:x@2", "p@1", "gp@2.mean", "gpt@2", "input:y"}) {
    EXPECT_TRUE(axes.Holds(made->FindTensor(name), axes.batch())) << name;
  }
  EXPECT_EQ(axes.verdict(made->FindOp("gw@2"), axes.batch(), 0), PartVerdict::kSum);
}

// x [4 3] through one op, with a gradient that is a sum over its rows.
std::string ThroughOp(const std::string& type, std::vector<Value> more = {},
                      AliasKind alias = AliasKind::kFresh) {
  BatchedStepWriter step(4);
  const TensorId x = step.Input("input:x", {4, 3});
  const TensorId y = step.Op("y", type, {x}, {4, 3}, std::move(more), alias);
  return Accumulated(step.Build({step.Op("s", "sum.default", {y}, {})}), 2);
}

TEST(Accumulate, OpsThatCannotBeCutAreRefusedByName) {
  EXPECT_EQ(ThroughOp("relu.default").find("micro-batch"), std::string::npos);
  EXPECT_THAT(ThroughOp("unheard_of.default"),
              testing::AllOf(HasSubstr("op y (aten.unheard_of.default)"),
                             HasSubstr("no rule says how a part of them is computed")));
  EXPECT_THAT(ThroughOp("_softmax.default", {Number(0), Value(false)}),
              testing::AllOf(HasSubstr("op y (aten._softmax.default)"),
                             HasSubstr("over all samples of the batch")));
  EXPECT_THAT(ThroughOp("relu_.default", {}, AliasKind::kInPlace),
              HasSubstr("writes \"input:x\" in place, which the step is given"));
  EXPECT_THAT(ThroughOp("bernoulli.p", {Value(0.5)}),
              HasSubstr("it draws from one generator after the other"));
}

// The mean of all samples, taken from each.
TEST(Accumulate, WhatCouplesSamplesIsRefused) {
  BatchedStepWriter step(4);
  const TensorId x = step.Input("input:x", {4, 3}), w = step.Input("param:w", {3});
  const TensorId y = step.Op("y", "mul.Tensor", {x, w}, {4, 3});
  const TensorId mean = step.Op("mean", "mean.dim", {y}, {3}, {Value(Value::List{Number(0)})});
  const TensorId z = step.Op("z", "sub.Tensor", {y, mean}, {4, 3});
  EXPECT_THAT(Accumulated(step.Build({z}), 2),
              testing::AllOf(HasSubstr("op z (aten.sub.Tensor)"), HasSubstr("\"mean\"")));
}

// Of inputs alone such a mean is known before the first micro-batch.
TEST(Accumulate, SumsOverInputsComeBeforeTheFirstMicroBatch) {
  BatchedStepWriter step(4);
  const TensorId x = step.Input("input:x", {4, 3}), w = step.Input("param:w", {3});
  const TensorId mean = step.Op("mean", "mean.dim", {x}, {3}, {Value(Value::List{Number(0)})});
  const TensorId y = step.Op("y", "sub.Tensor", {x, mean}, {4, 3});
  const TensorId z = step.Op("z", "mul.Tensor", {y, w}, {4, 3});
  EXPECT_EQ(Accumulated(step.Build({z}), 2), R"(
mean [3] = mean(input:x, [0])
input:x@1 [2 3] = slice(input:x, 0, 0, 2)
y@1 [2 3] = sub(input:x@1, mean)
z@1 [2 3] = mul(y@1, param:w)
input:x@2 [2 3] = slice(input:x, 0, 2, 4)
y@2 [2 3] = sub(input:x@2, mean)
z@2 [2 3] = mul(y@2, param:w)
z [4 3] = cat(z@1, z@2, [%0, %1], 0)
-> z
)");
}

// A mask that needs all samples at once, as one over their numbers does, follows from no parameter: it is made once, and
// each micro-batch has its interval. What follows from a parameter is refused.
TEST(Accumulate, WhatNeedsAllSamplesOfInputsIsDoneOnce) {
  const auto step_of = [](bool of_parameter) {
    BatchedStepWriter step(4);
    const TensorId x = step.Input("input:x", {4, 3}), w = step.Input("param:w", {3});
    const TensorId y = step.Op("y", "mul.Tensor", {x, w}, {4, 3});
    const TensorId mask =
        step.Op("mask", "cumsum.default", {of_parameter ? y : x}, {4, 3}, {Number(0)});
    return step.Build({step.Op("z", "mul.Tensor", {y, mask}, {4, 3})});
  };
  EXPECT_THAT(Accumulated(step_of(true), 2),
              testing::AllOf(HasSubstr("op mask (aten.cumsum.default)"),
                             HasSubstr("needs all of them at once")));
  EXPECT_EQ(Accumulated(step_of(false), 2), R"(
input:x@1 [2 3] = slice(input:x, 0, 0, 2)
y@1 [2 3] = mul(input:x@1, param:w)
mask [4 3] = cumsum(input:x, 0)
mask@1 [2 3] = slice(mask, 0, 0, 2)
z@1 [2 3] = mul(y@1, mask@1)
input:x@2 [2 3] = slice(input:x, 0, 2, 4)
y@2 [2 3] = mul(input:x@2, param:w)
mask@2 [2 3] = slice(mask, 0, 2, 4)
z@2 [2 3] = mul(y@2, mask@2)
z [4 3] = cat(z@1, z@2, [%0, %1], 0)
-> z
)");
}

// A loss of classes of which some are ignored: the weight of all targets, one loss each of them.
TEST(Accumulate, WeightsAreThoseOfAllTargets) {
  BatchedStepWriter step(4);
  const TensorId x = step.Input("input:x", {4, 7});
  const TensorId targets = step.Input("input:targets", {4}, DType::kI64);
  const auto loss = step.Ops("loss", "nll_loss_forward.default", {x, targets}, {{}, {}},
                             {Value(), Number(1), Number(-100)});
  step.Begin(Phase::kBackward);
  const TensorId one = step.Op("one", "ones_like.default", {loss[0]}, {});
  OpSpec back{.name = "back", .type = "aten.nll_loss_backward.default"};
  back.phase = Phase::kBackward;
  back.inputs = {one, x, targets, loss[1]};
  back.args = {Read(0), Read(1), Read(2), Value(), Number(1), Number(-100), Read(3)};
  back.outputs = {{.name = "back", .shape = {4, 7}}};
  const TensorId gx = step.builder().AddOp(std::move(back)).Take()[0];
  const TensorId sum = step.Op("sum", "sum.default", {gx}, {});
  EXPECT_EQ(Accumulated(step.Build({loss[0], sum}), 2), R"(
loss.counted [4] = ne(input:targets, -100)
loss.weight [] = sum(loss.counted)
input:x@1 [2 7] = slice(input:x, 0, 0, 2)
input:targets@1 [2] = slice(input:targets, 0, 0, 2)
loss@1:0 [], loss@1:1 [] = nll_loss_forward(input:x@1, input:targets@1, 2, -100)
loss@1.mean [] = div(loss@1:0, loss.weight)
one [] = ones_like(loss@1.mean)
back@1 [2 7] = nll_loss_backward(one, input:x@1, input:targets@1, loss.weight, 1, -100)
sum@1 [] = sum(back@1)
input:x@2 [2 7] = slice(input:x, 0, 2, 4)
input:targets@2 [2] = slice(input:targets, 0, 2, 4)
loss@2:0 [], loss@2:1 [] = nll_loss_forward(input:x@2, input:targets@2, 2, -100)
loss@2.mean [] = div(loss@2:0, loss.weight)
loss:0.sum@2 [] = add(loss@1.mean, loss@2.mean)
back@2 [2 7] = nll_loss_backward(one, input:x@2, input:targets@2, loss.weight, 1, -100)
sum@2 [] = sum(back@2)
sum.sum@2 [] = add(sum@1, sum@2)
-> loss:0.sum@2 sum.sum@2
)");
}

// A parameter that is read twice, once transposed: its gradients are added in each micro-batch, and the sum over these
// is the one that is kept. The norm of the sum comes behind.
TEST(Accumulate, SumsGoOnThroughWhatIsLinear) {
  BatchedStepWriter step(4);
  const TensorId x = step.Input("input:x", {4, 3}), y = step.Input("input:y", {4, 3});
  step.Begin(Phase::kBackward);
  const TensorId xt = step.Op("xt", "t.default", {x}, {3, 4}, {}, AliasKind::kView);
  const TensorId a = step.Op("a", "mm.default", {xt, y}, {3, 3});
  const TensorId b = step.Op("b", "t.default", {a}, {3, 3}, {}, AliasKind::kView);
  const TensorId both = step.Op("both", "add.Tensor", {a, b}, {3, 3});
  const TensorId norm = step.Op("norm", "linalg_vector_norm.default", {both}, {});
  const std::string lines = Accumulated(step.Build({norm}), 2);
  EXPECT_THAT(lines, HasSubstr("both@2 [3 3] = add(a@2, b@2)\n"
                               "both.sum@2 [3 3] = add(both@1, both@2)\n"
                               "norm [] = linalg_vector_norm(both.sum@2)\n"));
  EXPECT_EQ(lines.find("a.sum"), std::string::npos);
}

// Rows are added into a table of each micro-batch's own; what was in it counts once.
TEST(Accumulate, TablesAreAddedUp) {
  BatchedStepWriter step(4);
  const TensorId rows = step.Input("input:rows", {4, 3});
  const TensorId index = step.Input("input:index", {4}, DType::kI64);
  step.Begin(Phase::kBackward);
  const TensorId zeros =
      step.Op("zeros", "zeros.default", {}, {9, 3}, {Value(Value::List{Number(9), Number(3)})});
  OpSpec put{.name = "put", .type = "aten.index_put_.default"};
  put.phase = Phase::kBackward;
  put.inputs = {zeros, index, rows};
  put.args = {Read(0), Value(Value::List{Read(1)}), Read(2), Value(true)};
  put.outputs = {{.name = "put", .shape = {9, 3}, .alias = AliasKind::kInPlace, .alias_of = 0}};
  const TensorId table = step.builder().AddOp(std::move(put)).Take()[0];
  step.Begin(Phase::kOptimizer);
  const TensorId neg = step.Op("neg", "neg.default", {table}, {9, 3});
  EXPECT_EQ(Accumulated(step.Build({neg}), 2), R"(
zeros [9 3] = zeros([9, 3])
put@1.into [9 3] = clone(zeros)
input:index@1 [2] = slice(input:index, 0, 0, 2)
input:rows@1 [2 3] = slice(input:rows, 0, 0, 2)
put@1 [9 3] = index_put_(put@1.into, input:index@1, input:rows@1, [%1])
put@2.into [9 3] = zeros_like(zeros)
input:index@2 [2] = slice(input:index, 0, 2, 4)
input:rows@2 [2 3] = slice(input:rows, 0, 2, 4)
put@2 [9 3] = index_put_(put@2.into, input:index@2, input:rows@2, [%1])
put.sum@2 [9 3] = add(put@1, put@2)
neg [9 3] = neg(put.sum@2)
-> neg
)");
}

// Each micro-batch has statistics of its own; running ones are followed in order, and counted.
TEST(Accumulate, BatchNormsFollowEveryMicroBatch) {
  BatchedStepWriter step(4);
  const TensorId x = step.Input("input:x", {4, 3, 2, 2});
  const TensorId count = step.Input("buffer:norm.num_batches_tracked", {}, DType::kI64);
  const TensorId w = step.Input("param:norm.weight", {3}), b = step.Input("param:norm.bias", {3});
  const TensorId mean = step.Input("buffer:norm.running_mean", {3});
  const TensorId var = step.Input("buffer:norm.running_var", {3});
  step.Op("count", "add_.Tensor", {count}, {}, {Number(1)}, AliasKind::kInPlace, DType::kI64);
  OpSpec norm{.name = "norm", .type = "aten.native_batch_norm.default"};
  norm.inputs = {x, w, b, mean, var};
  norm.args = {Read(0), Read(1), Read(2), Read(3), Read(4), Value(true), Value(0.1), Value(1e-5)};
  norm.outputs = {{.name = "norm:0", .shape = {4, 3, 2, 2}},
                  {.name = "norm:1", .shape = {3}},
                  {.name = "norm:2", .shape = {3}}};
  norm.writes = {3, 4};
  const auto y = step.builder().AddOp(std::move(norm)).Take();
  step.Begin(Phase::kBackward);
  OpSpec back{.name = "back", .type = "aten.native_batch_norm_backward.default"};
  back.phase = Phase::kBackward;
  back.inputs = {y[0], x, w, mean, var, y[1], y[2]};
  back.args = {Read(0),     Read(1),
               Read(2),     Read(3),
               Read(4),     Read(5),
               Read(6),     Value(true),
               Value(1e-5), Value(Value::List{Value(true), Value(true), Value(true)})};
  back.outputs = {{.name = "back:0", .shape = {4, 3, 2, 2}},
                  {.name = "back:1", .shape = {3}},
                  {.name = "back:2", .shape = {3}}};
  const auto g = step.builder().AddOp(std::move(back)).Take();
  const std::string lines = Accumulated(step.Build({g[1]}), 2);
  for (const char* line :
       {"count@1 [] = add_(buffer:norm.num_batches_tracked, 1)",
        "count@2 [] = add_(buffer:norm.num_batches_tracked, 1)",
        "norm@2:0 [2 3 2 2], norm@2:1 [3], norm@2:2 [3] = native_batch_norm(input:x@2, "
        "param:norm.weight, param:norm.bias, buffer:norm.running_mean, buffer:norm.running_var)",
        "native_batch_norm_backward(norm@2:0, input:x@2, param:norm.weight, "
        "buffer:norm.running_mean, buffer:norm.running_var, norm@2:1, norm@2:2",
        "back:1.sum@2 [3] = add(back@1:1, back@2:1)"}) {
    EXPECT_THAT(lines, HasSubstr(line));
  }
}

// Draw i of samples 3, 4 and 5 of 6; a device that has the second of them states it as sample 4 of 6.
TEST(Accumulate, DrawsAreSlicesOfTheWholeDraw) {
  const Graph counted = UseCounterBasedDraws(DrawingStep(), 5).Take();
  const auto made = WithAccumulation(counted, 2).Take();
  const Op& mask = made->op(made->FindOp("mask@2"));
  const auto place = [](std::vector<int64_t> numbers) {
    Value::List list;
    for (const int64_t number : numbers) list.push_back(Value(number));
    return Value(list);
  };
  EXPECT_EQ(mask.args.back(), place({0, 1, 6, 3, 6}));
  EXPECT_EQ(made->op(made->FindOp("drop@1")).args.back(), place({0, 1, 6, 0, 3}));
  const NamedAxes axes(*made);
  const OpId id = made->FindOp("mask@2");
  const OpRule& rule = *axes.rule(id);
  const RuleAxisId split = axes.SplitBy(id, axes.batch());
  ASSERT_TRUE(split.valid());
  const PlaceArgument at = PlaceArgumentOf(rule, split);
  PartCall call{std::string(mask.type), mask.args, {}};
  at.Set({{{0, 1, 3, 4}, {1, 2}}}, call);
  EXPECT_EQ(call.args.back(), place({0, 1, 6, 4, 5}));
  // Of the second dimension, too.
  call.args = mask.args;
  at.Set({{{0, 1, 3, 4}, {1, 2}}, {{1, 1, 4, 1}, {2, 4}}}, call);
  EXPECT_EQ(call.args.back(), place({0, 1, 6, 4, 5, 1, 1, 4, 2, 4}));
}

}  // namespace
}  // namespace placewright
