#include "cli/request/measured_prediction.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/request/cost_store.h"
#include "report/memory_curve.h"
#include "sim/contention.h"

namespace placewright {

std::vector<DeviceState> Between(const std::vector<DeviceState>& before,
                                 const std::vector<DeviceState>& after) {
  std::vector<DeviceState> states;
  for (size_t i = 0; i < before.size(); ++i) {
    states.push_back(
        {MeanOf({before[i].alone, after[i].alone}), MeanOf({before[i].loaded, after[i].loaded})});
  }
  return states;
}

Prediction Predict(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                   const Placement& placement, SchedulingPolicy policy,
                   const Sequences* sequences) {
  const SimGraph sim_graph = BuildSimGraph(graph, cluster, costs);
  Prediction prediction;
  SimOptions options;
  options.policy = policy;
  options.schedule = true;
  options.sequences = sequences;
  prediction.result = Simulator(sim_graph).Run(placement, options);
  const Schedule& schedule = *prediction.result.schedule;
  prediction.peaks = PeaksWithWorkspace(sim_graph, placement, schedule,
                                        MemoryCurves(sim_graph, placement, schedule));
  prediction.share_modelled = SharesOf(costs, placement).modelled;
  return prediction;
}

Result<MeasuredPrediction> MeasuredPrediction::Read(const Graph& graph, const Cluster& cluster,
                                                    const std::string& store,
                                                    FloatPrecision precision) {
  MeasuredPrediction prediction(graph, cluster, precision);
  PW_ASSIGN(prediction.alone_rows_, ReadMeasured(store, cluster, false));
  PW_ASSIGN(prediction.busy_rows_, ReadMeasured(store, cluster, true));
  PW_ASSIGN(prediction.alone_, prediction.CostsOf(prediction.alone_rows_));
  CostModelReport report;
  PW_ASSIGN(prediction.busy_, prediction.CostsOf(prediction.busy_rows_, &report));
  int64_t loaded = 0, rows = 0;
  for (const MeasuredUse::Environment& environment : report.measured.environments) {
    rows += environment.rows;
    loaded += environment.on.loaded ? environment.rows : 0;
  }
  prediction.knows_loaded_ = cluster.device_count() == 1 || 2 * loaded > rows;
  return prediction;
}

std::optional<MeasuredPrediction> MeasuredPrediction::OfPlan(const PlanInputs& loaded,
                                                             const std::string& plan_file,
                                                             Console& console) {
  const Plan& plan = loaded.plan;
  // Of collectives nothing is measured while others compute: such plans keep their own times.
  if (plan.space != PlanSpace::kPlaced) return std::nullopt;
  if (!plan.cost_store || plan.cost_store->environments.empty() || plan.share_given > 0 ||
      plan.cost_profile != "default") {
    return std::nullopt;
  }
  const std::string store =
      (std::filesystem::path(plan_file).parent_path() / plan.cost_store->path).string();
  std::error_code failed;
  if (!std::filesystem::exists(store, failed)) return std::nullopt;
  const auto read = [&]() -> Result<MeasuredPrediction> {
    PW_ASSIGN(const FloatPrecision precision, ParseFloatPrecision(plan.precision));
    PW_ASSIGN(MeasuredPrediction prediction,
              Read(loaded.graph.graph, loaded.cluster.cluster, store, precision));
    prediction.sequences_ = &loaded.sequences;
    return prediction;
  };
  Result<MeasuredPrediction> measured = read();
  if (measured.ok()) return measured.Take();
  console.Note("the plan's own times are taken: " + measured.error().ToString());
  return std::nullopt;
}

Result<CostTable> MeasuredPrediction::CostsOf(std::vector<MeasuredDevice> measured,
                                              CostModelReport* report) const {
  CostOptions options;
  options.precision = precision_;
  options.measured = std::move(measured);
  return ModelCosts(graph_, cluster_, options, report);
}

Prediction MeasuredPrediction::Mixed(const CostTable& alone, const CostTable& busy,
                                     const Placement& placement, SchedulingPolicy policy) const {
  // As if all devices were at work all the time; then as much as they are.
  Prediction prediction =
      placewright::Predict(graph_, cluster_, busy, placement, policy, sequences_);
  for (int pass = 0; pass < 2; ++pass) {
    const CostTable mixed = MixCosts(
        alone, busy,
        OverlapOf(graph_, placement, *prediction.result.schedule, cluster_.device_count()));
    prediction = placewright::Predict(graph_, cluster_, mixed, placement, policy, sequences_);
  }
  return prediction;
}

Result<Prediction> MeasuredPrediction::Predict(const Placement& placement,
                                               SchedulingPolicy policy) const {
  return Mixed(alone_, busy_, placement, policy);
}

Result<Prediction> MeasuredPrediction::Predict(const Placement& placement, SchedulingPolicy policy,
                                               const std::vector<DeviceState>& states) const {
  const auto as_now = [&](std::vector<MeasuredDevice> rows) {
    for (MeasuredDevice& device : rows) {
      for (const DeviceId id : cluster_.devices()) {
        if (id.index() >= states.size() || cluster_.kind(id).name != device.on.kind) continue;
        const DeviceState& state = states[id.index()];
        const MachineState& now = device.on.loaded ? state.loaded : state.alone;
        if (now.known() && !device.now.known()) device.now = now;
      }
    }
    return CostsOf(std::move(rows));
  };
  PW_ASSIGN(const CostTable alone, as_now(alone_rows_));
  PW_ASSIGN(const CostTable busy, as_now(busy_rows_));
  return Mixed(alone, busy, placement, policy);
}

bool MeasuredPrediction::knows_state() const {
  const auto known = [](const std::vector<MeasuredDevice>& devices) {
    return std::any_of(devices.begin(), devices.end(), [](const MeasuredDevice& device) {
      return std::any_of(device.ops.begin(), device.ops.end(),
                         [](const MeasuredOp& op) { return op.state.known(); });
    });
  };
  return known(alone_rows_) || known(busy_rows_);
}

Result<Prediction> MeasuredPrediction::PredictMedian(
    const Placement& placement, SchedulingPolicy policy,
    const std::vector<std::vector<DeviceState>>& of_step) const {
  constexpr size_t kMost = 100;
  struct Run {
    const std::vector<DeviceState>* states;
    size_t steps = 1;
    Nanos time;
  };
  std::vector<Run> runs;
  for (const std::vector<DeviceState>& states : of_step) {
    if (!runs.empty() && *runs.back().states == states) {
      ++runs.back().steps;
    } else {
      runs.push_back({&states});
    }
  }
  std::vector<Run> kept;
  const size_t stride = (runs.size() + kMost - 1) / kMost;
  for (size_t i = 0; i < runs.size(); i += stride) kept.push_back(runs[i]);
  size_t steps = 0;
  for (Run& run : kept) {
    PW_ASSIGN(const Prediction prediction, Predict(placement, policy, *run.states));
    run.time = prediction.result.step_time;
    steps += run.steps;
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const Run& a, const Run& b) { return a.time < b.time; });
  size_t below = 0;
  for (const Run& run : kept) {
    below += run.steps;
    if (2 * below > steps) return Predict(placement, policy, *run.states);
  }
  return Predict(placement, policy, *kept.back().states);
}

}  // namespace placewright
