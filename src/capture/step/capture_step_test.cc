// Which models scale with their batch, and what is said of those that do not.
#include "capture/step/capture_step.h"

#include <ATen/ops/mul.h>
#include <ATen/ops/randn.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "graph/batch/at_batch.h"

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Body = std::function<at::Tensor(const at::Tensor& x, int64_t batch)>;

// An input of [batch, 6], and what `body` makes of it.
class OneInput : public Model {
 public:
  OneInput(int64_t batch, Body body) : batch_(batch), body_(std::move(body)) {}
  std::vector<NamedTensor> MakeInputs() const override {
    const std::vector<int64_t> shape = {batch_, 6};
    return {{"x", at::randn(shape)}};
  }
  Tensors Forward(const Tensors& inputs) override { return {body_(inputs[0], batch_)}; }
  at::Tensor Loss(const Tensors& outputs, const Tensors&) override { return outputs[0]; }

 private:
  int64_t batch_;
  Body body_;
};

class OneInputSource : public StepSource {
 public:
  OneInputSource(int64_t batch, Body body) : batch_(batch), body_(std::move(body)) {}
  const std::string& name() const override { return name_; }
  int64_t batch() const override { return batch_; }
  std::shared_ptr<Model> Build(int64_t batch) const override {
    return std::make_shared<OneInput>(batch > 0 ? batch : 1, body_);
  }

 private:
  std::string name_ = "one-input";
  int64_t batch_;
  Body body_;
};

Graph RecordStep(int64_t batch, Body body, bool prove = true) {
  Result<Capture> capture =
      CaptureStep(OneInputSource(batch, std::move(body)), Training::kNone, prove);
  EXPECT_TRUE(capture.ok()) << capture.error().ToString();
  return std::move(capture.value().graph);
}

at::Tensor Flat(const at::Tensor& x, int64_t batch) {
  const std::vector<int64_t> shape = {6 * batch};
  return x.view(shape);
}

// view [6 b]: 6 a sample. Sizes b, b + 1, 2 b + 3.
TEST(CaptureStep, ProvesHowTheStepScales) {
  const Graph graph = RecordStep(4, Flat);
  const BatchScaling* laws = graph.batch_scaling();
  ASSERT_NE(laws, nullptr);
  EXPECT_EQ(laws->reason, "");
  EXPECT_THAT(laws->sizes, ElementsAre(4, 5, 11));
  EXPECT_EQ(laws->smaller, 1);
  const OpId view = graph.FindOp("view");
  EXPECT_EQ(ArgumentsAt(graph, view, 9).Take().args[1], Value(Value::List{Value(int64_t{54})}));
  EXPECT_THAT(laws->dimensions[graph.FindTensor("view")], ElementsAre(DimensionLaw{0, 6}));
  EXPECT_THAT(laws->dimensions[graph.FindTensor("input:x")], ElementsAre(DimensionLaw{0, 1}));
  EXPECT_EQ(RecordStep(4, Flat, false).batch_scaling(), nullptr);
  // Nothing to vary.
  EXPECT_EQ(RecordStep(0, Flat).batch_scaling(), nullptr);
}

// Room for every second sample, rounded up: 2, 3 and 6 at batch 4, 5 and 11.
TEST(CaptureStep, NamesTheArgumentThatDoesNotScale) {
  const Graph graph = RecordStep(
      4, [](const at::Tensor& x, int64_t batch) { return x.narrow(0, 0, (batch + 1) / 2); });
  EXPECT_THAT(graph.batch_scaling()->reason,
              HasSubstr("of op slice (aten.slice.Tensor) is 2, 3 and 6, neither linear in the "
                        "batch nor proportional to a product of such terms, at batch 4, 5 and 11"));
  EXPECT_EQ(CheckBatchAllowed(graph.batch_scaling(), 4, 8).error().code, ErrorCode::kBatchScaling);
}

// It refuses odd batches, so that 2 b and 3 b are the other sizes.
TEST(CaptureStep, TakesMultiplesWhereAModelNeedsThem) {
  const Body even = [](const at::Tensor& x, int64_t batch) {
    TORCH_CHECK(batch % 2 == 0, "batch = ", batch, " is odd");
    return Flat(x, batch);
  };
  const Graph graph = RecordStep(4, even);
  EXPECT_EQ(graph.batch_scaling()->reason, "");
  EXPECT_THAT(graph.batch_scaling()->sizes, ElementsAre(4, 8, 12));
  EXPECT_EQ(graph.batch_scaling()->smaller, 2);  // it refuses 1
  // Halves grow by no integer a sample.
  const Graph halves = RecordStep(4, [&](const at::Tensor& x, int64_t batch) {
    const std::vector<int64_t> shape = {2, batch / 2, 6};
    return even(x, batch).view(shape);
  });
  EXPECT_THAT(halves.batch_scaling()->reason,
              HasSubstr("args[1][1] of op view_1 (aten.view.default) is 2, 4 and 6"));
}

// The smaller size is 1, else half; below them, and where they differ, nothing is proven.
TEST(CaptureStep, ProvesASmallerSize) {
  const auto smaller = [](int64_t batch, int64_t other_below) {
    const Graph graph = RecordStep(batch, [&](const at::Tensor& x, int64_t at) {
      return Flat(at < other_below ? at::mul(x, 2.0) : x, at);
    });
    EXPECT_EQ(graph.batch_scaling()->reason, "") << batch;
    return graph.batch_scaling()->smaller;
  };
  EXPECT_EQ(smaller(8, 0), 1);
  EXPECT_EQ(smaller(8, 2), 4);
  EXPECT_EQ(smaller(8, 4), 4);
  EXPECT_EQ(smaller(8, 5), 0);
  EXPECT_EQ(smaller(3, 2), 2);
  EXPECT_EQ(smaller(2, 2), 0);
  EXPECT_EQ(smaller(1, 0), 0);
}

// Another law than at larger sizes: room for at least three samples.
TEST(CaptureStep, ASmallerSizeMustFollowTheLaws) {
  const Graph graph = RecordStep(4, [](const at::Tensor& x, int64_t batch) {
    const std::vector<int64_t> shape = {std::max<int64_t>(batch, 3), 6};
    return at::mul(x.sum(), 2.0).expand(shape);
  });
  EXPECT_EQ(graph.batch_scaling()->reason, "");
  EXPECT_EQ(graph.batch_scaling()->smaller, 0);
}

TEST(CaptureStep, SaysThatAModelHasOneSizeAlone) {
  const Body fixed = [](const at::Tensor& x, int64_t batch) {
    TORCH_CHECK(batch == 4, "made for 4");
    return at::mul(x, 2.0);
  };
  const Graph graph = RecordStep(4, fixed);
  EXPECT_THAT(graph.batch_scaling()->reason, HasSubstr("it cannot be recorded at batch 5: "));
  EXPECT_THAT(graph.batch_scaling()->reason, HasSubstr("made for 4"));
}

// The mean's 1 / (6 b), as a factor.
TEST(CaptureStep, FollowsRealNumbers) {
  const Body scaled = [](const at::Tensor& x, int64_t batch) {
    return at::mul(x, 1.0 / static_cast<double>(6 * batch));
  };
  const Graph graph = RecordStep(4, scaled);
  EXPECT_EQ(graph.batch_scaling()->reason, "");
  EXPECT_EQ(ArgumentsAt(graph, graph.FindOp("mul"), 7).Take().args[1], Value(1.0 / 42.0));
}

}  // namespace
}  // namespace placewright
