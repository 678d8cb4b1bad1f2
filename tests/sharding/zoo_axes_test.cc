// The batch axis that rules find is what recordings at several batch sizes have proven: the same
// dimensions of the same tensors, and the same sizes among the arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "capture/step/model_step.h"
#include "capture/step/tiny_models.h"
#include "compile/whole_on_batch.h"
#include "graph/batch/at_batch.h"
#include "sharding/named_axes.h"
#include "sharding/part_call.h"

namespace placewright {
namespace {

constexpr int64_t kBatch = 4, kOther = 3;

class ZooAxes : public ::testing::TestWithParam<TinyModel> {};

// Numbers of a call in their order.
std::vector<Value> NumbersOf(std::vector<Value> args, std::vector<NamedValue> attributes) {
  std::vector<Value> numbers;
  VisitNumbers(args, attributes,
               [&](Value& value, const NumberPlace&) { numbers.push_back(value); });
  return numbers;
}

// At another batch the op's sizes are those that the recordings would have.
void ExpectSizesFollow(const Graph& graph, const NamedAxes& axes, OpId id) {
  const RuleAxisId split = axes.SplitBy(id, axes.batch());
  const OpRule* const rule = axes.rule(id);
  if (!split.valid() || rule->form == PartForm::kWeightedMean ||
      rule->form == PartForm::kBatchNorm || rule->form == PartForm::kBatchNormBackward ||
      rule->reduction_argument >= 0 || !rule->part_type.empty()) {
    return;
  }
  IdVector<RuleAxisId, int64_t> sizes;
  for (const RuleAxis& axis : rule->axes) sizes.push_back(axis.size);
  sizes[split] = sizes[split] / kBatch * kOther;
  const Op& op = graph.op(id);
  PartCall call = CallOnPart(op, *rule, {split}, sizes);
  const std::vector<Value> found = NumbersOf(call.args, call.attributes);
  std::vector<Value> expected = NumbersOf(op.args, op.attributes);
  for (const ArgumentLaw& law : graph.batch_scaling()->arguments[id]) {
    // Other laws are of values, such as the divisor of a mean, which stay those of the whole.
    if (law.slope == 0 || op.type == "aten.div.Scalar") continue;
    Value& number = expected[static_cast<size_t>(law.number)];
    number = *NumberAt(number, law, kBatch, kOther);
  }
  ASSERT_EQ(found, expected) << op.name << " " << op.type;
}

TEST_P(ZooAxes, TheBatchIsWhatRecordingsProve) {
  CaptureRequest request = GetParam().Request();
  request.values["batch"] = static_cast<double>(kBatch);
  const Capture capture = CaptureZooModel(request).Take();
  const Graph& graph = capture.graph;
  ASSERT_NE(graph.batch_scaling(), nullptr);
  ASSERT_EQ(graph.batch_scaling()->reason, "");
  const NamedAxes axes(graph);
  ASSERT_TRUE(axes.batch().valid());
  for (const TensorId id : graph.tensors()) {
    std::map<size_t, int64_t> slopes;
    for (const DimensionLaw& item : graph.batch_scaling()->dimensions[id]) {
      ASSERT_TRUE(item.product.empty());
      slopes[static_cast<size_t>(item.dimension)] = item.slope;
    }
    for (size_t d = 0; d < graph.tensor(id).shape.size(); ++d) {
      int64_t slope = 0;
      for (const AxisId factor : axes.factors(id, d)) {
        if (factor == axes.batch()) slope = graph.tensor(id).shape[d] / kBatch;
      }
      const OpId maker = graph.tensor(id).producer;
      EXPECT_EQ(slope, slopes[d]) << graph.tensor(id).name << " dimension " << d << " of "
                                  << (maker.valid() ? graph.op(maker).type : "input");
    }
  }
  std::map<std::string, int> whole;
  for (const OpId op : graph.ops()) {
    ExpectSizesFollow(graph, axes, op);
    if (axes.Touches(op, axes.batch()) && !axes.SplitBy(op, axes.batch()).valid()) {
      ++whole[std::string(graph.op(op).type)];
    }
  }
  EXPECT_THAT(whole, ::testing::IsEmpty());
}

// Megatron's splits and the others: a product can be cut along every axis that it has.
TEST_P(ZooAxes, ProductsSplitByEveryAxis) {
  const CaptureRequest request = GetParam().Request();
  const Capture capture = CaptureZooModel(request).Take();
  const NamedAxes axes(capture.graph);
  for (const OpId id : capture.graph.ops()) {
    const std::string_view type = capture.graph.op(id).type;
    const bool product = type.starts_with("aten.mm.") || type.starts_with("aten.addmm.") ||
                         type.starts_with("aten.bmm.") || type.starts_with("aten.baddbmm.");
    if (!product) continue;
    ASSERT_NE(axes.rule(id), nullptr) << capture.graph.op(id).name;
    for (const RuleAxis& axis : axes.rule(id)->axes) {
      EXPECT_TRUE(axis.size == 1 || axis.parts == Parts::kSplit || axis.parts == Parts::kSum)
          << capture.graph.op(id).name;
    }
  }
}

void ExpectSplitsAllButOnePercent(const Graph& graph) {
  const NamedAxes axes(graph);
  ASSERT_TRUE(axes.batch().valid());
  const WholeOnBatch whole = FindWholeOnBatch(graph, axes).Take();
  for (const WholeOnBatch::Row& row : whole.rows) {
    EXPECT_EQ(row.macs, 0) << row.type << ": " << row.reason;
  }
  EXPECT_LE(whole.share, 0.01);
}

TEST_P(ZooAxes, TheBatchSplitsAllButOnePercent) {
  CaptureRequest request = GetParam().Request();
  request.values["batch"] = static_cast<double>(kBatch);
  ExpectSplitsAllButOnePercent(CaptureZooModel(request).Take().graph);
}

// At their real sizes: what the batch does not split, the update apart, takes at most 1% of the time on a
// P100, and none of it multiplies.
TEST(ZooBatch, SplitsAllButOnePercent) {
  for (const char* model : {"bert-base", "gpt-2", "gnmt-2", "inception-v3", "moe-transformer",
                            "resnet-50", "rnnlm-2", "transformer-xl-2", "vgg-16", "wavenet-2x18"}) {
    SCOPED_TRACE(model);
    CaptureRequest request;
    request.model = model;
    ExpectSplitsAllButOnePercent(CaptureZooModel(request).Take().graph);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooAxes, ::testing::ValuesIn(TinyModels()),
                         [](const auto& test) { return NameOf(test.param); });

}  // namespace
}  // namespace placewright
