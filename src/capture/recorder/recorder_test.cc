// What becomes of views, writes and values, and what is refused.
#include "capture/recorder/recorder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aten/failure.h"
#include "capture/meta/meta_run.h"

namespace placewright {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Records `body` as a forward pass on the input "x" of 2 x 3 numbers; it returns the output.
Result<RecordedStep> Record(const std::function<at::Tensor(const at::Tensor&)>& body,
                            bool on_meta = false) {
  at::Tensor x;
  const auto make = [&] { x = at::ones({2, 3}); };
  EXPECT_TRUE(on_meta ? OnMeta(make).ok() : (make(), true));
  Recorder recorder({.name = "test", .batch = 2, .on_meta = on_meta});
  PW_RETURN_IF_ERROR(recorder.AddInput("input:x", TensorKind::kInput, x));
  at::Tensor output;
  PW_RETURN_IF_ERROR(recorder.Run(Phase::kForward, [&] { output = body(x); }));
  return std::move(recorder).Finish({output});
}

std::vector<std::string> Types(const Graph& graph) {
  std::vector<std::string> types;
  for (const OpId op : graph.ops()) types.emplace_back(graph.op(op).type);
  return types;
}

// y = x^T writes nothing and lies in x; y.mul_ writes x, so that the sum reads its second version.
TEST(Recorder, ViewsShareStoragesAndWritesMakeVersions) {
  const auto step = Record([](const at::Tensor& x) {
    x.t().mul_(2);
    return x.sum();
  });
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const Graph& graph = step.value().graph;
  EXPECT_THAT(Types(graph), ElementsAre("aten.t.default", "aten.mul_.Scalar", "aten.sum.default"));
  EXPECT_TRUE(graph.op(OpId(0)).is_view);
  EXPECT_EQ(graph.op(OpId(1)).writes, std::vector<TensorId>{TensorId(1)});
  EXPECT_EQ(graph.tensor(TensorId(1)).storage, graph.tensor(TensorId(0)).storage);
  EXPECT_THAT(graph.tensor(TensorId(1)).strides, ElementsAre(1, 3));
  EXPECT_EQ(graph.op(OpId(2)).inputs, std::vector<TensorId>{TensorId(0)});
  EXPECT_THAT(graph.op(OpId(2)).input_versions, ElementsAre(1));
  EXPECT_EQ(graph.storage(StorageId(0)).kind, TensorKind::kBuffer);
}

// The transpose of the transpose lies where x lies. What reads it reads that view, and what writes
// x writes x.
TEST(Recorder, AViewThatLiesWhereItsBaseLiesIsAnotherTensor) {
  const auto step = Record([](const at::Tensor& x) {
    const at::Tensor sum = x.t().t().sum();
    at::relu_(const_cast<at::Tensor&>(x));
    return sum;
  });
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const Graph& graph = step.value().graph;
  ASSERT_THAT(Types(graph), ElementsAre("aten.t.default", "aten.t.default", "aten.sum.default",
                                        "aten.relu_.default"));
  EXPECT_EQ(graph.tensor(graph.op(OpId(2)).inputs[0]).name, "t_1");
  EXPECT_EQ(graph.tensor(graph.op(OpId(3)).inputs[0]).name, "input:x");
}

TEST(Recorder, LeavesOutWhatNothingReads) {
  const auto step = Record([](const at::Tensor& x) {
    at::zeros({5});
    return at::relu(x) + at::ones({3});
  });
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  EXPECT_EQ(step.value().graph.op_count(), 3u);
}

// Arguments that have their default are left out, as PyTorch's own recorders do.
TEST(Recorder, ArgumentsAreThoseThatWereMeant) {
  const auto step = Record([](const at::Tensor& x) {
    const at::Tensor copy = x.to(at::kDouble);
    return at::add(copy, at::cat({x, x}).slice(0, 0, 2), -0.5);
  });
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const Graph& graph = step.value().graph;
  ASSERT_THAT(Types(graph), ElementsAre("aten._to_copy.default", "aten.cat.default",
                                        "aten.slice.Tensor", "aten.add.Tensor"));
  const Op& copy = graph.op(OpId(0));
  EXPECT_THAT(copy.args, ElementsAre(Value(InputRef{0})));
  EXPECT_THAT(copy.attributes,
              ElementsAre(NamedValue{"dtype", Value(std::string("torch.float64"))}));
  const Op& cat = graph.op(OpId(1));
  EXPECT_THAT(cat.args, ElementsAre(Value(Value::List{Value(InputRef{0}), Value(InputRef{1})})));
  EXPECT_THAT(graph.op(OpId(2)).args, ElementsAre(Value(InputRef{0}), Value(int64_t{0}),
                                                  Value(int64_t{0}), Value(int64_t{2})));
  EXPECT_THAT(graph.op(OpId(3)).attributes, ElementsAre(NamedValue{"alpha", Value(-0.5)}));
}

TEST(Recorder, RandomDrawsAreAChain) {
  const auto step = Record(
      [](const at::Tensor& x) { return at::dropout(x, 0.5, true) + at::dropout(x, 0.5, true); });
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  std::vector<std::string> draws;
  for (const OpId op : step.value().random_ops) draws.push_back(step.value().graph.op(op).name);
  EXPECT_THAT(draws, ElementsAre("bernoulli_", "bernoulli__1"));
}

// d(x / 2)/dx divides by a tensor that LibTorch makes of the 2 without an operator.
TEST(Recorder, NumbersOfTheHostAreNumbers) {
  const at::Tensor x = at::ones({2, 3}).requires_grad_();
  Recorder recorder({.name = "test"});
  ASSERT_TRUE(recorder.AddInput("param:x", TensorKind::kParameter, x).ok());
  at::Tensor loss;
  ASSERT_TRUE(recorder.Run(Phase::kForward, [&] { loss = (x / 2).sum(); }).ok());
  ASSERT_TRUE(recorder.Run(Phase::kBackward, [&] { loss.backward(); }).ok());
  const Result<RecordedStep> step = std::move(recorder).Finish({loss, x.grad()});
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const Graph& graph = step.value().graph;
  const Op& last = graph.op(OpId(graph.op_count() - 1));
  // LibTorch 2.x has an operator for numbers.
  EXPECT_THAT(last.type, AnyOf("aten.div.Tensor", "aten.div.Scalar"));
  EXPECT_THAT(last.args, ElementsAre(Value(InputRef{0}), Value(int64_t{2})));
  EXPECT_EQ(step.value().inputs.size(), 1u);
}

TEST(Recorder, DetachIsItsArgument) {
  const auto step = Record([](const at::Tensor& x) { return at::relu(x.detach()); });
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  EXPECT_THAT(Types(step.value().graph), ElementsAre("aten.relu.default"));
  EXPECT_EQ(step.value().graph.op(OpId(0)).inputs, std::vector<TensorId>{TensorId(0)});
}

void ExpectError(const Result<RecordedStep>& step, ErrorCode code, const std::string& text) {
  ASSERT_FALSE(step.ok());
  EXPECT_EQ(step.error().code, code) << step.error().ToString();
  EXPECT_THAT(step.error().ToString(), HasSubstr(text));
  EXPECT_FALSE(step.error().Remedy().empty());
}

TEST(Recorder, RejectsStepsThatDependOnData) {
  const auto by_value = [](const at::Tensor& x) {
    return x.sum().item<float>() > 0 ? at::relu(x) : x;
  };
  const auto by_size = [](const at::Tensor& x) { return at::nonzero(x); };
  for (const bool on_meta : {false, true}) {
    ExpectError(Record(by_value, on_meta), ErrorCode::kDataDependent, "_local_scalar_dense");
    ExpectError(Record(by_size, on_meta), ErrorCode::kDataDependent, "nonzero");
  }
}

// Masks alone make a size that depends on data.
TEST(Recorder, NumbersMayIndex) {
  const auto by_numbers = [](const at::Tensor& x) {
    return at::index(x, {at::full({4}, 1, at::kLong), at::full({1}, 2, at::kLong)});
  };
  const auto by_mask = [](const at::Tensor& x) { return at::index(x, {at::gt(x, 0.0)}); };
  for (const bool on_meta : {false, true}) {
    const auto step = Record(by_numbers, on_meta);
    ASSERT_TRUE(step.ok()) << step.error().ToString();
    const Graph& graph = step.value().graph;
    EXPECT_THAT(Types(graph),
                ElementsAre("aten.full.default", "aten.full.default", "aten.index.Tensor"));
    EXPECT_THAT(graph.tensor(graph.outputs()[0]).shape, ElementsAre(4));
    ExpectError(Record(by_mask, on_meta), ErrorCode::kDataDependent, "aten::index");
  }
}

TEST(Recorder, OneHotHasTheSizeThatItIsGiven) {
  const auto classes = [](int64_t count) {
    return [count](const at::Tensor& x) { return at::one_hot(x.to(at::kLong), count); };
  };
  for (const bool on_meta : {false, true}) {
    const auto step = Record(classes(5), on_meta);
    ASSERT_TRUE(step.ok()) << step.error().ToString();
    const Graph& graph = step.value().graph;
    EXPECT_THAT(graph.tensor(graph.outputs()[0]).shape, ElementsAre(2, 3, 5));
    ExpectError(Record(classes(-1), on_meta), ErrorCode::kDataDependent, "one_hot");
  }
  const at::Tensor plain = at::one_hot(at::arange(3), -1);
  EXPECT_TRUE(plain.equal(at::eye(3, at::kLong)));
}

TEST(Recorder, RejectsOperatorsOfWhichNoShapeIsKnown) {
  const std::string stub = "DispatchStub: unsupported device typemeta";  // as LibTorch 1.13 puts it
  EXPECT_EQ(ErrorFromLibTorch(stub).code, ErrorCode::kNoShapeFunction);
  ExpectError(Record([](const at::Tensor& x) { return at::histc(x); }, true),
              ErrorCode::kNoShapeFunction, "aten::histc");
}

TEST(Recorder, RejectsDevicesThatAreNotThere) {
  ExpectError(Record([](const at::Tensor& x) { return x.to(at::Device("xla:3")); }),
              ErrorCode::kMissingRuntime, "xla:3");
}

TEST(Recorder, SaysWhatLibTorchSays) {
  ExpectError(Record([](const at::Tensor& x) { return at::mm(x, x); }, true),
              ErrorCode::kNotRecordable, "mat1 and mat2");
}

TEST(Recorder, RejectsTwoInputsInOneMemory) {
  const at::Tensor x = at::ones({2, 3});
  Recorder recorder({.name = "test"});
  ASSERT_TRUE(recorder.AddInput("param:a", TensorKind::kParameter, x).ok());
  const Status status = recorder.AddInput("param:b", TensorKind::kParameter, x.view({6}));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kNotRecordable);
  EXPECT_THAT(status.error().message, HasSubstr("\"param:a\" and \"param:b\""));
}

}  // namespace
}  // namespace placewright
