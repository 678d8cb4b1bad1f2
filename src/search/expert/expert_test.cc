#include "search/expert/expert.h"

#include <gmock/gmock.h>

#include "search/evaluation/group_placement.h"
#include "search/evaluation/plan_result.h"
#include "search/expert/roles.h"
#include "search/test_problems.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

TEST(Roles, AreRecognisedByComponentsOfModulePaths) {
  EXPECT_TRUE(IsRecurrentModule("m.encoder.rnn_layers.3"));
  EXPECT_TRUE(IsRecurrentModule("/decoder/LSTM_2/cell"));
  EXPECT_FALSE(IsRecurrentModule("m.encoder.layers.3"));
  EXPECT_TRUE(IsAttentionModule("decoder/att_rnn/attn"));
  EXPECT_TRUE(IsAttentionModule("m.bert.encoder.layer.0.attention.self"));
  EXPECT_FALSE(IsAttentionModule("m.decoder.att_rnn.rnn"));
}

TEST(Roles, LayersAreReadFromParameterNames) {
  EXPECT_EQ(LayerOfParameter("param:m.rnn.weight_ih_l0"), 0);
  EXPECT_EQ(LayerOfParameter("param:m.rnn.bias_hh_l12_reverse"), 12);
  EXPECT_EQ(LayerOfParameter("param:m.rnn.weight_loss"), -1);
  EXPECT_EQ(LayerOfParameter("param:m.fc.weight"), -1);
  EXPECT_EQ(LayerOfParameter("x_l4y"), -1);
}

TestOp Forward(const std::string& name, const std::string& input, const std::string& module) {
  return {name, std::vector<int64_t>(6, 10), {input}, {64}, "", Phase::kForward, module};
}

TestSpec Translator(size_t devices) {
  TestSpec spec;
  spec.capacity.assign(devices, 1 << 20);
  spec.inputs = {{"x", 64, TensorKind::kInput}};
  // The sums are residual: of the container of the layers, and without parameters.
  spec.ops = {Forward("embed", "x", "m.encoder.embedder"),
              Forward("e0", "embed", "m.encoder.rnn_layers.0"),
              Forward("e1", "e0", "m.encoder.rnn_layers.1"),
              Forward("sum", "e1", "m.encoder.rnn_layers"),
              Forward("e2", "sum", "m.encoder.rnn_layers.2"),
              Forward("d0", "e2", "m.decoder.att_rnn.rnn"),
              Forward("att", "d0", "m.decoder.att_rnn.attn"),
              Forward("d1", "att", "m.decoder.rnn_layers.0"),
              Forward("last_sum", "d1", "m.decoder.rnn_layers"),
              Forward("logits", "last_sum", "m.decoder.classifier")};
  for (const char* layer : {"e0", "e1", "e2", "d0", "d1"}) {
    spec.inputs.push_back({"param:" + std::string(layer), 64});
    for (TestOp& op : spec.ops) {
      if (op.name == layer) op.reads.push_back("param:" + op.name);
    }
  }
  for (TestOp& op : spec.ops) op.time_ns.assign(devices, 10);
  return spec;
}

std::vector<int> DevicesOf(const TestSpec& spec) {
  const auto test = MakeTestProblem(spec);
  PlannerOptions options;
  options.started = Clock::now();
  const auto result = ExpertPlanner().Plan(test->problem, *test->evaluator, options);
  EXPECT_TRUE(result.ok());
  std::vector<int> devices;
  for (DeviceId device : PlacementOf(test->problem, result.value().plan))
    devices.push_back(device.value());
  return devices;
}

TEST(Expert, DealsLayersAndKeepsAttentionAndSoftmaxApart) {
  // Six devices: layers go round over the first four, attention has d4, softmax d5. The embedding
  // lies beside the encoder's first layer, sums beside the layer before them; decoder layers count
  // from 0 again.
  EXPECT_THAT(DevicesOf(Translator(6)), ElementsAre(0, 0, 1, 1, 2, 0, 4, 1, 1, 5));
  // Four: layers over two.
  EXPECT_THAT(DevicesOf(Translator(4)), ElementsAre(0, 0, 1, 1, 0, 0, 2, 1, 1, 3));
  // Two: layers over both, attention and softmax on the last.
  EXPECT_THAT(DevicesOf(Translator(2)), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1, 1, 1));
}

