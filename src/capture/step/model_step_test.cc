// A recorded step is the step: replayed op by op, in the recorded and in other orders, it gives the
// bits that eager LibTorch gives; and it is the same graph with memory and without.
#include "capture/step/model_step.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "capture/replay/replayer.h"
#include "capture/step/tiny_models.h"
#include "graph/text_form.h"

namespace placewright {
namespace {

constexpr uint64_t kSeed = 7;

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

class RecordedModels : public ::testing::TestWithParam<TinyModel> {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    at::manual_seed(1);
    const TinyModel& c = GetParam();
    Result<ModelStep> step = ModelStep::Build(c.Request(), false);
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
      // Tensors that were not announced would keep the content of the recorded run.
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
      ASSERT_EQ(id.valid(), gradients_[i].defined()) << found_[i].name;
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
  const TinyModel& c = GetParam();
  Result<ModelStep> meta = ModelStep::Build(c.Request(), true);
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

// All that views or writes a parameter is one group, tied ones included, and of that parameter
// alone.
TEST_P(RecordedModels, EveryParameterHasAGroupOfItsOwn) {
  const Graph& graph = recording_->step.graph;
  IdVector<GroupId, StorageId> parameter(graph.group_count());
  IdVector<StorageId, GroupId> group(graph.storage_count());
  const auto place = [&](OpId op, TensorId tensor) {
    const StorageId storage = graph.tensor(tensor).storage;
    if (graph.storage(storage).kind != TensorKind::kParameter) return;
    StorageId& known = parameter[graph.group(op)];
    EXPECT_TRUE(!known.valid() || known == storage) << graph.op(op).name;
    known = storage;
    EXPECT_TRUE(!group[storage].valid() || group[storage] == graph.group(op)) << graph.op(op).name;
    group[storage] = graph.group(op);
  };
  for (const OpId op : graph.ops()) {
    for (const TensorId written : graph.op(op).writes) place(op, written);
    for (const TensorId output : graph.op(op).outputs) place(op, output);
  }
}

// GPT-2's scores are products with the table of its words: one parameter with views and an update
// of its own.
// LibTorch's own messages say nothing of where in the model they come from.
TEST(ModelStep, ErrorsNameTheModule) {
  Result<ModelStep> step =
      ModelStep::Build({"inception-v3", Training::kSgd, {{"batch", 2}, {"size", 75}}}, true);
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const Result<ModelStep::Recording> recording = step.value().Record();
  ASSERT_FALSE(recording.ok());
  EXPECT_NE(recording.error().place.find("module "), std::string::npos)
      << recording.error().ToString();
}

TEST(ModelStep, TiedWeightsAreOneParameterAndOneGroup) {
  Result<ModelStep> step = ModelStep::Build({"gpt-2", Training::kAdam, kTinyGpt2}, true);
  ASSERT_TRUE(step.ok()) << step.error().ToString();
  const Result<ModelStep::Recording> recording = step.value().Record();
  ASSERT_TRUE(recording.ok()) << recording.error().ToString();
  const Graph& graph = recording.value().step.graph;
  StorageId tied;
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
    if (tensor.shape != std::vector<int64_t>{50, 16}) continue;  // vocabulary, hidden
    EXPECT_FALSE(tied.valid()) << tensor.name;
    tied = tensor.storage;
  }
  ASSERT_TRUE(tied.valid());
  std::set<GroupId> groups;
  int views = 0, writes = 0, lookups = 0;
  for (const OpId op : graph.ops()) {
    const auto lies_there = [&](TensorId id) { return graph.tensor(id).storage == tied; };
    const auto& inputs = graph.op(op).inputs;
    const bool reads = std::any_of(inputs.begin(), inputs.end(), lies_there);
    lookups += reads && graph.op(op).type == "aten.embedding.default";
    const bool writer = !graph.op(op).writes.empty() && lies_there(graph.op(op).writes[0]);
    const bool view = reads && graph.op(op).is_view;
    views += view;
    writes += writer;
    if (view || writer) groups.insert(graph.group(op));
  }
  EXPECT_EQ(lookups, 1);
  EXPECT_GE(views, 1);
  EXPECT_GE(writes, 1);
  EXPECT_EQ(groups.size(), 1u);
}

TEST(ModelStep, EveryModelOfTheZooIsHeldToThis) {
  std::set<std::string> here;
  for (const TinyModel& model : TinyModels()) here.insert(model.model);
  for (const ZooEntry& entry : ZooEntries())
    EXPECT_EQ(here.count(entry.facts.name), 1u) << entry.facts.name;
}

TEST(ModelStep, NamesSizesThatContradictEachOther) {
  const std::pair<CaptureRequest, const char*> kContradictions[] = {
      {{"amoebanet-d", Training::kNone, {{"layers", 7}}}, "layers = 7 is not a multiple of 3"},
      {{"transformer", Training::kNone, {{"heads", 7}}},
       "hidden = 512 is not a multiple of heads = 7"},
      {{"moe-transformer", Training::kNone, {{"chosen", 9}}}, "chosen = 9 exceeds experts = 8"},
      {{"bert-base", Training::kNone, {{"hidden", 770}}},
       "hidden = 770 is not a multiple of heads = 12"},
      {{"gpt-2", Training::kNone, {{"sequence", 1025}}},
       "sequence = 1025 exceeds positions = 1024"},
  };
  for (const auto& [request, message] : kContradictions) {
    const Result<ModelStep> step = ModelStep::Build(request, true);
    ASSERT_FALSE(step.ok()) << message;
    EXPECT_EQ(step.error().code, ErrorCode::kField);
    EXPECT_NE(step.error().ToString().find(message), std::string::npos) << step.error().ToString();
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, RecordedModels, ::testing::ValuesIn(TinyModels()),
                         [](const auto& test) {
                           std::string name = ::testing::PrintToString(test.param);
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace placewright
