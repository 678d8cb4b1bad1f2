// A recorded step is the step: replayed op by op, in the recorded and in other orders, it gives the
// bits that eager LibTorch gives; and it is the same graph with memory and without.
#include "capture/step/model_step.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <ostream>

#include "base/random.h"
#include "capture/replay/replayer.h"
#include "graph/text_form.h"

namespace placewright {
namespace {

constexpr uint64_t kSeed = 7;

struct Case {
  const char* model;
  Training training;
  std::map<std::string, double> values;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.model << "_" << ToString(c.training);
  }
};

const std::map<std::string, double> kTinyMlp = {
    {"batch", 4}, {"features", 6}, {"hidden", 8}, {"classes", 3}, {"dropout", 0.5}};
const std::map<std::string, double> kTinyBert = {
    {"batch", 2},  {"sequence", 8},   {"layers", 2},      {"hidden", 16},  {"heads", 2},
    {"inner", 32}, {"positions", 12}, {"vocabulary", 50}, {"dropout", 0.3}};
const std::map<std::string, double> kTinyGpt2 = {
    {"batch", 2}, {"sequence", 6},   {"layers", 2},      {"hidden", 16},
    {"heads", 2}, {"positions", 12}, {"vocabulary", 50}, {"dropout", 0.3}};
const std::map<std::string, double> kTinyVgg = {
    {"batch", 2}, {"size", 32}, {"hidden", 16}, {"classes", 5}};
const std::map<std::string, double> kTinyResNet = {
    {"batch", 2}, {"size", 32}, {"width", 4}, {"classes", 5}};
const std::map<std::string, double> kTinyRnnlm = {
    {"batch", 2}, {"steps", 3}, {"hidden", 6}, {"vocabulary", 11}, {"dropout", 0.3}};
const std::map<std::string, double> kTinyTiedRnnlm = {
    {"batch", 2},     {"steps", 3}, {"hidden", 6}, {"vocabulary", 11},
    {"dropout", 0.3}, {"tied", 1},  {"by_step", 0}};
const std::map<std::string, double> kTinyGnmt = {
    {"batch", 2},  {"source_steps", 4}, {"target_steps", 3}, {"layers", 3},
    {"hidden", 6}, {"vocabulary", 11},  {"dropout", 0.3}};
const std::map<std::string, double> kTinyGnmtAtOnce = {
    {"batch", 2},     {"source_steps", 4}, {"target_steps", 3},
    {"layers", 3},    {"hidden", 6},       {"vocabulary", 11},
    {"dropout", 0.3}, {"by_step", 0},      {"shared_embedding", 1}};
const std::map<std::string, double> kTinySeq2Seq = {
    {"batch", 2},  {"source_steps", 4},       {"target_steps", 3},       {"layers", 2},
    {"hidden", 6}, {"source_vocabulary", 11}, {"target_vocabulary", 13}, {"dropout", 0.3}};
const std::map<std::string, double> kTinyTransformerXl = {{"batch", 2},
                                                          {"segments", 3},
                                                          {"segment", 3},
                                                          {"memory", 4},
                                                          {"hidden", 6},
                                                          {"heads", 2},
                                                          {"head_width", 4},
                                                          {"inner", 10},
                                                          {"vocabulary", 11},
                                                          {"dropout", 0.3},
                                                          {"attention_dropout", 0.2}};
// The second classifier needs 17 x 17 pixels in the middle, so 299 x 299 in front.
const std::map<std::string, double> kTinyInception = {
    {"batch", 2}, {"size", 299}, {"width", 0.05}, {"classes", 5}};
const std::map<std::string, double> kTinyTransformer = {
    {"batch", 2}, {"source", 5}, {"target", 6},      {"layers", 2},   {"hidden", 16},
    {"heads", 2}, {"inner", 32}, {"vocabulary", 50}, {"dropout", 0.3}};
// Room for 0.5 x 5 tokens x 2 / 3 experts = 1.7, so 2 choices an expert: 4 of 10 find none.
const std::map<std::string, double> kTinyMoe = {
    {"batch", 2}, {"sequence", 5}, {"layers", 2},      {"hidden", 16},    {"heads", 2},
    {"inner", 8}, {"experts", 3},  {"vocabulary", 50}, {"capacity", 0.5}, {"dropout", 0.3}};
const std::map<std::string, double> kTinyWaveNet = {
    {"batch", 2}, {"samples", 5},  {"stacks", 2}, {"layers", 3}, {"residual", 4},
    {"skip", 6},  {"dilation", 3}, {"head", 7},   {"levels", 8}};
const std::map<std::string, double> kTinyAmoebaNet = {
    {"batch", 2}, {"size", 64}, {"layers", 3}, {"filters", 16}, {"classes", 5}, {"dropout", 0.3}};
std::map<std::string, double> With(std::map<std::string, double> values, const std::string& name,
                                   double value) {
  values[name] = value;
  return values;
}
const Case kCases[] = {
    {"mlp", Training::kAdam, kTinyMlp},
    {"mlp", Training::kSgd, kTinyMlp},
    {"mlp", Training::kNone, kTinyMlp},
    {"bert-base", Training::kAdam, kTinyBert},
    {"bert-base", Training::kNone, kTinyBert},
    {"gpt-2", Training::kAdam, kTinyGpt2},
    {"rnnlm-2", Training::kAdam, kTinyRnnlm},
    {"rnnlm-4", Training::kSgd, kTinyTiedRnnlm},
    {"gnmt-2", Training::kAdam, kTinyGnmt},
    {"gnmt-2", Training::kNone, kTinyGnmt},
    {"gnmt-4", Training::kSgd, kTinyGnmtAtOnce},
    {"seq2seq", Training::kAdam, kTinySeq2Seq},
    {"transformer-xl-2", Training::kAdam, kTinyTransformerXl},
    {"transformer-xl-2", Training::kNone, kTinyTransformerXl},
    {"vgg-16", Training::kSgd, kTinyVgg},
    {"resnet-50", Training::kSgd, kTinyResNet},
    {"resnet-50", Training::kNone, kTinyResNet},
    {"inception-v3", Training::kSgd, kTinyInception},
    {"inception-v3", Training::kNone, With(kTinyInception, "size", 75)},
    {"transformer", Training::kAdam, kTinyTransformer},
    {"transformer", Training::kSgd, With(kTinyTransformer, "tied", 0)},
    {"moe-transformer", Training::kAdam, kTinyMoe},
    {"moe-transformer", Training::kSgd, With(kTinyMoe, "chosen", 1)},
    {"wavenet-2x18", Training::kAdam, kTinyWaveNet},
    {"amoebanet-d", Training::kSgd, kTinyAmoebaNet},
};

std::vector<at::Tensor> Copies(const std::vector<ModelStep::Found>& found) {
  std::vector<at::Tensor> copies;
  for (const ModelStep::Found& item : found) copies.push_back(item.tensor.detach().clone());
  return copies;
}

void Restore(const std::vector<ModelStep::Found>& found, const std::vector<at::Tensor>& copies) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < found.size(); ++i) found[i].tensor.detach().copy_(copies[i]);
}