TEST(Expert, LeavesCpusOutBesideGpusHoweverFast) {
  // Of six equally fast devices the last two are CPUs: dealt as to four.
  TestSpec spec = Translator(6);
  spec.cpus = 2;
  EXPECT_THAT(DevicesOf(spec), ElementsAre(0, 0, 1, 1, 0, 0, 2, 1, 1, 3));
  // CPUs that are so much faster that the GPUs are no accelerators change nothing.
  for (TestOp& op : spec.ops) op.time_ns = {100, 100, 100, 100, 1, 1};
  EXPECT_THAT(DevicesOf(spec), ElementsAre(0, 0, 1, 1, 0, 0, 2, 1, 1, 3));
  // What no GPU can run goes to the first CPU.
  spec.ops[0].time_ns = {-1, -1, -1, -1, 1, 1};
  EXPECT_THAT(DevicesOf(spec), ElementsAre(4, 0, 1, 1, 0, 0, 2, 1, 1, 3));
  // CPUs alone are dealt to.
  spec = Translator(4);
  spec.cpus = 4;
  EXPECT_THAT(DevicesOf(spec), ElementsAre(0, 0, 1, 1, 0, 0, 2, 1, 1, 3));
}

TEST(Expert, SplitsOneRecurrentModuleByItsParameters) {
  TestSpec spec;
  spec.capacity.assign(4, 1 << 20);
  spec.inputs = {{"x", 64, TensorKind::kInput},
                 {"param:m.rnn.weight_ih_l0", 64},
                 {"param:m.rnn.weight_ih_l1", 64}};
  spec.ops = {Forward("a", "x", "m.rnn"), Forward("b", "a", "m.rnn"), Forward("c", "b", "m.rnn"),
              Forward("d", "c", "m.rnn"), Forward("out", "d", "m.decoder")};
  spec.ops[0].reads.push_back("param:m.rnn.weight_ih_l0");
  spec.ops[2].reads.push_back("param:m.rnn.weight_ih_l1");
  for (TestOp& op : spec.ops) op.time_ns.resize(4);
  // b depends on layer 0 alone, d on layer 1; the linear decoder is the softmax.
  EXPECT_THAT(DevicesOf(spec), ElementsAre(0, 0, 1, 1, 3));
}

TEST(Expert, PutsEverythingElseOnOneDeviceEvenIfItDoesNotFit) {
  TestSpec spec;
  spec.capacity = {1024, 1 << 20};
  spec.inputs = {{"w", 2048}};
  spec.ops = {{"a", {5, 5}, {"w"}, {64}, "", Phase::kForward, "m.layer1"},
              {"b", {5, 5}, {"a"}, {64}, "", Phase::kForward, "m.layer2"}};
  const auto test = MakeTestProblem(spec);
  PlannerOptions options;
  options.started = Clock::now();
  const auto result = ExpertPlanner().Plan(test->problem, *test->evaluator, options);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result.value().feasible);
  EXPECT_THAT(PlacementOf(test->problem, result.value().plan).raw(),
              ElementsAre(DeviceId(0), DeviceId(0)));
}

TEST(Expert, TakesAGivenPlacement) {
  const auto test = MakeTestProblem(Translator(4));
  PlannerOptions options;
  options.started = Clock::now();
  const ExpertPlanner expert(Placement(test->graph.op_count(), DeviceId(3)));
  const auto result = expert.Plan(test->problem, *test->evaluator, options);
  ASSERT_TRUE(result.ok());
  for (DeviceId device : PlacementOf(test->problem, result.value().plan))
    EXPECT_EQ(device, DeviceId(3));
}

}  // namespace
}  // namespace placewright
