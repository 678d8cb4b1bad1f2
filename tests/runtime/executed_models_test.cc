// A placed step is the step: executed over four simulated devices by random placements, every model of
// the zoo gives the bits that eager LibTorch gives. Of models that differ in depth alone the shallow ones
// are executed often, the deep ones a few times.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "capture/step/model_step.h"
#include "capture/step/tiny_models.h"
#include "runtime/executor/executor.h"
#include "runtime/inputs/seeded_inputs.h"
#include "simulated_devices.h"

namespace placewright {
namespace {

constexpr uint64_t kSeed = 7;
constexpr size_t kDevices = 4;
// Random ones of a model.
int Placements(bool deep) {
  const char* const stated = std::getenv("PLACEWRIGHT_PLACEMENTS");
  return stated != nullptr ? std::atoi(stated) : deep ? 1 : 3;
}

std::vector<at::Tensor> Copies(const std::vector<ModelStep::Found>& found) {
  std::vector<at::Tensor> copies;
  for (const ModelStep::Found& item : found) copies.push_back(item.tensor.detach().clone());
  return copies;
}

std::vector<std::unique_ptr<RuntimeDevice>> OneCpu() {
  std::vector<std::unique_ptr<RuntimeDevice>> devices;
  devices.push_back(MakeCpuDevice({"cpu:0", 1, 0}));
  return devices;
}

// Three eager steps of a model and their recording, made once for all tests of the model.
struct EagerSteps {
  std::vector<at::Tensor> before, after, losses, gradients;  // behind the first step, and the third
  std::unique_ptr<ModelStep::Recording> recording;
};

void RunEagerly(const TinyModel& model, EagerSteps& eager) {
  at::manual_seed(1);
  Result<ModelStep> built = ModelStep::Build(model.Request(), false);
  ASSERT_TRUE(built.ok()) << built.error().ToString();
  ModelStep step = std::move(built).Take();
  // Not the first step: the optimizer's state is no longer zero.
  ASSERT_TRUE(step.Run().ok());
  const std::vector<ModelStep::Found> found = step.FoundTensors();
  eager.before = Copies(found);
  at::manual_seed(kSeed);
  for (int i = 0; i < 2; ++i) {
    Result<at::Tensor> loss = step.Run();
    ASSERT_TRUE(loss.ok()) << loss.error().ToString();
    eager.losses.push_back(loss.value().clone());
  }
  eager.after = Copies(found);
  for (const NamedTensor& parameter : step.parameters()) {
    const at::Tensor gradient = parameter.tensor.grad();
    if (gradient.defined()) eager.gradients.push_back(gradient.clone());
  }
  {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < found.size(); ++i) found[i].tensor.detach().copy_(eager.before[i]);
  }
  at::manual_seed(kSeed);
  Result<ModelStep::Recording> recording = step.Record();
  ASSERT_TRUE(recording.ok()) << recording.error().ToString();
  eager.recording = std::make_unique<ModelStep::Recording>(std::move(recording).Take());
}

const EagerSteps& EagerStepsOf(const TinyModel& model) {
  static std::map<std::string, EagerSteps> of_models;
  EagerSteps& eager = of_models[NameOf(model)];
  if (!eager.recording) {
    eager = {};
    RunEagerly(model, eager);
  }
  return eager;
}

class ExecutedModels : public ::testing::TestWithParam<TinyModel> {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    eager_ = &EagerStepsOf(GetParam());
    if (HasFatalFailure()) return;
    for (const TensorId gradient : eager_->recording->gradients) {
      if (gradient.valid()) options_.keep.push_back(gradient);
    }
    ASSERT_EQ(options_.keep.size(), eager_->gradients.size());
  }

  // Another model of the zoo is the same with fewer layers.
  static bool IsDeep() {
    static const std::set<std::string> deep = {
        "bert-large",       "gnmt-8",           "resnet-101",        "rnnlm-8",
        "transformer-xl-4", "transformer-xl-8", "transformer-xl-12", "vgg-19"};
    return deep.contains(GetParam().model);
  }

  const Graph& graph() const { return eager_->recording->step.graph; }

  // Two steps give the losses, gradients and states of eager, bit for bit.
  void ExpectEager(const Placement& placement,
                   std::vector<std::unique_ptr<RuntimeDevice>> devices) {
    Result<std::unique_ptr<Executor>> created =
        Executor::Create(graph(), placement, std::move(devices), options_);
    ASSERT_TRUE(created.ok()) << created.error().ToString();
    Executor& executor = *created.value();
    size_t next = 0;
    for (const auto& [id, tensor] : eager_->recording->step.inputs) {
      ASSERT_LT(next, eager_->before.size()) << graph().tensor(id).name;
      const Status set = executor.SetInput(id, eager_->before[next++]);
      ASSERT_TRUE(set.ok()) << set.error().ToString();
    }
    at::manual_seed(kSeed);
    for (const at::Tensor& loss : eager_->losses) {
      const Status ran = executor.Step();
      ASSERT_TRUE(ran.ok()) << ran.error().ToString();
      EXPECT_TRUE(executor.Output(0).equal(loss));
    }
    next = 0;
    for (const auto& [id, tensor] : eager_->recording->step.inputs) {
      const at::Tensor now = executor.Input(id);
      EXPECT_TRUE(!now.defined() || now.equal(eager_->after[next])) << graph().tensor(id).name;
      ++next;
    }
    for (size_t i = 0; i < eager_->gradients.size(); ++i) {
      EXPECT_TRUE(executor.Output(graph().outputs().size() + i).equal(eager_->gradients[i]));
    }
  }