// A random topological order over data, order edges and the chain of random draws.
std::vector<OpId> RandomOrder(const RecordedStep& step, Random& random) {
  const Graph& graph = step.graph;
  std::vector<std::vector<OpId>> next(graph.op_count());
  IdVector<OpId, int> waiting(graph.op_count(), 0);
  const auto join = [&](OpId from, OpId to) {
    next[from.index()].push_back(to);
    ++waiting[to];
  };
  for (const OpId op : graph.ops()) {
    for (const OpId to : graph.consumers(op)) join(op, to);
  }
  for (const OrderEdge& edge : graph.order_edges()) join(edge.from, edge.to);
  for (size_t i = 1; i < step.random_ops.size(); ++i) {
    join(step.random_ops[i - 1], step.random_ops[i]);
  }
  std::vector<OpId> ready, order;
  for (const OpId op : graph.ops()) {
    if (waiting[op] == 0) ready.push_back(op);
  }
  while (!ready.empty()) {
    std::swap(ready[random.Below(ready.size())], ready.back());
    const OpId op = ready.back();
    ready.pop_back();
    order.push_back(op);
    for (const OpId to : next[op.index()]) {
      if (--waiting[to] == 0) ready.push_back(to);
    }
  }
  EXPECT_EQ(order.size(), graph.op_count());
  return order;
}

