// What tests of steps in micro-batches share, pipelines among them.
#ifndef PLACEWRIGHT_TESTS_COMPILE_EXECUTED_MICRO_BATCHES_H_
#define PLACEWRIGHT_TESTS_COMPILE_EXECUTED_MICRO_BATCHES_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "check_plan/transforms/micro_batches.h"
#include "cluster/cluster_builder.h"
#include "executed_steps.h"
#include "transforms/transforms.h"

namespace placewright {

// The step in micro-batches is the step, on one device and by layouts.
class ExecutedMicroBatches : public ExecutedLayouts {
 protected:
  void SetUp() override {
    batch_ = 12;
    Prepare(true);
  }

  // From here on the step is the one in micro-batches; what is expected stays what the whole batch gives.
  void CutBatch(int64_t micro_batches) {
    Rewrite({.micro_batches = micro_batches});
    if (HasFatalFailure()) return;
    ASSERT_EQ(cut_axes_->axis(cut_axes_->batch()).size, batch_ / micro_batches);
    const check::MaybeViolation wrong = check::CheckMicroBatches(original(), *cut_, micro_batches);
    ASSERT_FALSE(wrong) << wrong->place << ": " << wrong->message;
  }
  void Rewrite(const Rewriting& rewriting) {
    Result<std::unique_ptr<Graph>> made = ApplyTransforms(original(), TransformsFor(rewriting));
    ASSERT_TRUE(made.ok()) << made.error().ToString();
    cut_ = made.Take();
    cut_axes_ = std::make_unique<NamedAxes>(*cut_);
    graph_ = cut_.get();
    axes_ = cut_axes_.get();
    inputs_ = InputsOf(*cut_);
  }
  const Graph& original() const { return *WholeStepOf(GetParam(), batch_, true).graph; }

  // What the original step is given.
  std::vector<std::pair<TensorId, at::Tensor>> InputsOf(const Graph& step) const {
    std::vector<std::pair<TensorId, at::Tensor>> inputs =
        WholeStepOf(GetParam(), batch_, true).inputs;
    for (auto& [id, tensor] : inputs) id = step.FindTensor(original().tensor(id).name);
    return inputs;
  }

  static Cluster EqualDevices(int64_t count, int64_t hosts = 1) {
    ClusterBuilder builder("equal");
    DeviceKind model{.name = "K", .memory = Bytes(int64_t{1} << 40)};
    model.peak.f32 = model.peak.f64 = 1e12;
    model.memory_bandwidth = BytesPerSecond(int64_t{1} << 36);
    const int32_t kind = builder.AddKind(model).Take();
    for (int64_t i = 0; i < count; ++i) {
      (void)builder
          .AddDevice({.name = "d" + std::to_string(i),
                      .kind = kind,
                      .host = static_cast<int32_t>(i * hosts / count),
                      .capacity = Bytes(int64_t{1} << 40)})
          .Take();
    }
    return std::move(builder).Build().Take();
  }

  std::unique_ptr<Graph> cut_;
  std::unique_ptr<NamedAxes> cut_axes_;
};

// Experts whose routers have no part in the loss, so that samples are apart.
inline TinyModel UnbalancedExperts() {
  return {"moe-transformer", Training::kAdam, With(kTinyMoe, "balance", 0)};
}

inline std::vector<TinyModel> ModelsOfMicroBatches() {
  std::vector<TinyModel> models = Models();
  models.push_back(UnbalancedExperts());
  std::erase_if(models, [](const TinyModel& model) { return !MayBeCut(model); });
  return models;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_COMPILE_EXECUTED_MICRO_BATCHES_H_