  const EagerSteps* eager_ = nullptr;
  ExecutorOptions options_;
};

TEST_P(ExecutedModels, OneCpuGivesTheBitsOfEager) {
  ExpectEager(Placement(graph().op_count(), DeviceId(0)), OneCpu());
}

TEST_P(ExecutedModels, SoDoRandomPlacementsOverFourDevices) {
  Random random(3);
  for (int i = 0; i < Placements(IsDeep()) && !HasFailure(); ++i) {
    ExpectEager(RandomPlacement(graph(), kDevices, random), SimulatedDevices(kDevices));
  }
}

// Seeded values are legal ones: many steps of them on two devices end with numbers.
TEST_P(ExecutedModels, SeededInputsAreLegal) {
  Random random(11);
  auto executor =
      Executor::Create(graph(), RandomPlacement(graph(), 2, random), SimulatedDevices(2)).Take();
  const auto inputs = SeededInputs(graph(), 1);
  ASSERT_TRUE(inputs.ok()) << inputs.error().ToString();
  for (const auto& [id, tensor] : inputs.value()) {
    ASSERT_TRUE(executor->SetInput(id, tensor).ok()) << graph().tensor(id).name;
  }
  for (int step = 0; step < (IsDeep() ? 2 : 10); ++step) {
    const Status ran = executor->Step();
    ASSERT_TRUE(ran.ok()) << ran.error().ToString();
    ASSERT_TRUE(executor->Output(0).isfinite().all().item<bool>()) << "step " << step;
  }
}

TEST_P(ExecutedModels, NoTransferCanBeLeftOut) {
  Random random(5);
  for (int plan = 0; plan < (IsDeep() ? 1 : 2); ++plan) {
    const Placement placement = RandomPlacement(graph(), kDevices, random);
    auto whole = Executor::Create(graph(), placement, SimulatedDevices(kDevices)).Take();
    ASSERT_GT(whole->transfers(), 0U);
    options_.left_out = static_cast<int32_t>(random.Below(whole->transfers()));
    auto executor =
        Executor::Create(graph(), placement, SimulatedDevices(kDevices), options_).Take();
    size_t next = 0;
    for (const auto& [id, tensor] : eager_->recording->step.inputs) {
      ASSERT_TRUE(executor->SetInput(id, eager_->before[next++]).ok());
    }
    const Status ran = executor->Step();
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().code, ErrorCode::kExecution);
    EXPECT_NE(ran.error().message.find("reads a tensor in the memory of"), std::string::npos)
        << ran.error().ToString();
  }
}

// A dense network, a convolutional and a recurrent one, attention.
class TrainedModels : public ExecutedModels {
 public:
  static std::vector<TinyModel> Kinds() {
    std::vector<TinyModel> kinds;
    for (const TinyModel& model : TinyModels()) {
      const std::string_view name = model.model;
      const bool learns = model.precision == CapturePrecision::kAsIs || name == "mlp";
      if (learns && model.training != Training::kNone &&
          (name == "mlp" || name == "resnet-50" || name == "rnnlm-2" || name == "gpt-2")) {
        kinds.push_back(model);
      }
    }
    return kinds;
  }
};

// Batches that take turns, from a rule: over 200 steps the loss falls, and is eager's in every one, on
// two devices.
TEST_P(TrainedModels, LossesFallAsEagersDo) {
  constexpr int kSteps = 200, kBatches = 4;
  at::manual_seed(1);
  ModelStep eager = std::move(ModelStep::Build(GetParam().Request(), false)).Take();
  ASSERT_TRUE(eager.Run().ok());
  const std::vector<ModelStep::Found> found = eager.FoundTensors();
  Random random(5);
  auto executor =
      Executor::Create(graph(), RandomPlacement(graph(), 2, random), SimulatedDevices(2)).Take();
  const auto values = SeededInputs(graph(), 3).Take();
  const auto& inputs = eager_->recording->step.inputs;
  ASSERT_EQ(values.size(), inputs.size());
  // Both begin with the seeded values.
  const auto set = [&](const std::vector<std::pair<TensorId, at::Tensor>>& all) {
    const at::NoGradGuard no_grad;
    for (const auto& [id, value] : all) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].first != id) continue;
        found[i].tensor.detach().copy_(value);
        ASSERT_TRUE(executor->SetInput(id, value).ok());
      }
    }
  };
  set(values);
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    set(SeededBatch(graph(), 3, step % kBatches).Take());
    at::manual_seed(static_cast<uint64_t>(step));
    const at::Tensor expected = eager.Run().Take().clone();
    at::manual_seed(static_cast<uint64_t>(step));
    ASSERT_TRUE(executor->Step().ok());
    ASSERT_TRUE(executor->Output(0).equal(expected)) << "step " << step;
    losses.push_back(expected.item<double>());
  }
  const auto mean = [&](size_t from) {
    double sum = 0;
    for (size_t i = from; i < from + 2 * kBatches; ++i) sum += losses[i];
    return sum / (2 * kBatches);
  };
  EXPECT_LT(mean(losses.size() - 2 * kBatches), 0.7 * mean(0));
}

std::string NameOfTest(const ::testing::TestParamInfo<TinyModel>& test) {
  return NameOf(test.param);
}

INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedModels, ::testing::ValuesIn(TinyModels()), NameOfTest);
INSTANTIATE_TEST_SUITE_P(Kinds, TrainedModels, ::testing::ValuesIn(TrainedModels::Kinds()),
                         NameOfTest);

}  // namespace
}  // namespace placewright