class RecordedModels : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    at::manual_seed(1);
    const Case& c = GetParam();
    Result<ModelStep> step = ModelStep::Build({c.model, c.training, c.values}, false);
    ASSERT_TRUE(step.ok()) << step.error().ToString();
    step_ = std::make_unique<ModelStep>(std::move(step).Take());
    // Not the first step: the optimizer's state is no longer zero.
    ASSERT_TRUE(step_->Run().ok());
    found_ = step_->FoundTensors();
    before_ = Copies(found_);
    at::manual_seed(kSeed);
    Result<at::Tensor> loss = step_->Run();
    ASSERT_TRUE(loss.ok()) << loss.error().ToString();
    loss_ = loss.value().clone();
    after_ = Copies(found_);
    for (const NamedTensor& parameter : step_->parameters()) {
      const at::Tensor gradient = parameter.tensor.grad();
      gradients_.push_back(gradient.defined() ? gradient.clone() : at::Tensor());
    }
    Restore(found_, before_);
    at::manual_seed(kSeed);
    Result<ModelStep::Recording> recording = step_->Record();
    ASSERT_TRUE(recording.ok()) << recording.error().ToString();
    recording_ = std::make_unique<ModelStep::Recording>(std::move(recording).Take());
  }

  // Runs the graph on copies of what the step found, and compares everything with eager.
  void ExpectEager(std::span<const OpId> order) {
    const Graph& graph = recording_->step.graph;
    const Result<Replayer> replayer = Replayer::Create(graph);
    ASSERT_TRUE(replayer.ok()) << replayer.error().ToString();
    std::vector<std::pair<TensorId, at::Tensor>> inputs;
    std::vector<at::Tensor> copies;
    for (const auto& [id, tensor] : recording_->step.inputs) {
      // Tensors that nobody announced would keep the content of the recorded run.
      ASSERT_LT(copies.size(), before_.size()) << graph.tensor(id).name;
      copies.push_back(before_[copies.size()].clone());
      inputs.emplace_back(id, copies.back());
    }
    at::manual_seed(kSeed);
    const auto tensors = replayer.value().Run(inputs, order);
    ASSERT_TRUE(tensors.ok()) << tensors.error().ToString();
    EXPECT_TRUE(tensors.value()[graph.outputs()[0]].equal(loss_));
    for (size_t i = 0; i < found_.size(); ++i) {
      EXPECT_TRUE(copies[i].equal(after_[i])) << found_[i].name;
    }
    for (size_t i = 0; i < recording_->gradients.size(); ++i) {
      const TensorId id = recording_->gradients[i];
      if (id.valid()) {
        EXPECT_TRUE(tensors.value()[id].equal(gradients_[i])) << found_[i].name;
      }
    }
  }

  std::unique_ptr<ModelStep> step_;
  std::vector<ModelStep::Found> found_;
  std::vector<at::Tensor> before_, after_, gradients_;
  at::Tensor loss_;
  std::unique_ptr<ModelStep::Recording> recording_;
};

TEST_P(RecordedModels, RecordingChangesNothing) {
  for (size_t i = 0; i < found_.size(); ++i) {
    EXPECT_TRUE(found_[i].tensor.equal(after_[i])) << found_[i].name;
  }
}

TEST_P(RecordedModels, ReplayGivesTheBitsOfEager) {
  std::vector<OpId> order;
  for (const OpId op : recording_->step.graph.ops()) order.push_back(op);
  ExpectEager(order);
}

TEST_P(RecordedModels, SoDoTwentyOtherOrders) {
  Random random(3);
  for (int i = 0; i < 20 && !HasFailure(); ++i) ExpectEager(RandomOrder(recording_->step, random));
}

TEST_P(RecordedModels, WithoutMemoryItIsTheSameGraph) {
  const Case& c = GetParam();
  Result<ModelStep> meta = ModelStep::Build({c.model, c.training, c.values}, true);
  ASSERT_TRUE(meta.ok()) << meta.error().ToString();
  Result<ModelStep::Recording> recording = meta.value().Record();
  ASSERT_TRUE(recording.ok()) << recording.error().ToString();
  const Graph& real = recording_->step.graph;
  const Graph& without = recording.value().step.graph;
  EXPECT_EQ(ToText(without), ToText(real));
  ASSERT_EQ(without.op_count(), real.op_count());
  for (const OpId op : real.ops()) {
    EXPECT_EQ(without.op(op).args, real.op(op).args) << real.op(op).name;
    EXPECT_EQ(without.op(op).attributes, real.op(op).attributes) << real.op(op).name;
  }
}

TEST_P(RecordedModels, NoGroupSpansTwoParameters) {
  const Graph& graph = recording_->step.graph;
  IdVector<GroupId, StorageId> parameter(graph.group_count());
  for (const OpId op : graph.ops()) {
    for (const TensorId written : graph.op(op).writes) {
      const StorageId storage = graph.tensor(written).storage;
      if (graph.storage(storage).kind != TensorKind::kParameter) continue;
      StorageId& known = parameter[graph.group(op)];
      EXPECT_TRUE(!known.valid() || known == storage) << graph.op(op).name;
      known = storage;
    }
  }
}

TEST(ModelStep, NamesSizesThatContradictEachOther) {
  const std::pair<CaptureRequest, const char*> kContradictions[] = {
      {{"amoebanet-d", Training::kNone, {{"layers", 7}}}, "layers = 7 is not a multiple of 3"},
      {{"transformer", Training::kNone, {{"heads", 7}}},
       "hidden = 512 is not a multiple of heads = 7"},
      {{"moe-transformer", Training::kNone, {{"chosen", 9}}}, "chosen = 9 exceeds experts = 8"},
  };
  for (const auto& [request, message] : kContradictions) {
    const Result<ModelStep> step = ModelStep::Build(request, true);
    ASSERT_FALSE(step.ok()) << message;
    EXPECT_EQ(step.error().code, ErrorCode::kNotRecordable);
    EXPECT_NE(step.error().ToString().find(message), std::string::npos) << step.error().ToString();
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, RecordedModels, ::testing::ValuesIn(kCases), [](const auto& test) {
  std::string name = ::testing::PrintToString(test.param);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace placewright
