#include "bench/scaling/prediction.h"

#include <memory>
#include <utility>

#include "capture/step/model_step.h"
#include "cluster/catalogue.h"
#include "cost/cost_model.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/test_specs.h"
#include "search/problem/layout_problem.h"

namespace placewright::bench {
namespace {

Result<Graph> RecordAt(const ScalingRow& row, int64_t batch) {
  const bool texts = row.model.starts_with("bert");
  CaptureRequest request{std::string(row.model), texts ? Training::kAdam : Training::kSgd,
                         row.values};
  request.values["batch"] = static_cast<double>(batch);
  request.precision = row.amp;
  PW_ASSIGN(Capture capture, CaptureZooModel(request));
  return std::move(capture.graph);
}

DistributionSpec SplitOver(const Cluster& cluster, int32_t gpus, int64_t batch, Bytes fusion) {
  DistributionSpec spec;
  spec.switches.fusion = fusion;
  spec.switches.local_batch_norm = true;
  LayoutSpec all;
  all.groups = "*";
  for (const DeviceId device : cluster.devices()) {
    const auto used = static_cast<int64_t>(all.devices.size());
    if (cluster.kind(device).device_class != DeviceClass::kGpu || used == gpus) continue;
    all.devices.push_back({cluster.device(device).name, {{"", used * batch, (used + 1) * batch}}});
  }
  if (gpus == 1) {
    all.devices.front().box = {};
  } else {
    all.axis = "batch";
    all.option = LayoutOption::kAllReduce;
  }
  spec.layouts = {std::move(all)};
  return spec;
}

// Of the whole update on one of the GPUs.
Nanos UpdateTime(const LayoutProblem& problem) {
  DeviceId gpu;
  for (const DeviceId device : problem.cluster.devices()) {
    if (problem.cluster.kind(device).device_class == DeviceClass::kGpu) gpu = device;
  }
  Nanos time;
  for (const OpId op : problem.graph.ops()) {
    if (problem.graph.op(op).phase == Phase::kOptimizer) time += problem.costs.time(op, gpu);
  }
  return time;
}

Result<double> PerSecond(const ScalingRow& row, const Throughput& published) {
  const int64_t batch = row.batch * published.gpus;
  PW_ASSIGN(const Graph graph, RecordAt(row, batch));
  PW_ASSIGN(const Cluster cluster, MakePreset(published.cluster));
  CostOptions options;
  options.precision = row.precision;
  PW_ASSIGN(const std::unique_ptr<LayoutProblem> problem,
            LayoutProblem::Make(graph, cluster, options, SchedulingPolicy::kFifo));
  PW_ASSIGN(const Evaluation evaluation,
            EvaluateSpec(*problem, SplitOver(cluster, published.gpus, row.batch, row.fusion)));
  const double saved = Seconds(UpdateTime(*problem)) * (1 - 1.0 / published.batches);
  return static_cast<double>(batch) / (Seconds(evaluation.step_time) - saved);
}

}  // namespace

Result<ScalingPrediction> Predict(const ScalingRow& row) {
  ScalingPrediction prediction;
  PW_ASSIGN(prediction.few, PerSecond(row, row.few));
  PW_ASSIGN(prediction.many, PerSecond(row, row.many));
  const double gpus = static_cast<double>(row.many.gpus) / row.few.gpus;
  prediction.efficiency = prediction.many / prediction.few / gpus;
  return prediction;
}

}  // namespace placewright::bench
